//! What a reader gets to see of the results, in the reader's own language.

pub mod prose;
