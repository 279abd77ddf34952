//! What a request has that a well-behaved client's has not.

use std::fmt;

use super::Turns;
use super::exchange::OF_TEXTS;

/// Something odd about a request. None of it is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Oddity {
    /// The derivations of the turn disagree.
    TurnsDisagree(Turns),
    /// The last reply's calls are answered, if at all, by text of the user.
    ResultsAsUserText {
        /// The calls that no tool message answers.
        ids: Vec<String>,
    },
    /// The last reply is not in the conversation.
    AssistantTurnDropped {
        /// The turn of that reply, from 0.
        turn: u32,
    },
    /// A tool message does not say which call it answers.
    ResultWithoutId {
        /// Its place among the messages, from 0.
        message: usize,
    },
    /// A tool message answers a call that is not in the conversation.
    ResultOfUnknownCall {
        /// The id that it gives.
        id: String,
    },
    /// A call is in the conversation and has no answer.
    CallWithoutResult {
        /// Its id.
        id: String,
    },
    /// Parallel calls are answered in another order than they were made in.
    ResultsOutOfOrder {
        /// The ids in the order of the answers.
        ids: Vec<String>,
    },
    /// Messages that were sent before are sent differently now.
    HistoryRewritten {
        /// The first that differs, from 0.
        message: usize,
    },
    /// Parameters that chat completions do not have.
    UnknownParameters {
        /// Their names in the order received.
        names: Vec<String>,
    },
    /// Content that is no text is counted as one.
    MediaCountedAsText {
        /// Its kinds, as the request names them.
        kinds: Vec<String>,
    },
    /// The script calls a tool that the request does not declare.
    UndeclaredTool {
        /// The tool's name.
        name: String,
    },
    /// The scenario uses the tools that a request declares, and the request declares none.
    NoTools,
    /// No valid arguments could be made up for a tool.
    NoValidArguments {
        /// The tool's name.
        tool: String,
    },
}

impl Oddity {
    /// About how many bytes it holds.
    pub(super) fn weight(&self) -> usize {
        let names = match self {
            Self::ResultsAsUserText { ids } | Self::ResultsOutOfOrder { ids } => ids,
            Self::UnknownParameters { names } => names,
            Self::MediaCountedAsText { kinds } => kinds,
            Self::ResultOfUnknownCall { id: name }
            | Self::CallWithoutResult { id: name }
            | Self::UndeclaredTool { name }
            | Self::NoValidArguments { tool: name } => return name.len() + OF_TEXTS,
            Self::TurnsDisagree(_)
            | Self::AssistantTurnDropped { .. }
            | Self::ResultWithoutId { .. }
            | Self::HistoryRewritten { .. }
            | Self::NoTools => return OF_TEXTS,
        };
        let names = names.iter().map(|name| name.len() + OF_TEXTS);
        names.sum::<usize>() + OF_TEXTS
    }

    /// What kind of oddity it is, in one word.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::TurnsDisagree(_) => "turns_disagree",
            Self::ResultsAsUserText { .. } => "results_as_user_text",
            Self::AssistantTurnDropped { .. } => "assistant_turn_dropped",
            Self::ResultWithoutId { .. } => "result_without_id",
            Self::ResultOfUnknownCall { .. } => "result_of_unknown_call",
            Self::CallWithoutResult { .. } => "call_without_result",
            Self::ResultsOutOfOrder { .. } => "results_out_of_order",
            Self::HistoryRewritten { .. } => "history_rewritten",
            Self::UnknownParameters { .. } => "unknown_parameters",
            Self::MediaCountedAsText { .. } => "media_counted_as_text",
            Self::UndeclaredTool { .. } => "undeclared_tool",
            Self::NoTools => "no_tools",
            Self::NoValidArguments { .. } => "no_valid_arguments",
        }
    }
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TurnsDisagree(turns) => show_disagreement(*turns, f),
            Self::ResultsAsUserText { ids } => write!(
                f,
                "no tool message answers {}: the result, if it was sent, is text of the user",
                ids.join(", ")
            ),
            Self::AssistantTurnDropped { turn } => {
                write!(f, "the reply of turn {turn} is not in the conversation")
            }
            Self::ResultWithoutId { message } => write!(
                f,
                "messages[{message}] is a tool result without `tool_call_id`"
            ),
            Self::ResultOfUnknownCall { id } => {
                write!(f, "a tool result answers {id}, a call that is not there")
            }
            Self::CallWithoutResult { id } => write!(f, "the call {id} has no result"),
            Self::ResultsOutOfOrder { ids } => {
                write!(f, "parallel results in another order: {}", ids.join(", "))
            }
            Self::HistoryRewritten { message } => write!(
                f,
                "messages[{message}] is not what was sent before in its place"
            ),
            Self::UnknownParameters { names } => {
                write!(f, "unknown parameters: {}", names.join(", "))
            }
            Self::MediaCountedAsText { kinds } => write!(
                f,
                "{} is counted as the text that it was sent as, which no provider bills so",
                kinds.join(", ")
            ),
            Self::UndeclaredTool { name } => {
                write!(
                    f,
                    "the script calls {name}, which the request does not declare"
                )
            }
            Self::NoTools => f.write_str("the request declares no tools, so none is called"),
            Self::NoValidArguments { tool } => {
                write!(f, "no valid arguments were found for {tool}")
            }
        }
    }
}

fn show_disagreement(turns: Turns, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "turn {} by the conversation", turns.conversation)?;
    if let Some(turn) = turns.ids {
        write!(f, ", {turn} by call ids")?;
    }
    if let Some(turn) = turns.path {
        write!(f, ", {turn} by path")?;
    }
    let conversation = turns.conversation;
    if turns.ids.is_some_and(|turn| turn < conversation) {
        f.write_str(": call ids that the model gave do not come back")?;
    }
    match turns.path {
        Some(turn) if turn > conversation => {
            f.write_str(": turns of the model were dropped, or made one of several")
        }
        Some(turn) if turn < conversation => {
            f.write_str(": there are messages of the model that it did not write")
        }
        _ => Ok(()),
    }
}
