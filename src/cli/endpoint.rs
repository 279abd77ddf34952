//! The real model that the environment names.

use crate::cli::environment::{self, API_KEY, BASE_URL, MODEL, SERVER};
use crate::cli::exit::Failure;
use crate::experiment::ModelEndpoint;
use crate::provider::http::{Endpoint, EndpointError, HttpProvider, RetryPolicy, Secret};

/// The endpoint of experiments that ask a real model; none where the environment names none.
///
/// # Errors
/// What the environment names cannot be used.
pub(super) fn from_environment() -> Result<Option<ModelEndpoint>, Failure> {
    let Some(base_url) = environment::read(BASE_URL)? else {
        return Ok(None);
    };
    let model = environment::require(MODEL, "the name of a model there")?;
    let endpoint = Endpoint::new(&base_url, &model).map_err(|error| unusable(&error))?;
    let mut endpoint = endpoint.with_retry(RetryPolicy {
        seed: std::process::id().into(),
        ..RetryPolicy::default()
    });
    if let Some(key) = environment::read(API_KEY)? {
        endpoint = endpoint.with_api_key(Secret::new(key));
    }
    // Whatever is wrong with it is told before anything is run.
    HttpProvider::new(endpoint.clone()).map_err(|error| unusable(&error))?;
    let server = environment::read(SERVER)?;
    Ok(Some(ModelEndpoint { endpoint, server }))
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
