//! Who comes in with which token.

use hyper::StatusCode;
use mcpproxy_contract::Grants;
use mcpproxy_contract_serve::{Http, ServiceCaller, TokenRefusal};
use serde_json::json;

use crate::support::{Server, call, send, within};

/// Ann reads; one token breaks the authorizer, and one it cannot decide on.
fn with_tokens(http: Http) -> Http {
    http.authorize(async |token: String| match token.as_str() {
        "token-of-ann" => Ok(ServiceCaller {
            user_id: Some("ann".to_owned()),
            grants: Grants::only(["cards:read"]),
        }),
        "token-of-doubt" => Err(TokenRefusal::Unavailable),
        "token-of-doom" => panic!("a secret of the authorizer"),
        _ => Err(TokenRefusal::Invalid),
    })
}

#[tokio::test]
async fn a_token_says_who_calls_and_what_they_may_do() {
    let server = Server::start_on("0.0.0.0:0", with_tokens).await;
    // Beyond this machine the server has names that nobody told it.
    let headers = [
        ("authorization", "Bearer token-of-ann"),
        ("host", "cards.example"),
    ];
    let reply = server
        .post(&headers, &call(&json!(1), "show-context", &json!({})))
        .await;
    assert_eq!(reply.structured()["data"]["user"], "ann");
    let card = json!({ "card": "one" });
    let reply = server
        .post(&headers, &call(&json!(1), "get-card", &card))
        .await;
    assert_eq!(reply.structured()["data"]["front"], "one");
    let reply = server
        .post(&headers, &call(&json!(1), "delete-card", &card))
        .await;
    assert_eq!(reply.structured()["error"]["code"], "FORBIDDEN");
}

#[tokio::test]
async fn who_has_no_valid_token_is_turned_away() {
    let server = Server::start(with_tokens).await;
    let message = call(&json!(1), "show-context", &json!({}));
    for (sent, status, challenge) in [
        (None, 401, Some("Bearer")),
        (
            Some("Bearer token-of-eve"),
            401,
            Some("Bearer error=\"invalid_token\""),
        ),
        (Some("Bearer "), 401, Some("Bearer error=\"invalid_token\"")),
        (
            Some("Basic token-of-ann"),
            401,
            Some("Bearer error=\"invalid_token\""),
        ),
        (
            Some("token-of-ann"),
            401,
            Some("Bearer error=\"invalid_token\""),
        ),
        (Some("Bearer token-of-doubt"), 503, None),
        (Some("Bearer token-of-doom"), 503, None),
        (Some("bearer token-of-ann"), 200, None),
    ] {
        let headers: Vec<_> = sent.iter().map(|sent| ("authorization", *sent)).collect();
        let reply = server.post(&headers, &message).await;
        assert_eq!(reply.status.as_u16(), status, "{sent:?}");
        let given = reply.headers.get("www-authenticate");
        assert_eq!(
            given.map(|given| given.to_str().expect("text")),
            challenge,
            "{sent:?}"
        );
        assert!(!reply.text.contains("token-of"), "{}", reply.text);
    }
    let twice = [
        ("authorization", "Bearer token-of-ann"),
        ("authorization", "Bearer token-of-eve"),
    ];
    assert_eq!(
        server.post(&twice, &message).await.status,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn a_credential_that_nobody_can_check_is_refused_not_ignored() {
    let server = Server::start(|http| http).await;
    let message = call(&json!(1), "show-context", &json!({}));
    let headers = [("authorization", "Bearer token-of-ann")];
    let reply = server.post(&headers, &message).await;
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
    assert_eq!(
        reply.header("www-authenticate"),
        "Bearer error=\"invalid_token\""
    );
    assert_eq!(server.post(&[], &message).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_token_reads_metrics_and_cannot_name_another_user() {
    let server = Server::start(with_tokens).await;
    let ask = async |headers: &[(&str, &str)]| {
        let asked = send(server.address, "GET", "/metrics", headers, String::new());
        within(asked).await.status
    };
    assert_eq!(ask(&[]).await, StatusCode::UNAUTHORIZED);
    let headers = [("authorization", "Bearer token-of-eve")];
    assert_eq!(ask(&headers).await, StatusCode::UNAUTHORIZED);
    let headers = [("authorization", "Bearer token-of-ann")];
    assert_eq!(ask(&headers).await, StatusCode::OK);

    let mut message = call(&json!(1), "show-context", &json!({}));
    message["params"]["_meta"] = json!({ "dev.mcpproxy/userId": "bob" });
    let reply = server.post(&headers, &message).await;
    assert_eq!(reply.structured()["data"]["user"], "ann");
}
