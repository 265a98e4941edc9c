//! Archives that lie, and small programs whose translation is known.
