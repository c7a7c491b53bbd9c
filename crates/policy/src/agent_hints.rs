//! Hints of an upstream, before an agent sees them.
//!
//! What a server suggests to do next is untrusted: it may name a tool that does not exist, that
//! the operator withholds, or so much that nobody can read it. [`vet`] drops what cannot be
//! called, says of the rest how to call it, and bounds how many tools may be named. Nothing else is
//! touched, however odd it is: what breaks the contract is told beside the result. It decides nothing
//! about a call: a suggestion that was kept is checked like any other call when it is made.

use serde_json::{Map, Value};

use crate::{Operation, Rights, Warning};

/// Member of the hints of a result that has the suggestions.
const ACTIONS: &str = "suggestedNextActions";

/// The most suggestions. An agent takes one next step; twenty leave room for a menu of them.
const MOST_ACTIONS: usize = 20;

/// The most items of any other list that names actions.
const MOST_NAMES: usize = 50;

/// The most names that are told of as dropped.
const MOST_DROPPED: usize = 100;

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
    /// Whether a list of names other than the suggestions was cut, because it was too long.
    pub is_cut: bool,
}

/// Vets the `agentHints` of a result. What names no actions stays as it is, and so does what should name some and has
/// another form.
pub fn vet(mut hints: Map<String, Value>, resolve: Resolve<'_>) -> Vetted {
    let given = hints.get_mut(ACTIONS).and_then(Value::as_array_mut);
    let excess = given.map_or_else(Vec::new, |given| {
        given.split_off(given.len().min(MOST_ACTIONS))
    });
    let mut vetting = Vetting {
        resolve,
        dropped: excess.iter().take(MOST_DROPPED).map(name_of).collect(),
        is_cut: false,
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
            .then(|| "lists of names that were too long were cut".to_owned());
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
        if let Some(Value::Array(items)) = hints.get_mut(key) {
            self.bound(items);
            items.retain_mut(|item| keep(self, item));
        }
    }

    /// Cuts a list that is too long for all its names to be looked up.
    fn bound(&mut self, items: &mut Vec<Value>) {
        self.is_cut |= items.len() > MOST_NAMES;
        items.truncate(MOST_NAMES);
    }

    /// A suggestion: its tool has to be callable. How it is called is our word, not the server's.
    fn action(&mut self, item: &mut Value) -> bool {
        let resolved = item["action"]
            .as_str()
            .and_then(|name| (self.resolve)(name));
        let (Some((name, call_with)), Some(fields)) = (resolved, item.as_object_mut()) else {
            self.dropped.push(name_of(item));
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

    /// A dependency: of a callable action, and not only on what cannot be called.
    fn dependency(&mut self, item: &mut Value) -> bool {
        self.refers(item) && !self.references(item, "dependsOn")
    }

    /// Whether an item is about an action that can be called, or about none.
    fn refers(&mut self, item: &mut Value) -> bool {
        self.reference(item.get("action").unwrap_or(&Value::Null))
    }

    /// Keeps the names of a list that can be called; tells whether it had some and all of them went.
    fn references(&mut self, item: &mut Value, key: &str) -> bool {
        let names = item.get_mut(key).and_then(Value::as_array_mut);
        let Some(names) = names.filter(|names| !names.is_empty()) else {
            return false;
        };
        self.bound(names);
        names.retain(|name| self.reference(name));
        names.is_empty()
    }

    /// Whether a name elsewhere than among the suggestions can be called, or is none; told of only once.
    fn reference(&mut self, name: &Value) -> bool {
        let Some(name) = name.as_str() else {
            return true;
        };
        let is_callable = (self.resolve)(name).is_some();
        let shown = shown(name);
        let has_room = self.dropped.len() < MOST_DROPPED;
        if !is_callable && has_room && !self.dropped.contains(&shown) {
            self.dropped.push(shown);
        }
        is_callable
    }
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
