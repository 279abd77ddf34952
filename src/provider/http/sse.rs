//! Server-sent events, as far as chat completions use them: the data of each event, cut out of
//! bytes that arrive in any pieces.

/// The longest event that is read, in bytes.
const MOST_BYTES: usize = 4 << 20;

/// An event is longer than is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// Takes bytes as they come, gives events as they are whole.
///
/// Lines end in LF, CR or both; the lines of `data` are joined by LF; comments and other fields
/// are passed over. Text is decoded line by line, so a character may be split between pieces.
#[derive(Debug, Default)]
pub(super) struct EventParser {
    line: Vec<u8>,
    data: Option<String>,
    /// The last byte was a CR, whose line has ended already.
    after_cr: bool,
    /// A byte order mark may only stand before the first line.
    begun: bool,
}

impl EventParser {
    /// Reads `bytes` and appends the data of every event that they complete to `events`.
    ///
    /// # Errors
    /// [`TooLong`] where an event is longer than 4 MiB.
    pub(super) fn push(&mut self, bytes: &[u8], events: &mut Vec<String>) -> Result<(), TooLong> {
        for &byte in bytes {
            let after_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match byte {
                b'\n' if after_cr => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ => {
                    let held = self.data.as_ref().map_or(0, String::len);
                    if self.line.len() + held >= MOST_BYTES {
                        return Err(TooLong);
                    }
                    self.line.push(byte);
                }
            }
        }
        Ok(())
    }

    /// The data of an event that was not closed by an empty line before the stream ended.
    ///
    /// The standard drops it; some servers never close the last one.
    pub(super) fn finish(mut self) -> Option<String> {
        self.end_line().or(self.data)
    }

    /// Ends a line; an empty one completes the event.
    fn end_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        let mut line = String::from_utf8_lossy(&line);
        if !std::mem::replace(&mut self.begun, true)
            && let Some(rest) = line.strip_prefix('\u{feff}')
        {
            line = rest.to_owned().into();
        }
        if line.is_empty() {
            return self.data.take();
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(pieces: &[&[u8]]) -> Vec<String> {
        let mut parser = EventParser::default();
        let mut events = Vec::new();
        for piece in pieces {
            parser.push(piece, &mut events).unwrap();
        }
        events.extend(parser.finish());
        events
    }

    #[test]
    fn comments_other_fields_and_a_byte_order_mark_are_passed_over() {
        let stream = "\u{feff}data: one\n\n: ping\n\nevent: x\nid: 7\nretry: 10\ndata:two\n\n";
        assert_eq!(parse(&[stream.as_bytes()]), ["one", "two"]);
    }

    #[test]
    fn lines_of_data_are_joined_whatever_ends_them() {
        for end in ["\n", "\r", "\r\n"] {
            let stream = format!("data: a{end}data:{end}data: b{end}{end}data: c{end}{end}");
            assert_eq!(parse(&[stream.as_bytes()]), ["a\n\nb", "c"], "{end:?}");
        }
    }

    #[test]
    fn the_last_event_counts_without_its_empty_line() {
        assert_eq!(parse(&[b"data: a\n\ndata: b\n"]), ["a", "b"]);
        assert_eq!(parse(&[b"data: a\n\ndata: b"]), ["a", "b"]);
        assert_eq!(parse(&[b"data: a\n\n"]), ["a"]);
    }

    #[test]
    fn an_endless_event_is_refused_and_not_kept() {
        let mut parser = EventParser::default();
        let piece = vec![b'x'; 1 << 20];
        let mut events = Vec::new();
        let outcomes: Vec<_> = (0..5).map(|_| parser.push(&piece, &mut events)).collect();
        assert_eq!(outcomes[3..], [Ok(()), Err(TooLong)]);
        assert!(parser.line.len() <= MOST_BYTES);
    }

    fn ending() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec!["\n", "\r", "\r\n"])
    }

    proptest! {
        #[test]
        fn events_do_not_depend_on_where_the_bytes_are_split(
            texts in prop::collection::vec("[^\r\n]{0,12}", 1..5),
            end in ending(),
            cuts in prop::collection::vec(1_usize..7, 0..80),
        ) {
            let events: Vec<_> = texts.iter().map(|t| format!("data: {t}{end}: c{end}{end}")).collect();
            let stream = events.concat();
            let mut rest = stream.as_bytes();
            let mut pieces = Vec::new();
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            pieces.push(rest);
            prop_assert_eq!(parse(&pieces), texts);
        }
    }
}
