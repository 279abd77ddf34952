//! The journal of writes: JSON lines that survive a crash in the middle of one.
//!
//! What is about to be done is written before it, what was done after it. Where a crash comes
//! between the two, the files themselves tell whether it was done.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, OpenOptions};
use serde::{Deserialize, Serialize};

use super::error::WorkspaceProblem;
use crate::files::{Point, Reach, plain, read_all};
use crate::letters::inert_json;

/// The journal's file name, beside the folder of the files.
pub(super) const FILE: &str = "journal.jsonl";

/// The most bytes of a line.
const MOST_LINE_BYTES: usize = 1 << 20;

/// What was done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It is about to be deleted.
    Deleting,
    /// It was deleted.
    Deleted,
}

/// One write, executed or meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// What was done.
    pub action: Action,
    /// The file's name in the workspace.
    pub path: String,
    /// The call that it was done for, as `ToolContext::operation` names it, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
}

impl JournalEntry {
    pub(super) fn deleted(path: &str, operation: Option<&str>) -> Self {
        Self {
            action: Action::Deleted,
            path: path.to_owned(),
            operation: operation.map(str::to_owned),
        }
    }

    /// The entry that goes before this one.
    pub(super) fn meant(&self) -> Self {
        Self {
            action: Action::Deleting,
            ..self.clone()
        }
    }

    /// The entry that follows upon this one.
    pub(super) fn executed(&self) -> Self {
        Self {
            action: Action::Deleted,
            ..self.clone()
        }
    }

    /// Whether it says that the file at `path` was deleted.
    pub(super) fn says_deleted(&self, path: &str) -> bool {
        self.action == Action::Deleted && self.path == path
    }
}

/// Reads the journal in `root`; where there is none, nothing was written.
pub(super) fn read(root: &Dir) -> Result<Vec<JournalEntry>, WorkspaceProblem> {
    let text = match root.open_with(FILE, options().read(true)) {
        Ok(file) => read_all(&mut plain(file.into_std())?)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    parse(&text)
}

/// Adds `entry` to the journal in `root`, and returns when it is on the disk. `reach` is told of
/// every point on the way.
pub(super) fn append(root: &Dir, entry: &JournalEntry, reach: &Reach) -> io::Result<()> {
    reach(Point::Begun)?;
    let file = root.open_with(FILE, options().read(true).write(true).create(true))?;
    let mut file = plain(file.into_std())?;
    // Names are the model's, and people look at the journal in a terminal.
    let line = inert_json(serde_json::to_string(entry)?) + "\n";
    if line.len() > MOST_LINE_BYTES {
        let words = "the journal takes no entry of more than 1 MiB: the id of the call is too long";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
    }
    seek_to_end_of_last_entry(&mut file)?;
    let end = file.stream_position()?;
    let written = write_line(&mut file, line.as_bytes(), reach);
    if written.is_err() {
        // What was refused shall not stand there: whoever asked is told that it was not done.
        file.set_len(end)?;
    }
    written
}

fn write_line(file: &mut File, line: &[u8], reach: &Reach) -> io::Result<()> {
    let (half, rest) = line.split_at(line.len() / 2);
    file.write_all(half)?;
    reach(Point::HalfWritten)?;
    file.write_all(rest)?;
    reach(Point::Written)?;
    file.sync_all()?;
    reach(Point::Done)
}

/// Puts `file` where the next line belongs: behind a last line that lacks only its end, over one
/// that was cut short.
fn seek_to_end_of_last_entry(file: &mut File) -> io::Result<()> {
    let text = read_all(file)?;
    let tail = text.len()
        - text
            .rsplit(|byte| *byte == b'\n')
            .next()
            .map_or(0, <[u8]>::len);
    if entry(&text[tail..]).is_some() {
        return file.write_all(b"\n");
    }
    let end = u64::try_from(tail).map_err(io::Error::other)?;
    file.set_len(end)?;
    file.seek(SeekFrom::Start(end)).map(drop)
}

fn parse(text: &[u8]) -> Result<Vec<JournalEntry>, WorkspaceProblem> {
    let mut entries = Vec::new();
    for (index, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        match entry(line) {
            Some(entry) => entries.push(entry),
            None if !line.ends_with(b"\n") && line.len() <= MOST_LINE_BYTES => break,
            None => return Err(WorkspaceProblem::Journal { line: index + 1 }),
        }
    }
    Ok(entries)
}

fn entry(line: &[u8]) -> Option<JournalEntry> {
    serde_json::from_slice(line).ok()
}

/// Follows no link, and waits for nobody at the other end of a pipe.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.follow(FollowSymlinks::No).nonblock(true);
    options
}

#[cfg(test)]
mod tests {
    use cap_std::ambient_authority;

    use super::*;

    const LINE: &str = "{\"action\":\"deleted\",\"path\":\"access.log\"}\n";

    fn with_journal(lines: &str, test: impl FnOnce(&Dir)) {
        let folder = tempfile::tempdir().unwrap();
        let root = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        root.write(FILE, lines).unwrap();
        test(&root);
    }

    #[test]
    fn an_entry_is_one_line() {
        with_journal("", |root| {
            append(
                root,
                &JournalEntry::deleted("access.log", None),
                &|_| Ok(()),
            )
            .unwrap();
            append(
                root,
                &JournalEntry::deleted("access.log", None),
                &|_| Ok(()),
            )
            .unwrap();
            assert_eq!(root.read_to_string(FILE).unwrap(), LINE.repeat(2));
            assert_eq!(read(root).unwrap().len(), 2);
        });
    }

    #[test]
    fn a_name_that_would_turn_a_text_around_is_written_escaped_and_read_as_it_is() {
        with_journal("", |root| {
            let name = "gpj.\u{202e}\u{2066}\u{2069}\u{200f}\u{61c}\u{9b}exe";
            let entry = JournalEntry::deleted(name, Some("\u{2067}c1"));
            append(root, &entry, &|_| Ok(())).unwrap();
            let text = root.read_to_string(FILE).unwrap();
            assert!(
                text.contains(r"gpj.\u202e\u2066\u2069\u200f\u061c\u009bexe"),
                "{text}"
            );
            assert!(text.contains(r"\u2067c1"), "{text}");
            assert_eq!(read(root).unwrap(), [entry]);
        });
    }

    #[test]
    fn a_line_cut_short_anywhere_is_tolerated_and_written_over() {
        for cut in 0..LINE.len() {
            with_journal(&format!("{LINE}{}", &LINE[..cut]), |root| {
                // Only the line's end is missing in the last round: the entry itself is whole.
                let whole = if cut == LINE.len() - 1 { 2 } else { 1 };
                assert_eq!(read(root).unwrap().len(), whole, "{cut}");
                append(root, &JournalEntry::deleted("b", None), &|_| Ok(())).unwrap();
                let entries = read(root).unwrap();
                assert_eq!(entries.len(), whole + 1, "{cut}");
                assert_eq!(entries[whole].path, "b");
                assert!(root.read_to_string(FILE).unwrap().ends_with("\"b\"}\n"));
            });
        }
    }

    #[test]
    fn a_broken_line_before_the_last_is_an_error_with_its_number() {
        with_journal(&format!("{LINE}{{\"action\n{LINE}"), |root| {
            let problem = read(root).unwrap_err();
            assert!(matches!(problem, WorkspaceProblem::Journal { line: 2 }));
        });
    }

    #[test]
    fn a_last_line_that_is_longer_than_any_entry_is_an_error_and_none_that_was_cut_short() {
        with_journal(LINE, |root| {
            let file = root.open_with(FILE, options().write(true)).unwrap();
            let length = LINE.len() + MOST_LINE_BYTES + 1;
            file.set_len(u64::try_from(length).unwrap()).unwrap();
            let problem = read(root).unwrap_err();
            assert!(matches!(problem, WorkspaceProblem::Journal { line: 2 }));
        });
    }

    #[test]
    fn an_entry_that_is_longer_than_a_line_can_be_is_refused_and_the_journal_left_alone() {
        with_journal(LINE, |root| {
            let id = "i".repeat(MOST_LINE_BYTES);
            let entry = JournalEntry::deleted("b", Some(&id));
            let error = append(root, &entry, &|_| Ok(())).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
            assert_eq!(root.read_to_string(FILE).unwrap(), LINE);
        });
    }

    #[test]
    fn without_a_journal_nothing_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let root = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        assert_eq!(read(&root).unwrap(), []);
    }
}
