//! The trace lines that loopmeter writes: turns with their tokens, and calls, but no texts.

use serde_json::Value;

use super::draft::Draft;
use super::import::{Importer, Piece, Taken};
use super::message::{CallResult, Read, Role, Wrong};
use super::reported::Reported;
use super::value::{at, count_at, dollars_at, text_at};
use super::{Format, SuccessMark};
use crate::message::{Message, ToolCall, Usage};
use crate::money::PicoUsd;

/// How many runs are kept open at once; the one that waits longest is closed for another.
const OPEN: usize = 1_024;

/// What stands for the text of a result that is marked as a failure.
const FAILED: &str = "Error";

pub(super) struct Traces {
    success: SuccessMark,
    /// The one that was added to last is the last.
    open: Vec<Run>,
    closed: Vec<Draft>,
}

/// A run whose lines may go on.
struct Run {
    draft: Draft,
    /// The number of its last turn.
    turn: u64,
    /// What it had cost then.
    cost: PicoUsd,
    /// Calls that wait for their result.
    waiting: Vec<(String, String)>,
}

impl Traces {
    pub(super) fn new(success: SuccessMark) -> Self {
        Self {
            success,
            open: Vec::new(),
            closed: Vec::new(),
        }
    }

    /// The run of that id, which is the last one then.
    fn run(&mut self, id: &str, piece: &Piece) -> Option<&mut Run> {
        let found = self
            .open
            .iter()
            .rposition(|run| run.draft.id.as_deref() == Some(id));
        if let Some(found) = found {
            let run = self.open.remove(found);
            self.open.push(run);
        } else {
            if self.open.len() == OPEN {
                self.closed.push(self.open.remove(0).draft);
            }
            let mut draft = Draft::new(&piece.place, Format::Trace);
            draft.id = Some(id.to_owned());
            self.open.push(Run {
                draft,
                turn: 0,
                cost: PicoUsd::ZERO,
                waiting: Vec::new(),
            });
        }
        self.open.last_mut()
    }
}

impl Importer for Traces {
    fn take(&mut self, piece: Piece) -> Result<Taken, Wrong> {
        let success = self.success.read(&piece.value);
        let (Some(id), Some(kind)) = (
            text_at(&piece.value, "runId"),
            text_at(&piece.value, "type"),
        ) else {
            return Err("no `runId` and `type`".into());
        };
        let Some(run) = self.run(id, &piece) else {
            return Ok(Taken::Used);
        };
        run.draft.success = success.or(run.draft.success);
        match kind {
            "turn" => run.turn(&piece.value),
            "tool_start" => run.tool_start(&piece.value),
            "tool_result" => run.tool_result(&piece.value),
            "run_stopped" => {
                run.draft.ended = text_at(&piece.value, "status").map(str::to_owned);
                Ok(Taken::Used)
            }
            "attempt" | "tool_progress" | "approval_required" => Ok(Taken::Used),
            other => Err(Wrong(format!("{other:?} is no event of a trace"))),
        }
    }

    fn closed(&mut self, at_end: bool) -> Vec<Draft> {
        if at_end {
            let open = std::mem::take(&mut self.open);
            self.closed.extend(open.into_iter().map(|run| run.draft));
        }
        std::mem::take(&mut self.closed)
    }
}

impl Run {
    fn turn(&mut self, line: &Value) -> Result<Taken, Wrong> {
        let needed = |path: &str| {
            count_at(line, path).ok_or_else(|| Wrong(format!("a turn without `{path}`")))
        };
        let number = needed("turn")?;
        let (prompt, completion) = (needed("prompt_tokens")?, needed("completion_tokens")?);
        if number <= self.turn {
            return Ok(Taken::Duplicate);
        }
        self.turn = number;
        let counted = |path: &str, billed: u64| count_at(line, path).unwrap_or(billed);
        let billed_by_count = at(line, "counted.billed") == Some(&Value::Bool(true));
        let cost_so_far = dollars_at(line, "costUsd");
        let cost = cost_so_far.map(|cost| cost - self.cost);
        self.cost = cost_so_far.unwrap_or(self.cost);
        let reported = Reported {
            prompt_tokens: (!billed_by_count).then_some(prompt),
            completion_tokens: (!billed_by_count).then_some(completion),
            cost,
            ..Reported::default()
        };
        let reply = Read {
            role: Role::Assistant,
            text: None,
            calls: Vec::new(),
            results: Vec::new(),
        };
        self.waiting.clear();
        if let Some(at) = self.draft.push(reply) {
            self.draft.turn(at, reported);
        }
        if let Some(turn) = self.draft.turns.last_mut() {
            turn.counted = Some(Usage {
                prompt_tokens: counted("counted.prompt_tokens", prompt),
                completion_tokens: counted("counted.completion_tokens", completion),
                ..Usage::default()
            });
        }
        Ok(Taken::Used)
    }

    fn tool_start(&mut self, line: &Value) -> Result<Taken, Wrong> {
        let text = |path: &str| {
            text_at(line, path).ok_or_else(|| Wrong(format!("a `tool_start` without `{path}`")))
        };
        let call = ToolCall {
            id: text("callId")?.to_owned(),
            name: text("toolName")?.to_owned(),
            arguments: text("args")?.to_owned(),
        };
        let waiting = (call.id.clone(), call.name.clone());
        if self.waiting.contains(&waiting) {
            return Ok(Taken::Duplicate);
        }
        self.waiting.push(waiting);
        let Some(reply) = self.draft.turns.last().map(|turn| turn.reply) else {
            return Err("a call before the first turn".into());
        };
        if let Some(Message::Assistant { tool_calls, .. }) = self.draft.messages.get_mut(reply) {
            tool_calls.push(call);
        }
        Ok(Taken::Used)
    }

    /// A result that answers no call that started was refused, or remembered, without one.
    fn tool_result(&mut self, line: &Value) -> Result<Taken, Wrong> {
        let Some(name) = text_at(line, "toolName") else {
            return Err("a `tool_result` without `toolName`".into());
        };
        let found = self.waiting.iter().position(|(_, waiting)| waiting == name);
        let Some(found) = found else {
            return Ok(Taken::Used);
        };
        let (id, name) = self.waiting.remove(found);
        let failed = at(line, "ok") == Some(&Value::Bool(false));
        let text = if failed { FAILED } else { "" };
        self.draft.push(Read {
            role: Role::Tool,
            text: None,
            calls: Vec::new(),
            results: vec![CallResult {
                id,
                name: Some(name),
                text: text.to_owned(),
                failed,
            }],
        });
        Ok(Taken::Used)
    }
}
