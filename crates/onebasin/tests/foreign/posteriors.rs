//! Every posterior is recognised, read as its library reads it, permuted with all that follows its units, and aligned exactly.

use crate::expected::Fixture;
use onebasin::experiment::{AlignNetwork, AlignSettings, Context, Existing, Silent, Stage};
use onebasin::foreign::Reading;
use onebasin::symmetry::{Permutations, Spec};
use onebasin::threads::pool;
use onebasin_checkpoint::Checkpoint;
use std::path::Path;

const fn fixture(file: &'static str, network: &'static str, convention: &'static str) -> Fixture {
    Fixture { file, network, convention }
}

const FIXTURES: &[Fixture] = &[
    fixture("bayesian-torch.pt", "conv.pt2", "bayesian-torch"),
    fixture("torch-uncertainty.pt", "conv.pt2", "torch-uncertainty"),
    fixture("torch-uncertainty-swag.pt", "mlp.pt2", "torch-uncertainty-swag"),
    fixture("swag.pt", "mlp.pt2", "swag"),
    fixture("blitz.pt", "conv.pt2", "blitz"),
    fixture("bayesian-cnn.pt", "conv.pt2", "bayesian-cnn"),
    fixture("torchbnn.pt", "conv.pt2", "torchbnn"),
    fixture("torch-blue.pt", "mlp.pt2", "torch-blue"),
    fixture("posteriors.pt", "mlp.pt2", "posteriors"),
    fixture("posteriors-laplace.pt", "mlp.pt2", "posteriors-laplace"),
    fixture("laplace.pt", "mlp.pt2", "laplace"),
    fixture("laplace-layers.pt", "mlp.pt2", "laplace"),
    fixture("laplace-full.pt", "mlp.pt2", "laplace"),
    fixture("ivon.pt", "mlp.pt2", "ivon"),
    fixture("ivon-norm.pt", "norm.pt2", "ivon"),
    fixture("pyro.pt", "mlp.pt2", "pyro"),
    fixture("pyro-guide.pt", "mlp.pt2", "pyro"),
    fixture("pyro-exp.pt", "mlp.pt2", "pyro"),
    fixture("pyro-bounded.pt", "mlp.pt2", "pyro"),
    fixture("pyro-flat.pt", "mlp.pt2", "pyro-flat"),
    fixture("pyro-flat-exp.pt", "mlp.pt2", "pyro-flat"),
    fixture("pyro-guide-flat.pt", "mlp.pt2", "pyro-flat"),
    fixture("tyxe.pt", "mlp.pt2", "tyxe"),
    fixture("numpyro.npz", "mlp.pt2", "numpyro"),
    fixture("numpyro-flat.npz", "mlp.pt2", "numpyro-flat"),
    fixture("bnn-hmc.pt", "haiku.toml", "bnn-hmc"),
];

#[test]
fn all_files_are_listed() {
    let files = std::fs::read_dir(crate::expected::folder().join("posteriors")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.ends_with(".safetensors")).collect();
    names.sort();
    let mut listed: Vec<&str> = FIXTURES.iter().map(|fixture| fixture.file).collect();
    listed.sort_unstable();
    assert_eq!(names, listed);
}

#[test]
fn means_and_standard_deviations_are_those_of_the_library() {
    for fixture in FIXTURES {
        let (network, member) = fixture.open(&fixture.path());
        assert_eq!(member.convention(), fixture.convention, "{}", fixture.file);
        let spec = Spec::of_network(network.symmetry()).unwrap();
        let mean = member.mean(spec.layout()).unwrap();
        let std = member.std(&mean).unwrap();
        let expected = fixture.expected();
        assert_eq!(expected.len(), 2 * spec.layout().tensors().len(), "{}", fixture.file);
        for tensor in spec.layout().tensors() {
            let [means, stds] = ["mean", "std"].map(|what| &expected[&format!("{what}.{}", tensor.name())]);
            assert_eq!(&mean.values()[tensor.range()], &means[..], "{} {}", fixture.file, tensor.name());
            for ((own, other), mean) in std.values()[tensor.range()].iter().zip(stds).zip(means) {
                // Libraries compute in f32: a sampled weight minus its mean, or a mean of squares minus a square, is rounded.
                let rounding = 4.0 * f32::EPSILON * (own + mean.abs() + mean * mean / own.max(1e-6));
                let message = format!("{} {}: {own} is not {other}", fixture.file, tensor.name());
                assert!((own - other).abs() <= rounding, "{message}");
            }
        }
    }
}

#[test]
fn permutations_act_on_means_raw_scales_and_companions_alone() {
    let folder = tempfile::tempdir().unwrap();
    for fixture in FIXTURES {
        let (network, member) = fixture.open(&fixture.path());
        let spec = Spec::of_network(network.symmetry()).unwrap();
        let permutations = Permutations::random(&spec, 5);
        let path = folder.path().join(fixture.file);
        member.write(&path, network.symmetry(), &permutations).unwrap();
        let [before, after] = [&fixture.path(), &path].map(|path| Checkpoint::open(path).unwrap());
        assert_eq!((before.tensors(), before.metadata()), (after.tensors(), after.metadata()));
        let mut moved = 0;
        for (index, tensor) in before.tensors().iter().enumerate() {
            let [old, new] = [&before, &after].map(|checkpoint| checkpoint.read_bytes(index).unwrap());
            let entries: usize = tensor.shape.iter().product();
            let size = old.len() / entries.max(1);
            let sources = fixture.sources(&tensor.name, entries, &permutations);
            let expected: Vec<u8> = sources.iter().flat_map(|from| old[from * size..][..size].to_vec()).collect();
            assert!(new == expected, "{}: `{}` is not permuted as it should be", fixture.file, tensor.name);
            moved += usize::from(new != old);
        }
        assert!(moved >= 2, "{}: {moved} tensors were permuted", fixture.file);
        // The inverse gives the same file, byte by byte: nothing else has changed.
        let back = folder.path().join("back");
        fixture.open(&path).1.write(&back, network.symmetry(), &permutations.inverse()).unwrap();
        assert!(std::fs::read(&back).unwrap() == std::fs::read(fixture.path()).unwrap(), "{}", fixture.file);
    }
}

#[test]
fn planted_permutations_are_found_and_undone_exactly() {
    for fixture in FIXTURES {
        let folder = tempfile::tempdir().unwrap();
        let (network, member) = fixture.open(&fixture.path());
        let spec = Spec::of_network(network.symmetry()).unwrap();
        let second = folder.path().join(format!("second-{}", fixture.file));
        member.write(&second, network.symmetry(), &Permutations::random(&spec, 6)).unwrap();
        assert!(std::fs::read(&second).unwrap() != std::fs::read(fixture.path()).unwrap());
        let stage = AlignNetwork {
            settings: AlignSettings::default(),
            reading: Reading::default(),
            network: fixture.network_path(),
            checkpoints: vec![fixture.path(), second],
        };
        let context = Context { pool: pool(1).unwrap(), data: Path::new(""), host: &Silent };
        let out = folder.path().join("out");
        let result = stage.run_in(&out, Existing::Refuse, &context).unwrap();
        assert_eq!(result.settings.criteria[0].to_string(), "w2");
        assert_eq!((result.members[0].convention.as_str(), result.members[0].w2.after), (fixture.convention, 0.0));
        let aligned = std::fs::read(out.join(&result.members[0].file)).unwrap();
        assert!(aligned == std::fs::read(fixture.path()).unwrap(), "{}", fixture.file);
    }
}
