//! Runs in words, and as JSON.

use serde::Serialize;
use serde_json::value::RawValue;

use super::{ListArgs, Printing, ShowArgs};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output;
use crate::cli::prices::{in_words, origin};
use crate::files::read_plain;
use crate::letters::{self, spelled};
use crate::message::{Message, Usage, to_json};
use crate::money::PicoUsd;
use crate::pricing::CHAPTER_PRICE;
use crate::run::{RunState, StopReason};
use crate::store::Filter;

/// `loopmeter agent show`.
pub(super) fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    let store = args.place.store()?;
    let record = store.load(&args.id)?;
    if args.trace {
        let path = store.folders().trace(&args.id)?;
        let trace = read_plain(&path).map_err(|error| {
            Failure::CouldNotDo(format!("cannot read {}: {error}", path.display()))
        })?;
        // Its last line may have been cut off anywhere.
        output::line(output::json(String::from_utf8_lossy(&trace).trim_end()))?;
        return Ok(Exit::Fine);
    }
    summary(&record.run, &args.printing)?;
    if !args.printing.json {
        for message in &record.run.messages {
            output::line(transcript_line(message))?;
        }
    }
    Ok(Exit::Fine)
}

/// `loopmeter agent list`.
pub(super) fn list(args: &ListArgs) -> Result<Exit, Failure> {
    let store = args.place.store()?;
    let mut runs = Vec::new();
    let filter = Filter {
        status: args.status,
    };
    for found in store.find(filter)? {
        match found.record {
            Ok(record) => runs.push(record.run),
            Err(error) => output::note(format_args!("{error}")),
        }
    }
    if args.printing.json {
        let all: Vec<_> = runs.iter().map(Shown::new).collect();
        output::line(output::json(&to_json(&all)))?;
        return Ok(Exit::Fine);
    }
    if runs.is_empty() {
        output::note(match args.status {
            None => "no runs yet: start one with `loopmeter agent start --scenario plan`",
            Some(_) => "no run stands so",
        });
    }
    for run in runs {
        let (id, status, turns) = (&run.run_id, run.status.as_str(), run.turns);
        let reason = run.interruption.as_ref().map_or("", StopReason::as_str);
        output::line(format_args!(
            "{id:<12} {status:<19} {reason:<14} turns={turns} cost=${}",
            run.cost
        ))?;
    }
    Ok(Exit::Fine)
}

/// One run, in a few lines or as one JSON object.
pub(super) fn summary(run: &RunState, printing: &Printing) -> Result<(), Failure> {
    if printing.json {
        return output::line(output::json(&to_json(&Shown::new(run))));
    }
    let id = &run.run_id;
    output::line(format_args!(
        "run {id}: {}{}",
        run.status.as_str(),
        why(run)
    ))?;
    output::line(format_args!(
        "  turns={} tools={} in={} out={} cost=${}",
        run.turns, run.tool_runs, run.usage.prompt_tokens, run.usage.completion_tokens, run.cost
    ))?;
    if let Some(price) = Some(&run.settings.price).filter(|price| price.name != CHAPTER_PRICE) {
        let (name, words, origin) = (&price.name, in_words(price), origin(price));
        output::line(format_args!("  price {name}: {words}; {origin}"))?;
    }
    if run.attempts > 0 {
        output::line(format_args!("  {}", wire(run)))?;
    }
    if let Some(answer) = &run.output {
        output::line(format_args!("  answer: {}", printable(answer)))?;
    }
    if let Some(next) = next_step(run) {
        output::line(format_args!("  next: {}", to_the_letter(&next)))?;
    }
    Ok(())
}

/// What the wire saw, and what we count where the endpoint counts otherwise.
fn wire(run: &RunState) -> String {
    let (billed, counted) = (&run.usage, &run.counted);
    let attempts = format!("requests={} attempts={}", run.requests, run.attempts);
    let tokens = |usage: &Usage| (usage.prompt_tokens, usage.completion_tokens);
    if tokens(billed) == tokens(counted) {
        return attempts;
    }
    format!(
        "{attempts} our own count: in={} out={}",
        counted.prompt_tokens, counted.completion_tokens
    )
}

fn why(run: &RunState) -> String {
    let reason = match &run.interruption {
        Some(StopReason::Approval {
            call_id,
            tool_name,
            args,
        }) => {
            format!(" / approval -> {tool_name}({}) as {call_id}", to_json(args))
        }
        Some(StopReason::Cancelled { reason }) => format!(" / cancelled: {reason}"),
        Some(StopReason::RepeatedCall { tool_name, args, k }) => {
            format!(" / repeated_call: {tool_name}({args}) {k} times in a row")
        }
        Some(StopReason::Custom { name }) => format!(" / custom: {name}"),
        Some(StopReason::UnknownOutcome {
            call_id,
            tool_name,
            args,
        }) => {
            let args = to_json(args);
            format!(
                " / unknown_outcome: {call_id} = {tool_name}({args}) was started and never confirmed"
            )
        }
        Some(other) => format!(" / {}", other.as_str()),
        None => String::new(),
    };
    let error = run
        .error
        .as_ref()
        .map(|error| format!(": {error}"))
        .unwrap_or_default();
    to_the_letter(&format!("{reason}{error}"))
}

fn next_step(run: &RunState) -> Option<String> {
    let id = &run.run_id;
    match &run.interruption {
        Some(StopReason::Approval { .. }) => Some(format!(
            "loopmeter agent approve {id}, or loopmeter agent reject {id} --reason \"…\""
        )),
        Some(StopReason::UnknownOutcome { call_id, .. }) => Some(format!(
            "look whether it was done, then loopmeter agent resume {id} --done {call_id}, or --retry {call_id}"
        )),
        Some(StopReason::MaxTurns) => {
            let more = run.turns.saturating_mul(2);
            Some(format!("loopmeter agent resume {id} --max-turns {more}"))
        }
        Some(StopReason::MaxBudget) => Some(format!(
            "loopmeter agent resume {id} --max-budget-usd {}",
            run.cost + run.cost
        )),
        _ if run.status.is_resumable() => Some(format!("loopmeter agent resume {id}")),
        _ => None,
    }
}

fn transcript_line(message: &Message) -> String {
    let text = match message {
        Message::System { content } => format!("  system     {content}"),
        Message::User { content } => format!("  user       {content}"),
        Message::Assistant {
            content,
            tool_calls,
        } => {
            let calls = tool_calls
                .iter()
                .map(|call| format!("{} = {}({})", call.id, call.name, call.arguments))
                .map(|call| to_the_letter(&call));
            let said: Vec<String> = content.iter().cloned().chain(calls).collect();
            format!("  assistant  {}", said.join("; "))
        }
        Message::Tool {
            tool_call_id,
            content,
            ..
        } => {
            format!("  tool       {tool_call_id} = {content}")
        }
    };
    printable(text.trim_end())
}

/// Text of a model or tool, fit for a terminal: control and direction characters are spelled out.
fn printable(text: &str) -> String {
    spelled(text, letters::acts)
}

/// What somebody decides upon, such as a call: nothing in it is there without being seen.
fn to_the_letter(text: &str) -> String {
    spelled(text, letters::hides)
}

/// A run as `--json` prints it.
#[derive(Serialize)]
struct Shown<'a> {
    run_id: &'a str,
    status: &'static str,
    reason: Option<&'a StopReason>,
    error: Option<&'a str>,
    answer: Option<&'a str>,
    turns: u32,
    requests: u32,
    attempts: u32,
    tool_runs: u32,
    prompt_tokens: u64,
    completion_tokens: u64,
    counted_prompt_tokens: u64,
    counted_completion_tokens: u64,
    cost_usd: Option<Box<RawValue>>,
    tree_cost_usd: Option<Box<RawValue>>,
    price: &'a str,
    price_source: &'a str,
    price_date: &'a str,
    wall_ms: u64,
    messages: &'a [Message],
}

impl<'a> Shown<'a> {
    fn new(run: &'a RunState) -> Self {
        Self {
            run_id: &run.run_id,
            status: run.status.as_str(),
            reason: run.interruption.as_ref(),
            error: run.error.as_deref(),
            answer: run.output.as_deref(),
            turns: run.turns,
            requests: run.requests,
            attempts: run.attempts,
            tool_runs: run.tool_runs,
            prompt_tokens: run.usage.prompt_tokens,
            completion_tokens: run.usage.completion_tokens,
            counted_prompt_tokens: run.counted.prompt_tokens,
            counted_completion_tokens: run.counted.completion_tokens,
            cost_usd: dollars(run.cost),
            tree_cost_usd: dollars(run.tree_cost()),
            price: &run.settings.price.name,
            price_source: &run.settings.price.source,
            price_date: &run.settings.price.date,
            wall_ms: u64::try_from(run.elapsed.as_millis()).unwrap_or(u64::MAX),
            messages: &run.messages,
        }
    }
}

/// Dollars as a JSON number with six decimals or more, not rounded through a float.
fn dollars(amount: PicoUsd) -> Option<Box<RawValue>> {
    RawValue::from_string(amount.to_string()).ok()
}
