//! The configuration of a run: what it says by default, what can be changed in it, and that no text makes it panic.

use onebasin::arch::Preset;
use onebasin::data::{Scaling, Subset};
use onebasin::experiment::TrainConfig;
use onebasin::infer::{Method, Optimise, Optimiser, Schedule};
use onebasin::net::Likelihood;
use proptest::prelude::*;

const SHORTEST: &str = r#"
    [data]
    name = "digits"
    [arch]
    preset = "mlp"
    hidden = [16]
    [prior]
    variance = 0.5
    [infer]
    method = "vi"
    optimise = { epochs = 3, batch = 50, learning_rate = 1e-3 }
"#;

const HMC: &str = r#"
    [data]
    name = "synthetic"
    subsets = ["classes:0,1", "first:50"]
    [arch]
    preset = "cnn"
    stack = ["4", "max", "8/2"]
    [prior]
    variance = 0.5
    [infer]
    method = "hmc"
    burn_in = 10
    samples = 20
"#;

fn read(text: &str, overrides: &[&str]) -> Result<TrainConfig, String> {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    TrainConfig::from_toml("a name", text, &overrides).map_err(|error| error.to_string())
}

fn with(overrides: &[&str]) -> TrainConfig {
    read(SHORTEST, overrides).unwrap()
}

fn vi(config: &TrainConfig) -> &onebasin::infer::ViConfig {
    match &config.infer {
        Method::Vi(vi) => vi,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_not_said_has_a_default() {
    let config = with(&[]);
    assert_eq!((config.seed, config.temperature, config.start.clone()), (0, 1.0, None));
    assert_eq!((config.data.subsets.len(), config.data.scaling), (0, Scaling::Unit));
    assert_eq!((config.likelihood, config.prior.scaling), (Likelihood::Softmax, onebasin::infer::Scaling::One));
    assert_eq!((config.evaluate.samples, config.evaluate.eval_samples), (128, 8));
    assert_eq!((config.evaluate.every, config.log.every), (None, None));
    let vi = vi(&config);
    assert_eq!((vi.std, vi.moped, vi.samples), (Some(0.01), None, 1));
    let optimise = vi.optimise;
    assert_eq!((optimise.optimiser, optimise.schedule), (Optimiser::Adam, Schedule::Constant));
    assert_eq!(optimise, Optimise::new(3.0, 50, 1e-3));
    assert_eq!((optimise.momentum, optimise.warmup), (0.9, 0.0));
    let Method::Hmc(hmc) = read(HMC, &[]).unwrap().infer else { panic!("it is hmc") };
    assert_eq!((hmc.chains, hmc.thin, hmc.max_leapfrog_steps), (4, 1, 1000));
    assert_eq!((hmc.trajectory, hmc.step, hmc.jitter, hmc.acceptance), (None, None, 0.2, 0.8));
}

#[test]
fn the_network_has_the_shape_and_the_classes_of_the_data_unless_it_says_otherwise() {
    let shape = |config: &TrainConfig| match &config.arch {
        Preset::Mlp(mlp) => (mlp.input.to_string(), mlp.classes),
        Preset::Cnn(cnn) => (cnn.input.to_string(), cnn.classes),
        Preset::Resnet(resnet) => (resnet.input.to_string(), resnet.classes),
    };
    for (name, input, classes) in
        [("digits", "8x8x1", 10), ("synthetic", "6x6x1", 4), ("mnist", "28x28x1", 10), ("cifar100", "32x32x3", 100)]
    {
        assert_eq!(shape(&with(&[&format!("data.name={name}")])), (input.to_owned(), classes));
    }
    assert_eq!(shape(&with(&["arch.input=5x6x7", "arch.classes=3"])), ("5x6x7".to_owned(), 3));
    assert_eq!(shape(&read(HMC, &[]).unwrap()), ("6x6x1".to_owned(), 4));
}

#[test]
fn each_kind_of_value_can_be_overridden() {
    assert_eq!(with(&["seed=17"]).seed, 17);
    assert_eq!(with(&[" seed = 17 "]).seed, 17);
    // A whole number for one that need not be, and back.
    assert_eq!(with(&["temperature=2"]).temperature, 2.0);
    assert_eq!(vi(&with(&["infer.optimise.learning_rate=5e-4"])).optimise.learning_rate, 5e-4);
    // Strings with and without quotes.
    for text in ["data.name=synthetic", "data.name=\"synthetic\"", "data.name='synthetic'"] {
        assert_eq!(with(&[text]).data.name.as_deref(), Some("synthetic"));
    }
    assert_eq!(with(&[r#"data.subsets=["half:a", "first:7"]"#]).data.subsets[1], Subset::First(7));
    let Preset::Mlp(mlp) = with(&["arch.hidden=[3, 4, 5]"]).arch else { panic!("it is an mlp") };
    assert_eq!(mlp.hidden, [3, 4, 5]);
    // Tables, whole and new.
    assert_eq!(with(&["likelihood.gaussian.variance=0.25"]).likelihood, Likelihood::Gaussian { variance: 0.25 });
    assert_eq!(with(&["log.every=4", "evaluate.every=2.5"]).log.every, Some(4));
    assert_eq!(with(&["evaluate={ samples = 3 }"]).evaluate.samples, 3);
    let map = with(&["infer={ method = 'map', optimise = { epochs = 1, batch = 2, learning_rate = 3.0 } }"]);
    assert!(matches!(map.infer, Method::Map(_)));
    // The last one counts.
    assert_eq!(with(&["seed=1", "seed=2"]).seed, 2);
    // An equals sign in a value belongs to it.
    assert!(read(HMC, &["start=a=b.safetensors"]).unwrap().start.unwrap().ends_with("a=b.safetensors"));
}

#[test]
fn an_override_sets_one_thing_only() {
    let error = read(SHORTEST, &["seed=1\ntemperature=2"]).unwrap_err();
    assert!(error.contains("seed"), "{error}");
    assert_eq!(read(HMC, &["start=x # no comment"]).unwrap().start.unwrap().to_str(), Some("x # no comment"));
}

#[test]
fn written_configurations_are_read_back() {
    for (text, overrides) in [
        (SHORTEST, &[][..]),
        (SHORTEST, &["seed=9223372036854775807", "temperature=1e-30", "evaluate.every=0.1"]),
        (
            SHORTEST,
            &["infer.optimise.optimiser=sgd", "infer.optimise.nesterov=true", "infer.optimise.weight_decay=1e-3"],
        ),
        (SHORTEST, &["infer.optimise.clip_norm=2", "infer.optimise.schedule=linear"]),
        (SHORTEST, &["likelihood.gaussian.variance=0.1", "data.scaling=standard", "prior.scaling=fan-in"]),
        (SHORTEST, &["start=x", "infer.moped=0.1"]),
        (SHORTEST, &["start=x"]),
        (HMC, &[]),
        (HMC, &["infer.step=0.1", "infer.trajectory=1", "start='a \"path\" with ü\\'"]),
    ] {
        let config = read(text, overrides).unwrap();
        let written = config.to_toml();
        assert_eq!(read(&written, &[]).unwrap(), config);
        assert_eq!(read(&written, &[]).unwrap().to_toml(), written);
        // JSON says null where TOML says nothing.
        let json = serde_json::to_value(&config).unwrap();
        assert_eq!(serde_json::from_value::<TrainConfig>(json).unwrap(), config);
    }
}

/// Settings that came later do not change how an earlier configuration is written, so its folder stays its own.
#[test]
fn a_configuration_without_the_later_settings_is_written_without_them() {
    let written = with(&[]).to_toml();
    for later in ["nesterov", "weight_decay", "clip_norm"] {
        assert!(!written.contains(later), "{written}");
    }
}

const IVON: &str = "infer={ method = 'ivon', optimise = { epochs = 1, batch = 2, learning_rate = 0.1 } }";

const ENSEMBLE: &str =
    "infer={ method = 'ensemble', members = 2, optimise = { epochs = 1, batch = 2, learning_rate = 0.1 } }";

/// A standard deviation that a posterior may give is not written down.
#[test]
fn the_standard_deviation_is_left_open_where_a_posterior_may_give_it() {
    assert_eq!(vi(&with(&["start=x"])).std, None);
    assert_eq!(vi(&with(&["start=x", "infer.std=0.2"])).std, Some(0.2));
    assert_eq!(vi(&with(&["infer.moped=0.1"])).std, None);
}

#[test]
fn errors_say_where() {
    for (text, overrides, said) in [
        ("a = ", &[][..], "a name: TOML parse error at line 1"),
        ("", &[], "a name: missing key `data`"),
        ("data = 1", &[], "`data` is 1; it must be a table"),
        ("[data]\nname = \"minst\"", &[], "there is no data set `minst`"),
        ("[data]\nname = \"digits\"", &[], "missing key `arch`"),
        (SHORTEST, &["infer.optimise.epoch=1"], "unknown key `epoch`"),
        (SHORTEST, &["infer.optimise.epoch=1"], "did you mean `epochs`?"),
        (SHORTEST, &["infer.optimise.rate=1"], "`rate` is now `learning_rate`"),
        (HMC, &["precision=bf16"], "`precision` is bf16; it must be f32 for the method hmc"),
        (HMC, &["precision=f16"], "`precision`"),
        (HMC, &["infer.most_steps=1"], "`most_steps` is now `max_leapfrog_steps`"),
        (SHORTEST, &["infer.method=guess"], "`infer.method`: unknown name `guess`, expected one of `map`, `vi`"),
        (SHORTEST, &["infer.optimise.batch=0"], "`infer.optimise.batch` is 0; it must be at least 1"),
        (SHORTEST, &["prior.variance=0"], "`prior.variance` is 0; it must be a positive number"),
        (
            SHORTEST,
            &["infer.optimise.learning_rate=fast"],
            "`infer.optimise.learning_rate` is \"fast\"; it must be a number",
        ),
        (SHORTEST, &["arch.hidden=[1.5]"], "`arch.hidden[0]`"),
        (SHORTEST, &["arch.depth=20"], "unknown key `depth`"),
        (SHORTEST, &["infer.optimise.nesterov=true"], "`infer.optimise.nesterov` is true; it must be false, unless"),
        (
            SHORTEST,
            &["infer.optimise.weight_decay=1e3"],
            "`infer.optimise.weight_decay` is 1000; it must be at least 0",
        ),
        (SHORTEST, &["infer.optimise.clip_norm=0"], "`infer.optimise.clip_norm` is 0; it must be a positive number"),
        (SHORTEST, &[IVON, "infer.optimise.optimiser=sgd"], "`infer.optimise.optimiser` is sgd; it must be left out"),
        (
            SHORTEST,
            &[IVON, "infer.optimise.weight_decay=0.1"],
            "`infer.optimise.weight_decay` is 0.1; it must be left out",
        ),
        (SHORTEST, &[IVON, "infer.optimise.clip_norm=1"], "it must be left out: `infer.clip` clips the steps of IVON"),
        (HMC, &["infer.burn_in=soon"], "`infer.burn_in`"),
        (HMC, &["arch.stack=['wide']"], "`arch.stack[0]`"),
        (SHORTEST, &["evaluate.samples=0"], "`evaluate.samples` is 0"),
        (
            SHORTEST,
            &["infer.std=0.1", "infer.moped=0.1"],
            "`infer.moped` is 0.1; it must be left out where `std` is given",
        ),
        (SHORTEST, &["infer.moped=0"], "`infer.moped` is 0; it must be a positive number"),
        (
            SHORTEST,
            &["start=x", ENSEMBLE],
            "`ensemble` cannot start at a posterior; of the methods these can: map, vi, ivon, hmc; leave `start` out",
        ),
    ] {
        let error = read(text, overrides).unwrap_err();
        assert!(error.contains(said), "{overrides:?}: {error}");
        assert!(!error.ends_with('\n'), "{error:?}");
    }
}

/// A value, more or less.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| number.to_string()),
        Just("nan".to_owned()),
        Just("-inf".to_owned()),
        Just("[]".to_owned()),
        Just("{}".to_owned()),
        Just("[[1], {a = 2}]".to_owned()),
        Just("1979-05-27T07:32:00Z".to_owned()),
        "\"\\PC{0,8}\"",
        "\\PC{0,8}",
    ]
}

/// Settings to be overridden.
const KNOWN: &str = "
    seed temperature start data data.name data.subsets data.scaling arch arch.preset arch.hidden arch.input
    arch.classes arch.activation arch.stack likelihood likelihood.gaussian likelihood.gaussian.variance
    prior.variance prior.scaling infer infer.method infer.std infer.samples infer.optimise
    infer.optimise.epochs infer.optimise.batch infer.optimise.learning_rate infer.optimise.warmup infer.burn_in
    infer.thin infer.jitter evaluate evaluate.every evaluate.samples log log.every
";

/// The whole name of a setting, there or not.
fn name() -> impl Strategy<Value = String> {
    let known: Vec<&str> = KNOWN.split_whitespace().collect();
    prop_oneof![4 => prop::sample::select(known).prop_map(str::to_owned), 1 => "[a-z. \"=]{0,12}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_text_panics(text in "(\\PC|\n){0,200}", setting in "\\PC{0,20}") {
        let _ = read(&text, &[]);
        let _ = read(&text, &[&setting]);
        let _ = read(SHORTEST, &[&setting]);
    }

    #[test]
    fn no_lines_panic(lines in prop::collection::vec((name(), value()), 0..12), hmc: bool) {
        let text: Vec<String> = lines.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let _ = read(&text.join("\n"), &[]);
        // What an override makes of it is either refused or can be written and read.
        let overrides: Vec<String> = lines.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let overrides: Vec<&str> = overrides.iter().map(String::as_str).collect();
        if let Ok(config) = read(if hmc { HMC } else { SHORTEST }, &overrides) {
            prop_assert_eq!(read(&config.to_toml(), &[]).unwrap(), config);
        }
    }

    #[test]
    fn no_damage_panics(at: prop::sample::Index, skipped in 0..30usize, piece in "(\\PC|\n){0,10}", hmc: bool) {
        let text = if hmc { HMC } else { SHORTEST };
        let at = at.index(text.len());
        let _ = read(&format!("{}{piece}{}", &text[..at], &text[(at + skipped).min(text.len())..]), &[]);
    }
}
