//! HTML as its reader sees it.

use super::characters::{digit, is_blank};
use super::numbering::Numbering;
use super::text::{Aside, BREAK, Kind, Visible};

/// A tag, a comment or a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag<'t> {
    /// Its bytes, brackets included.
    pub(super) len: usize,
    /// The element's name as written; empty for a comment or a declaration.
    pub(super) name: &'t str,
    /// Whether it ends the element.
    pub(super) closes: bool,
}

/// The tag that `rest` begins with, if it does.
pub(super) fn tag(rest: &str) -> Option<Tag<'_>> {
    let inner = rest.strip_prefix('<')?;
    if let Some(comment) = inner.strip_prefix("!--") {
        let len = comment.find("-->").map_or(rest.len(), |end| end + 7);
        return Some(Tag {
            len,
            name: "",
            closes: false,
        });
    }
    let (closes, named) = inner
        .strip_prefix('/')
        .map_or((false, inner), |named| (true, named));
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let name = named.get(..named.find(|c| !is_name(c)).unwrap_or(named.len()))?;
    let len = begins_tag(rest).then(|| end_of_tag(inner))?? + 1;
    Some(Tag { len, name, closes })
}

/// Whether a bracket is that of a tag and not a sign between two values.
fn begins_tag(rest: &str) -> bool {
    let inner = rest
        .strip_prefix("</")
        .or(rest.strip_prefix('<'))
        .unwrap_or_default();
    inner.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '!' | '?'))
}

/// The bytes up to and with the bracket that ends a tag; brackets in quotes do not.
fn end_of_tag(inner: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in inner.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at + 1),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    inner.find('>').map(|at| at + 1)
}

/// The character that an entity at the start of `rest` stands for, and its bytes.
pub(super) fn entity(rest: &str) -> Option<(char, usize)> {
    let end = rest.bytes().take(12).position(|byte| byte == b';')?;
    let name = rest.get(1..end)?;
    let c = match name.strip_prefix('#') {
        Some(number) => {
            let hex = number.strip_prefix(['x', 'X']);
            let code = hex.map_or_else(
                || number.parse().ok(),
                |hex| u32::from_str_radix(hex, 16).ok(),
            )?;
            char::from_u32(code).filter(|c| *c != BREAK)?
        }
        None => named(name)?,
    };
    Some((c, end + 1))
}

fn named(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" | "lsquo" => '\'',
        "rsquo" => '’',
        "nbsp" => '\u{A0}',
        "ensp" => '\u{2002}',
        "emsp" => '\u{2003}',
        "numsp" => '\u{2007}',
        "puncsp" => '\u{2008}',
        "thinsp" => '\u{2009}',
        "hairsp" => '\u{200A}',
        "shy" => '\u{AD}',
        "zwnj" => '\u{200C}',
        "zwj" => '\u{200D}',
        "lrm" => '\u{200E}',
        "rlm" => '\u{200F}',
        "times" => '×',
        "middot" => '·',
        "minus" => '−',
        "ndash" => '–',
        "mdash" => '—',
        "hellip" => '…',
        "percnt" => '%',
        "dollar" => '$',
        "comma" => ',',
        "period" => '.',
        _ => return None,
    })
}

/// Elements inside a line: a number can begin before one and end in it.
fn is_inline(name: &str) -> bool {
    const INLINE: &[&str] = &[
        "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "em", "font", "i", "ins",
        "kbd", "mark", "q", "s", "samp", "small", "span", "strong", "time", "tt", "u", "var",
        "wbr",
    ];
    INLINE.contains(&name)
}

fn is_heading(name: &str) -> bool {
    matches!(name, "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
}

/// What the element that is open makes of its text.
fn kind_of(name: &str) -> Option<Kind> {
    Some(match name {
        "code" | "pre" | "samp" | "kbd" | "tt" => Kind::Code,
        "math" => Kind::Aside(Aside::Maths),
        "svg" => Kind::Aside(Aside::Markup),
        _ => return None,
    })
}

/// Elements that are open, as far as they matter to numbers.
#[derive(Debug, Default)]
pub(super) struct Open {
    kinds: Vec<(String, Kind)>,
    /// Where a superscript began.
    raised: Option<usize>,
    /// Where a heading began.
    heading: Option<usize>,
    headings: Numbering,
}

impl Open {
    /// The kind of text here, `outside` if no element says otherwise.
    pub(super) fn kind(&self, outside: Kind) -> Kind {
        self.kinds.last().map_or(outside, |(_, kind)| *kind)
    }

    /// Takes note of a tag that stands at the byte `at`.
    pub(super) fn apply(&mut self, tag: Tag<'_>, at: usize, visible: &mut Visible) {
        let name = tag.name.to_ascii_lowercase();
        if !is_inline(&name) && !name.is_empty() {
            let c = if matches!(name.as_str(), "sup" | "sub") {
                BREAK
            } else {
                '\n'
            };
            visible.push(c, at, Kind::Prose);
        }
        if is_heading(&name) {
            match (tag.closes, self.heading.take()) {
                (false, _) => self.heading = Some(visible.glyphs.len()),
                (true, Some(start)) => self.headings.heading(visible.since(start)),
                (true, None) => {}
            }
        } else if name == "sup" {
            match (tag.closes, self.raised.take()) {
                (false, _) => self.raised = Some(visible.glyphs.len()),
                (true, Some(start)) => set_mark_aside(visible, start),
                (true, None) => {}
            }
        } else if tag.closes {
            if let Some(open) = self.kinds.iter().rposition(|(open, _)| *open == name) {
                self.kinds.truncate(open);
            }
        } else if let Some(kind) = kind_of(&name) {
            // Markup that never closes what it opens must not grow a list for ever.
            if self.kinds.len() < 64 {
                self.kinds.push((name, kind));
            }
        }
    }
}

/// A superscript of digits and little else is a footnote mark or an exponent.
fn set_mark_aside(visible: &mut Visible, start: usize) {
    let is_mark = |c: char| {
        digit(c).is_some()
            || is_blank(c)
            || matches!(c, '[' | ']' | '(' | ')' | ',' | '*' | BREAK | '\n')
    };
    if visible
        .glyphs
        .iter()
        .skip(start)
        .all(|glyph| is_mark(glyph.c))
    {
        visible.set_aside(start, Aside::Footnote);
    }
}

/// The bytes of an element whose content is no text, from after its opening tag.
fn hidden(name: &str, rest: &str) -> Option<usize> {
    let name = ["script", "style", "template"]
        .into_iter()
        .find(|hidden| name.eq_ignore_ascii_case(hidden))?;
    let mut from = 0;
    while let Some(found) = rest.get(from..).and_then(|rest| rest.find("</")) {
        let at = from + found;
        let candidate = rest.get(at + 2..at + 2 + name.len());
        if candidate.is_some_and(|candidate| candidate.eq_ignore_ascii_case(name)) {
            return Some(at);
        }
        from = at + 2;
    }
    Some(rest.len())
}

/// The visible characters of an HTML text.
pub(super) fn visible(text: &str) -> Visible {
    let mut visible = Visible::default();
    let mut open = Open::default();
    let mut at = 0;
    // Once a tag does not end, no later one does.
    let mut tags = true;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if tags && rest.starts_with('<') {
            if let Some(tag) = tag(rest) {
                open.apply(tag, at, &mut visible);
                at += tag.len;
                let skipped = text
                    .get(at..)
                    .filter(|_| !tag.closes)
                    .and_then(|rest| hidden(tag.name, rest));
                at += skipped.unwrap_or(0);
                continue;
            }
            tags = !begins_tag(rest);
        }
        let Some(first) = rest.chars().next() else {
            break;
        };
        let decoded = (first == '&').then(|| entity(rest)).flatten();
        let (c, len) = decoded.unwrap_or((first, first.len_utf8()));
        visible.push(c, at, open.kind(Kind::Prose));
        at += len;
    }
    visible
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> String {
        let glyphs = visible(text).glyphs;
        let kept = glyphs.iter().filter(|glyph| {
            !matches!(glyph.kind, Kind::Aside(_)) && !matches!(glyph.c, BREAK | '\n')
        });
        kept.map(|glyph| glyph.c).collect()
    }

    #[test]
    fn tags_comments_scripts_and_attributes_are_not_seen() {
        assert_eq!(
            seen("<p class=\"c5\" data-x='>9'>a</p><!-- 7 --><script>let x = 5</script>b"),
            "ab"
        );
        assert_eq!(seen("<STYLE>p{margin:5}</STYLE >x<br/>y"), "xy");
        assert_eq!(seen("a < 5 && b > 3"), "a < 5 && b > 3");
        assert_eq!(seen("an <unclosed 5"), "an <unclosed 5");
        assert_eq!(seen("<!-- never closed 5"), "");
    }

    #[test]
    fn inline_elements_and_entities_join_and_blocks_separate() {
        assert_eq!(seen("<b>88</b>&#8239;649"), "88\u{202F}649");
        assert_eq!(
            seen("75&nbsp;&percnt; &unknown; &#x35;"),
            "75\u{A0}% &unknown; 5"
        );
        let table = visible("<td>88</td><td>649</td>").glyphs;
        assert!(table.iter().any(|glyph| glyph.c == '\n'));
    }

    #[test]
    fn footnote_marks_and_formulas_are_set_aside() {
        assert_eq!(
            seen("said so<sup>5</sup> once<sup>[12]</sup>, 3<sup>rd</sup>"),
            "said so once, 3rd"
        );
        assert_eq!(
            seen("<h2><span>14.1</span> a</h2><h2>3.7 b</h2><H3>14.1.1 c</H3>"),
            " a3.7 b c"
        );
        assert_eq!(seen("<math><mn>2</mn></math>x"), "x");
    }

    #[test]
    fn every_named_character_is_its_own() {
        let names = "amp lt gt quot apos lsquo rsquo nbsp ensp emsp numsp puncsp thinsp hairsp shy \
            zwnj zwj lrm rlm times middot minus ndash mdash hellip percnt dollar comma period";
        let characters = "&<>\"''’\u{A0}\u{2002}\u{2003}\u{2007}\u{2008}\u{2009}\u{200A}\u{AD}\
            \u{200C}\u{200D}\u{200E}\u{200F}×·−–—…%$,.";
        let decoded: Option<String> = names.split(' ').map(named).collect();
        assert_eq!(decoded.as_deref(), Some(characters));
    }

    #[test]
    fn a_tag_with_half_a_quote_ends_and_a_bracket_that_is_none_hides_no_tag() {
        assert_eq!(seen("<p title=\"a>5</p>6"), "56");
        assert_eq!(seen("a < 5 <b>c</b>"), "a < 5 c");
    }

    #[test]
    fn code_and_drawings_end_where_they_are_closed() {
        assert_eq!(seen("<svg>5<pre>6</pre>7</svg>8"), "68");
        let kinds = visible("<samp>5</samp>6").glyphs;
        let kinds: Vec<_> = kinds.iter().map(|glyph| glyph.kind).collect();
        assert_eq!(kinds, [Kind::Code, Kind::Prose]);
        assert_eq!(seen(&format!("{}<pre>5", "<svg>".repeat(64))), "");
    }

    #[test]
    fn a_script_ends_at_its_own_tag_alone() {
        assert_eq!(seen("<script>let x = '</b>'</SCRIPT>6"), "6");
        assert_eq!(seen("a<style>p</p></b"), "a");
    }
}
