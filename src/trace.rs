//! The trace: one JSON line per event, from a small vocabulary.

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::event::{Event, Observer};
use crate::message::{FinishReason, to_json};
use crate::money::PicoUsd;

/// Writes events as JSON lines; flushed line by line, so that a killed run leaves whole lines.
#[derive(Debug)]
pub struct TraceWriter<W> {
    out: W,
    error: Option<io::Error>,
}

impl<W: Write + Send> TraceWriter<W> {
    /// A trace into `out`.
    pub fn new(out: W) -> Self {
        Self { out, error: None }
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// The first error that writing met; nothing was written after it.
    pub fn finish(self) -> io::Result<W> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.out),
        }
    }
}

impl<W: Write + Send> Observer for TraceWriter<W> {
    fn observe(&mut self, run_id: &str, _at: Duration, event: &Event) {
        if self.error.is_none() {
            let line = to_json(&Line::new(run_id, event)) + "\n";
            let written = self
                .out
                .write_all(line.as_bytes())
                .and_then(|()| self.out.flush());
            self.error = written.err();
        }
    }
}

/// An event as a trace line: the field names and their order are a contract with readers.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(rename = "runId")]
    run_id: &'a str,
    #[serde(flatten)]
    fields: Fields<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Fields<'a> {
    Turn {
        turn: u32,
        prompt_tokens: u64,
        completion_tokens: u64,
        total_tokens: u64,
        #[serde(rename = "costUsd")]
        cost_usd: Option<Box<RawValue>>,
        finish: Option<&'static str>,
    },
    ToolStart {
        #[serde(rename = "toolName")]
        tool_name: &'a str,
        args: &'a str,
        #[serde(rename = "callId")]
        call_id: &'a str,
    },
    ToolProgress {
        #[serde(rename = "toolName")]
        tool_name: &'a str,
        label: &'a str,
    },
    ToolResult {
        #[serde(rename = "toolName")]
        tool_name: &'a str,
        ms: u64,
        ok: bool,
    },
    ApprovalRequired {
        #[serde(rename = "toolName")]
        tool_name: &'a str,
        args: &'a str,
        #[serde(rename = "callId")]
        call_id: &'a str,
    },
    RunStopped {
        status: &'static str,
        reason: Option<&'a str>,
        turns: u32,
        #[serde(rename = "costUsd")]
        cost_usd: Option<Box<RawValue>>,
    },
}

impl<'a> Line<'a> {
    fn new(run_id: &'a str, event: &'a Event) -> Self {
        let fields = match event {
            Event::Turn {
                turn,
                usage,
                cost,
                finish,
                ..
            } => Fields::Turn {
                turn: *turn,
                prompt_tokens: usage.prompt_tokens,
                completion_tokens: usage.completion_tokens,
                total_tokens: usage.total_tokens(),
                cost_usd: dollars(*cost),
                finish: finish.map(FinishReason::as_str),
            },
            Event::ToolStart {
                tool_name,
                args,
                call_id,
            } => Fields::ToolStart {
                tool_name,
                args,
                call_id,
            },
            Event::ToolProgress { tool_name, label } => Fields::ToolProgress { tool_name, label },
            Event::ToolResult {
                tool_name,
                took,
                ok,
            } => {
                let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
                Fields::ToolResult {
                    tool_name,
                    ms,
                    ok: *ok,
                }
            }
            Event::ApprovalRequired {
                tool_name,
                args,
                call_id,
            } => Fields::ApprovalRequired {
                tool_name,
                args,
                call_id,
            },
            Event::RunStopped {
                status,
                reason,
                turns,
                cost,
            } => Fields::RunStopped {
                status,
                reason: reason.as_deref(),
                turns: *turns,
                cost_usd: dollars(*cost),
            },
        };
        Self { run_id, fields }
    }
}

/// Dollars as a JSON number with every digit, not rounded through a float.
fn dollars(cost: PicoUsd) -> Option<Box<RawValue>> {
    RawValue::from_string(cost.to_shortest()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Usage;

    fn trace(events: &[Event]) -> String {
        let mut writer = TraceWriter::new(Vec::new());
        for event in events {
            writer.observe("n1", Duration::ZERO, event);
        }
        String::from_utf8(writer.finish().unwrap()).unwrap()
    }

    #[test]
    fn every_event_is_one_line_with_the_run_id_first() {
        let name = || "read_file".to_owned();
        let lines = trace(&[
            Event::Turn {
                turn: 2,
                usage: Usage {
                    prompt_tokens: 269,
                    completion_tokens: 29,
                    ..Usage::default()
                },
                cost: PicoUsd::from_pico(1_570_000_000),
                finish: Some(FinishReason::ToolCalls),
                provider: Duration::from_millis(9),
            },
            Event::ToolStart {
                tool_name: name(),
                args: "{\"p\":1}".into(),
                call_id: "c1".into(),
            },
            Event::ToolProgress {
                tool_name: name(),
                label: "half\nway".into(),
            },
            Event::ToolResult {
                tool_name: name(),
                took: Duration::from_micros(1_999),
                ok: false,
            },
            Event::ApprovalRequired {
                tool_name: name(),
                args: "{}".into(),
                call_id: "c2".into(),
            },
            Event::RunStopped {
                status: "interrupted",
                reason: Some("approval".to_owned()),
                turns: 2,
                cost: PicoUsd::from_pico(1_570_000_000),
            },
        ]);
        assert_eq!(
            lines,
            r#"{"runId":"n1","type":"turn","turn":2,"prompt_tokens":269,"completion_tokens":29,"total_tokens":298,"costUsd":0.00157,"finish":"tool_calls"}
{"runId":"n1","type":"tool_start","toolName":"read_file","args":"{\"p\":1}","callId":"c1"}
{"runId":"n1","type":"tool_progress","toolName":"read_file","label":"half\nway"}
{"runId":"n1","type":"tool_result","toolName":"read_file","ms":1,"ok":false}
{"runId":"n1","type":"approval_required","toolName":"read_file","args":"{}","callId":"c2"}
{"runId":"n1","type":"run_stopped","status":"interrupted","reason":"approval","turns":2,"costUsd":0.00157}
"#
        );
    }

    #[test]
    fn a_full_disk_is_told_at_the_end_and_ends_the_trace() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut writer = TraceWriter::new(Full);
        writer.observe(
            "n1",
            Duration::ZERO,
            &Event::ToolProgress {
                tool_name: "t".into(),
                label: "l".into(),
            },
        );
        assert_eq!(
            writer.finish().err().map(|e| e.kind()),
            Some(io::ErrorKind::StorageFull)
        );
    }
}
