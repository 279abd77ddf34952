//! The wire JSON of chat completions, and the only place that knows it.
//!
//! What we write is spelled exactly; what others write is read leniently: unknown fields are
//! passed over, a field of an unexpected type counts as absent, and whoever needs the field says
//! so. Requests that others send are read by [`Incoming`], which keeps their keys in order.

mod choice;
mod error;
mod incoming;
mod lenient;
mod reply;
mod request;
mod values;

pub use self::choice::{Parallel, ToolChoice};
pub use self::error::{ErrorBody, ErrorObject};
pub use self::incoming::{Incoming, ReceivedCall, ReceivedMessage, RequestError, Role};
pub use self::reply::{
    CallDelta, Choice, Chunk, ChunkChoice, Completion, CompletionDetails, Delta, FunctionDelta,
    Model, ModelList, PromptDetails, ReplyMessage, WireUsage, finish_reason,
};
pub use self::request::{ChatRequest, Delivery};
#[cfg(feature = "client")]
pub(crate) use self::values::{MOST_CALLS, has_too_many};

/// The `data` of the event that ends a stream.
pub const DONE: &str = "[DONE]";
