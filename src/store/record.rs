//! The record of a run: its bytes, their checksum, and what earlier formats did not say.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::StoreError;
use crate::clock::ClockKind;
use crate::letters::inert_json;
use crate::provider::Latency;
use crate::provider::wire::Delivery;
use crate::run::{RunState, Status, StopReason, TranscriptIndex};

/// The version of the record's format. A record of a newer version is refused, not guessed at.
///
/// Format 2 added runs against an endpoint; a record of format 1 reads as one of a scenario.
/// Format 3 added the checksum, and the call in flight.
pub const FORMAT: u32 = 3;

const CHECKSUMS_SINCE: u32 = 3;
const IN_FLIGHT_SINCE: u32 = 3;

/// Which tools a run has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatalogKind {
    /// The chapter's four.
    #[default]
    Chapter,
    /// The same, with an `idempotency_key` declared for the one that writes.
    IdempotencyKeys,
}

/// Who answers a run's requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Model {
    /// A scripted model.
    Scripted {
        /// The scenario's name.
        scenario: String,
        /// The scenario's text, so that a later change of the file does not change the run.
        scenario_toml: String,
        /// How long the model thinks.
        latency: Latency,
    },
    /// A model behind an endpoint. The key is not stored: it is read anew from the environment.
    Endpoint {
        /// The endpoint's base URL.
        base_url: String,
        /// The model's name there.
        model: String,
        /// How replies travel.
        delivery: Delivery,
    },
}

/// What a run was started with, beside what its state holds: enough to take it up elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// Who answers.
    #[serde(flatten)]
    pub model: Model,
    /// Which tools the run has.
    pub catalog: CatalogKind,
    /// Whose time the run takes.
    pub clock: ClockKind,
}

/// A run as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What the run was started with.
    pub launch: Launch,
    /// Where it stands.
    pub run: RunState,
}

impl Record {
    /// The record as it is written: the version, the checksum, what it is the checksum of.
    ///
    /// # Errors
    /// Where a part has no JSON form.
    pub fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        // Not in JavaScript's numbers, as tokens are counted: a record keeps every digit.
        let launch = raw(&self.launch)?;
        let run = raw(&self.run)?;
        serde_json::to_vec(&Written {
            format: FORMAT,
            sha256: Some(checksum(&launch, &run)),
            launch: &launch,
            run: &run,
        })
    }

    /// The record of run `id` from the bytes that `place` holds.
    ///
    /// # Errors
    /// [`StoreError::Newer`] for a later format, [`StoreError::Damaged`] for bytes that are not
    /// what was written, or that are of another run.
    pub fn from_bytes(bytes: &[u8], id: &str, place: &str) -> Result<Self, StoreError> {
        #[derive(Deserialize)]
        struct Versioned {
            format: u32,
        }
        let damaged = |why: String| StoreError::Damaged {
            place: place.to_owned(),
            why,
        };
        let unreadable = |error: serde_json::Error| damaged(error.to_string());
        let Versioned { format } = serde_json::from_slice(bytes).map_err(unreadable)?;
        if format > FORMAT {
            return Err(StoreError::Newer {
                place: place.to_owned(),
                found: format,
            });
        }
        let written: Written<'_> = serde_json::from_slice(bytes).map_err(unreadable)?;
        match &written.sha256 {
            // A later format's record under an earlier one's number: a changed digit.
            Some(_) if format < CHECKSUMS_SINCE => {
                return Err(damaged(format!(
                    "it was changed: it says format {format}, of which no record has a checksum"
                )));
            }
            Some(sum) if *sum != checksum(written.launch, written.run) => {
                return Err(damaged(
                    "it was changed or cut, its checksum is of other bytes".to_owned(),
                ));
            }
            None if format >= CHECKSUMS_SINCE => {
                return Err(damaged("it has no checksum".to_owned()));
            }
            Some(_) | None => {}
        }
        let launch = serde_json::from_str(written.launch.get()).map_err(unreadable)?;
        let mut run: RunState = serde_json::from_str(written.run.get()).map_err(unreadable)?;
        if run.run_id != id {
            return Err(damaged(format!("it is of run {:?}", run.run_id)));
        }
        if format < IN_FLIGHT_SINCE {
            assume_started(&mut run);
        }
        Ok(Self { launch, run })
    }
}

/// A record's parts, each as it stands in the bytes.
#[derive(Serialize, Deserialize)]
struct Written<'a> {
    format: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    #[serde(borrow)]
    launch: &'a RawValue,
    #[serde(borrow)]
    run: &'a RawValue,
}

/// A part as JSON that does nothing to the terminal that it is looked at in.
fn raw<T: Serialize>(part: &T) -> Result<Box<RawValue>, serde_json::Error> {
    RawValue::from_string(inert_json(serde_json::to_string(part)?))
}

/// SHA-256 of the two parts, a line end between them, in hexadecimal digits.
fn checksum(launch: &RawValue, run: &RawValue) -> String {
    let mut sum = Sha256::new();
    sum.update(launch.get());
    sum.update(b"\n");
    sum.update(run.get());
    let digits = |byte: &u8| format!("{byte:02x}");
    sum.finalize().iter().map(digits).collect()
}

/// A record of an earlier format does not say whether the next call was started; where it can
/// have been, it is taken to have been.
fn assume_started(run: &mut RunState) {
    let cut_off = run.status == Status::Running
        || matches!(run.interruption, Some(StopReason::Cancelled { .. }));
    if cut_off && run.in_flight.is_none() {
        let index = TranscriptIndex::of(&run.messages);
        run.in_flight = index.first_pending().map(|pending| pending.call.id.clone());
    }
}
