//! The short way to a definition and to a service: nothing is forgotten, and nothing is kept back.
mod sample;

use std::marker::PhantomData;

use mcpproxy_contract::prelude::*;
use mcpproxy_contract::{Category, PublishedDefinition, Rule};
use sample::*;

/// A tool of any category that is defined in short.
struct SketchCard<C>(PhantomData<C>);

impl<C: Category> Tool for SketchCard<C> {
    const NAME: &'static str = "sketch-card";
    type Category = C;
    type Params = CardParams;
    type Output = Card;

    fn definition() -> Definition<Self> {
        Definition::of(
            Version::new(1, 2, 3),
            ResponseTime::Medium,
            &["cards:sketch"],
        )
        .what("Sketches one card")
        .when("a card is not drawn yet")
        .returns("the card")
        .example(
            "draw a card",
            json!({ "cardId": "card_1" }),
            json!({ "front": "Question", "run": 1 }),
        )
        .example(
            "draw another",
            json!({ "cardId": "card_2" }),
            json!({ "front": "Question", "run": 2 }),
        )
        .tagged(&["cards", "drawing"])
    }

    async fn call(&self, _: &CardParams, _: &ToolContext) -> Result<ToolOutput<Card>, ToolError> {
        Ok(answer(1))
    }
}

/// The definition as a registry publishes it.
fn published<C: Category>() -> PublishedDefinition {
    let service = Service::of(SketchCard::<C>(PhantomData)).expect("it keeps the contract");
    let tool = service
        .registry()
        .get_all()
        .next()
        .expect("there is one tool");
    tool.definition().clone()
}

#[test]
fn all_that_was_said_is_published_and_the_uses_are_those_of_the_examples() {
    let published = published::<Query>();
    let text = "Sketches one card. Use when a card is not drawn yet. Returns the card. \
                For example: draw a card; draw another.";
    assert_eq!(published.description, text);
    assert_eq!(published.version, Version::new(1, 2, 3));
    assert_eq!(published.response_time, ResponseTime::Medium);
    assert_eq!(published.permissions, ["cards:sketch"]);
    assert_eq!(published.tags, ["cards", "drawing"]);
    assert_eq!(published.examples.len(), 2);
    assert_eq!(
        published.examples[1].params,
        json!({ "cardId": "card_2" }),
        "in the order they were given"
    );
}

#[test]
fn what_was_not_said_has_the_answer_that_can_do_no_harm() {
    fn check<C: Category>(is_idempotent: bool) {
        let published = published::<C>();
        let category = published.category;
        assert_eq!(published.idempotent, is_idempotent, "{category:?}");
        assert!(!published.cacheable, "{category:?}");
        assert!(published.rate_limit.is_none() && published.deprecated.is_none());
    }
    check::<Query>(true);
    check::<Analysis>(true);
    check::<Generation>(false);
    check::<Mutation<Writes>>(false);
    check::<Mutation<Destroys>>(false);
}

#[tokio::test]
async fn a_service_of_one_tool_has_its_name_and_version() {
    let service = Service::of(SketchCard::<Query>(PhantomData)).unwrap();
    let result = call(&service, "sketch-card").await.to_json();
    assert_eq!(result["data"]["front"], "Question");
    assert_eq!(result["metadata"]["serviceVersion"], "1.2.3");
    assert_eq!(
        result["agentHints"]["metadata"]["generatedBy"],
        "sketch-card/sketch-card"
    );
}

/// A tool that says nothing of what it must say.
struct Silent;

impl Tool for Silent {
    const NAME: &'static str = "silent";
    type Category = Query;
    type Params = CardParams;
    type Output = Card;

    fn definition() -> Definition<Self> {
        let example = (json!({}), json!({ "front": "Question", "run": 1 }));
        Definition::of(Version::new(1, 0, 0), ResponseTime::Fast, &["cards"])
            .what("")
            .when(" ")
            .returns("")
            .example("", example.0, example.1)
            .tagged(&[])
    }

    async fn call(&self, _: &CardParams, _: &ToolContext) -> Result<ToolOutput<Card>, ToolError> {
        Ok(answer(1))
    }
}

#[test]
fn what_is_wrong_with_any_tool_of_a_chain_is_told_at_once() {
    let good = || SketchCard::<Query>(PhantomData);
    let registry = Registry::new("cards", Version::new(1, 0, 0))
        .with(Silent)
        .with(good())
        .with(good());
    assert!(registry.get("silent").is_none(), "it was not taken");
    let violations = registry.into_service().unwrap_err();
    let broken = |tool: &str| -> Vec<Rule> {
        let of_tool = violations.iter().filter(|one| one.tool == tool);
        of_tool.map(|one| one.rule).collect()
    };
    assert_eq!(broken("sketch-card"), [Rule::NameUnique]);
    for rule in [
        Rule::NameForm,
        Rule::DescriptionParts,
        Rule::PermissionForm,
        Rule::ExampleHolds,
        Rule::TagPresent,
    ] {
        assert!(broken("silent").contains(&rule), "{rule:?}: {violations}");
    }
    assert!(
        violations
            .to_string()
            .contains("the description is empty in: what, when, returns, uses")
    );
}
