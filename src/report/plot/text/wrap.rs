//! Lines: where a text may be broken, and how evenly.

use unicode_script::{Script, UnicodeScript as _};

use super::super::scene::Px;

/// Breaks `text` into the fewest lines that are no wider than `width`, and those as even as they
/// can be. A piece that cannot be broken may be wider.
pub(super) fn wrap(text: &str, width: Px, measure: &dyn Fn(&str) -> Px) -> Vec<String> {
    let pieces = pieces(text);
    let lines = fill(&pieces, width, measure);
    if lines.len() < 2 {
        return lines;
    }
    // The narrowest measure that needs no more lines.
    let (mut narrow, mut wide) = (width / 2, width);
    while wide - narrow > 20 {
        let middle = narrow + (wide - narrow) / 2;
        let even = fill(&pieces, middle, measure);
        let fits = even.iter().all(|line| measure(line) <= middle);
        if even.len() > lines.len() || !fits {
            narrow = middle;
        } else {
            wide = middle;
        }
    }
    fill(&pieces, wide, measure)
}

fn fill(pieces: &[&str], width: Px, measure: &dyn Fn(&str) -> Px) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces {
        match lines.last_mut() {
            Some(line) if measure(&format!("{line}{}", piece.trim_end())) <= width => {
                line.push_str(piece);
            }
            _ => lines.push((*piece).to_owned()),
        }
    }
    lines
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// The pieces between which a line may end: words with the space behind them, and single letters
/// of scripts that are written without spaces.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let end = at + letter.len_utf8();
        let Some((_, next)) = letters.peek() else {
            break;
        };
        let after_space = letter == ' ' && *next != ' ';
        let between = is_free(letter) && is_free(*next);
        if after_space || between {
            pieces.extend(text.get(start..end));
            start = end;
        }
    }
    pieces.extend(text.get(start..).filter(|rest| !rest.is_empty()));
    pieces
}

/// Whether a line may end at either side of the letter. Punctuation, small kana and marks of
/// length stay where they are.
fn is_free(letter: char) -> bool {
    let small = "ぁぃぅぇぉっゃゅょァィゥェォッャュョー々";
    matches!(
        letter.script(),
        Script::Han | Script::Hiragana | Script::Katakana
    ) && !small.contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_letters(text: &str, width: Px) -> Vec<String> {
        wrap(text, width * 10, &|line| {
            Px::try_from(line.chars().count() * 10).unwrap_or(Px::MAX)
        })
    }

    #[test]
    fn lines_are_few_and_even() {
        let lines = by_letters("one two three four five six", 20);
        assert_eq!(lines, ["one two three", "four five six"]);
        assert_eq!(by_letters("short", 20), ["short"]);
        assert_eq!(by_letters("", 20), Vec::<String>::new());
    }

    #[test]
    fn a_word_is_not_broken_but_ideographs_are() {
        assert_eq!(by_letters("indivisible", 4), ["indivisible"]);
        assert_eq!(by_letters("所要時間を測る", 4).concat(), "所要時間を測る");
        assert_eq!(by_letters("所要時間を測る", 4).len(), 2);
        assert!(
            by_letters("キャッシュ", 3)
                .iter()
                .all(|line| !line.starts_with('ッ'))
        );
    }
}
