//! Messages in the words of a user: keys in files, flags on the command line, no types of Rust.

use crate::harness::{HMC, Place, TRAINING, VI};

#[test]
fn no_name_of_a_type_reaches_a_user() {
    let place = Place::new();
    place.write("vi.toml", &format!("{TRAINING}{VI}"));
    place.write(
        "all.toml",
        "title = \"All\"\n[swap]\nmeans = [[0.0, 1.0], [0.0, 1.0]]\nstds = [[1.0, 2.0], [2.0, 1.0]]\n",
    );
    for (line, expected) in [
        ("train vi.toml --set data=3", "`data` is 3; it must be a table"),
        ("train vi.toml --set infer.samples=x", "`infer.samples` is \"x\"; it must be a whole number, at least 0"),
        ("train vi.toml --set infer.samples=-1", "`infer.samples` is -1; it must be a whole number, at least 0"),
        ("train vi.toml --set infer.optimise=3", "`infer.optimise` is 3; it must be a table"),
        ("train vi.toml --set arch.hidden=3", "`arch.hidden` is 3; it must be a list"),
        ("train vi.toml --set prior=[]", "`prior` is a list of length 0; it must be a table"),
        ("train vi.toml --set likelihood=3", "`likelihood` is no name; it must be a name, or a table"),
        ("train vi.toml --set likelihood=sofmax", "unknown name `sofmax`, expected `softmax` or `gaussian`"),
        ("train vi.toml --set start=3", "`start` is 3; it must be text"),
        ("train vi.toml --set infer.method=3", "`infer.method` is 3; it must be text"),
        ("run all.toml --set seeds=3", "`seeds` is 3; it must be a list"),
        ("run all.toml --set barrier=true", "`barrier` is true; it must be a table"),
        ("run all.toml --set literature=[3]", "`literature[0]` is 3; it must be a table"),
        ("run all.toml --set swap.means=[[1,2]]", "`swap.means` is a list of length 1; it must be a list of length 2"),
    ] {
        let error = place.refused(&format!("{line} -o out"));
        assert!(error.contains(expected), "{line}: {error}");
        for word in ["struct", "usize", "u64", "f64", "sequence", "variant", "field"] {
            assert!(!error.contains(word), "{line}: {error}");
        }
    }
}

#[test]
fn the_other_command_is_named_for_the_other_kind_of_file() {
    let place = Place::new();
    place.write("vi.toml", &format!("{TRAINING}{VI}"));
    place.succeeds("init barrier");
    let error = place.refused("train barrier.toml");
    assert!(error.contains("it is an experiment") && error.contains("use `onebasin run barrier.toml`"), "{error}");
    let error = place.refused("run vi.toml");
    assert!(error.contains("of one training; use `onebasin train vi.toml`"), "{error}");
}

#[test]
fn an_empty_file_is_called_empty() {
    let place = Place::with_posteriors();
    place.write("empty.safetensors", "");
    let error = place.refused("align a empty.safetensors -o out");
    assert!(error.contains("empty.safetensors: the file is empty"), "{error}");
}

#[test]
fn keys_are_named_in_files_and_flags_on_the_command_line() {
    let place = Place::new();
    place.write("hmc.toml", &format!("{TRAINING}{HMC}"));
    place.succeeds("train hmc.toml -o hmc");
    assert!(place.refused("compact hmc --draws 0 -o out").contains("--draws is 0; it must be at least 1"));
    place.succeeds("init compact");
    assert!(
        place.refused("run compact.toml --set compact.draws=0").contains("`compact.draws` is 0; it must be at least 1")
    );
}

#[test]
fn a_sweep_of_a_quoted_key_is_overridden_and_repeated_values_are_named() {
    let place = Place::new();
    place.succeeds("init sweep");
    let quick = "--set train.arch.hidden=[5] --set train.infer.optimise.epochs=1 --set train.evaluate.samples=1 \
                 --set barrier.samples=2 --set barrier.points=3";
    for (key, value) in [("sweep.train.prior.variance", 0.7), ("sweep.\"train.prior.variance\"", 0.8)] {
        let line = format!("run sweep.toml {quick} --set {key}=[{value}] -o out --json");
        let measures: serde_json::Value = serde_json::from_str(&place.succeeds(&line).stdout).unwrap();
        let cells: Vec<f64> = measures["cells"]
            .as_array()
            .unwrap()
            .iter()
            .map(|cell| cell["settings"]["train.prior.variance"].as_f64().unwrap())
            .collect();
        assert_eq!(cells, [value]);
    }
    let error = place.refused("run sweep.toml --set sweep.train.prior.variance=[0.1,0.1] -o twice");
    assert!(error.contains("the sweep has train.prior.variance = 0.1 twice"), "{error}");
    let both = place.read("sweep.toml").replace("[sweep]", "[sweep]\ntrain.prior.variance = [1.0]");
    place.write("both.toml", &both);
    let error = place.refused("run both.toml -o twice");
    assert!(error.contains("`sweep.train.prior.variance` is given twice"), "{error}");
}

#[test]
fn numbers_of_a_training_have_the_digits_that_they_need() {
    let place = Place::new();
    place.write("hmc.toml", &format!("{TRAINING}{HMC}"));
    let table = place.succeeds("train hmc.toml -o hmc").stdout;
    let value = |table: &str, name: &str| {
        let line =
            table.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name} is not in {table}"));
        line.rsplit(' ').next().unwrap().to_owned()
    };
    assert!(!table.contains("epochs"), "{table}");
    assert!(value(&table, "gradients of a chain").parse::<u64>().is_ok(), "{table}");
    assert_eq!(value(&table, "divergences"), "0");
    place.write(
        "map.toml",
        &format!(
            "{TRAINING}infer = {{ method = \"map\", optimise = {{ epochs = 1, batch = 50, learning_rate = 3e-7 }} }}"
        ),
    );
    let table = place.succeeds("train map.toml -o map").stdout;
    assert_eq!(value(&table, "learning_rate"), "3.00000e-7", "{table}");
}

#[test]
fn a_gaussian_of_too_high_a_rank_is_called_by_the_rank_that_it_has_and_relabellings_by_their_names() {
    let place = Place::new();
    place.write("hmc.toml", &format!("{TRAINING}{HMC}"));
    place.succeeds("train hmc.toml -o hmc");
    let table = place.succeeds("compact hmc --ranks 0,1000000 --relabellings none --draws 2 -o out").stdout;
    assert!(!table.contains("1000000") && !table.contains("direct"), "{table}");
    assert!(table.lines().any(|line| line.starts_with("none ")), "{table}");
    let files: Vec<String> = std::fs::read_dir(place.path("out"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    let file = files.iter().find(|file| file.starts_with("none-rank")).unwrap_or_else(|| panic!("{files:?}"));
    let rank = file.trim_start_matches("none-rank").trim_end_matches(".safetensors");
    assert!(table.lines().any(|line| line.split_whitespace().nth(1) == Some(rank)), "{table}");
    assert!(place.succeeds(&format!("show out/{file}")).stdout.contains(&format!("of rank {rank} ")));
}

#[test]
fn objectives_come_with_the_share_of_the_possible_gain() {
    let place = Place::with_posteriors();
    // The objective of this criterion is negative, so that a ratio to its bound would exceed one.
    let table = place.succeeds("align a b --criteria kl -o out").stdout;
    let line =
        table.lines().find(|line| line.starts_with("share of possible gain")).unwrap_or_else(|| panic!("{table}"));
    let share: f64 = line.rsplit(' ').next().unwrap().parse().unwrap();
    assert!((0.0..=1.0).contains(&share), "{table}");
}
