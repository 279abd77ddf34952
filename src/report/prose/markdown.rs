//! Markdown as its reader sees it, with the HTML in it.

use super::html::{Open, entity, tag};
use super::numbering::Numbering;
use super::text::{Aside, BREAK, Kind, Visible};

/// The most bytes in which the end of a code span or a link target is looked for, so that the
/// time stays proportional to the text.
const LONGEST_SPAN: usize = 2048;

/// The visible characters of a Markdown text.
pub(super) fn visible(text: &str) -> Visible {
    let mut reader = Reader::default();
    let mut at = 0;
    let head = front_matter(text);
    for line in text.split_inclusive('\n') {
        if at < head {
            reader.aside(line, at);
        } else {
            reader.line(line, at);
        }
        at += line.len();
    }
    reader.visible
}

/// The bytes of the head between two lines of `---`.
fn front_matter(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("---\n").or(text.strip_prefix("---\r\n")) else {
        return 0;
    };
    let end = rest.find("\n---");
    end.map_or(0, |end| text.len() - rest.len() + end + 4)
}

#[derive(Default)]
struct Reader {
    visible: Visible,
    open: Open,
    /// What the open fence was opened with.
    fence: Option<String>,
    /// Inside a comment that an earlier line began.
    comment: bool,
    /// The last number of the list so far.
    list: usize,
    headings: Numbering,
}

impl Reader {
    fn aside(&mut self, text: &str, at: usize) {
        let start = self.visible.glyphs.len();
        self.verbatim(text, at, Kind::Aside(Aside::Markup));
        self.visible.set_aside(start, Aside::Markup);
    }

    fn verbatim(&mut self, text: &str, at: usize, kind: Kind) {
        for (offset, c) in text.char_indices() {
            self.visible.push(c, at + offset, kind);
        }
    }

    fn line(&mut self, line: &str, at: usize) {
        let trimmed = line.trim();
        let marks: String = trimmed
            .chars()
            .take_while(|c| matches!(c, '`' | '~'))
            .collect();
        match &self.fence {
            Some(fence) if trimmed.starts_with(fence.as_str()) && trimmed.len() == marks.len() => {
                self.fence = None;
            }
            None if marks.len() >= 3
                && !trimmed.get(marks.len()..).unwrap_or_default().contains('`') =>
            {
                self.fence = Some(marks);
            }
            Some(_) => return self.verbatim(line, at, Kind::Code),
            None => return self.prose(line, at),
        }
        self.aside(line, at);
    }

    fn prose(&mut self, line: &str, at: usize) {
        let start = self.visible.glyphs.len();
        let head = self.list_marker(line);
        self.aside(line.get(..head).unwrap_or_default(), at);
        let mut offset = head;
        while let Some(rest) = line.get(offset..).filter(|rest| !rest.is_empty()) {
            offset += self.inline(rest, line.get(..offset).unwrap_or_default(), at + offset);
        }
        if is_heading(line) {
            self.headings.heading(self.visible.since(start));
        }
    }

    /// The bytes of a list's number at the start of a line, if it goes on with the list or begins
    /// one; any other number there is text.
    fn list_marker(&mut self, line: &str) -> usize {
        let indent = line.len() - line.trim_start_matches([' ', '\t', '>']).len();
        let rest = line.get(indent..).unwrap_or_default();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number = rest
            .get(..digits)
            .and_then(|digits| digits.parse::<usize>().ok());
        let follows = rest.get(digits..).is_some_and(|rest| {
            rest.starts_with(['.', ')']) && rest.get(1..).is_some_and(|rest| rest.starts_with(' '))
        });
        match number {
            Some(number) if follows && (number == 1 || number == self.list + 1) => {
                self.list = number;
                indent + digits + 1
            }
            _ => 0,
        }
    }

    /// Takes what `rest` begins with, and says how many bytes that was.
    fn inline(&mut self, rest: &str, before: &str, at: usize) -> usize {
        if self.comment {
            let end = rest.find("-->").map_or(rest.len(), |end| end + 3);
            self.comment = !rest.get(..end).unwrap_or_default().ends_with("-->");
            return end;
        }
        let kind = self.open.kind(Kind::Prose);
        let special = match rest.as_bytes().first() {
            Some(b'`') => self.code_span(rest, at),
            Some(b'[') if rest.starts_with("[^") => {
                self.set_aside_to(rest, at, ']', Aside::Footnote)
            }
            Some(b'(') if before.ends_with(']') => self.set_aside_to(rest, at, ')', Aside::Markup),
            Some(b'<') => self.element(rest, at),
            Some(b'\\') => rest
                .get(1..2)
                .filter(|next| next.bytes().all(|b| b.is_ascii_punctuation()))
                .map(|next| {
                    self.verbatim(next, at + 1, kind);
                    2
                }),
            // Emphasis; inside a word it is a character like any other.
            Some(b'_') if !before.ends_with(char::is_alphanumeric) => Some(1),
            Some(b'*') => Some(1),
            Some(b'&') => entity(rest).map(|(c, len)| {
                self.visible.push(c, at, kind);
                len
            }),
            _ => None,
        };
        special.unwrap_or_else(|| {
            let c = rest.chars().next().unwrap_or(BREAK);
            self.visible.push(c, at, kind);
            c.len_utf8()
        })
    }

    fn code_span(&mut self, rest: &str, at: usize) -> Option<usize> {
        let ticks = rest.bytes().take_while(|byte| *byte == b'`').count();
        let mark = rest.get(..ticks)?;
        let inner = window(rest.get(ticks..)?);
        let end = inner.find(mark)?;
        self.verbatim(inner.get(..end)?, at + ticks, Kind::Code);
        Some(ticks + end + ticks)
    }

    fn set_aside_to(&mut self, rest: &str, at: usize, end: char, why: Aside) -> Option<usize> {
        let len = window(rest).find(end)? + end.len_utf8();
        let start = self.visible.glyphs.len();
        self.visible.push(BREAK, at, Kind::Prose);
        self.verbatim(rest.get(..len)?, at, Kind::Prose);
        self.visible.set_aside(start, why);
        Some(len)
    }

    fn element(&mut self, rest: &str, at: usize) -> Option<usize> {
        if let Some(comment) = rest.strip_prefix("<!--") {
            let end = comment.find("-->");
            self.comment = end.is_none();
            return Some(end.map_or(rest.len(), |end| end + 7));
        }
        // An address in angle brackets is told by its colon, and set aside like any other.
        let tag = tag(window(rest)).filter(|tag| {
            let written = rest.get(..tag.len).unwrap_or_default();
            !written.contains("://") || written.contains('=')
        })?;
        self.open.apply(tag, at, &mut self.visible);
        Some(tag.len)
    }
}

/// Whether a line is a heading: up to six `#` and a blank.
fn is_heading(line: &str) -> bool {
    let text = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - text.len())) && text.starts_with([' ', '\t'])
}

/// The first bytes of `text`, up to a limit.
fn window(text: &str) -> &str {
    let is_end = |end: &usize| text.is_char_boundary(*end);
    let end = (0..=LONGEST_SPAN.min(text.len()))
        .rev()
        .find(is_end)
        .unwrap_or(0);
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> String {
        let glyphs = visible(text).glyphs;
        let kept = glyphs
            .iter()
            .filter(|glyph| !matches!(glyph.kind, Kind::Aside(_)));
        kept.map(|glyph| glyph.c).collect()
    }

    #[test]
    fn numbering_links_footnotes_and_the_head_are_set_aside() {
        assert_eq!(seen("---\ndate: 2026\n---\nx 5"), "x 5");
        assert_eq!(
            seen("1. one\n2. two\n88. not a list\n"),
            " one\n two\n88. not a list\n"
        );
        assert_eq!(
            seen("# 1. a\n## 1.1 b\n## 3.7 times\n"),
            " a\n b\n## 3.7 times\n"
        );
        assert_eq!(seen("a [link 3](b/7.html) c[^12]"), "a [link 3] c");
        assert_eq!(seen("a <!-- 5\n6 --> b"), "a  b");
    }

    #[test]
    fn emphasis_escapes_and_entities_do_not_split_a_number() {
        assert_eq!(
            seen("**3,431** and **88**&nbsp;649 3\\.7 c_1"),
            "3,431 and 88\u{A0}649 3.7 c_1"
        );
    }

    #[test]
    fn code_keeps_every_character() {
        assert_eq!(
            seen("```js\nif (a<5 && b>3) $x$\n```\n`a<b>5`"),
            "if (a<5 && b>3) $x$\na<b>5"
        );
        let glyphs = visible("```\n$n$\n```\n").glyphs;
        assert!(glyphs.iter().all(|glyph| glyph.kind != Kind::Prose));
    }

    #[test]
    fn what_only_looks_like_markup_is_text() {
        for text in [
            "1.5 x",
            "a (5) b",
            "1.1 a",
            " 1.1 a",
            "#1.1 a",
            "####### 1.1 a",
            "2. no list begins so",
            "see <https://a.b/2026>, x=5",
            "a < 5 & b",
        ] {
            assert_eq!(seen(text), text);
        }
    }

    #[test]
    fn emphasis_comments_and_elements_are_not_seen() {
        for (text, left) in [
            ("an _5 x_", "an 5 x_"),
            ("a <!-- 5 -->6", "a 6"),
            ("<b>3</b>,431", "3,431"),
            ("<a href=\"https://a/7\">5</a>", "5"),
        ] {
            assert_eq!(seen(text), left, "{text}");
        }
    }

    #[test]
    fn a_fence_ends_at_its_own_mark_alone() {
        let text = "```\n~~~\n5\n```js\n6\n```\n7";
        let glyphs = visible(text).glyphs;
        let kind = |c: char| {
            glyphs
                .iter()
                .find(|glyph| glyph.c == c)
                .map(|glyph| glyph.kind)
        };
        assert_eq!(
            ['5', '6', '7'].map(kind),
            [Some(Kind::Code), Some(Kind::Code), Some(Kind::Prose)]
        );
    }

    #[test]
    fn each_character_has_its_place_in_the_file() {
        let text = "---\nd: 1\n---\n1. **β** `c` ``d`` \\* [e](f) g[^2]\n~~~\nh\n~~~\n";
        let glyphs = visible(text).glyphs;
        assert!(glyphs.iter().filter(|glyph| glyph.c != BREAK).all(|glyph| {
            text.get(glyph.at..)
                .is_some_and(|rest| rest.starts_with(glyph.c))
        }));
        let aside = glyphs
            .iter()
            .filter(|glyph| glyph.kind == Kind::Aside(Aside::Markup));
        let aside: String = aside
            .map(|glyph| glyph.c)
            .filter(char::is_ascii_digit)
            .collect();
        assert_eq!(aside, "11", "the head and the list");
    }
}
