//! What an upstream has besides tools: prompts, resources, completion and subscriptions.

use tokio::time::{Instant, timeout_at};

use super::Upstream;
use crate::board::{Live, Need};
use crate::connection::{Connection, Errand};
use crate::pending::Answer;
use crate::read_request::ReadRequest;
use crate::shelf::Stock;
use crate::subscription::{Subscription, Watched};
use crate::{CallError, Origin};
use mcpproxy_wire::rpc::{METHOD_NOT_FOUND, RpcError};
use mcpproxy_wire::{Json, json};

impl Upstream {
    /// What the server lists besides tools, as far as it is known. A list that has become old is
    /// renewed in the background, if the server is there.
    pub fn stock(&self) -> Stock {
        let board = &self.0.shared.board;
        board.shelf.renew();
        board.shelf.stock()
    }

    /// The same of a server that is waited for, until its lists are what it has now.
    ///
    /// Starts a server that is idle. Dropping the future is safe.
    pub async fn stocked(&self, deadline: impl Into<Instant>) -> Result<Stock, CallError> {
        let shared = &self.0.shared;
        let deadline = deadline.into();
        shared.touch();
        shared
            .board
            .wait(Need::ConnectionAfter(0), deadline)
            .await?;
        shared.board.shelf.wait(deadline).await
    }

    /// Asks the server for something that it has besides tools. What was broken off is asked again
    /// where the server is still there: it reads and nothing else.
    ///
    /// A dropped future takes the request back as far as that is possible.
    pub async fn read(
        &self,
        request: &ReadRequest<'_>,
        origin: Origin<'_>,
        deadline: impl Into<Instant>,
    ) -> Result<Json, CallError> {
        let deadline = deadline.into();
        // It takes a place among the calls, so that an idle server is not stopped over it.
        let _slot = self.call_slot(deadline).await?;
        let answer = self.read_connected(request, origin, deadline).await;
        let answer = answer.map_err(|error| error.masked(&self.0.shared.mask))?;
        if answer.is_object() {
            return Ok(answer);
        }
        Err(CallError::malformed("the result is not an object"))
    }

    /// Has the server tell when a resource changes.
    pub async fn subscribe(
        &self,
        uri: &str,
        deadline: impl Into<Instant>,
    ) -> Result<Subscription, CallError> {
        let shared = &self.0.shared;
        let deadline = deadline.into();
        shared.touch();
        let stock = self.connected_stock(deadline).await?;
        if !stock.capabilities.has_subscriptions {
            let message = "The server does not tell of changes of its resources";
            return Err(CallError::Rpc(RpcError::new(METHOD_NOT_FOUND, message)));
        }
        let mut subscription = Watched::watch(&shared.board, uri)?;
        subscription.granted(deadline).await?;
        Ok(subscription)
    }

    /// What a server that is there declared; its lists may still be on their way.
    async fn connected_stock(&self, deadline: Instant) -> Result<Stock, CallError> {
        let board = &self.0.shared.board;
        board.wait(Need::ConnectionAfter(0), deadline).await?;
        let started = Instant::now();
        let declared = timeout_at(deadline, board.shelf.declared()).await;
        declared.map_err(|_| CallError::Timeout {
            after: started.elapsed(),
            sent: false,
        })?;
        Ok(board.shelf.stock())
    }

    async fn read_connected(
        &self,
        request: &ReadRequest<'_>,
        origin: Origin<'_>,
        deadline: Instant,
    ) -> Answer {
        let board = &self.0.shared.board;
        let live: Live = board.wait(Need::ConnectionAfter(0), deadline).await?;
        let connection = match ask(&live.connection, request, origin, deadline).await {
            Err(CallError::Disconnected { sent: true, .. })
                if live.connection.outlives_a_call() =>
            {
                live.connection
            }
            Err(CallError::Disconnected { sent: false, .. }) => {
                let next = Need::ConnectionAfter(live.number);
                board.wait(next, deadline).await?.connection
            }
            answer => return answer,
        };
        ask(&connection, request, origin, deadline).await
    }
}

async fn ask(
    connection: &Connection,
    request: &ReadRequest<'_>,
    origin: Origin<'_>,
    deadline: Instant,
) -> Answer {
    let params = request.params();
    let params = json::on_one_line(&params);
    let Some(name) = request.named() else {
        return connection
            .request(request.method(), &params, deadline)
            .await;
    };
    let errand = Errand {
        method: request.method(),
        params: &params,
        name,
        arguments: "{}",
    };
    connection.run(&errand, origin, deadline).await
}
