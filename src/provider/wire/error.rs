//! The error object that client libraries expect.

use serde::{Deserialize, Serialize};

use super::lenient;

/// A reply that is an error: `{"error":{…}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// The error.
    pub error: ErrorObject,
}

/// What went wrong, in the four fields that clients read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorObject {
    /// Words for a person.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub message: String,
    /// The class of error, such as `invalid_request_error`.
    #[serde(rename = "type", default, deserialize_with = "lenient::word")]
    pub kind: Option<String>,
    /// The request's parameter that is to blame, such as `messages[0].role`.
    #[serde(default, deserialize_with = "lenient::word")]
    pub param: Option<String>,
    /// The error in one word, such as `model_not_found`.
    #[serde(default, deserialize_with = "lenient::word")]
    pub code: Option<String>,
}

impl ErrorBody {
    /// The error in `body`, in any of the shapes that endpoints use: the object, a bare text
    /// under `error`, or the fields without `error` around them. None where `body` is no error.
    #[must_use]
    pub fn read(body: &str) -> Option<ErrorObject> {
        let value: serde_json::Value = serde_json::from_str(body).ok()?;
        match value.get("error") {
            Some(serde_json::Value::String(message)) => Some(ErrorObject {
                message: message.clone(),
                ..ErrorObject::default()
            }),
            Some(error) => serde_json::from_value(error.clone()).ok(),
            None => {
                value.get("message")?.as_str()?;
                serde_json::from_value(value).ok()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::to_json;

    #[test]
    fn an_error_prints_its_four_fields_and_reads_back() {
        let error = ErrorObject {
            message: "no such model".to_owned(),
            kind: Some("invalid_request_error".to_owned()),
            param: None,
            code: Some("model_not_found".to_owned()),
        };
        let body = to_json(&ErrorBody {
            error: error.clone(),
        });
        assert_eq!(
            body,
            concat!(
                r#"{"error":{"message":"no such model","type":"invalid_request_error","#,
                r#""param":null,"code":"model_not_found"}}"#
            )
        );
        assert_eq!(ErrorBody::read(&body), Some(error));
    }

    #[test]
    fn errors_of_other_shapes_are_understood() {
        let message = |body| ErrorBody::read(body).map(|error| error.message);
        for body in [
            r#"{"error":"overloaded"}"#,
            r#"{"error":{"message":"overloaded","code":503}}"#,
            r#"{"object":"error","message":"overloaded","code":503}"#,
        ] {
            assert_eq!(message(body).as_deref(), Some("overloaded"), "{body}");
        }
        for body in ["", "<html>", "[]", "{}", r#"{"choices":[]}"#] {
            assert_eq!(message(body), None, "{body}");
        }
    }
}
