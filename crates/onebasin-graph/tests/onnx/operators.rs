//! Single operators.
