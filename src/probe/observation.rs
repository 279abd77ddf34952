//! What was seen of an agent during one check.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::check::Check;
use super::ending::Ending;
use super::finding::{Evidence, quote};
use crate::message::{ToolCall, Usage};
use crate::meter::Metered;
use crate::money::PicoUsd;
use crate::pricing::Price;
use crate::provider::wire::Delivery;
use crate::server::{Asked, Channel, Exchange, Outcome};

/// What was seen of an agent during one check.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The check.
    pub check: Check,
    /// The exchanges in the order in which they began.
    pub exchanges: Vec<Arc<Exchange>>,
    /// How the command ended.
    pub ending: Ending,
    /// How long it ran.
    pub wall: Duration,
    /// The last line that it printed to standard error, and to standard output; none where there
    /// is nothing on it.
    pub last_words: LastWords,
    /// The tools that it says to have started; empty where it does not say.
    pub tool_starts: Vec<ToolStart>,
}

/// What a command printed last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastWords {
    /// To standard error.
    pub stderr: Option<String>,
    /// To standard output.
    pub stdout: Option<String>,
}

impl LastWords {
    /// What was printed last, as evidence of an error.
    pub(super) fn evidence(&self) -> Vec<Evidence> {
        let streams = [
            ("standard error", &self.stderr),
            ("standard output", &self.stdout),
        ];
        let lines = streams.into_iter().filter_map(|(stream, line)| {
            let line = quote(line.as_deref()?);
            Some(Evidence::beside(format!("{stream} ends with {line}")))
        });
        lines.collect()
    }
}

/// The last line that says something.
fn last_line(text: &str) -> Option<String> {
    let mut lines = text.lines().rev().map(str::trim);
    lines.find(|line| !line.is_empty()).map(str::to_owned)
}

/// One line of the file that an agent may write about the tools that it starts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ToolStart {
    /// The tool's name.
    pub tool: String,
    /// The arguments.
    #[serde(default)]
    pub args: Value,
}

impl ToolStart {
    /// The lines of a tool log; those that are not such lines are left out.
    pub(super) fn read(log: &str) -> Vec<Self> {
        let lines = log.lines();
        lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }
}

/// A reply that was given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replied<'a> {
    pub(super) exchange: &'a Exchange,
    pub(super) asked: &'a Asked,
    pub(super) calls: &'a [ToolCall],
    pub(super) usage: Usage,
}

/// What the model was told, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) exchange: u64,
    pub(super) channel: Channel,
    pub(super) text: String,
}

impl Observation {
    pub(super) fn new(check: Check, metered: Metered, tool_starts: Vec<ToolStart>) -> Self {
        let mut exchanges = metered.exchanges;
        exchanges.sort_by_key(|exchange| exchange.number);
        Self {
            check,
            ending: Ending::of(&metered.ran.end, &exchanges),
            wall: metered.ran.wall(),
            last_words: LastWords {
                stderr: last_line(&metered.ran.stderr.text()),
                stdout: last_line(&metered.ran.stdout.text()),
            },
            exchanges,
            tool_starts,
        }
    }

    /// The requests that could be understood.
    pub(super) fn asked(&self) -> impl Iterator<Item = (&Exchange, &Asked)> {
        let exchanges = self.exchanges.iter();
        exchanges.filter_map(|exchange| Some((exchange.as_ref(), exchange.asked.as_ref()?)))
    }

    /// The replies that were given.
    pub(super) fn replies(&self) -> impl Iterator<Item = Replied<'_>> {
        self.asked().filter_map(|(exchange, asked)| {
            let Outcome::Replied { said, usage, .. } = &exchange.outcome else {
                return None;
            };
            Some(Replied {
                exchange,
                asked,
                calls: &said.tool_calls,
                usage: *usage,
            })
        })
    }

    /// What was billed in all.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.replies().fold(Usage::default(), |mut sum, reply| {
            sum += reply.usage;
            sum
        })
    }

    /// What it costs at `price`, request by request.
    #[must_use]
    pub fn cost(&self, price: &Price) -> PicoUsd {
        self.replies().map(|reply| price.cost(&reply.usage)).sum()
    }

    /// Turns taken: replies that were given.
    #[must_use]
    pub fn turns(&self) -> u32 {
        u32::try_from(self.replies().count()).unwrap_or(u32::MAX)
    }

    /// Requests on the wire, repetitions included.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.exchanges.len() as u64
    }

    /// Whether no request declared a tool.
    pub(super) fn has_no_tools(&self) -> bool {
        self.asked().all(|(_, asked)| asked.tools.unwrap_or(0) == 0)
    }

    /// Whether the first request asked for a streamed reply.
    pub(super) fn is_streamed(&self) -> bool {
        let first: Option<Delivery> = self.asked().next().map(|(_, asked)| asked.delivery);
        first.is_some_and(Delivery::is_streamed)
    }

    /// The first request with another body after a reply.
    pub(super) fn next(&self, reply: &Replied<'_>) -> Option<(&Exchange, &Asked)> {
        self.asked().find(|(exchange, asked)| {
            exchange.number > reply.exchange.number && asked.body != reply.asked.body
        })
    }

    /// What the model was told of a call of a reply: in a tool message for it, or else in text
    /// of the user.
    pub(super) fn heard(&self, reply: &Replied<'_>, call: &ToolCall) -> Option<Heard> {
        let (exchange, asked) = self.next(reply)?;
        let heard = |channel, text: String| Heard {
            exchange: exchange.number,
            channel,
            text,
        };
        let of_call = |id: &Option<String>| id.as_deref() == Some(call.id.as_str());
        let tool = asked
            .results
            .iter()
            .find(|result| result.channel == Channel::Tool && of_call(&result.call_id));
        if let Some(result) = tool {
            return Some(heard(Channel::Tool, result.text.clone()));
        }
        let spoken = asked
            .results
            .iter()
            .filter(|result| result.channel == Channel::User);
        let texts: Vec<&str> = spoken.map(|result| result.text.as_str()).collect();
        (!texts.is_empty()).then(|| heard(Channel::User, texts.join("\n")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_the_last_line_with_something_on_it() {
        assert_eq!(last_line("a\n b \n\n").as_deref(), Some("b"));
        assert_eq!(last_line("\n"), None);
    }

    #[test]
    fn lines_of_a_tool_log_that_are_none_are_left_out() {
        let starts =
            ToolStart::read("{\"tool\":\"a\",\"args\":{\"n\":1}}\nnoise\n{\"tool\":\"b\"}\n");
        assert_eq!(starts.len(), 2);
        assert_eq!(starts[0].args["n"], 1);
        assert_eq!(starts[1].args, Value::Null);
    }
}
