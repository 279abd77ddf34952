//! The run: a serialisable state, a pure step machine over it, and the driver that does its I/O.

pub mod policy;
