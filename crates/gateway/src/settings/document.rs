//! The bytes of a configuration file, bounded before they are parsed.
//!
//! Whatever the bytes are, the answer is a tree or a problem with its line and column: never a
//! panic, never a stack that overflows.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use jsonc_parser::ast::Value;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, ParseOptions, Scanner, ScannerOptions, parse_to_ast};

use super::problem::{FilePosition, SettingsError};

/// A configuration of thousands of servers stays well below this.
pub(super) const SIZE_LIMIT: usize = 4 * 1024 * 1024;

/// The deepest valid file nests seven levels; the parser recurses, so it never sees more than this.
const DEPTH_LIMIT: usize = 64;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The text of a file, with its name.
#[derive(Default)]
pub(super) struct Document {
    file: String,
    text: String,
}

/// Reads a file, one byte more than is allowed at most.
pub(super) fn read_bounded(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    read_open(&File::open(path)?, limit)
}

/// Reads a file that is open, one byte more than is allowed at most.
pub(super) fn read_open(file: &File, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Document {
    /// Checks size, encoding and depth of the bytes of a file with this name.
    pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<Self, SettingsError> {
        let mut document = Self {
            file: file.to_owned(),
            text: String::new(),
        };
        if bytes.len() > SIZE_LIMIT {
            let limit = SIZE_LIMIT / 1024 / 1024;
            let message = format!("the file is larger than the {limit} MiB allowed");
            return Err(document.error(0, &message));
        }
        if bytes.starts_with(BYTE_ORDER_MARK) {
            let message = "the file begins with a byte order mark: save it as UTF-8 without one";
            return Err(document.error(0, message));
        }
        let valid = str::from_utf8(bytes).map_err(|error| error.valid_up_to());
        document.text = String::from_utf8_lossy(bytes).into_owned();
        if let Err(offset) = valid {
            let message = "the file is not valid UTF-8 from here on: save it as UTF-8";
            return Err(document.error(offset, message));
        }
        if let Some(offset) = too_deep_at(&document.text) {
            let message = format!("nested deeper than the {DEPTH_LIMIT} levels allowed");
            return Err(document.error(offset, &message));
        }
        Ok(document)
    }

    /// The tree of the text.
    pub(super) fn tree(&self) -> Result<Value<'_>, SettingsError> {
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let parsed =
            parse_to_ast(&self.text, &CollectOptions::default(), &options).map_err(|error| {
                let kind = error.kind().to_string().to_lowercase();
                self.error(error.range().start, &format!("syntax error: {kind}"))
            })?;
        let empty = "the file holds no JSON value, allowed: an object, {} for all defaults";
        parsed.value.ok_or_else(|| self.error(0, empty))
    }

    /// A problem at a byte offset, in words that begin with its place.
    pub(super) fn problem(&self, offset: usize, message: &str) -> (FilePosition, String) {
        let (file, (line, column)) = (&self.file, self.position(offset));
        ((line, column), format!("{file}:{line}:{column}: {message}"))
    }

    fn error(&self, offset: usize, message: &str) -> SettingsError {
        SettingsError::Invalid(self.problem(offset, message).1)
    }

    /// Position of a byte offset. Lines end at `\n`, `\r\n` or a lone `\r`, as the parser counts them.
    pub(super) fn position(&self, offset: usize) -> FilePosition {
        let before = self.text.get(..offset).unwrap_or_default();
        let before = before.replace("\r\n", "\n");
        let lines = before.split(['\n', '\r']).enumerate();
        let (line, last) = lines.last().unwrap_or_default();
        (line + 1, last.chars().count() + 1)
    }
}

/// Tree of a default value.
pub(super) fn parse_literal(text: &str) -> Option<Value<'_>> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    parsed.ok()?.value
}

/// The offset of the first bracket that opens one level too many. A text that cannot be scanned
/// to its end is left to the parser, which refuses it.
fn too_deep_at(text: &str) -> Option<usize> {
    let mut scanner = Scanner::new(text, &ScannerOptions::default());
    let mut depth = 0_usize;
    while let Ok(Some(token)) = scanner.scan() {
        match token {
            Token::OpenBrace | Token::OpenBracket if depth == DEPTH_LIMIT => {
                return Some(scanner.token_start());
            }
            Token::OpenBrace | Token::OpenBracket => depth += 1,
            Token::CloseBrace | Token::CloseBracket => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}
