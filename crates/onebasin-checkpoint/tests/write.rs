//! Writes files again: the same bytes but for those of replaced tensors, whole or not at all.

mod support;

use onebasin_checkpoint::{Checkpoint, Error, Format};
use std::path::Path;
use support::{FIXTURES, fixture, inverted, open, said};
use tempfile::tempdir;

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Tensors that share no bytes with others or themselves.
fn is_alone(checkpoint: &Checkpoint, tensor: usize) -> bool {
    !checkpoint.shared().iter().any(|group| group.contains(&tensor)) && checkpoint.tensors()[tensor].name != "expanded"
}

#[test]
fn a_file_without_replacements_is_identical() {
    for file in FIXTURES {
        let folder = tempdir().unwrap();
        let to = folder.path().join(file);
        open(file).write(&to, &mut |_| Ok(None)).unwrap();
        for written in files(folder.path()) {
            let same =
                std::fs::read(folder.path().join(&written)).unwrap() == std::fs::read(fixture(&written)).unwrap();
            assert!(same, "{written}");
        }
    }
}

#[test]
fn a_file_with_the_same_replacements_is_identical_unless_it_is_compressed() {
    for file in FIXTURES.iter().filter(|file| !["deflated.npz", "no_checksums.pt"].contains(file)) {
        let folder = tempdir().unwrap();
        let to = folder.path().join(file);
        let checkpoint = open(file);
        checkpoint.write(&to, &mut |tensor| checkpoint.read_bytes(tensor).map(Some)).unwrap();
        assert!(std::fs::read(&to).unwrap() == std::fs::read(fixture(file)).unwrap(), "{file}");
    }
}

#[test]
fn replaced_tensors_have_their_new_bytes_and_all_others_their_old_ones() {
    for file in FIXTURES {
        let checkpoint = open(file);
        for replaced in 0..checkpoint.tensors().len() {
            if !is_alone(&checkpoint, replaced) {
                continue;
            }
            let folder = tempdir().unwrap();
            let to = folder.path().join(file);
            let new = inverted(&checkpoint.read_bytes(replaced).unwrap());
            checkpoint.write(&to, &mut |tensor| Ok((tensor == replaced).then(|| new.clone()))).unwrap();
            let written = Checkpoint::open(&to).unwrap();
            assert_eq!(written.tensors(), checkpoint.tensors());
            for tensor in 0..checkpoint.tensors().len() {
                let expected = if tensor == replaced { new.clone() } else { checkpoint.read_bytes(tensor).unwrap() };
                assert_eq!(written.read_bytes(tensor).unwrap(), expected, "{file} {replaced} {tensor}");
            }
            if !["deflated.npz"].contains(file) && checkpoint.format() != Format::ShardedSafetensors {
                let (old, now) = (std::fs::read(fixture(file)).unwrap(), std::fs::read(&to).unwrap());
                let changed = old.iter().zip(&now).filter(|(old, now)| old != now).count();
                // The bytes, and two checksums of four.
                assert!(old.len() == now.len() && changed <= new.len() + 8, "{file} {changed} {}", new.len());
            }
        }
    }
}

#[test]
fn all_tensors_of_an_archive_can_be_replaced_at_once() {
    for file in ["deflated.npz", "stored.npz", "lightning.ckpt", "legacy.pt", "model.safetensors.index.json"] {
        let folder = tempdir().unwrap();
        let (once, twice) = (folder.path().join("once").join(file), folder.path().join("twice").join(file));
        let invert = |from: &Checkpoint, to: &Path| {
            std::fs::create_dir(to.parent().unwrap()).unwrap();
            from.write(to, &mut |tensor| Ok(Some(inverted(&from.read_bytes(tensor)?)))).unwrap();
            Checkpoint::open(to).unwrap()
        };
        let checkpoint = open(file);
        let back = invert(&invert(&checkpoint, &once), &twice);
        for tensor in 0..checkpoint.tensors().len() {
            assert_eq!(back.read_bytes(tensor).unwrap(), checkpoint.read_bytes(tensor).unwrap(), "{file} {tensor}");
        }
    }
}

#[test]
fn tensors_that_share_bytes_must_agree() {
    let checkpoint = open("views.pt");
    let folder = tempdir().unwrap();
    let to = folder.path().join("out.pt");
    let index = |name: &str| checkpoint.index_of(name).unwrap();
    let new = |tensor: usize| inverted(&checkpoint.read_bytes(tensor).unwrap());
    let tied = [index("tied.encoder"), index("tied.decoder")];
    let write = |replaced: &dyn Fn(usize) -> Option<Vec<u8>>| checkpoint.write(&to, &mut |tensor| Ok(replaced(tensor)));

    write(&|tensor| tied.contains(&tensor).then(|| new(tensor))).unwrap();
    let written = Checkpoint::open(&to).unwrap();
    assert_eq!(written.read_bytes(tied[0]).unwrap(), new(tied[0]));
    std::fs::remove_file(&to).unwrap();

    let group = &checkpoint.shared()[0];
    write(&|tensor| group.contains(&tensor).then(|| new(tensor))).unwrap();
    std::fs::remove_file(&to).unwrap();

    for only in tied {
        let error = said(write(&|tensor| (tensor == only).then(|| new(tensor))));
        assert!(error.contains("tied.encoder") && error.contains("tied.decoder"), "{error}");
    }
    let other = vec![7; checkpoint.tensors()[tied[0]].bytes];
    let error =
        write(&|tensor| tied.contains(&tensor).then(|| if tensor == tied[0] { other.clone() } else { new(tensor) }));
    assert!(
        matches!(&error, Err(Error::Contradiction { first, second, .. })
        if first == "tied.encoder" && second == "tied.decoder"),
        "{error:?}"
    );
    let error = write(&|tensor| (tensor == index("base")).then(|| new(tensor))).unwrap_err();
    assert!(matches!(error, Error::Contradiction { .. }), "{error}");
    // The rows of an expanded tensor are one row.
    let rows: Vec<u8> = (0..48).collect();
    let error = said(write(&|tensor| (tensor == index("expanded")).then(|| rows.clone())));
    assert!(error.contains("`expanded` and `expanded`"), "{error}");
    write(&|tensor| (tensor == index("expanded")).then(|| rows[..12].repeat(4))).unwrap();
    assert_eq!(files(folder.path()), ["out.pt"]);
}

#[test]
fn nothing_is_left_of_a_file_that_could_not_be_written() {
    for file in ["deflated.npz", "state_dict.pt", "model.safetensors.index.json"] {
        let checkpoint = open(file);
        let folder = tempdir().unwrap();
        let to = folder.path().join("out");
        std::fs::write(&to, "old").unwrap();
        let last = checkpoint.tensors().len() - 1;
        let error = said(checkpoint.write(&to, &mut |tensor| {
            if tensor == last {
                Err(Error::Replacement("mine".into()))
            } else {
                Ok(Some(checkpoint.read_bytes(tensor)?))
            }
        }));
        assert_eq!(error, "mine");
        let error = said(checkpoint.write(&to, &mut |_| Ok(Some(vec![0; 3]))));
        assert!(error.contains(" bytes, but 3 were given"), "{error}");
        assert_eq!(files(folder.path()), ["out"]);
        assert_eq!(std::fs::read(&to).unwrap(), b"old");
    }
}

#[test]
fn the_checkpoint_itself_is_never_written_over() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("model.pt");
    std::fs::copy(fixture("state_dict.pt"), &path).unwrap();
    let checkpoint = Checkpoint::open(&path).unwrap();
    let mut never = |_| -> onebasin_checkpoint::Result<Option<Vec<u8>>> { panic!("no tensor is asked for") };
    assert!(said(checkpoint.write(&path, &mut never)).contains("the checkpoint itself"));
    let around = folder.path().join(".").join("model.pt");
    assert!(said(checkpoint.write(&around, &mut never)).contains("the checkpoint itself"));
    assert!(said(checkpoint.write(Path::new("/"), &mut never)).contains("names no file"));
    let missing = folder.path().join("missing").join("model.pt");
    assert!(matches!(checkpoint.write(&missing, &mut never), Err(Error::Io { .. })));

    for file in ["model.safetensors.index.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    {
        std::fs::copy(fixture(file), folder.path().join(file)).unwrap();
    }
    let sharded = Checkpoint::open(&folder.path().join("model.safetensors.index.json")).unwrap();
    let error = said(sharded.write(&folder.path().join("other.index.json"), &mut never));
    assert!(error.contains("model-00001-of-00002.safetensors: this is the checkpoint itself"), "{error}");
}

#[test]
fn damage_of_an_entry_is_not_hidden_by_a_new_checksum() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("damaged.pt");
    let mut bytes = std::fs::read(fixture("views.pt")).unwrap();
    let checkpoint = open("views.pt");
    let row = checkpoint.read_bytes(checkpoint.index_of("row").unwrap()).unwrap();
    let at = bytes.windows(row.len()).position(|window| window == row).unwrap();
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let damaged = Checkpoint::open(&path).unwrap();
    assert!(said(damaged.read_bytes(damaged.index_of("base").unwrap())).contains("CRC-32"));
    let group = damaged.shared()[0].clone();
    let new = |tensor: usize| inverted(&checkpoint.read_bytes(tensor).unwrap());
    let error = said(
        damaged.write(&folder.path().join("out.pt"), &mut |tensor| Ok(group.contains(&tensor).then(|| new(tensor)))),
    );
    assert!(error.contains("CRC-32"), "{error}");
    assert_eq!(files(folder.path()), ["damaged.pt"]);
}
