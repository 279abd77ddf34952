//! How many JSON values a text may hold before it is read, and how many calls a reply.

/// The most JSON values of one text. A value takes some 70 bytes in memory and can take two bytes
/// of text, so the size of the text alone bounds little.
pub(crate) const MOST_VALUES: usize = 1_000_000;

/// The most calls of one reply. A run is saved before and after each of its calls, whole: its time
/// grows with their square. Models that mean it make a few at once.
#[cfg(feature = "client")]
pub(crate) const MOST_CALLS: usize = 256;

/// Whether a text has more than [`MOST_VALUES`], told by the separators outside its strings.
pub(crate) fn has_too_many(json: &[u8]) -> bool {
    if json.len() <= MOST_VALUES {
        return false;
    }
    let (mut values, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' | b':' if !in_string => values += 1,
            _ => {}
        }
    }
    values > MOST_VALUES
}
