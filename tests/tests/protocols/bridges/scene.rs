//! A gateway between a client and a server, each of one protocol over one transport.

use std::fmt;

use mcpproxy_tests::conformance::Server;
use mcpproxy_tests::conversation::{Conversation, Door, Speaks};
use mcpproxy_tests::{Home, Product};
use serde_json::json;

use crate::PROGRAMS;

const SERVER_PROGRAM: &str = env!("CARGO_BIN_EXE_conformance-server");

/// The server's name in the configuration.
pub(crate) const NAME: &str = "fixture";

/// How a client comes to the server's tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Over HTTP, at the server's own endpoint.
    Http,
    /// Over HTTP, through the menu.
    Menu,
    /// Over stdio, to a gateway of its own.
    Stdio,
    /// Over stdio, to a gateway that runs already.
    Relay,
}

/// How the gateway comes to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerWay {
    Http,
    Stdio,
}

/// How long a client may take to answer a question.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ClientDeadline {
    /// Longer than any test lasts.
    Long,
    /// Nobody answers in time.
    Short,
}

pub(crate) const WAYS: [Way; 4] = [Way::Http, Way::Menu, Way::Stdio, Way::Relay];

pub(crate) const SERVERS: [ServerWay; 2] = [ServerWay::Http, ServerWay::Stdio];

/// One of all combinations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bridge {
    pub(crate) client: Speaks,
    pub(crate) way: Way,
    pub(crate) server: Speaks,
    pub(crate) server_way: ServerWay,
}

impl fmt::Display for Bridge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            client,
            way,
            server,
            server_way,
        } = self;
        write!(
            formatter,
            "{client:?} client by {way:?}, {server:?} server over {server_way:?}"
        )
    }
}

/// A combination that runs.
pub(crate) struct Scene {
    bridge: Bridge,
    gateway: Gateway,
    server: Option<Server>,
}

enum Gateway {
    Running(Box<Product>),
    /// Each client starts one.
    PerClient(Home),
}

impl Scene {
    pub(crate) async fn start(bridge: Bridge, deadline: ClientDeadline) -> Self {
        let protocol = match bridge.server {
            Speaks::Session => "session",
            Speaks::Stateless => "stateless",
        };
        let server = match bridge.server_way {
            ServerWay::Http => Some(Server::start(SERVER_PROGRAM, protocol).await),
            ServerWay::Stdio => None,
        };
        let mut entry = match &server {
            Some(server) => json!({ "url": server.endpoint() }),
            None => {
                json!({ "command": SERVER_PROGRAM, "args": ["--stdio", "--protocol", protocol] })
            }
        };
        entry["trust"] = json!("auto");
        entry["timeout"] = json!("2m");
        let input_timeout = match deadline {
            ClientDeadline::Long => "10m",
            ClientDeadline::Short => "300ms",
        };
        let config = json!({ "input_timeout": input_timeout, "mcpServers": { NAME: entry } });
        let gateway = if bridge.way == Way::Stdio {
            Gateway::PerClient(Home::new(PROGRAMS, &config))
        } else {
            let product = Product::start(PROGRAMS, &config).await;
            // That the server's tools are there now would be a change that clients are told of.
            product.settle().await;
            Gateway::Running(Box::new(product))
        };
        Self {
            bridge,
            gateway,
            server,
        }
    }

    /// A client of this name.
    pub(crate) async fn client(&self, who: &str) -> Conversation {
        self.client_by(self.bridge.way, self.bridge.client, who)
            .await
    }

    /// A client of this name that comes in another way.
    pub(crate) async fn client_by(&self, way: Way, speaks: Speaks, who: &str) -> Conversation {
        let (door, menu_of) = self.door(way);
        Conversation::open(door, speaks, who, menu_of).await
    }

    /// A client that cannot be asked anything.
    pub(crate) async fn mute_client(&self) -> Conversation {
        let (door, menu_of) = self.door(self.bridge.way);
        Conversation::open_mute(door, self.bridge.client, "mute", menu_of).await
    }

    fn door(&self, way: Way) -> (Door, Option<&'static str>) {
        match (&self.gateway, way) {
            (Gateway::Running(product), Way::Http) => {
                let door = Door::Http(format!("{}/s/{NAME}", product.endpoint()));
                (door, None)
            }
            (Gateway::Running(product), Way::Menu) => (Door::Http(product.endpoint()), Some(NAME)),
            (Gateway::Running(product), Way::Relay) => (stdio(&product.home), Some(NAME)),
            (Gateway::PerClient(home), Way::Stdio) => (stdio(home), Some(NAME)),
            _ => panic!("{} has no way {way:?}", self.bridge),
        }
    }

    /// A client of the server itself, past the gateway.
    pub(crate) async fn observer(&self) -> Conversation {
        let server = self.server.as_ref().expect("it is reached over HTTP");
        let door = Door::Http(server.endpoint().to_owned());
        Conversation::open(door, self.bridge.server, "observer", None).await
    }

    /// Ends the gateway as an operator does.
    pub(crate) async fn stop(&mut self) {
        match &mut self.gateway {
            Gateway::Running(product) => assert_eq!(product.stop().await, 0),
            Gateway::PerClient(_) => panic!("{}: each client has its own", self.bridge),
        }
    }

    /// The gateway, where one runs for all clients.
    pub(crate) fn product(&self) -> &Product {
        match &self.gateway {
            Gateway::Running(product) => product,
            Gateway::PerClient(_) => panic!("{}: each client has its own", self.bridge),
        }
    }
}

fn stdio(home: &Home) -> Door {
    let mut command = home.command();
    command.arg("stdio");
    Door::Stdio(command)
}
