//! A table as LaTeX, for engines that read Unicode.

use std::fmt::Write as _;

use crate::results::{Align, Direction, Shown, Words, visible};

/// What the document needs, as comments above the table.
const NEEDS: &str =
    "% LuaLaTeX or XeLaTeX with a font that has the script, and \\usepackage{booktabs}\n";
const NEEDS_RTL: &str = "% and \\usepackage[english,bidi=basic,layout=tabular]{babel} with this language as the main one\n";

/// The table as a `table` with rules of booktabs.
pub(super) fn table(shown: &Shown) -> String {
    let mut latex = String::from(NEEDS);
    if shown.direction == Direction::RightToLeft {
        latex += NEEDS_RTL;
    }
    latex += "\\begin{table}\n\\centering\n";
    if !shown.caption.text().is_empty() {
        let _ = writeln!(
            latex,
            "\\caption{{{}}}",
            words(shown.direction, &shown.caption)
        );
    }
    let columns = shown.aligned.iter().map(|align| match align {
        Align::Start => 'l',
        Align::Right => 'r',
    });
    let columns: String = columns.collect();
    let _ = writeln!(latex, "\\begin{{tabular}}{{{columns}}}\n\\toprule");
    latex += &row(shown.direction, &shown.headings);
    latex += "\\midrule\n";
    for cells in &shown.rows {
        latex += &row(shown.direction, cells);
    }
    latex += "\\bottomrule\n\\end{tabular}\n";
    for line in &shown.below {
        let said = words(shown.direction, line);
        let _ = writeln!(latex, "\n\\smallskip{{\\footnotesize {said}\\par}}");
    }
    latex + "\\end{table}\n"
}

/// A row. The command before it would take a star or a bracket at its beginning for its own.
fn row(direction: Direction, cells: &[Words]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| words(direction, cell)).collect();
    let row = cells.join(" & ");
    let is_taken = row.trim_start().starts_with(['*', '[']);
    let guard = if is_taken { "{}" } else { "" };
    format!("{guard}{row} \\\\\n")
}

/// Escaped words; those from left to right are told apart in a language from right to left.
fn words(direction: Direction, words: &Words) -> String {
    let rtl = direction == Direction::RightToLeft;
    match words {
        Words::Figure(text) if rtl => format!("\\foreignlanguage{{english}}{{{}}}", escape(text)),
        Words::Figure(text) | Words::Own(text) => escape(text),
        Words::Author(text) | Words::Data(text) if rtl && text.is_ascii() => {
            format!("\\foreignlanguage{{english}}{{{}}}", escape(&visible(text)))
        }
        Words::Author(text) | Words::Data(text) => escape(&visible(text)),
    }
}

/// Text as LaTeX prints it letter by letter, also those that it takes for one where two meet: a
/// dash, a quote.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut before = None;
    for letter in text.chars() {
        let meets = before.replace(letter) == Some(letter);
        if meets && matches!(letter, '-' | '`' | '\'' | ',' | '<' | '>') {
            escaped.push_str("{}");
        }
        match letter {
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '{' | '}' | '$' | '&' | '#' | '_' | '%' => escaped.extend(['\\', letter]),
            '\u{a0}' => escaped.push('~'),
            '\u{202f}' => escaped.push_str("\\,"),
            '\n' => escaped.push_str("\\newline{}"),
            '\u{2066}' => escaped.push_str("\\foreignlanguage{english}{"),
            '\u{2069}' => escaped.push('}'),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_letters_that_make_one_are_kept_apart_and_one_is_left_alone() {
        assert_eq!(escape("a--b---c - d"), "a-{}-b-{}-{}-c - d");
        assert_eq!(escape("``it''s'' <<,,>>"), "`{}`it'{}'s'{}' <{}<,{},>{}>");
        assert_eq!(escape("Don't, `x`"), "Don't, `x`");
    }

    #[test]
    fn a_row_does_not_begin_with_what_the_command_before_would_take() {
        let told = |first: &str| row(Direction::LeftToRight, &[Words::Data(first.to_owned())]);
        assert_eq!(told("[204,1]"), "{}[204,1] \\\\\n");
        assert_eq!(told(" *star"), "{} *star \\\\\n");
        assert_eq!(told("a [b]*"), "a [b]* \\\\\n");
    }
}
