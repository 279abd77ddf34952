//! Who answers a run: chosen from what was typed and from the environment, and made again from
//! the run's record.

use std::path::Path;
use std::sync::Arc;

use clap::{Args, ValueEnum};

use crate::cli::endpoint::{self, unusable};
use crate::cli::environment::{self, BASE_URL, MODEL};
use crate::cli::exit::Failure;
use crate::clock::ClockKind;
use crate::provider::http::HttpProvider;
use crate::provider::wire::Delivery;
use crate::provider::{Latency, Provider, Scripted};
use crate::scenario::Scenario;
use crate::store::Model;

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProviderKind {
    /// A scripted model, in process
    Scripted,
    /// The endpoint that `LLM_BASE_URL` and `LLM_MODEL` name, with the key in `LLM_API_KEY`
    Endpoint,
}

#[derive(Debug, Args)]
pub(super) struct ModelArgs {
    /// A scenario's name (see `loopmeter list scenarios`), or a TOML file
    #[arg(long, value_name = "NAME|FILE")]
    scenario: Option<String>,
    /// Who answers [default: scripted with --scenario, else endpoint]
    #[arg(long, value_enum)]
    provider: Option<ProviderKind>,
    /// Have an endpoint stream its replies
    #[arg(long)]
    stream: bool,
    /// Whose time the run takes [default: virtual for a scripted model, real for an endpoint]
    #[arg(long, value_enum)]
    clock: Option<ClockKind>,
    /// How long the scripted model takes for each reply [default: 0]
    #[arg(long, value_name = "MS")]
    latency_ms: Option<u64>,
}

impl ModelArgs {
    /// Who answers, and whose time it takes.
    pub(super) fn choose(&self) -> Result<(Model, ClockKind), Failure> {
        let wrong = |message: &str| Err(Failure::WrongInput(message.to_owned()));
        match (self.kind()?, &self.scenario) {
            (ProviderKind::Scripted, Some(_)) if self.stream => {
                wrong("--stream needs --provider endpoint: a scripted model replies in process")
            }
            (ProviderKind::Scripted, Some(scenario)) => {
                Ok((self.scripted(scenario)?, self.clock.unwrap_or_default()))
            }
            (ProviderKind::Scripted, None) => {
                wrong("--provider scripted needs --scenario NAME, such as --scenario plan")
            }
            (ProviderKind::Endpoint, Some(_)) => wrong(
                "--scenario is for the scripted model, and an endpoint answers here; leave one out",
            ),
            (ProviderKind::Endpoint, None) if self.latency_ms.is_some() => {
                wrong("--latency-ms is for the scripted model; an endpoint takes its own time")
            }
            (ProviderKind::Endpoint, None) if self.clock == Some(ClockKind::Virtual) => {
                wrong("an endpoint takes real time; leave --clock virtual out")
            }
            (ProviderKind::Endpoint, None) => Ok((self.endpoint()?, ClockKind::Real)),
        }
    }

    fn kind(&self) -> Result<ProviderKind, Failure> {
        match (self.provider, &self.scenario) {
            (Some(kind), _) => Ok(kind),
            (None, Some(_)) => Ok(ProviderKind::Scripted),
            (None, None) if environment::read(BASE_URL)?.is_some() => Ok(ProviderKind::Endpoint),
            (None, None) => Err(Failure::WrongInput(format!(
                "who answers? Give --scenario NAME for a scripted model, or set {BASE_URL} and \
                 {MODEL} for an endpoint"
            ))),
        }
    }

    fn scripted(&self, scenario: &str) -> Result<Model, Failure> {
        let scenario = match Path::new(scenario) {
            file if file.extension().is_some_and(|ending| ending == "toml") => {
                Scenario::read(file)?
            }
            _ => Scenario::load(scenario, Path::new("experiments"))?,
        };
        Ok(Model::Scripted {
            scenario: scenario.name().to_owned(),
            scenario_toml: scenario.source().to_owned(),
            latency: match self.latency_ms {
                None | Some(0) => Latency::None,
                Some(ms) => Latency::Constant { ms },
            },
        })
    }

    fn endpoint(&self) -> Result<Model, Failure> {
        let model = Model::Endpoint {
            base_url: environment::require(BASE_URL, "http://127.0.0.1:8080/v1")?,
            model: environment::require(MODEL, "the name of a model there")?,
            delivery: if self.stream {
                Delivery::StreamedWithUsage
            } else {
                Delivery::Whole
            },
        };
        // Whatever is wrong with it is told before there is a run.
        provider(&model)?;
        Ok(model)
    }
}

/// The provider that a run's record names. The key is not in the record, but in the environment.
pub(super) fn provider(model: &Model) -> Result<Box<dyn Provider>, Failure> {
    match model {
        Model::Scripted {
            scenario,
            scenario_toml,
            latency,
        } => {
            let scenario = Arc::new(Scenario::from_toml(scenario, scenario_toml)?);
            Ok(Box::new(match latency.clone() {
                Latency::None => Scripted::new(scenario),
                latency => Scripted::new(scenario).with_latency(latency),
            }))
        }
        Model::Endpoint {
            base_url,
            model,
            delivery,
        } => {
            let endpoint = endpoint::prepared(base_url, model)?.with_delivery(*delivery);
            let provider = HttpProvider::new(endpoint).map_err(|error| unusable(&error))?;
            Ok(Box::new(provider))
        }
    }
}
