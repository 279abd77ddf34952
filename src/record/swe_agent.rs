//! Trajectories of SWE-agent (`.traj`): the history that was sent, or else the steps.

use serde_json::{Value, json};

use super::draft::Draft;
use super::message::Wrong;
use super::reported::Reported;
use super::value::{at, first_name, into_text, take, take_array, text_at};
use super::{Format, Place};

/// Reads a trajectory.
pub(super) fn draft(mut value: Value, place: &Place) -> Result<Draft, Wrong> {
    let mut draft = Draft::new(place, Format::SweAgent);
    draft.id = first_name(&value, &["instance_id", "problem_id", "info.instance_id"]);
    draft.ended = text_at(&value, "info.exit_status").map(str::to_owned);
    draft.reported = Reported::of_model_stats(&value);
    draft.read_tools(&mut value);
    let history = take_array(&mut value, "history");
    if !history.is_empty() {
        draft.read_all(history, message)?;
        return Ok(draft);
    }
    let steps = take_array(&mut value, "trajectory");
    if steps.is_empty() {
        return Err("neither a `history` nor a `trajectory`".into());
    }
    draft.read_all(steps, step)?;
    Ok(draft)
}

/// A demonstration is sent and no model wrote it.
fn message(draft: &mut Draft, message: Value) -> Result<(), Wrong> {
    if at(&message, "is_demo") == Some(&Value::Bool(true)) {
        return draft.read_as_sent(message);
    }
    draft.read(message)
}

/// What the model said, and what the environment made of it.
fn step(draft: &mut Draft, mut step: Value) -> Result<(), Wrong> {
    let Some(response) = take(&mut step, "response") else {
        return Err("a step has no `response`".into());
    };
    draft.read(json!({"role": "assistant", "content": into_text(response)}))?;
    match take(&mut step, "observation") {
        Some(observed) => draft.read(json!({"role": "user", "content": into_text(observed)})),
        None => Ok(()),
    }
}
