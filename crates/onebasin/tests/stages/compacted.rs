//! Compaction: golden results, the Gaussians that are written, and settings that are refused.

use crate::golden::{Mistake, check};
use crate::trained::samples;
use onebasin::experiment::stages::compact::Relabelling;
use onebasin::experiment::{Compact, CompactSettings, Section, Stage};
use onebasin::posterior::Posterior;
use onebasin::store::StoredPosterior;

#[test]
fn compactions_give_the_golden_results() {
    let folder = tempfile::tempdir().unwrap();
    let settings = CompactSettings {
        relabellings: vec![Relabelling::None, Relabelling::Relabel],
        ranks: vec![0, 3],
        draws: 10,
        test_examples: Some(100),
        prune: true,
        distil: Some(1.0),
        ..CompactSettings::default()
    };
    let samples = vec![samples(folder.path())];
    let result = check("compact", &Compact { settings, samples }, folder.path());
    let names: Vec<(&str, Option<usize>)> = result.rows.iter().map(|row| (row.name.as_str(), row.rank)).collect();
    let relabelled = ["relabel", "relabel", "relabel, distilled"];
    let gaussians = ["none", "none", "none, distilled"].into_iter().chain(relabelled).zip([0, 3, 0, 0, 3, 0].map(Some));
    assert_eq!(names, [("samples", None)].into_iter().chain(gaussians).collect::<Vec<_>>());
    for relabelling in ["none", "relabel"] {
        for file in ["", "-rank3", "-distilled"].map(|part| format!("{relabelling}{part}.safetensors")) {
            assert!(Compact::owns(&file), "{file}");
            StoredPosterior::read(&folder.path().join("compact").join(file)).unwrap();
        }
    }
    assert!(!Compact::owns("none-rank.safetensors") && !Compact::owns("direct.safetensors"));
}

#[test]
fn a_gaussian_is_labelled_by_the_rank_that_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let settings = CompactSettings {
        relabellings: vec![Relabelling::None, Relabelling::First],
        ranks: vec![7, 2, 50],
        samples: Some(4),
        balance: true,
        draws: 4,
        test_examples: Some(50),
        ..CompactSettings::default()
    };
    let samples = vec![samples(folder.path())];
    let result = check("compact-few-samples", &Compact { settings, samples }, folder.path());
    let ranks: Vec<Option<usize>> = result.rows.iter().map(|row| row.rank).collect();
    assert_eq!(ranks, [None, Some(3), Some(2), Some(3), Some(2)]);
    let stored = StoredPosterior::read(&folder.path().join("compact-few-samples/none-rank3.safetensors")).unwrap();
    let Posterior::LowRank(low_rank) = stored.posterior else { panic!("{stored:?}") };
    assert_eq!(low_rank.factor().len(), 3);
}

#[test]
fn settings_that_make_no_sense_are_refused_by_their_keys() {
    let mistakes: [Mistake<CompactSettings>; 7] = [
        ("`ranks` is []", |settings| settings.ranks.clear()),
        ("`ranks` is a list with 3 twice", |settings| settings.ranks = vec![3, 0, 3]),
        ("`relabellings` is []", |settings| settings.relabellings.clear()),
        ("`relabellings` is a list with \"none\" twice", |settings| {
            settings.relabellings = vec![Relabelling::None; 2];
        }),
        ("`draws` is 0", |settings| settings.draws = 0),
        ("`test_examples` is 0", |settings| settings.test_examples = Some(0)),
        ("`distil` is -1", |settings| settings.distil = Some(-1.0)),
    ];
    for (said, change) in mistakes {
        let mut settings = CompactSettings::default();
        change(&mut settings);
        let error = settings.check().unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}
