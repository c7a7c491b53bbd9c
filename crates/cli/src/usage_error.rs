//! Errors of a command line that cannot be read: as text for people, and as the error object for programs.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::ValueEnum;
use clap::error::ErrorKind;

use crate::error::CliError;
use crate::output::Output;

/// Shows what could not be read, or the help or version that was asked for, and gives the exit code.
///
/// What was typed asks for a format even where it cannot be read, so `typed` is looked through for it.
pub(crate) fn report(error: &clap::Error, typed: impl Iterator<Item = OsString>) -> ExitCode {
    let output = asked_output(typed);
    if !error.use_stderr() || output == Output::Table {
        // A pipe that nobody reads any more is no failure.
        let _ = error.print();
        return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(u8::MAX));
    }
    CliError::usage(message(error)).report(output)
}

/// Message of an error, on one line, without the usage and the hint at `--help` that clap puts behind it.
fn message(error: &clap::Error) -> String {
    // In place of the first there is the whole help.
    if let ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand =
        error.kind()
    {
        return "a command or an argument is missing, `--help` lists them".to_owned();
    }
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let ends = ["\n\nUsage: ", "\n\nFor more information"];
    let end = ends.iter().filter_map(|end| text.find(end)).min();
    let text = &text[..end.unwrap_or(text.len())];
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Format that was asked for, wherever it stands; the last one, and that for people where none can be recognised.
fn asked_output(typed: impl Iterator<Item = OsString>) -> Output {
    // Behind it are words for the program of a server.
    let typed = typed.take_while(|word| word != "--");
    let mut asked = Output::default();
    let mut is_value = false;
    for word in typed {
        let word = word.to_string_lossy();
        let value = if is_value {
            Some(&*word)
        } else {
            value_of_output(&word)
        };
        is_value = value == Some("");
        if let Some(Ok(output)) = value.map(|value| Output::from_str(value, false)) {
            asked = output;
        }
    }
    asked
}

/// Value that a word has for `--output`: nothing if it is not about it, and an empty one if the next word is the value.
fn value_of_output(word: &str) -> Option<&str> {
    if let Some(long) = word.strip_prefix("--") {
        let value = long.strip_prefix("output")?;
        return match value {
            "" => Some(value),
            _ => value.strip_prefix('='),
        };
    }
    // Flags without a value may stand before it: `-fo json`.
    let (flags, value) = word.strip_prefix('-')?.split_once('o')?;
    let is_flags = flags.chars().all(|flag| flag.is_ascii_alphabetic());
    is_flags.then(|| value.strip_prefix('=').unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::arguments::CommandLine;

    #[test]
    fn a_format_is_recognised_wherever_it_stands() {
        for (typed, expected) in [
            ("", Output::Table),
            ("-o", Output::Table),
            ("-o xml", Output::Table),
            ("-o table", Output::Table),
            ("-o json", Output::Json),
            ("-ojson", Output::Json),
            ("-o=json", Output::Json),
            ("-fo json", Output::Json),
            ("--output json", Output::Json),
            ("--output=yaml", Output::Yaml),
            ("nonsense --colour -o yaml", Output::Yaml),
            ("-o json nonsense", Output::Json),
            ("-o xml -o json", Output::Json),
            ("--outputs=json", Output::Table),
            ("json", Output::Table),
            ("upstream add a -- npx -o json", Output::Table),
            ("upstream add -o yaml -- npx -o json", Output::Yaml),
        ] {
            let words = typed.split_whitespace().map(OsString::from);
            assert_eq!(asked_output(words), expected, "{typed:?}");
        }
    }

    #[test]
    fn a_message_is_one_line_without_the_usage() {
        for (typed, expected) in [
            ("status --colour", "unexpected argument '--colour' found"),
            (
                "serve --lisen a",
                "unexpected argument '--lisen' found tip: a similar argument exists: '--listen'",
            ),
            (
                "call",
                "a command or an argument is missing, `--help` lists them",
            ),
            (
                "status -o xml",
                "invalid value 'xml' for '--output <OUTPUT>' [possible values: table, json, yaml] tip: a similar value exists: 'yaml'",
            ),
        ] {
            let words = ["mcpproxy"].into_iter().chain(typed.split_whitespace());
            let error = CommandLine::try_parse_from(words).unwrap_err();
            assert_eq!(message(&error), expected, "{typed:?}");
        }
    }
}
