//! Offerings that servers list: tools, prompts, resources and templates of resources.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::capabilities::{Capabilities, Introduction, ListChanges};
use crate::json::Json;
use crate::method::Method;
use crate::result::without_own_keys;
use crate::tool::{ToolDefinition, string};

/// The longest name of a prompt; the same as for tools.
const NAME_LIMIT: usize = 256;
/// The longest address of a resource. Browsers and proxies take no longer ones either.
const URI_LIMIT: usize = 8 * 1024;

/// Most items of a page that are reported as left out.
const REJECTED_LIMIT: usize = 100;
/// Most characters of the reason for that, which may quote the server.
const REASON_LIMIT: usize = 1024;

crate::words! {
    /// Kind of the items of a list; the word is the member of a result that has the list.
    ListedKind {
        /// `tools/list`, by name.
        Tool = "tools",
        /// `prompts/list`, by name.
        Prompt = "prompts",
        /// `resources/list`, by address.
        Resource = "resources",
        /// `resources/templates/list`, by template.
        Template = "resourceTemplates",
    }
}

/// One item: the bytes its server sent, and what it is known by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedItem {
    /// The whole definition, unknown fields included.
    pub raw: Json,
    /// Its name, address or template.
    pub key: Arc<str>,
}

/// One page of a list.
#[derive(Debug, Default)]
pub struct ListedPage {
    /// The items that can be used.
    pub items: Vec<ListedItem>,
    /// Items left out, each with the reason; the first hundred of them.
    pub rejected: Vec<RejectedItem>,
    /// Number of items, those left out included.
    pub count: usize,
    /// Cursor of the next page, if there is one.
    pub next_cursor: Option<String>,
}

/// An item that was left out of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedItem {
    /// Its position in the list.
    pub index: usize,
    /// Its name, address or template, where it has one.
    pub key: Option<String>,
    /// Reason why it was left out.
    pub reason: String,
}

/// Offerings of one server: what it declared, and its lists as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offerings {
    /// Capabilities that the server declared when it was last connected.
    pub capabilities: Capabilities,
    /// Introduction that it gave then.
    #[serde(default)]
    pub introduction: Introduction,
    lists: [Option<Arc<[ListedItem]>>; ListedKind::ALL.len()],
}

// === impl Offerings ===

impl Offerings {
    /// List of one kind; nothing if it is not known yet.
    pub fn list(&self, kind: ListedKind) -> Option<&Arc<[ListedItem]>> {
        self.lists[kind.index()].as_ref()
    }

    /// Items of one kind that are known.
    pub fn items(&self, kind: ListedKind) -> &[ListedItem] {
        self.list(kind).map_or(&[], |items| items)
    }

    /// Takes a list; tells whether it differs from the one before.
    pub fn put(&mut self, kind: ListedKind, items: Vec<ListedItem>) -> bool {
        let list = &mut self.lists[kind.index()];
        let is_changed = list.as_deref() != Some(&*items);
        if is_changed {
            *list = Some(items.into());
        }
        is_changed
    }

    /// Offerings with the lists of a server. One that the server has not given yet since it was
    /// started stays: nothing is taken away and given back within a moment.
    #[must_use]
    pub fn updated(&self, mut next: Self) -> Self {
        for (list, before) in next.lists.iter_mut().zip(&self.lists) {
            // Shared where it is the same, so that others see at once that it is.
            if list.is_none() || list == before {
                list.clone_from(before);
            }
        }
        next
    }

    /// Offerings with one list more.
    #[must_use]
    pub fn with<T: Into<ListedItem>>(
        mut self,
        kind: ListedKind,
        items: impl IntoIterator<Item = T>,
    ) -> Self {
        self.put(kind, items.into_iter().map(Into::into).collect());
        self
    }
}

// === impl ListedKind ===

impl ListedKind {
    /// Place among all kinds.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Whether a server has what is listed under the kind, and tells of changes.
    pub const fn declared(self, capabilities: &Capabilities) -> Option<ListChanges> {
        match self {
            Self::Tool => capabilities.tools,
            Self::Prompt => capabilities.prompts,
            Self::Resource | Self::Template => capabilities.resources,
        }
    }

    /// The method that lists them.
    pub const fn method(self) -> Method {
        match self {
            Self::Tool => Method::ToolsList,
            Self::Prompt => Method::PromptsList,
            Self::Resource => Method::ResourcesList,
            Self::Template => Method::ResourceTemplatesList,
        }
    }

    /// Kind that a method lists.
    pub fn listed_by(method: Method) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.method() == method)
    }

    /// The member of an item that it is known by.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Tool | Self::Prompt => "name",
            Self::Resource => "uri",
            Self::Template => "uriTemplate",
        }
    }
}

// === impl ListedPage ===

impl ListedPage {
    /// Reads the result of a list. A malformed item is left out and the others stay; an error
    /// means that there is no list at all.
    pub fn parse(kind: ListedKind, json: &Json) -> Result<Self, String> {
        let (method, member) = (kind.method().as_str(), kind.as_str());
        let fields = json
            .fields()
            .ok_or_else(|| format!("the result of {method} is not an object"))?;
        let list = fields
            .get(member)
            .ok_or_else(|| format!("the result of {method} has no {member}"))?;
        let items: Vec<&RawValue> = serde_json::from_str(list.get())
            .map_err(|_| format!("the {member} in the result of {method} are not a list"))?;
        Ok(Self {
            next_cursor: fields.text("nextCursor").map(Cow::into_owned),
            ..Self::of(kind, items.into_iter().map(|item| json.part(item)))
        })
    }

    /// Page of these items, each checked like those of any server.
    pub fn of(kind: ListedKind, items: impl IntoIterator<Item = Json>) -> Self {
        let mut page = Self::default();
        let mut keys = HashSet::new();
        for (index, raw) in items.into_iter().enumerate() {
            page.count += 1;
            // The definition of a tool has keys of the contract, which are its server's to set.
            let raw = match kind {
                ListedKind::Tool => raw,
                _ => without_own_keys(raw),
            };
            let reason = match ListedItem::parse(kind, &raw) {
                Ok(item) if keys.insert(Arc::clone(&item.key)) => {
                    page.items.push(item);
                    continue;
                }
                Ok(_) => format!("another item of the list has the same {}", kind.key()),
                Err(reason) => reason,
            };
            let fields = raw.fields().unwrap_or_default();
            page.reject(index, fields.text(kind.key()).as_deref(), &reason);
        }
        page
    }

    /// Reports an item as left out, unless many are already.
    pub fn reject(&mut self, index: usize, key: Option<&str>, reason: &str) {
        if self.rejected.len() < REJECTED_LIMIT {
            self.rejected.push(RejectedItem {
                index,
                key: key.map(|key| key.chars().take(NAME_LIMIT).collect()),
                reason: reason.chars().take(REASON_LIMIT).collect(),
            });
        }
    }
}

// === impl ListedItem ===

impl ListedItem {
    /// Reads one item; the error says what is wrong with it.
    pub fn parse(kind: ListedKind, raw: &Json) -> Result<Self, String> {
        let limit = match kind {
            ListedKind::Tool => return ToolDefinition::parse(raw).map(Self::from),
            ListedKind::Prompt => NAME_LIMIT,
            ListedKind::Resource | ListedKind::Template => URI_LIMIT,
        };
        let name = kind.key();
        let fields = raw.fields().ok_or("it is not an object")?;
        let key = string(&fields, name)?.ok_or_else(|| format!("it has no {name}"))?;
        if key.is_empty() {
            return Err(format!("its {name} is empty"));
        }
        if key.len() > limit {
            return Err(format!("its {name} is longer than {limit} bytes"));
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

impl From<ToolDefinition> for ListedItem {
    fn from(tool: ToolDefinition) -> Self {
        Self {
            raw: tool.raw,
            key: tool.name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(kind: ListedKind, text: &str) -> Result<ListedPage, String> {
        ListedPage::parse(kind, &Json::parse(text.to_owned()).unwrap())
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
        for kind in [
            ListedKind::Prompt,
            ListedKind::Resource,
            ListedKind::Template,
        ] {
            let (member, key) = (kind.as_str(), kind.key());
            let text = format!(r#"{{"{member}":[{{"{key}":"x"}}]}}"#);
            assert_eq!(&*page(kind, &text).unwrap().items[0].key, "x");
            for text in ["[]", "{}", "null", &format!(r#"{{"{member}":{{}}}}"#)] {
                assert!(page(kind, text).is_err(), "{text}");
            }
        }
    }

    #[test]
    fn one_malformed_tool_is_left_out_and_the_others_stay() {
        let malformed = [
            ("7", "it is not an object"),
            (r#"{"inputSchema":{}}"#, "it has no name"),
            (r#"{"name":5,"inputSchema":{}}"#, "its name is not a string"),
            (r#"{"name":"","inputSchema":{}}"#, "its name is empty"),
            (
                r#"{"name":"a b","inputSchema":{}}"#,
                "its name contains a space or a control character",
            ),
            (r#"{"name":"x"}"#, "it has no inputSchema"),
            (
                r#"{"name":"x","inputSchema":[]}"#,
                "its inputSchema is not an object",
            ),
            (
                r#"{"name":"x","inputSchema":{},"description":1}"#,
                "its description is not a string",
            ),
            (
                r#"{"name":"x","inputSchema":{},"annotations":"no"}"#,
                "its annotations are not an object",
            ),
            (
                r#"{"name":"x","inputSchema":{},"annotations":{"destructiveHint":"no"}}"#,
                "its annotation destructiveHint is not true or false",
            ),
            (
                r#"{"name":"good","inputSchema":{}}"#,
                "another item of the list has the same name",
            ),
        ];
        for (item, reason) in malformed {
            let text = format!(
                r#"{{"tools":[{{"name":"good","inputSchema":{{}}}},{item},{{"name":"also","inputSchema":{{}}}}]}}"#
            );
            let page = page(ListedKind::Tool, &text).unwrap();
            let names: Vec<_> = page.items.iter().map(|tool| &*tool.key).collect();
            assert_eq!(names, ["good", "also"], "{item}");
            assert_eq!(page.rejected.len(), 1, "{item}");
            assert_eq!(
                (page.rejected[0].index, page.rejected[0].reason.as_str()),
                (1, reason)
            );
        }
    }
}
