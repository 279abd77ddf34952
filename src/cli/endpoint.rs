//! The real model that the environment names.

use crate::cli::environment::{self, API_KEY, BASE_URL, IDLE_TIMEOUT, MODEL, SERVER, TIMEOUT};
use crate::cli::exit::Failure;
use crate::experiment::ModelEndpoint;
use crate::provider::http::{Endpoint, EndpointError, HttpProvider, RetryPolicy, Secret, Timeouts};

/// The endpoint of experiments that ask a real model; none where the environment names none.
///
/// # Errors
/// What the environment names cannot be used.
pub(super) fn from_environment() -> Result<Option<ModelEndpoint>, Failure> {
    let Some(base_url) = environment::read(BASE_URL)? else {
        return Ok(None);
    };
    let model = environment::require(MODEL, "the name of a model there")?;
    let endpoint = prepared(&base_url, &model)?;
    // Whatever is wrong with it is told before anything is run.
    HttpProvider::new(endpoint.clone()).map_err(|error| unusable(&error))?;
    let server = environment::read(SERVER)?;
    Ok(Some(ModelEndpoint { endpoint, server }))
}

/// The endpoint there, with the key and the patience that the environment gives it.
///
/// # Errors
/// What the environment names cannot be used.
pub(super) fn prepared(base_url: &str, model: &str) -> Result<Endpoint, Failure> {
    let default = Timeouts::default();
    let endpoint = Endpoint::new(base_url, model)
        .map_err(|error| unusable(&error))?
        .with_retry(RetryPolicy {
            // Processes that are refused together must not come back together.
            seed: std::process::id().into(),
            ..RetryPolicy::default()
        })
        .with_timeouts(Timeouts {
            attempt: environment::limit(TIMEOUT)?.unwrap_or(default.attempt),
            idle: environment::limit(IDLE_TIMEOUT)?.unwrap_or(default.idle),
            ..default
        });
    Ok(match environment::read(API_KEY)? {
        Some(key) => endpoint.with_api_key(Secret::new(key)),
        None => endpoint,
    })
}

/// What is said of an endpoint that cannot be used, by the variable that names it.
pub(super) fn unusable(error: &EndpointError) -> Failure {
    match error {
        EndpointError::Tls(_) | EndpointError::Client(_) | EndpointError::BadHeader(_) => {
            Failure::could_not_do(error)
        }
        EndpointError::BadUrl { .. } => Failure::WrongInput(format!("{BASE_URL}: {error}")),
        EndpointError::NoModel => Failure::WrongInput(format!("{MODEL}: {error}")),
        EndpointError::BadKey | EndpointError::KeyInView => {
            Failure::WrongInput(format!("{API_KEY}: {error}"))
        }
    }
}
