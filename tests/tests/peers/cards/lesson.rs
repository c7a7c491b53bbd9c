//! What every client does with the cards, and what it has to see of each answer: as a client that shows its model
//! `structuredContent` alone, and as one that shows the text alone.

use mcpproxy_tests::decode;
use serde_json::{Value, json};

/// One call, and what comes of it.
pub(crate) struct Step {
    pub(crate) tool: &'static str,
    /// The operation that has to be declared for it behind the gateway.
    pub(crate) operation: &'static str,
    pub(crate) arguments: Value,
    expected: Expected,
    /// The tools that have to be among the next steps, each with the operation it needs behind the gateway.
    next: &'static [(&'static str, &'static str)],
}

enum Expected {
    /// Members of the data, by their pointers.
    Data(Vec<(&'static str, Value)>),
    /// The code of an error.
    Refused(&'static str),
}

use Expected::{Data, Refused};

/// How often the quiz may be asked for in a minute.
const QUIZZES: usize = 10;

/// A lesson on a new store: reading, writing, an error, deleting, and a limit.
pub(crate) fn lesson() -> Vec<Step> {
    let front = json!("Who checks what an agent declares about a call?");
    let read = || Step {
        tool: "get-card",
        operation: "read",
        arguments: json!({ "cardId": "card_4" }),
        expected: Data(vec![
            ("/cardId", json!("card_4")),
            ("/front", front.clone()),
        ]),
        next: &[("review-card", "write"), ("update-card", "write")],
    };
    let quiz = |expected, next| Step {
        tool: "generate-quiz",
        operation: "read",
        arguments: json!({ "deckId": "deck_3", "questions": 2 }),
        expected,
        next,
    };
    let mut steps = vec![
        read(),
        Step {
            tool: "create-card",
            operation: "write",
            arguments: json!({ "deckId": "deck_3", "front": "3 × 3", "back": "9" }),
            expected: Data(vec![("/cardId", json!("card_13")), ("/back", json!("9"))]),
            next: &[("get-card", "read")],
        },
        Step {
            tool: "review-card",
            operation: "write",
            arguments: json!({ "cardId": "card_4", "grade": 3 }),
            expected: Data(vec![("/review/grade", json!(3)), ("/reviews", json!(1))]),
            next: &[("review-next-card", "read")],
        },
        Step {
            tool: "get-card",
            operation: "read",
            arguments: json!({ "cardId": "card_99" }),
            expected: Refused("NOT_FOUND"),
            next: &[("search-cards", "read")],
        },
        Step {
            tool: "delete-card",
            operation: "destructive",
            arguments: json!({ "cardId": "card_13" }),
            expected: Data(vec![("/card/front", json!("3 × 3"))]),
            next: &[],
        },
    ];
    steps.extend((0..QUIZZES).map(|_| quiz(Data(vec![("/deckId", json!("deck_3"))]), &[])));
    steps.push(quiz(Refused("RATE_LIMITED"), &[]));
    steps
}

impl Step {
    /// Checks an answer as it came from the service itself, in both forms.
    pub(crate) fn check(&self, who: &str, result: &Value) {
        let who = format!("{who}: {} {}", self.tool, self.arguments);
        let is_refused = matches!(self.expected, Refused(_));
        assert_eq!(result["isError"], is_refused, "{who}: {result}");
        self.check_structured(&who, &result["structuredContent"]);
        let content = result["content"].as_array().expect("a result has content");
        assert_eq!(content.len(), 1, "{who}: {result}");
        let text = content[0]["text"].as_str().expect("the content is a text");
        // The text of a refusal by the gateway, in the place of the service, is the message alone.
        if is_refused && result["structuredContent"]["error"]["message"] == text {
            return;
        }
        self.check_text(&who, text);
    }

    /// What the gateway adds: which tool each next step is there, and the variant to call it with.
    pub(crate) fn check_call_with(&self, result: &Value) {
        let hints = &result["structuredContent"]["agentHints"];
        for (action, operation) in self.next {
            let suggestion = suggestion(hints, action);
            assert_eq!(suggestion["tool"], format!("cards:{action}"), "{result}");
            let call_with = format!("call_tool_{operation}");
            assert_eq!(suggestion["call_with"], call_with, "{result}");
        }
    }

    fn check_structured(&self, who: &str, structured: &Value) {
        match &self.expected {
            Data(members) => {
                check_members(who, members, &structured["data"]);
                assert!(structured.get("error").is_none(), "{who}: {structured}");
            }
            Refused(code) => {
                let error = &structured["error"];
                assert_eq!(error["code"], *code, "{who}: {error}");
                assert!(structured.get("data").is_none(), "{who}: {structured}");
                let wait = error["details"]["retry_after_ms"].as_u64();
                let is_limit = wait.is_some_and(|wait| (1..=60_000).contains(&wait));
                assert_eq!(is_limit, *code == "RATE_LIMITED", "{who}: {error}");
                assert_eq!(error["retryable"], is_limit, "{who}: {error}");
            }
        }
        let hints = &structured["agentHints"];
        assert!(hints["confidence"].is_number(), "{who}: {hints}");
        for (action, _) in self.next {
            suggestion(hints, action);
        }
    }

    fn check_text(&self, who: &str, text: &str) {
        let (told, rest) = text.split_once("\n\n").expect("data or error comes first");
        match &self.expected {
            Data(members) => check_members(who, members, &decode(told)),
            Refused(code) => assert!(told.starts_with(&format!("{code}: ")), "{who}: {text}"),
        }
        for (action, _) in self.next {
            let step = format!("\n- {action} (");
            let (_, steps) = rest
                .split_once("Next steps:")
                .expect("there are next steps");
            assert!(steps.contains(&step), "{who}: {text}");
        }
        assert!(rest.contains("Confidence "), "{who}: {text}");
        if matches!(self.expected, Refused("RATE_LIMITED")) {
            assert!(told.contains("try again in"), "{who}: {text}");
        }
    }
}

fn check_members(who: &str, members: &[(&str, Value)], data: &Value) {
    for (pointer, value) in members {
        assert_eq!(data.pointer(pointer), Some(value), "{who}: {data}");
    }
}

fn suggestion<'a>(hints: &'a Value, action: &str) -> &'a Value {
    let suggestions = hints["suggestedNextActions"].as_array();
    let mut suggestions = suggestions.expect("there are next steps").iter();
    suggestions
        .find(|suggestion| suggestion["action"] == action)
        .unwrap_or_else(|| panic!("{action} is not suggested: {hints}"))
}
