//! The reference of all keys: complete, current, and what the comments of templates are made of.

use onebasin::experiment::reference::{Default, Reference, commented};
use std::fs;
use std::path::Path;

#[test]
fn the_page_of_all_keys_is_current() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let page = Reference::new().markdown();
    if std::env::var("ONEBASIN_GOLDEN").is_ok_and(|value| value == "write") {
        fs::write(&file, &page).unwrap();
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == page,
        "docs/configuration.md is not current: ONEBASIN_GOLDEN=write cargo test --release -p onebasin --test reference"
    );
}

#[test]
fn every_key_has_a_meaning() {
    let reference = Reference::new();
    for table in reference.training.iter().chain(&reference.experiment) {
        for key in &table.keys {
            assert!(!key.meaning.is_empty(), "{}", table.whole(key));
            assert!(!key.meaning.contains("[default"), "{}: {}", table.whole(key), key.meaning);
        }
    }
}

#[test]
fn types_defaults_and_units_are_those_of_the_structs() {
    let reference = Reference::new();
    let key = |name: &str| {
        let all = reference.training.iter().chain(&reference.experiment);
        all.flat_map(|table| table.keys.iter().map(move |key| (table.whole(key), key)))
            .find(|(whole, _)| whole == name)
            .unwrap_or_else(|| panic!("{name} is not described"))
            .1
    };
    let epochs = key("infer.optimise.epochs");
    assert_eq!(
        (&*epochs.kind, &epochs.default, epochs.unit.as_deref()),
        ("number", &Default::Required, Some("epochs"))
    );
    assert_eq!(key("infer.jitter").default, Default::Value("0.2".to_owned()));
    assert_eq!(key("barrier.points").default, Default::Value("25".to_owned()));
    assert_eq!(key("barrier.dataset").default, Default::Words("the one that A was trained on".to_owned()));
    assert_eq!(key("barrier.criteria").kind, "list of names");
    assert!(
        key("barrier.criteria").values.iter().any(|(name, meaning)| name == "w2" && meaning.contains("Wasserstein"))
    );
    assert_eq!(key("arch.input").default, Default::Words("that of the data".to_owned()));
    assert_eq!(key("likelihood").kind, "name, or a table");
    assert_eq!(key("literature").kind, "list of tables");
    assert_eq!(key("literature.source").default, Default::Required);
    assert_eq!(key("swap.means").kind, "list of lists of numbers");
    assert!(key("train").kind.contains("training") && key("sweep").meaning.contains("combination"));
}

#[test]
fn a_part_is_found_by_the_beginning_of_its_names_or_by_what_they_contain() {
    let all = Reference::new();
    let barrier = all.about("barrier").unwrap();
    assert!(barrier.training.is_empty());
    assert!(
        barrier.experiment.iter().all(|table| table.keys.iter().all(|key| table.whole(key).starts_with("barrier")))
    );
    assert_eq!(all.about("train.infer.optimise").unwrap().training, all.about("[infer.optimise]").unwrap().training);
    assert!(all.about("learning_rate").unwrap().text(80).contains("infer.optimise.learning_rate"));
    assert!(all.about("nonsense").unwrap_err().to_string().contains("there is no key `nonsense`"));
}

#[test]
fn a_template_is_commented_with_what_it_sets_and_what_it_leaves_out() {
    let text = commented("# Mine.\nseed = 3\n[data]\nname = \"digits\"\n[infer]\nmethod = \"hmc\"\nburn_in = 2\n");
    for expected in [
        "# Mine.\n# Seed that all random numbers come from.\nseed = 3\n",
        "# temperature = 1.0\n",
        "\n# Hamiltonian Monte Carlo.\n[infer]\n",
        "# Number of chains.\n# chains = 4\n",
        "\n# [evaluate]\n",
        "# # samples = 128\n",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in\n{text}");
    }
    assert!(!text.contains("[infer.optimise]"), "{text}");
}
