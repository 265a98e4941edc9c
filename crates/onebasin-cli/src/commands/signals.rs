//! SIGINT and SIGTERM, which a command notices when it is ready to.

use signal_hook::consts::SIGINT;
use signal_hook::consts::SIGTERM;
use signal_hook::flag;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

/// What a command that was asked to stop returns from its depths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped; nothing was written")
    }
}

impl std::error::Error for Stopped {}

/// The signals that ask a command to stop; the second one stops the process at once.
#[derive(Clone, Debug)]
pub(crate) struct Signals(Arc<AtomicUsize>);

impl Signals {
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let (number, again) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        for signal in [SIGINT, SIGTERM] {
            // Looked at before it is raised: the first signal passes, the second does what it always did.
            flag::register_conditional_default(signal, Arc::clone(&again))?;
            flag::register(signal, Arc::clone(&again))?;
            flag::register_usize(signal, Arc::clone(&number), signal as usize)?;
        }
        Ok(Self(number))
    }

    /// The signal received, 0 if there was none.
    pub(crate) fn received(&self) -> u8 {
        self.0.load(Ordering::Relaxed) as u8
    }

    /// Whether what is going on may go on.
    pub(crate) fn go_on(&self) -> ControlFlow<()> {
        if self.received() == 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}
