//! Reads any bytes as the files of samples that two chains left; the first two are how many of each a checkpoint knows.

use crate::folder;
use crate::seeds::Seed;
use onebasin::params::{Layout, Params};
use onebasin::posterior::Draws as _;
use onebasin::store::{Provenance, SampleFiles, StoredSamples};
use std::fs;
use std::sync::Arc;

/// Bytes of a sample: three values.
const EACH: usize = 12;

pub(crate) fn run(bytes: &[u8]) {
    let [first, second, bytes @ ..] = bytes else { return };
    let layout = Arc::new(Layout::new([("a", &[2][..]), ("b", &[])]).expect("a layout"));
    let dir = folder::empty("samples");
    let parts = bytes.split_at(bytes.len() / 2);
    for (chain, part) in [parts.0, parts.1].iter().enumerate() {
        fs::write(dir.join(format!("chain{chain}.samples")), part).expect("a temporary file can be written");
    }
    // Also numbers that no file is long enough for.
    let keep = [*first, *second].map(|keep| if keep == u8::MAX { u64::MAX } else { keep.into() });
    let Ok(files) = SampleFiles::open(&dir, &layout, &keep) else { return };
    assert!([parts.0, parts.1].iter().zip(keep).all(|(part, keep)| part.len() as u64 >= keep * EACH as u64));
    let count = files.len().expect("the files are there");
    assert_eq!(count, keep[0].min(keep[1]), "each is cut to what the checkpoint knows");
    let draws = files.draws(8);
    let mut sample = Params::zeros(&layout);
    for index in 0..draws {
        files.draw(0, index, draws, &mut sample).expect("the files have all their samples");
    }
    let gathered = dir.join("gathered.safetensors");
    if files.gather(&gathered, Provenance::default()).is_err() {
        assert_eq!(count, 0, "samples can be gathered");
        return;
    }
    let posterior = StoredSamples::open(&gathered).expect("what is written is read again");
    assert_eq!(posterior.len() as u64, 2 * count, "all samples are there");
    SampleFiles::scatter(&gathered, &dir).expect("what is gathered can be scattered");
    for (chain, part) in [parts.0, parts.1].iter().enumerate() {
        let scattered = fs::read(dir.join(format!("chain{chain}.samples"))).expect("the file is there");
        assert_eq!(scattered, part[..count as usize * EACH], "samples come back as they were");
    }
}

/// Two samples of each chain, and one with a sample begun.
pub(crate) fn seeds() -> Vec<Seed> {
    vec![
        Seed::new("two", [&[2, 2][..], &[1; 4 * EACH]].concat()),
        Seed::new("begun", [&[1, 0][..], &[2; 3 * EACH + 4]].concat()),
        Seed::new("too-many", [&[u8::MAX, 1][..], &[3; 2 * EACH]].concat()),
    ]
}
