//! The host of the library's stages: bars and messages on the terminal, clocks, and SIGINT, SIGTERM and SIGUSR1, which a
//! command notices when it is ready to.

use crate::machine;
use crate::printer::Printer;
use indicatif::ProgressBar;
use onebasin::experiment::{Host, Owner};
use onebasin::progress::Progress;
use onebasin::store;
#[cfg(unix)]
use signal_hook::consts::SIGUSR1;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};
use std::{io, process, thread};

/// Time between two lines where there is no terminal to show a bar on.
const TELL_EVERY: Duration = Duration::from_secs(30);
/// A task that took less is not worth a line.
const WORTH_A_LINE: Duration = Duration::from_secs(2);

/// A terminal, or what stands in its place.
#[derive(Debug)]
pub(crate) struct Terminal<'a> {
    printer: Printer,
    signals: &'a Signals,
    started: Instant,
    shown: Mutex<Option<Shown>>,
}

/// The task that is shown.
#[derive(Debug)]
struct Shown {
    bar: ProgressBar,
    task: String,
    done: usize,
    since: Instant,
    told: Instant,
}

impl<'a> Terminal<'a> {
    pub(crate) fn new(printer: &Printer, signals: &'a Signals) -> Self {
        Self { printer: printer.clone(), signals, started: Instant::now(), shown: Mutex::new(None) }
    }

    /// Says how long a task took, if nobody has seen its bar.
    fn finish(&self, shown: &Shown) {
        let unseen = shown.bar.is_hidden() && shown.since.elapsed() >= WORTH_A_LINE;
        if unseen || self.printer.is_verbose() {
            self.printer.say(&format!("{}: {:.1} seconds", shown.task, shown.since.elapsed().as_secs_f64()));
        }
        shown.bar.finish_and_clear();
    }
}

impl Host for Terminal<'_> {
    fn progress(&self, Progress { task, done, total }: Progress<'_>) -> ControlFlow<()> {
        let mut shown = self.shown.lock().expect("no thread panics while it holds this");
        // Another task starts over.
        if let Some(old) = shown.take_if(|old| done < old.done) {
            self.finish(&old);
        }
        let now = Instant::now();
        let shown = shown.get_or_insert_with(|| Shown {
            bar: self.printer.steps(total),
            task: String::new(),
            done: 0,
            since: now,
            told: now,
        });
        if shown.task != task {
            task.clone_into(&mut shown.task);
            shown.bar.set_message(shown.task.clone());
        }
        shown.done = done;
        shown.bar.set_length(total as u64);
        shown.bar.set_position(done as u64);
        if shown.bar.is_hidden() && shown.told.elapsed() >= TELL_EVERY {
            shown.told = now;
            let text = if total == 0 {
                format!("{task}, {} so far", indicatif::HumanDuration(shown.since.elapsed()))
            } else {
                format!("{done} of {total}, {task}, {} left", indicatif::HumanDuration(shown.bar.eta()))
            };
            self.printer.say(&text);
        }
        if self.signals.received() == 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn message(&self, text: &str) {
        self.printer.say(text);
    }

    fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    fn unix_time(&self) -> f64 {
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
    }

    fn free_memory(&self) -> Option<u64> {
        machine::free_memory()
    }

    fn free_disk(&self, folder: &Path) -> Option<u64> {
        machine::free_disk(folder)
    }

    fn owner(&self) -> Owner {
        machine::owner()
    }

    fn part(&self, name: &str) -> Box<dyn Host + '_> {
        Box::new(Self::new(&self.printer.part(name), self.signals))
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        if let Some(shown) = self.shown.get_mut().ok().and_then(Option::take) {
            self.finish(&shown);
        }
    }
}

/// How long work that was asked to stop may take until it does. What takes longer, such as one gradient of a large data set, is
/// ended with the process: the same command does it again, from what was saved last.
const GRACE: Duration = Duration::from_millis(800);
/// Time between two looks whether there was a signal.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Signals that ask to stop: a person, the system, and a scheduler of jobs that soon ends a job.
#[cfg(unix)]
const STOPPING: [i32; 3] = [SIGINT, SIGTERM, SIGUSR1];
#[cfg(not(unix))]
const STOPPING: [i32; 2] = [SIGINT, SIGTERM];

/// The signals that ask a command to stop; the second one stops the process at once.
#[derive(Clone, Debug)]
pub(crate) struct Signals(Arc<AtomicUsize>);

impl Signals {
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let (number, again) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        for signal in STOPPING {
            // Looked at before it is raised: the first signal passes, the second does what it always did.
            flag::register_conditional_default(signal, Arc::clone(&again))?;
            flag::register(signal, Arc::clone(&again))?;
            flag::register_usize(signal, Arc::clone(&number), signal as usize)?;
        }
        let signals = Self(number);
        let heard = signals.clone();
        // It looks instead of waiting for a signal, because on Windows there is nothing to wait for.
        thread::spawn(move || {
            while heard.received() == 0 {
                thread::sleep(LOOK_EVERY);
            }
            end_after_grace(heard.received().into());
        });
        Ok(signals)
    }

    /// The signal received, 0 if there was none.
    pub(crate) fn received(&self) -> u8 {
        self.0.load(Ordering::Relaxed) as u8
    }
}

/// Ends the process some time after a signal, but never while a file is half written.
#[expect(clippy::exit, reason = "nobody else can end work that does not listen")]
fn end_after_grace(signal: i32) -> ! {
    thread::sleep(GRACE);
    while store::is_writing() {
        thread::sleep(Duration::from_millis(10));
    }
    // If standard error is closed, nobody is left to be told.
    let _ = writeln!(
        io::stderr().lock(),
        "stopped in the middle of a step; the same command continues from what was saved last"
    );
    process::exit(128 + signal)
}
