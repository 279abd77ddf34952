//! Session files of the Codex CLI: one line for each item.
//!
//! What the model gave between two requests is one reply. `token_count` tells the usage of the
//! last request and of all so far, cached tokens included, and is repeated: only where the sum
//! has changed was there a request.

use serde_json::Value;

use super::draft::Draft;
use super::import::{Importer, Piece, Taken};
use super::message::{CallResult, Oddity, Read, Role, Wrong, read};
use super::reported::Reported;
use super::value::{at, first_name, into_text, take, text_at};
use super::{Format, SuccessMark};
use crate::message::ToolCall;

pub(super) struct Rollout {
    success: SuccessMark,
    draft: Option<Draft>,
    /// Whether what the model gives next belongs to the reply before.
    in_reply: bool,
    /// The sum that was told last, and the sums of counters that began again.
    told: Reported,
    before: Reported,
}

impl Rollout {
    pub(super) fn new(success: SuccessMark) -> Self {
        Self {
            success,
            draft: None,
            in_reply: false,
            told: Reported::default(),
            before: Reported::default(),
        }
    }

    fn item(&mut self, draft: &mut Draft, mut item: Value) -> Result<(), Wrong> {
        let kind = text_at(&item, "type").unwrap_or_default().to_owned();
        match kind.as_str() {
            "message" => {
                let read = read(item, &mut draft.oddities)?;
                if read.role == Role::Assistant {
                    self.gives(draft, read);
                } else {
                    self.in_reply = false;
                    draft.push(read);
                }
            }
            "function_call" | "custom_tool_call" | "local_shell_call" => {
                let read = said(None, vec![call(&mut item)?]);
                self.gives(draft, read);
            }
            "function_call_output" | "custom_tool_call_output" => {
                self.in_reply = false;
                draft.push(output(&mut item));
            }
            "reasoning" => draft.oddities.see(Oddity::Reasoning),
            // Searches and whatever comes: run by the provider, and no part of the transcript.
            _ => {}
        }
        Ok(())
    }

    fn gives(&mut self, draft: &mut Draft, more: Read) {
        let reply = draft.turns.last().map(|turn| turn.reply);
        match reply.filter(|_| self.in_reply) {
            Some(reply) => draft.extend_reply(reply, more),
            None => {
                if let Some(reply) = draft.push(more) {
                    draft.turn(reply, Reported::default());
                }
            }
        }
        self.in_reply = true;
    }

    /// Takes in a `token_count`; one that repeats the last sum tells nothing.
    fn usage(&mut self, draft: &mut Draft, event: &Value) -> Taken {
        let total = Reported::of_codex(at(event, "info.total_token_usage"));
        if total.is_empty() {
            return Taken::Used;
        }
        if total == self.told {
            return Taken::Duplicate;
        }
        if total.prompt_tokens < self.told.prompt_tokens {
            self.before.add(&self.told);
        }
        self.told = total;
        self.in_reply = false;
        draft.reported = self.before;
        draft.reported.add(&total);
        if let Some(turn) = draft.turns.last_mut()
            && turn.reported.is_empty()
        {
            turn.reported = Reported::of_codex(at(event, "info.last_token_usage"));
        }
        Taken::Used
    }

    fn line(&mut self, draft: &mut Draft, mut value: Value) -> Result<Taken, Wrong> {
        let kind = text_at(&value, "type").unwrap_or_default().to_owned();
        let Some(payload) = take(&mut value, "payload") else {
            return Err("no `payload`".into());
        };
        match (kind.as_str(), text_at(&payload, "type")) {
            ("session_meta", _) => {
                draft.id = first_name(&payload, &["id"]).or(draft.id.take());
                let instructions = [
                    "instructions",
                    "base_instructions.text",
                    "base_instructions",
                ]
                .iter()
                .find_map(|path| text_at(&payload, path));
                if let Some(text) = instructions {
                    draft.push(Read {
                        role: Role::System,
                        ..said(Some(text.to_owned()), Vec::new())
                    });
                }
            }
            ("response_item", _) => self.item(draft, payload)?,
            ("event_msg", Some("token_count")) => return Ok(self.usage(draft, &payload)),
            ("compacted", _) => draft.oddities.see(Oddity::Compacted),
            // Other events repeat what the items say.
            _ => {}
        }
        Ok(Taken::Used)
    }
}

impl Importer for Rollout {
    fn take(&mut self, piece: Piece) -> Result<Taken, Wrong> {
        let Piece { place, value, .. } = piece;
        let success = self.success.read(&value);
        let mut draft = self
            .draft
            .take()
            .unwrap_or_else(|| Draft::new(&place, Format::Codex));
        draft.success = success.or(draft.success);
        let taken = self.line(&mut draft, value);
        self.draft = Some(draft);
        taken
    }

    fn closed(&mut self, at_end: bool) -> Vec<Draft> {
        if !at_end {
            return Vec::new();
        }
        let draft = self.draft.take();
        draft
            .filter(|draft| !draft.messages.is_empty())
            .into_iter()
            .collect()
    }
}

fn said(text: Option<String>, calls: Vec<ToolCall>) -> Read {
    Read {
        role: Role::Assistant,
        text,
        calls,
        results: Vec::new(),
    }
}

fn call(item: &mut Value) -> Result<ToolCall, Wrong> {
    let is_shell = text_at(item, "type") == Some("local_shell_call");
    let name = text_at(item, "name").or(is_shell.then_some("local_shell"));
    let Some(name) = name.map(str::to_owned) else {
        return Err("a call names no function".into());
    };
    let id = first_name(item, &["call_id", "id"]).unwrap_or_default();
    let arguments = ["arguments", "input", "action"]
        .iter()
        .find_map(|key| take(item, key));
    Ok(ToolCall {
        id,
        name,
        arguments: arguments.map_or_else(String::new, into_text),
    })
}

/// The output of a call: a text, or an object with the text in it.
fn output(item: &mut Value) -> Read {
    let id = first_name(item, &["call_id"]).unwrap_or_default();
    let mut output = take(item, "output").unwrap_or_default();
    let failed = at(&output, "success") == Some(&Value::Bool(false));
    let text = take(&mut output, "content").unwrap_or(output);
    Read {
        role: Role::Tool,
        results: vec![CallResult {
            id,
            name: None,
            text: if text.is_null() {
                String::new()
            } else {
                into_text(text)
            },
            failed,
        }],
        ..said(None, Vec::new())
    }
}
