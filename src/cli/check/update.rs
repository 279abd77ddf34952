//! `check --update`: what differs is right, and is what is committed from now on.

use super::Checking;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output;
use crate::cli::select::Selected;
use crate::experiment::Experiment;
use crate::lab::gate::{Gate, Kind};
use crate::lab::{Check, Lab, accept};
use crate::report::plot;

/// Refuses to accept what nobody named.
pub(super) fn must_be_named(selected: &Selected) -> Result<(), Failure> {
    if selected.is_specific() {
        return Ok(());
    }
    let message = "nothing is accepted by accident: say what to accept, by `--only NAME` or by the \
                   experiment's file";
    Err(Failure::WrongInput(message.to_owned()))
}

/// Only what is accepted stops to differ: a claim is what somebody published.
pub(super) fn exit(gate: &Gate) -> Exit {
    let mut findings = gate.experiments.iter().flat_map(|one| &one.findings);
    if findings.any(|found| found.kind == Kind::Claim) {
        Exit::DoesNotHold
    } else {
        Exit::Fine
    }
}

impl Checking<'_> {
    /// Accepts what was measured of the experiment that was checked last, and says what that is.
    pub(super) fn accept(
        &self,
        experiment: &Experiment,
        checked: &Check,
        gate: &Gate,
    ) -> Result<(), Failure> {
        let name = experiment.name();
        let rows = checked.rows.as_ref().filter(|_| checked.is_fresh);
        let rows = rows.ok_or_else(|| {
            Failure::WrongInput(format!(
                "{name} was not measured again, so there is nothing to accept: it asks a real \
                 model, which LLM_BASE_URL and LLM_MODEL name"
            ))
        })?;
        let lab = Lab {
            results: &self.args.against,
            jobs: 1,
            host: &self.host,
            progress: &mut |_, _| (),
            draw: &plot::committed,
            stop: &|| false,
        };
        let accepted = accept(experiment, &lab, rows).map_err(|error| {
            let error: &dyn std::error::Error = &error;
            Failure::could_not_do(error)
        })?;
        let examined = gate.experiments.last();
        for sentence in examined.iter().flat_map(|one| &one.summary) {
            output::line(sentence)?;
        }
        let claims = examined.into_iter().flat_map(|one| &one.findings);
        for claim in claims.filter(|found| found.kind == Kind::Claim) {
            output::line(format_args!("{name}: {}", claim.message))?;
        }
        if accepted.files.is_empty() {
            output::line(format_args!("{name}: all as committed, nothing to accept"))
        } else {
            let files = accepted.files.join(", ");
            output::line(format_args!("{name}: accepted {files}"))
        }
    }
}
