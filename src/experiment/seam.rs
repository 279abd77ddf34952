//! Between a run and its model: who plays the model, and how it is reached.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use schemars::JsonSchema;
use serde::Deserialize;

use super::Experiment;
use super::format::ExperimentFile;
use super::input::occurrences;
use super::pace::pace_of;
use super::resources::ResourceError;
use super::settings::Settings;
use crate::provider::http::{Endpoint, EndpointError, HttpProvider, RetryPolicy};
use crate::provider::wire::Delivery;
use crate::provider::{Provider, Scripted};
use crate::scenario::Scenario;
use crate::server::{LATENCY_HEADER, MODEL_PREFIX};

/// Who plays the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelSource {
    /// The scripted model.
    #[default]
    Scripted,
    /// The endpoint that `LLM_BASE_URL` and `LLM_MODEL` name.
    Endpoint,
}

/// How the model is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// By a function call.
    #[default]
    InProcess,
    /// Over HTTP, each reply as one JSON object.
    Http,
    /// Over HTTP, replies streamed.
    HttpStream,
}

impl Transport {
    /// How replies travel; none where nothing travels.
    const fn delivery(self) -> Option<Delivery> {
        match self {
            Self::InProcess => None,
            Self::Http => Some(Delivery::Whole),
            Self::HttpStream => Some(Delivery::StreamedWithUsage),
        }
    }
}

/// What is measured beside a run over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompareWith {
    /// The same bytes over a TCP connection with nothing at either end: `bare_socket_ms`.
    BareSocket,
}

/// A real model, as an experiment is given one.
#[derive(Clone, Debug)]
pub struct ModelEndpoint {
    /// Where it is and what it is called there.
    pub endpoint: Endpoint,
    /// What serves it, in which version, for the rows; absent where nobody said.
    pub server: Option<String>,
}

/// Whether a cell of an experiment asks a real model, and which.
#[derive(Clone, Debug)]
pub(super) enum RealModel {
    /// Every cell asks the scripted one.
    NotAsked,
    /// It is asked, and was not given.
    Missing,
    /// This one is asked.
    Given(Box<ModelEndpoint>),
}

impl RealModel {
    pub(super) fn asked_in(file: &ExperimentFile) -> Self {
        let providers = occurrences(file, "provider");
        let mut asked = providers.iter().map(|(_, provider)| provider.as_str());
        if asked.any(|provider| provider == Some("endpoint")) {
            Self::Missing
        } else {
            Self::NotAsked
        }
    }
}

/// Why a model cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum SeamError {
    /// Nobody gave the endpoint.
    #[error("no endpoint was given; set LLM_BASE_URL and LLM_MODEL")]
    NoEndpoint,
    /// No server was started.
    #[error("the scripted model is not served")]
    NotServed,
    /// The endpoint cannot be asked.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
}

/// How the runs of one execution reach their models.
#[derive(Debug)]
pub(super) struct Seam {
    served_at: Option<SocketAddr>,
    real_model: RealModel,
    /// How many runs the server was told to tell apart.
    runs: AtomicU64,
}

impl Seam {
    /// The models of `experiment`, the scripted ones served at an address where they are.
    pub(super) fn new(experiment: &Experiment, served_at: Option<SocketAddr>) -> Self {
        Self {
            served_at,
            real_model: experiment.real_model.clone(),
            runs: AtomicU64::new(0),
        }
    }

    /// The same scripted models, by way of somebody who listens at `address`.
    pub(super) fn by_way_of(address: SocketAddr) -> Self {
        Self {
            served_at: Some(address),
            real_model: RealModel::NotAsked,
            runs: AtomicU64::new(0),
        }
    }

    /// The real model.
    pub(super) fn endpoint(&self, settings: &Settings) -> Result<Arc<dyn Provider>, SeamError> {
        let RealModel::Given(model) = &self.real_model else {
            return Err(SeamError::NoEndpoint);
        };
        let delivery = settings.transport.delivery().unwrap_or_default();
        let endpoint = model.endpoint.clone().with_delivery(delivery);
        Ok(Arc::new(HttpProvider::new(endpoint)?))
    }

    /// The scripted model that plays a scenario, which the file calls by a name.
    pub(super) fn scripted(
        &self,
        settings: &Settings,
        (name, scenario): (&str, &Arc<Scenario>),
    ) -> Result<Arc<dyn Provider>, ResourceError> {
        let pace = pace_of(settings)?;
        let Some(delivery) = settings.transport.delivery() else {
            let scripted = Scripted::new(Arc::clone(scenario));
            return Ok(Arc::new(scripted.with_latency(pace)));
        };
        let address = self.served_at.ok_or(SeamError::NotServed)?;
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        let base_url = format!("http://{address}/runs/{run}/v1");
        let endpoint = Endpoint::new(&base_url, &format!("{MODEL_PREFIX}{name}"));
        let endpoint = endpoint
            .map_err(SeamError::from)?
            .with_header(LATENCY_HEADER, &pace.to_string())
            .with_delivery(delivery)
            .with_retry(RetryPolicy {
                seed: settings.seed,
                ..RetryPolicy::default()
            });
        let provider = HttpProvider::new(endpoint).map_err(SeamError::from)?;
        Ok(Arc::new(provider))
    }
}
