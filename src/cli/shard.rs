//! `loopmeter run --shard K/N`: one part of each sweep, taken up where it was left.

use std::path::Path;

use clap::Args;

use super::exit::{Exit, Failure};
use super::output::{self, counted};
use super::progress::Progress;
use super::select::Selected;
use super::signals::Interrupt;
use crate::clock::ClockKind;
use crate::experiment::{Experiment, Host};
use crate::lab::shard::{Shard, ShardError, ShardWork};
use crate::lab::{Lab, LabError};
use crate::report::plot;

/// Which part of the cells.
#[derive(Debug, Args)]
pub(super) struct Part {
    /// Run only the K-th of N parts of the cells, those that have no rows yet
    #[arg(long, value_name = "K/N")]
    shard: Option<Shard>,
    /// With --shard: experiments on the real clock too, though what else runs on a host is in
    /// their times; the host is recorded
    #[arg(long, requires = "shard")]
    shared_hosts: bool,
}

impl Part {
    /// The shard that is meant, if one is, and if what was selected can be dealt out.
    pub(super) fn shard(&self, selected: &Selected) -> Result<Option<Shard>, Failure> {
        let Some(shard) = self.shard else {
            return Ok(None);
        };
        let mut meant = selected
            .iter()
            .filter(|experiment| !selected.skips(experiment));
        let timed = meant.find(|experiment| experiment.clock() == ClockKind::Real);
        match timed {
            Some(experiment) if !self.shared_hosts => Err(Failure::WrongInput(format!(
                "{} measures time, and shards of it may share their hosts with other work: run it \
                 unsharded on a quiet machine, or add --shared-hosts, which runs it all the same \
                 and records the host of every cell",
                experiment.name()
            ))),
            _ => Ok(Some(shard)),
        }
    }
}

/// Runs a shard of every experiment that is meant.
pub(super) fn run(
    shard: Shard,
    selected: &Selected,
    (out, jobs): (&Path, usize),
) -> Result<Exit, Failure> {
    let host = Host::here();
    let interrupt = Interrupt::listen();
    let progress = Progress::new();
    for experiment in selected.iter().filter(|it| !selected.skips(it)) {
        let work = ShardWork::open(experiment, shard, out).map_err(failure)?;
        let name = experiment.name();
        for discarded in work.discarded() {
            output::note(format_args!("{name}: {discarded}; removed, and run again"));
        }
        let (before, folder) = (work.progress(), work.folder().to_owned());
        let all = before.missing * experiment.runs() / experiment.sweep().len().max(1);
        let mut show = |experiment: &Experiment, done| progress.show_of(experiment, (done, all));
        let ran = work.run(&mut Lab {
            results: out,
            jobs,
            host: &host,
            progress: &mut show,
            draw: &plot::committed,
            stop: &|| interrupt.is_requested(),
        });
        progress.clear();
        match ran {
            Err(LabError::Stopped { done, all }) => {
                output::note(format_args!(
                    "stopped in {name} after {done} of {all} runs; the same command goes on from there"
                ));
                return Ok(Exit::Stopped);
            }
            other => other.map_err(failure)?,
        }
        let there = before.cells - before.missing;
        let did = match (before.missing, there) {
            (0, 0) => "no cells, as there are more shards than cells".to_owned(),
            (0, _) => format!("complete, {} were there", counted(there, "cell")),
            (ran, 0) => format!("{} run", counted(ran, "cell")),
            (ran, there) => format!("{} run, {there} were there", counted(ran, "cell")),
        };
        output::line(format_args!(
            "{name}: shard {shard}: {did}; files in {}",
            folder.display()
        ))?;
    }
    Ok(Exit::Fine)
}

fn failure(error: LabError) -> Failure {
    match error {
        LabError::Shard(error @ ShardError::Held(_)) => Failure::wrong_input(&error),
        error => Failure::could_not_do(&error),
    }
}
