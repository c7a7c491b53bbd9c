//! What only the crate itself can do with hints: stamp them, and drop actions that do not exist.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::{Data, Definition, Query, Tool, ToolContext, ToolError, ToolOutput};

/// Makes a tool that exists by its name only; hints never call one.
macro_rules! tool {
    ($name:ident, $kebab:literal) => {
        struct $name;

        impl Tool for $name {
            const NAME: &'static str = $kebab;
            type Category = Query;
            type Params = Nothing;
            type Output = Nothing;

            fn definition() -> Definition<Self> {
                unreachable!("hints read the name only")
            }

            async fn call(
                &self,
                _: &Nothing,
                _: &ToolContext,
            ) -> Result<ToolOutput<Nothing>, ToolError> {
                unreachable!("hints read the name only")
            }
        }
    };
}

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema, garde::Validate)]
struct Nothing {}

impl Data for Nothing {}

tool!(Kept, "get-card");
tool!(Dropped, "paint-card");
tool!(AlsoDropped, "fold-card");

fn hints() -> AgentHints {
    let evidence = Evidence::new(SourceQuality::High, completeness(1, 2));
    AgentHints::new(&evidence, ValidityPeriod::Short)
}

fn wire(hints: &AgentHints) -> Value {
    serde_json::to_value(hints).unwrap()
}

#[test]
fn metadata_is_sent_once_the_hints_are_stamped() {
    let mut hints = hints().modeled("scheduler-5");
    assert_eq!(wire(&hints).get("metadata"), None);
    hints.stamp(Timestamp::UNIX_EPOCH, "cards/get-card".to_owned(), 1.5);
    assert_eq!(
        wire(&hints)["metadata"],
        json!({
            "generatedAt": "1970-01-01T00:00:00Z",
            "generatedBy": "cards/get-card",
            "modelVersion": "scheduler-5",
            "processingTime": 1.5,
        })
    );
    let schema = jsonschema::validator_for(&schema()).unwrap();
    assert!(schema.is_valid(&wire(&hints)));
}

#[test]
fn a_processing_time_that_is_no_time_is_sent_as_one() {
    for (given, expected) in [
        (f64::NAN, 0.0),
        (-1.0, 0.0),
        (f64::NEG_INFINITY, 0.0),
        (0.25, 0.25),
        (f64::INFINITY, f64::MAX),
    ] {
        let mut hints = hints();
        hints.stamp(Timestamp::UNIX_EPOCH, String::new(), given);
        assert_eq!(
            wire(&hints)["metadata"]["processingTime"],
            json!(expected),
            "{given}"
        );
    }
}

#[test]
fn merged_hints_are_not_stamped_yet_and_keep_the_models() {
    let mut one = hints().modeled("a");
    one.stamp(Timestamp::UNIX_EPOCH, "one".to_owned(), 1.0);
    let mut merged = one.clone().merge(hints().modeled("b")).merge(one);
    assert_eq!(wire(&merged).get("metadata"), None);
    merged.stamp(Timestamp::UNIX_EPOCH, "two".to_owned(), 1.0);
    assert_eq!(wire(&merged)["metadata"]["modelVersion"], "a, b");
}

#[test]
fn an_action_that_does_not_exist_is_dropped_wherever_it_is_named() {
    let mut hints = hints()
        .suggest(Suggestion::to::<Dropped>().priority(Priority::Critical))
        .suggest(Suggestion::to::<Kept>().after::<AlsoDropped>())
        .suggest(
            Suggestion::to::<Kept>()
                .after::<AlsoDropped>()
                .after::<Kept>(),
        )
        .depends::<Dropped, Kept>(DependencyType::Required, None)
        .depends::<Kept, Dropped>(DependencyType::Required, None)
        .depends::<Kept, Dropped>(DependencyType::Optional, None)
        .depends::<Kept, Kept>(DependencyType::Optional, None)
        .aligns::<Dropped>("colour", 0.9, None)
        .aligns::<Kept>("words", 0.9, None);
    let dropped = hints.retain_suggestions(|name| name == Kept::NAME);
    assert_eq!(dropped, [Dropped::NAME, AlsoDropped::NAME]);

    let wire = wire(&hints);
    assert_eq!(
        wire["suggestedNextActions"],
        json!([
            { "action": "get-card", "priority": "medium" },
            { "action": "get-card", "priority": "medium", "prerequisites": ["get-card"] },
        ])
    );
    assert_eq!(
        wire["dependencies"],
        json!([{ "action": "get-card", "dependsOn": ["get-card"], "type": "optional" }])
    );
    assert_eq!(wire["preferenceAlignment"].as_array().unwrap().len(), 1);
    assert!(!wire.to_string().contains(Dropped::NAME));
    assert!(!wire.to_string().contains(AlsoDropped::NAME));
    // The impact is estimated from what is left: medium, not critical.
    assert_eq!(hints.estimated_impact().benefit, Share::percent(25));
    assert!(hints.retain_suggestions(|_| true).is_empty());
}

#[test]
fn shares_stay_in_their_range() {
    for (given, expected) in [
        (0.3, 0.3),
        (-0.3, 0.0),
        (7.0, 1.0),
        (f64::NAN, 0.0),
        (f64::INFINITY, 1.0),
        (f64::NEG_INFINITY, 0.0),
        (0.123_456, 0.123),
        (f64::MIN_POSITIVE, 0.0),
    ] {
        let share = Share::clamped(given);
        assert!((share.value() - expected).abs() < 1e-12, "{given}");
    }
    assert!(Share::clamped(-0.0).value().is_sign_positive());
}
