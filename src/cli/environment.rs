//! The environment: which variables are read, and what is said of those that are missing.

use crate::cli::exit::Failure;

/// The endpoint's base URL.
pub(super) const BASE_URL: &str = "LLM_BASE_URL";
/// The key that it is given.
pub(super) const API_KEY: &str = "LLM_API_KEY";
/// The model's name there.
pub(super) const MODEL: &str = "LLM_MODEL";
/// What serves it, in which version: words for the rows.
pub(super) const SERVER: &str = "LLM_SERVER";

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

/// The value of a variable that is needed.
///
/// # Errors
/// [`Failure::WrongInput`] where it is not set.
pub(super) fn require(name: &str, example: &str) -> Result<String, Failure> {
    read(name)?.ok_or_else(|| {
        Failure::WrongInput(format!("{name} is not set; set it to {example}, for one"))
    })
}
