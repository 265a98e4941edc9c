//! Reads any text as the symmetries of a network and, behind a NUL, permutations of it; and as the result of an alignment.

use crate::seeds::Seed;
use onebasin::experiment::stages::align::AlignResult;
use onebasin::params::Params;
use onebasin::symmetry::{Permutations, Spec};

/// Parameters of a network that is permuted at most.
const MOST: usize = 1 << 12;

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(alignment) = serde_json::from_str::<AlignResult>(text) {
        let written = serde_json::to_string(&alignment).expect("a result is plain data");
        assert!(serde_json::from_str::<AlignResult>(&written).is_ok(), "what is written is read again");
    }
    let (spec, permutations) = text.split_once('\0').unwrap_or((text, ""));
    let Ok(spec) = serde_json::from_str::<Spec>(spec) else { return };
    let written = serde_json::to_string(&spec).expect("symmetries are plain data");
    assert_eq!(serde_json::from_str::<Spec>(&written).ok().as_ref(), Some(&spec), "what is written is read again");
    let Ok(read) = Permutations::from_json(&spec, permutations) else { return };
    assert_eq!(Permutations::from_json(&spec, &read.to_json()).as_ref(), Ok(&read), "what is written is read again");
    assert_eq!(read.inverse().after(&read), Permutations::identity(&spec), "they are permutations");
    if spec.layout().len() <= MOST {
        let values = (0..spec.layout().len()).map(|value| value as f32).collect();
        let params = Params::from_values(spec.layout(), values).expect("there are as many values");
        let moved = spec.apply(&read, &params).expect("they are permutations of this network");
        let back = spec.apply(&read.inverse(), &moved).expect("they are permutations of this network");
        assert_eq!(back.values(), params.values(), "the inverse undoes them");
    }
}

pub(crate) fn seeds() -> Vec<Seed> {
    Vec::new()
}
