//! Takes files out of any bytes as a downloaded `.tar.gz`; by the first byte, the others are packed by gzip before.

#[path = "../../../crates/onebasin-cli/src/download/archive.rs"]
mod download;

use crate::folder;
use crate::seeds::Seed;
use flate2::Compression;
use flate2::write::GzEncoder;
use onebasin::data::Split;
use onebasin::data::catalogue::{Digest, File};
use std::fs;
use std::io::Write as _;

/// The folder inside of the archive.
const INSIDE: &str = "set";
/// What each of the files must hold.
const CONTENTS: &[u8] = b"onebasin\n";

const fn file(name: &'static str) -> File {
    let sha256 = "34b83df10f82e4e0cf768c3144af74ef8d1ad1f4003673fd4aec28e3e1557f95";
    File { name, split: Split::Train, digest: Digest { bytes: CONTENTS.len() as u64, sha256 }, unpacked: None }
}

const FILES: [File; 2] = [file("a.bin"), file("b.bin")];

pub(crate) fn run(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let archive = folder::write("archive", &if first & 1 == 0 { bytes.to_vec() } else { packed(bytes) });
    let into = folder::empty("into");
    let verdict = download::unpack(&archive, INSIDE, &FILES, &into).expect("the disk does its part");
    let mut found: Vec<_> =
        into.read_dir().expect("the folder is there").map(|entry| entry.expect("a file").path()).collect();
    found.sort();
    match verdict {
        Ok(()) => {
            assert_eq!(found, FILES.map(|file| into.join(file.name)), "there are the files and no other");
            found
                .iter()
                .for_each(|file| assert_eq!(fs::read(file).expect("a file"), CONTENTS, "each is the published one"));
        }
        Err(_) => assert!(found.is_empty(), "what is refused leaves no trace: {found:?}"),
    }
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}

/// Name and contents of a file in an archive.
type Entry<'a> = (&'a str, &'a [u8]);

/// Archives of both files, of one that is not the published one, and of one that points outside; each also packed already.
pub(crate) fn seeds() -> Vec<Seed> {
    let cases: [(&str, &[Entry<'_>]); 4] = [
        ("right", &[("set/a.bin", CONTENTS), ("./set/b.bin", CONTENTS)]),
        ("one", &[("set/a.bin", CONTENTS)]),
        ("wrong", &[("set/a.bin", b"onebasin?"), ("set/b.bin", CONTENTS)]),
        ("outside", &[("set/a.bin/b", CONTENTS), ("set/b.bin", CONTENTS)]),
    ];
    let archive = |(name, files): (&str, &[(&str, &[u8])])| {
        let mut archive = tar::Builder::new(Vec::new());
        for (path, contents) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(contents.len() as u64);
            header.set_mode(0o644);
            archive.append_data(&mut header, path, *contents).expect("memory takes everything");
        }
        let bytes = archive.into_inner().expect("memory takes everything");
        let gzip = packed(&bytes);
        [Seed::new(&format!("{name}.tar"), bytes).behind(b"1"), Seed::new(&format!("{name}.tar.gz"), gzip).behind(b"0")]
    };
    cases.into_iter().flat_map(archive).collect()
}
