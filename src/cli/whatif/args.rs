//! What is asked of `loopmeter whatif`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use super::super::exit::Failure;
use crate::files::is_same_file;
use crate::money::PicoUsd;
use crate::pricing::{CHAPTER_PRICE, CacheTerms, Price};
use crate::record::{Format, SuccessMark};
use crate::report::plot::PlotFormat;
use crate::results::stats::Thousandths;
use crate::run::context::ContextPolicy;
use crate::run::policy::{BudgetCheck, Dedupe};
use crate::whatif::{Marks, PERMANENT, Setting, Sweep, cases};

/// `loopmeter whatif`.
#[derive(Debug, Args)]
pub(in super::super) struct WhatifArgs {
    /// Records of runs, or folders of them; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// The format of the files [default: each file's own, as it shows]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(super) from: Option<Format>,
    /// What says that a run did what it was for, such as `info.resolved` or
    /// `info.exit_status=Submitted` [default: reward, success, resolved, …]
    #[arg(long, value_name = "KEY[=VALUE]")]
    pub(super) success: Option<SuccessMark>,
    /// Turn caps, such as 5..30 or 8,12,20
    #[arg(long, value_name = "N", value_delimiter = ',')]
    max_turns: Vec<Span>,
    /// Budgets in dollars
    #[arg(long, value_name = "USD", value_delimiter = ',')]
    budget: Vec<PicoUsd>,
    /// When a budget is compared with the cost
    #[arg(long, value_enum, default_value = "before", requires = "budget")]
    budget_check: BudgetCheck,
    /// The most tokens that a reply may have: an assumption, which `--budget-check reserve` needs
    #[arg(long, value_name = "N", requires = "budget")]
    max_completion_tokens: Option<u64>,
    /// Limits of all tokens of a run, such as 50000,100000
    #[arg(long, value_name = "N", value_delimiter = ',')]
    total_tokens: Vec<Span>,
    /// Stop a run at so many equal calls in a row, such as 2..4
    #[arg(long, value_name = "N", value_delimiter = ',')]
    repeated_call_stop: Vec<Span>,
    /// Answer repeated calls without executing them
    #[arg(long, value_enum, value_name = "MODE", value_delimiter = ',')]
    dedupe: Vec<Dedupe>,
    /// A tool that writes nothing, for `--dedupe read_only`; records do not say
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "dedupe")]
    read_only_tool: Vec<String>,
    /// Stop a run at an error on which the model cannot act, as an expression tells it
    #[arg(long, value_name = "REGEX", num_args = 0..=1, require_equals = true,
          default_missing_value = PERMANENT)]
    permanent_error_stop: Option<String>,
    /// A provider that caches prompts: `openai`, `anthropic`, `anthropic_1h`, or parts such as
    /// `min_tokens=1024/block_tokens=128/read_percent=50`
    #[arg(long, value_name = "TERMS", value_delimiter = ',')]
    cache: Vec<CacheTerms>,
    /// What of the transcript is sent: `last_results=K`, `elide_older=TURNS` or
    /// `summarise_above=TOKENS,keep_turns=K,summary_tokens=N`; may be given several times
    #[arg(long, value_name = "POLICY")]
    context: Vec<ContextPolicy>,
    /// Every combination of the axes, and not each of them alone
    #[arg(long)]
    cross: bool,
    /// The entry of the price list that bills it
    #[arg(long, value_name = "NAME", default_value = CHAPTER_PRICE)]
    pub(super) price: String,
    /// How much of the successes has to be kept, in percent
    #[arg(long, value_name = "PERCENT", default_value = "99")]
    pub(super) keep: Keep,
    /// Print the answer as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Write a picture of what is kept and what it costs, as SVG or PNG
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    pub(super) plot: Option<PlotFile>,
    /// Write a row for each setting
    #[arg(long, value_name = "FILE")]
    pub(super) csv: Option<PathBuf>,
}

pub(in super::super) const EXAMPLES: &str = "\
Examples:
  loopmeter whatif runs.jsonl                              # what was recorded, counted again
  loopmeter whatif --max-turns 5..30 runs.jsonl            # the cheapest cap that keeps 99 %
  loopmeter whatif --budget 0.05,0.10,0.20 --plot frontier.svg ~/.claude/projects
  loopmeter whatif --budget 0.10 --budget-check reserve --max-completion-tokens 4096 runs/
  loopmeter whatif --max-turns 10,20 --repeated-call-stop 3 --cross --json trajectories/
  loopmeter whatif --cache openai,anthropic --context last_results=3 --cross runs.jsonl
  loopmeter whatif --success info.exit_status=Submitted --max-turns 20..60 *.traj.json

Formats: chat completions (one conversation a line, or one request and its response), the traces
of loopmeter, sessions of Claude Code and of the Codex CLI, trajectories of mini-swe-agent and of
SWE-agent. Of a folder, every .jsonl, .json and .traj file in it is read, however deep.

Every run is replayed as it was recorded, and stops where the limit would have stopped it. Up to
there the figures are exact. What the model would have said after that, nobody knows, and nothing
is made up: a run that ends early counts as lost.

A cache and a context policy change what is sent and what it costs, and that is exact; the
replies stay as they were, though the model might have answered otherwise. No record says when a
request was made, so a cache is taken not to expire, and a summary is taken to be as long as it
may be.

A piece that cannot be read is named on standard error and left out.

Exit code: 0; 2 for wrong usage or where there is no recorded run; 3 if a file cannot be read or
written; 130 if loopmeter was stopped.";

/// The most settings; each is a replay of every run.
const MOST_CASES: usize = 2_000;

/// The most points from one number to another.
const MOST_POINTS: u64 = 2_000;

/// A whole number, or all from one to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span(u64, u64);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| match text.parse::<u64>() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(format!("{text:?} is no whole number above 0")),
        };
        let (from, to) = match text.split_once("..") {
            Some((from, to)) => (number(from)?, number(to)?),
            None => (number(text)?, number(text)?),
        };
        if from > to {
            return Err(format!("{from} is more than {to}: write {to}..{from}"));
        }
        if to - from >= MOST_POINTS {
            return Err(format!("more than {MOST_POINTS} points"));
        }
        Ok(Self(from, to))
    }
}

/// How much has to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Keep(pub(super) Thousandths);

impl FromStr for Keep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write a percentage above 0 and up to 100, such as 99 or 99.5".to_owned();
        let (whole, tenths) = text.split_once('.').unwrap_or((text, "0"));
        let digits =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if tenths.len() != 1 || !digits(tenths) || !digits(whole) {
            return Err(wrong());
        }
        let thousandths: Thousandths = format!("{whole}{tenths}").parse().map_err(|_| wrong())?;
        (1..=1_000)
            .contains(&thousandths)
            .then_some(Self(thousandths))
            .ok_or_else(wrong)
    }
}

/// A file for a picture, whose name says the format.
#[derive(Clone, Debug)]
pub(super) struct PlotFile {
    pub(super) path: PathBuf,
    pub(super) format: PlotFormat,
}

impl FromStr for PlotFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = PathBuf::from(text);
        let format = match path.extension().and_then(|ending| ending.to_str()) {
            Some("svg") => PlotFormat::Svg,
            Some("png") => PlotFormat::Png,
            _ => return Err("call it .svg or .png".to_owned()),
        };
        Ok(Self { path, format })
    }
}

impl WhatifArgs {
    /// The completion cap, where a budget assumes it.
    pub(super) fn reserved(&self) -> Option<u64> {
        let reserves = !self.budget.is_empty() && self.budget_check == BudgetCheck::Reserve;
        self.max_completion_tokens.filter(|_| reserves)
    }

    /// Refuses to write over what is read, by whatever path it is named.
    pub(super) fn spare_inputs(&self, files: &[PathBuf]) -> Result<(), Failure> {
        let plot = self.plot.as_ref().map(|plot| ("--plot", &plot.path));
        let csv = self.csv.as_ref().map(|path| ("--csv", path));
        if let (Some((_, plot)), Some((_, csv))) = (plot, csv)
            && (plot == csv || is_same_file(plot, csv))
        {
            return Err(Failure::WrongInput(format!(
                "--plot and --csv name one file, {}: name two",
                plot.display()
            )));
        }
        for (option, path) in plot.into_iter().chain(csv) {
            if let Some(file) = files.iter().find(|file| is_same_file(file, path)) {
                return Err(Failure::WrongInput(format!(
                    "{option} {} would write over the record {}: name another file",
                    path.display(),
                    file.display()
                )));
            }
        }
        Ok(())
    }

    /// What the runs are replayed under.
    pub(super) fn sweep(&self, price: &Price) -> Result<Sweep, Failure> {
        let wrong = |what: &str| Err(Failure::WrongInput(what.to_owned()));
        let reserves = self.budget_check == BudgetCheck::Reserve;
        if reserves && self.max_completion_tokens.is_none() {
            return wrong(
                "--budget-check reserve needs --max-completion-tokens N: what a reply could \
                 have cost is not in a record",
            );
        }
        if self.dedupe.contains(&Dedupe::ReadOnly) && self.read_only_tool.is_empty() {
            return wrong(
                "--dedupe read_only needs --read-only-tool NAME: which tools write nothing is \
                 not in a record",
            );
        }
        if self
            .repeated_call_stop
            .iter()
            .any(|Span(from, _)| *from < 2)
        {
            return wrong("--repeated-call-stop counts equal calls in a row: write 2 or more");
        }
        let permanent = self.permanent_error_stop.as_deref().unwrap_or(PERMANENT);
        let marks = Marks::new(permanent, &self.read_only_tool).map_err(|error| {
            Failure::WrongInput(format!("--permanent-error-stop is no expression: {error}"))
        })?;
        let axes = self.axes();
        let lengths = axes.iter().map(Vec::len).filter(|length| *length > 0);
        let number = if self.cross {
            lengths.fold(1, usize::saturating_mul)
        } else {
            lengths.sum()
        };
        if number > MOST_CASES {
            return wrong("more than 2,000 settings: sweep fewer, or leave --cross out");
        }
        let cases = cases(&axes, self.cross);
        if cases.is_empty() && self.plot.is_some() {
            return wrong(
                "--plot draws settings: name a limit or a policy, such as --max-turns 5..30",
            );
        }
        Sweep::new(cases, (price.clone(), self.max_completion_tokens), marks)
            .map_err(|error| Failure::could_not_do(&error))
    }

    /// The points of each axis.
    fn axes(&self) -> Vec<Vec<Setting>> {
        let all = |spans: &[Span]| -> Vec<u64> {
            let numbers = spans.iter().flat_map(|Span(from, to)| *from..=*to);
            numbers.collect()
        };
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let budget = |usd: &PicoUsd| Setting::Budget(*usd, self.budget_check);
        let stop = self.permanent_error_stop.iter();
        vec![
            all(&self.max_turns)
                .into_iter()
                .map(|turns| Setting::MaxTurns(small(turns)))
                .collect(),
            self.budget.iter().map(budget).collect(),
            all(&self.total_tokens)
                .into_iter()
                .map(Setting::TotalTokens)
                .collect(),
            all(&self.repeated_call_stop)
                .into_iter()
                .map(|times| Setting::RepeatedCall(small(times)))
                .collect(),
            self.dedupe.iter().copied().map(Setting::Dedupe).collect(),
            stop.map(|_| Setting::PermanentErrorStop).collect(),
            self.cache.iter().copied().map(Setting::Cache).collect(),
            self.context.iter().copied().map(Setting::Context).collect(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_include_both_ends_and_wrong_ones_are_told() {
        assert_eq!("5..30".parse(), Ok(Span(5, 30)));
        assert_eq!("7".parse(), Ok(Span(7, 7)));
        for wrong in ["", "0", "x", "3..", "9..3", "1..99999", "-1"] {
            assert!(wrong.parse::<Span>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_kept_is_a_percentage_with_at_most_one_decimal() {
        assert_eq!("99".parse(), Ok(Keep(990)));
        assert_eq!("99.5".parse(), Ok(Keep(995)));
        assert_eq!("100".parse(), Ok(Keep(1_000)));
        for wrong in ["", "0", "0.0", "101", "99.55", "-1", "x", "9 9"] {
            assert!(wrong.parse::<Keep>().is_err(), "{wrong}");
        }
    }
}
