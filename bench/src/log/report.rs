//! The measurements of a log as a table for people and as JSON for programs, with the same numbers in both.
//!
//! Must never judge: a number is printed, whether it is good is for the reader.

use std::time::Duration;

use serde_json::{Value, json};

use super::Measurements;
use super::durable::Durable;
use super::fill::BATCH;
use super::pages::{Answers, LIMIT, TIMES};
use super::through::Through;
use crate::measure::Measured;
use crate::report::rounded;
use crate::stats::{P50, P99, Samples, float, microseconds};

/// The report as text: a section for each part, one number to a line.
pub(super) fn table(run: &Measurements) -> String {
    let mut table = Table {
        text: format!(
            "{} log of {} records, {} cores\n",
            run.engine, run.filling.extent.count, run.cores
        ),
    };
    table.filling(run);
    table.reading(run);
    for level in &run.durable {
        table.durable(level);
    }
    for level in &run.through {
        table.through(level);
    }
    table.text
}

/// The report as JSON.
pub(super) fn json(run: &Measurements) -> Value {
    let (first, last) = run.filling.rates_at_ends();
    json!({
        "engine": run.engine,
        "cores": run.cores,
        "records": run.filling.extent.count,
        "insert": {
            "batch": BATCH,
            "records_per_second": rounded(run.filling.rate()),
            "first_tenth": rounded(first),
            "last_tenth": rounded(last),
            "whole_log": rounded(run.through_log),
        },
        "bytes": run.filling.bytes,
        "pages": run.reading.pages.iter().map(answers_json).collect::<Vec<_>>(),
        "lookup": answers_json(&run.reading.lookup),
        "summary_s": rounded(run.reading.summary.as_secs_f64()),
        "verify_s": rounded(run.reading.verify.as_secs_f64()),
        "verified_links": run.reading.links,
        "durable_write": run.durable.iter().map(durable_json).collect::<Vec<_>>(),
        "through_gateway": run.through.iter().map(through_json).collect::<Vec<_>>(),
    })
}

struct Table {
    text: String,
}

impl Table {
    fn heading(&mut self, name: &str, columns: [&str; 2]) {
        self.text.push('\n');
        self.row(name, columns, "");
    }

    fn row(&mut self, name: &str, [first, second]: [&str; 2], remark: &str) {
        let line = format!("{name:<46}{first:>12}{second:>12}  {remark}");
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn times(&mut self, name: &str, times: &Samples, shown: fn(Duration) -> String, remark: &str) {
        let [p50, p99] = [P50, P99].map(|permille| shown(at(times, permille)));
        self.row(name, [&p50, &p99], remark);
    }

    fn filling(&mut self, run: &Measurements) {
        let (first, last) = run.filling.rates_at_ends();
        let bytes = run.filling.bytes;
        self.heading("writing", ["", ""]);
        self.row(
            &format!("records per second, {BATCH} to a commit"),
            [&format!("{:.0}", run.filling.rate()), ""],
            &format!("first tenth {first:.0}, last tenth {last:.0}"),
        );
        self.row(
            "records per second, the whole log, 64 callers",
            [&format!("{:.0}", run.through_log), ""],
            "",
        );
        self.row(
            "size",
            [&format!("{:.0} MiB", float(bytes) / 1024.0 / 1024.0), ""],
            &format!("{} bytes a record", bytes / run.filling.extent.count.max(1)),
        );
    }

    fn reading(&mut self, run: &Measurements) {
        let heading = format!("a page of {LIMIT}, {TIMES} times each");
        self.heading(&heading, ["p50", "p99"]);
        for answers in run.reading.pages.iter().chain([&run.reading.lookup]) {
            self.times(answers.name, &answers.times, milliseconds, "");
        }
        let seconds = |time: Duration| format!("{:.2} s", time.as_secs_f64());
        self.row("summary of all", [&seconds(run.reading.summary), ""], "");
        self.row(
            "verify all",
            [&seconds(run.reading.verify), ""],
            &format!("{} links", run.reading.links),
        );
    }

    fn durable(&mut self, level: &Durable) {
        let heading = format!(
            "a durable write of the log alone, {} at a time",
            level.callers
        );
        self.heading(&heading, ["p50", "p99"]);
        let flush = at(&level.flush.overwritten, P50);
        let over = |times: &Samples, flushes: u32| {
            let added = microseconds(at(times, P50)) - microseconds(flush * flushes);
            format!("p50: {flushes} x overwrite {added:+.0} µs")
        };
        let remark = over(&level.sending, 1);
        self.times("on disk before it is sent", &level.sending, micros, &remark);
        let remark = over(&level.closing, 1);
        self.times(
            "on disk before it is answered",
            &level.closing,
            micros,
            &remark,
        );
        let remark = format!("{}; {:.0} a second", over(&level.whole, 2), level.rate);
        self.times("both", &level.whole, micros, &remark);
        self.flush(&level.flush);
    }

    fn through(&mut self, level: &Through) {
        let heading = format!("a write through the gateway, clients: {}", level.clients);
        self.heading(&heading, ["p50", "p99"]);
        let direct = level.direct.p50;
        self.call("direct", &level.direct, "");
        let remark = format!("added {:+.0} µs", added(level.balanced.p50, direct));
        self.call("balanced", &level.balanced, &remark);
        let flush = at(&level.flush.overwritten, P50);
        let remark = format!(
            "added {:+.0} µs: 1 x overwrite {:+.0} µs, 2 x overwrite {:+.0} µs",
            added(level.strict.p50, direct),
            added(level.strict.p50, direct + flush),
            added(level.strict.p50, direct + flush * 2),
        );
        self.call("strict", &level.strict, &remark);
        self.flush(&level.flush);
    }

    fn call(&mut self, name: &str, measured: &Measured, remark: &str) {
        let remark = match remark {
            "" => format!("{:.0} a second", measured.rate),
            remark => format!("{:.0} a second, {remark}", measured.rate),
        };
        let times = [measured.p50, measured.p99].map(micros);
        self.row(name, [&times[0], &times[1]], &remark);
    }

    fn flush(&mut self, flush: &super::disk::Flush) {
        self.times(
            "the disk alone, 4 KiB appended",
            &flush.appended,
            micros,
            "",
        );
        self.times(
            "the disk alone, 4 KiB overwritten",
            &flush.overwritten,
            micros,
            "",
        );
    }
}

fn answers_json(answers: &Answers) -> Value {
    let mut times = times_json(&answers.times);
    times["name"] = json!(answers.name);
    times
}

fn durable_json(level: &Durable) -> Value {
    json!({
        "callers": level.callers,
        "writes_per_second": rounded(level.rate),
        "whole": times_json(&level.whole),
        "before_sending": times_json(&level.sending),
        "before_answering": times_json(&level.closing),
        "disk_append": times_json(&level.flush.appended),
        "disk_overwrite": times_json(&level.flush.overwritten),
    })
}

fn through_json(level: &Through) -> Value {
    let side = |measured: &Measured| {
        json!({
            "calls_per_second": rounded(measured.rate),
            "p50_us": rounded(microseconds(measured.p50)),
            "p99_us": rounded(microseconds(measured.p99)),
        })
    };
    json!({
        "clients": level.clients,
        "direct": side(&level.direct),
        "strict": side(&level.strict),
        "balanced": side(&level.balanced),
        "disk_append": times_json(&level.flush.appended),
        "disk_overwrite": times_json(&level.flush.overwritten),
    })
}

fn times_json(times: &Samples) -> Value {
    json!({
        "p50_us": rounded(microseconds(at(times, P50))),
        "p99_us": rounded(microseconds(at(times, P99))),
    })
}

fn at(times: &Samples, permille: usize) -> Duration {
    times.percentile(permille).unwrap_or_default()
}

/// Microseconds beyond another time; negative when it was the faster one by chance.
fn added(time: Duration, base: Duration) -> f64 {
    microseconds(time) - microseconds(base)
}

fn micros(time: Duration) -> String {
    format!("{:.0} µs", microseconds(time))
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", microseconds(time) / 1e3)
}
