//! Does confidence move with the evidence?

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Failures, is_removed, tester};
use mcpproxy_contract::{Service, ToolResult};

/// Calls a tool twice, once where there is little to go by and once where there is much, and asks
/// for less confidence in the first answer than in the second.
pub async fn confidence_moves(
    service: &Service,
    tool: &str,
    little: Value,
    much: Value,
) -> Result<(), Failures> {
    let less = service.call(tool, little, &tester()).await;
    let more = service.call(tool, much, &tester()).await;
    Failures::none_or(rises(tool, &less, &more).into_iter().collect())
}

/// Two calls of every tool, each on a new service: one where there is little to go by, one where there
/// is much. The second must be surer, and a factor that was counted the same in all calls of a tool is
/// told: `completeness(1, 1)` is a confidence that somebody typed in. A tool may have several such
/// pairs, and one that has none is told as well.
pub async fn confidence_is_computed(
    new_service: impl AsyncFn() -> Service,
    pairs: &[(&str, Value, Value)],
) -> Result<(), Failures> {
    let mut found = Vec::new();
    let service = new_service().await;
    for tool in service.registry().get_all() {
        let name = tool.definition().name.as_str();
        let mut explained = Vec::new();
        for (_, little, much) in pairs.iter().filter(|(tool, ..)| *tool == name) {
            let less = call(&new_service, name, little).await;
            let more = call(&new_service, name, much).await;
            // A tool whose time is over does what it announced, and shows nothing else.
            let is_over = is_removed(&more);
            found.extend((!is_over).then(|| rises(name, &less, &more)).flatten());
            explained.extend([less, more].map(|result| result.hints().reasoning()));
            if is_over {
                explained.truncate(1);
                break;
            }
        }
        if explained.is_empty() {
            found.push(format!(
                "{name}: there is no pair of calls that shows how its confidence is computed"
            ));
        }
        found.extend(constant_factors(&explained).into_iter().map(|factor| {
            format!("{name}: {factor} in every call, and a factor with one value is no evidence")
        }));
    }
    Failures::none_or(found)
}

async fn call(
    new_service: &impl AsyncFn() -> Service,
    tool: &str,
    arguments: &Value,
) -> ToolResult {
    let service = new_service().await;
    service.call(tool, arguments.clone(), &tester()).await
}

/// Why the second of two calls does not show that it is surer than the first.
fn rises(tool: &str, less: &ToolResult, more: &ToolResult) -> Option<String> {
    if let Some(error) = less.error().or(more.error()) {
        let (code, message) = (error.code, &error.message);
        return Some(format!("{tool}: the call fails: {code}: {message}"));
    }
    let values = [less, more].map(|result| result.hints().confidence().value());
    let [little, much] = values;
    (little >= much).then(|| {
        format!(
            "{tool}: confidence is {little} with little evidence and {much} with much, it must rise"
        )
    })
}

/// Factors that were counted, and counted the same in each of several explanations: "completeness was 1 of 1".
fn constant_factors(explained: &[String]) -> Vec<String> {
    let mut counts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, count) in explained.iter().flat_map(|text| counted_factors(text)) {
        counts.entry(name).or_default().push(count);
    }
    let constant = counts.into_iter().filter(|(_, counts)| {
        counts.len() > 1
            && counts.len() == explained.len()
            && counts.windows(2).all(|two| two[0] == two[1])
    });
    constant
        .map(|(name, counts)| format!("{name} was {}", counts[0]))
        .collect()
}

/// Names and counts in an explanation: `completeness 0.83 (5 of 6, weight 3)` gives `completeness` and `5 of 6`.
fn counted_factors(explained: &str) -> Vec<(&str, &str)> {
    const NAMES: [&str; 4] = ["completeness", "coverage", "agreement", "match"];
    let (_, factors) = explained.split_once("confidence ").unwrap_or_default();
    let parts = factors
        .split(", weight ")
        .map(|part| part.rsplit_once(" ("));
    let parts = parts.flatten().filter_map(|(before, count)| {
        let name = before.rsplit(' ').nth(1)?;
        (NAMES.contains(&name) && count.contains(" of ")).then_some((name, count))
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_that_can_have_one_value_only_was_not_found() {
        let told = |factors: &[&str]| {
            let explain = |factor: &&str| {
                format!("Found it. confidence 0.9: {factor}; source quality high. roi 0.")
            };
            constant_factors(&factors.iter().map(explain).collect::<Vec<_>>())
        };
        let one = "completeness 1.00 (1 of 1, weight 3)";
        assert_eq!(told(&[one, one]), ["completeness was 1 of 1"]);
        let (few, many) = (
            "coverage 1.00 (2 of 2, weight 2)",
            "coverage 1.00 (9 of 9, weight 2)",
        );
        assert_eq!(told(&[few, many]), [""; 0]);
        let both = [few, many].map(|other| format!("{other}, {one}, freshness 1.00 (weight 2)"));
        assert_eq!(told(&[&both[0], &both[1]]), ["completeness was 1 of 1"]);
        assert_eq!(
            told(&[one, few]),
            [""; 0],
            "a factor that is not always there"
        );
        assert_eq!(told(&[]), [""; 0]);
    }
}
