//! The variables that point an agent at an endpoint.

use std::net::SocketAddr;

/// The key that agents are given. It opens nothing: the endpoint takes any.
pub const KEY: &str = "sk-loopmeter-not-a-key";

/// A variable of the environment: its name and its value.
pub type Variable = (String, String);

/// The variables that a command is started with: where the endpoint of the run `run` is, a key,
/// and the model's name, under the names that client libraries read. Proxies are told to leave
/// the endpoint alone.
#[must_use]
pub fn variables(endpoint: SocketAddr, run: &str, model: &str) -> Vec<Variable> {
    let base = format!("http://{endpoint}/runs/{run}/v1");
    let local = "127.0.0.1,localhost";
    let of_all = [
        ("OPENAI_BASE_URL", base.as_str()),
        ("OPENAI_API_BASE", &base),
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_MODEL", model),
        ("LLM_BASE_URL", &base),
        ("LLM_API_KEY", KEY),
        ("LLM_MODEL", model),
        ("NO_PROXY", local),
        ("no_proxy", local),
    ];
    of_all
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}
