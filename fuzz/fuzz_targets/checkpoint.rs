//! Opens any bytes as a checkpoint, reads its tensors, and writes it again with the first ones reversed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onebasin_checkpoint::Checkpoint;
use std::path::PathBuf;

/// Bytes of a tensor that are read at most.
const MOST: usize = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let folder = std::env::temp_dir().join(format!("onebasin-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for temporary files can be made");
    let [file, copy]: [PathBuf; 2] = ["in", "out"].map(|name| folder.join(name));
    std::fs::write(&file, bytes).expect("a temporary file can be written");
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
});
