//! Files with variables, one `NAME=value` on a line, that the entry of a server names.

use crate::settings::problem::shown;
use crate::settings::protection::private_files;
use crate::settings::references::{Expansion, References};
use crate::settings::text::is_variable;

/// Content of a file.
pub(in crate::settings) struct Read {
    pub(in crate::settings) variables: Vec<(String, String)>,
    pub(in crate::settings) warnings: Vec<String>,
}

/// Most variables of a file.
const MOST: usize = 1_000;

/// Variables of a file, and remarks about it. The error says what is wrong, and no value.
pub(in crate::settings) fn read(references: &References<'_>, path: &str) -> Result<Read, String> {
    let Expansion { text, mut warnings } = references.expand(path)?;
    // In the words of the file: what references give is not repeated.
    private_files::check_unchangeable(&references.folder.join(text.expose())).map_err(|_| {
        let path = shown(path);
        format!("anybody can change or replace the file '{path}', and with it what the server runs: `chmod o-w` it and its folder")
    })?;
    let text = references.file(text.expose(), &mut warnings)?;
    let variables = parse(&text)?;
    Ok(Read {
        variables,
        warnings,
    })
}

/// Variables of a text: `NAME=value` or `export NAME=value`, values also in quotes; `#` begins a comment.
fn parse(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut variables = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let found = line
            .split_once('=')
            .map(|(name, value)| (name.trim(), value.trim()));
        let Some((name, value)) = found.filter(|(name, _)| is_variable(name)) else {
            return Err(format!("line {} is not NAME=value", number + 1));
        };
        if value.contains('\0') {
            return Err(format!("line {} has a NUL character", number + 1));
        }
        if variables.len() == MOST {
            return Err(format!("it has more than the {MOST} variables allowed"));
        }
        let value = unquoted(value).ok_or_else(|| {
            format!(
                "line {}: the value of {} has no closing quote",
                number + 1,
                shown(name)
            )
        })?;
        // The last one holds, as in a shell.
        variables.retain(|(before, _)| before != name);
        variables.push((name.to_owned(), value));
    }
    Ok(variables)
}

fn unquoted(value: &str) -> Option<String> {
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let (inner, _) = value[1..].rsplit_once(quote)?;
            Some(if quote == '"' {
                inner.replace("\\n", "\n").replace("\\\"", "\"")
            } else {
                inner.to_owned()
            })
        }
        _ => Some(
            value
                .split(" #")
                .next()
                .unwrap_or_default()
                .trim_end()
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&[(&str, &str)], &str>) {
        let expected = expected.map(|pairs| {
            let pairs = pairs.iter();
            let pairs = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            pairs.collect()
        });
        assert_eq!(parse(text), expected.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn lines_become_variables() {
        check("", Ok(&[]));
        check(
            "# a comment\nA=1\n export B = two words # and this\nC=\"x # y\"\nD='$E'\nA=3\n",
            Ok(&[("B", "two words"), ("C", "x # y"), ("D", "$E"), ("A", "3")]),
        );
        check("A=\"one\\ntwo\"", Ok(&[("A", "one\ntwo")]));
        check("A=1\nnothing", Err("line 2 is not NAME=value"));
        check("A=\0", Err("line 1 has a NUL character"));
        check("A='x", Err("line 1: the value of A has no closing quote"));
    }
}
