//! Golden results of barriers and planes, which align by themselves or read the permutations of an alignment.

use crate::golden::check;
use crate::trained::gaussians;
use onebasin::align::Criterion;
use onebasin::data::Split;
use onebasin::experiment::stages::align::{Aligned, Outcome, permutations_file};
use onebasin::experiment::stages::barrier::{BarrierResult, PathKind, Row};
use onebasin::experiment::{
    Align, AlignSettings, Barrier, BarrierSettings, Context, Existing, Known, PairInputs, Plane, PlaneSettings, Silent,
    Stage,
};
use onebasin::threads::pool;
use std::path::Path;

#[test]
fn barriers_give_the_golden_results_whoever_aligns() {
    let folder = tempfile::tempdir().unwrap();
    let posteriors = gaussians(folder.path());
    let align = Align { settings: AlignSettings::default(), posteriors: posteriors.to_vec() };
    check("align-first", &align, folder.path());
    let settings = BarrierSettings {
        paths: vec![PathKind::Geodesic, PathKind::NaturalRescaled, PathKind::Repair],
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
        let alignments = vec![("w2".to_owned(), Known::File(folder.path().join("align-first").join(&file)))];
        let inputs = PairInputs { posteriors: posteriors.clone(), alignments };
        let stage = Barrier { settings: settings.clone(), inputs };
        std::fs::remove_dir_all(folder.path().join("barrier")).unwrap();
        let mut found = check("barrier", &stage, folder.path());
        for result in [&mut expected, &mut found] {
            result.curves.iter_mut().for_each(|row| row.seconds = None);
        }
        assert_eq!(found, expected, "{}", file.display());
    }
    // An alignment that is there under two names is measured once.
    let alignments = vec![("known".to_owned(), Known::File(folder.path().join("align-first").join(Align::RESULT)))];
    let context = Context { pool: pool(2).unwrap(), data: Path::new(""), host: &Silent };
    let twice = Barrier { settings, inputs: PairInputs { posteriors, alignments } }.run(&context, None).unwrap();
    let of = |result: &BarrierResult, name: &str| -> Vec<Row> {
        let rows = result.curves.iter().filter(|row| row.curve.starts_with(name));
        rows.map(|row| Row { curve: row.curve.replacen(name, "w2", 1), seconds: None, ..row.clone() }).collect()
    };
    assert_eq!(of(&twice, "known"), of(&expected, "w2"));
    assert_eq!(of(&twice, "w2"), of(&expected, "w2"));
    assert_eq!(of(&twice, "w2").len(), 2 * 2 * 3);
    assert!(twice.curves.iter().all(|row| row.seconds.is_none() || !row.curve.starts_with("w2")));
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

#[test]
fn every_criterion_aligns_for_a_barrier_and_a_plane_as_it_does_alone() {
    let folder = tempfile::tempdir().unwrap();
    let context = Context { pool: pool(2).unwrap(), data: Path::new(""), host: &Silent };
    let posteriors = gaussians(folder.path());
    let inputs = PairInputs { posteriors: posteriors.clone(), alignments: Vec::new() };
    let test_examples = Some(10);
    for &criterion in Criterion::ALL {
        let settings = AlignSettings { criteria: vec![criterion], ..AlignSettings::default() };
        let align = Align { settings, posteriors: posteriors.to_vec() };
        let found = align.run_in(&folder.path().join(criterion.name()), Existing::Refuse, &context).unwrap();
        let Outcome::Pairs { members, .. } = &found.outcome else { panic!("{found:?}") };
        let Aligned { w2, permutations, .. } = &members[0].aligned;
        let transpositions = permutations.iter().map(|group| group.transpositions).sum::<usize>();

        let (criteria, splits) = (vec![criterion], vec![Split::Test]);
        let settings = BarrierSettings { criteria, points: 3, samples: 2, test_examples, splits, ..Default::default() };
        let barrier = Barrier { settings, inputs: inputs.clone() }.run(&context, None).unwrap();
        let [_, aligned] = &barrier.alignments[..] else { panic!("{barrier:?}") };
        assert_eq!(
            (&aligned.name[..], aligned.w2, aligned.transpositions),
            (criterion.name(), w2.after, transpositions)
        );

        let splits = barrier.settings.splits.clone();
        let settings = PlaneSettings { criterion, points: 2, samples: 0, test_examples, splits, ..Default::default() };
        let plane = Plane { settings, inputs: inputs.clone() }.run(&context, None).unwrap();
        assert_eq!(plane.transpositions, transpositions);
    }
}
