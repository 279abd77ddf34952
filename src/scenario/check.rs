//! What must hold between the steps of a scenario: each is reached, and no id comes twice.

use std::collections::{BTreeMap, BTreeSet};

use super::file::StepFile;
use super::{TURN, Turns};
use crate::document::Findings;

/// The turns that some steps answer between them.
#[derive(Debug, Default)]
struct TurnSet {
    single: BTreeSet<u32>,
    /// All turns from this one on.
    from: Option<u32>,
}

impl TurnSet {
    fn insert(&mut self, turns: Turns) {
        match turns {
            Turns::Exactly(turn) => {
                self.single.insert(turn);
            }
            Turns::From(first) => self.from = Some(self.from.map_or(first, |f| f.min(first))),
        }
    }

    fn contains(&self, turn: u32) -> bool {
        self.single.contains(&turn) || self.from.is_some_and(|from| turn >= from)
    }
}

/// Whether the sets have all of `turns` between them.
fn cover(sets: &[&TurnSet], turns: Turns) -> bool {
    let covered = |turn| sets.iter().any(|set| set.contains(turn));
    match turns {
        Turns::Exactly(turn) => covered(turn),
        Turns::From(first) => {
            let rest = sets.iter().filter_map(|set| set.from).min();
            rest.is_some_and(|rest| (first..rest).all(covered))
        }
    }
}

type Conditions<'f> = (Option<&'f str>, Option<&'f str>);

/// The turns that the steps so far leave to no later step, by the conditions of the later step.
#[derive(Debug, Default)]
pub(super) struct Answered<'f> {
    by_conditions: BTreeMap<Conditions<'f>, TurnSet>,
}

impl<'f> Answered<'f> {
    /// Reports the step if those before it leave it nothing, and counts it among them. A step of
    /// which it is in doubt when it speaks is neither reported nor counted.
    pub(super) fn check(&mut self, step: &'f StepFile, at: &str, findings: &mut Findings<'_>) {
        let has_sure_conditions = findings.are_certain(at, &["when", "unless"]);
        if !has_sure_conditions || !StepFile::has_sure_turns(at, findings) {
            return;
        }
        let (when, unless) = (step.when.as_deref(), step.unless.as_deref());
        if when.is_some() && when == unless {
            findings.add(
                at,
                "the step is never reached: its `when` and `unless` are the same",
                "remove one of them, or the step",
            );
            return;
        }
        let unconditional = self.by_conditions.get(&(None, None));
        let alike = self.by_conditions.get(&(when, unless));
        let before: Vec<_> = unconditional.into_iter().chain(alike).collect();
        if cover(&before, step.turns()) {
            findings.add(
                at,
                "the step is never reached: steps before it reply to all that it matches",
                "move it up, or remove it",
            );
        }
        self.by_conditions
            .entry((when, unless))
            .or_default()
            .insert(step.turns());
    }
}

/// One call's id as it is written, and where.
struct Id<'f> {
    text: &'f str,
    turns: Turns,
    at: String,
}

impl Id<'_> {
    /// Another turn than `turn` at which this id is spelt `id`, for ids that hold [`TURN`] once.
    fn turn_spelt(&self, id: &str, turn: u32) -> Option<u32> {
        let (before, after) = self.text.split_once(TURN)?;
        let digits = id.strip_prefix(before)?.strip_suffix(after)?;
        let other: u32 = digits.parse().ok()?;
        let canonical = other.to_string() == digits;
        (canonical && other != turn && self.turns.contains(other)).then_some(other)
    }
}

/// Reports ids that would come twice in a run, whichever of its conversations takes place.
pub(super) fn check_ids(steps: &[StepFile], findings: &mut Findings<'_>) {
    let mut single: BTreeMap<String, u32> = BTreeMap::new();
    let sure = steps.iter().enumerate().filter(|(index, _)| {
        let at = format!("/step/{index}");
        StepFile::has_sure_turns(&at, findings)
    });
    let ids: Vec<_> = sure.flat_map(step_ids).collect();
    let repeated = || ids.iter().filter(|id| matches!(id.turns, Turns::From(_)));
    for (index, step) in steps.iter().enumerate() {
        check_ids_of_step(step, index, findings);
    }
    for id in repeated().filter(|id| !id.text.contains(TURN)) {
        findings.add(
            &id.at,
            &format!(
                "the id `{}` would come again at every turn of this step",
                id.text
            ),
            "ids differ within a run: put `{turn}` into it, or give the step one `turn`",
        );
    }
    for id in &ids {
        let Turns::Exactly(turn) = id.turns else {
            continue;
        };
        let spelt = id.text.replace(TURN, &turn.to_string());
        let elsewhere = repeated().find_map(|other| other.turn_spelt(&spelt, turn));
        let first = *single.entry(spelt.clone()).or_insert(turn);
        if let Some(other) = Some(first).filter(|first| *first != turn).or(elsewhere) {
            findings.add(
                &id.at,
                &format!("the id `{spelt}` is also that of a call at turn {other}"),
                "ids differ within a run: choose another",
            );
        }
    }
}

fn step_ids((index, step): (usize, &StepFile)) -> impl Iterator<Item = Id<'_>> {
    step.calls.iter().enumerate().map(move |(call, file)| Id {
        text: &file.id,
        turns: step.turns(),
        at: format!("/step/{index}/calls/{call}/id"),
    })
}

fn check_ids_of_step(step: &StepFile, index: usize, findings: &mut Findings<'_>) {
    let mut seen = BTreeSet::new();
    for (call, file) in step.calls.iter().enumerate() {
        if !seen.insert(&file.id) {
            findings.add(
                &format!("/step/{index}/calls/{call}/id"),
                &format!("the id `{}` comes twice in one step", file.id),
                "every call has an id of its own",
            );
        }
    }
}
