//! Lists of a direct endpoint, made once for each snapshot of the catalog, and their pages.

use std::hash::{DefaultHasher, Hash, Hasher};

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use mcpproxy_wire::Json;
use mcpproxy_wire::json::{JsonText, Members, to_text};

use super::names::Target;

/// The most items on a page.
const PAGE_ITEMS: usize = 500;

/// The most bytes on a page, unless a single item has more.
const PAGE_BYTES: usize = 1024 * 1024;

/// Items of one kind in the order of servers and names.
#[derive(Debug)]
pub struct PagedListing {
    /// Member of a result that has them.
    member: &'static str,
    items: Vec<(Target, Json)>,
    digest: u64,
}

impl PagedListing {
    /// Pages of these items, which come in order, under a member of a result.
    pub(super) fn new(member: &'static str, items: Vec<(Target, Json)>) -> Self {
        let mut hasher = DefaultHasher::new();
        for (_, definition) in &items {
            definition.text().hash(&mut hasher);
        }
        Self {
            member,
            digest: hasher.finish(),
            items,
        }
    }

    /// Differs between listings that differ, within this process.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// The result of a list from a cursor on; nothing if the cursor is none of ours. A cursor names the
    /// last item that was seen, so it is good for listings that have changed since.
    pub fn page(&self, cursor: Option<&str>) -> Option<String> {
        let first = match cursor {
            None => 0,
            Some(cursor) => {
                let (server, tool) = read_cursor(cursor)?;
                self.items.partition_point(|((of, name), _)| {
                    (&**of, &**name) <= (server.as_str(), tool.as_str())
                })
            }
        };
        let rest = self.items.get(first..).unwrap_or_default();
        let sizes = rest.iter().scan(0, |end, (_, definition)| {
            *end += definition.text().len() + 1;
            // The last one has no comma after it.
            Some(*end - 1)
        });
        let fitting = sizes
            .take(PAGE_ITEMS)
            .take_while(|size| *size <= PAGE_BYTES);
        let fitting = fitting.count();
        let (items, later) = rest.split_at(fitting.max(1).min(rest.len()));
        let definitions: Vec<&Json> = items.iter().map(|(_, definition)| definition).collect();
        let definitions = to_text(&definitions);
        let mut members = vec![(self.member, JsonText(&definitions))];
        let last = items.last().filter(|_| !later.is_empty());
        let cursor = last.map(|(item, _)| to_text(&cursor_after(item)));
        members.extend(cursor.iter().map(|cursor| ("nextCursor", JsonText(cursor))));
        Some(to_text(&Members(members)))
    }
}

/// A cursor is the hexadecimal form of both names with a zero between them, which neither has.
fn cursor_after((server, key): &Target) -> String {
    HEXLOWER.encode([server, "\0", key].concat().as_bytes())
}

fn read_cursor(cursor: &str) -> Option<(String, String)> {
    let key = HEXLOWER_PERMISSIVE.decode(cursor.as_bytes()).ok()?;
    let key = String::from_utf8(key).ok()?;
    let (server, key) = key.split_once('\0')?;
    Some((server.to_owned(), key.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mcpproxy_wire::{ListedKind, Offerings, ToolDefinition};
    use serde_json::{Value, json};

    use super::*;
    use crate::{Catalog, Operator, Scope, ToolOverride};

    fn listing(tools: &[String], overrides: &Value) -> Arc<PagedListing> {
        let catalog = Catalog::new();
        let tools = tools
            .iter()
            .map(|text| ToolDefinition::parse(&Json::parse(text.clone()).unwrap()).unwrap());
        let overrides = overrides.as_object().unwrap().iter().map(|(name, word)| {
            let word = ToolOverride {
                annotations: word["annotations"].as_object().cloned().unwrap_or_default(),
                enabled: word["enabled"] != json!(false),
            };
            (name.clone(), word)
        });
        let operator = Operator {
            tools: overrides.collect(),
            ..Operator::default()
        };
        catalog.configure([("srv".to_owned(), operator)].into());
        assert!(catalog.replace("srv", Offerings::default().with(ListedKind::Tool, tools)));
        catalog.directory().listing(&Scope::All, ListedKind::Tool)
    }

    fn numbered(count: usize) -> Vec<String> {
        (0..count)
            .map(|number| format!(r#"{{"name":"t{number:05}","inputSchema":{{}}}}"#))
            .collect()
    }

    /// The names on a page, and where the next one begins.
    fn read(page: &str) -> (Vec<String>, Option<String>) {
        let page: Value = serde_json::from_str(page).unwrap();
        let tools = page["tools"].as_array().unwrap();
        let names = tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned());
        let next = page["nextCursor"].as_str().map(str::to_owned);
        (names.collect(), next)
    }

    #[test]
    fn bytes_are_kept_but_for_the_name_and_what_the_operator_says() {
        let odd = r#"{ "zeta":1e400, "name" : "\u0061", "inputSchema":{"b":1.10,"a":18446744073709551617}, "_meta":{"k":1.0} }"#;
        let table = [
            (
                odd.to_owned(),
                json!({}),
                odd.replace(r#""\u0061""#, r#""srv__a""#),
            ),
            (
                r#"{"name":"a","annotations":{"x":1.0,"readOnlyHint":true},"inputSchema":{}}"#.to_owned(),
                json!({ "a": { "annotations": { "readOnlyHint": false } } }),
                r#"{"name":"srv__a","annotations":{"x":1.0,"readOnlyHint":false},"inputSchema":{}}"#.to_owned(),
            ),
            (
                r#"{"name":"a","inputSchema":{} }"#.to_owned(),
                json!({ "a": { "annotations": { "destructiveHint": true } } }),
                r#"{"name":"srv__a","inputSchema":{} ,"annotations":{"destructiveHint":true}}"#.to_owned(),
            ),
            (
                r#"{"name":"a","annotations":null,"inputSchema":{}}"#.to_owned(),
                json!({ "a": { "annotations": { "destructiveHint": true } } }),
                r#"{"name":"srv__a","annotations":{"destructiveHint":true},"inputSchema":{}}"#.to_owned(),
            ),
        ];
        for (sent, operator, expected) in table {
            let page = listing(&[sent], &operator).page(None).unwrap();
            assert_eq!(page, format!(r#"{{"tools":[{expected}]}}"#));
        }
        let disabled = listing(&numbered(1), &json!({ "t00000": { "enabled": false } }));
        assert_eq!(disabled.page(None).unwrap(), r#"{"tools":[]}"#);
    }

    #[test]
    fn pages_are_bounded_and_together_they_are_the_list() {
        let listing = listing(&numbered(2 * PAGE_ITEMS + 1), &json!({}));
        let (mut all, mut cursor, mut pages) = (Vec::new(), None, 0);
        loop {
            let (names, next) = read(&listing.page(cursor.as_deref()).unwrap());
            assert!(names.len() <= PAGE_ITEMS);
            all.extend(names);
            pages += 1;
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        let expected: Vec<String> = (0..=2 * PAGE_ITEMS)
            .map(|number| format!("srv__t{number:05}"))
            .collect();
        assert_eq!((all, pages), (expected, 3));
    }

    #[test]
    fn large_tools_fill_a_page_and_one_larger_than_a_page_is_alone_on_it() {
        let tool = |name: &str, size: usize| {
            let description = "d".repeat(size);
            format!(r#"{{"name":"{name}","description":"{description}","inputSchema":{{}}}}"#)
        };
        let half = PAGE_BYTES / 2 - 200;
        let tools = [
            tool("a", half),
            tool("b", half),
            tool("c", 10),
            tool("d", 2 * PAGE_BYTES),
            tool("e", 1000),
        ];
        let listing = listing(&tools, &json!({}));
        let (mut pages, mut cursor) = (Vec::new(), None);
        loop {
            let (names, next) = read(&listing.page(cursor.as_deref()).unwrap());
            pages.push(names.join(" "));
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(pages, ["srv__a srv__b srv__c", "srv__d", "srv__e"]);
    }

    #[test]
    fn a_cursor_is_good_after_a_change_and_others_are_refused() {
        let before = listing(&numbered(PAGE_ITEMS + 2), &json!({}));
        let (_, cursor) = read(&before.page(None).unwrap());
        let mut fewer = numbered(PAGE_ITEMS + 3);
        fewer.drain(..PAGE_ITEMS);
        let after = listing(&fewer, &json!({}));
        let (names, next) = read(&after.page(cursor.as_deref()).unwrap());
        assert_eq!(names, ["srv__t00500", "srv__t00501", "srv__t00502"]);
        assert_eq!(next, None);
        for cursor in ["", "0", "zz", "ff00", "6162", "+1", "é"] {
            assert_eq!(after.page(Some(cursor)), None, "{cursor}");
        }
        assert_ne!(before.digest(), after.digest());
    }
}
