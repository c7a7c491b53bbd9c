//! Sessions that ended with their gateway: opened anew, as soon as there is one.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{BoxFuture, join_all};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::json;

use super::messages::pass_on;
use super::relay::{DaemonRelay, MOST_TRIES, NotReopened, SentIn};
use super::session::{SessionMark, Terms, is_result, subscription, updated};
use crate::daemon::{SESSION_ID, STEP, Stream};

/// Time that opening a session anew may take.
const REOPEN_TIME: Duration = Duration::from_secs(30);

/// Pause before the gateway is looked for again while nobody waits for it.
const IDLE_STEP: Duration = Duration::from_secs(1);

/// Pause before a server is asked a second time to tell of a resource; it doubles, to four minutes.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

impl DaemonRelay {
    /// Opens the session anew, unless another request has done it; gives the one to go on in.
    pub(super) async fn reopen(
        self: &Arc<Self>,
        ended: &SentIn,
    ) -> Result<SessionMark, NotReopened> {
        let _one_at_a_time = self.reopening.lock().await;
        let (hello, terms, opening) = {
            let session = self.session();
            let mark = session.mark();
            match (ended, session.hello()) {
                (SentIn::Session(ended), Some(hello)) if session.is_at(ended) => {
                    (hello, session.terms().clone(), session.opening())
                }
                _ => return Ok(mark),
            }
        };
        let opened = self.open_like(hello, &terms, opening);
        let opened = tokio::time::timeout(REOPEN_TIME, opened).await;
        let id = opened.unwrap_or(Err(NotReopened::Lost))?;
        let (mark, missed, subscriptions) = {
            let mut session = self.session();
            let subscriptions = session.subscriptions().to_vec();
            (session.go_on(id), session.missed_changes(), subscriptions)
        };
        self.follow(mark.clone());
        if !subscriptions.is_empty() {
            let (relay, mark) = (Arc::clone(self), mark.clone());
            let subscribing = async move { relay.subscribe_again(mark, subscriptions).await };
            self.until_closing(Box::pin(subscribing));
        }
        for change in missed {
            let _ = self.lines.send(change).await;
        }
        Ok(mark)
    }

    /// Opens a session with the client's own words.
    async fn open_like(
        &self,
        hello: Bytes,
        terms: &Terms,
        opening: Vec<Bytes>,
    ) -> Result<HeaderValue, NotReopened> {
        let whole = async |stream: Stream| {
            let answer = stream.whole().await.map_err(|_| NotReopened::Lost)?;
            Ok(answer.unwrap_or_default())
        };
        let opened = self.daemon.message(self.shown(HeaderMap::new()), hello);
        let stream = opened.await.map_err(|_| NotReopened::Lost)?;
        let id = stream.headers.get(SESSION_ID).cloned();
        let answer = whole(stream).await?;
        let id = match id {
            Some(id) if terms.admit(&Terms::read(&answer)) => id,
            // The answer to what the client did not send says nothing to it.
            Some(_) => {
                let message = "The gateway was replaced by one that speaks another revision of MCP: connect again";
                let refusal = json!({ "error": { "message": message } });
                return Err(NotReopened::Refused(refusal.to_string().into()));
            }
            None => return Err(NotReopened::Refused(answer)),
        };
        let headers = HeaderMap::from_iter([(SESSION_ID, id.clone())]);
        for message in opening {
            let taken = self.daemon.message(self.shown(headers.clone()), message);
            whole(taken.await.map_err(|_| NotReopened::Lost)?).await?;
        }
        Ok(id)
    }

    // === changes ===

    /// Writes the changes of a session until it or the input ends.
    pub(super) fn follow(self: &Arc<Self>, mark: SessionMark) {
        let relay = Arc::clone(self);
        self.until_closing(Box::pin(async move { relay.follow_changes(mark).await }));
    }

    /// Runs beside all else until the input ends.
    fn until_closing(&self, task: BoxFuture<'static, ()>) {
        let closing = self.closing.clone();
        tokio::spawn(async move { closing.run_until_cancelled(task).await });
    }

    /// Subscribes to resources in a session that was opened anew. Their servers may be starting with the gateway, so
    /// requests do not wait for this. The client is told to look at each resource: it may have missed a change, or will
    /// miss them where the server does not tell of it any more.
    async fn subscribe_again(&self, mark: SessionMark, uris: Vec<String>) {
        join_all(uris.iter().map(async |uri| {
            let mut pause = FIRST_PAUSE;
            for _ in 0..MOST_TRIES {
                let is_wanted = {
                    let session = self.session();
                    session.is_at(&mark) && session.subscriptions().contains(uri)
                };
                if !is_wanted {
                    break;
                }
                let headers = self.shown(mark.headers.clone());
                let sent = self.daemon.message(headers, subscription(uri)).await;
                let answer = match sent {
                    Ok(stream) => stream.whole().await.ok().flatten(),
                    Err(_) => None,
                };
                if answer.is_some_and(|answer| is_result(&answer)) {
                    break;
                }
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            let _ = self.lines.send(updated(uri)).await;
        }))
        .await;
    }

    /// Follows a session. When that has ended with its gateway another is opened as soon as there is one, so that the
    /// client hears of changes also while it asks for nothing; whoever opens it follows it.
    async fn follow_changes(self: &Arc<Self>, mark: SessionMark) {
        while self.session().is_at(&mark) {
            let headers = self.shown(mark.headers.clone());
            match self.daemon.open("/mcp", headers).await {
                Ok(stream) if stream.has_events() => {
                    pass_on(stream, |message| self.lines.send(message)).await;
                }
                Ok(stream) if stream.status == StatusCode::NOT_FOUND => {
                    let reopened = self.reopen(&SentIn::Session(mark.clone())).await;
                    if let Err(NotReopened::Refused(_)) = reopened {
                        // The next request is told.
                        return;
                    }
                }
                Ok(_) => return,
                Err(_) => self.listens_again(IDLE_STEP).await,
            }
            tokio::time::sleep(STEP).await;
        }
    }
}
