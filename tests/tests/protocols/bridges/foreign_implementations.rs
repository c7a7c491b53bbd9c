//! Several clients of one server, and clients that go away.

use mcpproxy_tests::conversation::Speaks::{self, Session, Stateless};
use mcpproxy_tests::conversation::{Received, text};
use mcpproxy_tests::eventually;
use serde_json::json;

use crate::bridges::cases::{WATCHED, cancellations, check_question, says};
use crate::bridges::scene::{Bridge, ClientDeadline, SERVERS, Scene, ServerWay, Way};

const BOTH: [Speaks; 2] = [Session, Stateless];

#[tokio::test]
async fn a_question_that_could_be_for_either_of_two_clients_is_refused() {
    for (first, second) in pairs() {
        let bridge = Bridge {
            client: first,
            way: Way::Http,
            server: Session,
            server_way: ServerWay::Stdio,
        };
        let case = format!("{bridge}, beside a {second:?} client");
        let scene = Scene::start(bridge, ClientDeadline::Long).await;
        let busy = scene.client("busy").await;
        let asked = scene.client_by(Way::Http, second, "asked").await;
        let mut waiting = busy.call_with_progress("wait", "begun").await;
        assert!(
            matches!(waiting.next().await, Received::Progress(_)),
            "{case}"
        );

        let refused = asked.call("ask_name", &json!({})).await.answer().await;
        assert!(says(&refused, "elicitation/create"), "{case}: {refused}");
        let why = "not all requests are of one client";
        assert!(says(&refused, why), "{case}: {refused}");

        // The other client was asked nothing either: the next that it hears is the end.
        waiting.cancel().await;
        eventually("the call of the other client is over", async || {
            (cancellations(&asked).await == 1).then_some(())
        })
        .await;
        let mut exchange = asked.call("ask_name", &json!({})).await;
        let question = exchange.question().await;
        check_question(&question);
        let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
        exchange.reply(&question, &answer).await;
        assert_eq!(text(&exchange.answer().await), "hello Ada", "{case}");
    }
}

#[tokio::test]
async fn a_question_on_the_stream_of_a_call_goes_to_the_client_of_that_call() {
    for (first, second) in pairs() {
        for (server, server_way) in [
            (Session, ServerWay::Http),
            (Stateless, ServerWay::Http),
            (Stateless, ServerWay::Stdio),
        ] {
            let bridge = Bridge {
                client: first,
                way: Way::Http,
                server,
                server_way,
            };
            let case = format!("{bridge}, beside a {second:?} client");
            let scene = Scene::start(bridge, ClientDeadline::Long).await;
            let busy = scene.client("busy").await;
            let asked = scene.client_by(Way::Http, second, "asked").await;
            let mut waiting = busy.call_with_progress("wait", "begun").await;
            assert!(
                matches!(waiting.next().await, Received::Progress(_)),
                "{case}"
            );

            let mut exchange = asked.call("ask_name", &json!({})).await;
            let question = exchange.question().await;
            check_question(&question);
            let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
            exchange.reply(&question, &answer).await;
            assert_eq!(text(&exchange.answer().await), "hello Ada", "{case}");
            waiting.cancel().await;
        }
    }
}

#[tokio::test]
async fn a_client_that_goes_away_in_the_middle_of_a_call_cancels_it() {
    for client in BOTH {
        for server in BOTH {
            for server_way in SERVERS {
                for way in [Way::Http, Way::Menu, Way::Relay] {
                    let bridge = Bridge {
                        client,
                        way,
                        server,
                        server_way,
                    };
                    check_gone(bridge).await;
                }
            }
        }
    }
}

async fn check_gone(bridge: Bridge) {
    let scene = Scene::start(bridge, ClientDeadline::Long).await;
    let stays = scene.client_by(Way::Http, Session, "stays").await;
    let goes = scene.client("goes").await;
    let mut exchange = goes.call_with_progress("wait", "begun").await;
    let begun = exchange.next().await;
    assert!(
        matches!(begun, Received::Progress(_)),
        "{bridge}: {begun:?}"
    );
    assert_eq!(cancellations(&stays).await, 0, "{bridge}");
    drop(exchange);
    drop(goes);
    eventually(
        &format!("{bridge}: the server hears of the cancellation"),
        async || (cancellations(&stays).await == 1).then_some(()),
    )
    .await;
}

#[tokio::test]
async fn a_client_that_goes_away_before_it_hears_anything_cancels_its_call() {
    for ((client, server), server_way) in pairs().flat_map(|pair| SERVERS.map(|way| (pair, way))) {
        let bridge = Bridge {
            client,
            way: Way::Http,
            server,
            server_way,
        };
        let scene = Scene::start(bridge, ClientDeadline::Long).await;
        let stays = scene.client_by(Way::Http, Session, "stays").await;
        let goes = scene.client("goes").await;
        let what = format!("{bridge}: the call has begun");
        let nothing = json!({});
        tokio::select! {
            _ = goes.call("wait", &nothing) => panic!("{bridge}: something was heard"),
            () = eventually(&what, async || (stays.text("waits").await == "1").then_some(())) => {}
        }
        drop(goes);
        let what = format!("{bridge}: the server hears of the cancellation");
        eventually(&what, async || {
            (cancellations(&stays).await == 1).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_client_that_goes_away_instead_of_answering_is_not_waited_for() {
    for way in [Way::Http, Way::Menu, Way::Relay] {
        for server_way in SERVERS {
            for leaves_by_message in [false, true] {
                let bridge = Bridge {
                    client: Session,
                    way,
                    server: Session,
                    server_way,
                };
                let scene = Scene::start(bridge, ClientDeadline::Long).await;
                let stays = scene.client_by(Way::Http, Session, "stays").await;
                let goes = scene.client("goes").await;
                let mut exchange = goes.call("ask_name", &json!({})).await;
                check_question(&exchange.question().await);
                if leaves_by_message {
                    exchange.cancel().await;
                } else {
                    drop(exchange);
                    drop(goes);
                }
                let what = format!("{bridge}: the server does not wait for the answer");
                eventually(&what, async || {
                    (stays.text("unanswered").await == "1").then_some(())
                })
                .await;
            }
        }
    }
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_gets_an_error_and_no_question() {
    for ((client, server), server_way) in pairs().flat_map(|pair| SERVERS.map(|way| (pair, way))) {
        let bridge = Bridge {
            client,
            way: Way::Http,
            server,
            server_way,
        };
        let scene = Scene::start(bridge, ClientDeadline::Long).await;
        let mute = scene.mute_client().await;
        let refused = mute.call("ask_name", &json!({})).await.answer().await;
        assert!(refused["error"].is_object(), "{bridge}: {refused}");
        let said = refused["error"].to_string();
        assert!(said.contains("elicitation"), "{bridge}: {refused}");
    }
}

#[tokio::test]
async fn a_gateway_of_one_client_that_is_told_to_end_cancels_its_calls() {
    for (client, server) in pairs() {
        let bridge = Bridge {
            client,
            way: Way::Stdio,
            server,
            server_way: ServerWay::Http,
        };
        let scene = Scene::start(bridge, ClientDeadline::Long).await;
        let observer = scene.observer().await;
        let goes = scene.client("goes").await;
        let mut exchange = goes.call_with_progress("wait", "begun").await;
        let begun = exchange.next().await;
        assert!(
            matches!(begun, Received::Progress(_)),
            "{bridge}: {begun:?}"
        );
        drop(exchange);
        goes.terminate().await;
        let what = format!("{bridge}: the server hears of the cancellation");
        eventually(&what, async || {
            (cancellations(&observer).await == 1).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn changes_reach_all_who_listen_until_they_leave() {
    for (server, server_way) in BOTH
        .into_iter()
        .flat_map(|server| SERVERS.map(|way| (server, way)))
    {
        let bridge = Bridge {
            client: Session,
            way: Way::Http,
            server,
            server_way,
        };
        let scene = Scene::start(bridge, ClientDeadline::Long).await;
        let clients = [
            scene.client_by(Way::Http, Session, "one").await,
            scene.client_by(Way::Http, Stateless, "two").await,
            scene.client_by(Way::Menu, Session, "three").await,
            scene.client_by(Way::Menu, Stateless, "four").await,
            scene.client_by(Way::Relay, Session, "five").await,
            scene.client_by(Way::Relay, Stateless, "six").await,
        ];
        let mut all = Vec::new();
        for client in &clients {
            all.push(client.listen(&[WATCHED]).await);
        }
        clients[0].text("add_tool").await;
        for news in &mut all[..2] {
            news.next("notifications/tools/list_changed").await;
        }
        while !all.is_empty() {
            clients[0].text("touch_resource").await;
            for news in &mut all {
                let told = news.next("notifications/resources/updated").await;
                assert_eq!(told["uri"], WATCHED, "{bridge}: {told}");
            }
            // The others are told of the next one without it.
            all.remove(0);
        }
    }
}

fn pairs() -> impl Iterator<Item = (Speaks, Speaks)> {
    BOTH.into_iter()
        .flat_map(|first| BOTH.map(|second| (first, second)))
}
