use super::*;

const START: i64 = 1_800_000_000;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(START + seconds).unwrap()
}

fn call<'a>(caller: &'a str, tool: &'a str, succeeded: bool, seconds: i64) -> ObservedCall<'a> {
    ObservedCall {
        caller: (!caller.is_empty()).then_some(caller.into()),
        tool: tool.into(),
        succeeded,
        took: Duration::from_millis(10),
        at: at(seconds),
    }
}

/// What followed `s:a`, as names with how often they followed and worked.
fn followers(observed: &Observed) -> Vec<(String, u64, u64)> {
    let observation = observed.of("s:a").unwrap();
    let followers = observation.followers.iter();
    followers
        .map(|one| (one.tool.to_string(), one.followed, one.succeeded))
        .collect()
}

#[test]
fn calls_are_counted_and_the_next_one_follows() {
    let mut observed = Observed::default();
    for round in 0..10 {
        observed.learn(&call("one", "s:a", true, round * 10));
        observed.learn(&call("one", "s:b", round != 3, round * 10 + 1));
        // Another caller in between has nothing to do with it.
        observed.learn(&call("two", "s:c", true, round * 10));
    }
    let a = observed.of("s:a").unwrap();
    assert_eq!((a.calls, a.successes, a.continued), (10, 10, 10));
    assert_eq!(a.called_before, Some(at(80)));
    assert_eq!(followers(&observed), [("s:b".to_owned(), 10, 9)]);
    let b = observed.of("s:b").unwrap();
    assert_eq!((b.calls, b.successes, b.continued), (10, 9, 9));
    assert!(observed.of("s:c").unwrap().followers.is_empty());
    assert!(observed.of("s:d").is_none());
}

#[test]
fn what_comes_late_again_or_from_nobody_does_not_follow() {
    let mut observed = Observed::default();
    observed.learn(&call("one", "s:a", true, 0));
    observed.learn(&call("one", "s:b", true, 601));
    assert!(followers(&observed).is_empty(), "it came too late");
    observed.learn(&call("one", "s:a", true, 700));
    observed.learn(&call("one", "s:a", true, 701));
    observed.learn(&call("one", "s:a", true, 1_200));
    assert!(followers(&observed).is_empty(), "it followed itself");
    observed.learn(&call("one", "s:b", true, 1_800));
    assert_eq!(followers(&observed), [("s:b".to_owned(), 1, 1)]);
    observed.learn(&call("", "s:a", true, 2_000));
    observed.learn(&call("", "s:c", true, 2_001));
    assert_eq!(followers(&observed), [("s:b".to_owned(), 1, 1)]);
}

#[test]
fn the_follower_that_worked_most_often_is_first() {
    let mut observed = Observed::default();
    for (round, (tool, succeeded)) in [
        ("s:often", false),
        ("s:often", false),
        ("s:often", true),
        ("s:works", true),
        ("s:works", true),
        ("s:also", true),
    ]
    .into_iter()
    .enumerate()
    {
        let second = i64::try_from(round).unwrap() * 10;
        observed.learn(&call("one", "s:a", true, second));
        observed.learn(&call("one", tool, succeeded, second + 1));
    }
    let names: Vec<String> = followers(&observed).into_iter().map(|one| one.0).collect();
    assert_eq!(names, ["s:works", "s:often", "s:also"]);
}

#[test]
fn times_are_of_the_latest_calls() {
    let mut observed = Observed::default();
    let mut learn = |milliseconds: u64| {
        let took = Duration::from_millis(milliseconds);
        let call = ObservedCall {
            took,
            ..call("one", "s:a", true, 0)
        };
        observed.learn(&call);
        let seen = observed.of("s:a").unwrap();
        (
            seen.median().unwrap().as_millis(),
            seen.slow().unwrap().as_millis(),
        )
    };
    assert_eq!(learn(7), (7, 7));
    for _ in 0..500 {
        learn(1);
    }
    assert_eq!(learn(9), (1, 1));
    for milliseconds in 1..=64 {
        learn(milliseconds);
    }
    // The 1 has made room for the second 64.
    assert_eq!(learn(64), (34, 62));
}

#[test]
fn what_happened_lately_counts_for_more() {
    let mut observed = Observed::default();
    let share = |observed: &Observed| {
        let seen = observed.of("s:a").unwrap();
        seen.successes * 100 / seen.calls
    };
    for second in 0..2_000 {
        observed.learn(&call("one", "s:a", true, second));
    }
    assert_eq!(share(&observed), 100);
    for second in 2_000..2_600 {
        observed.learn(&call("one", "s:a", false, second));
    }
    assert!(share(&observed) < 35, "{}", share(&observed));
    assert!(observed.of("s:a").unwrap().calls < FORGETTING_AFTER);
}

#[test]
fn everything_is_bounded() {
    let mut observed = Observed::default();
    for number in 0..10_000_i64 {
        let tool = format!("s:{number}");
        let caller = format!("caller {number}");
        observed.learn(&call(&caller, "s:a", true, number));
        observed.learn(&call(&caller, &tool, true, number));
    }
    assert!(observed.tools.len() <= MOST_TOOLS);
    assert!(observed.callers.len() <= MOST_CALLERS);
    assert_eq!(followers(&observed).len(), MOST_FOLLOWERS);
    assert!(observed.of("s:9999").is_some(), "the newest are kept");
    assert!(observed.of("s:0").is_none(), "the oldest make room");
}

#[test]
fn a_frequent_follower_is_not_pushed_out_by_rare_ones() {
    let mut observed = Observed::default();
    for number in 0..300_i64 {
        let tool = match number % 3 {
            0 => format!("s:{number}"),
            _ => "s:usual".to_owned(),
        };
        observed.learn(&call("one", "s:a", true, number * 2));
        observed.learn(&call("one", &tool, true, number * 2 + 1));
    }
    assert_eq!(followers(&observed)[0], ("s:usual".to_owned(), 200, 200));
}

#[test]
fn what_was_seen_since_is_put_on_top_of_what_was_seen_before() {
    let calls = |rounds: std::ops::Range<i64>, succeeded: bool| {
        let round = |round| {
            let first = call("one", "s:a", true, round * 2);
            [first, call("one", "s:b", succeeded, round * 2 + 1)]
        };
        rounds.flat_map(round).collect::<Vec<_>>()
    };
    let mut observed = Observed::default();
    for call in &calls(100..150, false) {
        observed.learn(call);
    }
    observed.learn_past(calls(0..100, true).iter());
    assert_eq!(followers(&observed), [("s:b".to_owned(), 150, 100)]);
    let a = observed.of("s:a").unwrap();
    assert_eq!((a.calls, a.continued), (150, 150));
    assert_eq!(a.called_before, Some(at(296)));
    assert!(a.median().is_some());
    // The last call of a caller is that of the later one.
    observed.learn(&call("one", "s:c", true, 301));
    assert_eq!(observed.of("s:b").unwrap().followers.len(), 2);
}

#[test]
fn a_tool_is_waited_for_as_its_slowest_call_suggests() {
    let mut observed = Observed::default();
    let mut learn = |took: Duration| {
        let call = ObservedCall {
            took,
            ..call("one", "s:a", true, 0)
        };
        observed.learn(&call);
        observed.time_limit("s:a")
    };
    let quick = Duration::from_millis(10);
    for _ in 1..TIMES_KEPT {
        assert_eq!(learn(quick), None, "too few calls were seen");
    }
    assert_eq!(learn(quick), Some(LEAST_TIME_LIMIT));
    // A call that was given up after that long: from now on the deadline is later.
    assert_eq!(
        learn(LEAST_TIME_LIMIT),
        Some(LEAST_TIME_LIMIT * TIME_LIMIT_FACTOR)
    );
    for _ in 0..TIMES_KEPT {
        learn(quick);
    }
    assert_eq!(learn(quick), Some(LEAST_TIME_LIMIT), "and it passes");
    assert_eq!(observed.time_limit("s:other"), None);
}
