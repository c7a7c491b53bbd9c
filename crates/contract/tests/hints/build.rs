//! Every call of the hints API, in any order and with any argument.

use std::time::Duration;

use jiff::Timestamp;
use mcpproxy_contract::prelude::*;
use proptest::collection::vec;
use proptest::num::f64::ANY as ANY_NUMBER;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::tools::{AdjustDifficulty, CardParams, ReviewCard, ReviewNextCard};

/// Names that only a directory knows, odd ones among them.
pub(crate) const DYNAMIC: &[&str] = &["github:list_issues", "ünï:cödé 🃏", "a\nb", "\u{0}"];

/// Hints made in any way there is, then extended, merged and extended again.
pub(crate) fn hints() -> impl Strategy<Value = AgentHints> {
    let sets = vec((start(), vec(step(), 0..12)), 1..4);
    (sets, vec(step(), 0..4)).prop_map(|(sets, last)| {
        let merged = sets
            .into_iter()
            .map(|(start, steps)| steps.into_iter().fold(start, take))
            .reduce(AgentHints::merge)
            .expect("there is at least one set");
        last.into_iter().fold(merged, take)
    })
}

/// One call of the builder.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Suggest(Suggestion),
    Relate(RelatedResource),
    Needs(String),
    Assumes(String),
    Risk(RiskFactor),
    Depends(u8, DependencyType, Option<String>),
    Impact(Share, Share, Vec<String>),
    Aligns(String, f64, Option<String>),
    Because(String),
    Warn(HintWarning),
    Alternative(Alternative),
    Constrained(String),
    Modeled(String),
}

fn take(hints: AgentHints, step: Step) -> AgentHints {
    match step {
        Step::Suggest(suggestion) => hints.suggest(suggestion),
        Step::Relate(resource) => hints.relate(resource),
        Step::Needs(text) => hints.needs(text),
        Step::Assumes(text) => hints.assumes(text),
        Step::Risk(risk) => hints.risk(risk),
        Step::Depends(on, kind, reason) => match on {
            0 => hints.depends::<ReviewCard, ReviewNextCard>(kind, reason.as_deref()),
            1 => hints.depends::<ReviewCard, AdjustDifficulty>(kind, reason.as_deref()),
            _ => hints.depends::<AdjustDifficulty, ReviewCard>(kind, reason.as_deref()),
        },
        Step::Impact(benefit, effort, metrics) => {
            let metrics: Vec<&str> = metrics.iter().map(String::as_str).collect();
            hints.impact(benefit, effort, &metrics)
        }
        Step::Aligns(preference, score, reason) => {
            hints.aligns::<ReviewCard>(preference, score, reason.as_deref())
        }
        Step::Because(text) => hints.because(text),
        Step::Warn(warning) => hints.warn(warning),
        Step::Alternative(alternative) => hints.alternative(alternative),
        Step::Constrained(text) => hints.constrained(text),
        Step::Modeled(text) => hints.modeled(text),
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => suggestion().prop_map(Step::Suggest),
        2 => resource().prop_map(Step::Relate),
        1 => text().prop_map(Step::Needs),
        1 => text().prop_map(Step::Assumes),
        2 => risk().prop_map(Step::Risk),
        2 => (0..3_u8, dependency_type(), option::of(text()))
            .prop_map(|(on, kind, reason)| Step::Depends(on, kind, reason)),
        1 => (share(), share(), vec(text(), 0..3))
            .prop_map(|(benefit, effort, metrics)| Step::Impact(benefit, effort, metrics)),
        2 => (text(), score(), option::of(text()))
            .prop_map(|(preference, score, reason)| Step::Aligns(preference, score, reason)),
        1 => text().prop_map(Step::Because),
        2 => warning().prop_map(Step::Warn),
        1 => alternative().prop_map(Step::Alternative),
        1 => text().prop_map(Step::Constrained),
        1 => text().prop_map(Step::Modeled),
    ]
}

fn start() -> impl Strategy<Value = AgentHints> {
    prop_oneof![
        (evidence(), validity())
            .prop_map(|(evidence, validity)| AgentHints::new(&evidence, validity)),
        (evidence(), text()).prop_map(|(evidence, what)| found(&evidence, &what)),
        (evidence(), any::<(u64, u64)>())
            .prop_map(|(evidence, (shown, total))| listed(&evidence, shown, total)),
        (evidence(), resource()).prop_map(|(evidence, resource)| created(&evidence, resource)),
        (evidence(), resource()).prop_map(|(evidence, resource)| changed(&evidence, resource)),
        (evidence(), resource()).prop_map(|(evidence, resource)| deleted(&evidence, resource)),
    ]
}

pub(crate) fn evidence() -> impl Strategy<Value = Evidence> {
    (quality(), vec(factor(), 1..6)).prop_map(|(quality, factors)| {
        let mut factors = factors.into_iter();
        let first = factors.next().expect("there is at least one factor");
        factors.fold(Evidence::new(quality, first), Evidence::and)
    })
}

fn factor() -> impl Strategy<Value = Factor> {
    let counts = prop_oneof![any::<(u64, u64)>(), (0..20_u64, 0..20_u64)];
    let counted = (0..4_u8, counts).prop_map(|(kind, (part, whole))| match kind {
        0 => completeness(part, whole),
        1 => coverage(part, whole),
        2 => agreement(part, whole),
        _ => matched(part, whole),
    });
    let timed = (time(), time()).prop_map(|(age, good_for)| freshness(age, good_for));
    let factor = prop_oneof![4 => counted, 1 => timed];
    (factor, option::of(any::<u32>())).prop_map(|(factor, weight)| match weight {
        Some(weight) => factor.weighing(weight),
        None => factor,
    })
}

fn suggestion() -> impl Strategy<Value = Suggestion> {
    let params = (text(), ANY_NUMBER).prop_map(|(card_id, difficulty)| CardParams {
        card_id,
        difficulty,
    });
    let base = prop_oneof![
        Just(Suggestion::to::<ReviewNextCard>()),
        Just(Suggestion::to::<AdjustDifficulty>()),
        params.prop_map(|params| Suggestion::with::<ReviewCard>(&params)),
        select(DYNAMIC)
            .prop_map(|name| Suggestion::if_exists(name, |_| true).expect("the name exists")),
    ];
    let data = (text(), text()).prop_map(|(key, value)| {
        let mut data = serde_json::Map::new();
        data.insert(key, value.into());
        data.insert("nothing".to_owned(), serde_json::Value::Null);
        data
    });
    let first = (
        option::of(priority()),
        option::of(data),
        option::of(text()),
        option::of(time()),
        option::of(ANY_NUMBER),
    );
    let second = (
        option::of(action_category()),
        0..3_u8,
        option::of(text()),
        option::of(any::<bool>()),
        option::of(evidence()),
    );
    (base, first, second).prop_map(|(base, first, second)| {
        let (priority, data, described, takes, costs) = first;
        let (category, after, expecting, reversible, confident) = second;
        let mut one = base;
        one = given(one, priority, Suggestion::priority);
        one = given(one, data, Suggestion::data);
        one = given(one, described, Suggestion::described);
        one = given(one, takes, Suggestion::takes);
        one = given(one, costs, Suggestion::costs);
        one = given(one, category, Suggestion::category);
        one = match after {
            0 => one,
            1 => one.after::<ReviewCard>(),
            _ => one.after::<ReviewCard>().after::<ReviewNextCard>(),
        };
        one = given(one, expecting, Suggestion::expecting);
        one = given(one, reversible, Suggestion::reversible);
        given(one, confident, |one, evidence| {
            one.confident(evidence.confidence())
        })
    })
}

fn resource() -> impl Strategy<Value = RelatedResource> {
    let moment = (-100_000_000_000_i64..100_000_000_000).prop_map(|second| {
        Timestamp::from_second(second).expect("a second between the years -1199 and 5138")
    });
    let metadata = (
        option::of(text()),
        option::of(moment),
        option::of(any::<u64>()),
        option::of(quality()),
        option::of(text()),
    );
    // Few ids, so that merging meets the same thing twice.
    let id = prop_oneof![select(vec!["one", "two"]).prop_map(str::to_owned), text()];
    (text(), id, text(), share(), option::of(metadata)).prop_map(
        |(kind, id, label, relevance, metadata)| {
            let metadata = metadata.map(
                |(category, last_accessed, access_count, quality, freshness)| ResourceMetadata {
                    category,
                    last_accessed,
                    access_count,
                    quality,
                    freshness,
                },
            );
            RelatedResource {
                metadata,
                ..RelatedResource::new(kind, id, label, relevance)
            }
        },
    )
}

fn risk() -> impl Strategy<Value = RiskFactor> {
    let about = (risk_type(), severity(), text());
    (about, share(), share(), option::of(text())).prop_map(
        |((kind, severity, description), probability, impact, mitigation)| RiskFactor {
            kind,
            severity,
            description,
            probability,
            impact,
            mitigation,
        },
    )
}

fn score() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<i8>().prop_map(|percent| f64::from(percent) / 100.0),
        ANY_NUMBER,
    ]
}

fn warning() -> impl Strategy<Value = HintWarning> {
    let base = (warning_type(), severity(), text());
    let more = (
        option::of(vec(text(), 0..3)),
        option::of(text()),
        option::of(any::<bool>()),
    );
    (base, more).prop_map(
        |((kind, severity, message), (ids, fix, auto))| HintWarning {
            related_ids: ids,
            suggested_fix: fix,
            auto_fixable: auto,
            ..HintWarning::new(kind, severity, message)
        },
    )
}

fn alternative() -> impl Strategy<Value = Alternative> {
    let texts = || option::of(vec(text(), 0..3));
    let more = (texts(), texts(), option::of(share()));
    (text(), evidence(), text(), more).prop_map(|(approach, evidence, reasoning, more)| {
        let (pros, cons, estimated_impact) = more;
        Alternative {
            approach,
            confidence: evidence.confidence(),
            reasoning,
            pros,
            cons,
            estimated_impact,
        }
    })
}

fn share() -> impl Strategy<Value = Share> {
    prop_oneof![
        any::<u8>().prop_map(Share::percent),
        any::<(u64, u64)>().prop_map(|(part, whole)| Share::of(part, whole)),
    ]
}

/// Short, long, odd and repeated texts.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => ".{0,12}",
        2 => any::<String>(),
        2 => select(vec!["", " ", "\"\\/", "null", "\u{0}\u{7f}", "\u{202e}x", "🃏", "same"])
            .prop_map(str::to_owned),
        1 => (1_000..5_000_usize).prop_map(|length| "ö".repeat(length)),
    ]
}

fn time() -> impl Strategy<Value = Duration> {
    prop_oneof![
        any::<Duration>(),
        select(vec![Duration::ZERO, Duration::from_nanos(1), Duration::MAX]),
        (0..10_000_000_u64).prop_map(Duration::from_millis),
    ]
}

/// Makes a strategy for each of the fixed words.
macro_rules! words {
    ($($function:ident: $name:ident { $($variant:ident)+ })+) => {
        $(fn $function() -> impl Strategy<Value = $name> {
            select(vec![$($name::$variant),+])
        })+
    };
}

words! {
    quality: SourceQuality { High Medium Low Unknown }
    validity: ValidityPeriod { Immediate Short Medium Long Indefinite }
    priority: Priority { Critical High Medium Low }
    severity: Severity { Critical High Medium Low }
    action_category: ActionCategory { Exploration Optimization Correction Learning }
    risk_type: RiskType { Performance Accuracy Cost Complexity UserExperience }
    dependency_type: DependencyType { Required Recommended Optional }
    warning_type: WarningType { Validation Duplicate Conflict Deprecation Performance }
}

/// The call with its argument, if there is one.
fn given<T, A>(one: T, argument: Option<A>, call: impl FnOnce(T, A) -> T) -> T {
    match argument {
        Some(argument) => call(one, argument),
        None => one,
    }
}
