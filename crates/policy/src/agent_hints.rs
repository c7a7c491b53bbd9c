//! Hints of an upstream, before an agent sees them.
//!
//! What a server suggests to do next is untrusted: it may name a tool that does not exist, that
//! the operator withholds, or so much that nobody can read it. [`vet`] drops what cannot be
//! called, says of the rest how to call it, and bounds the size. It decides nothing about a call:
//! a suggestion that was kept is checked like any other call when it is made.

mod bounds;

use serde_json::{Map, Value};

use crate::{Operation, Rights, Warning};

/// Member of the hints of a result that has the suggestions.
const ACTIONS: &str = "suggestedNextActions";

/// The words a priority may be.
const PRIORITIES: [&str; 4] = ["critical", "high", "medium", "low"];

/// Characters of a dropped name that are kept; longer ones are no names of tools.
const SHOWN_NAME_CHARACTERS: usize = 100;

/// Looks up the name of an action: the tool as `server:tool` and the variant to call it with, or
/// nothing where no tool of that name may be called.
pub type Resolve<'a> = &'a dyn Fn(&str) -> Option<(String, Operation)>;

/// Hints after they were looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Vetted {
    /// The hints that may be shown.
    pub hints: Map<String, Value>,
    /// Names of the actions that may not, as given but at most their first hundred characters.
    pub dropped: Vec<String>,
    /// Whether something else was cut or removed, because it was too large or of the wrong type.
    pub is_cut: bool,
}

/// Vets the `agentHints` of a result. Keys that name no actions stay as they are, within bounds.
pub fn vet(mut hints: Map<String, Value>, resolve: Resolve<'_>) -> Vetted {
    let given: Vec<String> = actions_of(&hints).map(name_of).collect();
    let is_cut = bounds::apply(&mut hints);
    let kept = actions_of(&hints).count();
    let mut vetting = Vetting {
        resolve,
        // Suggestions that the bounds took away.
        dropped: given.into_iter().skip(kept).collect(),
        is_cut,
    };
    vetting.list(&mut hints, ACTIONS, Vetting::action);
    vetting.list(&mut hints, ACTIONS, Vetting::prerequisites);
    vetting.list(&mut hints, "dependencies", Vetting::dependency);
    vetting.list(&mut hints, "preferenceAlignment", Vetting::refers);
    Vetted {
        dropped: vetting.dropped,
        is_cut: vetting.is_cut,
        hints,
    }
}

impl Vetted {
    /// Warning that the agent gets, if anything was taken away. To a caller that may not use all tools, actions that were
    /// dropped are not counted: servers rarely name what is not there, so the number would be that of tools withheld.
    pub fn warning(&self, rights: &Rights) -> Option<Warning> {
        let dropped = match self.dropped.len() {
            0 => None,
            _ if !rights.allow_all_tools() => None,
            1 => Some("1 suggested action was dropped".to_owned()),
            count => Some(format!("{count} suggested actions were dropped")),
        };
        let cut = self
            .is_cut
            .then(|| "what was too large or malformed was cut".to_owned());
        let told: Vec<String> = dropped.into_iter().chain(cut).collect();
        (!told.is_empty()).then(|| Warning {
            code: "HINTS_VETTED",
            message: format!("In the hints of the tool {}", told.join(", and ")),
        })
    }
}

/// One pass over the hints.
struct Vetting<'a> {
    resolve: Resolve<'a>,
    dropped: Vec<String>,
    is_cut: bool,
}

impl Vetting<'_> {
    /// Keeps the items of a list that pass. What should be a list and is none names nothing.
    fn list(
        &mut self,
        hints: &mut Map<String, Value>,
        key: &str,
        keep: fn(&mut Self, &mut Value) -> bool,
    ) {
        match hints.get_mut(key) {
            Some(Value::Array(items)) => items.retain_mut(|item| keep(self, item)),
            Some(other) => {
                *other = Value::Array(Vec::new());
                self.is_cut = true;
            }
            None => {}
        }
    }

    /// A suggestion: its tool has to be callable. How it is called is our word, not the server's.
    fn action(&mut self, item: &mut Value) -> bool {
        let Some((action, fields)) = well_formed(item) else {
            self.dropped.push(name_of(item));
            return false;
        };
        let Some((name, call_with)) = (self.resolve)(&action) else {
            self.dropped.push(shown(&action));
            return false;
        };
        fields.insert("tool".to_owned(), name.into());
        fields.insert("call_with".to_owned(), call_with.variant().into());
        true
    }

    /// Prerequisites of a suggestion, which is kept in any case.
    fn prerequisites(&mut self, item: &mut Value) -> bool {
        self.references(item, "prerequisites");
        true
    }

    /// A dependency: of a callable action, on at least one other.
    fn dependency(&mut self, item: &mut Value) -> bool {
        if !self.refers(item) {
            return false;
        }
        self.references(item, "dependsOn");
        let others = item.get("dependsOn").and_then(Value::as_array);
        others.is_some_and(|names| !names.is_empty())
    }

    /// Whether an item is about an action that can be called.
    fn refers(&mut self, item: &mut Value) -> bool {
        self.reference(item.get("action").unwrap_or(&Value::Null))
    }

    /// Keeps the names of a list that can be called.
    fn references(&mut self, item: &mut Value, key: &str) {
        let Some(fields) = item.as_object_mut() else {
            return;
        };
        match fields.get_mut(key) {
            Some(Value::Array(names)) => names.retain(|name| self.reference(name)),
            Some(_) => {
                fields.shift_remove(key);
                self.is_cut = true;
            }
            None => {}
        }
    }

    /// Whether a name elsewhere than among the suggestions can be called; told of only once.
    fn reference(&mut self, name: &Value) -> bool {
        let Some(name) = name.as_str() else {
            self.is_cut = true;
            return false;
        };
        let is_callable = (self.resolve)(name).is_some();
        let shown = shown(name);
        if !is_callable && !self.dropped.contains(&shown) {
            self.dropped.push(shown);
        }
        is_callable
    }
}

/// The name and the fields of a suggestion that has what every suggestion needs.
fn well_formed(item: &mut Value) -> Option<(String, &mut Map<String, Value>)> {
    let fields = item.as_object_mut()?;
    let action = fields.get("action")?.as_str()?.to_owned();
    let priority = fields.get("priority")?.as_str()?;
    PRIORITIES.contains(&priority).then_some((action, fields))
}

fn actions_of(hints: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let actions = hints.get(ACTIONS).and_then(Value::as_array);
    actions.into_iter().flatten()
}

/// The name an action has, or nothing.
fn name_of(action: &Value) -> String {
    let name = action.get("action").and_then(Value::as_str);
    shown(name.unwrap_or_default())
}

fn shown(name: &str) -> String {
    name.chars().take(SHOWN_NAME_CHARACTERS).collect()
}

#[cfg(test)]
mod tests;
