//! Paths with rescaled units: their ends stay, and what is rescaled lies between the ends.

use onebasin::arch::{Arch, Preset};
use onebasin::data::{Examples, Scaling, Split, Standardisation, Subset};
use onebasin::model::{LayerValues, Model};
use onebasin::net::Net;
use onebasin::params::Params;
use onebasin::path::{DataStatistics, Geodesic, Moments, Natural, Path, Rescale, Rescaled, Source, between, grid};
use onebasin::posterior::Gaussian;
use onebasin::rng::Stream;
use onebasin::threads::pool;

const MLP: &str = r#"{"preset": "mlp", "input": "6x6x1", "classes": 4, "hidden": [9, 5]}"#;
const CNN: &str = r#"{"preset": "cnn", "input": "6x6x1", "classes": 4, "stack": ["3", "max", "5"], "hidden": [6]}"#;
const RESNETS: [&str; 3] = [
    r#"{"preset": "resnet", "input": "6x6x1", "classes": 4, "depth": 8, "normalisation": "layer"}"#,
    r#"{"preset": "resnet", "input": "6x6x1", "classes": 4, "depth": 8, "normalisation": "none"}"#,
    r#"{"preset": "resnet", "input": "6x6x1", "classes": 4, "depth": 8, "normalisation": "frn"}"#,
];

fn arch(json: &str) -> Arch {
    Arch::new(serde_json::from_str::<Preset>(json).unwrap()).unwrap()
}

fn examples() -> Examples {
    let dataset = onebasin::data::load("synthetic", Split::Train, std::path::Path::new("")).unwrap();
    let standardisation = Standardisation::of(Scaling::Standard, &dataset);
    Examples::new(Subset::First(60).apply(&dataset).unwrap(), standardisation).unwrap()
}

fn gaussian(arch: &Arch, seed: u64) -> Gaussian {
    let mut std = Params::zeros(arch.layout());
    Stream::new(seed, "std", 0).fill_normal(std.values_mut());
    for std in std.values_mut() {
        *std = 0.1 * std.abs();
    }
    Gaussian::new(arch.initialise(seed), std).unwrap()
}

fn seen(arch: &Arch, draws: usize) -> Source {
    let net = Net::new(arch, &pool(2).unwrap()).unwrap();
    Source::Data(Box::new(DataStatistics::new(Box::new(net), &examples(), draws, 7, &pool(2).unwrap()).unwrap()))
}

fn sources(arch: &Arch) -> Vec<Source> {
    let moments = Moments::of(arch, &examples()).map(Source::Moments);
    [Source::Weights, seen(arch, 2)].into_iter().chain(moments).collect()
}

const ALL: [Rescale; 3] = [Rescale::Signal, Rescale::Scale, Rescale::ScaleAndMean];

#[test]
fn ends_stay_and_exchanged_ends_mirror_the_path() {
    for json in [&[MLP, CNN][..], &RESNETS].concat() {
        let arch = arch(json);
        let [from, to] = [gaussian(&arch, 1), gaussian(&arch, 2)];
        for (source, restore) in sources(&arch).iter().flat_map(|source| ALL.map(|restore| (source, restore))) {
            let [there, back, nowhere] = [(&from, &to), (&to, &from), (&from, &from)]
                .map(|(from, to)| Rescaled::new(Geodesic::new(from, to).unwrap(), &arch, source, restore).unwrap());
            assert_eq!(there.at(0.0).unwrap(), from);
            assert_eq!(there.at(1.0).unwrap(), to);
            for tau in grid(3).unwrap() {
                assert_eq!(there.at(tau).unwrap(), back.at(1.0 - tau).unwrap(), "{json} {restore:?} {tau}");
                assert_eq!(nowhere.at(tau).unwrap().mean(), from.mean(), "{json} {restore:?} {tau}");
            }
        }
    }
}

#[test]
fn norms_of_weights_lie_between_those_of_the_ends() {
    let arch = arch(MLP);
    let [from, to] = [gaussian(&arch, 1), gaussian(&arch, 2)];
    let natural = Natural::new(&from, &to).unwrap();
    let path = Rescaled::new(natural, &arch, &Source::Weights, Rescale::Signal).unwrap();
    let norm = |gaussian: &Gaussian, unit: usize| {
        let mean = gaussian.mean();
        let weights = mean.view("hidden2.weight").unwrap().iter().skip(unit).step_by(5);
        weights.chain([&mean.view("hidden2.bias").unwrap()[unit]]).map(|w| f64::from(*w).powi(2)).sum::<f64>().sqrt()
    };
    for tau in [0.2, 0.5, 0.9] {
        let here = path.at(tau).unwrap();
        for unit in 0..5 {
            let expected = between(norm(&from, unit), norm(&to, unit), tau);
            assert!((norm(&here, unit) - expected).abs() < 1e-5 * expected);
        }
        // What is rescaled is the signal: the noise is that of the path.
        assert_eq!(here.std(), natural.at(tau).unwrap().std());
    }
}

/// Mean and standard deviation of each logit and each unit of the first hidden layer, over the draws and images of `seen`.
fn statistics(arch: &Arch, gaussian: &Gaussian, draws: usize) -> Vec<[f64; 2]> {
    let (images, _) = examples().all();
    let mut net = Net::new(arch, &pool(1).unwrap()).unwrap();
    let mut point = Params::zeros(arch.layout());
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for draw in 0..draws {
        gaussian.draw(Stream::new(7, "path/seen", draw as u64), &mut point);
        let mut logits = vec![0.0; 60 * 4];
        net.logits(&point, &images, &mut logits).unwrap();
        let mut hidden = Vec::new();
        let see = |layer: onebasin::model::Hidden<'_>| {
            if layer.index == 0 {
                hidden.extend_from_slice(layer.before);
            }
        };
        net.activations(&point, &images, see).unwrap();
        rows.extend(
            logits.chunks(4).zip(hidden.chunks(9)).map(|(a, b)| a.iter().chain(b).copied().map(f64::from).collect()),
        );
    }
    let count = rows.len() as f64;
    (0..13)
        .map(|unit| {
            let mean = rows.iter().map(|row| row[unit]).sum::<f64>() / count;
            [mean, (rows.iter().map(|row| (row[unit] - mean).powi(2)).sum::<f64>() / count).sqrt()]
        })
        .collect()
}

#[test]
fn repaired_units_have_means_and_deviations_between_those_of_the_ends() {
    let arch = arch(MLP);
    let [from, to] = [gaussian(&arch, 1), gaussian(&arch, 2)];
    let (draws, tau) = (4, 0.3);
    let source = seen(&arch, draws);
    for restore in [Rescale::Scale, Rescale::ScaleAndMean] {
        let path = Rescaled::new(Geodesic::new(&from, &to).unwrap(), &arch, &source, restore).unwrap();
        let [from, here, to] = [&from, &path.at(tau).unwrap(), &to].map(|gaussian| statistics(&arch, gaussian, draws));
        for (unit, ((from, here), to)) in from.iter().zip(&here).zip(&to).enumerate() {
            let expected = [between(from[0], to[0], tau), between(from[1], to[1], tau)];
            assert!((here[1] - expected[1]).abs() < 1e-4 * expected[1], "{restore:?} {unit}: {here:?} {expected:?}");
            if restore == Rescale::ScaleAndMean {
                assert!((here[0] - expected[0]).abs() < 1e-4 * expected[1], "{unit}: {here:?} {expected:?}");
            }
        }
    }
}

/// Mean and standard deviation of every unit of every layer whose scale matters, over the draws and images of `seen`.
fn all_statistics(arch: &Arch, gaussian: &Gaussian, draws: usize) -> Vec<[f64; 2]> {
    let mut net = Net::new(arch, &pool(3).unwrap()).unwrap();
    let inputs = Model::load(&mut net, examples().all().0).unwrap();
    let draw = |draw: usize| {
        let mut point = Params::zeros(arch.layout());
        gaussian.draw(Stream::new(7, "path/seen", draw as u64), &mut point);
        point
    };
    let mut points: Vec<Params> = (0..draws).map(draw).collect();
    let tensors = arch.layout().tensors();
    let scaled = |name: &str| name.ends_with("gamma") || name == "head.weight";
    let normalised = tensors.iter().any(|tensor| tensor.name().ends_with("gamma"));
    let shown = |name: &str| if normalised { scaled(name) } else { name.ends_with("weight") };
    let layers: Vec<usize> = (0..tensors.len()).filter(|index| shown(tensors[*index].name())).collect();
    let (mut all, mut last) = (Vec::new(), Vec::new());
    let see = &mut |layer: LayerValues<'_>, _: &mut [Params]| {
        let units = *tensors[layer.tensor].shape().last().unwrap();
        let count = (layer.values.len() / units) as f64;
        for unit in 0..units {
            let values = || layer.values.iter().skip(unit).step_by(units).copied().map(f64::from);
            let mean = values().sum::<f64>() / count;
            all.push([mean, (values().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt()]);
        }
        last = layer.values.to_vec();
        Ok(())
    };
    net.layer_by_layer(&mut points, &inputs, &layers, see).unwrap();
    let mut logits = vec![0.0; draws * 60 * 4];
    for (point, logits) in points.iter().zip(logits.chunks_mut(60 * 4)) {
        Model::logits(&mut net, point, &inputs, logits).unwrap();
    }
    assert_eq!(last, logits, "the last layer shows the logits");
    all
}

#[test]
fn repaired_residual_networks_have_statistics_between_those_of_the_ends_in_every_layer() {
    let (draws, tau) = (3, 0.3);
    for json in RESNETS {
        let arch = arch(json);
        let [from, to] = [gaussian(&arch, 1), gaussian(&arch, 2)];
        let source = seen(&arch, draws);
        let straight = Geodesic::new(&from, &to).unwrap();
        let path = Rescaled::new(straight, &arch, &source, Rescale::ScaleAndMean).unwrap();
        let [ours, theirs, here, unrepaired] = [&from, &to, &path.at(tau).unwrap(), &straight.at(tau).unwrap()]
            .map(|gaussian| all_statistics(&arch, gaussian, draws));
        let off = |here: &[[f64; 2]]| {
            let each = here.iter().zip(ours.iter().zip(&theirs)).map(|(here, (ours, theirs))| {
                let [mean, scale] = [0, 1].map(|which| between(ours[which], theirs[which], tau));
                (here[0] - mean).abs().max((here[1] - scale).abs()) / (scale + 1e-3)
            });
            each.fold(0.0, f64::max)
        };
        assert!(off(&here) < 1e-3, "{json}: off by {}", off(&here));
        assert!(off(&unrepaired) > 0.1, "{json}: off by {}", off(&unrepaired));
    }
}

#[test]
fn moments_go_through_dense_layers_only() {
    let error = Moments::of(&arch(CNN), &examples()).unwrap_err().to_string();
    assert!(error.contains("`conv1`") && error.contains("rescale by weights"), "{error}");
}

#[test]
fn moments_of_one_layer_are_those_of_its_formula() {
    // Nothing is approximated before the first non-linearity if pixels are independent: one pixel is.
    let arch = arch(r#"{"preset": "mlp", "input": "6x6x1", "classes": 4, "hidden": []}"#);
    let mut ends = [1, 2].map(|seed| gaussian(&arch, seed));
    for end in &mut ends {
        let (mut mean, std) = end.clone().into_parts();
        mean.values_mut()[4..36 * 4].fill(0.0);
        *end = Gaussian::new(mean, std).unwrap();
    }
    let source = Source::Moments(Moments::of(&arch, &examples()).unwrap());
    let [from, to] = &ends;
    let path = Rescaled::new(Geodesic::new(from, to).unwrap(), &arch, &source, Rescale::Signal).unwrap();
    let here = path.at(0.5).unwrap();
    for unit in 0..4 {
        let weight = |q: &Gaussian| f64::from(q.mean().values()[unit]).abs();
        assert!((weight(&here) - 0.5 * (weight(from) + weight(to))).abs() < 1e-6);
    }
}
