//! Records of client requests: what a server asked the client of a call and which kind of answer it got, never the
//! content of the answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcpproxy_activity::{OpenRecord, RecordKind, Status, StoreError};
use mcpproxy_policy::Caller;
use mcpproxy_upstream::client::{
    AnswerRecorder, AskingCall, ClientAnswer, ClientLink, ClientRequestKind, ClientRequestLog,
    OpeningRecord, PassedOn,
};
use mcpproxy_wire::Json;
use mcpproxy_wire::rpc::{INTERNAL_ERROR, RpcError};
use uuid::Uuid;

use super::Records;
use super::passed_on::PassedOnRequest;

/// Time that a client request waits for room in the log before it is not asked.
const RECORDED_WITHIN: Duration = Duration::from_secs(30);

/// Most answers of one repeated request that are put on record; a server asks for no more at once.
const MOST_ANSWERS: usize = 64;

/// Record of a client request, closed as cancelled when it is dropped.
struct ClientRequestRecord(Option<OpenRecord>);

impl Records {
    /// Begins a call whose server may ask the client: its requests name it and are on record, and so are the kinds of
    /// the answers that the client comes back with.
    pub(crate) async fn begin_call(
        self: &Arc<Self>,
        client: &ClientLink,
        server: &Arc<str>,
        caller: &Arc<Caller>,
        record_id: Uuid,
    ) {
        let call = || AskingCall {
            server: Arc::clone(server),
            caller: Arc::clone(caller),
            record_id,
            log: Arc::<Self>::clone(self),
        };
        if client.input.input_responses.is_some() {
            // Boxed, so that the future of a call stays small.
            Box::pin(self.record_answers(&call(), client)).await;
        }
        client.begin_call(call());
    }

    /// Puts the answers on record that a client repeats its request with. One to a client request that is not known here,
    /// of before a start or of another gateway, has a record of its own, without what was asked.
    async fn record_answers(&self, call: &AskingCall, client: &ClientLink) {
        let responses = client.input.input_responses.as_ref();
        let Some(fields) = responses.and_then(Json::fields) else {
            return;
        };
        let state = client.input.request_state.as_ref().map(Json::text);
        for (key, raw) in fields.iter().take(MOST_ANSWERS) {
            let result = Json::parse(raw.get().to_owned()).unwrap_or_else(|_| Json::empty_object());
            let key = self.passed_on.key(call, PassedOn { key, state });
            if let Some(asked) = self.passed_on.take(key) {
                (asked.recorder)(ClientAnswer::of(asked.kind, Some(&result)));
                continue;
            }
            let kind = kind_of_result(&result);
            if let Ok(record) = self.open_client_request(call, kind, None).await {
                record.close(ClientAnswer::of(kind, Some(&result)));
            }
        }
    }

    async fn open_client_request(
        &self,
        call: &AskingCall,
        kind: ClientRequestKind,
        params: Option<&Json>,
    ) -> Result<ClientRequestRecord, StoreError> {
        let log = self.log();
        let mut record = log.open(RecordKind::ClientRequest, &call.caller, None);
        record.set_parent(call.record_id);
        record.set_tool(&call.server, kind.method());
        if let Some(params) = params {
            record.set_arguments(params.text());
        }
        record
            .begin_sending(Instant::now() + RECORDED_WITHIN)
            .await?;
        record.mark_under_way();
        Ok(ClientRequestRecord(Some(record)))
    }
}

impl ClientRequestLog for Records {
    fn open<'a>(
        &'a self,
        call: &'a AskingCall,
        kind: ClientRequestKind,
        params: &'a Json,
    ) -> OpeningRecord<'a> {
        Box::pin(async move {
            let opened = self.open_client_request(call, kind, Some(params)).await;
            let record = opened.map_err(|problem| {
                tracing::debug!(%problem, "a client was not asked, because it could not be recorded");
                let message = "The activity log cannot be written, so the client was not asked";
                RpcError::new(INTERNAL_ERROR, message)
            })?;
            let recorder: AnswerRecorder = Box::new(|answer| record.close(answer));
            Ok(recorder)
        })
    }

    fn keep(
        &self,
        call: &AskingCall,
        kind: ClientRequestKind,
        passed_on: PassedOn<'_>,
        recorder: AnswerRecorder,
    ) {
        let key = self.passed_on.key(call, passed_on);
        let (table, limit) = (Arc::clone(&self.passed_on), self.input_timeout());
        let expiry = self.background.spawn_until_stop(async move {
            tokio::time::sleep(limit).await;
            table.expire(key);
        });
        self.passed_on.insert(
            key,
            PassedOnRequest {
                kind,
                since: Instant::now(),
                recorder,
                expiry: expiry.abort_handle(),
            },
        );
    }
}

/// Kind of client request that a result answers, by its shape.
fn kind_of_result(result: &Json) -> ClientRequestKind {
    let fields = result.fields().unwrap_or_default();
    match (fields.get("action"), fields.get("roots")) {
        (Some(_), _) => ClientRequestKind::Elicitation,
        (None, Some(_)) => ClientRequestKind::Roots,
        (None, None) => ClientRequestKind::Sampling,
    }
}

// === impl ClientRequestRecord ===

impl ClientRequestRecord {
    fn close(mut self, answer: ClientAnswer) {
        self.close_with(answer);
    }

    fn close_with(&mut self, answer: ClientAnswer) {
        let Some(record) = self.0.take() else {
            return;
        };
        match answer {
            ClientAnswer::Accept => record.close_at_once(Status::Success, None),
            ClientAnswer::Decline => {
                let error = ("DECLINED", "The client declined");
                record.close_at_once(Status::Blocked, Some(error));
            }
            ClientAnswer::Cancel => {
                let error = (
                    "CANCELLED",
                    "The question was closed or called off, or nobody answered it in time",
                );
                record.close_at_once(Status::Error, Some(error));
            }
        }
    }
}

impl Drop for ClientRequestRecord {
    fn drop(&mut self) {
        self.close_with(ClientAnswer::Cancel);
    }
}
