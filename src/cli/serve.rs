//! `loopmeter serve`: the scripted model as an OpenAI-compatible endpoint.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::net::TcpListener;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::environment;
use super::exit::{Exit, Failure};
use super::output;
use super::signals::interrupted;
use crate::meter::script;
use crate::scenario::{Fault, Pace, ScenarioError};
use crate::server::{Config, Exchange, Key, Library, Limits, Server, TurnIndex};

/// `loopmeter serve`.
#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// Where to listen; port 0 takes a free one, which is printed
    #[arg(long, default_value = "127.0.0.1:8787", value_name = "HOST:PORT")]
    addr: SocketAddr,
    /// Play this scenario whatever the model is called; without it, `scripted/NAME` plays NAME
    #[arg(long, value_name = "NAME|FILE")]
    scenario: Option<String>,
    /// How long replies take, such as `ttft=200ms,per_token=10ms`; a scenario's own is replaced
    #[arg(long, value_name = "SPEC")]
    latency: Option<Pace>,
    /// How the endpoint fails, such as `turn=1,first=2,kind=429,retry_after=3`; may be repeated
    #[arg(long, value_name = "SPEC")]
    fault: Vec<Fault>,
    /// How to tell which turn a request is for
    #[arg(long, value_enum, default_value = "conversation")]
    turn_index: TurnIndex,
    /// Seed of the arguments that the `any-*` scenarios make up
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The key that clients must send, of 16 characters or more unless on loopback [default: the variable `LOOPMETER_TOKEN`, or any]
    #[arg(long, value_name = "KEY")]
    token: Option<String>,
    /// Write a line for every exchange to standard error
    #[arg(long, short)]
    verbose: bool,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  loopmeter serve                                # every scenario, as the models scripted/NAME
  loopmeter serve --scenario recover             # one scenario, whatever the model is called
  loopmeter serve --addr 127.0.0.1:0 --latency 'ttft=log_normal(800ms,0.5),per_token=10ms,seed=7'
  loopmeter serve --fault 'turn=1,first=2,kind=429,retry_after_ms=50' --fault kind=500,turn=3

A fault is `kind=`, one of 401, 404, 408, 409, 429, 500, 503, not_json, stall, cut, reset and
empty_choices, for every turn or for `turn=` (from 0), for every attempt or for the `first=` ones.
A status can ask for a wait by `retry_after=` (seconds), `retry_after_ms=` or `retry_after_date=`
(seconds from now, sent as a date). Attempts are told by their body: clients that send the same
body to /v1 are counted together, and apart where each has a path /runs/ID/v1 of its own.
One request can have its own, in the headers x-loopmeter-fault and x-loopmeter-latency.

Without a token, only this machine is answered: a request has to name localhost, a name that ends in
.localhost, a loopback address, or host.docker.internal or host.containers.internal, by which
containers know it; others, and web pages from elsewhere, get 403. With one, any host will do.

Stop it with Ctrl-C.";

/// Serves until a signal ends it.
pub(super) fn run(args: &ServeArgs) -> Result<Exit, Failure> {
    let key = key(args)?;
    let config = Config {
        library: library(args.scenario.as_deref())?,
        turn_index: args.turn_index,
        pace: args.latency.clone(),
        faults: args.fault.clone(),
        seed: args.seed,
        key,
        // Its exchanges are told as they end, if at all: nobody looks at them afterwards.
        limits: Limits {
            exchanges: 0,
            ..Limits::default()
        },
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::could_not_do(&error))?;
    runtime.block_on(serve(args, config))
}

async fn serve(args: &ServeArgs, config: Config) -> Result<Exit, Failure> {
    let addr = args.addr;
    let no_listener = |error| {
        Failure::CouldNotDo(format!(
            "cannot listen on {addr}: {error}; try another port"
        ))
    };
    let listener = TcpListener::bind(addr).await.map_err(no_listener)?;
    let addr = listener.local_addr().map_err(no_listener)?;
    let greeting = greeting(addr, &config);
    let server = Server::new(config);
    let telling = args.verbose.then(|| Telling::of(server.log().subscribe()));
    output::line(greeting)?;
    server
        .serve(listener, async {
            interrupted().await;
        })
        .await;
    // The server and its log are gone, so that this ends with the last line.
    if let Some(telling) = telling {
        telling.end().await;
    }
    Ok(Exit::Stopped)
}

/// One scenario, or all of them.
fn library(reference: Option<&str>) -> Result<Library, ScenarioError> {
    reference.map_or_else(
        || Ok(Library::default()),
        |reference| Ok(Library::Only(script(reference, Path::new("experiments"))?)),
    )
}

/// Where the server is, and how an agent is pointed at it.
fn greeting(addr: SocketAddr, config: &Config) -> String {
    let key = match &config.key {
        Some(_) => "the token",
        None => "any text",
    };
    let model = match &config.library {
        Library::Only(script) => format!("any name    # plays {}", script.name()),
        Library::ByModel(_) => {
            format!("scripted/plan    # or another of http://{addr}/v1/models")
        }
    };
    format!(
        "listening on http://{addr}\n\
         \x20 OPENAI_BASE_URL=http://{addr}/v1    # /runs/ID/v1 tells runs apart\n\
         \x20 OPENAI_API_KEY={key}\n\
         \x20 model: {model}"
    )
}

/// The lines of the exchanges, written on a thread of its own: where nobody reads them, nothing
/// waits but that.
struct Telling {
    last: oneshot::Receiver<()>,
}

/// How long the last lines may take when everything else is over.
const LAST_LINES: Duration = Duration::from_secs(1);

impl Telling {
    fn of(news: Receiver<Arc<Exchange>>) -> Self {
        let (done, last) = oneshot::channel();
        std::thread::spawn(move || {
            tell(news);
            // Nobody waits any more where it took too long.
            let _ = done.send(());
        });
        Self { last }
    }

    /// Waits for the last line, but not for a reader that does not come.
    async fn end(self) {
        let _ = timeout(LAST_LINES, self.last).await;
    }
}

/// Writes a line for every exchange, until there can be no more of them.
fn tell(mut news: Receiver<Arc<Exchange>>) {
    loop {
        match news.blocking_recv() {
            Ok(exchange) => output::note(output::one_line(&exchange.to_string())),
            Err(RecvError::Lagged(missed)) => {
                output::note(format_args!("… {missed} exchanges not shown"));
            }
            Err(RecvError::Closed) => return,
        }
    }
}

/// A token that other machines can try has this many characters at least.
const LEAST_LETTERS: usize = 16;

/// The key that was given, on the command line or else in the environment. What is wrong with it
/// is told without repeating it.
fn key(args: &ServeArgs) -> Result<Option<Key>, Failure> {
    let (name, token) = match &args.token {
        Some(token) => ("--token", Some(token.clone())),
        None => (environment::TOKEN, environment::read(environment::TOKEN)?),
    };
    let addr = args.addr;
    let is_reached = !addr.ip().is_loopback();
    let Some(token) = token else {
        if is_reached {
            return Err(Failure::WrongInput(format!(
                "{addr} can be reached from other machines: give a key with --token or in the \
                 variable {name}, or listen on 127.0.0.1"
            )));
        }
        return Ok(None);
    };
    let key = Key::new(&token).map_err(|error| Failure::WrongInput(format!("{name}: {error}")))?;
    if is_reached && token.len() < LEAST_LETTERS {
        return Err(Failure::WrongInput(format!(
            "{name}: {addr} can be reached from other machines, and a token of fewer than \
             {LEAST_LETTERS} characters can be guessed: make one with `openssl rand -hex 16`, for one"
        )));
    }
    Ok(Some(key))
}
