//! A value of an enum has the same name in files, in messages and on the command line.

use onebasin::align::{Criterion, Solver, Start, Tau};
use onebasin::arch::{Activation, Normalisation, Shortcut};
use onebasin::data::Split;
use onebasin::infer::{Optimiser, Schedule};
use onebasin::measure::prune::KeptBy;

macro_rules! assert_names {
    ($($Enum:ident: $names:expr;)+) => {$({
        assert_eq!($Enum::ALL.iter().map(|value| value.name()).collect::<Vec<_>>(), $names);
        for value in $Enum::ALL {
            let quoted = format!("\"{value}\"");
            assert_eq!(serde_json::to_string(value).unwrap(), quoted);
            assert_eq!(serde_json::from_str::<$Enum>(&quoted).unwrap(), *value);
            #[cfg(feature = "clap")]
            assert_eq!(clap::ValueEnum::to_possible_value(value).unwrap().get_name(), value.name());
        }
    })+};
}

#[test]
fn names_are_everywhere_the_same() {
    assert_names! {
        Criterion: ["mean", "w2", "kl", "jeffreys", "snr", "mahalanobis", "activation", "learned"];
        Solver: ["coordinate-descent", "greedy", "frank-wolfe", "best"];
        Start: ["identity", "random"];
        Activation: ["relu", "tanh"];
        Normalisation: ["none", "layer", "frn"];
        Shortcut: ["projection", "padded"];
        Split: ["train", "test"];
        Optimiser: ["adam", "sgd"];
        Schedule: ["constant", "cosine", "linear"];
        Tau: ["midpoint", "uniform"];
        KeptBy: ["smallest-std", "largest-signal"];
    }
    assert_eq!(
        (Criterion::default(), Solver::default(), Start::default()),
        (Criterion::W2, Solver::Best, Start::Identity)
    );
    assert_eq!(format!("{:>6}|", Criterion::W2), "    w2|");
}
