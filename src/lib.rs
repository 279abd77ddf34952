//! What an LLM agent loop costs and how long it takes, measured deterministically and for free.
//!
//! A scripted model plays a scenario, counts tokens with the real `o200k_base` encoding, and is
//! run by the same loop that would run a paid one. A test of your own can hold what your agent's
//! loop costs, without a network and without the command line's dependencies
//! (`default-features = false`):
//!
//! ```
//! use loopmeter::run::{Status, Trial};
//! use loopmeter::scenario::Scenario;
//! use loopmeter::tools::{Access, FnTool};
//!
//! let scenario = Scenario::from_toml("weather.toml", r#"
//!     title = "Looks twice, then answers."
//!     [[step]]
//!     turn = 0
//!     calls = [{ id = "c1", tool = "weather", arguments = { city = "Oslo" } }]
//!     [[step]]
//!     turn = 1
//!     calls = [{ id = "c2", tool = "weather", arguments = { city = "Rome" } }]
//!     [[step]]
//!     say = "Rome is warmer."
//! "#)?;
//! let parameters = serde_json::json!({
//!     "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"],
//! });
//! let weather = FnTool::new(("weather", "The weather in a city."), parameters,
//!     Access::ReadOnly, |arguments| Ok(format!("{}: mild", arguments["city"])));
//!
//! let run = Trial::of(scenario).tool(weather)?.max_turns(5).run()?;
//! assert_eq!(run.status, Status::Completed);
//! assert_eq!((run.turns, run.tool_runs), (3, 2));
//! assert_eq!(run.usage.prompt_tokens, 447);
//! assert_eq!(run.cost.to_string(), "0.001614");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The modules, bottom first; each imports only earlier ones: [`money`], [`clock`], [`message`],
//! [`event`], [`files`], [`document`], [`world`] → [`tokens`], [`pricing`], [`scenario`],
//! [`tools`] → [`provider`] → [`run`] → [`trace`], [`store`] → the
//! laboratory (feature `cli`): `record` → `results` → `latency` → `whatif` → `experiment` → `lab` → `report`
//! → `cli`.

pub mod clock;
pub mod document;
pub mod event;
pub mod files;
pub mod letters;
#[cfg(any(feature = "cli", feature = "client"))]
pub(crate) mod loopback;
pub mod message;
pub mod money;
pub mod pricing;
pub mod provider;
pub mod run;
pub mod scenario;
pub mod store;
pub mod tokens;
pub mod tools;
pub mod trace;
pub mod world;

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cli")]
pub mod experiment;
#[cfg(feature = "cli")]
pub mod lab;
#[cfg(feature = "cli")]
pub mod latency;
#[cfg(feature = "cli")]
pub mod meter;
#[cfg(feature = "cli")]
pub mod probe;
#[cfg(feature = "cli")]
pub mod record;
#[cfg(feature = "cli")]
pub mod report;
#[cfg(feature = "cli")]
pub mod results;
#[cfg(feature = "cli")]
pub mod server;
#[cfg(feature = "cli")]
pub mod whatif;
