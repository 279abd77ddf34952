//! A recording that is being put together, and how it is counted.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::message::{Oddities, Oddity, Read, Role, Wrong, read};
use super::reported::Reported;
use super::value::{take, take_array, text_at};
use super::{Format, Place, Recording, Turn};
use crate::message::{Message, ToolDefinition, Usage};
use crate::tokens::{RunningCount, count_completion, count_tools};

/// A recording before it is counted.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) id: Option<String>,
    pub(super) place: Place,
    pub(super) format: Format,
    pub(super) messages: Vec<Message>,
    pub(super) failed: Vec<usize>,
    pub(super) turns: Vec<DraftTurn>,
    /// What the tools add to every request from here on.
    pub(super) tools_tokens: u64,
    /// What is reported of the whole run, beside what is of its turns.
    pub(super) reported: Reported,
    pub(super) success: Option<bool>,
    pub(super) ended: Option<String>,
    pub(super) oddities: Oddities,
    /// The tools of the calls so far, by id.
    names: BTreeMap<String, String>,
}

/// A turn of a draft.
#[derive(Clone, Copy, Debug)]
pub(super) struct DraftTurn {
    pub(super) reply: usize,
    pub(super) tools_tokens: u64,
    pub(super) reported: Reported,
    /// The count that comes with a record that has no texts.
    pub(super) counted: Option<Usage>,
}

impl Draft {
    pub(super) fn new(place: &Place, format: Format) -> Self {
        Self {
            id: None,
            place: place.clone(),
            format,
            messages: Vec::new(),
            failed: Vec::new(),
            turns: Vec::new(),
            tools_tokens: 0,
            reported: Reported::default(),
            success: None,
            ended: None,
            oddities: Oddities::default(),
            names: BTreeMap::new(),
        }
    }

    /// Reads a message and appends it; a reply is a turn.
    pub(super) fn read(&mut self, message: Value) -> Result<(), Wrong> {
        let usage = Reported::of_openai(message.get("usage"));
        let read = read(message, &mut self.oddities)?;
        if let Some(reply) = self.push(read) {
            self.turn(reply, usage);
        }
        Ok(())
    }

    /// Reads a message and appends it; a reply is part of what was sent, and no turn.
    pub(super) fn read_as_sent(&mut self, message: Value) -> Result<(), Wrong> {
        let read = read(message, &mut self.oddities)?;
        self.push(read);
        Ok(())
    }

    /// Reads the messages, saying which one is wrong.
    pub(super) fn read_all(
        &mut self,
        messages: Vec<Value>,
        mut one: impl FnMut(&mut Self, Value) -> Result<(), Wrong>,
    ) -> Result<(), Wrong> {
        for (at, message) in messages.into_iter().enumerate() {
            one(self, message).map_err(|Wrong(what)| Wrong(format!("message {at}: {what}")))?;
        }
        Ok(())
    }

    /// Appends a message and says where, if it is a reply.
    pub(super) fn push(&mut self, read: Read) -> Option<usize> {
        let Read {
            role,
            text,
            calls,
            results,
        } = read;
        let has_results = !results.is_empty();
        for result in results {
            let known = || self.names.get(&result.id).cloned();
            let name = result.name.or_else(known).unwrap_or_default();
            if result.failed {
                self.failed.push(self.messages.len());
            }
            self.messages.push(Message::Tool {
                tool_call_id: result.id,
                name,
                content: result.text,
            });
        }
        match role {
            Role::Assistant => {
                for call in &calls {
                    self.names.insert(call.id.clone(), call.name.clone());
                }
                self.messages.push(Message::Assistant {
                    content: text,
                    tool_calls: calls,
                });
                return Some(self.messages.len() - 1);
            }
            Role::System => self.messages.push(Message::System {
                content: text.unwrap_or_default(),
            }),
            Role::User if text.is_some() || !has_results => self.messages.push(Message::User {
                content: text.unwrap_or_default(),
            }),
            Role::User | Role::Tool => {}
        }
        None
    }

    /// Makes the reply at this place a turn.
    pub(super) fn turn(&mut self, reply: usize, reported: Reported) {
        self.turns.push(DraftTurn {
            reply,
            tools_tokens: self.tools_tokens,
            reported,
            counted: None,
        });
    }

    /// Takes what else the model said into a reply that is already there; what is there already
    /// is not said twice.
    pub(super) fn extend_reply(&mut self, reply: usize, more: Read) {
        let Some(Message::Assistant {
            content,
            tool_calls,
        }) = self.messages.get_mut(reply)
        else {
            return;
        };
        if let Some(more) = more.text {
            match content {
                Some(so_far) if so_far.lines().eq(more.lines()) => {}
                Some(so_far) => *so_far = format!("{so_far}\n{more}"),
                None => *content = Some(more),
            }
        }
        for call in more.calls {
            if !tool_calls.contains(&call) {
                self.names.insert(call.id.clone(), call.name.clone());
                tool_calls.push(call);
            }
        }
    }

    /// What makes a session that session, where the format gives each a name of its own.
    pub(super) fn session(&self) -> Option<Vec<u8>> {
        let is_named = matches!(self.format, Format::ClaudeCode | Format::Codex);
        let id = self.id.as_ref().filter(|_| is_named)?;
        serde_json::to_vec(&(id, &self.messages)).ok()
    }

    /// Reads the tools on offer, where the value has some.
    pub(super) fn read_tools(&mut self, value: &mut Value) {
        self.tools_tokens = tools_tokens(take_array(value, "tools"));
    }

    /// The recording, counted.
    pub(super) fn counted(mut self) -> Recording {
        self.see_results_as_user_text();
        let turns = self.count();
        let mut of_turns = Reported::default();
        for turn in &turns {
            of_turns.add(&turn.reported);
        }
        Recording {
            id: self.id.unwrap_or_else(|| self.place.to_string()),
            place: self.place,
            format: self.format,
            messages: self.messages,
            failed: self.failed,
            turns,
            reported: self.reported.or(of_turns),
            success: self.success,
            ended: self.ended,
            oddities: self.oddities,
        }
    }

    /// Counts every turn, each text once and each reply twice, however long the run.
    fn count(&self) -> Vec<Turn> {
        let mut running = RunningCount::new();
        let mut left = self.turns.iter().peekable();
        let mut turns = Vec::with_capacity(self.turns.len());
        for (at, message) in self.messages.iter().enumerate() {
            while let Some(turn) = left.next_if(|turn| turn.reply == at) {
                let counted = turn.counted.unwrap_or_else(|| Usage {
                    prompt_tokens: running.tokens() + turn.tools_tokens,
                    completion_tokens: completion_tokens(message),
                    ..Usage::default()
                });
                turns.push(Turn {
                    reply: at,
                    counted,
                    tools_tokens: turn.tools_tokens,
                    reported: turn.reported,
                });
            }
            running.push(message);
        }
        turns
    }

    fn see_results_as_user_text(&mut self) {
        let mut open: BTreeSet<&str> = BTreeSet::new();
        for message in &self.messages {
            match message {
                Message::Assistant { tool_calls, .. } => {
                    open = tool_calls.iter().map(|call| call.id.as_str()).collect();
                }
                Message::Tool { tool_call_id, .. } => {
                    open.remove(tool_call_id.as_str());
                }
                Message::User { .. } => {
                    for _ in std::mem::take(&mut open) {
                        self.oddities.see(Oddity::ResultAsUserText);
                    }
                }
                Message::System { .. } => {}
            }
        }
    }
}

fn completion_tokens(message: &Message) -> u64 {
    match message {
        Message::Assistant {
            content,
            tool_calls,
        } => count_completion(content.as_deref(), tool_calls),
        _ => 0,
    }
}

/// What tools cost in a request; nothing where there are none, because the key is missing then.
pub(super) fn tools_tokens(tools: Vec<Value>) -> u64 {
    let tools: Vec<ToolDefinition> = tools.into_iter().map(definition).collect();
    match tools.as_slice() {
        [] => 0,
        tools => count_tools(tools),
    }
}

/// A definition whose function may lie in an object of its own.
fn definition(mut tool: Value) -> ToolDefinition {
    let mut function = take(&mut tool, "function").unwrap_or(tool);
    let schema = ["parameters", "input_schema"]
        .iter()
        .find_map(|key| take(&mut function, key));
    let text = |key: &str| text_at(&function, key).unwrap_or_default().to_owned();
    ToolDefinition {
        name: text("name"),
        description: text("description"),
        parameters: schema.unwrap_or_else(|| Value::Object(serde_json::Map::new())),
    }
}
