//! Summaries of a conversation: how one is asked for, how one stands in for what it sums up, and
//! what a script answers to such a question.
//!
//! The words are fixed, so that a script can tell the question from a person's, and the turn that
//! comes next from a conversation of which a part is gone.

use crate::message::Message;
use crate::tokens;

const ASK: &str = "Summarise the work so far in at most ";
const ASK_END: &str = " tokens.";
const SUMMARY: &str = "Summary of the first ";
const SUMMARY_END: &str = " turns: ";

/// What a scripted summary says, as often as it takes.
const NOTES: &str = "The files that were read are healthy, and none of them answers the question \
                     so far; those that are left have to be read next. ";

/// The question for a summary of at most so many tokens.
#[must_use]
pub fn ask_for_summary(most_tokens: u64) -> Message {
    Message::User {
        content: format!("{ASK}{most_tokens}{ASK_END}"),
    }
}

/// The message that stands in for the first `turns` turns of a conversation.
#[must_use]
pub fn summary_message(turns: u32, text: &str) -> Message {
    Message::User {
        content: format!("{SUMMARY}{turns}{SUMMARY_END}{text}"),
    }
}

/// How many turns a message stands in for; 0 if it is no summary.
pub(super) fn summarised_turns(message: &Message) -> u32 {
    let Message::User { content } = message else {
        return 0;
    };
    let rest = content.strip_prefix(SUMMARY);
    let turns = rest.and_then(|rest| rest.split_once(SUMMARY_END));
    turns.and_then(|(turns, _)| turns.parse().ok()).unwrap_or(0)
}

/// How long a summary the last message asks for, if it does.
#[must_use]
pub fn summary_asked_for(messages: &[Message]) -> Option<u64> {
    let Some(Message::User { content }) = messages.last() else {
        return None;
    };
    let tokens = content.strip_prefix(ASK)?.strip_suffix(ASK_END)?;
    tokens.parse().ok()
}

/// A scripted summary of so many tokens, or of a few less where the words do not come out even.
#[must_use]
pub fn scripted_summary(tokens: u64) -> String {
    // A note has at least one token, so this many are enough; a longer text is nobody's wish.
    let notes = tokens / tokens::count(NOTES).max(1) + 2;
    let notes = NOTES.repeat(usize::try_from(notes.min(10_000)).unwrap_or(1));
    tokens::truncate(&notes, tokens).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::turn_index;

    #[test]
    fn a_summary_has_the_length_that_was_asked_for() {
        for length in [1, 60, 300] {
            let asked = summary_asked_for(&[ask_for_summary(length)]).unwrap();
            assert_eq!(asked, length);
            let text = scripted_summary(asked);
            assert!(
                (length - 1..=length).contains(&tokens::count(&text)),
                "{text}"
            );
        }
        let user = |content: &str| Message::User {
            content: content.to_owned(),
        };
        assert_eq!(
            summary_asked_for(&[user("Summarise the work so far.")]),
            None
        );
        assert_eq!(summary_asked_for(&[]), None);
    }

    #[test]
    fn the_turns_that_a_summary_stands_in_for_are_counted() {
        let reply = Message::Assistant {
            content: Some("x".to_owned()),
            tool_calls: Vec::new(),
        };
        let messages = [summary_message(12, "nothing yet"), reply];
        assert_eq!(turn_index(&messages), 13);
    }
}
