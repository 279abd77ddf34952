//! Whether a recorded run did what it was for.

use std::str::FromStr;

use serde_json::Value;

use super::value::at;
use crate::message::to_json;

/// Where records say so, in the order of asking.
const USUAL: &[&str] = &[
    "reward",
    "success",
    "resolved",
    "passed",
    "solved",
    "is_correct",
    "info.reward",
    "info.success",
    "info.resolved",
];

/// How near to 1 a reward is a success: rewards are floats.
const NEAR: f64 = 1e-6;

/// Which key of a record says whether the run did what it was for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SuccessMark {
    /// One of the usual keys.
    #[default]
    Usual,
    /// This one.
    Key {
        /// The dotted path to it.
        path: String,
        /// What it has to say; without that, whatever means yes.
        value: Option<String>,
    },
}

/// A text that names no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} names no key: write KEY, such as info.resolved, or KEY=VALUE")]
pub struct SuccessMarkError(String);

impl FromStr for SuccessMark {
    type Err = SuccessMarkError;

    /// Reads `KEY` or `KEY=VALUE`, the key being a dotted path.
    fn from_str(text: &str) -> Result<Self, SuccessMarkError> {
        let (path, value) = match text.split_once('=') {
            Some((path, value)) => (path, Some(value.to_owned())),
            None => (text, None),
        };
        if path.split('.').any(str::is_empty) {
            return Err(SuccessMarkError(text.to_owned()));
        }
        let path = path.to_owned();
        Ok(Self::Key { path, value })
    }
}

impl SuccessMark {
    /// The key that was named; none for the usual ones.
    #[must_use]
    pub fn named(&self) -> Option<&str> {
        match self {
            Self::Usual => None,
            Self::Key { path, .. } => Some(path),
        }
    }

    /// What a value says, if it says anything.
    pub(super) fn read(&self, value: &Value) -> Option<bool> {
        match self {
            Self::Usual => USUAL
                .iter()
                .find_map(|path| at(value, path).and_then(meaning)),
            Self::Key { path, value: None } => meaning(at(value, path)?),
            Self::Key {
                path,
                value: Some(wanted),
            } => Some(match at(value, path)? {
                Value::String(text) => text == wanted,
                Value::Number(number) => match (number.as_f64(), wanted.parse::<f64>()) {
                    (Some(number), Ok(wanted)) => (number - wanted).abs() < NEAR,
                    _ => false,
                },
                other => to_json(other) == *wanted,
            }),
        }
    }
}

/// What a mark means: a yes, a no, or nothing that could be told.
fn meaning(mark: &Value) -> Option<bool> {
    match mark {
        Value::Bool(mark) => Some(*mark),
        Value::Number(number) => number.as_f64().map(|reward| (reward - 1.0).abs() < NEAR),
        Value::String(word) => match word.to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" | "success" | "resolved" | "passed" => Some(true),
            "false" | "no" | "0" | "failure" | "unresolved" | "failed" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_usual_marks_are_read_and_a_part_of_a_reward_is_no_success() {
        let read = |value: Value| SuccessMark::Usual.read(&value);
        assert_eq!(read(json!({"reward": 1.0})), Some(true));
        assert_eq!(read(json!({"reward": 1})), Some(true));
        assert_eq!(read(json!({"reward": 0.999_999_9})), Some(true));
        assert_eq!(read(json!({"reward": 0.5})), Some(false));
        assert_eq!(read(json!({"info": {"resolved": false}})), Some(false));
        assert_eq!(read(json!({"success": "Resolved"})), Some(true));
        assert_eq!(read(json!({"reward": null})), None);
        assert_eq!(read(json!({"success": "perhaps"})), None);
        assert_eq!(read(json!({"reward": null, "success": false})), Some(false));
    }

    #[test]
    fn a_mark_of_ones_own_is_a_path_and_what_it_has_to_say() {
        let mark: SuccessMark = "info.exit_status=Submitted".parse().unwrap();
        assert_eq!(
            mark.read(&json!({"info": {"exit_status": "Submitted"}})),
            Some(true)
        );
        assert_eq!(
            mark.read(&json!({"info": {"exit_status": "LimitsExceeded"}})),
            Some(false)
        );
        assert_eq!(mark.read(&json!({"reward": 1})), None);
        let level: SuccessMark = "level=3".parse().unwrap();
        assert_eq!(level.read(&json!({"level": 3})), Some(true));
        for (wanted, is_so) in [
            ("0.0", true),
            ("0", true),
            ("-0", true),
            ("0.5", false),
            ("no", false),
        ] {
            let none: SuccessMark = format!("reward={wanted}").parse().unwrap();
            assert_eq!(none.read(&json!({"reward": 0})), Some(is_so), "{wanted}");
            assert_eq!(none.read(&json!({"reward": 0.0})), Some(is_so), "{wanted}");
        }
        assert!("".parse::<SuccessMark>().is_err());
        assert!("a..b".parse::<SuccessMark>().is_err());
    }
}
