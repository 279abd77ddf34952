//! What a check found: of each number what it is, and of each claim whether it is quoted.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::edition::{Edition, Number, Place, Standing};
use super::ledger::{Ledger, Origin};
use super::text::Aside;
use super::unit::Unit;
use super::{Cause, Contradiction};

/// The result of a check.
#[derive(Debug)]
pub struct Report {
    /// The edition, with the standing of each number.
    pub edition: Edition,
    /// Each claim, in the order of the ledger.
    pub claims: Vec<ClaimStatus>,
    pub(super) names: Vec<(String, Origin)>,
}

/// Whether a claim is quoted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClaimStatus {
    /// The claim.
    pub id: String,
    /// `quoted`, `partly` or `missing`.
    pub status: Quotation,
    /// What was published.
    pub published: Vec<String>,
    /// Which of that no number of the text is.
    pub missing: Vec<String>,
}

/// How much of a claim stands in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quotation {
    /// All of its numbers.
    Quoted,
    /// Some numbers of its list.
    Partly,
    /// None.
    Missing,
}

/// How many numbers are what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// All of them.
    pub numbers: usize,
    /// They match a claim.
    pub claims: usize,
    /// They stand in a table of results.
    pub rows: usize,
    /// They are declared constants.
    pub constants: usize,
    /// They contradict something.
    pub contradictions: usize,
    /// Nothing covers them.
    pub uncovered: usize,
}

/// What a number is, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It matches a claim.
    Claim,
    /// It stands in a table of results.
    Row,
    /// It is a declared constant.
    Constant,
    /// It contradicts something.
    Contradiction,
    /// Nothing covers it.
    Uncovered,
}

impl Report {
    pub(super) fn new(edition: Edition, ledger: &Ledger) -> Self {
        let quoted: BTreeSet<usize> = edition
            .numbers
            .iter()
            .filter_map(|number| match &number.standing {
                Standing::Covered(quantities) => Some(quantities),
                _ => None,
            })
            .flatten()
            .copied()
            .collect();
        let names = ledger
            .quantities()
            .iter()
            .map(|quantity| (quantity.id.clone(), quantity.origin))
            .collect();
        Self {
            claims: claims(ledger, &quoted),
            edition,
            names,
        }
    }

    /// What a number of the edition is.
    #[must_use]
    pub fn status(&self, number: &Number) -> Status {
        match &number.standing {
            Standing::Declared(_) => Status::Constant,
            Standing::Contradicts(_) => Status::Contradiction,
            Standing::Uncovered => Status::Uncovered,
            Standing::Covered(quantities) => match self.origin(quantities) {
                Origin::Claim => Status::Claim,
                Origin::Row => Status::Row,
                Origin::Constant => Status::Constant,
            },
        }
    }

    /// The names of what covers a number, those of the strongest kind first.
    #[must_use]
    pub fn covering<'r>(&'r self, number: &'r Number) -> Vec<&'r str> {
        match &number.standing {
            Standing::Declared(id) => vec![id],
            Standing::Covered(quantities) => quantities
                .iter()
                .filter_map(|index| self.names.get(*index))
                .map(|(id, _)| id.as_str())
                .collect(),
            Standing::Contradicts(_) | Standing::Uncovered => Vec::new(),
        }
    }

    fn origin(&self, quantities: &[usize]) -> Origin {
        let origins = quantities
            .iter()
            .filter_map(|index| self.names.get(*index))
            .map(|(_, origin)| *origin);
        origins.min().unwrap_or(Origin::Constant)
    }

    /// How many numbers are what.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let mut tally = Tally {
            numbers: self.edition.numbers.len(),
            ..Tally::default()
        };
        for number in &self.edition.numbers {
            let count = match self.status(number) {
                Status::Claim => &mut tally.claims,
                Status::Row => &mut tally.rows,
                Status::Constant => &mut tally.constants,
                Status::Contradiction => &mut tally.contradictions,
                Status::Uncovered => &mut tally.uncovered,
            };
            *count += 1;
        }
        tally
    }

    /// The report as JSON: `locale`, `tally`, `asides`, `numbers` and `claims`.
    #[must_use]
    pub fn to_json(&self, locale: &str) -> serde_json::Value {
        let numbers: Vec<NumberView<'_>> = self
            .edition
            .numbers
            .iter()
            .map(|number| self.view(number))
            .collect();
        serde_json::json!({
            "locale": locale,
            "files": self.edition.files,
            "tally": self.tally(),
            "asides": &self.edition.asides,
            "numbers": numbers,
            "claims": self.claims,
        })
    }

    fn view<'r>(&'r self, number: &'r Number) -> NumberView<'r> {
        let contradiction = match &number.standing {
            Standing::Contradicts(contradiction) => Some(contradiction),
            _ => None,
        };
        NumberView {
            file: self
                .edition
                .files
                .get(number.file)
                .map_or("", String::as_str),
            place: number.place,
            text: &number.text,
            around: &number.around,
            values: number.values.iter().map(ToString::to_string).collect(),
            unit: number.unit,
            key: number.key.as_deref(),
            status: self.status(number),
            matches: self.covering(number),
            contradicts: contradiction.map(ContradictionView::of),
        }
    }
}

/// A number in JSON.
#[derive(Serialize)]
struct NumberView<'r> {
    file: &'r str,
    #[serde(flatten)]
    place: Place,
    text: &'r str,
    around: &'r str,
    values: Vec<String>,
    unit: Option<Unit>,
    key: Option<&'r str>,
    status: Status,
    matches: Vec<&'r str>,
    contradicts: Option<ContradictionView<'r>>,
}

#[derive(Serialize)]
struct ContradictionView<'r> {
    cause: &'static str,
    ids: &'r [String],
    expected: &'r [String],
}

impl<'r> ContradictionView<'r> {
    fn of(contradiction: &'r Contradiction) -> Self {
        let cause = match contradiction.cause {
            Cause::NearMiss(_) => "near_miss",
            Cause::Neighbours => "neighbours",
            Cause::Reference => "reference",
        };
        Self {
            cause,
            ids: &contradiction.ids,
            expected: &contradiction.expected,
        }
    }
}

/// Of each claim, which of its numbers are quoted.
fn claims(ledger: &Ledger, quoted: &BTreeSet<usize>) -> Vec<ClaimStatus> {
    let mut claims: Vec<ClaimStatus> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let all = ledger
        .quantities()
        .iter()
        .enumerate()
        .filter(|(_, quantity)| quantity.origin == Origin::Claim);
    for (index, quantity) in all {
        let place = *places.entry(&quantity.id).or_insert(claims.len());
        if place == claims.len() {
            let (id, status) = (quantity.id.clone(), Quotation::Missing);
            claims.push(ClaimStatus {
                id,
                status,
                published: Vec::new(),
                missing: Vec::new(),
            });
        }
        if let Some(claim) = claims.get_mut(place) {
            claim.published.push(quantity.text.clone());
            if !quoted.contains(&index) {
                claim.missing.push(quantity.text.clone());
            }
        }
    }
    for claim in &mut claims {
        claim.status = match claim.missing.len() {
            0 => Quotation::Quoted,
            missing if missing < claim.published.len() => Quotation::Partly,
            _ => Quotation::Missing,
        };
    }
    claims
}

/// The digits that were passed over, in words: `3 footnote marks`.
pub(super) fn asides(asides: &BTreeMap<Aside, usize>) -> Vec<String> {
    asides
        .iter()
        .map(|(why, count)| format!("{count} {why}"))
        .collect()
}
