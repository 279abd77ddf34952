//! Chat completions, one conversation a line: `messages`, and whatever else.

use serde_json::Value;

use super::draft::Draft;
use super::message::Wrong;
use super::reported::Reported;
use super::value::{at, dollars_at, first_name, name_at, take_array, text_at};
use super::{Format, Place};

/// What the list of messages may be called.
pub(super) const KEYS: [&str; 3] = ["messages", "traj", "conversation"];

/// What a conversation may be called after.
const IDS: &[&str] = &[
    "id",
    "run_id",
    "conversation_id",
    "session_id",
    "instance_id",
    "task_id",
];

/// Reads a conversation.
pub(super) fn draft(mut value: Value, place: &Place) -> Result<Draft, Wrong> {
    let key = KEYS
        .into_iter()
        .find(|key| at(&value, key).is_some_and(Value::is_array));
    let Some(key) = key else {
        return Err("no `messages`".into());
    };
    let mut draft = Draft::new(place, Format::Chat);
    draft.id = first_name(&value, IDS);
    if let (Some(id), Some(trial)) = (&mut draft.id, name_at(&value, "trial")) {
        *id = format!("{id}/{trial}");
    }
    draft.reported = Reported::of_openai(at(&value, "usage"));
    let cost = ["cost", "cost_usd", "total_cost"]
        .iter()
        .find_map(|key| dollars_at(&value, key));
    draft.reported.cost = draft.reported.cost.or(cost);
    draft.ended = text_at(&value, "finish_reason").map(str::to_owned);
    draft.read_tools(&mut value);
    let messages = take_array(&mut value, key);
    if messages.is_empty() {
        return Err("no message in it".into());
    }
    draft.read_all(messages, Draft::read)?;
    Ok(draft)
}
