//! Changes of a JSON text with comments that leave every other byte as it stands.
//!
//! The tree says where things are; what is put in is written in the form of what is around it.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object, Value};
use jsonc_parser::common::Ranged;
use serde_json::Value as Json;

/// Longest list of plain values that stands on one line.
const LONGEST_LINE: usize = 100;

/// Indentation of files that show none.
const INDENT: &str = "  ";

/// Text that is changed, and its form.
pub(super) struct Splice<'t> {
    text: &'t str,
    newline: &'static str,
    /// Indentation of one level.
    unit: String,
}

/// Members of an object, or elements of an array, where they stand.
pub(super) struct ListedParts {
    /// Offset behind the opening bracket.
    open: usize,
    /// Offset of the closing bracket.
    close: usize,
    parts: Vec<Range<usize>>,
}

/// Form of what is put in.
#[derive(Clone, Copy)]
pub(super) enum TextForm<'s> {
    /// All on one line.
    OneLine,
    /// On lines of its own, the first of which is indented so far.
    Lines(&'s str),
}

/// Piece of what stands between values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Space,
    LineBreak,
    Comment,
    Comma,
}

// === impl ListedParts ===

impl ListedParts {
    pub(super) fn of_object(object: &Object<'_>) -> Self {
        let parts = object.properties.iter().map(offsets);
        Self::between(&offsets(object), parts.collect())
    }

    pub(super) fn of_array(array: &Array<'_>) -> Self {
        let parts = array.elements.iter().map(offsets);
        Self::between(&offsets(array), parts.collect())
    }

    fn between(brackets: &Range<usize>, parts: Vec<Range<usize>>) -> Self {
        Self {
            open: brackets.start + 1,
            close: brackets.end - 1,
            parts,
        }
    }
}

// === impl Splice ===

impl<'t> Splice<'t> {
    /// Text of which this is the tree.
    pub(super) fn new(text: &'t str, tree: &Value<'_>) -> Self {
        let mut splice = Self {
            text,
            newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
            unit: INDENT.to_owned(),
        };
        let first = tree.as_object().and_then(|root| root.properties.first());
        if let Some(first) = first {
            let indent = splice.indent_at(first.start());
            let is_first_of_line = splice.line_start(first.start()) + indent.len() == first.start();
            if is_first_of_line && !indent.is_empty() {
                splice.unit = indent.to_owned();
            }
        }
        splice
    }

    /// Text as it stands.
    pub(super) fn unchanged(&self) -> String {
        self.text.to_owned()
    }

    /// Text with one more member at the end.
    pub(super) fn append(
        &self,
        to: &ListedParts,
        written: impl Fn(&Self, TextForm<'_>) -> String,
    ) -> String {
        let own = self.indent_at(to.open - 1);
        let Some((first, last)) = to.parts.first().zip(to.parts.last()) else {
            let indent = format!("{own}{}", self.unit);
            let inner = self.text[to.open..to.close].trim_end();
            let new = written(self, TextForm::Lines(&indent));
            let new = format!("{inner}{0}{indent}{new}{0}{own}", self.newline);
            return self.replaced(vec![(to.open..to.close, new)]);
        };
        let behind = self.pieces(last.end..to.close);
        let comma = behind.iter().find(|(piece, _)| *piece == Piece::Comma);
        let comma = comma.map(|(_, at)| at.end);
        if !self.text[to.open..first.start].contains('\n') {
            let new = written(self, TextForm::OneLine);
            let (at, new) = match comma {
                Some(end) => (end, format!(" {new},")),
                None => (last.end, format!(", {new}")),
            };
            return self.replaced(vec![(at..at, new)]);
        }
        let indent = self.indent_at(first.start);
        let new = written(self, TextForm::Lines(indent));
        let from = comma.unwrap_or(last.end);
        let at = self.end_of_remark(from..to.close);
        let (newline, end) = (self.newline, if comma.is_some() { "," } else { "" });
        let mut edits = vec![(at..at, format!("{newline}{indent}{new}{end}"))];
        if comma.is_none() {
            edits.insert(0, (last.end..last.end, ",".to_owned()));
        }
        self.replaced(edits)
    }

    /// Text without one of the members, the comments that belong to it and the comma that it no longer needs: comments
    /// belong to a member if they end its line or stand directly above it.
    pub(super) fn without(&self, of: &ListedParts, place: usize) -> String {
        let part = &of.parts[place];
        let before_it = place
            .checked_sub(1)
            .map_or(of.open, |before| of.parts[before].end);
        let behind_it = of.parts.get(place + 1).map_or(of.close, |next| next.start);
        let before = self.pieces(before_it..part.start);
        let behind = self.pieces(part.end..behind_it);
        let comma = |pieces: &[(Piece, Range<usize>)]| {
            let comma = pieces.iter().find(|(piece, _)| *piece == Piece::Comma);
            comma.map(|(_, at)| at.clone())
        };
        let (comma_before, comma_behind) = (comma(&before), comma(&behind));
        let line_break = |pieces: &[(Piece, Range<usize>)]| {
            let line_break = pieces.iter().find(|(piece, _)| *piece == Piece::LineBreak);
            line_break.map(|(_, at)| at.end)
        };
        let from = match line_break(&before) {
            Some(first_line) => self.start_with_comments(first_line, &before, part.start),
            // On the line of what stands before it.
            None => comma_before.as_ref().map_or(before_it, |at| at.end),
        };
        let has_own_lines = line_break(&before).is_some();
        let to = match (line_break(&behind), &comma_behind) {
            (Some(end), _) if has_own_lines => end,
            (Some(end), _) => self.before_line_break(end),
            (None, Some(comma)) => comma.end,
            (None, None) => part.end,
        };
        let leads = comma_before
            .as_ref()
            .is_some_and(|comma| comma.start >= from);
        let to = match &comma_behind {
            // Its own comma stands in front of it, and goes with it.
            Some(comma) if leads => to.min(comma.start),
            _ => to,
        };
        let mut edits = vec![(from..to.max(part.end), String::new())];
        match (comma_before, comma_behind) {
            _ if leads => {}
            // It was the last one, without a comma: the one before it becomes the last one.
            (Some(comma), None) if place + 1 == of.parts.len() => {
                edits.insert(0, (comma, String::new()));
            }
            (_, Some(comma)) if comma.start >= edits[0].0.end => edits.push((comma, String::new())),
            _ => {}
        }
        self.replaced(edits)
    }

    /// Text with a value in the place of another.
    pub(super) fn with_value(&self, old: &impl Ranged, new: &Json) -> String {
        let old = offsets(old);
        let indent = self.indent_at(old.start);
        let is_on_lines = self.text[old.clone()].contains('\n')
            || !self.text[old.clone()].starts_with(['{', '[']);
        let layout = if is_on_lines {
            TextForm::Lines(indent)
        } else {
            TextForm::OneLine
        };
        let new = self.json(new, layout);
        self.replaced(vec![(old, new)])
    }

    /// Member of an object as it is written.
    pub(super) fn member(&self, name: &str, value: &Json, layout: TextForm<'_>) -> String {
        format!("{}: {}", Json::from(name), self.json(value, layout))
    }

    /// Value as it is written. Lists of plain values stay on one line where they fit.
    pub(super) fn json(&self, value: &Json, layout: TextForm<'_>) -> String {
        let is_plain = |value: &Json| !value.is_object() && !value.is_array();
        match (value, layout) {
            (Json::Array(items), _) if items.iter().all(is_plain) => {
                let line = format!("[{}]", self.joined(items.iter(), ", ", TextForm::OneLine));
                match layout {
                    TextForm::Lines(indent) if line.len() > LONGEST_LINE => {
                        self.on_lines(indent, ['[', ']'], |inner| self.list(items, inner))
                    }
                    _ => line,
                }
            }
            (Json::Object(members), _) if members.is_empty() => "{}".to_owned(),
            (Json::Array(items), TextForm::Lines(indent)) => {
                self.on_lines(indent, ['[', ']'], |inner| self.list(items, inner))
            }
            (Json::Array(items), TextForm::OneLine) => {
                format!("[{}]", self.joined(items.iter(), ", ", TextForm::OneLine))
            }
            (Json::Object(members), TextForm::OneLine) => {
                let members = members.iter();
                let members =
                    members.map(|(name, value)| self.member(name, value, TextForm::OneLine));
                format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
            }
            (Json::Object(members), TextForm::Lines(indent)) => {
                self.on_lines(indent, ['{', '}'], |inner| {
                    let layout = TextForm::Lines(inner);
                    let members = members.iter();
                    members
                        .map(|(name, value)| self.member(name, value, layout))
                        .collect()
                })
            }
            _ => value.to_string(),
        }
    }

    fn list(&self, items: &[Json], indent: &str) -> Vec<String> {
        let items = items.iter();
        items
            .map(|item| self.json(item, TextForm::Lines(indent)))
            .collect()
    }

    fn joined<'j>(
        &self,
        items: impl Iterator<Item = &'j Json>,
        by: &str,
        layout: TextForm<'_>,
    ) -> String {
        let items: Vec<String> = items.map(|item| self.json(item, layout)).collect();
        items.join(by)
    }

    fn on_lines(
        &self,
        indent: &str,
        brackets: [char; 2],
        lines: impl FnOnce(&str) -> Vec<String>,
    ) -> String {
        let (inner, newline) = (format!("{indent}{}", self.unit), self.newline);
        let lines = lines(&inner).join(&format!(",{newline}{inner}"));
        let [open, close] = brackets;
        format!("{open}{newline}{inner}{lines}{newline}{indent}{close}")
    }

    /// Text with these parts replaced, which follow one another.
    fn replaced(&self, edits: Vec<(Range<usize>, String)>) -> String {
        let mut text = self.text.to_owned();
        for (range, new) in edits.into_iter().rev() {
            text.replace_range(range, &new);
        }
        text
    }

    /// Offset at which a member begins with the comments above it, without a blank line between.
    fn start_with_comments(
        &self,
        first_line: usize,
        before: &[(Piece, Range<usize>)],
        start: usize,
    ) -> usize {
        let mut from = self.line_start(start).max(first_line);
        for (piece, at) in before.iter().rev().filter(|(_, at)| at.start >= first_line) {
            let line = self.line_start(at.start);
            match piece {
                Piece::Comment => from = from.min(line.max(first_line)),
                Piece::LineBreak if self.text[line..at.start].trim().is_empty() => break,
                _ => {}
            }
        }
        from
    }

    /// Offset behind the last comment on the line that something ends on.
    fn end_of_remark(&self, range: Range<usize>) -> usize {
        let from = range.start;
        let pieces = self.pieces(range);
        let of_line = pieces
            .iter()
            .take_while(|(piece, _)| *piece != Piece::LineBreak);
        let comments = of_line.filter(|(piece, _)| *piece == Piece::Comment);
        comments.last().map_or(from, |(_, at)| at.end)
    }

    /// Pieces of a part that has no values.
    fn pieces(&self, range: Range<usize>) -> Vec<(Piece, Range<usize>)> {
        let (mut pieces, mut at) = (Vec::new(), range.start);
        while let Some(rest) = self.text.get(at..range.end).filter(|rest| !rest.is_empty()) {
            let (piece, length) = if rest.starts_with("//") {
                (
                    Piece::Comment,
                    rest.find(['\n', '\r']).unwrap_or(rest.len()),
                )
            } else if rest.starts_with("/*") {
                (
                    Piece::Comment,
                    rest.find("*/").map_or(rest.len(), |end| end + 2),
                )
            } else if rest.starts_with("\r\n") {
                (Piece::LineBreak, 2)
            } else if rest.starts_with(['\n', '\r']) {
                (Piece::LineBreak, 1)
            } else if rest.starts_with(',') {
                (Piece::Comma, 1)
            } else {
                let length = rest.chars().next().map_or(1, char::len_utf8);
                (Piece::Space, length)
            };
            pieces.push((piece, at..at + length));
            at += length;
        }
        pieces
    }

    fn line_start(&self, at: usize) -> usize {
        let before = &self.text[..at];
        before.rfind(['\n', '\r']).map_or(0, |end| end + 1)
    }

    fn before_line_break(&self, end: usize) -> usize {
        self.text[..end].trim_end_matches(['\n', '\r']).len()
    }

    /// Indentation of the line of an offset.
    fn indent_at(&self, at: usize) -> &'t str {
        let line = &self.text[self.line_start(at)..at];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }
}

fn offsets(part: &impl Ranged) -> Range<usize> {
    part.start()..part.end()
}
