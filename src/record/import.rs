//! Reads files into recordings, a batch of pieces at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::path::PathBuf;

use rayon::prelude::*;
use serde_json::Value;

use super::claude_code::Sessions;
use super::codex::Rollout;
use super::draft::Draft;
use super::escapes::without_halves;
use super::message::Wrong;
use super::pairs::Pairs;
use super::source::{MOST, Raw, Source};
use super::trace::Traces;
use super::{
    Format, Oddities, Oddity, Place, Recording, Reported, SuccessMark, chat, mini_swe_agent,
    swe_agent,
};
use crate::message::Usage;

/// How many records are remembered, so that one that comes again is known.
const REMEMBERED: usize = 1 << 20;

/// How many recordings are worked on before what was made of them is handed on.
const AT_ONCE: usize = 256;

/// What is read, and how.
#[derive(Clone, Debug, Default)]
pub struct Import {
    /// The files, in the order of reading.
    pub files: Vec<PathBuf>,
    /// Their format; each file's own, as its first values show it, if not given.
    pub format: Option<Format>,
    /// What says that a run did what it was for.
    pub success: SuccessMark,
}

/// A piece of a file that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Where it stands.
    pub place: Place,
    /// What is wrong with it.
    pub what: String,
}

/// Something that is told while files are read.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'a> {
    /// So many bytes were read so far.
    Bytes(u64),
    /// A piece was left out.
    Skipped(&'a Skipped),
}

/// Hears what is seen; a break ends the import.
pub type Watch<'a> = &'a mut dyn FnMut(Seen<'_>) -> ControlFlow<()>;

/// What was read in one format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfFormat {
    /// Recordings.
    pub runs: u64,
    /// Turns of them.
    pub turns: u64,
    /// Their tokens as they are counted.
    pub counted: Usage,
    /// Recordings that report anything: tokens, requests or cost.
    pub reporting: u64,
    /// What the records report, where they do.
    pub reported: Reported,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Files.
    pub files: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// By format.
    pub formats: BTreeMap<Format, OfFormat>,
    /// Pieces that could not be read.
    pub skipped: u64,
    /// Pieces that repeat an earlier one, and were taken once.
    pub duplicates: u64,
    /// What had to be read in some way or other.
    pub oddities: Oddities,
}

/// Whoever watched an import wanted no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the import was stopped")]
pub struct ImportStopped;

/// A value of a file.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) place: Place,
    /// What tells it from others, byte for byte.
    pub(super) digest: u128,
    pub(super) value: Value,
    /// Halves of characters in it that were replaced.
    pub(super) halves: u64,
}

/// What became of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    Used,
    Duplicate,
}

/// Puts the pieces of one file together.
pub(super) trait Importer {
    /// Takes the next piece.
    fn take(&mut self, piece: Piece) -> Result<Taken, Wrong>;
    /// The recordings to which nothing will be added any more: all, at the end of the file.
    fn closed(&mut self, at_end: bool) -> Vec<Draft>;
}

impl Import {
    /// Reads everything: `make` works on each recording, on several at once, and `take` gets what
    /// it made in the order of the files.
    ///
    /// # Errors
    /// [`ImportStopped`] where `watch` broke off.
    pub fn each<T: Send>(
        &self,
        watch: Watch<'_>,
        make: impl Fn(Recording) -> T + Sync,
        mut take: impl FnMut(T),
    ) -> Result<Imported, ImportStopped> {
        let mut source = Source::new(&self.files);
        let mut reading = Reading::new(self);
        let mut sum = Imported {
            files: self.files.len() as u64,
            ..Imported::default()
        };
        loop {
            let batch = source.batch();
            if batch.is_empty() {
                break;
            }
            let parsed: Vec<Parsed> = batch.into_par_iter().flat_map_iter(parse).collect();
            for skipped in parsed.into_iter().filter_map(|one| reading.take(one)) {
                sum.skipped += 1;
                heard(watch(Seen::Skipped(&skipped)))?;
            }
            let mut drafts = std::mem::take(&mut reading.closed).into_iter();
            loop {
                let some: Vec<Draft> = drafts.by_ref().take(AT_ONCE).collect();
                if some.is_empty() {
                    break;
                }
                let counted = some.into_par_iter().map(|draft| {
                    let recording = draft.counted();
                    (Counted::of(&recording), make(recording))
                });
                for (counted, made) in counted.collect::<Vec<_>>() {
                    counted.add_to(&mut sum);
                    take(made);
                }
            }
            sum.bytes = source.bytes();
            sum.duplicates = reading.duplicates;
            sum.oddities.add(&std::mem::take(&mut reading.oddities));
            heard(watch(Seen::Bytes(sum.bytes)))?;
        }
        Ok(sum)
    }

    fn importer(&self, format: Format) -> Box<dyn Importer> {
        let success = self.success.clone();
        let one_each =
            |read| -> Box<dyn Importer> { Box::new(OneEach::new(success.clone(), read)) };
        match format {
            Format::Chat => one_each(chat::draft),
            Format::MiniSweAgent => one_each(mini_swe_agent::draft),
            Format::SweAgent => one_each(swe_agent::draft),
            Format::Pairs => Box::new(Pairs::new(success)),
            Format::Trace => Box::new(Traces::new(success)),
            Format::ClaudeCode => Box::new(Sessions::new(success)),
            Format::Codex => Box::new(Rollout::new(success)),
        }
    }
}

/// The pieces on their way into recordings.
struct Reading<'i> {
    import: &'i Import,
    /// Of the file that is read, once its format is known.
    file: Option<(Format, Box<dyn Importer>)>,
    /// Digests of the pieces that are a record each, of all files.
    records: BTreeSet<u128>,
    closed: Vec<Draft>,
    /// Digests of the sessions that were handed on.
    sessions: BTreeSet<u128>,
    duplicates: u64,
    /// What was odd in pieces, whatever became of them.
    oddities: Oddities,
}

impl<'i> Reading<'i> {
    fn new(import: &'i Import) -> Self {
        Self {
            import,
            file: None,
            records: BTreeSet::new(),
            closed: Vec::new(),
            sessions: BTreeSet::new(),
            duplicates: 0,
            oddities: Oddities::default(),
        }
    }

    /// Hands a piece to the importer of its file, and says what was wrong with it.
    fn take(&mut self, parsed: Parsed) -> Option<Skipped> {
        match parsed {
            Parsed::Wrong(skipped) => Some(skipped),
            Parsed::End => {
                if let Some((_, mut ended)) = self.file.take() {
                    self.close(ended.closed(true));
                }
                None
            }
            Parsed::Piece(piece) => {
                let place = piece.place.clone();
                let what = self.take_piece(piece).err();
                what.map(|Wrong(what)| Skipped { place, what })
            }
        }
    }

    fn take_piece(&mut self, piece: Piece) -> Result<(), Wrong> {
        if self.file.is_none() {
            let Some(format) = self.import.format.or_else(|| Format::of(&piece.value)) else {
                return Err("no record of a known format; --from FORMAT says which it is".into());
            };
            self.file = Some((format, self.import.importer(format)));
        }
        let Some((format, file)) = &mut self.file else {
            return Ok(());
        };
        let is_record = matches!(
            format,
            Format::Chat | Format::MiniSweAgent | Format::SweAgent
        );
        if is_record && self.records.len() < REMEMBERED && !self.records.insert(piece.digest) {
            self.duplicates += 1;
            return Ok(());
        }
        for _ in 0..piece.halves {
            self.oddities.see(Oddity::HalfCharacter);
        }
        let taken = file.take(piece);
        let closed = file.closed(false);
        self.close(closed);
        if taken? == Taken::Duplicate {
            self.duplicates += 1;
        }
        Ok(())
    }

    /// Hands recordings on. A session that was copied into another file is still one session;
    /// what has no name of its own may well be the same twice.
    fn close(&mut self, drafts: Vec<Draft>) {
        for draft in drafts {
            let is_new = match draft.session() {
                Some(session) => self.sessions.insert(digest(&session)),
                None => true,
            };
            if is_new {
                self.closed.push(draft);
            } else {
                self.duplicates += 1;
            }
        }
    }
}

fn heard(answer: ControlFlow<()>) -> Result<(), ImportStopped> {
    match answer {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(ImportStopped),
    }
}

/// How a format with one recording a piece reads one.
type ReadOne = fn(Value, &Place) -> Result<Draft, Wrong>;

/// An importer of a format with one recording a piece.
struct OneEach {
    success: SuccessMark,
    read: ReadOne,
    read_last: Option<Draft>,
}

impl OneEach {
    fn new(success: SuccessMark, read: ReadOne) -> Self {
        Self {
            success,
            read,
            read_last: None,
        }
    }
}

impl Importer for OneEach {
    fn take(&mut self, piece: Piece) -> Result<Taken, Wrong> {
        let success = self.success.read(&piece.value);
        let mut draft = (self.read)(piece.value, &piece.place)?;
        draft.success = success;
        self.read_last = Some(draft);
        Ok(Taken::Used)
    }

    fn closed(&mut self, _at_end: bool) -> Vec<Draft> {
        self.read_last.take().into_iter().collect()
    }
}

/// A part of a file as a value.
enum Parsed {
    Piece(Piece),
    Wrong(Skipped),
    End,
}

/// Reads a part as JSON; a line that is an array is as many values as it has elements.
fn parse(raw: Raw) -> Vec<Parsed> {
    let wrong = |place, what| vec![Parsed::Wrong(Skipped { place, what })];
    let (place, before, bytes) = match raw {
        Raw::End => return vec![Parsed::End],
        Raw::TooLong(place) => return wrong(place, format!("longer than {} MiB", MOST >> 20)),
        Raw::Unread(place, error) => return wrong(place, format!("cannot be read on: {error}")),
        Raw::Cut(place) => return wrong(place, "the file ends inside of its array".to_owned()),
        Raw::Piece {
            place,
            before,
            bytes,
        } => (place, before, bytes),
    };
    let bytes = bytes.trim_ascii_end();
    let mut read = (serde_json::from_slice::<Value>(bytes), 0);
    if read.0.is_err()
        && let Some((whole, halves)) = without_halves(bytes)
    {
        read = (serde_json::from_slice(&whole), halves);
    }
    match read {
        (Ok(Value::Array(values)), mut halves) if place.element.is_none() => {
            let pieces = values.into_iter().map(|value| {
                Parsed::Piece(Piece {
                    place: place.clone(),
                    digest: digest(value.to_string().as_bytes()),
                    value,
                    halves: std::mem::take(&mut halves),
                })
            });
            pieces.collect()
        }
        (Ok(value), halves) => vec![Parsed::Piece(Piece {
            place,
            digest: digest(bytes),
            value,
            halves,
        })],
        (Err(error), _) => vec![Parsed::Wrong(broken(place, (before, bytes), &error))],
    }
}

/// What is wrong with bytes that are no JSON, where in the file it is.
fn broken(mut place: Place, (before, bytes): (usize, &[u8]), error: &serde_json::Error) -> Skipped {
    if let Err(error) = std::str::from_utf8(bytes) {
        let good = &bytes[..error.valid_up_to()];
        let mut lines = good.split(|byte| *byte == b'\n').rev();
        let line = lines.next().unwrap_or_default();
        let lines = lines.count();
        place.line = place.line.saturating_add(lines as u64);
        let before = if lines == 0 { before } else { 0 };
        let what = format!("not UTF-8 at byte {} of the line", before + line.len() + 1);
        return Skipped { place, what };
    }
    let before = if error.line() <= 1 { before } else { 0 };
    place.line += error.line().saturating_sub(1) as u64;
    let words = error.to_string();
    let words = words.split(" at line ").next().unwrap_or_default();
    let what = format!("not JSON: {words} at column {}", before + error.column());
    Skipped { place, what }
}

/// Two digests of 64 bits under different beginnings, as one.
fn digest(bytes: &[u8]) -> u128 {
    let half = |begin: u8| {
        let mut hasher = DefaultHasher::new();
        begin.hash(&mut hasher);
        bytes.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}

/// What one recording adds to what was read.
struct Counted {
    format: Format,
    of_format: OfFormat,
    oddities: Oddities,
}

impl Counted {
    fn of(recording: &Recording) -> Self {
        let is_reporting = !recording.reported.is_empty();
        Self {
            format: recording.format,
            of_format: OfFormat {
                runs: 1,
                turns: recording.turns.len() as u64,
                counted: recording.counted(),
                reporting: u64::from(is_reporting),
                reported: recording.reported,
            },
            oddities: recording.oddities.clone(),
        }
    }

    fn add_to(self, all: &mut Imported) {
        let sum = all.formats.entry(self.format).or_default();
        sum.runs += self.of_format.runs;
        sum.turns += self.of_format.turns;
        sum.counted += self.of_format.counted;
        sum.reporting += self.of_format.reporting;
        sum.reported.add(&self.of_format.reported);
        all.oddities.add(&self.oddities);
    }
}
