//! `loopmeter fit`: how long a real model took, as a line that a scripted one draws from.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::exit::{Exit, Failure};
use super::output::{self, counted};
use super::signals::Interrupt;
use crate::latency::{FEW, Fitted, Law, Replies, Reply, Shape, Timed, Times};
use crate::results::stats::Thousandths;

pub(super) const EXAMPLES: &str = "\
Examples:
  loopmeter fit trace.jsonl                      # a trace of ours, with firstTokenMs
  loopmeter fit results/ttft-real/turns.csv      # or a table: ttft_ms, output_tokens, total_ms
  loopmeter fit --law gamma measured.csv         # this kind, whether or not it is closer
  loopmeter fit --law empirical measured.csv     # no law: what was measured is drawn again
  loopmeter serve --latency \"$(loopmeter fit --line trace.jsonl)\"

The line goes into an experiment, under [settings], or to `serve --latency`. Where no reply tells
its first token, the time of whole replies is fitted.";

/// So many lines that could not be read are named; the others are counted.
const NAMED: usize = 20;
/// Quantiles that are shown.
const PLACES: [Thousandths; 3] = [500, 950, 990];

/// `loopmeter fit`.
#[derive(Debug, Args)]
pub(super) struct FitArgs {
    /// Traces or other JSON lines, or CSV files: keys and columns `ttft_ms`, `output_tokens`,
    /// `total_ms`, of one reply each
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Which distribution the line holds
    #[arg(long, value_name = "LAW", value_enum, default_value = "closest")]
    law: LawArg,
    /// Print the line only
    #[arg(long, conflicts_with = "json")]
    line: bool,
    /// Print everything as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum LawArg {
    /// The one that is closer to what was measured
    Closest,
    /// Log-normal
    LogNormal,
    /// Gamma
    Gamma,
    /// What was measured, each value as likely as the other; at most 10,000 values
    Empirical,
}

impl LawArg {
    const fn shape(self) -> Shape {
        match self {
            Self::Closest => Shape::Closest,
            Self::LogNormal => Shape::LogNormal,
            Self::Gamma => Shape::Gamma,
            Self::Empirical => Shape::Empirical,
        }
    }
}

/// Does what `args` ask for.
pub(super) fn run(args: &FitArgs) -> Result<Exit, Failure> {
    let _interrupt = Interrupt::listen_while_reading();
    let replies = read(&args.files)?;
    let times = Times::of(&replies).map_err(|error| Failure::wrong_input(&error))?;
    let times = times.ok_or_else(|| {
        let files = counted(size(args.files.len()), "file");
        Failure::WrongInput(format!(
            "no time in {files}; a reply needs `ttft_ms`, `firstTokenMs` or `total_ms`"
        ))
    })?;
    let pace = times.pace(args.law.shape());
    let pace = pace.map_err(|error| Failure::wrong_input(&error))?;
    let line = pace.to_string();
    if args.json {
        output::line(json_of(&times, &line))?;
        return Ok(Exit::Fine);
    }
    warn(&times);
    if args.line {
        output::line(line)?;
        return Ok(Exit::Fine);
    }
    output::line(text_of(&times, &replies))?;
    output::line(format_args!("latency = \"{line}\""))?;
    Ok(Exit::Fine)
}

fn read(files: &[PathBuf]) -> Result<Vec<Reply>, Failure> {
    let mut replies = Vec::new();
    for file in files {
        let read = Replies::read(file).map_err(|error| {
            let message = format!("{}: cannot be read: {error}", file.display());
            match error.kind() {
                std::io::ErrorKind::InvalidData => Failure::WrongInput(message),
                _ => Failure::CouldNotDo(message),
            }
        })?;
        for skipped in read.skipped.iter().take(NAMED) {
            let (line, why) = (skipped.line, &skipped.why);
            output::note(format_args!("{}:{line}: skipped: {why}", file.display()));
        }
        if let Some(more) = read
            .skipped
            .len()
            .checked_sub(NAMED)
            .filter(|more| *more > 0)
        {
            let lines = counted(size(more), "more line");
            output::note(format_args!("{}: {lines} skipped", file.display()));
        }
        replies.extend(read.replies);
    }
    Ok(replies)
}

/// What was timed, each with its name.
fn named(times: &Times) -> impl Iterator<Item = (&'static str, &Timed)> {
    let first = if times.whole {
        "whole reply"
    } else {
        "time to the first token"
    };
    let first = std::iter::once((first, &times.ttft));
    first.chain(
        times
            .per_token
            .iter()
            .map(|timed| ("time per token", timed)),
    )
}

/// Says where what is printed is little more than a guess.
fn warn(times: &Times) {
    for (name, timed) in named(times) {
        let n = timed.sample.n();
        if n < FEW {
            output::note(format_args!(
                "warning: {name}: n = {n}; with fewer than {FEW} values the parameters are a guess"
            ));
        }
        if timed.zeros > 0 {
            let zeros = counted(size(timed.zeros), "value");
            output::note(format_args!(
                "warning: {name}: {zeros} of 0 ms left out; measure more finely"
            ));
        }
        if timed
            .fit
            .as_ref()
            .is_ok_and(|fit| fit.closest().ks > by_chance(timed))
        {
            output::note(format_args!(
                "warning: {name}: neither law is close; `--law empirical` draws what was measured"
            ));
        }
        if let Err(reason) = &timed.fit {
            output::note(format_args!(
                "warning: {name}: nothing is fitted, because {reason}"
            ));
        }
    }
    if times.whole {
        output::note("warning: no reply tells its first token: whole replies are fitted");
    }
}

fn text_of(times: &Times, replies: &[Reply]) -> String {
    let mut lines = vec![counted(size(replies.len()), "reply time")];
    for (name, timed) in named(times) {
        lines.push(String::new());
        lines.extend(lines_of(name, timed));
    }
    lines.extend(WORDS.map(str::to_owned));
    lines.join("\n")
}

/// What the figures mean.
const WORDS: [&str; 4] = [
    "",
    "KS: the most by which the share of replies faster than some time differs from the law's.",
    "By chance alone: what one sample in twenty of this n, of the law itself, exceeds: 1.36/\u{221a}n.",
    "",
];

/// One thing that was timed: its quantiles, and the laws beside each other.
fn lines_of(name: &str, timed: &Timed) -> Vec<String> {
    let quantiles = PLACES.iter().filter_map(|&place| {
        let value = timed.sample.quantile(place).ok()?;
        Some(format!(", p{} {value:.3}", place / 10))
    });
    let quantiles: String = quantiles.collect();
    let mut lines = vec![format!("{name}, ms: n = {}{quantiles}", timed.sample.n())];
    let Ok(fit) = &timed.fit else {
        return lines;
    };
    for fitted in [&fit.log_normal, &fit.gamma] {
        let closer = if fitted == fit.closest() {
            "  closer"
        } else {
            ""
        };
        let law = fitted.law.to_string();
        lines.push(format!("  {law:<48} KS {:.4}{closer}", fitted.ks));
    }
    lines.push(format!(
        "  by chance alone, KS reaches {:.4}",
        by_chance(timed)
    ));
    lines
}

/// What the distance of a sample from its own law exceeds in one case of twenty.
fn by_chance(timed: &Timed) -> f64 {
    let n = u32::try_from(timed.sample.n()).unwrap_or(u32::MAX);
    1.36 / libm::sqrt(f64::from(n))
}

fn json_of(times: &Times, line: &str) -> Value {
    let law = |fitted: &Fitted| match fitted.law {
        Law::LogNormal { median_ms, sigma } => {
            json!({ "median_ms": median_ms, "sigma": sigma, "ks": fitted.ks })
        }
        Law::Gamma { mean_ms, shape } => {
            json!({ "mean_ms": mean_ms, "shape": shape, "ks": fitted.ks })
        }
    };
    let told = |timed: &Timed| {
        let fit = timed.fit.as_ref().ok();
        json!({
            "n": timed.sample.n(),
            "zeros": timed.zeros,
            "is_few": timed.sample.n() < FEW,
            "log_normal": fit.map(|fit| law(&fit.log_normal)),
            "gamma": fit.map(|fit| law(&fit.gamma)),
            "no_fit": timed.fit.as_ref().err().map(ToString::to_string),
        })
    };
    json!({
        "whole_replies": times.whole,
        "ttft": told(&times.ttft),
        "per_token": times.per_token.as_ref().map(told),
        "latency": line,
    })
}

fn size(items: usize) -> u64 {
    u64::try_from(items).unwrap_or(u64::MAX)
}
