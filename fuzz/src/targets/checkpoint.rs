//! Opens any bytes as a checkpoint, reads its tensors, and writes it again with the first ones reversed.

use crate::folder;
use crate::seeds::{Seed, files};
use onebasin_checkpoint::Checkpoint;

/// Bytes of a tensor that are read at most.
const MOST: usize = 1 << 20;

pub(crate) fn run(bytes: &[u8]) {
    let (file, copy) = (folder::write("in", bytes), folder::path("out"));
    let Ok(checkpoint) = Checkpoint::open(&file) else { return };
    for (index, tensor) in checkpoint.tensors().iter().enumerate().take(16) {
        if tensor.bytes <= MOST {
            let _ = checkpoint.read_bytes(index);
        }
    }
    let _ = checkpoint.write(&copy, &mut |index| {
        let tensor = &checkpoint.tensors()[index];
        if index >= 4 || tensor.bytes > MOST {
            return Ok(None);
        }
        let mut bytes = checkpoint.read_bytes(index)?;
        bytes.reverse();
        Ok(Some(bytes))
    });
}

pub(crate) fn seeds() -> Vec<Seed> {
    let endings = [".pt", ".ckpt", ".npy", ".npz", ".safetensors", ".index.json"];
    files("crates/onebasin-checkpoint/tests/fixtures", &endings)
}
