//! Timed replies, from traces and from plain tables.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde_json::Value;

/// Names of the columns and keys that hold a time or a count, ours first.
const TTFT: &[&str] = &["ttft_ms", "firstTokenMs", "first_token_ms"];
const TOKENS: &[&str] = &["output_tokens", "completion_tokens"];
const TOTAL: &[&str] = &["total_ms", "provider_ms", "duration_ms"];

/// How long one reply took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reply {
    /// Milliseconds until its first token.
    pub ttft_ms: Option<f64>,
    /// How many tokens it has.
    pub tokens: Option<u64>,
    /// Milliseconds until its last token.
    pub total_ms: Option<f64>,
}

impl Reply {
    /// Milliseconds for each token after the first was awaited; the same rule by which a scripted
    /// reply takes its time.
    #[must_use]
    pub fn per_token_ms(&self) -> Option<f64> {
        let writing = self.total_ms? - self.ttft_ms?;
        let tokens = u32::try_from(self.tokens?)
            .ok()
            .filter(|tokens| *tokens > 0)?;
        (writing >= 0.0).then(|| writing / f64::from(tokens))
    }

    fn is_timed(&self) -> bool {
        self.ttft_ms.is_some() || self.total_ms.is_some()
    }
}

/// Timed replies, and what could not be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replies {
    /// The replies, in the order of the records.
    pub replies: Vec<Reply>,
    /// The lines that could not be read, by file and line, with the reason.
    pub skipped: Vec<NotRead>,
}

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRead {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub why: String,
}

impl Replies {
    /// Reads a file: CSV where its name ends so, JSON lines otherwise.
    ///
    /// # Errors
    /// The file cannot be read; what is wrong with a line of it is among [`Replies::skipped`].
    pub fn read(path: &Path) -> io::Result<Self> {
        let file = BufReader::new(File::open(path)?);
        let is_csv = path
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
        if is_csv {
            Self::from_csv(file)
        } else {
            Self::from_json_lines(file)
        }
    }

    /// Reads a table with a heading: any of `ttft_ms`, `output_tokens` and `total_ms`, as in the
    /// `turns.csv` of an experiment. An empty cell is a time that was not taken.
    ///
    /// # Errors
    /// It cannot be read, or has none of these columns.
    pub fn from_csv(text: impl io::Read) -> io::Result<Self> {
        let mut table = csv::ReaderBuilder::new().flexible(true).from_reader(text);
        let heading = table.headers()?.clone();
        let place = |names: &[&str]| {
            let known = |heading: &str| names.contains(&heading.trim());
            heading.iter().position(known)
        };
        let (ttft, tokens, total) = (place(TTFT), place(TOKENS), place(TOTAL));
        if ttft.or(total).is_none() {
            let why = format!("neither a column `{}` nor `{}`", TTFT[0], TOTAL[0]);
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let mut read = Self::default();
        for record in table.records() {
            let record = record?;
            let line = record.position().map_or(0, csv::Position::line);
            let cell = |place: Option<usize>| {
                let cell = place
                    .and_then(|place| record.get(place))
                    .unwrap_or_default();
                Some(cell.trim()).filter(|cell| !cell.is_empty())
            };
            let reply = (|| {
                Ok(Reply {
                    ttft_ms: cell(ttft).map(time).transpose()?,
                    tokens: cell(tokens).map(whole).transpose()?,
                    total_ms: cell(total).map(time).transpose()?,
                })
            })();
            read.take(line, reply);
        }
        Ok(read)
    }

    /// Reads JSON lines: our traces, or objects with the keys of [`Replies::from_csv`]. Of a trace
    /// the turns are read, and the time of a whole reply from the attempt that was answered.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn from_json_lines(text: impl BufRead) -> io::Result<Self> {
        let mut read = Self::default();
        let mut answered = BTreeMap::new();
        for (number, line) in (1..).zip(text.split(b'\n')) {
            let line = line?;
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match serde_json::from_slice::<Value>(&line) {
                Ok(Value::Object(object)) => {
                    read.line(number, &Value::Object(object), &mut answered);
                }
                Ok(_) => read.take(number, Err("not an object".to_owned())),
                Err(error) => read.take(number, Err(format!("not JSON: {error}"))),
            }
        }
        Ok(read)
    }

    fn line(&mut self, number: u64, line: &Value, answered: &mut Answered) {
        let text = |key: &str| line.get(key).and_then(Value::as_str);
        let of = (
            text("runId").unwrap_or_default().to_owned(),
            count(line, &["turn"]),
        );
        match text("type") {
            Some("attempt") => {
                if let (Some("answered"), Some(ms)) = (text("outcome"), number_at(line, &["ms"])) {
                    answered.insert(of, ms);
                }
            }
            Some("turn") | None => {
                let total = number_at(line, TOTAL).or_else(|| answered.remove(&of));
                let reply = Reply {
                    ttft_ms: number_at(line, TTFT),
                    tokens: count(line, TOKENS),
                    total_ms: total,
                };
                let is_wrong = [reply.ttft_ms, reply.total_ms]
                    .into_iter()
                    .flatten()
                    .any(|ms| ms < 0.0);
                let negative = || Err("a time below nothing".to_owned());
                self.take(number, if is_wrong { negative() } else { Ok(reply) });
            }
            Some(_) => {}
        }
    }

    /// Adds a reply; one without a time tells nothing, and is no mistake.
    fn take(&mut self, line: u64, reply: Result<Reply, String>) {
        match reply {
            Ok(reply) if reply.is_timed() => self.replies.push(reply),
            Ok(_) => {}
            Err(why) => self.skipped.push(NotRead { line, why }),
        }
    }
}

/// The time of whole replies, by run and turn.
type Answered = BTreeMap<(String, Option<u64>), f64>;

fn number_at(line: &Value, names: &[&str]) -> Option<f64> {
    let mut values = names.iter().filter_map(|name| line.get(name)?.as_f64());
    values.next()
}

fn count(line: &Value, names: &[&str]) -> Option<u64> {
    let mut values = names.iter().filter_map(|name| line.get(name)?.as_u64());
    values.next()
}

fn time(text: &str) -> Result<f64, String> {
    let ms = text
        .parse::<f64>()
        .ok()
        .filter(|ms| ms.is_finite() && *ms >= 0.0);
    ms.ok_or_else(|| format!("{text:?} is not a time in milliseconds"))
}

fn whole(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("{text:?} is not a number of tokens"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(ttft_ms: Option<f64>, tokens: Option<u64>, total_ms: Option<f64>) -> Reply {
        Reply {
            ttft_ms,
            tokens,
            total_ms,
        }
    }

    #[test]
    fn a_table_is_read_by_its_headings_and_a_broken_line_is_told() {
        let csv =
            "turn,completion_tokens,provider_ms,ttft_ms\n1,10,300,100\n2,5,250,\n3,x,1,1\n4,,,\n";
        let read = Replies::from_csv(csv.as_bytes()).unwrap();
        assert_eq!(
            read.replies,
            [
                reply(Some(100.0), Some(10), Some(300.0)),
                reply(None, Some(5), Some(250.0))
            ]
        );
        let skipped: Vec<_> = read
            .skipped
            .iter()
            .map(|line| (line.line, line.why.as_str()))
            .collect();
        assert_eq!(skipped, [(4, "\"x\" is not a number of tokens")]);
        assert_eq!(read.replies[0].per_token_ms(), Some(20.0));
        assert_eq!(read.replies[1].per_token_ms(), None);
        assert!(Replies::from_csv("a,b\n1,2\n".as_bytes()).is_err());
    }

    #[test]
    fn a_trace_tells_the_first_token_of_a_turn_and_its_attempt_the_whole() {
        let trace = concat!(
            r#"{"runId":"a","type":"attempt","turn":1,"number":1,"outcome":"refused","status":500,"waitedMs":0,"ms":7}"#,
            "\n",
            r#"{"runId":"a","type":"attempt","turn":1,"number":2,"outcome":"answered","status":200,"waitedMs":500,"ms":900}"#,
            "\n",
            r#"{"runId":"a","type":"turn","turn":1,"completion_tokens":50,"firstTokenMs":400}"#,
            "\n",
            "\n",
            r#"{"runId":"a","type":"tool_result","toolName":"t","ms":3,"ok":true}"#,
            "\n",
            "not JSON\n",
            r#"{"ttft_ms":1.5,"output_tokens":2,"total_ms":2.5}"#,
            "\n",
            r#"{"ttft_ms":-1}"#,
            "\n",
        );
        let read = Replies::from_json_lines(trace.as_bytes()).unwrap();
        assert_eq!(
            read.replies,
            [
                reply(Some(400.0), Some(50), Some(900.0)),
                reply(Some(1.5), Some(2), Some(2.5))
            ]
        );
        assert_eq!(read.replies[0].per_token_ms(), Some(10.0));
        let lines: Vec<u64> = read.skipped.iter().map(|line| line.line).collect();
        assert_eq!(lines, [6, 8]);
    }
}
