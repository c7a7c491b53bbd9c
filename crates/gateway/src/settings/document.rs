//! The bytes of a configuration file, bounded before they are parsed.
//!
//! Whatever the bytes are, the answer is a tree or a problem with its line and column: never a
//! panic, never a stack that overflows.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Range;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::problem::{FilePosition, ProblemPlace, SettingsProblem};

/// A configuration of thousands of servers stays well below this.
pub(super) const SIZE_LIMIT: usize = 4 * 1024 * 1024;

/// The deepest valid file nests seven levels; the parser recurses, so it never sees more than this.
const DEPTH_LIMIT: usize = 64;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The text of a file, with what is needed to name a place in it.
pub(super) struct Document {
    file: String,
    text: String,
    /// The byte offset at which each line begins.
    line_starts: Vec<usize>,
}

/// Reads a file, one byte more than is allowed at most.
pub(super) fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = SIZE_LIMIT as u64 + 1;
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Document {
    /// Checks size, encoding and depth of the bytes of a file with this name.
    pub(super) fn parse(file: &str, bytes: Vec<u8>) -> Result<Self, SettingsProblem> {
        let at_start = |message: String| problem_at(file, 1, 1, message);
        if bytes.len() > SIZE_LIMIT {
            let limit = SIZE_LIMIT / 1024 / 1024;
            return Err(at_start(format!(
                "the file is larger than the {limit} MiB allowed"
            )));
        }
        if bytes.starts_with(BYTE_ORDER_MARK) {
            return Err(at_start(
                "the file begins with a byte order mark: save it as UTF-8 without one".into(),
            ));
        }
        let text = String::from_utf8(bytes).map_err(|error| invalid_encoding(file, &error))?;
        let document = Self {
            file: file.to_owned(),
            line_starts: line_starts(&text),
            text,
        };
        match too_deep_at(&document.text) {
            Some(offset) => Err(document.problem(
                offset,
                format!("nested deeper than the {DEPTH_LIMIT} levels allowed"),
            )),
            None => Ok(document),
        }
    }

    /// A document without text, for settings without a file.
    pub(super) fn empty() -> Self {
        Self {
            file: String::new(),
            text: String::new(),
            line_starts: vec![0],
        }
    }

    /// The tree of the text.
    pub(super) fn tree(&self) -> Result<Value<'_>, SettingsProblem> {
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
                self.problem(error.range().start, format!("syntax error: {kind}"))
            })?;
        parsed.value.ok_or_else(|| {
            self.problem(
                0,
                "the file holds no JSON value, allowed: an object, {} for all defaults".into(),
            )
        })
    }

    /// The problem at a byte offset of the text.
    pub(super) fn problem(&self, offset: usize, message: String) -> SettingsProblem {
        let line = self.line(offset);
        let start = self.line_starts.get(line - 1).copied().unwrap_or(0);
        let before = self.text.get(start..offset).unwrap_or_default();
        problem_at(&self.file, line, before.chars().count() + 1, message)
    }

    /// The line of a byte offset of the text, counted from one.
    pub(super) fn line(&self, offset: usize) -> usize {
        self.line_starts
            .partition_point(|start| *start <= offset)
            .max(1)
    }
}

/// An object without keys, which reads as the defaults of its section.
pub(super) fn empty_object() -> Value<'static> {
    Value::Object(Object {
        range: Range::new(0, 0),
        properties: Vec::new(),
    })
}

fn problem_at(file: &str, line: usize, column: usize, message: String) -> SettingsProblem {
    SettingsProblem {
        place: ProblemPlace::File {
            file: file.to_owned(),
            position: FilePosition { line, column },
        },
        message,
    }
}

fn invalid_encoding(file: &str, error: &std::string::FromUtf8Error) -> SettingsProblem {
    let valid = error.utf8_error().valid_up_to();
    let before = error.as_bytes().get(..valid).unwrap_or_default();
    let text = String::from_utf8_lossy(before);
    let line = line_starts(&text).len();
    let column = text
        .rsplit(['\n', '\r'])
        .next()
        .map_or(0, |last| last.chars().count());
    let message = "the file is not valid UTF-8 from here on: save it as UTF-8";
    problem_at(file, line, column + 1, message.to_owned())
}

/// Lines end at `\n`, `\r\n` or a lone `\r`, as the parser counts them.
fn line_starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let ends = bytes.iter().enumerate().filter(|(index, byte)| {
        **byte == b'\n' || (**byte == b'\r' && bytes.get(index + 1) != Some(&b'\n'))
    });
    std::iter::once(0)
        .chain(ends.map(|(index, _)| index + 1))
        .collect()
}

/// The offset of the first bracket that opens one level too many.
///
/// Brackets in strings and comments do not count. Where the text is not valid, this may stop at
/// another place than the parser would; both give an error.
fn too_deep_at(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut depth, mut index) = (0_usize, 0_usize);
    while let Some(byte) = bytes.get(index) {
        match byte {
            b'"' => index = end_of_string(bytes, index),
            b'/' => index = end_of_comment(bytes, index),
            b'[' | b'{' if depth == DEPTH_LIMIT => return Some(index),
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        index += 1;
    }
    None
}

/// The offset of the closing quote of the string that opens at `start`, or the end.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut index = start + 1;
    while let Some(byte) = bytes.get(index) {
        match byte {
            b'"' => return index,
            b'\\' => index += 2,
            _ => index += 1,
        }
    }
    bytes.len()
}

/// The offset of the last byte of the comment at `start`; `start` itself when there is none.
fn end_of_comment(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start + 1..).unwrap_or_default();
    let length = match rest.first() {
        Some(b'/') => rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')),
        Some(b'*') => rest
            .windows(2)
            .skip(1)
            .position(|pair| pair == b"*/")
            .map(|position| position + 3),
        _ => return start,
    };
    start + length.unwrap_or(rest.len())
}
