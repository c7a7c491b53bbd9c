//! Annotations of a tool: what its server says the tool does.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::json::{Fields, Json, JsonText, Members, to_text};

/// Annotations of a tool that bear on decisions, each given or not.
///
/// Absent and false differ: an absent annotation says nothing, so it stays `None` here and no
/// default of the protocol is filled in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToolAnnotations {
    /// `readOnlyHint`: the tool changes nothing.
    pub read_only: Option<bool>,
    /// `destructiveHint`: the tool may delete or overwrite.
    pub destructive: Option<bool>,
    /// `idempotentHint`: repeating a call has no further effect.
    pub idempotent: Option<bool>,
    /// `openWorldHint`: the tool reaches beyond its own server.
    pub open_world: Option<bool>,
}

/// Annotations that decisions rest on, each with the value that asks for more care.
const CAUTIOUS: [(&str, bool); 4] = [
    ("readOnlyHint", false),
    ("destructiveHint", true),
    ("idempotentHint", false),
    ("openWorldHint", true),
];

impl ToolAnnotations {
    /// Reads annotations as a server sent them. One that is neither true nor false makes the tool
    /// malformed: guessing what `"destructiveHint": "no"` means is not safe in either direction.
    pub fn parse(annotations: &Json) -> Result<Self, String> {
        let fields = annotations.fields();
        let fields = fields.ok_or("its annotations are not an object")?;
        Self::strictest(&[fields])
    }

    /// Annotations of all these objects together. Readers do not agree on which of two values counts, so it is the one
    /// that asks for more care; what one object leaves open is open.
    fn strictest(objects: &[Fields<'_>]) -> Result<Self, String> {
        let mut said = [None; CAUTIOUS.len()];
        for ((name, cautious), said) in CAUTIOUS.into_iter().zip(&mut said) {
            let values = objects.iter().flat_map(|fields| {
                let is_open = fields.all(name).next().is_none();
                let values = fields.all(name).map(|raw| parse_value(name, raw));
                values.chain(is_open.then_some(Ok(None)))
            });
            let values: Vec<Option<bool>> = values.collect::<Result<_, _>>()?;
            *said = [Some(cautious), None, Some(!cautious)]
                .into_iter()
                .find(|value| values.contains(value))
                .flatten();
        }
        let [read_only, destructive, idempotent, open_world] = said;
        Ok(Self {
            read_only,
            destructive,
            idempotent,
            open_world,
        })
    }

    /// Annotations as one object that says everything once, where a definition has several or a key in them twice;
    /// nothing where it has not. Of what decisions do not rest on the last value stays.
    pub(crate) fn said_once(given: &[&RawValue]) -> Result<Option<Json>, String> {
        let objects = given.iter().map(|raw| match raw.get() {
            "null" => Ok(Fields::default()),
            text => Fields::read(text).ok_or("its annotations are not an object"),
        });
        let objects: Vec<Fields<'_>> = objects.collect::<Result<_, _>>()?;
        if objects.len() < 2 && objects.iter().all(|fields| fields.repeated().is_none()) {
            return Ok(None);
        }
        let strictest = Self::strictest(&objects)?;
        let said = [
            strictest.read_only,
            strictest.destructive,
            strictest.idempotent,
            strictest.open_world,
        ];
        let members = objects.iter().flat_map(Fields::iter);
        let mut members: BTreeMap<&str, JsonText<'_>> = members
            .map(|(name, raw)| (name, JsonText(raw.get())))
            .collect();
        for ((name, _), said) in CAUTIOUS.into_iter().zip(said) {
            match said {
                Some(true) => members.insert(name, JsonText("true")),
                Some(false) => members.insert(name, JsonText("false")),
                None => members.remove(name),
            };
        }
        Ok(Json::parse(to_text(&Members(members.into_iter().collect()))).ok())
    }

    /// Merges the operator's annotations over these; each one the operator gives wins.
    #[must_use]
    pub fn overridden_by(self, operator: Self) -> Self {
        Self {
            read_only: operator.read_only.or(self.read_only),
            destructive: operator.destructive.or(self.destructive),
            idempotent: operator.idempotent.or(self.idempotent),
            open_world: operator.open_world.or(self.open_world),
        }
    }
}

fn parse_value(name: &str, raw: &RawValue) -> Result<Option<bool>, String> {
    match raw.get() {
        "null" => Ok(None),
        "true" => Ok(Some(true)),
        "false" => Ok(Some(false)),
        _ => Err(format!("its annotation {name} is not true or false")),
    }
}
