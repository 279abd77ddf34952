//! Runs somebody's command against a scripted endpoint.

use std::ffi::OsString;
use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::group::Group;
use super::tail::{Echo, Growing, Tail};
use super::variables::{Variable, variables};
use crate::clock::{Clock, RealClock, Signal};
use crate::server::{Config, Exchange, Log, Server};

/// What to start, and within which bounds.
#[derive(Clone)]
pub struct Launch {
    /// The program: a path, or a name that is looked for where the system looks.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Variables on top of [`variables`], which win over those, and over what is inherited.
    pub environment: Vec<Variable>,
    /// Where it is started; none for where we are.
    pub folder: Option<PathBuf>,
    /// The run's id, part of the endpoint's path: letters, digits, `-`, `_`, `.` and `~`.
    pub run: String,
    /// The model's name, as the command is told it.
    pub model: String,
    /// What it reads.
    pub input: Input,
    /// How far it may go.
    pub bounds: Bounds,
    /// Where what it prints is shown, on either stream.
    pub echo: Option<Echo>,
}

/// What a command reads on its standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Nothing.
    Nothing,
    /// What we would read. Not for a terminal: a group in the background that reads from one is
    /// stopped.
    Inherited,
}

/// How far a command may go before it is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// For how long it may run.
    pub time: Duration,
    /// How many requests it may make.
    pub requests: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(120),
            requests: 1_000,
        }
    }
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// Of itself, with this code.
    Exited(i32),
    /// By a signal that we did not send; its number, where the system has one.
    Signalled(Option<i32>),
    /// It was ended when its time was up.
    TimedOut,
    /// It was ended when it had made all the requests that it may.
    TooManyRequests,
    /// It was ended because we were told to stop; why.
    Stopped(String),
}

/// A command that was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// How it ended.
    pub end: CommandEnd,
    /// When it was started, since the endpoint was.
    pub started: Duration,
    /// When it had ended.
    pub ended: Duration,
    /// The end of what it printed to standard output.
    pub stdout: Tail,
    /// The end of what it printed to standard error.
    pub stderr: Tail,
}

impl Ran {
    /// How long it ran.
    #[must_use]
    pub const fn wall(&self) -> Duration {
        self.ended.saturating_sub(self.started)
    }
}

/// A command that was run, and what the endpoint saw of it.
#[derive(Clone, Debug)]
pub struct Metered {
    /// The command's side.
    pub ran: Ran,
    /// The endpoint's side: the exchanges in the order in which they ended.
    pub exchanges: Vec<Arc<Exchange>>,
    /// How many more exchanges there were, before these, that were not kept.
    pub forgotten: u64,
}

/// Why a command could not be run.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// No port for the endpoint.
    #[error("no port of this machine can be listened on: {0}")]
    Listen(io::Error),
    /// The command did not start.
    #[error("`{program}` cannot be started: {source}; is it installed, and is its path right?")]
    Start {
        /// What was to be started.
        program: String,
        /// Why not.
        source: io::Error,
    },
    /// The command was started and lost.
    #[error("`{program}` was started, and how it ended cannot be told: {source}")]
    Lost {
        /// What was started.
        program: String,
        /// Why.
        source: io::Error,
    },
}

/// How long the last of what was printed may take to arrive.
const TO_READ: Duration = Duration::from_secs(1);
/// How many times as long it may take where it is shown to somebody who reads slowly.
const MOST_READS: usize = 10;

/// Serves `config` on a free port of this machine, runs the command against it and returns when
/// the command has ended, of itself or by a bound or by `stop`; all that it started is ended then.
/// Needs a tokio runtime with I/O and time.
///
/// # Errors
/// [`LaunchError`] where the command could not be run at all.
pub async fn run(launch: &Launch, config: Config, stop: &Signal) -> Result<Metered, LaunchError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .map_err(LaunchError::Listen)?;
    let endpoint = listener.local_addr().map_err(LaunchError::Listen)?;
    // The tokenizer is made ready first, so that the command's start does not pay for it.
    let _ = crate::tokens::count("");
    let server = Server::new(config);
    let clock = RealClock::starting_at(Duration::ZERO);
    let log = server.log();
    let command = command(launch, variables(endpoint, &launch.run, &launch.model));
    let (over, when_over) = oneshot::channel::<()>();
    let serving = server.serve(listener, async {
        let _ = when_over.await;
    });
    let watch = Watch {
        log: &log,
        clock: &clock,
        stop,
    };
    let running = async {
        let ran = watch.attend(launch, command).await;
        // The server is there for as long as the command, so it hears this.
        let _ = over.send(());
        ran
    };
    let (ran, ()) = tokio::join!(running, serving);
    Ok(Metered {
        ran: ran?,
        exchanges: log.snapshot(),
        forgotten: log.forgotten(),
    })
}

fn command(launch: &Launch, usual: Vec<Variable>) -> Command {
    let mut command = Command::new(&launch.program);
    command
        .args(&launch.arguments)
        .envs(usual)
        .envs(launch.environment.iter().cloned())
        .stdin(match launch.input {
            Input::Nothing => Stdio::null(),
            Input::Inherited => Stdio::inherit(),
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(folder) = &launch.folder {
        command.current_dir(folder);
    }
    command
}

/// What the one who waits for a command looks at.
struct Watch<'a> {
    log: &'a Log,
    clock: &'a RealClock,
    stop: &'a Signal,
}

impl Watch<'_> {
    /// Starts the command, and sees to it until nothing is left of it.
    async fn attend(self, launch: &Launch, mut command: Command) -> Result<Ran, LaunchError> {
        let program = || launch.program.to_string_lossy().into_owned();
        let fully_asked = asked_too_often(self.log, launch.bounds.requests);
        let started = self.clock.now();
        let mut group = Group::start(&mut command).map_err(|source| LaunchError::Start {
            program: program(),
            source,
        })?;
        let (stdout, stderr) = (Growing::default(), Growing::default());
        let mut reading = JoinSet::new();
        let (out, err) = (group.child().stdout.take(), group.child().stderr.take());
        reading.spawn(stdout.clone().follow(out, launch.echo.clone()));
        reading.spawn(stderr.clone().follow(err, launch.echo.clone()));
        let end = self.end(&mut group, launch.bounds.time, fully_asked).await;
        let ended = self.clock.now();
        match end {
            Ok(CommandEnd::Exited(_) | CommandEnd::Signalled(_)) => group.clear(self.clock).await,
            Ok(_) | Err(_) => group.end().await,
        }
        let all_read = async { while reading.join_next().await.is_some() {} };
        let so_far = || stdout.bytes().saturating_add(stderr.bytes());
        read_out(all_read, so_far, launch.echo.as_ref()).await;
        Ok(Ran {
            end: end.map_err(|source| LaunchError::Lost {
                program: program(),
                source,
            })?,
            started,
            ended,
            stdout: stdout.take(),
            stderr: stderr.take(),
        })
    }

    /// Waits for the first of what can end the command.
    async fn end(
        &self,
        group: &mut Group,
        time: Duration,
        fully_asked: impl Future<Output = ()>,
    ) -> io::Result<CommandEnd> {
        let not_pressed = Signal::new();
        Ok(tokio::select! {
            status = group.wait() => of_status(status?),
            _ = self.clock.sleep(time, &not_pressed) => CommandEnd::TimedOut,
            () = fully_asked => CommandEnd::TooManyRequests,
            stopped = self.stop.pressed() => CommandEnd::Stopped(stopped.reason),
        })
    }
}

/// Waits for the last of what was printed: not for who holds a pipe open from outside of the
/// group, nor where nobody reads what is shown, but for who reads it slowly.
async fn read_out(
    all_read: impl Future<Output = ()>,
    so_far: impl Fn() -> u64,
    echo: Option<&Echo>,
) {
    let mut all_read = pin!(all_read);
    for _ in 0..MOST_READS {
        let before = so_far();
        let is_read = timeout(TO_READ, &mut all_read).await.is_ok();
        let is_shown_slowly = echo.is_some_and(Echo::is_busy) && so_far() > before;
        if is_read || !is_shown_slowly {
            return;
        }
    }
}

/// Resolves when the endpoint has seen this many requests.
fn asked_too_often(log: &Log, most: u64) -> impl Future<Output = ()> + use<> {
    let mut news = log.subscribe();
    async move {
        let mut seen = 0_u64;
        while seen < most {
            match news.recv().await {
                Ok(_) => seen += 1,
                Err(RecvError::Lagged(missed)) => seen = seen.saturating_add(missed),
                // The log lives as long as the server: there is nothing more to count.
                Err(RecvError::Closed) => std::future::pending().await,
            }
        }
    }
}

#[cfg(unix)]
fn of_status(status: ExitStatus) -> CommandEnd {
    use std::os::unix::process::ExitStatusExt;
    match status.code() {
        Some(code) => CommandEnd::Exited(code),
        None => CommandEnd::Signalled(status.signal()),
    }
}

#[cfg(not(unix))]
fn of_status(status: ExitStatus) -> CommandEnd {
    match status.code() {
        Some(code) => CommandEnd::Exited(code),
        None => CommandEnd::Signalled(None),
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
