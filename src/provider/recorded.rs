//! A provider that gives back replies noted down beforehand.

use crate::clock::BoxFuture;
use crate::provider::{Provider, ProviderContext, ProviderError, Reply, Request};
use crate::scenario::turn_index;

/// Replies by turn; the turn is derived from the conversation, so a resumed run gets the reply
/// that it would have got.
#[derive(Clone, Debug)]
pub struct Recorded {
    replies: Vec<Reply>,
}

impl Recorded {
    /// A provider that gives `replies`, one a turn.
    #[must_use]
    pub fn new(replies: Vec<Reply>) -> Self {
        Self { replies }
    }
}

impl Provider for Recorded {
    fn complete<'a>(
        &'a self,
        request: Request<'a>,
        context: ProviderContext<'a>,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        Box::pin(async move {
            context.signal.check(context.clock.now())?;
            let turn = turn_index(request.messages);
            let reply = usize::try_from(turn)
                .ok()
                .and_then(|turn| self.replies.get(turn));
            reply.cloned().ok_or_else(|| {
                let recorded = self.replies.len();
                ProviderError::Failed(format!(
                    "the recording has {recorded} replies and the run asks for reply {}",
                    u64::from(turn) + 1
                ))
            })
        })
    }
}
