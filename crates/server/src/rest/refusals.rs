//! How requests are refused. Every refusal has the one shape of errors.

use std::collections::BTreeMap;

use utoipa::IntoResponses;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

/// Refusals of whoever may not come in, and what breaks on our side.
pub(crate) struct AccessRefusals;

/// What was asked for is wrong.
pub(crate) struct InvalidRefusals;

/// What was asked for is not there.
pub(crate) struct MissingRefusals;

/// The log cannot be read or written.
pub(crate) struct StoreRefusals;

/// A call that was refused or failed.
pub(crate) struct CallRefusals;

type Responses = BTreeMap<String, RefOr<Response>>;

impl IntoResponses for AccessRefusals {
    fn responses() -> Responses {
        refused(&[
            (401, "The key is missing or wrong (`UNAUTHORIZED`)"),
            (
                403,
                "The request comes from somewhere it must not (`FORBIDDEN`)",
            ),
            (500, "Something broke on our side (`INTERNAL`)"),
        ])
    }
}

impl IntoResponses for InvalidRefusals {
    fn responses() -> Responses {
        refused(&[(
            400,
            "What was sent is wrong; the message and `details.allowed` say what is allowed",
        )])
    }
}

impl IntoResponses for MissingRefusals {
    fn responses() -> Responses {
        refused(&[(404, "There is nothing of that name")])
    }
}

impl IntoResponses for StoreRefusals {
    fn responses() -> Responses {
        refused(&[(503, "The log does not answer (`STORE_UNAVAILABLE`)")])
    }
}

impl IntoResponses for CallRefusals {
    fn responses() -> Responses {
        refused(&[
            (409, "A rule or a state speaks against the call"),
            (429, "The tool was called too often (`RATE_LIMITED`)"),
            (
                502,
                "The server could not be reached, or answered with an error",
            ),
            (
                504,
                "The server did not answer in time (`UPSTREAM_TIMEOUT`)",
            ),
        ])
    }
}

fn refused(statuses: &[(u16, &str)]) -> Responses {
    let response = |about: &str| {
        let content = ContentBuilder::new()
            .schema(Some(Ref::from_schema_name("ErrorAnswer")))
            .build();
        ResponseBuilder::new()
            .description(about)
            .content("application/json", content)
            .build()
    };
    statuses
        .iter()
        .map(|(status, about)| (status.to_string(), RefOr::T(response(about))))
        .collect()
}
