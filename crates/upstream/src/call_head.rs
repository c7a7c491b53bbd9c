//! Head of a call: what of its `Caller` and of its request the server is told.

use std::sync::Arc;

use mcpproxy_policy::Caller;
use mcpproxy_wire::meta;
use serde::ser::SerializeMap;
use uuid::Uuid;

/// Head of a call, beside its tool and arguments: a view of the call's [`Caller`], which knows what of it a server is told.
#[derive(Debug, Clone, Copy)]
pub struct CallHead<'a> {
    /// Caller that it is made for.
    pub caller: &'a Arc<Caller>,
    /// Id that links all that is done for the request.
    pub request_id: Uuid,
    /// Whether its server announces the tool contract. Any other server is told of a trace that the client began, and of
    /// nothing else.
    pub announces_contract: bool,
}

impl CallHead<'_> {
    /// Id that links calls which belong together: the client's, else the request's own.
    pub fn correlation_id(&self) -> Uuid {
        self.caller.correlation_id.unwrap_or(self.request_id)
    }

    /// Name of the user on whose behalf the call is made: that of the token. What a client calls itself counts nothing.
    pub fn user_id(&self) -> Option<&str> {
        self.caller.rights.token().map(|token| &*token.name)
    }

    /// Whether the server is told anything of it.
    pub(crate) fn has_meta(&self) -> bool {
        self.announces_contract || self.caller.parent_span.is_some()
    }

    /// Writes what the server is told into the `_meta` of the call.
    pub(crate) fn write_meta<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        if let Some(traceparent) = self.traceparent() {
            map.serialize_entry(meta::TRACEPARENT, &traceparent)?;
        }
        if !self.announces_contract {
            return Ok(());
        }
        map.serialize_entry(meta::CORRELATION_ID, &self.correlation_id())?;
        if let Some(user_id) = self.user_id() {
            map.serialize_entry(meta::USER_ID, user_id)?;
        }
        for (name, value) in self.caller.metadata.iter() {
            map.serialize_entry(name, value)?;
        }
        Ok(())
    }

    /// W3C trace context of the call. The gateway records no spans, so the client's own stays the parent; where the
    /// gateway began the trace, the request is its first span.
    fn traceparent(&self) -> Option<String> {
        let trace_id = self.caller.trace_id.as_ref()?;
        Some(match &self.caller.parent_span {
            Some(span) => format!("00-{trace_id}-{span}"),
            None => format!("00-{trace_id}-{:016x}-00", self.request_id.as_u64_pair().1),
        })
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_policy::{AgentToken, CallMetadata, Rights, TokenGrant};
    use mcpproxy_wire::Json;
    use serde::Serializer;
    use serde_json::{Value, json};

    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    fn told(head: &CallHead<'_>) -> Value {
        let mut map = serde_json::value::Serializer.serialize_map(None).unwrap();
        head.write_meta(&mut map).unwrap();
        map.end().unwrap()
    }

    fn caller() -> Caller {
        let token = AgentToken {
            id: "id".into(),
            name: "ci".into(),
            grant: TokenGrant::default(),
        };
        let (tenant, forged) = (
            Json::of(&json!({ "name": "north" })),
            Json::of(&json!("eve")),
        );
        let members = [("tenant", &tenant), (meta::USER_ID, &forged)];
        Caller {
            trace_id: Some(TRACE.to_owned()),
            metadata: CallMetadata::of(members.into_iter()),
            rights: Rights::Token(Arc::new(token)),
            ..Caller::default()
        }
    }

    #[test]
    fn a_server_of_the_contract_is_told_user_trace_correlation_and_metadata() {
        let mut caller = caller();
        let request_id = "019a0000-0000-7000-8000-00000000000a".parse().unwrap();
        let told_of = |caller: &Caller| {
            told(&CallHead {
                caller: &Arc::new(caller.clone()),
                request_id,
                announces_contract: true,
            })
        };
        let expected = json!({
            "traceparent": format!("00-{TRACE}-800000000000000a-00"),
            "dev.mcpproxy/correlationId": "019a0000-0000-7000-8000-00000000000a",
            "dev.mcpproxy/userId": "ci",
            "tenant": { "name": "north" },
        });
        assert_eq!(told_of(&caller), expected);

        caller.parent_span = Some("00f067aa0ba902b7-01".to_owned());
        caller.correlation_id = "019a0000-0000-7000-8000-00000000000b".parse().ok();
        caller.rights = Rights::Administrator;
        let expected = json!({
            "traceparent": format!("00-{TRACE}-00f067aa0ba902b7-01"),
            "dev.mcpproxy/correlationId": "019a0000-0000-7000-8000-00000000000b",
            "tenant": { "name": "north" },
        });
        assert_eq!(told_of(&caller), expected);
    }

    #[test]
    fn any_other_server_is_told_of_the_clients_trace_alone() {
        let mut caller = caller();
        let told_of = |caller: &Caller| {
            let head = CallHead {
                caller: &Arc::new(caller.clone()),
                request_id: Uuid::now_v7(),
                announces_contract: false,
            };
            head.has_meta().then(|| told(&head))
        };
        assert_eq!(told_of(&caller), None);
        caller.parent_span = Some("00f067aa0ba902b7-01".to_owned());
        let traceparent = format!("00-{TRACE}-00f067aa0ba902b7-01");
        assert_eq!(
            told_of(&caller),
            Some(json!({ "traceparent": traceparent }))
        );
    }
}
