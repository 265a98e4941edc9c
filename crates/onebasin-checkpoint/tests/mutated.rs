//! Damaged copies of every fixture: whatever is wrong with them, an error or tensors are the answer, never a panic.

#[path = "support/archive.rs"]
mod archive;
#[path = "support/mutate.rs"]
mod mutate;
mod support;

use mutate::Random;
use onebasin_checkpoint::Checkpoint;
use proptest::prelude::*;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use support::{FIXTURES, fixture};

/// Fixtures of one file.
fn fixtures() -> Vec<Vec<u8>> {
    let read = |name: &&str| std::fs::read(fixture(name)).unwrap();
    let plain: Vec<Vec<u8>> =
        FIXTURES.iter().chain(&["script.pt", "model-00001-of-00002.safetensors"]).map(read).collect();
    let unchecked: Vec<Vec<u8>> = plain.iter().map(|bytes| without_checksums(bytes)).collect();
    [plain, unchecked].concat()
}

/// The same archive with no CRC-32, so that damage of its entries is not found by that.
fn without_checksums(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (signature, field) in [(b"PK\x03\x04", 14), (b"PK\x07\x08", 4), (b"PK\x01\x02", 16)] {
        for at in 0..bytes.len().saturating_sub(field + 4) {
            if bytes[at..].starts_with(signature) {
                bytes[at + field..at + field + 4].fill(0);
            }
        }
    }
    bytes
}

/// Opens a file and reads all that it has; writes it again if `write`.
fn exercise(path: &Path, write: bool) -> usize {
    let Ok(checkpoint) = Checkpoint::open(path) else { return 0 };
    let mut read = 0;
    for (index, tensor) in checkpoint.tensors().iter().enumerate() {
        if let Ok(bytes) = checkpoint.read_bytes(index) {
            assert_eq!(bytes.len(), tensor.bytes);
            read += 1;
        }
    }
    if write {
        let to = path.with_file_name("to");
        let written = checkpoint.write(&to, &mut |tensor| checkpoint.read_bytes(tensor).map(Some));
        assert!(written.is_err() || Checkpoint::open(&to).is_ok());
    }
    read
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn flipped_and_cut_files_do_not_panic(
        which in any::<prop::sample::Index>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1..=255_u8), 0..6),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let fixtures = fixtures();
        let mut bytes = which.get(&fixtures).clone();
        for (at, flip) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let (_folder, path) = archive::file(&bytes);
        exercise(&path, false);
    }
}

#[test]
fn a_hundred_thousand_mutated_files_do_not_panic() {
    let fixtures = fixtures();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut file = std::fs::File::create(&path).unwrap();
    let mut random = Random::new();
    let mut read = 0;
    for round in 0..100_000 {
        let mut bytes = fixtures[round % fixtures.len()].clone();
        for _ in 0..=random.below(3) {
            random.mutate(&mut bytes);
        }
        // Written over and not truncated first, which would make some file systems flush each of them to the disk.
        file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(&bytes)).unwrap();
        file.set_len(bytes.len() as u64).unwrap();
        read += exercise(&path, round % 500 == 0);
    }
    // Otherwise only the first check of each format would be tried.
    assert!(read > 100_000, "{read}");
}
