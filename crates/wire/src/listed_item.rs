//! Items that servers list besides tools: prompts, resources and templates of resources.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::json::{Fields, Json};
use crate::method::Method;

/// The longest name of a prompt; the same as for tools.
const NAME_LIMIT: usize = 256;
/// The longest address of a resource. Browsers and proxies take no longer ones either.
const URI_LIMIT: usize = 8 * 1024;

/// Kind of the items of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListedKind {
    /// `prompts/list`, by name.
    Prompt,
    /// `resources/list`, by address.
    Resource,
    /// `resources/templates/list`, by template.
    Template,
}

/// One item: the bytes its server sent, and what it is known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedItem {
    /// The whole definition, unknown fields included.
    pub raw: Json,
    /// Its name, address or template.
    pub key: Arc<str>,
}

/// One page of a list.
#[derive(Debug, Default)]
pub struct ListedItemPage {
    /// The items that can be used.
    pub items: Vec<ListedItem>,
    /// Why others were left out.
    pub rejected: Vec<String>,
    /// Where the next page starts, if there is one.
    pub next_cursor: Option<String>,
}

// === impl ListedKind ===

impl ListedKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Prompt, Self::Resource, Self::Template];

    /// The method that lists them.
    pub const fn method(self) -> &'static str {
        match self {
            Self::Prompt => Method::PromptsList.as_str(),
            Self::Resource => Method::ResourcesList.as_str(),
            Self::Template => Method::ResourceTemplatesList.as_str(),
        }
    }

    /// The member of a result that has the list.
    pub const fn member(self) -> &'static str {
        match self {
            Self::Prompt => "prompts",
            Self::Resource => "resources",
            Self::Template => "resourceTemplates",
        }
    }

    /// The member of an item that it is known by.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Prompt => "name",
            Self::Resource => "uri",
            Self::Template => "uriTemplate",
        }
    }

    const fn limit(self) -> usize {
        match self {
            Self::Prompt => NAME_LIMIT,
            Self::Resource | Self::Template => URI_LIMIT,
        }
    }
}

// === impl ListedItemPage ===

impl ListedItemPage {
    /// Reads the result of a list. A malformed item is left out and the others stay; an error
    /// means that there is no list at all.
    pub fn parse(kind: ListedKind, json: &Json) -> Result<Self, String> {
        let (method, member) = (kind.method(), kind.member());
        let fields = json
            .fields()
            .ok_or_else(|| format!("the result of {method} is not an object"))?;
        let list = fields
            .get(member)
            .ok_or_else(|| format!("the result of {method} has no {member}"))?;
        let items: Vec<&RawValue> = serde_json::from_str(list.get())
            .map_err(|_| format!("the {member} in the result of {method} are not a list"))?;
        let mut page = Self {
            next_cursor: fields
                .given("nextCursor")
                .and_then(|raw| serde_json::from_str(raw.get()).ok()),
            ..Self::default()
        };
        let mut keys = HashSet::new();
        for (index, item) in items.into_iter().enumerate() {
            match ListedItem::parse(kind, &json.part(item)) {
                Ok(item) if keys.insert(Arc::clone(&item.key)) => page.items.push(item),
                Ok(item) => page.rejected.push(format!("{} is listed twice", item.key)),
                Err(reason) => page.rejected.push(format!("item {index}: {reason}")),
            }
        }
        Ok(page)
    }
}

// === impl ListedItem ===

impl ListedItem {
    /// Reads one item; the error says what is wrong with it.
    pub fn parse(kind: ListedKind, raw: &Json) -> Result<Self, String> {
        let name = kind.key();
        let fields: Fields<'_> = raw.fields().ok_or("it is not an object")?;
        let key = fields
            .given(name)
            .ok_or_else(|| format!("it has no {name}"))?;
        let key: String =
            serde_json::from_str(key.get()).map_err(|_| format!("its {name} is not a string"))?;
        if key.is_empty() {
            return Err(format!("its {name} is empty"));
        }
        if key.len() > kind.limit() {
            return Err(format!("its {name} is longer than {} bytes", kind.limit()));
        }
        if key.chars().any(char::is_control) {
            return Err(format!("its {name} contains a control character"));
        }
        Ok(Self {
            raw: raw.clone(),
            key: key.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(kind: ListedKind, text: &str) -> Result<ListedItemPage, String> {
        ListedItemPage::parse(kind, &Json::parse(text.to_owned()).unwrap())
    }

    #[test]
    fn one_malformed_item_is_left_out_and_the_others_keep_their_bytes() {
        let odd = r#"{ "zeta":1e400, "uri" : "test://\u0061", "size":18446744073709551617 }"#;
        let malformed = [
            "7",
            "{}",
            r#"{"uri":5}"#,
            r#"{"uri":""}"#,
            r#"{"uri":"a\nb"}"#,
            r#"{"uri":"test://a"}"#,
        ];
        for item in malformed {
            let text = format!(r#"{{"nextCursor":"c","resources":[{odd},{item},{{"uri":"b:"}}]}}"#);
            let page = page(ListedKind::Resource, &text).unwrap();
            let keys: Vec<&str> = page.items.iter().map(|item| &*item.key).collect();
            assert_eq!(keys, ["test://a", "b:"], "{item}");
            assert_eq!(page.items[0].raw.text(), odd);
            assert_eq!(page.rejected.len(), 1, "{item}");
            assert_eq!(page.next_cursor.as_deref(), Some("c"));
        }
    }

    #[test]
    fn each_kind_has_its_own_member_and_key() {
        for kind in ListedKind::ALL {
            let (member, key) = (kind.member(), kind.key());
            let text = format!(r#"{{"{member}":[{{"{key}":"x"}}]}}"#);
            assert_eq!(&*page(kind, &text).unwrap().items[0].key, "x");
            for text in ["[]", "{}", "null"] {
                assert!(page(kind, text).is_err(), "{text}");
            }
        }
    }
}
