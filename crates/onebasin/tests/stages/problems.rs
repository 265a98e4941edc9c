//! Golden results of the stages that need no posterior: planted problems, swaps and transpositions.

use crate::golden::check;
use onebasin::experiment::stages::planted::PlantedSettings;
use onebasin::experiment::stages::swap::SwapSettings;
use onebasin::experiment::stages::transpositions::TranspositionsSettings;
use onebasin::experiment::{Section, config};
use serde::de::DeserializeOwned;

fn settings<T: DeserializeOwned + Section>(text: &str) -> T {
    let settings: T = config::from_table("test", config::read_table("test", text, &[]).unwrap()).unwrap();
    settings.check().unwrap();
    settings
}

#[test]
fn planted_problems_give_the_golden_results() {
    let folder = tempfile::tempdir().unwrap();
    let settings: PlantedSettings = settings(
        r#"
        instances = 2
        correlations = [0.5, 0.9]
        arch = { preset = "mlp", input = "4x4x1", classes = 3, hidden = [10, 8] }
        "#,
    );
    let result = check("planted", &settings, folder.path());
    assert_eq!(result.rows.len(), 2 * 4);
    for (change, said) in [("instances=0", "`instances` is 0"), ("correlations=[2]", "`correlations` is a list with 2")]
    {
        let table = toml::to_string(&settings).unwrap();
        let table = config::read_table("test", &table, &[change.to_owned()]).unwrap();
        let error = config::from_table::<PlantedSettings>("test", table).unwrap().check().unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn swaps_give_the_golden_results() {
    let folder = tempfile::tempdir().unwrap();
    let settings = SwapSettings { means: [[1.0, 0.0], [0.5, 1.5]], stds: [[1.0, 2.0], [1.5, 0.5]] };
    check("swap", &settings, folder.path());
}

#[test]
fn transpositions_give_the_golden_results() {
    let folder = tempfile::tempdir().unwrap();
    let settings: TranspositionsSettings = settings(
        r#"
        runs = 2
        train_examples = 60
        start = { transpositions = [0, 3] }
        line = { points = 3 }
        dynamics = { epochs = [0, 2] }
        data = { name = "synthetic", scaling = "standard" }
        arch = { preset = "mlp", hidden = [12] }
        prior.variance = 1.0
        infer.optimise = { epochs = 2, batch = 20, optimiser = "sgd", learning_rate = 0.01 }
        "#,
    );
    check("transpositions", &settings, folder.path());
    let lines = |file: &str| std::fs::read_to_string(folder.path().join("transpositions").join(file)).unwrap();
    for (file, rows, header) in [
        ("starts.csv", 4, "run,planted,recovered,off,transpositions,"),
        ("line.csv", 6, "run,tau,from_first,from_second"),
        ("dynamics.csv", 4, "run,epoch,transpositions,"),
    ] {
        let text = lines(file);
        assert!(text.starts_with(header) && text.lines().count() == 1 + rows, "{file}: {text}");
    }
}
