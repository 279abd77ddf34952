//! A file as its reader sees it: characters without markup, each with its place in the file.

use super::characters::{digit, is_blank, is_invisible};
use super::{html, markdown};

/// How the text of a file is marked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markup {
    /// Not at all.
    Plain,
    /// Markdown, with whatever HTML stands in it.
    Markdown,
    /// HTML.
    Html,
}

impl Markup {
    /// The markup of a file, by the ending of its name or, failing that, by how its text begins.
    #[must_use]
    pub fn of(name: &str, text: &str) -> Self {
        let ending = name
            .rsplit_once('.')
            .map(|(_, ending)| ending.to_ascii_lowercase());
        match ending.as_deref() {
            Some("md" | "markdown" | "mdx") => return Self::Markdown,
            Some("html" | "htm" | "xhtml") => return Self::Html,
            _ => {}
        }
        let start: String = text.trim_start().chars().take(14).collect();
        let start = start.to_ascii_lowercase();
        if start.starts_with("<!doctype html") || start.starts_with("<html") {
            Self::Html
        } else {
            Self::Plain
        }
    }
}

/// Digits that are not read as numbers, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Aside {
    /// They stand in a formula, such as `$n^2$`.
    Maths,
    /// They mark a footnote.
    Footnote,
    /// They number a section.
    Section,
    /// They are part of a name, such as `c1` or `o200k_base`.
    Identifier,
    /// They are part of an address, such as `https://…/2026`.
    Address,
    /// They are no text: the numbering of a list, the target of a link, the head of the file.
    Markup,
}

impl std::fmt::Display for Aside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Maths => "in formulas",
            Self::Footnote => "footnote marks",
            Self::Section => "section numbers",
            Self::Identifier => "in names",
            Self::Address => "in addresses",
            Self::Markup => "in markup",
        })
    }
}

/// What kind of text a character belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Prose,
    /// A program or its output: `$` is never a formula here.
    Code,
    Aside(Aside),
}

/// Stands where markup interrupts the text, so that two numbers do not grow together. A file with
/// this character in it is refused as binary.
pub(super) const BREAK: char = '\0';

/// One visible character.
#[derive(Clone, Copy, Debug)]
pub(super) struct Glyph {
    pub(super) c: char,
    /// Its first byte in the file.
    pub(super) at: usize,
    pub(super) kind: Kind,
}

/// The visible characters of a text, in order.
#[derive(Debug, Default)]
pub(super) struct Visible {
    pub(super) glyphs: Vec<Glyph>,
}

impl Visible {
    pub(super) fn of(text: &str, markup: Markup) -> Self {
        let mut visible = match markup {
            Markup::Plain => Self::plain(text),
            Markup::Markdown => markdown::visible(text),
            Markup::Html => html::visible(text),
        };
        mark_addresses(&mut visible.glyphs);
        mark_formulas(&mut visible.glyphs);
        visible
    }

    fn plain(text: &str) -> Self {
        let mut visible = Self::default();
        for (at, c) in text.char_indices() {
            visible.push(c, at, Kind::Prose);
        }
        visible
    }

    /// Adds a character unless nobody sees it.
    pub(super) fn push(&mut self, c: char, at: usize, kind: Kind) {
        if !is_invisible(c) {
            self.glyphs.push(Glyph { c, at, kind });
        }
    }

    /// The glyphs from `start` on.
    pub(super) fn since(&mut self, start: usize) -> &mut [Glyph] {
        self.glyphs.get_mut(start..).unwrap_or_default()
    }

    /// Makes everything from the glyph `start` on an aside.
    pub(super) fn set_aside(&mut self, start: usize, why: Aside) {
        for glyph in self.glyphs.iter_mut().skip(start) {
            glyph.kind = Kind::Aside(why);
        }
    }
}

/// The most characters in which the end of a formula is looked for.
const LONGEST_FORMULA: usize = 400;

/// Sets addresses aside: from the word before `://` to what cannot be part of one.
fn mark_addresses(glyphs: &mut [Glyph]) {
    let is_part =
        |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\'' | '<' | '>' | ')' | '|' | '`');
    let mut at = 0;
    while let Some(three) = glyphs.get(at..at + 3) {
        if !three.iter().map(|glyph| glyph.c).eq("://".chars()) {
            at += 1;
            continue;
        }
        while let Some(glyph) = glyphs.get_mut(at).filter(|glyph| is_part(glyph.c)) {
            glyph.kind = Kind::Aside(Aside::Address);
            at += 1;
        }
    }
}

/// Sets formulas aside. A `$` before a digit is a dollar, and so is one after a number.
fn mark_formulas(glyphs: &mut [Glyph]) {
    let mut at = 0;
    while at < glyphs.len() {
        match formula_at(glyphs, at) {
            Some(end) => {
                for glyph in glyphs.iter_mut().take(end).skip(at) {
                    glyph.kind = Kind::Aside(Aside::Maths);
                }
                at = end;
            }
            None => at += 1,
        }
    }
}

/// Where the formula that begins at `at` ends, if one does.
fn formula_at(glyphs: &[Glyph], at: usize) -> Option<usize> {
    let is_prose_dollar = |glyph: &Glyph| glyph.c == '$' && glyph.kind == Kind::Prose;
    glyphs.get(at).filter(|glyph| is_prose_dollar(glyph))?;
    let rest = glyphs.get(at + 1..)?;
    let window = rest.get(..LONGEST_FORMULA).unwrap_or(rest);
    if window.first().is_some_and(|next| next.c == '$') {
        let close = window
            .windows(2)
            .skip(1)
            .position(|pair| pair.iter().all(is_prose_dollar))?;
        return Some(at + close + 4);
    }
    let opens = |c: char| c.is_ascii_alphabetic() || matches!(c, '\\' | '(' | '|');
    window.first().filter(|next| opens(next.c))?;
    let before = glyphs.get(..at).unwrap_or_default();
    let number_before = before.iter().rev().find(|glyph| !is_blank(glyph.c));
    if number_before.is_some_and(|glyph| digit(glyph.c).is_some()) {
        return None;
    }
    let close = window
        .iter()
        .position(|glyph| matches!(glyph.c, '$' | '\n' | BREAK))?;
    let closes = window.get(close).is_some_and(is_prose_dollar)
        && close
            .checked_sub(1)
            .and_then(|last| window.get(last))
            .is_some_and(|last| !is_blank(last.c))
        && window
            .get(close + 1)
            .is_none_or(|next| digit(next.c).is_none());
    closes.then_some(at + close + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The prose and code of a text, asides left out.
    fn seen(text: &str, markup: Markup) -> String {
        let glyphs = Visible::of(text, markup).glyphs;
        let kept = glyphs
            .iter()
            .filter(|glyph| !matches!(glyph.kind, Kind::Aside(_)));
        kept.map(|glyph| glyph.c).collect()
    }

    #[test]
    fn formulas_are_set_aside_and_dollars_are_not() {
        for (text, left) in [
            ("turn $n$ of $\\Theta(n^2)$.", "turn  of ."),
            ("$$\\sum_1^3 k$$ ends", " ends"),
            ("costs $0.010 and $N$ more", "costs $0.010 and  more"),
            ("0,01 $US et 0,02 $US", "0,01 $US et 0,02 $US"),
            ("`${dir}/${id}.json`", "`${dir}/${id}.json`"),
            ("$0.010 then $0.020", "$0.010 then $0.020"),
            ("5$a and 6$b", "5$a and 6$b"),
            ("$N is dear\n5 more", "$N is dear\n5 more"),
            ("$N and $x 5", "$N and $x 5"),
            ("$N$5", "$N$5"),
        ] {
            assert_eq!(seen(text, Markup::Plain), left, "{text}");
        }
        assert_eq!(seen("`$a` and `$b`", Markup::Markdown), "$a and $b");
    }

    #[test]
    fn addresses_are_set_aside() {
        assert_eq!(
            seen("see https://a.b/2026/1.html (p. 3)", Markup::Plain),
            "see https (p. 3)"
        );
        assert_eq!(
            seen("見てhttps://a.b/2026。3", Markup::Plain),
            "見てhttps。3"
        );
    }

    #[test]
    fn the_markup_is_told_by_name_and_then_by_text() {
        assert_eq!(Markup::of("a.MD", ""), Markup::Markdown);
        assert_eq!(Markup::of("a.html", ""), Markup::Html);
        assert_eq!(Markup::of("a.txt", "\n<!DOCTYPE html>"), Markup::Html);
        assert_eq!(Markup::of("a.b/c", "# 1"), Markup::Plain);
    }
}
