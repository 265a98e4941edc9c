//! A file is written whole or not at all.

use onebasin::error::Error;
use onebasin::store::write_whole;
use std::path::Path;
use tempfile::TempDir;

/// The names in a folder and what the files hold.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut contents: Vec<_> = folder
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap_or_default()))
        .collect();
    contents.sort();
    contents
}

fn fails(text: &'static str) -> impl FnOnce(&mut dyn std::io::Write) -> onebasin::error::Result<()> {
    move |file| {
        file.write_all(text.as_bytes()).unwrap();
        Err(Error::EmptyBatch)
    }
}

#[test]
fn a_failure_leaves_the_old_file_and_no_other() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file");
    assert_eq!(write_whole(&path, fails("half")), Err(Error::EmptyBatch));
    assert_eq!(contents(folder.path()), []);
    std::fs::write(&path, "old").unwrap();
    // Longer than any buffer, so that some of it was on the disk.
    let long: &'static str = "x".repeat(1 << 22).leak();
    assert_eq!(write_whole(&path, fails(long)), Err(Error::EmptyBatch));
    assert_eq!(contents(folder.path()), [("file".to_owned(), b"old".to_vec())]);
}

#[test]
fn success_replaces_the_old_file_and_what_a_crash_left() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, "old").unwrap();
    std::fs::write(folder.path().join("file.tmp"), "the long remains of a crash").unwrap();
    write_whole(&path, |file| {
        file.write_all(b"new").unwrap();
        Ok(())
    })
    .unwrap();
    assert_eq!(contents(folder.path()), [("file".to_owned(), b"new".to_vec())]);
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let folder = TempDir::new().unwrap();
    let nowhere = folder.path().join("nowhere").join("file");
    let error = write_whole(&nowhere, |_| Ok(())).unwrap_err().to_string();
    assert!(error.contains(nowhere.to_str().unwrap()), "{error}");

    let taken = folder.path().join("taken");
    std::fs::create_dir(&taken).unwrap();
    let error = write_whole(&taken, |_| Ok(())).unwrap_err().to_string();
    assert!(error.contains(taken.to_str().unwrap()), "{error}");
    assert_eq!(contents(folder.path()), [("taken".to_owned(), Vec::new())]);
}

#[cfg(unix)]
#[test]
fn no_symbolic_link_is_followed() {
    let folder = TempDir::new().unwrap();
    let [other, path] = ["other", "file"].map(|name| folder.path().join(name));
    std::fs::write(&other, "of somebody else").unwrap();
    for link in ["file.tmp", "file"] {
        std::os::unix::fs::symlink(&other, folder.path().join(link)).unwrap();
        write_whole(&path, |file| {
            file.write_all(b"new").unwrap();
            Ok(())
        })
        .unwrap();
        let expected = [("file".to_owned(), b"new".to_vec()), ("other".to_owned(), b"of somebody else".to_vec())];
        assert_eq!(contents(folder.path()), expected, "{link}");
        std::fs::remove_file(&path).unwrap();
    }
}
