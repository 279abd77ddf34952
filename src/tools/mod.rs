//! The tools that a model can call, and what it reads about them.

pub mod definitions;
