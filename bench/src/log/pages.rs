//! How long questions to a full log take.
//!
//! Every answer is checked against the filter it was asked with, outside the measured time. Must never count an answer
//! that was not checked.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use jiff::SignedDuration;
use mcpproxy_activity::{Archive, Filter, RecordPage, Status};
use mcpproxy_policy::{Operation, RecordScope};
use uuid::Uuid;

use super::records::{
    AGENTS, COMMON_WORD, Extent, RARE_WORD, Random, server_name, session_name, tool_name,
};
use crate::stats::Samples;

/// How many records a page has at most.
pub(crate) const LIMIT: usize = 50;
/// How often each question is asked and counted in a real run, each time about another value where there are several.
pub(crate) const TIMES: u64 = 200;
/// How often it is asked before that.
const WARM_UP: u64 = 10;

/// The answers to one sort of question.
#[derive(Debug)]
pub(crate) struct Answers {
    /// What was asked for.
    pub(crate) name: &'static str,
    /// How long each answer took.
    pub(crate) times: Samples,
}

/// What all questions came to.
#[derive(Debug)]
pub(crate) struct Reading {
    /// Pages, one entry for each sort of filter.
    pub(crate) pages: Vec<Answers>,
    /// One record by its id.
    pub(crate) lookup: Answers,
    /// Counts of everything, once.
    pub(crate) summary: Duration,
    /// All links checked, once.
    pub(crate) verify: Duration,
    /// How many links that were.
    pub(crate) links: u64,
}

/// What is asked, given a number that differs from time to time.
struct PageQuery {
    name: &'static str,
    ask: fn(&Extent, &mut Random) -> (Filter, Option<Uuid>),
}

/// Asks a log that was filled to an extent.
pub(crate) async fn read(
    archive: &Archive,
    extent: &Extent,
    times: u64,
    progress: &impl Fn(&str),
) -> anyhow::Result<Reading> {
    let mut pages = Vec::new();
    for question in QUESTIONS {
        progress(&format!("asking for pages: {}", question.name));
        let asked = ask_for_pages(archive, extent, question, times).await;
        pages.push(asked.with_context(|| format!("Pages with {}", question.name))?);
    }
    let lookup = look_up(archive, extent, times).await?;
    progress("counting everything");
    let began = Instant::now();
    let counted = archive.summary(&Filter::default()).await?;
    let summary = began.elapsed();
    ensure!(
        counted.total >= extent.count,
        "The summary counts {} records",
        counted.total
    );
    progress("verifying everything");
    let began = Instant::now();
    let verdict = archive.verify(|_, _| ()).await?;
    let verify = began.elapsed();
    ensure!(verdict.ok, "The log does not verify: {:?}", verdict.problem);
    Ok(Reading {
        pages,
        lookup,
        summary,
        verify,
        links: verdict.links,
    })
}

async fn ask_for_pages(
    archive: &Archive,
    extent: &Extent,
    question: &PageQuery,
    asked: u64,
) -> anyhow::Result<Answers> {
    let mut random = Random::new(1);
    let (mut times, mut found) = (Vec::new(), 0);
    for number in 0..WARM_UP + asked {
        let (filter, before) = (question.ask)(extent, &mut random);
        let began = Instant::now();
        let page = archive.page(&filter, before, LIMIT).await?;
        let elapsed = began.elapsed();
        check(&page, &filter, before)?;
        found += page.records.len();
        if number >= WARM_UP {
            times.push(u64::try_from(elapsed.as_nanos())?);
        }
    }
    ensure!(found > 0, "nothing was ever found");
    Ok(Answers {
        name: question.name,
        times: Samples::new(times),
    })
}

fn check(page: &RecordPage, filter: &Filter, before: Option<Uuid>) -> anyhow::Result<()> {
    ensure!(page.records.len() <= LIMIT, "a page has too many records");
    let mut last = before;
    for record in &page.records {
        ensure!(
            filter.admits(record),
            "{} was not asked for by {filter:?}",
            record.id
        );
        ensure!(
            last.is_none_or(|last| record.id < last),
            "{} is out of order",
            record.id
        );
        last = Some(record.id);
    }
    Ok(())
}

async fn look_up(archive: &Archive, extent: &Extent, asked: u64) -> anyhow::Result<Answers> {
    let mut random = Random::new(1);
    let mut times = Vec::new();
    for number in 0..WARM_UP + asked {
        let id = extent.id(random.below(extent.count));
        let began = Instant::now();
        let found = archive.find(id, &RecordScope::All).await?;
        let elapsed = began.elapsed();
        ensure!(
            found.is_some_and(|record| record.id == id),
            "The record {id} was not found"
        );
        if number >= WARM_UP {
            times.push(u64::try_from(elapsed.as_nanos())?);
        }
    }
    Ok(Answers {
        name: "one record by its id",
        times: Samples::new(times),
    })
}

const QUESTIONS: &[PageQuery] = &[
    PageQuery {
        name: "no filter",
        ask: |_, _| (Filter::default(), None),
    },
    PageQuery {
        name: "intent: read (76 % of all)",
        ask: |_, _| (intent(Operation::Read), None),
    },
    PageQuery {
        name: "intent: destructive (3 %)",
        ask: |_, _| (intent(Operation::Destructive), None),
    },
    PageQuery {
        name: "server",
        ask: |_, random| (server(random), None),
    },
    PageQuery {
        name: "status: success (97 %)",
        ask: |_, _| (status(Status::Success), None),
    },
    PageQuery {
        name: "status: error (1 %)",
        ask: |_, _| (status(Status::Error), None),
    },
    PageQuery {
        name: "status: in_doubt (20 records)",
        ask: |_, _| (status(Status::InDoubt), None),
    },
    PageQuery {
        name: "tool",
        ask: |_, random| (tool(random), None),
    },
    PageQuery {
        name: "agent",
        ask: |_, random| (agent(random), None),
    },
    PageQuery {
        name: "session",
        ask: |_, random| (session(random), None),
    },
    PageQuery {
        name: "time: an hour of long ago",
        ask: |extent, random| (hour(extent, random), None),
    },
    PageQuery {
        name: "server and status: error",
        ask: |_, random| {
            let status = Some(Status::Error);
            (
                Filter {
                    status,
                    ..server(random)
                },
                None,
            )
        },
    },
    PageQuery {
        name: "intent: write, and status: in_doubt",
        ask: |_, _| {
            let status = Some(Status::InDoubt);
            (
                Filter {
                    status,
                    ..intent(Operation::Write)
                },
                None,
            )
        },
    },
    PageQuery {
        name: "agent, in a day of long ago",
        ask: |extent, random| {
            let Filter { agent, .. } = agent(random);
            (
                Filter {
                    agent,
                    ..day(extent, random)
                },
                None,
            )
        },
    },
    PageQuery {
        name: "text: a rare word (20 records)",
        ask: |_, _| (text(RARE_WORD), None),
    },
    PageQuery {
        name: "text: a common word (a third)",
        ask: |_, _| (text(COMMON_WORD), None),
    },
    PageQuery {
        name: "text: a common word, and server",
        ask: |_, random| {
            let Filter { server, .. } = server(random);
            (
                Filter {
                    server,
                    ..text(COMMON_WORD)
                },
                None,
            )
        },
    },
    PageQuery {
        name: "no filter, after a cursor deep in",
        ask: |extent, random| (Filter::default(), Some(deep(extent, random))),
    },
    PageQuery {
        name: "server, after a cursor deep in",
        ask: |extent, random| (server(random), Some(deep(extent, random))),
    },
];

fn intent(operation: Operation) -> Filter {
    Filter {
        intent_type: Some(operation),
        ..Filter::default()
    }
}

fn status(status: Status) -> Filter {
    Filter {
        status: Some(status),
        ..Filter::default()
    }
}

fn text(word: &str) -> Filter {
    Filter {
        text: Some(word.to_owned()),
        ..Filter::default()
    }
}

fn server(random: &mut Random) -> Filter {
    Filter {
        server: Some(server_name(random.next())),
        ..Filter::default()
    }
}

fn tool(random: &mut Random) -> Filter {
    Filter {
        tool: Some(tool_name(random.next(), random.next())),
        ..Filter::default()
    }
}

fn agent(random: &mut Random) -> Filter {
    let number = usize::try_from(random.below(5)).unwrap_or(0);
    Filter {
        agent: AGENTS.get(number).map(|name| (*name).to_owned()),
        ..Filter::default()
    }
}

fn session(random: &mut Random) -> Filter {
    Filter {
        session_id: Some(session_name(random.next())),
        ..Filter::default()
    }
}

fn hour(extent: &Extent, random: &mut Random) -> Filter {
    since(extent, random, SignedDuration::from_hours(1))
}

fn day(extent: &Extent, random: &mut Random) -> Filter {
    since(extent, random, SignedDuration::from_hours(24))
}

/// A stretch of time that begins in the older half.
fn since(extent: &Extent, random: &mut Random, length: SignedDuration) -> Filter {
    let from = extent.moment(random.below(extent.count / 2));
    Filter {
        from: Some(from),
        to: from.checked_add(length).ok(),
        ..Filter::default()
    }
}

/// A record that nine tenths of all are newer than, with enough older ones behind it.
fn deep(extent: &Extent, random: &mut Random) -> Uuid {
    let tenth = extent.count / 10;
    extent.id(tenth / 2 + random.below(tenth / 2))
}
