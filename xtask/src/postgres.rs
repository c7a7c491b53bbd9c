//! A PostgreSQL that lives as long as one run of the tests.
//!
//! Each run makes a cluster of its own, listens on a free port of the loopback address with a random password, and
//! leaves nothing behind. A run that was killed cannot clean up; the next one finds what it left (`leftovers`). This
//! never touches a cluster that somebody else made.

mod account;
mod leftovers;
mod programs;

use std::fs::{self, File};
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use self::account::Account;
pub(crate) use self::programs::Programs;
use crate::place::Place;
use crate::{lock, process, setup};

/// Names the database server to the tests.
pub(crate) const VARIABLE: &str = "MCPPROXY_POSTGRES";

/// The database superuser of the cluster.
const USER: &str = "mcpproxy";

/// What the server is told besides its port. The log's promise rests on `fsync`, so it is said and not left to a
/// default; the rest keeps the server small and away from everybody else.
const SETTINGS: &[&str] = &[
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "fsync=on",
    "synchronous_commit=on",
    "max_connections=100",
    "shared_buffers=16MB",
    "ssl=on",
];

/// Certificate that the server shows, for the name `localhost` and not for its address. It is no authority, so that it
/// can be believed as it is.
const CERTIFICATE: &[&str] = &[
    "req",
    "-x509",
    "-nodes",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-days",
    "2",
    "-subj",
    "/CN=localhost",
    "-addext",
    "subjectAltName=DNS:localhost",
    "-addext",
    "basicConstraints=critical,CA:FALSE",
];

/// How long the server may take to start: a second is usual, the rest is for a busy machine.
const START_DEADLINE: Duration = Duration::from_mins(1);

/// How often a starting server is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Another program may take the free port before the server does; that it happens this often is no accident.
const START_ATTEMPTS: u32 = 5;

/// `cargo xtask postgres -- COMMAND…`.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let words = words.strip_prefix(&["--"]).unwrap_or(words);
    let [program, arguments @ ..] = words else {
        bail!("`postgres` needs a command to run, as in `cargo xtask postgres -- cargo test`");
    };
    let place = Place::find()?;
    if Programs::find().is_none() {
        setup::install_system_programs(&place)?;
    }
    let postgres = Postgres::start(&place)?;
    let mut command = Command::new(program);
    command.args(arguments).env(VARIABLE, postgres.url());
    process::run(&mut command)
}

/// A running server; stopped and removed when dropped.
pub(crate) struct Postgres {
    url: String,
    process: Child,
    cluster: Cluster,
}

/// The files of one server.
struct Cluster {
    programs: Programs,
    account: Account,
    folder: PathBuf,
    /// Tells other runs that this cluster is in use, for as long as this process lives.
    _lock: File,
}

impl Postgres {
    /// Makes a cluster and starts it; it answers when this returns.
    pub(crate) fn start(place: &Place) -> Result<Self> {
        let password = random_word()?;
        let cluster = Cluster::create(place, &password)?;
        for attempt in 1.. {
            let port = free_port()?;
            let mut process = cluster.spawn(port)?;
            match cluster.wait_until_ready(&mut process) {
                Ok(()) => {
                    println!("PostgreSQL is at 127.0.0.1:{port}");
                    let url = format!("postgres://{USER}:{password}@127.0.0.1:{port}/postgres");
                    return Ok(Self {
                        url,
                        process,
                        cluster,
                    });
                }
                Err(error) => {
                    cluster.stop(&mut process);
                    if attempt == START_ATTEMPTS {
                        let log = cluster.log();
                        return Err(error.context(format!("PostgreSQL does not start: {log}")));
                    }
                }
            }
        }
        unreachable!("the last attempt returns")
    }

    /// Where it answers, with the password.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.cluster.stop(&mut self.process);
    }
}

impl Cluster {
    fn create(place: &Place, password: &str) -> Result<Self> {
        let programs = Programs::find().context(
            "PostgreSQL 13 or newer is missing. Run `cargo xtask setup`, then the command again",
        )?;
        let account = Account::choose()?;
        let base = account.base_folder(&place.postgres)?;
        // Held until the end of this function: a folder whose lock is not taken yet would look like a leftover.
        let _others = lock::wait(&base.join("lock"), leftovers::LOCK_DEADLINE)?;
        leftovers::remove(&base, &programs, &account);
        let folder = base.join(format!("run-{}", random_word()?));
        let lock = lock::take(&folder.with_extension("lock"))?
            .context("the folder of this run is in use by another")?;
        account.create_folder(&folder)?;
        let cluster = Self {
            programs,
            account,
            folder,
            _lock: lock,
        };
        cluster.initialize(password)?;
        Ok(cluster)
    }

    fn initialize(&self, password: &str) -> Result<()> {
        let file = self.folder.join("password");
        fs::write(&file, password).with_context(|| format!("cannot write {}", file.display()))?;
        self.account.give(&file)?;
        let mut initdb = self.command(&self.programs.initdb());
        // The cluster is thrown away, so only what is written later has to survive a crash.
        initdb
            .args(["--no-sync", "--encoding=UTF8", "--locale=C"])
            .args(["--auth=scram-sha-256", "--username", USER])
            .arg(format!("--pwfile={}", file.display()))
            .arg("--pgdata")
            .arg(self.data());
        let log = File::create(self.folder.join("log"))?;
        initdb.stdout(log.try_clone()?).stderr(log);
        process::run(&mut initdb)
            .with_context(|| format!("a PostgreSQL cluster cannot be made: {}", self.log()))?;
        self.create_certificate()
    }

    /// Makes the certificate and its key, under the names that the server looks for.
    fn create_certificate(&self) -> Result<()> {
        let mut openssl = self.command(Path::new("openssl"));
        openssl
            .args(CERTIFICATE)
            .arg("-keyout")
            .arg(self.data().join("server.key"))
            .arg("-out")
            .arg(self.data().join("server.crt"));
        let log = File::create(self.folder.join("log"))?;
        openssl.stdout(log.try_clone()?).stderr(log);
        process::run(&mut openssl)
            .with_context(|| format!("a certificate cannot be made: {}", self.log()))
    }

    fn spawn(&self, port: u16) -> Result<Child> {
        let mut command = self.command_that_dies_with_us(&self.programs.postgres());
        command
            .arg("-D")
            .arg(self.data())
            .args(["-p", &port.to_string()]);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        let log = File::create(self.folder.join("log"))?;
        command.stdout(log.try_clone()?).stderr(log);
        command.spawn().context("PostgreSQL cannot be started")
    }

    /// The server says in its own file when it takes connections, and that file names the process: whoever else
    /// answers on that port is not mistaken for it.
    fn wait_until_ready(&self, process: &mut Child) -> Result<()> {
        let started = Instant::now();
        while !leftovers::Postmaster::read(&self.data())
            .is_some_and(|found| found.is_ready && found.pid == process.id())
        {
            if let Some(status) = process.try_wait()? {
                bail!("it ended ({status})");
            }
            if started.elapsed() > START_DEADLINE {
                bail!(
                    "it takes no connections after {} s",
                    START_DEADLINE.as_secs()
                );
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    fn stop(&self, process: &mut Child) {
        if matches!(process.try_wait(), Ok(None)) {
            leftovers::stop(&self.data(), &self.programs, &self.account);
        }
        // For a server that its own program could not stop; it fails for one that has ended.
        let _ = process.kill();
        let _ = process.wait();
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn command(&self, program: &Path) -> Command {
        self.account.command(program, &self.folder)
    }

    /// With the help of `setpriv` where it can do that; else the next run stops what a killed one left.
    fn command_that_dies_with_us(&self, program: &Path) -> Command {
        const WORDS: [&str; 3] = ["--pdeathsig", "QUIT", "--"];
        let setpriv = Path::new("setpriv");
        if !process::succeeds(self.command(setpriv).args(WORDS).arg("true")) {
            return self.command(program);
        }
        let mut command = self.command(setpriv);
        command.args(WORDS).arg(program);
        command
    }

    /// The end of what the programs said, in one line.
    fn log(&self) -> String {
        let text = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(5)..].join(" | ")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        leftovers::remove_files(&self.folder);
    }
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free")?;
    Ok(listener.local_addr()?.port())
}

fn random_word() -> Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .context("cannot read /dev/urandom")?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}
