//! Which paths a model may write: one rule for every kind of workspace and every platform.
//!
//! | path | is |
//! |---|---|
//! | empty | an error that the model can act on |
//! | `/a`, `\a`, `//host/a`, `\\host\a` | outside: absolute |
//! | `C:`, `c:a`, `C:/a` | outside: a Windows drive |
//! | `..` as any component, `a\b`, a NUL anywhere | outside, even where it would come back in |
//! | `./a`, `a//b`, `a/` | `a`, `a/b`, `a`: empty components and `.` are dropped |
//! | `.`, `./` | the workspace's own folder |
//! | `~/a`, `%2e%2e`, `...`, `CON`, `NUL`, `10:30.log` | plain names: nothing expands or opens them, they exist only where a listing shows them |

use super::error::FileProblem;

/// A path inside the workspace: components without `.`, `..` or separators, joined by `/`; empty
/// for the workspace's own folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FilePath(String);

impl FilePath {
    /// Reads a path that a model wrote.
    pub(super) fn parse(path: &str) -> Result<Self, FileProblem> {
        if path.is_empty() {
            return Err(FileProblem::Empty);
        }
        let leaves = path.starts_with('/')
            || path.contains(['\\', '\0'])
            || is_drive(path)
            || path.split('/').any(|component| component == "..");
        if leaves {
            return Err(FileProblem::Denied);
        }
        let components: Vec<_> = path
            .split('/')
            .filter(|component| !component.is_empty() && *component != ".")
            .collect();
        // `./C:` must not turn into a drive once its `.` is dropped.
        match components.join("/") {
            path if is_drive(&path) => Err(FileProblem::Denied),
            path => Ok(Self(path)),
        }
    }

    /// Whether `name` is the one spelling of the file that it names.
    pub(super) fn is_plain(name: &str) -> bool {
        Self::parse(name).is_ok_and(|path| path.0 == name)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }

    /// The folders on the way, outermost first, and the last component; `None` for the
    /// workspace's own folder.
    pub(super) fn split(&self) -> Option<(impl Iterator<Item = &str>, &str)> {
        let (folders, name) = self.0.rsplit_once('/').unwrap_or(("", &self.0));
        let folders = folders.split('/').filter(|folder| !folder.is_empty());
        (!name.is_empty()).then_some((folders, name))
    }
}

fn is_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_form_of_path_has_a_defined_meaning() {
        use FileProblem::{Denied, Empty};
        let table: &[(&str, Result<&str, FileProblem>)] = &[
            ("", Err(Empty)),
            ("notes.txt", Ok("notes.txt")),
            ("./notes.txt", Ok("notes.txt")),
            ("a//b", Ok("a/b")),
            ("a/./b/", Ok("a/b")),
            (".", Ok("")),
            ("././", Ok("")),
            (" ", Ok(" ")),
            ("...", Ok("...")),
            ("..a", Ok("..a")),
            ("~/x", Ok("~/x")),
            ("%2e%2e/x", Ok("%2e%2e/x")),
            ("CON", Ok("CON")),
            ("NUL.txt", Ok("NUL.txt")),
            ("10:30.log", Ok("10:30.log")),
            ("notes.txt::$DATA", Ok("notes.txt::$DATA")),
            ("file:///etc/passwd", Ok("file:/etc/passwd")),
            ("\u{ff0e}\u{ff0e}/x", Ok("\u{ff0e}\u{ff0e}/x")),
            ("/", Err(Denied)),
            ("/etc/shadow", Err(Denied)),
            ("//host/share", Err(Denied)),
            ("..", Err(Denied)),
            ("../x", Err(Denied)),
            ("a/../x", Err(Denied)),
            ("a/..", Err(Denied)),
            ("\\", Err(Denied)),
            ("..\\x", Err(Denied)),
            ("a\\b", Err(Denied)),
            ("\\\\host\\share", Err(Denied)),
            ("\\\\?\\C:\\x", Err(Denied)),
            ("C:", Err(Denied)),
            ("c:x", Err(Denied)),
            ("C:/x", Err(Denied)),
            ("C:\\x", Err(Denied)),
            ("./C:/x", Err(Denied)),
            ("notes.txt\0.png", Err(Denied)),
            ("\0", Err(Denied)),
        ];
        for (path, expected) in table {
            let parsed = FilePath::parse(path).map(FilePath::into_string);
            assert_eq!(parsed, expected.clone().map(str::to_owned), "{path:?}");
        }
    }

    #[test]
    fn a_path_splits_into_its_folders_and_its_name() {
        let split = |path: &str| {
            let path = FilePath::parse(path).unwrap();
            let (folders, name) = path.split()?;
            Some((folders.collect::<Vec<_>>().join("|"), name.to_owned()))
        };
        assert_eq!(split("a/b/c"), Some(("a|b".to_owned(), "c".to_owned())));
        assert_eq!(split("c"), Some((String::new(), "c".to_owned())));
        assert_eq!(split("."), None);
    }

    /// Where a path leads if both separators separate: how many folders below the root, or `None`
    /// as soon as it is outside.
    fn depth(path: &str) -> Option<usize> {
        let absolute = path.starts_with(['/', '\\']) || path.contains('\0');
        let drive = path
            .split(['/', '\\'])
            .find(|part| !matches!(*part, "" | "."));
        let drive = drive.is_some_and(|part| {
            let mut letters = part.chars();
            let letter = letters.next().is_some_and(|c| c.is_ascii_alphabetic());
            letter && letters.next() == Some(':')
        });
        let inside = (!absolute && !drive).then_some(0);
        path.split(['/', '\\'])
            .fold(inside, |depth, part| match part {
                "" | "." => depth,
                ".." => depth?.checked_sub(1),
                _ => Some(depth? + 1),
            })
    }

    fn any_path() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just(".".to_owned()),
            Just("..".to_owned()),
            Just("/".to_owned()),
            Just("\\".to_owned()),
            Just("\0".to_owned()),
            Just("C:".to_owned()),
            Just("a".to_owned()),
            any::<char>().prop_map(String::from),
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn what_is_accepted_stays_inside(path in any_path()) {
            if let Ok(file) = FilePath::parse(&path) {
                prop_assert!(depth(&path).is_some(), "{:?}", path);
                prop_assert_eq!(depth(file.as_str()), depth(&path));
                let mut components = std::path::Path::new(file.as_str()).components();
                prop_assert!(components.all(|c| matches!(c, std::path::Component::Normal(_))));
                prop_assert!(file.as_str().is_empty() || FilePath::is_plain(file.as_str()));
            }
        }

        #[test]
        fn what_leaves_is_refused(path in any_path()) {
            if depth(&path).is_none() {
                prop_assert_eq!(FilePath::parse(&path), Err(FileProblem::Denied));
            }
        }
    }
}
