//! Escapes in JSON that stand for half a character: programs that cut texts leave them.

/// What half a character is read as.
const UNKNOWN: &[u8] = br"\ufffd";

/// How long an escape of four digits is.
const LENGTH: usize = 6;

/// The same JSON with every half of a character replaced, and how many there were; none where
/// there is none.
pub(super) fn without_halves(json: &[u8]) -> Option<(Vec<u8>, u64)> {
    let mut whole = Vec::with_capacity(json.len());
    let (mut halves, mut rest) = (0, json);
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        let (before, escape) = rest.split_at(at);
        whole.extend_from_slice(before);
        let length = match unit(escape) {
            Some(0xd800..=0xdbff)
                if matches!(escape.get(LENGTH..).and_then(unit), Some(0xdc00..=0xdfff)) =>
            {
                2 * LENGTH
            }
            Some(0xd800..=0xdfff) => {
                halves += 1;
                whole.extend_from_slice(UNKNOWN);
                rest = &escape[LENGTH..];
                continue;
            }
            Some(_) => LENGTH,
            None => escape.len().min(2),
        };
        whole.extend_from_slice(&escape[..length]);
        rest = &escape[length..];
    }
    whole.extend_from_slice(rest);
    (halves > 0).then_some((whole, halves))
}

/// The number in an escape of four digits that these bytes begin with.
fn unit(escape: &[u8]) -> Option<u32> {
    let digits = escape.strip_prefix(br"\u")?.get(..4)?;
    let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
    let digits = std::str::from_utf8(digits).ok().filter(|_| is_hex)?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(json: &str) -> Option<(String, u64)> {
        let (whole, halves) = without_halves(json.as_bytes())?;
        Some((String::from_utf8(whole).unwrap(), halves))
    }

    #[test]
    fn halves_are_replaced_and_whole_characters_stay() {
        assert_eq!(mended(r#""a\ud83d""#), Some((r#""a\ufffd""#.to_owned(), 1)));
        assert_eq!(
            mended(r#""\ude00\ud83d\ude00\ud83dx""#),
            Some((r#""\ufffd\ud83d\ude00\ufffdx""#.to_owned(), 2))
        );
        assert_eq!(
            mended(r#""\ud83d\ud83d\ude00""#),
            Some((r#""\ufffd\ud83d\ude00""#.to_owned(), 1))
        );
        // A backslash of its own, before letters that look like an escape.
        assert_eq!(mended(r#""\\ud83d \ud83d\ude00 \u00e4 \"""#), None);
        assert_eq!(mended(r#""\ud8"#), None);
        assert_eq!(mended("\\"), None);
    }
}
