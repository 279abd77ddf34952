//! Trajectories of mini-swe-agent: a file, or a line, for each run.

use serde_json::Value;

use super::draft::Draft;
use super::message::Wrong;
use super::reported::Reported;
use super::value::{at, first_name, take, take_array, text_at};
use super::{Format, Place};

/// Reads a trajectory.
pub(super) fn draft(mut value: Value, place: &Place) -> Result<Draft, Wrong> {
    if !at(&value, "messages").is_some_and(Value::is_array) {
        return Err("no `messages`".into());
    }
    let mut draft = Draft::new(place, Format::MiniSweAgent);
    draft.id = first_name(&value, &["instance_id", "info.instance_id"]);
    draft.ended = text_at(&value, "info.exit_status").map(str::to_owned);
    draft.reported = Reported::of_model_stats(&value);
    draft.read_tools(&mut value);
    let messages = take_array(&mut value, "messages");
    draft.read_all(messages, message)?;
    Ok(draft)
}

/// The last message of a run says how it ended and is sent to nobody.
fn message(draft: &mut Draft, mut message: Value) -> Result<(), Wrong> {
    if text_at(&message, "role") == Some("exit") {
        return Ok(());
    }
    if let Some(usage) = at(&message, "extra.response.usage").cloned() {
        message["usage"] = usage;
    }
    take(&mut message, "extra");
    draft.read(message)
}
