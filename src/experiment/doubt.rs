//! What a file with mistakes in it does not tell, so that nothing is reported that would vanish
//! once those are corrected.

use std::collections::BTreeSet;

use super::format::{ExperimentFile, SettingName};
use super::input::pointer_of;
use super::measured::Presence;
use super::sweep::{Shape, Sweep};
use crate::document::{Findings, child};
use crate::meter;

/// Whether the file leaves no doubt what `setting` is in the cell at `index`.
pub(super) fn is_settled(
    findings: &Findings<'_>,
    (file, sweep): (&ExperimentFile, &Sweep),
    index: u64,
    setting: &str,
) -> bool {
    let in_case = match sweep.shape() {
        Shape::Cases(_) => Some(child(&format!("/case/{index}/settings"), setting)),
        Shape::Single | Shape::Product(_) | Shape::Zip(_) => None,
    };
    let mut places = in_case
        .into_iter()
        .chain([pointer_of(sweep, index, setting)]);
    places.all(|place| findings.is_certain(&place)) && !may_be_swept(findings, file, setting)
}

/// Whether `setting` may be meant to be swept where the sweep does not show it.
fn may_be_swept(findings: &Findings<'_>, file: &ExperimentFile, setting: &str) -> bool {
    let is_mixed = !file.axis.is_empty() && !file.case.is_empty();
    let mut axes = file.axis.iter().enumerate();
    !findings.are_certain("", &["axis", "case"])
        || axes.any(|(index, axis)| {
            let place = format!("/axis/{index}/setting");
            let is_guess = is_mixed || !findings.is_certain(&place);
            findings.is_unreadable(&place) || (is_guess && axis.setting.0 == setting)
        })
}

/// Whether `setting` may be meant to be set where it is not.
pub(super) fn may_be_set(findings: &Findings<'_>, file: &ExperimentFile, setting: &str) -> bool {
    let fixed = file.case.iter().enumerate();
    let fixed = fixed.map(|(index, _)| format!("/case/{index}/settings"));
    let mut fixed = fixed.chain(["/settings".to_owned()]);
    fixed.any(|place| !findings.is_certain(&child(&place, setting)))
        || may_be_swept(findings, file, setting)
}

/// The columns that the rows may be meant to have.
pub(super) fn possible_columns(
    findings: &Findings<'_>,
    file: &ExperimentFile,
    sweep: &Sweep,
) -> BTreeSet<String> {
    let settings = SettingName::all().iter();
    let swept = settings.filter(|setting| may_be_swept(findings, file, setting));
    let mut columns: BTreeSet<String> = swept.cloned().collect();
    if !file.case.is_empty() || !findings.is_certain("/case") {
        columns.insert("case".to_owned());
    }
    let may_be_command = !findings.is_certain("/harness");
    if may_be_command {
        let measured = meter::cell_columns().into_iter();
        columns.extend(measured.map(|column| column.name));
    }
    let may_be_real = may_be_command || !findings.is_certain("/clock");
    if may_be_real {
        columns.extend(super::execute::machine_columns().map(|column| column.name));
    }
    let may_be_set = |setting: &str| sweep.mentions(setting) || may_be_set(findings, file, setting);
    let may_have_children = !file.subagent.is_empty() || !findings.is_certain("/subagent");
    let presence = Presence::of(&may_be_set, may_have_children, may_be_real);
    let measured = presence.cell_columns().into_iter();
    columns.extend(measured.map(|(name, _)| name.to_owned()));
    columns
}
