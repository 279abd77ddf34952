//! Where the model is, by which name, and how patiently it is asked.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url, redirect};
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;

use super::retry::RetryPolicy;
use super::secret::Secret;
use crate::loopback::{address, is_this_machine};
use crate::provider::wire::Delivery;

/// How long an attempt may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To be connected.
    pub connect: Duration,
    /// Between two pieces of a reply that has begun.
    pub idle: Duration,
    /// In all, the wait for the reply to begin included.
    pub attempt: Duration,
}

impl Default for Timeouts {
    /// Ten seconds to connect, five minutes of silence, as a model may think that long between two
    /// pieces and a retry is billed again, and ten minutes in all.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(300),
            attempt: Duration::from_secs(600),
        }
    }
}

/// Why an endpoint cannot be used, before anything was sent.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The base URL is none, or not one of HTTP.
    #[error("{url:?} is no base URL: {why}. Give one such as http://127.0.0.1:8080/v1")]
    BadUrl {
        /// The text, without a password that may be in it.
        url: String,
        /// What is wrong.
        why: String,
    },
    /// The model has no name.
    #[error("the model's name is empty")]
    NoModel,
    /// The key cannot be sent in a header.
    #[error("the API key has characters that a header cannot carry")]
    BadKey,
    /// A header that cannot be sent.
    #[error("no header can be called {0:?}, or have that value")]
    BadHeader(String),
    /// The URL or the model's name contains the key, which would be stored with the run.
    #[error("the base URL or the model's name contains the API key; give the key alone")]
    KeyInView,
    /// No HTTPS connection can be trusted or made.
    #[error("cannot prepare HTTPS: {0}. Are the CA certificates installed?")]
    Tls(String),
    /// The HTTP client cannot be made.
    #[error("cannot prepare an HTTP client: {0}")]
    Client(String),
}

/// Whether a parameter of a URL is one in which secrets are sent. The URL is stored and printed.
fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['-', '_'], "");
    let secrets = [
        "key",
        "apikey",
        "accesskey",
        "token",
        "accesstoken",
        "secret",
        "sig",
    ];
    secrets.contains(&name.as_str())
}

/// The scheme, the host and the path of a URL: what surely is no secret.
fn without_secrets(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}"));
    let host = url.host_str().unwrap_or_default();
    format!(
        "{}://{host}{}{}",
        url.scheme(),
        port.unwrap_or_default(),
        url.path()
    )
}

/// An OpenAI-compatible endpoint.
#[derive(Clone, Debug)]
pub struct Endpoint {
    base_url: Url,
    model: String,
    api_key: Option<Secret>,
    headers: Vec<(String, String)>,
    delivery: Delivery,
    retry: RetryPolicy,
    timeouts: Timeouts,
}

impl Endpoint {
    /// The endpoint below `base_url`, such as `http://127.0.0.1:8080/v1`, and a model there.
    ///
    /// # Errors
    /// [`EndpointError`] where the URL is not one of HTTP or carries a password, or the name is
    /// empty.
    pub fn new(base_url: &str, model: &str) -> Result<Self, EndpointError> {
        let bad = |url: &str, why: &str| EndpointError::BadUrl {
            url: url.to_owned(),
            why: why.to_owned(),
        };
        let url = Url::parse(base_url).map_err(|error| bad("", &error.to_string()))?;
        let shown = without_secrets(&url);
        if !url.username().is_empty() || url.password().is_some() {
            let why = "it carries credentials, which belong in the API key";
            return Err(bad(&shown, why));
        }
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad(&shown, "it is neither http nor https"));
        }
        let secret = url.query_pairs().find(|(name, _)| names_a_secret(name));
        if let Some((name, _)) = secret {
            let why = format!("its parameter `{name}` is a secret, which belongs in the API key");
            return Err(bad(&shown, &why));
        }
        if model.is_empty() {
            return Err(EndpointError::NoModel);
        }
        Ok(Self {
            base_url: url,
            model: model.to_owned(),
            api_key: None,
            headers: Vec::new(),
            delivery: Delivery::Whole,
            retry: RetryPolicy::default(),
            timeouts: Timeouts::default(),
        })
    }

    /// The same with a key, sent as a bearer token.
    #[must_use]
    pub fn with_api_key(mut self, key: Secret) -> Self {
        self.api_key = Some(key);
        self
    }

    /// The same with one more header in every request.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same with replies that travel otherwise than whole.
    #[must_use]
    pub fn with_delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// The same with another patience.
    #[must_use]
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// The same with other time limits.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// The base URL.
    #[must_use]
    pub fn base_url(&self) -> &str {
        self.base_url.as_str()
    }

    /// The model's name.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    pub(super) fn delivery(&self) -> Delivery {
        self.delivery
    }

    pub(super) fn retry(&self) -> RetryPolicy {
        self.retry
    }

    pub(super) fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    /// `text` without the key, cut to a length that a person reads.
    pub(super) fn quote(&self, text: &str) -> String {
        const MOST_CHARS: usize = 500;
        let text = self.without_key(text.to_owned());
        text.chars().take(MOST_CHARS).collect()
    }

    /// `text` without the key: an endpoint may repeat what it was sent, and what a model says is
    /// written down.
    pub(super) fn without_key(&self, text: String) -> String {
        match &self.api_key {
            Some(key) => key.redact(text),
            None => text,
        }
    }

    /// Where completions are asked for: `chat/completions` below the base URL, its query kept.
    pub(super) fn completions_url(&self) -> Url {
        let mut url = self.base_url.clone();
        let path = url.path().trim_end_matches('/').to_owned() + "/chat/completions";
        url.set_path(&path);
        url.set_fragment(None);
        url
    }

    /// A client that sends what this endpoint wants to see. It follows no redirect, which would
    /// carry the key elsewhere, and goes through no proxy to this machine itself.
    pub(super) fn client(&self) -> Result<Client, EndpointError> {
        let mut headers = self.extra_headers()?;
        if let Some(key) = &self.api_key {
            if key.is_in(self.base_url()) || key.is_in(&self.model) {
                return Err(EndpointError::KeyInView);
            }
            headers.insert(AUTHORIZATION, key.bearer()?);
        }
        let mut builder = Client::builder()
            .tls_backend_preconfigured(self.tls()?)
            .redirect(redirect::Policy::none())
            .connect_timeout(self.timeouts.connect)
            .user_agent(concat!("loopmeter/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers);
        if self.is_loopback() {
            builder = builder.no_proxy();
        }
        builder
            .build()
            .map_err(|error| EndpointError::Client(error.to_string()))
    }

    fn extra_headers(&self) -> Result<HeaderMap, EndpointError> {
        let read = |(name, value): &(String, String)| {
            let bad = || EndpointError::BadHeader(name.clone());
            let value = HeaderValue::from_str(value).map_err(|_| bad())?;
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
            Ok((name, value))
        };
        self.headers.iter().map(read).collect()
    }

    /// TLS by rustls over ring, trusting what the system trusts. A plain HTTP endpoint loads no
    /// certificates, which takes longer than many a run.
    fn tls(&self) -> Result<ClientConfig, EndpointError> {
        let tls = |error: rustls::Error| EndpointError::Tls(error.to_string());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(tls)?;
        let builder = if self.base_url.scheme() == "https" {
            builder.with_platform_verifier().map_err(tls)?
        } else {
            builder.with_root_certificates(rustls::RootCertStore::empty())
        };
        Ok(builder.with_no_client_auth())
    }

    /// Whether it is on this machine, however that is written: the address of no host in
    /// particular leads here too.
    fn is_loopback(&self) -> bool {
        let host = self.base_url.host_str().unwrap_or_default();
        is_this_machine(host) || address(host).is_some_and(|address| address.is_unspecified())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-a-very-secret-key";

    #[test]
    fn nothing_that_is_printed_shows_the_key() {
        let endpoint = Endpoint::new("http://127.0.0.1:1/v1", "m")
            .unwrap()
            .with_api_key(Secret::new(KEY));
        assert!(!format!("{endpoint:?}").contains(KEY));
        assert!(!format!("{:?}", endpoint.client().unwrap()).contains(KEY));
        let said = format!("Incorrect API key provided: {KEY}.");
        assert_eq!(
            endpoint.quote(&said),
            "Incorrect API key provided: [secret]."
        );
        assert_eq!(endpoint.without_key(said).len(), 37);
    }

    #[test]
    fn this_machine_is_known_by_any_of_its_names_and_no_other_is() {
        let here = |host: &str| {
            let url = format!("http://{host}:1/v1");
            Endpoint::new(&url, "m").unwrap().is_loopback()
        };
        for host in [
            "localhost",
            "LocalHost.",
            "api.localhost",
            "127.1",
            "127.0.0.9",
            "0.0.0.0",
            "[::1]",
            "[::]",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(here(host), "{host}");
        }
        for host in [
            "localhost.example",
            "notlocalhost",
            "128.0.0.1",
            "[::2]",
            "[::ffff:10.0.0.1]",
        ] {
            assert!(!here(host), "{host}");
        }
    }

    #[test]
    fn a_secret_in_the_url_is_refused_and_not_repeated() {
        for name in ["key", "api_key", "API-Key", "access_token", "sig"] {
            let base = format!("https://h/v1?{name}=hush");
            let error = Endpoint::new(&base, "m").unwrap_err().to_string();
            assert!(error.contains(&format!("`{name}` is a secret")), "{error}");
            assert!(!error.contains("hush"), "{error}");
        }
        assert!(Endpoint::new("https://h/v1?api-version=2026-11-30&region=eu", "m").is_ok());
    }

    #[test]
    fn a_placeholder_is_no_secret_worth_garbling_a_message_for() {
        let endpoint = Endpoint::new("http://127.0.0.1:1/v1", "m")
            .unwrap()
            .with_api_key(Secret::new("x"));
        assert_eq!(endpoint.quote("out of context"), "out of context");
    }

    #[test]
    fn completions_are_asked_for_below_the_base_url_with_or_without_a_slash() {
        for (base, url) in [
            ("http://h/v1", "http://h/v1/chat/completions"),
            ("http://h/v1/", "http://h/v1/chat/completions"),
            ("https://h", "https://h/chat/completions"),
            (
                "https://h/x?api-version=1",
                "https://h/x/chat/completions?api-version=1",
            ),
        ] {
            let endpoint = Endpoint::new(base, "m").unwrap();
            assert_eq!(endpoint.completions_url().as_str(), url);
        }
    }

    #[test]
    fn unusable_endpoints_are_refused_before_anything_is_sent() {
        for base in [
            "",
            "h/v1",
            "ftp://h/",
            "http://user:hush@h/v1",
            "http://user@h/v1",
        ] {
            let error = Endpoint::new(base, "m").unwrap_err().to_string();
            assert!(error.contains("is no base URL"), "{base}: {error}");
            assert!(!error.contains("hush"), "{error}");
        }
        assert!(matches!(
            Endpoint::new("http://h", ""),
            Err(EndpointError::NoModel)
        ));
        let endpoint = Endpoint::new("http://h", "m").unwrap();
        let client = endpoint.with_api_key(Secret::new("a\nb")).client();
        assert!(matches!(client, Err(EndpointError::BadKey)));
        let endpoint = Endpoint::new("http://h", "m").unwrap();
        let client = endpoint.with_header("a b", "c").client();
        assert!(matches!(client, Err(EndpointError::BadHeader(_))));
        let endpoint = Endpoint::new(&format!("http://h/v1?user={KEY}"), "m").unwrap();
        let client = endpoint.with_api_key(Secret::new(KEY)).client();
        assert!(matches!(client, Err(EndpointError::KeyInView)));
    }

    #[test]
    fn this_machine_is_reached_without_a_proxy() {
        for (base, loopback) in [
            ("http://localhost:1/v1", true),
            ("http://127.0.0.9:1/v1", true),
            ("http://[::1]:1/v1", true),
            ("http://example.org/v1", false),
        ] {
            assert_eq!(
                Endpoint::new(base, "m").unwrap().is_loopback(),
                loopback,
                "{base}"
            );
        }
    }
}
