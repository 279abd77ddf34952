//! The trace: one JSON line per event, from a small vocabulary.

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::event::{Attempt, Event, Metering, Observer, UsageSource};
use crate::letters::inert_json;
use crate::message::{FinishReason, Usage, to_json};
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
            let line = inert_json(to_json(&Line::new(run_id, event))) + "\n";
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
    Attempt(AttemptLine),
    Turn(TurnLine),
    ContextEdited {
        turn: u32,
        results: u32,
    },
    Summary(SummaryLine),
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

#[derive(Serialize)]
struct TurnLine {
    turn: u32,
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    #[serde(flatten)]
    cache: Cache,
    #[serde(rename = "costUsd")]
    cost_usd: Option<Box<RawValue>>,
    finish: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counted: Option<Counted>,
    #[serde(rename = "firstTokenMs", skip_serializing_if = "Option::is_none")]
    first_token_ms: Option<u64>,
}

impl TurnLine {
    fn new(
        (turn, finish): (u32, Option<FinishReason>),
        usage: &Usage,
        metering: &Metering,
        cost: PicoUsd,
    ) -> Self {
        Self {
            turn,
            prompt_tokens: usage.prompt_tokens,
            completion_tokens: usage.completion_tokens,
            total_tokens: usage.total_tokens(),
            cache: Cache::of(usage),
            cost_usd: dollars(cost),
            finish: finish.map(FinishReason::as_str),
            counted: Counted::of(usage, metering),
            first_token_ms: metering.first_token.map(millis),
        }
    }
}

#[derive(Serialize)]
struct SummaryLine {
    turn: u32,
    prompt_tokens: u64,
    completion_tokens: u64,
    #[serde(flatten)]
    cache: Cache,
    #[serde(rename = "costUsd")]
    cost_usd: Option<Box<RawValue>>,
    ms: u64,
}

impl SummaryLine {
    fn new(turn: u32, usage: &Usage, cost: PicoUsd, provider: Duration) -> Self {
        Self {
            turn,
            prompt_tokens: usage.prompt_tokens,
            completion_tokens: usage.completion_tokens,
            cache: Cache::of(usage),
            cost_usd: dollars(cost),
            ms: millis(provider),
        }
    }
}

#[derive(Serialize)]
struct AttemptLine {
    turn: u32,
    number: u32,
    outcome: &'static str,
    status: Option<u16>,
    #[serde(rename = "waitedMs")]
    waited_ms: u64,
    ms: u64,
}

impl AttemptLine {
    fn new(turn: u32, attempt: &Attempt) -> Self {
        Self {
            turn,
            number: attempt.number,
            outcome: attempt.outcome.as_str(),
            status: attempt.outcome.status(),
            waited_ms: millis(attempt.waited),
            ms: millis(attempt.took),
        }
    }
}

/// What a cache did for a turn, written where it did something.
#[derive(Serialize)]
struct Cache {
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_write_tokens: Option<u64>,
}

impl Cache {
    fn of(usage: &Usage) -> Self {
        let some = |tokens: Option<u64>| tokens.filter(|tokens| *tokens > 0);
        Self {
            cached_tokens: some(usage.cached_tokens),
            cache_write_tokens: some(usage.cache_write_tokens),
        }
    }
}

/// Our own count of a turn's tokens, written where the provider's differs or is missing.
#[derive(Serialize)]
struct Counted {
    prompt_tokens: u64,
    completion_tokens: u64,
    /// Whether the turn is billed by it, because the provider did not say.
    billed: bool,
}

impl Counted {
    fn of(usage: &Usage, metering: &Metering) -> Option<Self> {
        let tokens = |usage: &Usage| (usage.prompt_tokens, usage.completion_tokens);
        let billed = metering.source == UsageSource::Counted;
        let counted = tokens(&metering.counted);
        (billed || counted != tokens(usage)).then_some(Self {
            prompt_tokens: counted.0,
            completion_tokens: counted.1,
            billed,
        })
    }
}

impl<'a> Line<'a> {
    fn new(run_id: &'a str, event: &'a Event) -> Self {
        Self {
            run_id,
            fields: Fields::of(event),
        }
    }
}

impl<'a> Fields<'a> {
    fn of(event: &'a Event) -> Self {
        match event {
            Event::Attempt { turn, attempt } => Self::Attempt(AttemptLine::new(*turn, attempt)),
            Event::Turn {
                turn,
                usage,
                metering,
                cost,
                finish,
                ..
            } => Self::Turn(TurnLine::new((*turn, *finish), usage, metering, *cost)),
            Event::ContextEdited { turn, results } => Self::ContextEdited {
                turn: *turn,
                results: *results,
            },
            Event::Summary {
                turn,
                usage,
                cost,
                provider,
            } => Self::Summary(SummaryLine::new(*turn, usage, *cost, *provider)),
            Event::ToolStart {
                tool_name,
                args,
                call_id,
            } => Self::ToolStart {
                tool_name,
                args,
                call_id,
            },
            Event::ToolProgress { tool_name, label } => Self::ToolProgress { tool_name, label },
            Event::ToolResult {
                tool_name,
                took,
                ok,
            } => Self::ToolResult {
                tool_name,
                ms: millis(*took),
                ok: *ok,
            },
            Event::ApprovalRequired {
                tool_name,
                args,
                call_id,
            } => Self::ApprovalRequired {
                tool_name,
                args,
                call_id,
            },
            Event::RunStopped {
                status,
                reason,
                turns,
                cost,
            } => Self::RunStopped {
                status,
                reason: reason.as_deref(),
                turns: *turns,
                cost_usd: dollars(*cost),
            },
        }
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// Dollars as a JSON number with every digit, not rounded through a float.
fn dollars(cost: PicoUsd) -> Option<Box<RawValue>> {
    RawValue::from_string(cost.to_shortest()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::AttemptOutcome;

    fn usage(prompt_tokens: u64, completion_tokens: u64) -> Usage {
        Usage {
            prompt_tokens,
            completion_tokens,
            ..Usage::default()
        }
    }

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
                metering: Metering::reported(Usage {
                    prompt_tokens: 269,
                    completion_tokens: 29,
                    ..Usage::default()
                }),
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
    fn what_only_a_wire_can_say_is_written_only_where_there_is_one() {
        let counted = usage(7, 2);
        let reported = Usage {
            cached_tokens: Some(20),
            cache_write_tokens: Some(0),
            ..usage(30, 4)
        };
        let lines = trace(&[
            Event::Attempt {
                turn: 1,
                attempt: Attempt {
                    number: 2,
                    outcome: AttemptOutcome::Refused { status: 429 },
                    waited: Duration::from_millis(20),
                    took: Duration::from_millis(3),
                },
            },
            Event::Turn {
                turn: 1,
                usage: reported,
                metering: Metering {
                    counted,
                    source: UsageSource::Reported,
                    first_token: Some(Duration::from_millis(5)),
                },
                cost: PicoUsd::ZERO,
                finish: None,
                provider: Duration::ZERO,
            },
        ]);
        assert_eq!(
            lines,
            r#"{"runId":"n1","type":"attempt","turn":1,"number":2,"outcome":"refused","status":429,"waitedMs":20,"ms":3}
{"runId":"n1","type":"turn","turn":1,"prompt_tokens":30,"completion_tokens":4,"total_tokens":34,"cached_tokens":20,"costUsd":0,"finish":null,"counted":{"prompt_tokens":7,"completion_tokens":2,"billed":false},"firstTokenMs":5}
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
