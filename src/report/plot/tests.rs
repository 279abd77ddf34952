//! What holds for every plot in every language.
