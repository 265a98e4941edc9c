//! What is stored comes back bit by bit, and no file, however damaged or hostile, does more harm than an error.

mod hostile;
mod round_trips;
mod samples;
mod whole_files;

use onebasin::arch::Arch;
use onebasin::data::{Scaling, Standardisation};
use onebasin::infer::State;
use onebasin::net::Likelihood;
use onebasin::params::Params;
use onebasin::posterior::{Gaussian, LowRank, Posterior, Samples};
use onebasin::store::{Checkpoint, Provenance, RunState, StoredPosterior};
use std::collections::BTreeMap;

/// Numbers that text or arithmetic would not keep: NaNs with payloads, signalling ones, zeros with signs, the smallest and
/// the largest.
const ODD: [u32; 10] = [
    0x7fc1_2345,
    0xffc0_0001,
    0x7f80_0001,
    0xff80_0000,
    0x7f80_0000,
    0x8000_0000,
    0x0000_0001,
    0x7f7f_ffff,
    0x3f80_0001,
    0x0080_0000,
];

fn arch() -> Arch {
    let json = r#"{"preset": "mlp", "input": "2x3x1", "classes": 3, "hidden": [4], "activation": "relu"}"#;
    Arch::new(serde_json::from_str::<onebasin::arch::Preset>(json).unwrap()).unwrap()
}

/// A point whose values are odd ones, in an order that depends on `shift`.
fn odd_point(shift: usize) -> Params {
    let arch = arch();
    let values = (0..arch.layout().len()).map(|index| f32::from_bits(ODD[(index + shift) % ODD.len()])).collect();
    Params::from_values(arch.layout(), values).unwrap()
}

fn provenance() -> Provenance {
    Provenance {
        version: "0.0.0".to_owned(),
        arch: Some(arch().preset().clone()),
        spec: None,
        likelihood: Likelihood::Gaussian { variance: 0.1 },
        data: "digits first:10 \"quoted\" ü".to_owned(),
        data_sha256: Some("0123".to_owned()),
        standardisation: Standardisation { scaling: Scaling::Standard, scale: vec![0.1], shift: vec![-1.0 / 3.0] },
        seed: u64::MAX,
        config: serde_json::json!({ "rate": 0.1, "list": [1, "two", null], "table": { "é": -0.0 } }),
        aligned: None,
    }
}

/// One of each kind.
fn posteriors() -> Vec<StoredPosterior> {
    let mut std = odd_point(3);
    // Below zero there is no standard deviation; a NaN is one, of a run that diverged.
    std.values_mut().iter_mut().filter(|std| **std < 0.0).for_each(|std| *std = 0.5);
    let samples = (0..6).map(odd_point).collect();
    let factor = (4..7).map(odd_point).collect();
    [
        Posterior::Point(odd_point(0)),
        Posterior::Gaussian(Gaussian::new(odd_point(1), std.clone()).unwrap()),
        Posterior::Samples(Samples::new(samples, 3).unwrap()),
        Posterior::LowRank(LowRank::new(Gaussian::new(odd_point(2), std).unwrap(), factor).unwrap()),
    ]
    .map(|posterior| StoredPosterior { posterior, provenance: provenance() })
    .into()
}

fn checkpoint() -> Checkpoint {
    let odd = |index: usize| f64::from_bits([0x7ff8_0000_0000_1234, 0x7ff0_0000_0000_0001, 1 << 63, 1][index % 4]);
    let vectors = [("a", 5), ("b/c.d", 0), ("ü", 3)];
    let vector = |len: usize| (0..len).map(|index| f32::from_bits(ODD[index])).collect();
    let numbers = ["x", "y", "member0/done", "empty", "π"].iter().enumerate();
    Checkpoint {
        state: State {
            vectors: vectors.iter().map(|(name, len)| ((*name).to_owned(), vector(*len))).collect(),
            numbers: numbers.map(|(index, name)| ((*name).to_owned(), odd(index))).collect(),
        },
        run: RunState {
            log_bytes: u64::MAX,
            last: BTreeMap::from([("nll".to_owned(), Some(0.1)), ("elbo".to_owned(), None)]),
            event_bytes: 77,
        },
    }
}
