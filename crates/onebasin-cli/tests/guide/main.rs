//! How a user finds the way: templates, descriptions, repeated commands, messages and words.

mod harness;
mod init;
mod messages;
mod repeats;
mod show;
mod words;
