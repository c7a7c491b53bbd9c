use std::time::Duration;

use jiff::Timestamp;
use mcpproxy_contract::prelude::*;

/// What is known of a user: counted, so that every confidence rests on something.
pub(crate) struct Learner {
    /// Reviews, and how many of them went as the algorithm had predicted.
    pub(crate) reviews: u64,
    pub(crate) as_predicted: u64,
    /// Suggestions to go on, and how many of them were followed.
    pub(crate) suggested: u64,
    pub(crate) followed: u64,
}

/// Hints after a card was reviewed: all that the contract's own example has.
pub(crate) fn after_review<ReviewNextCard: Tool, AdjustDifficulty: Tool>(
    learner: &Learner,
) -> AgentHints {
    let predicted = agreement(learner.as_predicted, learner.reviews);
    let follows = agreement(learner.followed, learner.suggested);
    let evidence = Evidence::new(SourceQuality::High, predicted);
    AgentHints::new(&evidence, ValidityPeriod::Short)
        // suggestedNextActions: what to do next, what for, and how sure this very step is.
        .suggest(
            Suggestion::to::<ReviewNextCard>()
                .priority(Priority::High)
                .category(ActionCategory::Learning)
                .expecting("Continue learning momentum")
                .confident(Evidence::new(SourceQuality::High, follows).confidence()),
        )
        .suggest(
            Suggestion::to::<AdjustDifficulty>()
                .priority(Priority::Medium)
                .category(ActionCategory::Optimization)
                .expecting("Better calibrated difficulty"),
        )
        // relatedResources, with metadata on the thing itself.
        .relate(RelatedResource {
            metadata: Some(ResourceMetadata {
                quality: Some(SourceQuality::High),
                freshness: Some("current".to_owned()),
                ..ResourceMetadata::default()
            }),
            ..RelatedResource::new("deck", "deck_456", "Math Deck", Share::ALL)
        })
        // contextNeeded and assumptions.
        .needs("user's recent performance trend")
        .assumes("User completed review attentively")
        .assumes("FSRS algorithm accurate")
        // riskFactors.
        .risk(RiskFactor {
            kind: RiskType::UserExperience,
            severity: Severity::Low,
            description: "User might feel fatigued".to_owned(),
            probability: Share::percent(20),
            impact: Share::percent(10),
            mitigation: None,
        })
        // dependencies: the first tool should wait for the second.
        .depends::<AdjustDifficulty, ReviewNextCard>(
            DependencyType::Recommended,
            Some("Need more data points before adjustment"),
        )
        // estimatedImpact: benefit and effort; roi is computed.
        .impact(
            Share::percent(85),
            Share::percent(20),
            &["retention_rate", "review_accuracy"],
        )
        // preferenceAlignment: the word ("strong") follows from the score.
        .aligns::<ReviewNextCard>("continuous_learning", 0.9, None)
        .because("High confidence based on FSRS algorithm and recent performance")
        .warn(HintWarning {
            auto_fixable: Some(false),
            ..HintWarning::new(
                WarningType::Performance,
                Severity::Low,
                "User slower than usual",
            )
        })
}

/// The fields that the example leaves out.
pub(crate) fn with_everything_else<ReviewNextCard: Tool, AdjustDifficulty: Tool>(
    evidence: &Evidence,
    last_accessed: Timestamp,
) -> AgentHints {
    AgentHints::new(evidence, ValidityPeriod::Immediate)
        .suggest(
            Suggestion::to::<AdjustDifficulty>()
                .described("Make the card easier")
                .takes(Duration::from_millis(50)) // estimatedTime
                .costs(0.5) // estimatedCost, in units of your own
                .after::<ReviewNextCard>() // prerequisites
                .reversible(true),
        )
        .relate(RelatedResource {
            metadata: Some(ResourceMetadata {
                category: Some("mathematics".to_owned()),
                last_accessed: Some(last_accessed),
                access_count: Some(12),
                ..ResourceMetadata::default()
            }),
            ..RelatedResource::new("card", "card_123", "7 × 8", Share::of(3, 4))
        })
        .risk(RiskFactor {
            kind: RiskType::Accuracy,
            severity: Severity::Medium,
            description: "Four reviews are few".to_owned(),
            probability: Share::percent(30),
            impact: Share::percent(40),
            mitigation: Some("Review the card once more before changing it".to_owned()),
        })
        .aligns::<AdjustDifficulty>("short_sessions", -0.4, Some("It makes the session longer"))
        .warn(HintWarning {
            related_ids: Some(vec!["card_123".to_owned()]),
            suggested_fix: Some("Set the difficulty back to 3".to_owned()),
            auto_fixable: Some(true),
            ..HintWarning::new(
                WarningType::Conflict,
                Severity::Low,
                "Most reviews speak for the opposite",
            )
        })
        .alternative(Alternative {
            approach: "Split the card in two".to_owned(),
            confidence: Evidence::new(SourceQuality::Low, coverage(4, 8)).confidence(),
            reasoning: "It asks for two things at once".to_owned(),
            pros: Some(vec!["Each half is easier".to_owned()]),
            cons: Some(vec!["Its reviews are lost".to_owned()]),
            estimated_impact: Some(Share::percent(60)),
        })
        .constrained("Must complete within the current session")
        .modeled("fsrs-6")
}
