//! Wrong configurations: exit code 2, a message that names the setting, and no trace of an output folder.

use crate::harness::{COMMON, ENSEMBLE, HMC, Place, VI};

/// Makes sure that these arguments are refused, that the message has `named` in it, and that nothing is written.
fn refused(place: &Place, arguments: &[&str], named: &str) {
    let ended = place.train("run", arguments);
    assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.stderr);
    assert!(ended.stderr.starts_with("error: ") && ended.stderr.contains(named), "{arguments:?}: {}", ended.stderr);
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
    assert!(!place.path("run").exists(), "{arguments:?} made a folder");
}

/// Each value for one setting.
fn all_refused(place: &Place, name: &str, values: &[&str]) {
    for value in values {
        refused(place, &["--set", &format!("{name}={value}")], name);
    }
}

const NOT_POSITIVE: &[&str] = &["0.0", "-1.0", "nan", "-nan", "inf", "-inf", "text", "[1.0]", "true", "{ a = 1 }"];
const NOT_A_COUNT: &[&str] = &["0", "-1", "1.5", "nan", "text", "[1]", "99999999999999999999"];

#[test]
fn numbers_of_optimisation_are_checked() {
    let place = Place::new(VI);
    for name in ["infer.optimise.epochs", "infer.optimise.learning_rate", "infer.std", "prior.variance", "temperature"]
    {
        all_refused(&place, name, NOT_POSITIVE);
    }
    for name in ["infer.optimise.batch", "infer.samples", "evaluate.samples", "evaluate.eval_samples", "log.every"] {
        all_refused(&place, name, NOT_A_COUNT);
    }
    all_refused(&place, "evaluate.every", NOT_POSITIVE);
    all_refused(&place, "infer.optimise.momentum", &["-0.1", "1.0", "nan", "inf", "text"]);
    all_refused(&place, "infer.optimise.clip_norm", NOT_POSITIVE);
    all_refused(&place, "infer.optimise.weight_decay", &["-0.1", "100.0", "nan", "inf", "text"]);
    // Adam has none.
    all_refused(&place, "infer.optimise.nesterov", &["true", "1", "text"]);
    all_refused(&place, "infer.optimise.warmup", &["-0.1", "25.0", "nan", "inf", "text"]);
    all_refused(&place, "infer.optimise.batch", &["9223372036854775807"]);
    all_refused(&place, "seed", &["-1", "0.5", "nan", "text"]);
    all_refused(&place, "likelihood.gaussian.variance", &["0.0", "-1.0", "nan", "inf", "-inf"]);
    all_refused(&Place::new(ENSEMBLE), "infer.members", NOT_A_COUNT);
}

#[test]
fn numbers_of_chains_are_checked() {
    let place = Place::new(HMC);
    for name in ["infer.chains", "infer.samples", "infer.thin", "infer.max_leapfrog_steps"] {
        all_refused(&place, name, NOT_A_COUNT);
    }
    for name in ["infer.trajectory", "infer.step"] {
        all_refused(&place, name, NOT_POSITIVE);
    }
    all_refused(&place, "infer.burn_in", &["-1", "0.5", "text"]);
    all_refused(&place, "infer.jitter", &["-0.1", "1.0", "nan", "inf", "text"]);
    all_refused(&place, "infer.acceptance", &["0.0", "1.0", "-1.0", "nan", "inf", "text"]);
    // Each is a number, but together they are more than there are.
    let most = "9223372036854775807";
    let settings = [format!("infer.samples={most}"), format!("infer.thin={most}")];
    refused(&place, &["--set", &settings[0], "--set", &settings[1]], "infer.samples");
}

#[test]
fn names_and_networks_are_checked() {
    let place = Place::new(VI);
    for (setting, named) in [
        ("infer.optimise.rat=1.0", "`rat`"),
        ("infer.rate=1.0", "`rate`"),
        ("speed=1.0", "`speed`"),
        ("data.nam=3", "`nam`"),
        ("evaluate.often=3", "`often`"),
        ("log.often=3", "`often`"),
        ("prior.mean=3", "`mean`"),
        ("arch.width=3", "`width`"),
        ("likelihood.gaussian.mean=3", "`mean`"),
        ("infer.method=guess", "`infer.method`"),
        ("infer.optimise.optimiser=lbfgs", "`infer.optimise.optimiser`"),
        ("infer.optimise.schedule=line", "`infer.optimise.schedule`"),
        ("prior.scaling=often", "`prior.scaling`"),
        ("data.scaling=often", "`data.scaling`"),
        ("data.name=minst", "`minst`"),
        ("data.name=3", "`data.name`"),
        ("data=3", "`data`"),
        ("infer=3", "`infer`"),
        ("infer.optimise=3", "`infer.optimise`"),
        ("data.subsets=first:3", "`data.subsets`"),
        (r#"data.subsets=["fist:3"]"#, "`fist:3`"),
        (r#"data.subsets=["first:0"]"#, "`first:0`"),
        (r#"data.subsets=["first:401"]"#, "`first:401`"),
        (r#"data.subsets=["classes:4"]"#, "`classes:4`"),
        ("arch.preset=transformer", "`arch.preset`"),
        ("arch.hidden=[0]", "`hidden1`"),
        ("arch.hidden=[-1]", "`arch.hidden[0]`"),
        ("arch.hidden=[9223372036854775807]", "`hidden1"),
        ("arch.classes=1", "classes"),
        ("arch.classes=5", "5 classes"),
        ("arch.input=7x7x1", "7x7x1"),
        ("arch.input=7x7", "`7x7`"),
        ("start=somewhere.safetensors", "`start`"),
    ] {
        refused(&place, &["--set", setting], named);
    }
    refused(&Place::new(HMC), &["--set", "start=somewhere.safetensors"], "somewhere.safetensors");
}

#[test]
#[cfg(target_os = "linux")]
fn what_no_computer_has_room_for_is_refused_with_numbers() {
    for (rest, setting, named) in [
        (VI, "arch.hidden=[1000000,1000000]", "a training by vi needs at least 32 TB of memory"),
        (ENSEMBLE, "infer.members=1000000000", "of memory, and there are"),
        (HMC, "infer.chains=100000000", "of memory, and there are"),
        (HMC, "infer.samples=100000000000", "of the disk of "),
    ] {
        refused(&Place::new(rest), &["--set", setting], named);
    }
    refused(&Place::new(VI), &["--threads", "10000"], "--threads is 10000; it must be at most 1024");
}

#[test]
fn settings_that_are_not_settings_are_refused() {
    let place = Place::new(VI);
    for text in ["seed", "=1", ".seed=1", "seed.=1", "a..b=1", "data.name.first=1", "arch.hidden.0=3", ""] {
        refused(&place, &["--set", text], &format!("`{}` is not", text.split('=').next().unwrap_or_default()));
    }
}

#[test]
fn missing_tables_are_named() {
    for table in ["data", "arch", "prior", "infer"] {
        let text = format!("{COMMON}{VI}");
        let from = text.find(&format!("[{table}]")).unwrap();
        let end = text[from + 1..].find("\n    [").map_or(text.len(), |end| from + 1 + end);
        let place = Place::with_config(&format!("{}{}", &text[..from], &text[end..]));
        refused(&place, &[], &format!("missing key `{table}`"));
    }
    refused(&Place::new("[infer]\nmethod = \"vi\"\n"), &[], "missing key `optimise`");
    refused(&Place::new("[infer]\nmethod = \"vi\"\noptimise = {}\n"), &[], "`infer.optimise`");
    refused(&Place::new("[infer]\n"), &[], "missing key `method`");
    refused(&Place::with_config(""), &[], "missing key `data`");
}

#[test]
fn text_that_is_not_toml_is_shown_with_its_line() {
    let place = Place::with_config("seed = 0\n[data\n");
    refused(&place, &[], "line 2");
    std::fs::write(place.config(), b"seed = \xff").unwrap();
    refused(&place, &[], place.config().to_str().unwrap());
    std::fs::remove_file(place.config()).unwrap();
    refused(&place, &[], place.config().to_str().unwrap());
}

#[test]
fn missing_data_are_named() {
    let place = Place::new(VI);
    for (name, file) in [
        ("mnist", "nowhere/mnist/train-images"),
        ("fashion-mnist", "nowhere/fashion-mnist/train-images"),
        ("cifar10", "nowhere/cifar10"),
        ("cifar100", "nowhere/cifar100"),
    ] {
        refused(&place, &["--data", "nowhere", "--set", &format!("data.name={name}")], file);
    }
}

#[test]
fn options_are_checked() {
    let place = Place::new(VI);
    refused(&place, &["--threads", "0"], "--threads is 0");
    for (option, value) in [
        ("--threads", "-1"),
        ("--threads", "many"),
        ("--save-every", "-1"),
        ("--save-every", "nan"),
        ("--save-every", "often"),
    ] {
        refused(&place, &[&format!("{option}={value}")], option);
    }
}
