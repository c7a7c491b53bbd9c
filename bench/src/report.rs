//! The measurements as a table for people and as JSON for programs, with the same numbers in both.
//!
//! Must never judge: a number is printed, whether it is good is for the reader.

use std::time::Duration;

use serde_json::{Value, json};

use crate::measure::{Level, Measured, Measurements, Pair};
use crate::process::Memory;
use crate::stats::{P50, microseconds};

/// The report as text: one number to a line.
pub(crate) fn table(runs: &[Measurements]) -> String {
    runs.iter().map(section).collect::<Vec<_>>().join("\n")
}

/// The report as JSON: a member for each section.
pub(crate) fn json(runs: &[Measurements]) -> Value {
    let members = runs
        .iter()
        .map(|run| (run.section.name(), section_json(run)));
    Value::Object(members.collect())
}

fn section(run: &Measurements) -> String {
    let mut table = Table { text: heading(run) };
    table.row("", "gateway", run.other, "");
    for level in &run.levels {
        table.latency(level);
    }
    for level in &run.levels {
        table.rate(level, run.other);
    }
    for level in &run.levels {
        let name = format!("CPU time per call, {}", clients(level));
        let baseline = level.processor_of_baseline.map(micros).unwrap_or_default();
        table.row(&name, &micros(level.processor_per_call), &baseline, "");
    }
    table.memory("before", run.memory_before);
    table.memory("after", run.memory_after);
    let start = run.starts.percentile(P50).unwrap_or_default();
    let start = format!("{:.1} ms", start.as_secs_f64() * 1e3);
    table.row("start to first tools/list, median", &start, "", "");
    table.text
}

/// What the numbers below it are about; above all what was spoken, without which they say nothing.
fn heading(run: &Measurements) -> String {
    let (name, protocol) = (run.section.name(), run.section.protocol);
    format!(
        "{name}: {} upstream, {} calls, gateway against {}, {} cores\n\
         {} protocol on both faces: clients speak {}, the gateway speaks to its server with protocol {}\n\n",
        run.section.upstream.name(),
        run.operation.name(),
        run.other,
        run.cores,
        protocol.name(),
        protocol.revision(),
        protocol.setting(),
    )
}

fn section_json(run: &Measurements) -> Value {
    let memory =
        |memory: Memory| json!({ "rss_kib": memory.resident, "pss_kib": memory.proportional });
    let start = |permille| {
        let time = run.starts.percentile(permille);
        time.map(|time| rounded(time.as_secs_f64() * 1e3))
    };
    let protocol = run.section.protocol;
    json!({
        "upstream": run.section.upstream.name(),
        "protocol": protocol.name(),
        "client_revision": protocol.revision(),
        "server_protocol": protocol.setting(),
        "operation": run.operation.name(),
        "compared_with": run.other,
        "cores": run.cores,
        "start_to_tools_list_ms": { "median": start(P50), "slowest": start(1000) },
        "idle_memory": { "before_load": memory(run.memory_before), "after_load": memory(run.memory_after) },
        "levels": run.levels.iter().map(level_json).collect::<Vec<_>>(),
    })
}

struct Table {
    text: String,
}

impl Table {
    fn row(&mut self, name: &str, gateway: &str, direct: &str, ratio: &str) {
        let line = format!("{name:<40}{gateway:>12}{direct:>12}  {ratio}");
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn latency(&mut self, level: &Level) {
        // Added latency says something about the gateway only while nobody queues, with one client. With more, the
        // time a call waits for its turn is another view of the rate.
        if level.clients != 1 {
            return;
        }
        let (gateway, direct) = (&level.gateway, &level.direct);
        let (lowest, highest) = spread(level, |pair| pair.added_p50);
        self.row(
            &format!("latency p50, {}", clients(level)),
            &micros(gateway.p50),
            &micros(direct.p50),
            &format!(
                "added {:+.0} µs ({lowest:+.0} to {highest:+.0} µs by pair of slices)",
                added(gateway.p50, direct.p50)
            ),
        );
        self.row(
            &format!("latency p99, {}", clients(level)),
            &micros(gateway.p99),
            &micros(direct.p99),
            &format!("added {:+.0} µs", added(gateway.p99, direct.p99)),
        );
    }

    fn rate(&mut self, level: &Level, other: &str) {
        let (lowest, highest) = spread(level, |pair| pair.share);
        self.row(
            &format!("calls per second, {}", clients(level)),
            &format!("{:.0}", level.gateway.rate),
            &format!("{:.0}", level.direct.rate),
            &format!(
                "{:.1} % of {other} ({:.1} to {:.1} % by pair of slices)",
                level.share() * 100.0,
                lowest * 100.0,
                highest * 100.0
            ),
        );
    }

    fn memory(&mut self, when: &str, memory: Memory) {
        let proportional = memory.proportional.map_or("not readable".into(), mebibytes);
        let resident = mebibytes(memory.resident);
        self.row(&format!("idle memory {when} load, RSS"), &resident, "", "");
        self.row(
            &format!("idle memory {when} load, PSS"),
            &proportional,
            "",
            "",
        );
    }
}

fn level_json(level: &Level) -> Value {
    let side = |measured: &Measured| {
        json!({
            "calls": measured.calls,
            "calls_per_second": rounded(measured.rate),
            "p50_us": rounded(microseconds(measured.p50)),
            "p99_us": rounded(microseconds(measured.p99)),
        })
    };
    let range = |of: fn(&Pair) -> f64| {
        let (lowest, highest) = spread(level, of);
        json!({ "lowest": rounded(lowest), "highest": rounded(highest) })
    };
    json!({
        "clients": level.clients,
        "gateway": side(&level.gateway),
        "direct": side(&level.direct),
        "added_p50_us": rounded(added(level.gateway.p50, level.direct.p50)),
        "added_p99_us": rounded(added(level.gateway.p99, level.direct.p99)),
        "share_of_direct": rounded(level.share()),
        "added_p50_us_by_pair": range(|pair| pair.added_p50),
        "share_by_pair": range(|pair| pair.share),
        "cpu_us_per_call": rounded(microseconds(level.processor_per_call)),
        "cpu_us_per_call_of_baseline": level.processor_of_baseline.map(|time| rounded(microseconds(time))),
    })
}

/// Microseconds that the gateway adds; negative when it was the faster one by chance.
fn added(gateway: Duration, direct: Duration) -> f64 {
    microseconds(gateway) - microseconds(direct)
}

/// Three decimals; beyond them a measured number is noise of the conversion.
pub(crate) fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

/// The lowest and the highest of all pairs.
fn spread(level: &Level, of: impl Fn(&Pair) -> f64) -> (f64, f64) {
    let values = || level.pairs.iter().map(&of);
    (
        values().min_by(f64::total_cmp).unwrap_or_default(),
        values().max_by(f64::total_cmp).unwrap_or_default(),
    )
}

fn clients(level: &Level) -> String {
    let plural = if level.clients == 1 { "" } else { "s" };
    format!("{} client{plural}", level.clients)
}

fn micros(duration: Duration) -> String {
    format!("{:.0} µs", microseconds(duration))
}

fn mebibytes(kibibytes: u64) -> String {
    format!("{:.1} MiB", crate::stats::float(kibibytes) / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Operation;
    use crate::protocol::Protocol;
    use crate::section::Section;
    use crate::stats::Samples;
    use crate::upstream::Upstream;

    fn measured(rate: f64, p50: u64, p99: u64) -> Measured {
        Measured {
            calls: 10,
            rate,
            p50: Duration::from_micros(p50),
            p99: Duration::from_micros(p99),
        }
    }

    fn example(upstream: Upstream, protocol: Protocol) -> Measurements {
        let level = |clients| Level {
            clients,
            direct: measured(20_000.0, 40, 90),
            gateway: measured(8_000.0, 140, 390),
            pairs: [(0.45, 90.0), (0.35, 120.0), (0.4, 100.0)]
                .map(|(share, added_p50)| Pair { share, added_p50 })
                .to_vec(),
            processor_per_call: Duration::from_micros(33),
            processor_of_baseline: None,
        };
        Measurements {
            section: Section { upstream, protocol },
            operation: Operation::Read,
            other: "direct",
            cores: 2,
            starts: Samples::new(vec![30_000_000, 20_000_000, 90_000_000]),
            memory_before: Memory {
                resident: 10 * 1024,
                proportional: Some(9 * 1024),
            },
            memory_after: Memory {
                resident: 20 * 1024,
                proportional: None,
            },
            levels: vec![level(1), level(64)],
        }
    }

    #[test]
    fn table_has_a_line_for_every_number() {
        let text = table(&[example(Upstream::Bare, Protocol::Session)]);
        let check = |line_start: &str, parts: &[&str]| {
            let line = text
                .lines()
                .find(|line| line.starts_with(line_start))
                .unwrap_or_else(|| panic!("{line_start} in\n{text}"));
            for part in parts {
                assert!(line.contains(part), "{part} in {line}");
            }
        };
        check(
            "latency p50, 1 client",
            &["140 µs", "40 µs", "added +100 µs (+90 to +120 µs by"],
        );
        check(
            "latency p99, 1 client",
            &["390 µs", "90 µs", "added +300 µs"],
        );
        check(
            "calls per second, 64 clients",
            &["8000", "20000", "40.0 % of direct (35.0 to 45.0 %"],
        );
        check("CPU time per call, 64 clients", &["33 µs"]);
        check("idle memory before load, RSS", &["10.0 MiB"]);
        check("idle memory before load, PSS", &["9.0 MiB"]);
        check("idle memory after load, PSS", &["not readable"]);
        check("start to first tools/list", &["30.0 ms"]);
        assert!(!text.contains("latency p50, 64"), "{text}");
    }

    #[test]
    fn each_upstream_in_each_era_has_a_section_that_says_what_was_spoken() {
        let all = [
            example(Upstream::Bare, Protocol::Session),
            example(Upstream::Sdk, Protocol::Session),
            example(Upstream::Bare, Protocol::Stateless),
        ];
        let text = table(&all);
        let (bare, rest) = text.split_once("\n\nsdk: sdk upstream, read").unwrap();
        let stateless = "\n\nbare-stateless: bare upstream, read";
        let (sdk, stateless) = rest.split_once(stateless).unwrap();
        assert!(bare.starts_with("bare: bare upstream, read"), "{bare}");
        let old = "session protocol on both faces: clients speak 2025-11-25, the gateway speaks to its server with protocol legacy";
        let new = "stateless protocol on both faces: clients speak 2026-07-28, the gateway speaks to its server with protocol modern";
        for (section, protocol) in [(bare, old), (sdk, old), (stateless, new)] {
            assert_eq!(section.lines().nth(1), Some(protocol));
            assert_eq!(section.matches("latency p50, 1 client").count(), 1);
            assert_eq!(section.matches("start to first tools/list").count(), 1);
        }
        let report = json(&all);
        let mut members: Vec<_> = report.as_object().unwrap().keys().collect();
        members.sort();
        assert_eq!(members, ["bare", "bare-stateless", "sdk"]);
        let spoken = |section: &str| {
            let members = ["upstream", "protocol", "client_revision", "server_protocol"];
            members.map(|member| report[section][member].as_str().unwrap().to_owned())
        };
        assert_eq!(spoken("sdk"), ["sdk", "session", "2025-11-25", "legacy"]);
        let expected = ["bare", "stateless", "2026-07-28", "modern"];
        assert_eq!(spoken("bare-stateless"), expected);
        assert_eq!(report["bare"]["levels"], report["bare-stateless"]["levels"]);
    }

    #[test]
    fn json_has_the_same_numbers() {
        let report = &json(&[example(Upstream::Sdk, Protocol::Session)])["sdk"];
        assert_eq!(report["operation"], "read");
        assert_eq!(report["levels"][1]["clients"], 64);
        assert_eq!(report["levels"][0]["share_of_direct"], 0.4);
        let range = json!({ "lowest": 0.35, "highest": 0.45 });
        assert_eq!(report["levels"][0]["share_by_pair"], range);
        assert_eq!(report["idle_memory"]["before_load"]["pss_kib"], 9 * 1024);
        assert!(report["idle_memory"]["after_load"]["pss_kib"].is_null());
        let added = report["levels"][0]["added_p50_us"].as_f64().unwrap();
        assert!((added - 100.0).abs() < 1e-6, "{added}");
        let start = report["start_to_tools_list_ms"]["median"].as_f64().unwrap();
        assert!((start - 30.0).abs() < 1e-6, "{start}");
    }
}
