//! Alignments: golden results, the files that are written, and settings that are refused.

use crate::golden::{Mistake, check};
use crate::trained::{gaussians, samples};
use onebasin::align::{Criterion, Solver};
use onebasin::experiment::stages::align::{Outcome, Target};
use onebasin::experiment::{Align, AlignSettings, Section, Stage};
use onebasin::store::{StoredPosterior, StoredSamples};

#[test]
fn alignments_give_the_golden_results() {
    let folder = tempfile::tempdir().unwrap();
    let posteriors = gaussians(folder.path()).to_vec();
    let defaults = AlignSettings::default;
    let masked = AlignSettings { exclude_prior: Some(0.02), balance: true, ..defaults() };
    let activation = AlignSettings { criteria: vec![Criterion::Activation], examples: 100, draws: 2, ..defaults() };
    let universe = AlignSettings { to: Target::Universe, ..defaults() };
    let learned =
        AlignSettings { criteria: vec![Criterion::Learned], steps: 30, batch: 20, repair: true, ..activation.clone() };
    for (name, settings) in [
        ("align-first", defaults()),
        ("align-learned", learned),
        ("align-masked-balanced", masked),
        ("align-activation", activation),
        ("align-universe", universe),
    ] {
        let result = check(name, &Align { settings, posteriors: posteriors.clone() }, folder.path());
        assert_eq!(result.changed(), None);
        assert_eq!(Align::verify(&result), Ok(()));
        for (file, _) in result.written() {
            let stored = StoredPosterior::read(&folder.path().join(name).join(file)).unwrap();
            assert!(stored.provenance.aligned.is_some());
        }
    }
}

#[test]
fn samples_are_relabelled_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let posteriors = vec![samples(folder.path())];
    let settings = AlignSettings { to: Target::Relabel, ..AlignSettings::default() };
    let result = check("align-relabel", &Align { settings, posteriors }, folder.path());
    assert_eq!(result.changed(), None);
    let Outcome::Relabelled { gaussian, members, .. } = &result.outcome else { panic!("{result:?}") };
    let own = folder.path().join("align-relabel");
    StoredPosterior::read(&own.join(gaussian)).unwrap();
    assert_eq!(StoredSamples::open(&own.join(&members[0].file)).unwrap().len(), members[0].samples);
    let lines = std::fs::read_to_string(own.join(&members[0].permutations_file)).unwrap();
    assert_eq!(lines.lines().count(), members[0].samples);
}

#[test]
fn a_changed_function_is_an_error_of_an_experiment() {
    let folder = tempfile::tempdir().unwrap();
    let align = Align { settings: AlignSettings::default(), posteriors: gaussians(folder.path()).to_vec() };
    let mut result = check("align-first", &align, folder.path());
    for change in [2e-4, f64::NAN] {
        let Outcome::Pairs { members, .. } = &mut result.outcome else { unreachable!("it is of a pair") };
        members[0].aligned.change_of_function = change;
        assert!(result.changed().is_some());
        let error = Align::verify(&result).unwrap_err().to_string();
        assert!(error.contains("aligned/seed2.safetensors") && error.contains("not the same function"), "{error}");
    }
}

#[test]
fn combinations_have_one_criterion_and_one_solver_each() {
    let criteria = vec![Criterion::W2, Criterion::Kl];
    let solvers = vec![Solver::Best, Solver::Greedy];
    let settings = AlignSettings { criteria, solvers, seed: 3, ..AlignSettings::default() };
    let all = settings.combinations();
    let names: Vec<String> = all.iter().map(|one| format!("{}-{}", one.criteria[0], one.solvers[0])).collect();
    assert_eq!(names, ["w2-best", "w2-greedy", "kl-best", "kl-greedy"]);
    assert!(all.iter().all(|one| one.criteria.len() == 1 && one.solvers.len() == 1 && one.seed == 3));
}

#[test]
fn settings_that_contradict_each_other_are_refused_by_their_keys() {
    let mistakes: [Mistake<AlignSettings>; 9] = [
        ("`criteria` is []", |settings| settings.criteria.clear()),
        ("`solvers` is a list with \"best\" twice", |settings| settings.solvers = vec![Solver::Best; 2]),
        ("`examples` is 0", |settings| settings.examples = 0),
        ("`draws` is 0", |settings| settings.draws = 0),
        ("`exclude_prior` is 0", |settings| settings.exclude_prior = Some(0.0)),
        ("`exclude_prior` is 1", |settings| {
            (settings.exclude_prior, settings.to) = (Some(1.0), Target::Mean);
        }),
        ("`criteria` is activation", |settings| {
            (settings.criteria, settings.to) = (vec![Criterion::Activation], Target::Mean);
        }),
        ("`exclude_prior` is 1", |settings| {
            (settings.criteria, settings.exclude_prior) = (vec![Criterion::Activation], Some(1.0));
        }),
        ("`balance` is true", |settings| (settings.balance, settings.to) = (true, Target::Relabel)),
    ];
    for (said, change) in mistakes {
        let mut settings = AlignSettings::default();
        change(&mut settings);
        let error = settings.check().unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}
