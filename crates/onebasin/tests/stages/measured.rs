//! Golden results of barriers and planes, which align by themselves or read the permutations of an alignment.

use crate::golden::check;
use crate::trained::gaussians;
use onebasin::experiment::stages::align::permutations_file;
use onebasin::experiment::stages::barrier::PathKind;
use onebasin::experiment::{Align, AlignSettings, Barrier, BarrierSettings, PairInputs, Plane, PlaneSettings, Stage};

#[test]
fn barriers_give_the_golden_results_whoever_aligns() {
    let folder = tempfile::tempdir().unwrap();
    let posteriors = gaussians(folder.path());
    let align = Align { settings: AlignSettings::default(), posteriors: posteriors.to_vec() };
    check("align-first", &align, folder.path());
    let settings = BarrierSettings {
        paths: vec![PathKind::Geodesic, PathKind::NaturalRescaled],
        calibrate: true,
        points: 5,
        samples: 8,
        replicates: 10,
        train_examples: 100,
        test_examples: Some(100),
        ..BarrierSettings::default()
    };
    let alone = PairInputs { posteriors: posteriors.clone(), alignments: Vec::new() };
    let mut expected = check("barrier", &Barrier { settings: settings.clone(), inputs: alone }, folder.path());
    assert_eq!(Barrier::tables(&expected)[0].1.lines().count(), 1 + expected.curves.len() * 5);
    for file in [permutations_file("seed2"), Align::RESULT.into()] {
        let alignments = vec![("w2".to_owned(), folder.path().join("align-first").join(&file))];
        let inputs = PairInputs { posteriors: posteriors.clone(), alignments };
        let stage = Barrier { settings: settings.clone(), inputs };
        std::fs::remove_dir_all(folder.path().join("barrier")).unwrap();
        let mut found = check("barrier", &stage, folder.path());
        for result in [&mut expected, &mut found] {
            result.curves.iter_mut().for_each(|row| row.seconds = None);
        }
        assert_eq!(found, expected, "{}", file.display());
    }
}

#[test]
fn planes_give_the_golden_results() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = PairInputs { posteriors: gaussians(folder.path()), alignments: Vec::new() };
    let settings = PlaneSettings {
        points: 4,
        samples: 4,
        train_examples: 100,
        test_examples: Some(100),
        ..PlaneSettings::default()
    };
    let result = check("plane", &Plane { settings, inputs }, folder.path());
    assert_eq!(Plane::tables(&result)[0].1.lines().count(), 1 + 2 * (3 + 4 * 4));
}
