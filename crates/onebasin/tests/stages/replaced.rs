//! An input that is replaced while a stage reads it leaves no result that would look as if it were of the other contents, and a kill
//! during the first write of an attempt is no obstacle to the next.

use crate::trained::gaussians;
use onebasin::error::Error;
use onebasin::experiment::{Align, AlignSettings, Context, Host, MADE, Made, POSTERIOR, Silent, run_alone};
use onebasin::progress::Progress;
use onebasin::threads::pool;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// A host that is asked for the time while the stage works, and then replaces a file by another.
struct Replacing {
    file: PathBuf,
    other: PathBuf,
}

impl Host for Replacing {
    fn progress(&self, _: Progress<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn message(&self, _: &str) {}
    fn seconds(&self) -> f64 {
        fs::copy(&self.other, &self.file).unwrap();
        0.0
    }
    fn unix_time(&self) -> f64 {
        0.0
    }
    fn part(&self, _: &str) -> Box<dyn Host + '_> {
        unreachable!("one alignment has no parts")
    }
}

#[test]
fn an_input_that_is_replaced_meanwhile_leaves_no_result() {
    let folder = tempfile::tempdir().unwrap();
    let posteriors = gaussians(folder.path());
    let out = folder.path().join("out");
    let align = Align { settings: AlignSettings::default(), posteriors: posteriors.to_vec() };
    let run = |host: &dyn Host| {
        run_alone(&align, &out, false, &Context { pool: pool(1).unwrap(), data: Path::new(""), host })
    };
    let [other, file] = posteriors.map(|folder| folder.join(POSTERIOR));
    let before = fs::read(&file).unwrap();
    let error = run(&Replacing { file: file.clone(), other }).unwrap_err();
    assert!(matches!(&error, Error::File { path, .. } if *path == file), "{error}");
    assert!(error.to_string().contains("changed while it was read"), "{error}");
    assert_eq!(Made::read(&out).unwrap().unwrap().outputs, None, "{MADE} says that there is no result");
    fs::write(&file, before).unwrap();
    let (_, was_current) = run(&Silent).unwrap();
    assert!(!was_current, "the same command starts again");
}

#[test]
fn what_a_kill_leaves_of_the_first_write_is_no_obstacle() {
    let folder = tempfile::tempdir().unwrap();
    let posteriors = gaussians(folder.path()).to_vec();
    let align = Align { settings: AlignSettings::default(), posteriors };
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let left = out.join(format!("{MADE}.tmp"));
    fs::write(&left, "{ \"version\":").unwrap();
    run_alone(&align, &out, false, &Context { pool: pool(1).unwrap(), data: Path::new(""), host: &Silent }).unwrap();
    assert!(!left.exists() && out.join(MADE).exists());
}
