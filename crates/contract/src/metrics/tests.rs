use super::*;
use crate::{CategoryEffect, CategoryName, ResponseTime, Version};

fn definition(name: &str, cacheable: bool) -> PublishedDefinition {
    PublishedDefinition {
        name: name.to_owned(),
        description: String::new(),
        version: Version::new(1, 0, 0),
        permissions: Vec::new(),
        category: CategoryName::Query,
        response_time: ResponseTime::Fast,
        cacheable,
        cache_ttl: cacheable.then_some(60),
        idempotent: true,
        examples: Vec::new(),
        tags: Vec::new(),
        rate_limit: None,
        deprecated: None,
        effect: CategoryEffect::Reads,
    }
}

fn metrics() -> Metrics {
    Metrics::new(&[
        definition("get-card", true),
        definition("create-card", false),
    ])
}

const MILLISECOND: Duration = Duration::from_millis(1);

#[test]
fn each_outcome_counts_where_it_belongs() {
    let metrics = metrics();
    for (outcome, times) in [
        (Finished::Data, 1),
        (Finished::Cached, 3),
        (Finished::Failed(ErrorCategory::Validation), 1),
        (Finished::Failed(ErrorCategory::Business), 2),
        (Finished::Failed(ErrorCategory::System), 3),
    ] {
        for _ in 0..times {
            metrics.executed(0, MILLISECOND, outcome);
        }
    }
    metrics.rate_limited(0);
    metrics.violated(0);
    metrics.violated(0);

    let all = metrics.snapshot();
    let card = &all[0];
    assert_eq!(card.tool, "get-card");
    assert_eq!(card.executions, 10);
    let errors = ErrorCounts {
        validation: 1,
        business: 2,
        system: 3,
    };
    assert_eq!(card.errors, errors);
    assert_eq!(card.cache, Some(CacheCounts { hits: 3, misses: 1 }));
    assert_eq!((card.rate_limited, card.contract_violations), (1, 2));
    assert!((card.error_rate() - 0.6).abs() < 1e-9);
    assert_eq!(card.cache_hit_rate(), Some(0.75));
    assert_eq!(card.execution_time.count, 10);
    assert_eq!(card.execution_time.sum, Duration::from_millis(10));
    assert_eq!(all[1].executions, 0, "the other tool has its own counters");
}

#[test]
fn rates_where_there_is_nothing_to_rate() {
    let metrics = metrics();
    let all = metrics.snapshot();
    assert!(all[0].error_rate().abs() < f64::EPSILON);
    assert_eq!(all[0].cache_hit_rate(), None, "nothing was answered yet");
    metrics.executed(1, MILLISECOND, Finished::Data);
    assert_eq!(metrics.snapshot()[1].cache, None, "the tool keeps nothing");
    assert_eq!(metrics.snapshot()[1].cache_hit_rate(), None);
}

#[test]
fn a_tool_that_does_not_exist_counts_nothing() {
    let metrics = metrics();
    let before = metrics.snapshot();
    metrics.executed(2, MILLISECOND, Finished::Data);
    metrics.rate_limited(usize::MAX);
    metrics.violated(2);
    assert_eq!(metrics.snapshot(), before);
}

#[test]
fn times_fall_into_the_first_bucket_that_holds_them() {
    for (elapsed, bound) in [
        (Duration::ZERO, Some("0.001")),
        (MILLISECOND, Some("0.001")),
        (MILLISECOND + Duration::from_nanos(1), Some("0.0025")),
        (Duration::from_millis(100), Some("0.1")),
        (Duration::from_mins(1), Some("60")),
        (Duration::from_secs(61), None),
        (Duration::MAX, None),
    ] {
        let metrics = metrics();
        metrics.executed(0, elapsed, Finished::Data);
        let times = &metrics.snapshot()[0].execution_time;
        let first = times.buckets.iter().position(|(_, count)| *count == 1);
        assert_eq!(first.map(|index| BOUNDS[index].1), bound, "{elapsed:?}");
        let from_there_on = &times.buckets[first.unwrap_or(BOUNDS.len())..];
        assert!(
            from_there_on.iter().all(|(_, count)| *count == 1),
            "{elapsed:?}"
        );
        assert_eq!(times.count, 1, "{elapsed:?}");
    }
}

#[test]
fn published_bounds_are_the_counted_ones() {
    for (microseconds, published) in BOUNDS {
        let seconds: f64 = published.parse().unwrap();
        let bound = Duration::try_from_secs_f64(seconds).unwrap();
        assert_eq!(bound, Duration::from_micros(microseconds), "{published}");
    }
    assert!(BOUNDS.is_sorted_by(|one, next| one.0 < next.0));
}

#[test]
fn the_text_has_every_metric_of_every_tool() {
    let metrics = metrics();
    metrics.executed(0, Duration::from_micros(1500), Finished::Cached);
    metrics.executed(
        1,
        Duration::from_secs(90),
        Finished::Failed(ErrorCategory::System),
    );
    metrics.rate_limited(1);
    metrics.violated(0);
    let text = metrics.to_prometheus();
    for line in [
        "# TYPE mcp_tool_executions_total counter",
        "mcp_tool_executions_total{tool=\"get-card\"} 1",
        "mcp_tool_executions_total{tool=\"create-card\"} 1",
        "mcp_tool_errors_total{tool=\"create-card\",category=\"validation\"} 0",
        "mcp_tool_errors_total{tool=\"create-card\",category=\"system\"} 1",
        "mcp_tool_cache_hits_total{tool=\"get-card\"} 1",
        "mcp_tool_cache_misses_total{tool=\"get-card\"} 0",
        "mcp_tool_rate_limited_total{tool=\"create-card\"} 1",
        "mcp_tool_contract_violations_total{tool=\"get-card\"} 1",
        "# TYPE mcp_tool_execution_seconds histogram",
        "mcp_tool_execution_seconds_bucket{tool=\"get-card\",le=\"0.001\"} 0",
        "mcp_tool_execution_seconds_bucket{tool=\"get-card\",le=\"0.0025\"} 1",
        "mcp_tool_execution_seconds_bucket{tool=\"create-card\",le=\"60\"} 0",
        "mcp_tool_execution_seconds_bucket{tool=\"create-card\",le=\"+Inf\"} 1",
        "mcp_tool_execution_seconds_sum{tool=\"get-card\"} 0.001500000",
        "mcp_tool_execution_seconds_count{tool=\"create-card\"} 1",
    ] {
        assert!(
            text.lines().any(|one| one == line),
            "{line}\nis not in\n{text}"
        );
    }
    assert!(
        !text.contains("cache_hits_total{tool=\"create-card\""),
        "{text}"
    );
    assert!(text.ends_with('\n'));
}

/// The format wants each metric in one piece: help, type, then all of its samples.
#[test]
fn each_metric_stands_in_one_piece() {
    let text = metrics().to_prometheus();
    let mut current = "";
    let mut seen = Vec::new();
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            current = help.split(' ').next().unwrap();
            assert!(!seen.contains(&current), "{current} comes twice");
            seen.push(current);
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            assert!(kind.starts_with(&format!("{current} ")), "{line}");
        } else {
            assert!(
                line.starts_with(current),
                "{line} is no sample of {current}"
            );
        }
    }
    assert_eq!(seen.len(), 7);
}

#[test]
fn names_cannot_break_out_of_a_label() {
    let metrics = Metrics::new(&[definition("a\"b\\c\nd", false)]);
    let text = metrics.to_prometheus();
    assert!(
        text.contains(r#"mcp_tool_executions_total{tool="a\"b\\c\nd"} 0"#),
        "{text}"
    );
    let broken = |line: &str| !line.starts_with("mcp_tool_") && !line.starts_with('#');
    assert!(!text.lines().any(broken), "{text}");
}

#[test]
fn counting_from_many_threads_loses_nothing() {
    let metrics = metrics();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    metrics.executed(0, MILLISECOND, Finished::Data);
                }
            });
        }
    });
    let card = &metrics.snapshot()[0];
    assert_eq!((card.executions, card.execution_time.count), (4000, 4000));
    assert_eq!(card.execution_time.sum, Duration::from_secs(4));
}
