//! Which path leads where, and the responses that need no model.

use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, StatusCode};

use super::body::{ReplyBody, Step, Watch};
use super::exchange::Outcome;
use super::{CREATED, Library, MODEL_PREFIX};
use crate::message::to_json;
use crate::provider::wire::{ErrorBody, ErrorObject, Model, ModelList, RequestError};

pub(super) type Response = hyper::Response<ReplyBody>;

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// A chat completion, on the path of a run if it has one.
    Chat { run: Option<String> },
    /// The list of models.
    Models,
    /// One model.
    Model(String),
    /// Whether the server is well.
    Health,
    /// Something that is not served.
    Refused(Refusal),
}

/// The longest id of a run.
const MOST_RUN_ID: usize = 128;

/// The longest name of a model, in bytes: it comes back in the reply, and in every piece of one.
pub(super) const MOST_MODEL: usize = 256;

/// Where a request of this method and path goes.
pub(super) fn route(method: &Method, path: &str) -> Route {
    let (run, rest) = match path.strip_prefix("/runs/") {
        None => (None, path),
        Some(below) => match below.split_once('/') {
            Some((id, _)) if !is_run_id(id) => return refused(404, "path", BAD_RUN_ID),
            Some((id, rest)) => (Some(id), &below[below.len() - rest.len() - 1..]),
            None => return refused(404, "path", NO_PATH),
        },
    };
    let run = run.map(str::to_owned);
    match (rest, method) {
        ("/v1/chat/completions", &Method::POST) => Route::Chat { run },
        ("/v1/chat/completions", _) => not_allowed("POST"),
        ("/" | "/health" | "/v1/models", &Method::GET) if rest == "/v1/models" => Route::Models,
        ("/" | "/health", &Method::GET) => Route::Health,
        ("/" | "/health" | "/v1/models", _) => not_allowed("GET"),
        ("/v1/responses" | "/v1/completions" | "/v1/messages", _) => {
            refused(404, "unknown_url", ANOTHER_API)
        }
        _ => match rest.strip_prefix("/v1/models/") {
            Some(model) if method == Method::GET => Route::Model(model.replace("%2F", "/")),
            Some(_) => not_allowed("GET"),
            None => refused(404, "unknown_url", NO_PATH),
        },
    }
}

fn is_run_id(id: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
    (1..=MOST_RUN_ID).contains(&id.len()) && id.chars().all(plain)
}

const BAD_RUN_ID: &str = "a run's id has 1 to 128 letters, digits, `-`, `_`, `.` or `~`";
const NO_PATH: &str = "nothing is here; chat completions are at /v1/chat/completions, and at \
                       /runs/<id>/v1/chat/completions for a run of its own";
const ANOTHER_API: &str = "this endpoint speaks chat completions and no other API: tell the \
                           client to use chat completions";

fn refused(status: u16, code: &str, message: &str) -> Route {
    Route::Refused(Refusal::new(status, INVALID, code, message))
}

fn not_allowed(allowed: &'static str) -> Route {
    let message = format!("the method is not allowed here; use {allowed}");
    let refusal = Refusal::new(405, INVALID, "method_not_allowed", &message);
    Route::Refused(refusal.with_header("allow", allowed.to_owned()))
}

const INVALID: &str = "invalid_request_error";

/// A response that is an error object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    status: u16,
    error: Box<ErrorObject>,
    headers: Vec<(&'static str, String)>,
}

impl Refusal {
    pub(super) fn new(status: u16, kind: &str, code: &str, message: &str) -> Self {
        Self {
            status,
            error: Box::new(ErrorObject {
                message: message.to_owned(),
                kind: Some(kind.to_owned()),
                param: None,
                code: Some(code.to_owned()),
            }),
            headers: Vec::new(),
        }
    }

    /// A request that is at fault itself.
    pub(super) fn invalid(status: u16, code: &str, message: &str) -> Self {
        Self::new(status, INVALID, code, message)
    }

    pub(super) fn with_header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(super) fn with_param(mut self, param: &str) -> Self {
        self.error.param = Some(param.to_owned());
        self
    }

    /// What the record says of it.
    pub(super) fn outcome(&self) -> Outcome {
        Outcome::Refused {
            status: self.status,
            why: super::exchange::cut_text(&self.error.message),
        }
    }

    pub(super) fn respond(self, watch: Watch) -> Response {
        let body = to_json(&ErrorBody { error: *self.error });
        let bytes = body.len();
        let body = ReplyBody::sized(vec![Step::Send(body.into())], bytes, watch);
        let mut headers = self.headers;
        headers.push(("content-type", JSON.to_owned()));
        respond_with(self.status, &headers, body)
    }
}

impl From<RequestError> for Refusal {
    fn from(error: RequestError) -> Self {
        let refusal = Self::invalid(400, error.code(), &error.to_string());
        match error.param() {
            Some(param) => refusal.with_param(param),
            None => refusal,
        }
    }
}

/// No scenario has the name of the model.
pub(super) fn unknown_model(model: &str, library: &Library) -> Refusal {
    let names = library.models();
    let message = match crate::document::suggest(model, "models", &names) {
        Some(help) => format!("the model `{model}` does not exist: {help}"),
        None => format!("the model `{model}` does not exist: see /v1/models"),
    };
    Refusal::invalid(404, "model_not_found", &message).with_param("model")
}

/// No model has a name of such a length.
pub(super) fn long_model() -> Refusal {
    let message = format!("the model's name is too long: {MOST_MODEL} bytes at most");
    Refusal::invalid(400, "invalid_value", &message).with_param("model")
}

pub(super) fn models(library: &Library, watch: Watch) -> Response {
    let data = library.models().into_iter().map(described).collect();
    let list = ModelList {
        object: "list".to_owned(),
        data,
    };
    respond(200, JSON, to_json(&list), watch)
}

pub(super) fn model(name: &str, library: &Library, watch: Watch) -> Response {
    match library.script(name) {
        _ if name.len() > MOST_MODEL => long_model().respond(watch),
        Some(_) => respond(200, JSON, to_json(&described(name.to_owned())), watch),
        None => unknown_model(name, library).respond(watch),
    }
}

fn described(id: String) -> Model {
    Model {
        id,
        object: "model".to_owned(),
        created: CREATED,
        owned_by: MODEL_PREFIX.trim_end_matches('/').to_owned(),
    }
}

pub(super) fn health(watch: Watch) -> Response {
    respond(200, JSON, r#"{"status":"ok"}"#.to_owned(), watch)
}

const JSON: &str = "application/json";

pub(super) fn json(status: u16, body: ReplyBody) -> Response {
    respond_with(status, &[("content-type", JSON.to_owned())], body)
}

pub(super) fn respond(status: u16, kind: &str, body: String, watch: Watch) -> Response {
    let bytes = body.len();
    let body = ReplyBody::sized(vec![Step::Send(body.into())], bytes, watch);
    respond_with(status, &[("content-type", kind.to_owned())], body)
}

pub(super) fn respond_with(
    status: u16,
    headers: &[(&'static str, String)],
    body: ReplyBody,
) -> Response {
    let mut response = hyper::Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(value) {
            let name = HeaderName::from_static(name);
            response.headers_mut().insert(name, value);
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_where_they_should() {
        let chat = |run: Option<&str>| Route::Chat {
            run: run.map(str::to_owned),
        };
        let get = |path| route(&Method::GET, path);
        let post = |path| route(&Method::POST, path);
        assert_eq!(post("/v1/chat/completions"), chat(None));
        assert_eq!(post("/runs/a-1/v1/chat/completions"), chat(Some("a-1")));
        assert_eq!(get("/v1/models"), Route::Models);
        assert_eq!(get("/runs/a/v1/models"), Route::Models);
        assert_eq!(
            get("/v1/models/scripted/plan"),
            Route::Model("scripted/plan".to_owned())
        );
        assert_eq!(
            get("/v1/models/scripted%2Fplan"),
            Route::Model("scripted/plan".to_owned())
        );
        assert_eq!(get("/health"), Route::Health);
        let status = |route| match route {
            Route::Refused(refusal) => refusal.status,
            other => panic!("{other:?}"),
        };
        for (route, expected) in [
            (get("/v1/chat/completions"), 405),
            (post("/v1/models"), 405),
            (post("/v1/models/x"), 405),
            (post("/v1/responses"), 404),
            (post("/runs//v1/chat/completions"), 404),
            (post("/runs/a%20b/v1/chat/completions"), 404),
            (post("/runs/a"), 404),
            (post("/"), 405),
            (get("/favicon.ico"), 404),
            (get(""), 404),
        ] {
            assert_eq!(status(route), expected);
        }
    }
}
