//! Which process does a task, on a file system that may be shared by many machines: it works in a folder beside the task's,
//! `NAME.work-1`, that only one process can make, and says there that it is alive. The folder of a process that is not is
//! renamed to the next number, which only one of several can do, and which bars the earlier process, whose paths are gone.
//!
//! No lock is needed for this. Where a file can be locked, other processes of the same machine and mount see at once that one has died.

use super::context::{Host, Owner};
use super::folder::{LOCK, beside, files, json, remove, try_lock};
use super::names::unique;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};
use std::{fs, thread};

/// Time between two signs of life.
const BEAT: Duration = Duration::from_secs(10);
/// Who has given no sign of life for so long is dead. If that is wrong, nothing is lost but the work since the last checkpoint.
const DEAD_AFTER: Duration = Duration::from_mins(1);

/// The file in a working folder that says who works there; it is written again as a sign of life.
const OWNER: &str = "owner.json";
/// The folder in it that becomes the task's.
const INNER: &str = "folder";

/// What is in the file of the owner.
#[derive(Debug, Serialize, Deserialize)]
struct Sign {
    #[serde(flatten)]
    owner: Owner,
    /// Whether the owner holds a lock of the file.
    locked: bool,
    /// The mount through which it does: some, such as that of sshfs, know nothing of the locks of others on the same machine.
    #[serde(default)]
    mount: Option<u64>,
}

impl Sign {
    /// Writes down in a folder who works there; the file is locked as long as it is open, where files can be locked.
    fn write(place: &Path, owner: &Owner) -> Result<File> {
        let new = place.join(format!("{OWNER}.{}", unique(owner)));
        let written = (|| {
            let mut file = File::create(&new)?;
            let locked = try_lock(&file)? == Some(true);
            let mount = mount(&file)?;
            file.write_all(json(&Self { owner: owner.clone(), locked, mount }).as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, place.join(OWNER))?;
            Ok(file)
        })();
        written.map_err(|error| Error::file(&new, error))
    }
}

/// What became of the wish to do a task.
#[derive(Debug)]
pub(super) enum Begun {
    /// This process does it.
    Ours(Work),
    /// Another one does, if it is known which.
    Theirs(Option<Owner>),
}

/// A task that this process does. When it is dropped, what is there becomes the folder of the task, finished or not.
#[derive(Debug)]
pub(super) struct Work {
    task: PathBuf,
    place: PathBuf,
    /// That no other process uses.
    name: String,
    beat: Option<Beat>,
}

impl Work {
    /// Claims a task by its folder, unless a process that is alive does it.
    pub(super) fn begin(task: &Path, host: &dyn Host) -> Result<Begun> {
        let owner = host.owner();
        let Some((number, there)) = latest(task)? else { return Self::make(task, &owner) };
        match Life::of(task, &there, &owner)? {
            Life::Alive(theirs) => Ok(Begun::Theirs(theirs)),
            Life::Dead => Self::take_over(task, &there, number + 1, &owner),
        }
    }

    /// Removes what a process has left that died after the task was done.
    pub(super) fn sweep(task: &Path, host: &dyn Host) -> Result<()> {
        if latest(task)?.is_some() { Self::begin(task, host).map(drop) } else { Ok(()) }
    }

    /// Makes the first working folder, complete with its owner.
    fn make(task: &Path, owner: &Owner) -> Result<Begun> {
        let name = unique(owner);
        let (new, place) = (beside(task, &format!("new-{name}")), beside(task, "work-1"));
        let parent = task.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(parent).map_err(|error| Error::file(parent, error))?;
        match fs::create_dir(&new) {
            // A host that does not say which process it is has namesakes: the next name is another one.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(Begun::Theirs(None)),
            made => made.map_err(|error| Error::file(&new, error))?,
        }
        let sign = Sign::write(&new, owner)?;
        // A folder with something in it is never replaced.
        if let Err(error) = fs::rename(&new, &place) {
            let _ = fs::remove_dir_all(&new);
            let taken = [ErrorKind::AlreadyExists, ErrorKind::DirectoryNotEmpty].contains(&error.kind());
            // Windows calls it otherwise.
            let theirs = taken || place.exists();
            return if theirs { Ok(Begun::Theirs(None)) } else { Err(Error::file(&place, error)) };
        }
        let work = Self { task: task.to_owned(), place, name, beat: Some(Beat::begin(sign)) };
        // One who slept since it looked may come after others have come and died.
        if latest(task)?.is_some_and(|(number, _)| number > 1) {
            return Ok(Begun::Theirs(None));
        }
        Ok(Begun::Ours(work))
    }

    /// Takes the working folder of a process that has died.
    fn take_over(task: &Path, there: &Path, number: u64, owner: &Owner) -> Result<Begun> {
        let place = beside(task, &format!("work-{number}"));
        match fs::rename(there, &place) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Begun::Theirs(None)),
            renamed => renamed.map_err(|error| Error::file(&place, error))?,
        }
        let sign = match Sign::write(&place, owner) {
            // Between both steps, somebody took us for the one who died.
            Err(_) if !place.exists() => return Ok(Begun::Theirs(None)),
            sign => sign?,
        };
        let inner = place.join(INNER);
        // What the dead may still hold, or write to.
        for file in files(&inner)? {
            if file.ends_with(LOCK) || file.extension().is_some_and(|ending| ending == "tmp") {
                remove(&file)?;
            }
        }
        Ok(Begun::Ours(Self { task: task.to_owned(), place, name: unique(owner), beat: Some(Beat::begin(sign)) }))
    }

    /// Brings what there is of the task into the working folder, where nobody reads it.
    pub(super) fn fetch(&self) -> Result<()> {
        let inner = self.folder();
        if inner.exists() && self.task.exists() {
            let reason = format!("it is there twice; remove it, or {}", self.place.display());
            return Err(Error::Folder { path: self.task.clone(), reason });
        }
        match fs::rename(&self.task, &inner) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file(&inner, error)),
            _ => Ok(()),
        }
    }

    /// Where to work.
    pub(super) fn folder(&self) -> PathBuf {
        self.place.join(INNER)
    }

    /// Whether another process took this one for dead and does the task now.
    pub(super) fn is_lost(&self) -> bool {
        !self.place.exists()
    }

    /// Makes what was done the folder of the task.
    pub(super) fn publish(&self) -> Result<()> {
        fs::rename(self.folder(), &self.task).map_err(|error| Error::file(&self.task, error))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.beat.take();
        // Whatever fails here is found by the next process, which takes the folder over.
        if self.folder().exists() && self.publish().is_err() {
            return;
        }
        // Under a name of its own, because what is removed must not be what somebody takes over meanwhile.
        let old = beside(&self.task, &format!("old-{}", self.name));
        if fs::rename(&self.place, &old).is_ok() {
            let _ = fs::remove_dir_all(&old);
        }
    }
}

/// Whether who began a task is alive; nothing if nobody has begun it, or it has been ended.
pub(super) fn life_of(task: &Path, host: &dyn Host) -> Result<Option<Life>> {
    let Some((_, there)) = latest(task)? else { return Ok(None) };
    Life::of(task, &there, &host.owner()).map(Some)
}

/// The working folder of a task with the highest number.
fn latest(task: &Path) -> Result<Option<(u64, PathBuf)>> {
    let name = format!("{}.work-", task.file_name().unwrap_or_default().to_string_lossy());
    let number = |path: PathBuf| Some((path.file_name()?.to_str()?.strip_prefix(&name)?.parse().ok()?, path));
    Ok(files(task.parent().unwrap_or(Path::new("")))?.into_iter().filter_map(number).max())
}

/// Whether a process that has begun a task still does it.
#[derive(Debug)]
pub(super) enum Life {
    /// It does, and this is its name, if that could be read.
    Alive(Option<Owner>),
    /// It has died.
    Dead,
}

impl Life {
    fn of(task: &Path, place: &Path, us: &Owner) -> Result<Self> {
        let path = place.join(OWNER);
        let mut file = match OpenOptions::new().read(true).write(true).open(&path) {
            // It has died between two steps, or ended just now.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(if place.exists() { Self::Dead } else { Self::Alive(None) });
            }
            // NFS remembers a file that is another one now: look again.
            Err(error) if error.kind() == ErrorKind::StaleNetworkFileHandle => return Ok(Self::Alive(None)),
            file => file.map_err(|error| Error::file(&path, error))?,
        };
        let mut text = String::new();
        let sign: Option<Sign> = file.read_to_string(&mut text).ok().and_then(|_| serde_json::from_str(&text).ok());
        let mount = mount(&file).map_err(|error| Error::file(&path, error))?;
        let neighbour =
            |sign: &Sign| sign.locked && us.boot.is_some() && sign.owner.boot == us.boot && sign.mount == mount;
        let is_alive = if sign.as_ref().is_some_and(neighbour) {
            try_lock(&file).map_err(|error| Error::file(&path, error))? == Some(false)
        } else {
            let seen = file.metadata().and_then(|metadata| metadata.modified());
            let Ok(seen) = seen else { return Ok(Self::Alive(None)) };
            now(task, us)?.duration_since(seen).map_or(true, |silent| silent <= DEAD_AFTER)
        };
        Ok(if is_alive { Self::Alive(sign.map(|sign| sign.owner)) } else { Self::Dead })
    }
}

/// The number by which the system knows the mount of a file, until it is started again.
#[cfg(unix)]
fn mount(file: &File) -> std::io::Result<Option<u64>> {
    use std::os::unix::fs::MetadataExt as _;
    Ok(Some(file.metadata()?.dev()))
}

/// Nobody tells.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "it is asked for on Unix")]
fn mount(_: &File) -> std::io::Result<Option<u64>> {
    Ok(None)
}

/// What time it is by the clock of the file system, which all machines that share it have in common.
fn now(task: &Path, us: &Owner) -> Result<SystemTime> {
    let probe = beside(task, &format!("new-{}", unique(us)));
    let time = (|| {
        let mut file = File::create(&probe)?;
        file.write_all(b"?")?;
        file.sync_all()?;
        file.metadata()?.modified()
    })();
    remove(&probe)?;
    time.map_err(|error| Error::file(&probe, error))
}

/// A thread that gives signs of life until it is dropped.
#[derive(Debug)]
struct Beat {
    ended: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Beat {
    /// Writes the file of the owner again and again.
    fn begin(mut sign: File) -> Self {
        let ended = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = Arc::clone(&ended);
        let thread = thread::spawn(move || {
            let (ended, changed) = &*theirs;
            let mut is_over = ended.lock().expect("no thread panics while it holds this");
            while !*is_over {
                is_over = changed.wait_timeout(is_over, BEAT).expect("no thread panics while it holds this").0;
                // The same first byte. If it cannot be written now, it may be the next time.
                let _ = sign.seek(SeekFrom::Start(0)).and_then(|_| sign.write_all(b"{")).and_then(|()| sign.sync_all());
            }
        });
        Self { ended, thread: Some(thread) }
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        let (ended, changed) = &*self.ended;
        *ended.lock().expect("no thread panics while it holds this") = true;
        changed.notify_all();
        // It does nothing that could fail.
        self.thread.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Silent;
    use crate::progress::Progress;
    use std::ops::ControlFlow;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A host of another machine each time it is made.
    struct Machine(&'static str);

    impl Host for Machine {
        fn progress(&self, progress: Progress<'_>) -> ControlFlow<()> {
            Silent.progress(progress)
        }
        fn message(&self, _: &str) {}
        fn seconds(&self) -> f64 {
            0.0
        }
        fn unix_time(&self) -> f64 {
            0.0
        }
        fn owner(&self) -> Owner {
            Owner { machine: self.0.to_owned(), boot: Some(self.0.to_owned()), process: 1, job: None }
        }
        fn part(&self, _: &str) -> Box<dyn Host + '_> {
            Box::new(Self(self.0))
        }
    }

    fn begin(task: &Path, machine: &'static str) -> Option<Work> {
        match Work::begin(task, &Machine(machine)).unwrap() {
            Begun::Ours(work) => {
                work.fetch().unwrap();
                Some(work)
            }
            Begun::Theirs(_) => None,
        }
    }

    /// What is left when a machine dies.
    fn die(work: Work) -> PathBuf {
        let place = work.place.clone();
        std::mem::forget(work);
        place
    }

    fn age(place: &Path) {
        let sign = OpenOptions::new().write(true).open(place.join(OWNER)).unwrap();
        sign.set_modified(sign.metadata().unwrap().modified().unwrap() - 2 * DEAD_AFTER).unwrap();
    }

    #[test]
    fn one_of_many_does_a_task_and_leaves_its_folder() {
        let root = tempfile::tempdir().unwrap();
        let task = root.path().join("a/task");
        let first = begin(&task, "one").unwrap();
        fs::create_dir(first.folder()).unwrap();
        fs::write(first.folder().join("file"), "1").unwrap();
        assert!(begin(&task, "two").is_none() && !task.exists());
        drop(first);
        assert_eq!(fs::read_to_string(task.join("file")).unwrap(), "1");
        let second = begin(&task, "two").unwrap();
        assert!(!task.exists() && second.folder().join("file").exists());
        second.publish().unwrap();
        drop(second);
        assert_eq!(files(&root.path().join("a")).unwrap(), [task]);
    }

    #[test]
    fn a_thousand_wishes_at_once_are_granted_one_after_the_other() {
        let root = tempfile::tempdir().unwrap();
        let (task, at_work) = (root.path().join("task"), AtomicUsize::new(0));
        let done = AtomicUsize::new(0);
        thread::scope(|scope| {
            for machine in ["a", "b", "c", "d", "e", "f", "g", "h"] {
                let (task, at_work, done) = (&task, &at_work, &done);
                scope.spawn(move || {
                    for _ in 0..125 {
                        let Some(_work) = begin(task, machine) else { continue };
                        assert_eq!(at_work.fetch_add(1, Ordering::SeqCst), 0);
                        at_work.fetch_sub(1, Ordering::SeqCst);
                        done.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(done.into_inner() > 0);
        assert!(files(root.path()).unwrap().is_empty());
    }

    #[test]
    fn the_task_of_a_machine_that_died_is_taken_over_once_and_the_dead_cannot_come_back() {
        let root = tempfile::tempdir().unwrap();
        let task = root.path().join("task");
        let mut dead = begin(&task, "one").unwrap();
        fs::create_dir(dead.folder()).unwrap();
        fs::write(dead.folder().join("state"), "half").unwrap();
        fs::write(dead.folder().join("state.tmp"), "torn").unwrap();
        // Its thread dies with it.
        dead.beat.take();
        assert!(begin(&task, "two").is_none());
        age(&dead.place);
        let heir = begin(&task, "two").unwrap();
        assert!(begin(&task, "three").is_none());
        assert_eq!(files(&heir.folder()).unwrap(), [heir.folder().join("state")]);
        assert!(dead.is_lost() && !heir.is_lost());
        assert!(dead.publish().is_err() && fs::write(dead.folder().join("state"), "late").is_err());
        drop(dead);
        assert!(!task.exists());
        drop(heir);
        assert_eq!(fs::read_to_string(task.join("state")).unwrap(), "half");
        assert_eq!(files(root.path()).unwrap(), [task]);
    }

    #[test]
    fn a_neighbour_that_died_is_known_at_once() {
        let root = tempfile::tempdir().unwrap();
        let task = root.path().join("task");
        let mut dead = begin(&task, "one").unwrap();
        assert!(begin(&task, "one").is_none());
        // With its thread, it lets go of the lock.
        dead.beat.take();
        die(dead);
        assert!(begin(&task, "one").is_some());
    }

    #[test]
    fn a_neighbour_that_sees_the_folder_through_another_mount_is_not_known_by_its_lock() {
        let root = tempfile::tempdir().unwrap();
        let task = root.path().join("task");
        let mut dead = begin(&task, "one").unwrap();
        dead.beat.take();
        let path = die(dead).join(OWNER);
        let mut sign: Sign = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        sign.mount = sign.mount.map_or(Some(1), |mount| Some(mount + 1));
        fs::write(&path, json(&sign)).unwrap();
        assert!(begin(&task, "one").is_none());
        age(path.parent().unwrap());
        assert!(begin(&task, "one").is_some());
    }
}
