//! Barriers of one and of several pairs: their mean and spread, their decomposition, and numbers of other work beside them.

use onebasin::data::Split;
use onebasin::experiment::Experiment;
use onebasin::experiment::stages::barrier::{BarrierResult, PathKind, Row, UNALIGNED};
use onebasin::experiment::stages::decomposition::{Cause, decomposition};
use onebasin::experiment::stages::over_pairs::{over_pairs, same_curves};
use onebasin::measure::{Barrier, Barriers, Curve, Estimate, Point, Spread};
use proptest::prelude::*;

/// Name, path, and whether it is calibrated, of each curve of a result.
const CURVES: [(&str, Option<PathKind>, bool); 9] = [
    (UNALIGNED, Some(PathKind::Geodesic), false),
    ("no alignment, calibrated", Some(PathKind::Geodesic), true),
    ("w2", Some(PathKind::Geodesic), false),
    ("mean", Some(PathKind::Geodesic), false),
    ("w2, natural", Some(PathKind::Natural), false),
    ("w2, rescaled", Some(PathKind::Rescaled), false),
    ("mean, repair", Some(PathKind::Repair), false),
    ("w2, calibrated", Some(PathKind::Geodesic), true),
    ("mixture", None, false),
];

fn row(curve: &str, path: Option<PathKind>, calibrated: bool, loss: f64) -> Row {
    let barrier = Barrier { value: loss, at: 0.5, standard_error: Some(0.01) };
    let barriers = Barriers { barrier, midpoint: barrier, instability: barrier };
    let estimate = Estimate { value: loss, standard_error: None };
    Row {
        curve: curve.to_owned(),
        path,
        split: Split::Test,
        examples: 1,
        samples: 1,
        seconds: None,
        temperatures: calibrated.then(|| vec![1.0]),
        measured: Curve {
            points: vec![Point { tau: 0.5, loss: estimate, error: estimate }],
            loss: barriers,
            error: barriers,
        },
    }
}

/// A result with these loss barriers, of as many curves as there are numbers.
fn result(losses: &[f64]) -> BarrierResult {
    let curves = CURVES.iter().zip(losses).map(|((name, path, calibrated), loss)| row(name, *path, *calibrated, *loss));
    BarrierResult {
        version: String::new(),
        settings: toml::from_str("").unwrap(),
        data: String::new(),
        posteriors: Vec::new(),
        alignments: Vec::new(),
        curves: curves.collect(),
    }
}

/// The smallest of the means over pairs of some curves.
fn smallest(pairs: &[Vec<f64>], curves: &[usize]) -> f64 {
    let mean = |curve: &usize| pairs.iter().map(|pair| pair[*curve]).sum::<f64>() / pairs.len() as f64;
    curves.iter().map(mean).fold(f64::INFINITY, f64::min)
}

proptest! {
    #[test]
    fn the_parts_are_differences_of_the_lowest_barriers_and_add_up(
        pairs in prop::collection::vec(prop::collection::vec(0.0..2.0, CURVES.len()), 1..5)
    ) {
        let results: Vec<BarrierResult> = pairs.iter().map(|losses| result(losses)).collect();
        let found = decomposition(&results);
        prop_assert_eq!(found.len(), 1);
        let parts = &found[0].parts;
        let causes: Vec<Cause> = parts.iter().map(|part| part.cause).collect();
        prop_assert_eq!(&causes[..], Cause::ALL);
        // Neither `natural` nor a curve without an alignment restores or calibrates anything here.
        let levels = [&[0][..], &[2, 3], &[5, 6], &[7]].map(|curves| smallest(&pairs, curves));
        let expected = [levels[0] - levels[1], levels[1] - levels[2], levels[2] - levels[3], levels[3]];
        for (part, expected) in parts.iter().zip(expected) {
            prop_assert!((part.height.mean - expected).abs() < 1e-12, "{part:?} {expected}");
            prop_assert_eq!(part.height.pairs, pairs.len());
        }
        let sum: f64 = parts.iter().map(|part| part.height.mean).sum();
        prop_assert!((sum - levels[0]).abs() < 1e-12);
    }

    #[test]
    fn a_spread_is_that_of_the_definitions(values in prop::collection::vec((0.0..2.0, 0.0..0.1), 1..6)) {
        let estimates: Vec<Estimate> =
            values.iter().map(|(value, error)| Estimate { value: *value, standard_error: Some(*error) }).collect();
        let spread = Spread::of(&estimates);
        let numbers: Vec<f64> = values.iter().map(|(value, _)| *value).collect();
        let mean = Estimate::mean_of(&numbers);
        prop_assert_eq!((spread.pairs, spread.mean), (values.len(), mean.value));
        prop_assert!(numbers.contains(&spread.lowest) && numbers.contains(&spread.highest));
        prop_assert!(numbers.iter().all(|value| (spread.lowest..=spread.highest).contains(value)));
        let squares: f64 = values.iter().map(|(_, error)| error * error).sum();
        let monte_carlo = (squares / values.len() as f64).sqrt();
        prop_assert!((spread.monte_carlo_error.unwrap() - monte_carlo).abs() < 1e-12);
        let error = mean.standard_error.unwrap_or(monte_carlo);
        prop_assert!((spread.estimate().standard_error.unwrap() - error).abs() < 1e-12);
    }
}

#[test]
fn parts_that_were_not_measured_are_left_out() {
    let causes = |losses: &[f64]| {
        let found = decomposition(&[result(losses)]);
        found.into_iter().flat_map(|of| of.parts).map(|part| (part.cause, part.curve)).collect::<Vec<_>>()
    };
    assert!(causes(&[]).is_empty());
    assert_eq!(causes(&[1.5]), [(Cause::Left, UNALIGNED.to_owned())]);
    let aligned = [(Cause::Misalignment, "mean".to_owned()), (Cause::Left, "mean".to_owned())];
    assert_eq!(causes(&[1.5, 0.1, 0.5, 0.4, 0.2]), aligned);
    let found = decomposition(&[result(&[1.5, 0.1, 0.5, 0.4])]);
    let estimate = found[0].parts[0].height.estimate();
    assert!((estimate.value - 1.1).abs() < 1e-12);
    assert!((estimate.standard_error.unwrap() - 0.01 * 2_f64.sqrt()).abs() < 1e-12);
}

#[test]
fn curves_of_pairs_stand_together_in_the_order_of_the_first() {
    let results = [result(&[1.0; CURVES.len()]), result(&[3.0; CURVES.len()])];
    let names: Vec<&str> = same_curves(&results).iter().map(|rows| rows[0].curve.as_str()).collect();
    assert_eq!(names, CURVES.map(|(name, ..)| name));
    let found = over_pairs(&results);
    // The mixture is no path.
    assert_eq!(found.len(), CURVES.len() - 1);
    for over in found {
        assert_eq!((over.loss.mean, over.loss.lowest, over.loss.highest, over.loss.pairs), (2.0, 1.0, 3.0, 2));
        assert_eq!(over.loss, over.error);
    }
}

#[test]
fn a_barrier_that_is_not_a_number_is_seen_and_can_be_read_again() {
    let spread = Spread::of(&[f64::NAN, 1.0].map(|value| Estimate { value, standard_error: None }));
    assert!(spread.mean.is_nan() && spread.lowest.is_nan() && spread.highest.is_nan());
    let read: Spread = serde_json::from_str(&serde_json::to_string(&spread).unwrap()).unwrap();
    assert!(read.mean.is_nan() && read.monte_carlo_error.is_none());
}

#[test]
fn numbers_of_other_work_are_read_and_mistakes_in_them_are_named() {
    let read = |row: &str| {
        let text = format!("title = \"a\"\n[[literature]]\n{row}");
        Experiment::read("a.toml", &text, &[]).map_err(|error| error.to_string())
    };
    for (value, text) in [("\"0.85 to 0.99\"", "0.85 to 0.99"), ("0.97", "0.97"), ("2", "2")] {
        let found = read(&format!("what = \"w\"\nvalue = {value}\nsource = \"s\"")).unwrap().literature;
        assert_eq!((found.len(), found[0].value.as_str()), (1, text));
    }
    for (row, messages) in [
        ("what = \"w\"\nvaule = 1\nsource = \"s\"", &["literature[0]", "vaule", "did you mean `value`?"][..]),
        ("what = \"w\"\nvalue = 1", &["literature[0]", "missing key `source`"]),
        ("what = \"w\"\nvalue = [1]\nsource = \"s\"", &["literature[0].value", "a text or a number"]),
        ("what = 1\nvalue = 1\nsource = \"s\"", &["`literature[0].what` is 1; it must be text"]),
        ("what = \"w\"\nvalue = 1\nsource = \" \"", &["a.toml", "`literature.source` is \" \"", "some text"]),
    ] {
        let said = read(row).unwrap_err();
        assert!(messages.iter().all(|message| said.contains(message)), "{said}");
    }
}
