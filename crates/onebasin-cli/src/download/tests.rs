//! Downloads from a real server on this machine: whole, broken off, resumed, wrong, missing, and in archives.

#[path = "../../tests/server/mod.rs"]
mod server;

use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use onebasin::data::Split;
use onebasin::data::catalogue::{Digest, Format};
use onebasin::hash::sha256;
use server::{Answer, Request, Server};
use tempfile::TempDir;

const LEN: usize = 300_000;

/// The bytes of the file called `name`.
fn contents(name: &str) -> Vec<u8> {
    let seed = name.bytes().map(usize::from).sum::<usize>();
    (0..LEN).map(|index| (((index + seed) * 2_654_435_761) >> 7) as u8).collect()
}

fn file(name: &'static str) -> File {
    let sha256 = sha256(&contents(name)).leak();
    File { name, split: Split::Train, digest: Digest { bytes: LEN as u64, sha256 }, unpacked: None }
}

/// A data set that nobody has published, of the files `a` and `b`.
fn made_up(archive: Option<Archive>) -> Files {
    let files = vec![file("a"), file("b")].leak();
    Files { folder: "made/up", format: Format::Cifar10, files, mirrors: &[], archive }
}

/// The right bytes for every request.
fn honest(request: &Request) -> Answer {
    Answer::range(&contents(request.path.trim_start_matches('/')), request)
}

/// A data directory, and downloads of the made-up data set to it.
struct Place {
    dir: TempDir,
    files: Files,
}

impl Place {
    fn new() -> Self {
        Self { dir: TempDir::new().unwrap(), files: made_up(None) }
    }
    fn get(&self, server: &Server) -> anyhow::Result<bool> {
        get(&self.files, self.dir.path(), Some(&server.url), &Printer::silent())
    }
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("made/up").join(name)
    }
    fn write(&self, name: &str, bytes: &[u8]) {
        fs::create_dir_all(self.path("")).unwrap();
        fs::write(self.path(name), bytes).unwrap();
    }
    /// Names of all files in the folder, sorted.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("")).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
    fn assert_complete(&self) {
        assert_eq!(self.names(), ["a", "b"]);
        for name in ["a", "b"] {
            assert!(fs::read(self.path(name)).unwrap() == contents(name), "{name} has other bytes");
        }
    }
}

#[test]
fn a_transfer_that_stands_still_is_given_up_and_can_be_resumed() {
    let (place, server) = (Place::new(), Server::new(|request| honest(request).hanging_after(1000)));
    place.write("x", b"");
    let (part, size) = (place.path("a.part"), http::Size { expected: LEN as u64, limit: LEN as u64, exact: true });
    let (url, patience) = (format!("{}/a", server.url), std::time::Duration::from_millis(300));
    let said = http::fetch(&http::agent(), &url, &part, size, patience, &Printer::silent()).unwrap().unwrap_err();
    assert_eq!(said, "the transfer stands still: nothing has come after 1000 bytes for 0.3 seconds");
    assert_eq!(fs::read(part).unwrap(), contents("a")[..1000]);
}

#[test]
fn what_is_missing_is_downloaded_and_what_is_there_is_not() {
    let (place, server) = (Place::new(), Server::new(honest));
    place.write("b", &contents("b"));
    assert!(place.get(&server).unwrap());
    place.assert_complete();
    assert_eq!(server.requests(), [Request { path: "/a".to_owned(), from: None }]);
    assert!(!place.get(&server).unwrap());
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn what_is_wrong_is_replaced() {
    let (place, server) = (Place::new(), Server::new(honest));
    place.write("a", &contents("b"));
    place.write("b", b"short");
    assert!(place.get(&server).unwrap());
    place.assert_complete();
}

#[test]
fn a_broken_transfer_is_resumed_where_it_broke_off() {
    let place = Place::new();
    place.write("b", &contents("b"));
    let breaking = Server::new(|request| honest(request).broken_after(123_456));
    let error = place.get(&breaking).unwrap_err().to_string();
    assert!(error.contains("the transfer broke off after 123456 bytes"), "{error}");
    assert!(error.contains("The same command will resume"), "{error}");
    assert_eq!(place.names(), ["a.part", "b"]);
    let server = Server::new(honest);
    assert!(place.get(&server).unwrap());
    assert_eq!(server.ranges(), [Some(123_456)]);
    place.assert_complete();
}

#[test]
fn a_server_that_ignores_ranges_sends_everything_again() {
    let (place, server) = (Place::new(), Server::new(|request| Answer::whole(&contents(&request.path[1..]))));
    place.write("b", &contents("b"));
    place.write("a.part", &contents("a")[..1000]);
    assert!(place.get(&server).unwrap());
    assert_eq!(server.ranges(), [Some(1000)]);
    place.assert_complete();
}

#[test]
fn an_answer_from_another_place_is_not_appended() {
    let shifted = |request: &Request| {
        let elsewhere = Request { from: request.from.map(|from| from - 1), ..request.clone() };
        honest(&elsewhere)
    };
    let (place, server) = (Place::new(), Server::new(shifted));
    place.write("b", &contents("b"));
    place.write("a.part", &contents("a")[..1000]);
    assert!(place.get(&server).unwrap());
    assert_eq!(server.ranges(), [Some(1000), None]);
    place.assert_complete();
}

#[test]
fn what_was_downloaded_but_not_renamed_is_not_downloaded_again() {
    let (place, server) = (Place::new(), Server::new(honest));
    place.write("b", &contents("b"));
    place.write("a.part", &contents("a"));
    assert!(place.get(&server).unwrap());
    assert_eq!(server.requests(), []);
    place.assert_complete();
}

#[test]
fn a_wrong_beginning_is_thrown_away() {
    for beginning in [contents("b")[..1000].to_vec(), contents("b"), [contents("a"), contents("a")].concat()] {
        let (place, server) = (Place::new(), Server::new(honest));
        place.write("b", &contents("b"));
        place.write("a.part", &beginning);
        assert!(place.get(&server).unwrap());
        place.assert_complete();
    }
}

#[test]
fn a_wrong_checksum_says_what_was_expected_and_leaves_nothing() {
    let (place, server) = (Place::new(), Server::new(|_| Answer::whole(&contents("b"))));
    let error = place.get(&server).unwrap_err().to_string();
    let [a, b] = ["a", "b"].map(|name| file(name).digest.sha256);
    assert!(error.contains(&format!("{}/a: wrong checksum: expected SHA-256 {a}, got {b}", server.url)), "{error}");
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn more_bytes_than_there_should_be_are_not_kept() {
    let (place, server) = (Place::new(), Server::new(|_| Answer::whole(&vec![0; LEN + 1])));
    let error = place.get(&server).unwrap_err().to_string();
    assert!(error.contains("/a: it has more than the 300000 bytes it should have"), "{error}");
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn fewer_bytes_than_there_should_be_can_be_resumed() {
    let (place, server) = (Place::new(), Server::new(|_| Answer::whole(&contents("a")[..1000])));
    let error = place.get(&server).unwrap_err().to_string();
    assert!(error.contains("/a: the transfer ended after 1000 of 300000 bytes"), "{error}");
    assert_eq!(place.names(), ["a.part"]);
}

#[test]
fn a_missing_file_is_an_error_that_leaves_nothing() {
    let (place, server) = (Place::new(), Server::new(|_| Answer::status("404 Not Found")));
    let error = place.get(&server).unwrap_err().to_string();
    assert!(error.contains("/a: the server answers 404 Not Found"), "{error}");
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn a_server_that_is_not_there_is_an_error_that_leaves_nothing() {
    let place = Place::new();
    for url in ["http://127.0.0.1:1/", "ftp://127.0.0.1/", "no address"] {
        assert!(get(&place.files, place.dir.path(), Some(url), &Printer::silent()).is_err(), "{url}");
    }
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn the_next_mirror_helps_out_and_continues() {
    let breaking = Server::new(|request| honest(request).broken_after(100));
    let wrong = Server::new(|_| Answer::whole(&contents("c")));
    let server = Server::new(honest);
    let mut place = Place::new();
    place.write("b", &contents("b"));
    for (first, ranges) in [(&breaking, [Some(100)]), (&wrong, [None])] {
        place.files.mirrors = vec![&*first.url.clone().leak(), &*server.url.clone().leak()].leak();
        fs::remove_file(place.path("a")).unwrap_or_default();
        let before = server.ranges().len();
        assert!(get(&place.files, place.dir.path(), None, &Printer::silent()).unwrap());
        assert_eq!(server.ranges()[before..], ranges);
        place.assert_complete();
    }
}

#[test]
fn two_processes_do_not_write_to_one_file() {
    let (place, server) = (Place::new(), Server::new(honest));
    place.write("a.part", b"");
    let other = fs::File::open(place.path("a.part")).unwrap();
    other.lock().unwrap();
    let error = place.get(&server).unwrap_err().to_string();
    assert!(error.contains("a.part is being downloaded by another process"), "{error}");
}

/// A `.tar.gz` of files with these paths and contents.
fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, bytes) in files {
        let mut header = tar::Header::new_gnu();
        // Written by hand: the safe way refuses the paths that an attacker would use.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(bytes.len() as u64);
        header.set_entry_type(tar::EntryType::Regular);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append(&header, *bytes).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

impl Place {
    fn with_archive() -> Self {
        let archive = Archive { name: "both.tar.gz", bytes: 2 * LEN as u64, folder: "both" };
        Self { files: made_up(Some(archive)), ..Self::new() }
    }
}

#[test]
fn an_archive_is_unpacked_and_removed() {
    let place = Place::with_archive();
    let (a, b) = (contents("a"), contents("b"));
    let bytes = archive(&[
        ("both/readme.html", b"read me"),
        ("both/a", &a),
        ("../../escaped", b"attack"),
        ("/both/a", b"attack"),
        ("both/../b", b"attack"),
        ("both/b", &b),
        ("both/b", b"attack"),
    ]);
    let server = Server::new(move |request| {
        Answer::range(&bytes, request).broken_after(if request.from.is_none() { 5000 } else { bytes.len() - 5000 })
    });
    assert!(place.get(&server).is_err());
    assert_eq!(place.names(), ["both.tar.gz.part"]);
    assert!(place.get(&server).unwrap());
    assert_eq!(server.ranges(), [None, Some(5000)]);
    place.assert_complete();
    assert!(!place.get(&server).unwrap());
    let above: Vec<_> = fs::read_dir(place.dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(above, ["made"]);
}

#[test]
fn a_wrong_archive_leaves_nothing() {
    let (a, b) = (contents("a"), contents("b"));
    let whole = archive(&[("both/a", &a), ("both/b", &b)]);
    for (bytes, said) in [
        (archive(&[("both/a", &a)]), "the archive has no both/b"),
        (archive(&[("both/a", &a), ("both/b", &a)]), "b in the archive: wrong checksum: expected SHA-256 "),
        (archive(&[("both/a", &a), ("both/b", &[&b[..], b"x"].concat())]), "b in the archive: wrong checksum"),
        (whole[..whole.len() / 2].to_vec(), "the archive is damaged"),
        (b"no archive at all".to_vec(), "the archive is damaged"),
        (archive(&[("both/zeros", &vec![0; 1 << 25]), ("both/a", &a)]), "the archive is damaged"),
        (vec![0; 2 * LEN + (1 << 20) + 1], "it has more than the 1648576 bytes it should have"),
    ] {
        let place = Place::with_archive();
        let server = Server::new(move |_| Answer::whole(&bytes));
        let error = place.get(&server).unwrap_err().to_string();
        assert!(error.contains(said), "{said}: {error}");
        assert_eq!(place.names(), [""; 0], "{said}");
    }
}
