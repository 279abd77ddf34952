//! The environment: which variables are read, and what is said of those that are missing.

use std::time::Duration;

use crate::cli::exit::Failure;
use crate::scenario::parse_limit;

/// The endpoint's base URL.
pub(super) const BASE_URL: &str = "LLM_BASE_URL";
/// The key that it is given.
pub(super) const API_KEY: &str = "LLM_API_KEY";
/// The model's name there.
pub(super) const MODEL: &str = "LLM_MODEL";
/// What serves it, in which version: words for the rows.
pub(super) const SERVER: &str = "LLM_SERVER";

/// The token that clients of `serve` must send.
pub(super) const TOKEN: &str = "LOOPMETER_TOKEN";

/// How long an attempt may take in all.
pub(super) const TIMEOUT: &str = "LLM_TIMEOUT";
/// How long nothing may come of a reply that has begun.
pub(super) const IDLE_TIMEOUT: &str = "LLM_IDLE_TIMEOUT";

/// The variable's value; an empty one counts as not set.
///
/// # Errors
/// [`Failure::WrongInput`] where it is not text. The value is not repeated, as it may be a key.
#[expect(clippy::disallowed_methods, reason = "the home of the environment")]
pub(super) fn read(name: &str) -> Result<Option<String>, Failure> {
    match std::env::var(name) {
        Ok(value) => Ok(Some(value.trim().to_owned()).filter(|value| !value.is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(Failure::WrongInput(format!("{name} is not valid text")))
        }
    }
}

/// The variable's value as a limit, such as `120s`.
///
/// # Errors
/// [`Failure::WrongInput`] where it is none.
pub(super) fn limit(name: &str) -> Result<Option<Duration>, Failure> {
    let wrong = |error| Failure::WrongInput(format!("{name}: {error}"));
    let value = read(name)?;
    value
        .map(|text| parse_limit(&text).map_err(wrong))
        .transpose()
}

/// The value of a variable that is needed.
///
/// # Errors
/// [`Failure::WrongInput`] where it is not set.
pub(super) fn require(name: &str, example: &str) -> Result<String, Failure> {
    read(name)?.ok_or_else(|| {
        Failure::WrongInput(format!("{name} is not set; set it to {example}, for one"))
    })
}
