//! Refusals of requests. Every one has the one shape of errors.

use std::collections::BTreeMap;

use utoipa::IntoResponses;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

/// Makes a kind of refusal from the statuses it has.
macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident { $($status:literal => $about:literal,)+ })+) => {$(
        $(#[$doc])*
        pub(crate) struct $name;

        impl IntoResponses for $name {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                [$(($status.to_string(), refused($about)),)+].into()
            }
        }
    )+};
}

refusals! {
    /// Refusals of whoever may not come in, and what breaks on our side.
    AccessRefusals {
        401 => "The key is missing or wrong (`UNAUTHORIZED`)",
        403 => "The request comes from somewhere it must not (`FORBIDDEN`)",
        500 => "Something broke on our side (`INTERNAL`)",
    }
    /// Refusals of requests that are wrong.
    InvalidRefusals {
        400 => "What was sent is wrong; the message and `details.allowed` say what is allowed",
    }
    /// Refusals of requests for something that is not there.
    MissingRefusals {
        404 => "There is nothing of that name",
    }
    /// The log cannot be read or written.
    StoreRefusals {
        503 => "The log does not answer (`STORE_UNAVAILABLE`)",
    }
    /// A server whose tools are not known.
    UnlistedRefusals {
        502 => "The server has not listed its tools (`UPSTREAM_UNAVAILABLE`)",
    }
    /// A change of the configuration that cannot be made.
    ChangeRefusals {
        409 => "The name is taken (`NAME_TAKEN`), or the configuration file cannot be used (`INVALID_CONFIGURATION`)",
    }
    /// A server that cannot be started.
    StartRefusals {
        502 => "The server cannot be started (`UPSTREAM_UNAVAILABLE`); `details.stderr` has the last lines that it wrote",
    }
    /// A server that is switched off.
    SwitchedOffRefusals {
        409 => "The server is disabled (`TOOL_DISABLED`) or quarantined (`SERVER_QUARANTINED`), or the configuration file cannot be used (`INVALID_CONFIGURATION`)",
    }
    /// A call that was refused or failed.
    CallRefusals {
        409 => "A rule or a state speaks against the call",
        429 => "The tool was called too often (`RATE_LIMITED`)",
        502 => "The server could not be reached, or answered with an error",
        504 => "The server did not answer in time (`UPSTREAM_TIMEOUT`)",
    }
}

fn refused(about: &str) -> RefOr<Response> {
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name("ErrorAnswer")))
        .build();
    let response = ResponseBuilder::new().description(about);
    RefOr::T(response.content("application/json", content).build())
}
