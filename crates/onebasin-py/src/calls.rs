//! Long calls: the library works on a thread of its own, while the calling thread lets other Python threads run, listens to
//! Ctrl-C, and runs whatever the library asks Python for.

use crate::errors;
use onebasin::error::{Error, Result};
use onebasin::experiment::{Context, Host, Owner};
use onebasin::progress::Progress;
use onebasin::threads;
use onebasin_cli::machine;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// Time between two looks at whether Ctrl-C was pressed.
const LISTEN: Duration = Duration::from_millis(50);
/// Time between two reports of progress.
const REPORT: Duration = Duration::from_millis(100);

/// Work for the calling thread.
type Job = Box<dyn FnOnce(Python<'_>) -> PyResult<()> + Send>;

/// What the library may ask of the thread that called it.
#[derive(Clone)]
pub(crate) struct Caller {
    jobs: mpsc::Sender<Job>,
    stopped: Arc<AtomicBool>,
}

impl Caller {
    /// Runs `work` on the calling thread and returns what it returns; if it raises, the library stops.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(Python<'_>) -> PyResult<T> + Send + 'static,
    ) -> Result<T> {
        let (answer, answers) = mpsc::channel();
        let job = move |py: Python<'_>| {
            // Nobody listens any more if the library has stopped meanwhile.
            let _ = answer.send(work(py)?);
            Ok(())
        };
        self.jobs.send(Box::new(job)).map_err(|_| Error::Stopped)?;
        answers.recv().map_err(|_| Error::Stopped)
    }
}

/// Who hears of a long call, and on what it works.
#[derive(FromPyObject)]
pub(crate) struct Options {
    /// Called with the name of a part, the task, the units done and the units in all.
    progress: Option<Py<PyAny>>,
    /// Called with one line that is meant for a person.
    message: Option<Py<PyAny>>,
    /// Number of threads; none for all cores.
    threads: Option<usize>,
    /// Folder of the data sets; none for that of the platform.
    data: Option<PathBuf>,
}

/// Calls the library, which may take long. Raises the error that it returns, what a callback raised, or `KeyboardInterrupt`, as soon as
/// the library has stopped.
pub(crate) fn long<T: Send>(
    py: Python<'_>,
    options: &Options,
    work: impl FnOnce(&Context<'_>, &Caller) -> Result<T> + Send,
) -> PyResult<T> {
    let (jobs, received) = mpsc::channel::<Job>();
    let received = Mutex::new(received);
    let stopped = Arc::new(AtomicBool::new(false));
    let shared = |callback: &Option<Py<PyAny>>| callback.as_ref().map(|callback| Arc::new(callback.clone_ref(py)));
    let host = Interpreter {
        caller: Caller { jobs, stopped: Arc::clone(&stopped) },
        progress: shared(&options.progress),
        message: shared(&options.message),
        started: Instant::now(),
        reported: Mutex::new(None),
        name: String::new(),
    };
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let pool = threads::pool(options.threads.unwrap_or_else(cores)).map_err(|error| errors::exception(py, &error))?;
    let data = options.data.clone().unwrap_or_else(machine::data_folder);
    let (mut raised, done) = thread::scope(|scope| {
        let (host, data) = (&host, &data);
        let worker = scope.spawn(move || {
            let done = work(&Context { pool, data, host }, &host.caller);
            // Wakes the calling thread at once.
            let _ = host.caller.jobs.send(Box::new(|_| Ok(())));
            done
        });
        let mut raised: Option<PyErr> = None;
        while !worker.is_finished() {
            let job = py.detach(|| received.lock().expect("one thread receives").recv_timeout(LISTEN));
            let outcome = match job {
                Ok(job) if raised.is_none() => job(py),
                _ => Ok(()),
            };
            if let Err(error) = outcome.and_then(|()| py.check_signals()) {
                raised.get_or_insert(error);
                stopped.store(true, Ordering::Relaxed);
            }
        }
        (raised, worker.join())
    });
    // What was sent after the last look keeps nobody waiting.
    match (raised.take(), done) {
        (Some(error), _) => Err(error),
        (None, Ok(done)) => done.map_err(|error| errors::exception(py, &error)),
        (None, Err(_)) => Err(PyRuntimeError::new_err("onebasin has a defect: a thread panicked; please report it")),
    }
}

/// The interpreter that called, as the host of stages.
struct Interpreter {
    caller: Caller,
    progress: Option<Arc<Py<PyAny>>>,
    message: Option<Arc<Py<PyAny>>>,
    started: Instant,
    /// When and of which task progress was reported last.
    reported: Mutex<Option<(Instant, String)>>,
    /// Name of the part, of several stages that run at the same time.
    name: String,
}

impl Interpreter {
    fn report(&self, callback: &Arc<Py<PyAny>>, Progress { task, done, total }: Progress<'_>) {
        let now = Instant::now();
        let mut reported = self.reported.lock().expect("no thread panics while it holds this");
        let is_news = match &*reported {
            Some((last, of)) => of != task || done == total || now.duration_since(*last) >= REPORT,
            None => true,
        };
        if !is_news {
            return;
        }
        *reported = Some((now, task.to_owned()));
        drop(reported);
        let (callback, name, task) = (Arc::clone(callback), self.name.clone(), task.to_owned());
        // If it raises, everything stops.
        let _ = self.caller.call(move |py| callback.call1(py, (name, task, done, total)).map(drop));
    }
}

impl Host for Interpreter {
    fn progress(&self, progress: Progress<'_>) -> ControlFlow<()> {
        if let Some(callback) = &self.progress {
            self.report(callback, progress);
        }
        if self.caller.stopped.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn message(&self, text: &str) {
        let Some(callback) = self.message.clone() else { return };
        let text = if self.name.is_empty() { text.to_owned() } else { format!("{}: {text}", self.name) };
        let _ = self.caller.call(move |py| callback.call1(py, (text,)).map(drop));
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
        Box::new(Self {
            caller: self.caller.clone(),
            progress: self.progress.clone(),
            message: self.message.clone(),
            started: self.started,
            reported: Mutex::new(None),
            name: name.to_owned(),
        })
    }
}
