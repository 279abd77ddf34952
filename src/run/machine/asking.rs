//! What is asked of the model: a reply, or a summary of what was sent so far; what that can cost
//! at most, and what the provider's cache makes of it.

use std::time::Duration;

use super::{Machine, Need};
use crate::event::Event;
use crate::message::{Message, Usage};
use crate::money::PicoUsd;
use crate::pricing::CacheUse;
use crate::provider::Reply;
use crate::run::context::Summary;
use crate::run::policy::{BudgetCheck, StopCondition};
use crate::run::sending::Sending;

impl<'a> Machine<'a> {
    /// For the replay of a conversation: the tokens of each turn's request are known, so the
    /// messages need not have their texts.
    #[cfg(feature = "cli")]
    #[must_use]
    pub(crate) const fn with_prompts(mut self, prompts: &'a [u64]) -> Self {
        self.prompts = prompts;
        self
    }

    /// The messages of the next request for a reply.
    #[must_use]
    pub fn sent(&self) -> &[Message] {
        let edited = self.sending.as_ref().and_then(Sending::messages);
        edited.unwrap_or(&self.state.messages)
    }

    /// The model summed up what was sent, `took` after it was asked; whatever it wrote is sent
    /// from now on in the place of that. It costs what it costs, and is no turn.
    pub fn on_summary(&mut self, reply: Reply, took: Duration) {
        let usage = self.with_cache(reply.usage);
        let state = &mut self.state;
        state.usage += usage;
        state.counted += reply.metering.counted;
        state.cost_before_reply = state.cost;
        state.cost += state.settings.price.cost(&usage);
        self.events.push(Event::Summary {
            turn: state.turns.saturating_add(1),
            usage,
            cost: state.cost,
            provider: took,
        });
        let text = reply.message.and_then(|said| said.content);
        let summary = Summary {
            after_messages: state.messages.len(),
            text: text.unwrap_or_default(),
        };
        if let Some(sending) = &mut self.sending {
            sending.fold(&summary.text);
        }
        state.summaries.push(summary);
    }

    /// The tokens of the next request's messages that the last one began with.
    #[cfg(test)]
    pub(crate) fn common_tokens(&self) -> Option<u64> {
        let sending = self.sending.as_ref()?;
        Some(sending.request(0, Duration::ZERO).common_tokens)
    }

    /// What is asked of the model next, and what it costs at most.
    pub(super) fn model_need(&mut self) -> (Need, PicoUsd) {
        let turn = self.state.turns.saturating_add(1);
        if let Some(sending) = &mut self.sending {
            let results = sending.edit();
            if results > 0 {
                self.events.push(Event::ContextEdited { turn, results });
            }
            if let Some(asked) = sending.due_summary(self.tools_tokens) {
                let price = &self.state.settings.price;
                let worst = price.worst_cost(asked.prompt_tokens, asked.most_tokens);
                let need = Need::Summary {
                    prompt_tokens: asked.prompt_tokens,
                    most_tokens: asked.most_tokens,
                };
                return (need, worst);
            }
        }
        let settings = &self.state.settings;
        let prompt_tokens = self.prompt_tokens();
        let most = settings.max_completion_tokens.unwrap_or(u64::MAX);
        let worst = settings.price.worst_cost(prompt_tokens, most);
        (Need::Reply { prompt_tokens }, worst)
    }

    /// Tokens of the next request.
    fn prompt_tokens(&self) -> u64 {
        let turn = usize::try_from(self.state.turns).unwrap_or(usize::MAX);
        let messages = || match &self.sending {
            Some(sending) => sending.tokens(),
            None => self.index.tokens(),
        };
        let known = self.prompts.get(turn).copied();
        known.unwrap_or_else(|| messages() + self.tools_tokens)
    }

    /// The usage with what the provider's cache does for the request, and the request sent.
    pub(super) fn with_cache(&mut self, mut usage: Usage) -> Usage {
        let Some(sending) = &mut self.sending else {
            return usage;
        };
        // A provider that has read from its own cache knows better; one that has none says 0.
        if let (Some(terms), None | Some(0)) = (&self.state.settings.cache, usage.cached_tokens) {
            let request = sending.request(self.tools_tokens, self.state.elapsed);
            let CacheUse { read, written } = self.state.cache.request(terms, request);
            usage.cached_tokens = Some(read);
            usage.cache_write_tokens = Some(written);
        }
        sending.sent();
        usage
    }

    /// Under `reserve`: whether the next turn could cost more than what is left.
    pub(super) fn would_overspend(&self, worst: PicoUsd) -> bool {
        let settings = &self.state.settings;
        settings.stop.iter().any(|condition| match condition {
            StopCondition::MaxBudget {
                usd,
                check: BudgetCheck::Reserve,
            } => self.state.cost + worst > *usd,
            _ => false,
        })
    }
}
