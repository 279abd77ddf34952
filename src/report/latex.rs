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
        let _ = writeln!(latex, "\\caption{{{}}}", words(shown, &shown.caption));
    }
    let columns = shown.aligned.iter().map(|align| match align {
        Align::Start => 'l',
        Align::Right => 'r',
    });
    let columns: String = columns.collect();
    let _ = writeln!(latex, "\\begin{{tabular}}{{{columns}}}\n\\toprule");
    latex += &row(shown, &shown.headings);
    latex += "\\midrule\n";
    for cells in &shown.rows {
        latex += &row(shown, cells);
    }
    latex += "\\bottomrule\n\\end{tabular}\n";
    for line in &shown.below {
        let said = words(shown, line);
        let _ = writeln!(latex, "\n\\smallskip{{\\footnotesize {said}\\par}}");
    }
    latex + "\\end{table}\n"
}

fn row(shown: &Shown, cells: &[Words]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| words(shown, cell)).collect();
    format!("{} \\\\\n", cells.join(" & "))
}

/// Escaped words; those from left to right are told apart in a language from right to left.
fn words(shown: &Shown, words: &Words) -> String {
    let rtl = shown.direction == Direction::RightToLeft;
    match words {
        Words::Figure(text) if rtl => format!("\\foreignlanguage{{english}}{{{}}}", escape(text)),
        Words::Figure(text) | Words::Own(text) => escape(text),
        Words::Author(text) | Words::Data(text) if rtl && text.is_ascii() => {
            format!("\\foreignlanguage{{english}}{{{}}}", escape(&visible(text)))
        }
        Words::Author(text) | Words::Data(text) => escape(&visible(text)),
    }
}

/// Text as LaTeX prints it letter by letter.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
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
