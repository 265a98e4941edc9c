//! Runs `onebasin train` as a user would: to its end, killed, stopped, twice at once, and with everything wrong that can be.

mod events;
mod folders;
mod harness;
mod interruptions;
mod methods;
mod mistakes;
mod own_data;
