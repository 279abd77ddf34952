//! `loopmeter agent`: one persisted run, driven from the shell.

mod drive;
mod model;
mod options;
mod place;
mod show;

use clap::{Args, Subcommand};

use super::exit::{Exit, Failure};
use super::output;
use crate::money::PicoUsd;
use crate::run::{Status, StopReason};
use crate::store::{Record, StoreError};
use crate::tools::Workspace;

use drive::Held;
use options::{Limits, StartArgs};
use place::Place;

/// `loopmeter agent`.
#[derive(Debug, Args)]
pub(super) struct AgentArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Start a run and drive it until it takes one of its exits
    #[command(after_help = START_EXAMPLES)]
    Start(Box<StartArgs>),
    /// Take up a run that stopped or was killed, under new limits if any are given
    #[command(after_help = RESUME_EXAMPLES)]
    Resume(ResumeArgs),
    /// Allow the call that a run waits for, and go on
    Approve(ApproveArgs),
    /// Decline the call that a run waits for, and go on
    Reject(RejectArgs),
    /// Stop a run: at once, or as soon as the process that drives it can
    Cancel(CancelArgs),
    /// Show a run
    Show(ShowArgs),
    /// List runs
    #[command(after_help = LIST_EXAMPLES)]
    List(ListArgs),
}

const START_EXAMPLES: &str = "\
Examples:
  loopmeter agent start --scenario plan
  loopmeter agent start --scenario runaway --max-turns 50 --max-budget-usd 0.01
  loopmeter agent start --scenario destructive        # stops and waits for `agent approve`
  loopmeter agent start --scenario my-scenario.toml --id mine --clock real --latency-ms 200
  loopmeter agent start --scenario plan --store sqlite:runs.db
  LLM_BASE_URL=http://127.0.0.1:8080/v1 LLM_MODEL=name loopmeter agent start --stream";

const RESUME_EXAMPLES: &str = "\
Examples:
  loopmeter agent resume r1
  loopmeter agent resume r1 --max-turns 40      # it had reached its turn cap
  loopmeter agent resume r1 --done c2           # it was killed while c2 wrote, and c2 did its work
  loopmeter agent resume r1 --done c2 --result \"deleted access.log\"
  loopmeter agent resume r1 --retry c2          # c2 did not do its work: execute it";

const LIST_EXAMPLES: &str = "\
Examples:
  loopmeter agent list
  loopmeter agent list --status interrupted --json
  loopmeter agent list --store sqlite:runs.db --status running";

#[derive(Debug, Args)]
struct Printing {
    /// Print the run as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ResumeArgs {
    /// The run's id
    id: String,
    /// Execute a call that was started and whose outcome is unknown
    #[arg(long, value_name = "CALL", conflicts_with = "done")]
    retry: Option<String>,
    /// Take a call that was started and whose outcome is unknown for done
    #[arg(long, value_name = "CALL")]
    done: Option<String>,
    /// What the model reads of the call that is done
    #[arg(long, value_name = "TEXT", requires = "done")]
    result: Option<String>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    printing: Printing,
}

#[derive(Debug, Args)]
struct ApproveArgs {
    /// The run's id
    id: String,
    /// The call's id; the one that waits, unless given
    #[arg(long)]
    call: Option<String>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    printing: Printing,
}

#[derive(Debug, Args)]
struct RejectArgs {
    /// The run's id
    id: String,
    /// The call's id; the one that waits, unless given
    #[arg(long)]
    call: Option<String>,
    /// Why, for the model to read
    #[arg(long, default_value = "not now")]
    reason: String,
    /// What the transcript says of it, where it differs from what the run was started with
    #[arg(long, value_enum)]
    verdict_wording: Option<crate::run::policy::VerdictWording>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    printing: Printing,
}

#[derive(Debug, Args)]
struct CancelArgs {
    /// The run's id
    id: String,
    /// Why, for the run's record
    #[arg(long, default_value = "user pressed Stop")]
    reason: String,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Args)]
struct ShowArgs {
    /// The run's id
    id: String,
    /// Print the trace, one JSON object a line
    #[arg(long, conflicts_with = "json")]
    trace: bool,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    printing: Printing,
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Only runs that stand so
    #[arg(long, value_enum)]
    status: Option<Status>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    printing: Printing,
}

/// Does what `args` ask for.
pub(super) fn run(args: AgentArgs) -> Result<Exit, Failure> {
    match args.verb {
        Verb::Start(args) => start(&args),
        Verb::Resume(args) => resume(&args),
        Verb::Approve(args) => approve(&args),
        Verb::Reject(args) => reject(&args),
        Verb::Cancel(args) => cancel(&args),
        Verb::Show(args) => show::show(&args),
        Verb::List(args) => show::list(&args),
    }
}

fn start(args: &StartArgs) -> Result<Exit, Failure> {
    let (launch, state) = args.prepare()?;
    let store = args.place.store()?;
    let hold = store.claim(args.id.as_deref())?;
    let mut record = Record { launch, run: state };
    hold.id().clone_into(&mut record.run.run_id);
    let template = crate::tools::Template::chapter();
    Workspace::create_folder(&store.folders().workspace(hold.id())?, &template)
        .map_err(|error| Failure::could_not_do(&error))?;
    store.save(&hold, &record)?;
    if !args.printing.json {
        output::line(format_args!("run {}: started", hold.id()))?;
    }
    drive::to_its_exit(
        Held::new(store.as_ref(), &hold),
        record,
        &args.printing,
        |_| Ok(()),
    )
}

fn resume(args: &ResumeArgs) -> Result<Exit, Failure> {
    let store = args.place.store()?;
    let hold = store.hold(&args.id)?;
    let driver = Held::new(store.as_ref(), &hold);
    let mut record = store.load(&args.id)?;
    if drive::obey_request(driver, &mut record)? {
        if args.retry.is_some() || args.done.is_some() {
            return Err(cancelled_first(&args.id));
        }
        show::summary(&record.run, &args.printing)?;
        return Ok(Exit::Fine);
    }
    args.limits.replace_in(&mut record.run.settings)?;
    drive::to_its_exit(driver, record, &args.printing, |machine| {
        match (&args.retry, &args.done) {
            (Some(call), _) => machine.retry(call),
            (None, Some(call)) => machine.done(call, args.result.as_deref()),
            (None, None) => machine.take_up(),
        }
        .map_err(|error| Failure::wrong_input(&error))
    })
}

fn approve(args: &ApproveArgs) -> Result<Exit, Failure> {
    let store = args.place.store()?;
    let hold = store.hold(&args.id)?;
    let driver = Held::new(store.as_ref(), &hold);
    let mut record = store.load(&args.id)?;
    let call = waiting_call(driver, &mut record, args.call.as_deref())?;
    drive::to_its_exit(driver, record, &args.printing, |machine| {
        machine
            .approve(&call)
            .map_err(|error| Failure::wrong_input(&error))
    })
}

fn reject(args: &RejectArgs) -> Result<Exit, Failure> {
    let store = args.place.store()?;
    let hold = store.hold(&args.id)?;
    let driver = Held::new(store.as_ref(), &hold);
    let mut record = store.load(&args.id)?;
    let call = waiting_call(driver, &mut record, args.call.as_deref())?;
    if let Some(wording) = args.verdict_wording {
        record.run.settings.policy.verdict_wording = wording;
    }
    drive::to_its_exit(driver, record, &args.printing, |machine| {
        machine
            .reject(&call, &args.reason)
            .map_err(|error| Failure::wrong_input(&error))
    })
}

fn cancel(args: &CancelArgs) -> Result<Exit, Failure> {
    let store = args.place.store()?;
    let record = store.load(&args.id)?;
    if !record.run.status.is_resumable() {
        let status = record.run.status.as_str();
        return Err(Failure::WrongInput(format!(
            "run {} is {status} already",
            args.id
        )));
    }
    // Left before anybody is looked for: whoever lets go of the run now leaves the request behind
    // too, and the next to hold it obeys it.
    store.request_stop(&args.id, &args.reason)?;
    let hold = match store.hold(&args.id) {
        Ok(hold) => hold,
        Err(StoreError::Driven(id)) => {
            output::line(format_args!(
                "run {id}: stop requested; whoever drives it obeys before its next call or request"
            ))?;
            return Ok(Exit::Fine);
        }
        Err(error) => return Err(error.into()),
    };
    // Loaded anew: it may have gone on until it was let go of.
    let mut record = store.load(&args.id)?;
    drive::obey_request(Held::new(store.as_ref(), &hold), &mut record)?;
    show::summary(&record.run, &Printing { json: false })?;
    Ok(Exit::Fine)
}

fn cancelled_first(id: &str) -> Failure {
    Failure::WrongInput(format!(
        "run {id} was cancelled before, and nothing was executed; `loopmeter agent resume {id}` \
         takes it up, and asks again"
    ))
}

/// The call that a verdict is on. A stop that was asked for before the verdict comes before it.
fn waiting_call(
    held: Held<'_>,
    record: &mut Record,
    asked: Option<&str>,
) -> Result<String, Failure> {
    drive::obey_request(held, record)?;
    match (asked, &record.run.interruption) {
        (_, Some(StopReason::Cancelled { .. })) => Err(cancelled_first(&record.run.run_id)),
        (Some(call), _) => Ok(call.to_owned()),
        (None, Some(StopReason::Approval { call_id, .. })) => Ok(call_id.clone()),
        (None, _) => {
            let (id, status) = (&record.run.run_id, record.run.status.as_str());
            Err(Failure::WrongInput(format!(
                "run {id} is {status} and waits for no approval"
            )))
        }
    }
}

fn parse_usd(text: &str) -> Result<PicoUsd, String> {
    let amount: PicoUsd = text.parse().map_err(|error| format!("{error}"))?;
    if amount <= PicoUsd::ZERO {
        return Err("a budget must be more than nothing".to_owned());
    }
    Ok(amount)
}
