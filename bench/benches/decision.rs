//! What the decision on one call costs: rights of the caller, declared intent checked, annotations merged, decided. And
//! what it costs to look at an answer that its tool's contract is kept.
//!
//! Pure functions in a plain loop. Each row first proves that the decision is the expected one, so that a fast
//! wrong answer cannot be reported.

use std::cell::RefCell;
use std::hint::black_box;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcpproxy_catalog::{Catalog, Operator};
use mcpproxy_contract_check::confidence::{ConfidenceMemory, answer_hash};
use mcpproxy_gateway::AnswerChecks;
use mcpproxy_policy::{
    AccessTo, AgentToken, AnonymousRole, ContractTerms, Decision, DeclaredIntent, Effect, Intent,
    Mode, Operation, Rights, Rules, Subject, TokenGrant, ToolGlob, Unannotated, decide,
};
use mcpproxy_wire::{CallResult, Json, ListedKind, Offerings, ToolAnnotations, ToolDefinition};
use serde_json::{Value, json};

/// Enough batches that their median is steady.
const BATCHES: usize = 101;
/// Each batch is long against the cost of reading the clock.
const BATCH_TIME: Duration = Duration::from_millis(5);
/// A description of this many bytes is longer than nearly all that servers publish.
const LONG_DESCRIPTION: usize = 4096;

/// Bytes of the data that tools of the contract usually answer with.
const USUAL_ANSWER: usize = 2048;

/// One kind of call.
struct Case {
    name: &'static str,
    variant: Operation,
    declared: DeclaredIntent,
    mode: Mode,
    annotations: ToolAnnotations,
    operator: ToolAnnotations,
    tool: Arc<str>,
    description: String,
    allowed: bool,
}

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{:<52}{:>12}{:>14}",
        "one decision", "median", "slowest batch"
    )?;
    for case in cases() {
        assert_eq!(
            once(&case, &Arc::from("database")),
            case.allowed,
            "{}",
            case.name
        );
        let server = Arc::from("database");
        let (median, slowest) = measure(|| once(black_box(&case), black_box(&server)));
        writeln!(out, "{:<52}{median:>9} ns{slowest:>11} ns", case.name)?;
    }
    writeln!(
        out,
        "\nrights of one call: its variant, its server, its tool"
    )?;
    for (name, rights, allowed) in callers() {
        assert_eq!(rights_of_call(&rights), allowed, "{name}");
        let (median, slowest) = measure(|| rights_of_call(black_box(&rights)));
        writeln!(out, "{name:<52}{median:>9} ns{slowest:>11} ns")?;
    }
    writeln!(
        out,
        "\nterms of one call: permissions, limit, warning of a removal"
    )?;
    for (name, terms, rights, allowed) in announced() {
        let once = || terms_of_call(black_box(terms.as_ref()), black_box(&rights));
        assert_eq!(once(), allowed, "{name}");
        let (median, slowest) = measure(once);
        writeln!(out, "{name:<52}{median:>9} ns{slowest:>11} ns")?;
    }
    contract_rows(&mut out)
}

/// Cost of looking at one answer.
fn contract_rows(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\none answer against the tool contract")?;
    let mut row = |name: &str, (median, slowest): (u128, u128)| {
        writeln!(out, "{name:<52}{median:>9} ns{slowest:>11} ns")
    };
    let catalog = catalog();
    let snapshot = catalog.snapshot();
    let tool = |name| snapshot.find("database", name).expect("it is there");
    // Whoever passes an answer on has it already, and a copy of it is a count.
    let answer = whole_answer();
    let checks = AnswerChecks::default();
    let (_, wrong) = checks.check(tool("get-row"), answer.clone(), &catalog);
    assert_eq!(wrong, 0);
    let cost = measure(|| {
        checks
            .check(black_box(tool("query_rows")), answer.clone(), &catalog)
            .1
            == 0
    });
    row("all checks, a tool without a contract, 2 KiB", cost)?;
    let cost = measure(|| {
        checks
            .check(black_box(tool("get-row")), answer.clone(), &catalog)
            .1
            == 0
    });
    row("all checks, a tool of the contract, 2 KiB", cost)?;
    let cost = measure(|| checks.watch(black_box(tool("get-row")), &answer).0 == 0);
    row("of that: taken apart, checked and remembered", cost)?;
    let structured = answer.structured().expect("it has some");
    let fields = structured.fields().expect("it is an object");
    let hints = structured.part(fields.get("agentHints").expect("it has hints"));
    let cost = measure(|| black_box(&hints).to_value().is_object());
    row("and of that: its hints decoded, for vetting as well", cost)?;
    let decoded = hints.to_value();
    let cost = measure(|| {
        let (answer, hints) = (answer.clone(), decoded.clone());
        let vetted = AnswerChecks::vet(black_box(tool("get-row")), answer, hints, &catalog);
        !vetted.1
    });
    row("of that: its suggestions vetted", cost)?;

    let answer = contract_answer();
    assert_eq!(mcpproxy_contract_check::result(&answer), []);
    let cost = measure(|| mcpproxy_contract_check::result(black_box(&answer)).is_empty());
    row("hints, roi and metadata", cost)?;

    let data = "x".repeat(USUAL_ANSWER);
    let memory = RefCell::new(ConfidenceMemory::default());
    let learn = |confidence: f64| {
        let mut memory = memory.borrow_mut();
        memory.learn(black_box(confidence), || answer_hash(black_box(&data)));
        memory.seen().is_some_and(|seen| seen.typed_in().is_none())
    };
    // The same answer each time: its hash is made with each of them, as with the first answers of a tool.
    row(
        "confidence remembered, not yet moved, 2 KiB",
        measure(|| learn(0.5)),
    )?;
    assert!(learn(0.6));
    row("confidence remembered, moved", measure(|| learn(0.6)))
}

/// Server with a tool that announces nothing, and some that announce the contract.
fn catalog() -> Catalog {
    let catalog = Catalog::new();
    catalog.configure([("database".to_owned(), Operator::default())].into());
    let of_contract = |name: &str| {
        let definition = json!({ "category": "query" });
        json!({ "name": name, "inputSchema": {}, "annotations": { "readOnlyHint": true },
            "_meta": { "dev.mcpproxy/definition": definition } })
    };
    let plain = json!({ "name": "query_rows", "inputSchema": {} });
    let tools = [plain]
        .into_iter()
        .chain(["get-row", "count-rows"].map(of_contract));
    let tools = tools.map(|tool| ToolDefinition::parse(&Json::of(&tool)).expect("it is a tool"));
    let tools: Vec<ToolDefinition> = tools.collect();
    catalog.replace(
        "database",
        Offerings::default().with(ListedKind::Tool, tools),
    );
    catalog
}

/// Result of a call as its server sends it: data of a usual size, with the hints of [`contract_answer`].
fn whole_answer() -> CallResult {
    let mut structured = contract_answer();
    structured["data"] = json!({ "rows": "x".repeat(USUAL_ANSWER) });
    let result = json!({ "content": [], "structuredContent": structured });
    CallResult::parse(Json::of(&result)).expect("it is a result")
}

/// Answer of a usual size, with every required field.
fn contract_answer() -> Value {
    let risk = json!({ "type": "accuracy", "severity": "low", "description": "Rows may have changed", "probability": 0.1, "impact": 0.2 });
    let action = |name: &str| json!({ "action": name, "priority": "medium", "description": "Goes on from here" });
    json!({
        "data": true,
        "agentHints": {
            "suggestedNextActions": [action("get-row"), action("count-rows")], "relatedResources": [],
            "confidence": 0.87, "sourceQuality": "high", "validityPeriod": "short", "contextNeeded": [],
            "assumptions": ["The table is current"], "riskFactors": [risk], "dependencies": [],
            "estimatedImpact": { "benefit": 0.5, "effort": 0.2, "roi": 2.5 }, "preferenceAlignment": [],
            "reasoning": "confidence 0.87: completeness 1.00 (10 of 10), freshness 0.76.",
        },
        "metadata": {
            "toolVersion": "1.0.0", "timestamp": "2026-01-31T12:00:00Z", "executionTime": 1.5, "serviceVersion": "0.3.0",
            "traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "correlationId": "01900000-0000-7000-8000-00000000000a", "cached": false,
        },
    })
}

/// Terms that tools announce, callers, and whether they may make the call.
fn announced() -> Vec<(&'static str, Option<ContractTerms>, Rights, bool)> {
    let terms = |definition: Value| Some(ContractTerms::of(&definition));
    let read = || Rights::Anonymous(AnonymousRole::Read);
    vec![
        ("a tool without a contract", None, read(), true),
        (
            "a tool that announces nothing",
            terms(json!({})),
            read(),
            true,
        ),
        (
            "a tool that announces everything",
            terms(json!({
                "permissions": ["rows:read", "tables:read"],
                "rateLimit": { "maxCalls": 10, "windowMs": 1_000 },
                "deprecated": { "replacement": "find-rows", "removalDate": "2999-12-31" },
            })),
            read(),
            true,
        ),
        (
            "a permission that is missing",
            terms(json!({ "permissions": ["rows:write"] })),
            read(),
            false,
        ),
    ]
}

/// All that a call asks of the terms of its tool, but for the limiter itself.
fn terms_of_call(terms: Option<&ContractTerms>, rights: &Rights) -> bool {
    let Some(terms) = terms else {
        return true;
    };
    black_box(terms.rate_limit);
    let deprecation = terms.deprecation.as_ref();
    black_box(deprecation.map(|one| one.warning("database", "query_rows")));
    terms.missing_permissions(rights).is_empty()
}

/// Callers, and whether they may make the call.
fn callers() -> Vec<(&'static str, Rights, bool)> {
    let token = |grant: TokenGrant| {
        let (id, name) = ("id".into(), "ci".into());
        Rights::Token(Arc::new(AgentToken { id, name, grant }))
    };
    let names = |count: usize| (0..count).map(|number| format!("server-{number}"));
    let globs = names(100).map(|name| ToolGlob::parse(&format!("{name}:query_*")));
    vec![
        ("nobody, full", Rights::default(), true),
        ("a token without flags", token(TokenGrant::default()), true),
        (
            "a token of 100 servers, the last of them",
            token(TokenGrant {
                servers: Some(names(99).chain(["database".to_owned()]).collect()),
                ..TokenGrant::default()
            }),
            true,
        ),
        (
            "a token of 100 patterns, none of which matches",
            token(TokenGrant {
                tools: globs.collect::<Result<_, _>>().expect("they are patterns"),
                ..TokenGrant::default()
            }),
            false,
        ),
    ]
}

/// All that a read asks of the caller's rights.
fn rights_of_call(rights: &Rights) -> bool {
    rights.allow(AccessTo::Operation(Operation::Read))
        && rights.allow(AccessTo::Server(black_box("database")))
        && rights.allow(AccessTo::Tool {
            server: black_box("database"),
            qualified: black_box("database:query_rows"),
            effect: Effect::Read,
        })
}

fn cases() -> Vec<Case> {
    let read_only = ToolAnnotations {
        read_only: Some(true),
        ..ToolAnnotations::default()
    };
    let destructive = ToolAnnotations {
        read_only: Some(false),
        destructive: Some(true),
        ..ToolAnnotations::default()
    };
    let long: String = "Answers with rows of the table. "
        .chars()
        .cycle()
        .take(LONG_DESCRIPTION)
        .collect();
    vec![
        case("read of a read-only tool", Operation::Read, read_only),
        Case {
            declared: nested(
                json!({"operation_type": "write", "data_sensitivity": "private", "reason": "ü".repeat(1000)}),
            ),
            ..case("write with the longest reason", Operation::Write, read_only)
        },
        Case {
            declared: DeclaredIntent {
                reason: Some(json!("Look it up")),
                data_sensitivity: Some(json!("public")),
                ..DeclaredIntent::default()
            },
            mode: Mode::Inferred,
            ..case("read, inferred, flat fields", Operation::Read, read_only)
        },
        Case {
            operator: destructive,
            allowed: false,
            ..case(
                "read refused by the operator's annotations",
                Operation::Read,
                read_only,
            )
        },
        Case {
            tool: Arc::from("delete_rows"),
            description: long,
            ..case(
                "read warned about: no annotations, risky name",
                Operation::Read,
                ToolAnnotations::default(),
            )
        },
    ]
}

/// A two-key call with a nested declaration that fits its variant.
fn case(name: &'static str, variant: Operation, annotations: ToolAnnotations) -> Case {
    Case {
        name,
        variant,
        declared: nested(json!({"operation_type": variant.as_str()})),
        mode: Mode::TwoKey,
        annotations,
        operator: ToolAnnotations::default(),
        tool: Arc::from("query_rows"),
        description: "Answers with rows of the table.".to_owned(),
        allowed: true,
    }
}

fn nested(intent: Value) -> DeclaredIntent {
    DeclaredIntent {
        intent: Some(intent),
        ..DeclaredIntent::default()
    }
}

/// All that the decision on one call does; whether it was allowed.
fn once(case: &Case, server: &Arc<str>) -> bool {
    let rules = Rules {
        mode: case.mode,
        strict_server_validation: true,
        unannotated: Unannotated::TrustAgent,
    };
    let Ok(intent) = Intent::parse(case.variant, &case.declared, case.mode) else {
        return false;
    };
    let subject = Subject {
        server,
        tool: &case.tool,
        description: &case.description,
        annotations: case.annotations.overridden_by(case.operator),
    };
    let decision = black_box(decide(&intent, &subject, rules));
    matches!(decision, Decision::Allow(..))
}

/// Nanoseconds of one decision: the median over the batches, and the slowest of them.
fn measure(decide: impl Fn() -> bool) -> (u128, u128) {
    let run = |count: u32| {
        let started = Instant::now();
        for _ in 0..count {
            black_box(decide());
        }
        started.elapsed()
    };
    let mut count = 1;
    while run(count) < BATCH_TIME {
        count *= 2;
    }
    let mut batches: Vec<u128> = (0..BATCHES)
        .map(|_| run(count).as_nanos() / u128::from(count))
        .collect();
    batches.sort_unstable();
    (batches[BATCHES / 2], batches[BATCHES - 1])
}
