//! A folder of each thread for the files that parsers read.

use std::fs;
use std::path::PathBuf;

thread_local! {
    static FOLDER: Folder = Folder::new();
}

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let thread = format!("{:?}", std::thread::current().id()).replace(|c: char| !c.is_ascii_digit(), "");
        let path = std::env::temp_dir().join(format!("onebasin-fuzz-{}-{thread}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder for temporary files can be made");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays is in a folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The path of a file, or a folder, of this name.
pub(crate) fn path(name: &str) -> PathBuf {
    FOLDER.with(|folder| folder.0.join(name))
}

/// Writes a file, and returns its path.
pub(crate) fn write(name: &str, bytes: &[u8]) -> PathBuf {
    let path = path(name);
    fs::write(&path, bytes).expect("a temporary file can be written");
    path
}

/// Makes a folder with nothing in it, and returns its path.
pub(crate) fn empty(name: &str) -> PathBuf {
    let path = path(name);
    if path.exists() {
        fs::remove_dir_all(&path).expect("a temporary folder can be removed");
    }
    fs::create_dir_all(&path).expect("a temporary folder can be made");
    path
}
