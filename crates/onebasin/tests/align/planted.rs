//! A permuted copy is brought back, by every solver and channel, for every kind of network.

use crate::posteriors::CHANNELS;
use crate::posteriors::gaussian;
use crate::posteriors::mlp;
use crate::posteriors::networks;
use crate::posteriors::noisy;
use crate::posteriors::pair;
use crate::posteriors::permuted;
use onebasin::align;
use onebasin::align::Alignment;
use onebasin::align::Channel;
use onebasin::align::Settings;
use onebasin::align::Solver;
use onebasin::arch::Arch;
use onebasin::data::Dataset;
use onebasin::data::Examples;
use onebasin::data::Scaling;
use onebasin::data::Standardisation;
use onebasin::kernels::Team;
use onebasin::params::Params;
use onebasin::posterior::Draws;
use onebasin::posterior::Gaussian;
use onebasin::posterior::Posterior;
use onebasin::rng::Stream;
use onebasin::symmetry::Permutations;
use onebasin::symmetry::Spec;
use rand_chacha::rand_core::Rng;

#[test]
fn a_permuted_copy_is_brought_back() {
    for arch in networks() {
        let spec = Spec::of(&arch);
        let original = gaussian(&arch, 1);
        let hidden = Permutations::random(&spec, 7);
        let copy = permuted(&spec, &hidden, &original);
        for channel in CHANNELS {
            for solver in [Solver::Forward, Solver::Best] {
                let found = pair(&spec, &original, &copy, channel, solver);
                assert_eq!(found.permutations, hidden.inverse(), "{channel:?} {solver:?}");
                if matches!(channel, Channel::Mean | Channel::W2) {
                    assert!(found.bound - found.after.total <= 1e-5 * found.bound, "not tight: {channel:?}");
                }
            }
        }
    }
}

/// Where the layers are tall enough, the barycentre shows the way that descent from the identity does not find.
#[test]
fn a_noisy_copy_is_found_where_descent_is_lost() {
    let arch = mlp("8x8x1", &[64, 64, 64]);
    let spec = Spec::of(&arch);
    let original = gaussian(&arch, 1);
    let hidden = Permutations::random(&spec, 7);
    let copy = permuted(&spec, &hidden, &noisy(&original, &arch, 0.4, 2));
    let wanted = hidden.inverse();
    let recovered = |solver: Solver| {
        let found = pair(&spec, &original, &copy, Channel::Mean, solver);
        let pairs = found.permutations.as_slice().iter().zip(wanted.as_slice());
        let units = pairs.flat_map(|(found, wanted)| found.as_slice().iter().zip(wanted.as_slice()));
        units.filter(|(found, wanted)| found == wanted).count() as f64 / (3.0 * 64.0)
    };
    let (descent, best) = (recovered(Solver::Descent), recovered(Solver::Best));
    assert!(descent < 0.4 && best > 0.95, "descent {descent}, best {best}");
}

/// Random images of a network's shape.
fn images(arch: &Arch) -> Examples {
    let shape = arch.input();
    let mut pixels = vec![0; 40 * shape.len()];
    Stream::new(3, "pixels", 0).generator().fill_bytes(&mut pixels);
    let dataset = Dataset::new("noise", shape, arch.classes(), 255, pixels, vec![0; 40]).unwrap();
    let standardisation = Standardisation::of(Scaling::Standard, &dataset);
    Examples::new(dataset, standardisation).unwrap()
}

fn by_activation(arch: &Arch, sides: &[Posterior; 2]) -> Alignment {
    let sides: [&dyn Draws; 2] = [&sides[0], &sides[1]];
    let settings = Settings { channel: Channel::Activation, ..Settings::default() };
    let team = Team::new(2).unwrap();
    align::by_activation(arch, sides, (&images(arch), 4), settings, &team, &mut |_| ()).unwrap()
}

#[test]
fn activations_bring_a_permuted_copy_back() {
    for arch in networks() {
        let spec = Spec::of(&arch);
        // Initial values, so that hardly a unit is dead. Points, because draws of a permuted Gaussian are not permuted draws.
        let original = arch.initialise(1);
        let hidden = Permutations::random(&spec, 7);
        let copy = spec.apply(&hidden, &original).unwrap();
        let points = [original, copy].map(Posterior::Point);
        let found = by_activation(&arch, &points);
        let wanted = hidden.inverse();
        let pairs = found.permutations.as_slice().iter().zip(wanted.as_slice());
        let units: Vec<_> = pairs.flat_map(|(found, wanted)| found.as_slice().iter().zip(wanted.as_slice())).collect();
        let equal = units.iter().filter(|(found, wanted)| found == wanted).count();
        // Units that are never active cannot be told apart.
        assert!(equal * 10 >= units.len() * 9, "{equal} of {}", units.len());
    }
}

/// Units without a mean are alike only if their noise is.
#[test]
fn noise_is_no_likeness() {
    let arch = mlp("4x3x1", &[64]);
    let std = Params::from_values(arch.layout(), vec![1.0; arch.layout().len()]).unwrap();
    let noise = Posterior::Gaussian(Gaussian::new(Params::zeros(arch.layout()), std).unwrap());
    let found = by_activation(&arch, &[noise.clone(), noise]);
    assert!(found.before.total.abs() < 0.25 * 64.0, "{}", found.before.total);
}
