//! `onebasin data` as a whole: what it prints, how it exits, and what it leaves on the disk.

mod binary;
mod server;

use binary::{command, onebasin};
use insta::assert_snapshot;
use server::{Answer, Server};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use std::{fs, thread};
use tempfile::TempDir;

/// A data directory that vanishes at the end of a test.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }
    fn line(&self, line: &str) -> String {
        format!("data {line} --data {}", self.0.path().display())
    }
    /// What `onebasin data` does with these arguments; the folder is called DIR in it.
    fn data(&self, line: &str) -> String {
        onebasin(&self.line(line)).replace(self.0.path().to_str().unwrap(), "DIR")
    }
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
    fn write(&self, name: &str, bytes: &[u8]) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), bytes).unwrap();
    }
    /// Names of all files of MNIST, sorted.
    fn mnist(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("mnist")).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn list_says_what_is_there() {
    let place = Place::new();
    place.write("mnist/train-labels-idx1-ubyte", b"");
    for name in ["train.bin", "test.bin"] {
        place.write(&format!("cifar100/cifar-100-binary/{name}"), b"");
    }
    assert_snapshot!(place.data("list"), @r"
        exit code: 0
        ----- stdout -----
        data set       train   test  shape    classes  download  status      shows
        digits          1437    360  8x8x1         10            built in    small handwritten digits
        synthetic        400    100  6x6x1          4            built in    noisy patterns, for tests
        mnist          60000  10000  28x28x1       10   11.6 MB  incomplete  handwritten digits
        fashion-mnist  60000  10000  28x28x1       10   30.9 MB  absent      articles of clothing
        cifar10        50000  10000  32x32x3       10  170.1 MB  absent      animals and vehicles
        cifar100       50000  10000  32x32x3      100  168.5 MB  present     animals, plants and things
        ----- stderr -----
        data directory: DIR
    ");
}

#[test]
fn lists_and_verdicts_are_there_for_machines() {
    let place = Place::new();
    let json = |line: &str| -> Vec<serde_json::Value> {
        serde_json::from_slice(&command(&place.line(line)).output().unwrap().stdout).unwrap()
    };
    let list = json("list --json");
    assert_eq!(
        (&list[2]["name"], &list[2]["status"], &list[2]["train"]),
        (&"mnist".into(), &"absent".into(), &60_000.into())
    );
    let verdicts = json("verify digits --json");
    assert!(verdicts.len() == 2 && verdicts.iter().all(|verdict| verdict["right"] == true), "{verdicts:?}");
    let missing = json("verify mnist --json");
    assert!(missing.iter().all(|verdict| verdict["right"] == false), "{missing:?}");
}

#[test]
fn the_directory_can_be_a_variable() {
    let place = Place::new();
    let output = command("data list").env("ONEBASIN_DATA", place.0.path()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, format!("data directory: {}\n", place.0.path().display()));
}

#[test]
fn an_unknown_data_set_is_told_the_known_ones() {
    assert_snapshot!(Place::new().data("get minst"), @r"
        exit code: 2
        ----- stderr -----
        error: there is no data set `minst`; there are: digits, synthetic, mnist, fashion-mnist, cifar10, cifar100

        For more information, try '--help'.
    ");
    assert!(Place::new().data("verify mnist minst").starts_with("exit code: 2\n"));
}

#[test]
fn what_is_built_in_need_not_be_downloaded() {
    assert_snapshot!(Place::new().data("get digits"), @r"
        exit code: 0
        ----- stderr -----
        digits is built in; there is nothing to download
    ");
}

#[test]
fn wrong_bytes_are_refused_and_not_kept() {
    let place = Place::new();
    let server = Server::new(|_| Answer::whole(&vec![7; 9_912_422]));
    let said = place.data(&format!("get mnist --mirror {}", server.url)).replace(&server.url, "URL");
    assert_snapshot!(said, @r"
        exit code: 2
        ----- stderr -----
        error: cannot get train-images-idx3-ubyte.gz:
          URL/train-images-idx3-ubyte.gz: wrong checksum: expected SHA-256 440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609, got 27729cc6ee0ae9172041fb96e00b0ac09b967168ec91be768aaeb1169cfb9963
        `onebasin data get` tries another source with --mirror URL
    ");
    assert_eq!(place.mnist(), [""; 0]);
}

#[test]
fn an_interrupted_download_is_resumed() {
    let place = Place::new();
    // Half of the file, and then neither more of it nor an end.
    let server = Server::new(|request| match request.from {
        None => Answer::whole(&vec![7; 9_912_422]).hanging_after(5_000_000),
        Some(_) => Answer::status("503 Service Unavailable"),
    });
    let line = place.line(&format!("get mnist --mirror {}/", server.url));
    let mut child = command(&line).stderr(Stdio::null()).spawn().unwrap();
    let part = place.path("mnist/train-images-idx3-ubyte.gz.part");
    while fs::metadata(&part).map_or(0, |metadata| metadata.len()) < 5_000_000 {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(place.mnist(), ["train-images-idx3-ubyte.gz.part"]);
    let said = onebasin(&line).replace(place.0.path().to_str().unwrap(), "DIR").replace(&server.url, "URL");
    assert_snapshot!(said, @r"
        exit code: 2
        ----- stderr -----
        error: cannot get train-images-idx3-ubyte.gz now:
          URL/train-images-idx3-ubyte.gz: the server answers 503 Service Unavailable
        The same command will resume at what is in DIR/mnist/train-images-idx3-ubyte.gz.part
    ");
    assert_eq!(server.ranges(), [None, Some(5_000_000)]);
    assert_eq!(fs::metadata(&part).unwrap().len(), 5_000_000);
}

#[test]
fn verify_finds_nothing_wrong_with_nothing() {
    assert_snapshot!(Place::new().data("verify"), @r"
        exit code: 0
        ----- stdout -----
        data set       checked            result
        digits         training examples  1437 read
        digits         test examples      360 read
        synthetic      training examples  400 read
        synthetic      test examples      100 read
        mnist                             absent
        fashion-mnist                     absent
        cifar10                           absent
        cifar100                          absent
    ");
}

#[test]
fn verify_names_every_problem() {
    let place = Place::new();
    place.write("cifar100/cifar-100-binary/train.bin", b"short");
    assert_snapshot!(place.data("verify cifar100"), @r"
        exit code: 1
        ----- stdout -----
        data set  checked            result
        cifar100  train.bin          DIR/cifar100/cifar-100-binary/train.bin has 5 bytes, not 153700000
        cifar100  test.bin           missing
        cifar100  training examples  DIR/cifar100/cifar-100-binary/train.bin: its length is 5 bytes, but should be a multiple of 3074 bytes, the size of a record; `onebasin data get cifar100` replaces it
        cifar100  test examples      there is no file DIR/cifar100/cifar-100-binary/test.bin; `onebasin data get cifar100` downloads it
    ");
    assert!(place.data("verify").starts_with("exit code: 1\n"));
    assert!(place.data("verify mnist").starts_with("exit code: 1\n"));
}
