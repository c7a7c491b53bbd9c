//! The counters as text for Prometheus.

use std::time::Duration;

use super::{BOUNDS, Histogram, ToolMetrics};

/// Calls, whatever came of them, by tool.
pub const EXECUTIONS: &str = "mcp_tool_executions_total";

/// Calls that failed, by tool and category: validation, business or system.
pub const ERRORS: &str = "mcp_tool_errors_total";

/// Answers that were kept from an earlier call, by tool; only cacheable tools have it.
pub const CACHE_HITS: &str = "mcp_tool_cache_hits_total";

/// Answers that had to be computed, by tool; only cacheable tools have it.
pub const CACHE_MISSES: &str = "mcp_tool_cache_misses_total";

/// Calls that were refused because the caller called too often, by tool.
pub const RATE_LIMITED: &str = "mcp_tool_rate_limited_total";

/// Results that broke the contract, by tool.
pub const CONTRACT_VIOLATIONS: &str = "mcp_tool_contract_violations_total";

/// How long calls took in seconds, by tool.
pub const EXECUTION_SECONDS: &str = "mcp_tool_execution_seconds";

/// The text exposition format, version 0.0.4: each metric with its samples in one piece.
pub(super) fn render(tools: &[ToolMetrics]) -> String {
    let mut text = String::new();
    counter(
        &mut text,
        EXECUTIONS,
        "Calls, whatever came of them.",
        tools,
        |tool| Some(tool.executions),
    );
    errors(&mut text, tools);
    counter(
        &mut text,
        CACHE_HITS,
        "Answers kept from an earlier call.",
        tools,
        |tool| Some(tool.cache?.hits),
    );
    counter(
        &mut text,
        CACHE_MISSES,
        "Answers of cacheable tools that were computed.",
        tools,
        |tool| Some(tool.cache?.misses),
    );
    counter(
        &mut text,
        RATE_LIMITED,
        "Calls of callers that called too often.",
        tools,
        |tool| Some(tool.rate_limited),
    );
    counter(
        &mut text,
        CONTRACT_VIOLATIONS,
        "Results that broke the contract.",
        tools,
        |tool| Some(tool.contract_violations),
    );
    head(
        &mut text,
        EXECUTION_SECONDS,
        "histogram",
        "How long calls took, in seconds.",
    );
    for tool in tools {
        histogram(&mut text, &label(tool), &tool.execution_time);
    }
    text
}

/// A metric with one sample for each tool that has it.
fn counter(
    text: &mut String,
    name: &str,
    help: &str,
    tools: &[ToolMetrics],
    value: impl Fn(&ToolMetrics) -> Option<u64>,
) {
    head(text, name, "counter", help);
    for tool in tools {
        if let Some(value) = value(tool) {
            sample(text, name, &label(tool), value);
        }
    }
}

fn errors(text: &mut String, tools: &[ToolMetrics]) {
    head(text, ERRORS, "counter", "Calls that failed, by category.");
    for tool in tools {
        for (category, count) in [
            ("validation", tool.errors.validation),
            ("business", tool.errors.business),
            ("system", tool.errors.system),
        ] {
            let labels = format!("{},category=\"{category}\"", label(tool));
            sample(text, ERRORS, &labels, count);
        }
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    text.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
}

fn sample(text: &mut String, name: &str, labels: &str, value: u64) {
    text.push_str(&format!("{name}{{{labels}}} {value}\n"));
}

fn histogram(text: &mut String, label: &str, times: &Histogram) {
    let bucket = format!("{EXECUTION_SECONDS}_bucket");
    for ((_, bound), (_, count)) in BOUNDS.iter().zip(&times.buckets) {
        sample(text, &bucket, &format!("{label},le=\"{bound}\""), *count);
    }
    sample(text, &bucket, &format!("{label},le=\"+Inf\""), times.count);
    let sum = seconds(times.sum);
    text.push_str(&format!("{EXECUTION_SECONDS}_sum{{{label}}} {sum}\n"));
    sample(
        text,
        &format!("{EXECUTION_SECONDS}_count"),
        label,
        times.count,
    );
}

/// A duration in seconds with all its digits.
fn seconds(duration: Duration) -> String {
    format!("{}.{:09}", duration.as_secs(), duration.subsec_nanos())
}

/// The label that names the tool.
fn label(tool: &ToolMetrics) -> String {
    format!("tool=\"{}\"", escaped(&tool.tool))
}

/// The three characters that would end a label's value or change it.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
