//! A whole gateway in the process of a fuzz target, with the sample server behind it. Nothing it could be asked starts
//! a program or leaves its folder.

use std::path::PathBuf;
use std::sync::Arc;

use mcpproxy_gateway::settings::{self, Environment, Secret, Sources};
use mcpproxy_gateway::{Gateway, GatewayOptions, LogRole};
use mcpproxy_server::App;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// Records are small and few, so that a long run fills no disk, and no call waits for the disk.
const CONFIGURATION: &str =
    r#"{"activity":{"max_records":1000,"max_payload_bytes":1024,"durability":"balanced"}}"#;

/// The key of administrators.
pub const API_KEY: &str = "fuzz-key";

/// A gateway, and what drives it.
pub struct Scene {
    /// Drives all of it, on the thread that calls.
    pub runtime: Runtime,
    /// The gateway.
    pub gateway: Arc<Gateway>,
    /// Its HTTP faces.
    pub app: Arc<App>,
}

impl Scene {
    /// Starts a gateway, whose state is in a folder of this name.
    pub fn start(name: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("the system has a runtime");
        let sources = Sources {
            data_dir: Some(empty_folder(name)),
            demo: true,
            environment: Environment::default(),
            ..Sources::default()
        };
        let settings = settings::load(&sources).expect("the configuration is right");
        let options = GatewayOptions {
            role: LogRole::Daemon,
            built_ins: mcpproxy_builtin::services(true).expect("the sample is built in"),
            ..GatewayOptions::default()
        };
        let gateway = {
            let _entered = runtime.enter();
            Gateway::start(settings, options).expect("the folder is new")
        };
        let app = App::new(
            Arc::clone(&gateway),
            Secret::new(API_KEY),
            "127.0.0.1:1".parse().expect("an address"),
            CancellationToken::new(),
        );
        Self {
            runtime,
            gateway,
            app,
        }
    }
}

/// A folder of its own for each target. Nothing tells a target that it ends, so the next run clears it.
fn empty_folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("mcpproxy-fuzz-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    std::fs::write(folder.join("mcp_config.json"), CONFIGURATION).expect("the folder is there");
    folder
}
