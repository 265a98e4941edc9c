//! Trains on files of people's own, measures what was trained, and refuses files that are wrong or have changed.

use crate::harness::{Ended, Place};
use std::fs;
use std::process::Command;

/// A network on a file of its own, two epochs.
const OWN: &str = r#"
    data = { path = "my.npz", scaling = "standard" }
    arch = { preset = "mlp", hidden = [6] }
    prior.variance = 0.1
    evaluate.samples = 4
    infer = { method = "vi", optimise = { epochs = 10, batch = 10, learning_rate = 1e-2 } }
"#;

/// A network of convolutions on images with channels in front.
const CNN: &str = r#"
    data = { path = "images.npy", labels = "classes.npy", test_fraction = 0.25, augment = { crop = 1, flip = true } }
    arch = { preset = "cnn", stack = ["4", "max"] }
    prior.variance = 0.1
    evaluate.samples = 2
    infer = { method = "map", optimise = { epochs = 2, batch = 8, learning_rate = 1e-2 } }
"#;

/// A file of `numpy.save`.
fn npy(description: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{description}', 'fortran_order': False, 'shape': ({shape}), }}\n");
    [b"\x93NUMPY\x01\x00".as_slice(), &(header.len() as u16).to_le_bytes(), header.as_bytes(), data].concat()
}

/// A file of `numpy.savez`, without checksums.
fn npz(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in arrays {
        let (name, start) = (format!("{name}.npy"), file.len() as u32);
        let sizes = [[0; 4], (bytes.len() as u32).to_le_bytes(), (bytes.len() as u32).to_le_bytes()].concat();
        let common =
            [&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &sizes, &(name.len() as u16).to_le_bytes(), &[0, 0]].concat();
        file.extend([b"PK\x03\x04", &common[..], name.as_bytes(), bytes].concat());
        directory
            .extend([b"PK\x01\x02\x14\x00", &common[..], &[0; 10], &start.to_le_bytes(), name.as_bytes()].concat());
    }
    let (start, len, count) = (file.len() as u32, directory.len() as u32, (arrays.len() as u16).to_le_bytes());
    file.extend(directory);
    let counts = [count, count].concat();
    file.extend([b"PK\x05\x06\0\0\0\0", &counts[..], &len.to_le_bytes(), &start.to_le_bytes(), &[0, 0]].concat());
    file
}

/// Sixty vectors of three features, whose class the first two tell; `shift` makes other ones.
fn vectors(shift: f32) -> Vec<u8> {
    let feature = |index: usize| ((index * 7919) % 61) as f32 / 20.0 + shift;
    let values: Vec<f32> = (0..180).map(|index| feature(index) + 5.0 * f32::from(index % 3 == index / 3 % 3)).collect();
    let labels: Vec<u8> = (0..60).map(|index| index % 3).collect();
    let values: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    npz(&[("X", npy("<f4", "60, 3", &values)), ("y", npy("|u1", "60,", &labels))])
}

/// Any other command in the folder of the test.
fn onebasin(place: &Place, arguments: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onebasin"));
    command.args(arguments).current_dir(place.path("")).env_clear();
    Ended::from(command.output().unwrap())
}

fn finish(place: &Place, arguments: &[&str]) -> Ended {
    let ended = onebasin(place, arguments);
    assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
    ended
}

fn refused(place: &Place, arguments: &[&str], said: &[&str]) {
    let ended = onebasin(place, arguments);
    assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.stderr);
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    for text in said {
        assert!(ended.stderr.contains(text), "{arguments:?}: {}, not {text}", ended.stderr);
    }
}

#[test]
fn own_vectors_are_trained_on_aligned_and_measured_until_they_change() {
    let place = Place::with_config(OWN);
    fs::write(place.path("my.npz"), vectors(0.0)).unwrap();
    let first = place.finish("a", &[]);
    assert!(
        first.stderr.contains("my.npz: there is no test part, so 12 of 60 examples are held out"),
        "{}",
        first.stderr
    );
    place.finish("b", &["--set", "seed=1"]);
    let config = fs::read_to_string(place.path("a/config.toml")).unwrap();
    assert!(config.contains("input = \"1x1x3\"") && config.contains("classes = 3"), "{config}");
    assert!(config.contains("path = \"my.npz\"") && config.contains("sha256 = "), "{config}");
    assert!(place.finish("a", &[]).stderr.contains(": up to date"));

    let quick = ["--points", "3", "--samples", "2", "--replicates", "10"];
    let barrier = ["barrier", "a", "b", "--splits", "train,test", "-o", "barrier"];
    finish(&place, &[&barrier[..], &quick].concat());
    let measures = fs::read_to_string(place.path("barrier/measures.json")).unwrap();
    assert!(measures.contains("\"data\": \"my.npz\""), "{measures}");
    finish(&place, &["plane", "a", "b", "--samples", "2", "--points", "5", "-o", "plane"]);
    finish(&place, &["align", "a", "b", "--criteria", "activation", "-o", "activation"]);
    finish(&place, &["align", "a", "b", "--criteria", "learned", "-o", "learned"]);
    place.finish("chains", &["--set", "infer={ method = 'hmc', chains = 2, burn_in = 10, samples = 5 }"]);
    finish(&place, &["compact", "chains", "--draws", "4", "--distil", "2", "-o", "compact"]);
    assert!(finish(&place, &["show", "a"]).stdout.contains("my.npz"));

    // Values that are a little different: neither is up to date, nor may it be measured.
    fs::write(place.path("my.npz"), vectors(1.0)).unwrap();
    let again = place.train("a", &[]);
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("`data.sha256 = "), "{}", again.stderr);
    refused(&place, &["barrier", "a", "b", "-o", "other"], &["my.npz", "was changed", "train again"]);
    refused(&place, &["align", "a", "b", "--criteria", "activation", "-o", "other"], &["my.npz", "was changed"]);
    fs::remove_file(place.path("my.npz")).unwrap();
    refused(&place, &["barrier", "a", "b", "-o", "other"], &["`data.path`, relative to the current folder", "my.npz"]);
    assert!(!place.path("other").exists());
    fs::write(place.path("my.npz"), vectors(1.0)).unwrap();
    place.finish("a", &["--force"]);
}

#[test]
fn own_images_train_a_network_of_convolutions() {
    let place = Place::with_config(CNN);
    let images: Vec<u8> = (0..40 * 3 * 6 * 5).map(|index| (index * 31 % 251) as u8).collect();
    let labels: Vec<u8> = (0..40_i32).flat_map(|index| (index % 4).to_le_bytes()).collect();
    fs::write(place.path("images.npy"), npy("|u1", "40, 3, 6, 5", &images)).unwrap();
    fs::write(place.path("classes.npy"), npy("<i4", "40,", &labels)).unwrap();
    let trained = place.finish("run", &[]);
    for said in ["(example, channel, row, column)", "data.layout = \"hwc\"", "10 of 40 examples are held out"] {
        assert!(trained.stderr.contains(said), "{}", trained.stderr);
    }
    assert!(fs::read_to_string(place.path("run/config.toml")).unwrap().contains("input = \"6x5x3\""));
    let said = place.finish("said", &["--set", "data.layout=chw"]).stderr;
    assert!(!said.contains("data.layout"), "{said}");
    let weights = |name: &str| fs::read_to_string(place.path(name).join("metrics.jsonl")).unwrap();
    assert_eq!(weights("run"), weights("said"));
    let rows = "data.augment.crop=0";
    let other = place.train("other", &["--set", "data.layout=hwc", "--set", rows]);
    assert_eq!(other.code, Some(0), "{}", other.stderr);
    assert!(fs::read_to_string(place.path("other/config.toml")).unwrap().contains("input = \"3x6x5\""));
}

#[test]
fn an_experiment_trains_again_when_its_file_changes() {
    let place = Place::with_config(OWN);
    let train = OWN.replace("    ", "");
    let text = format!("title = \"own\"\n[barrier]\npoints = 3\nsamples = 2\nreplicates = 10\n[train]\n{train}");
    fs::write(place.path("own.toml"), text + "[sweep.train.prior]\nvariance = [0.1, 0.2]\n").unwrap();
    fs::write(place.path("my.npz"), vectors(0.0)).unwrap();
    let run = ["run", "own.toml", "-o", "own", "--threads", "1"];
    finish(&place, &run);
    let measures = || fs::read_to_string(place.path("own/measures.json")).unwrap();
    let (before, trained) = (measures(), place.names("own/posteriors"));
    assert!(before.contains("\"my.npz\": \""), "{before}");
    finish(&place, &run);
    assert_eq!((measures(), place.names("own/posteriors")), (before.clone(), trained.clone()));
    fs::write(place.path("my.npz"), vectors(1.0)).unwrap();
    finish(&place, &run);
    assert_ne!(measures(), before);
    assert!(place.names("own/posteriors").len() > trained.len());
    assert!(fs::read_to_string(place.path("own/report/report.md")).unwrap().contains("my.npz"));
}

#[test]
fn what_is_wrong_with_own_data_is_named_and_leaves_no_trace() {
    let place = Place::with_config(OWN);
    fs::write(place.path("my.npz"), vectors(0.0)).unwrap();
    let labelled = |labels: &[u8]| npz(&[("x", npy("<i2", "2, 1", &[1, 0, 2, 0])), ("y", npy("<f4", "2,", labels))]);
    let numbers = [0.25_f32, 1.0].map(f32::to_le_bytes).concat();
    for (name, bytes) in [
        ("cut.npz", vectors(0.0)[..500].to_vec()),
        ("nan.csv", b"a,b,class\n1,2,0\n1,nan,1\n".to_vec()),
        ("text.csv", b"a,b,class\n1,2,0\n1,x,1\n".to_vec()),
        ("regression.npz", labelled(&numbers)),
        ("regression.csv", b"1,0.5\n2,1.5\n".to_vec()),
        ("lengths.npz", npz(&[("x", npy("|u1", "3, 1", &[0; 3])), ("y", npy("|u1", "2,", &[0, 1]))])),
        ("objects.npz", npz(&[("x", npy("|u1", "2, 1", &[0; 2])), ("y", npy("|O", "2,", &[0; 40]))])),
        ("negative.npz", npz(&[("x", npy("|u1", "2, 1", &[0; 2])), ("y", npy("|i1", "2,", &[0, 255]))])),
        ("one.csv", b"1,0\n2,0\n3,0\n".to_vec()),
    ] {
        fs::write(place.path(name), bytes).unwrap();
    }
    let settings: &[(&[&str], &[&str])] = &[
        (&["data.path=cut.npz"], &["cut.npz", "damaged or incomplete"]),
        (&["data.path=none.npz"], &["none.npz", "`data.path`"]),
        (&["data.path=nan.csv"], &["nan.csv", "line 3, column 2 (`b`) is NaN"]),
        (&["data.path=text.csv"], &["text.csv", "line 3, column 2 (`b`) is `x`"]),
        (&["data.path=regression.npz"], &["regression.npz", "`y`", "only classifiers", "example 0 is 0.25"]),
        (&["data.path=regression.csv"], &["regression.csv", "only classifiers"]),
        (&["data.path=lengths.npz"], &["lengths.npz", "`y` has 2 examples, but `x` has 3"]),
        (&["data.path=objects.npz"], &["objects.npz", "`y` of Python objects"]),
        (&["data.path=negative.npz"], &["negative.npz", "`y[1]`", "is -1"]),
        (&["data.path=one.csv"], &["one.csv", "at least 2 classes"]),
        (&["data.path=3"], &["`data.path`"]),
        (&["data.name=digits"], &["`data.name` is digits", "`path`", "my.npz"]),
        (&["data={}"], &["`data.name` is missing", "`path`"]),
        (&["data={ nam = 'digits' }"], &["`nam`"]),
        (&["data={ name = 'digits', test_fraction = 0.1 }"], &["`data.test_fraction`", "`name`"]),
        (&["data={ name = 'digits', layout = 'hwc' }"], &["`data.layout`", "`name`"]),
        (&["data.test_fraction=0.0"], &["`data.test_fraction` is 0"]),
        (&["data.test_fraction=1.0"], &["`data.test_fraction` is 1"]),
        (&["data.test_fraction=nan"], &["`data.test_fraction`"]),
        (&["data.layout=rows"], &["`data.layout`"]),
        (&["data.layout=chw"], &["`data.layout`", "left out"]),
        (&["data.labels=none.npy"], &["none.npy"]),
        (&["data.sha256='00'"], &["my.npz", "was changed"]),
        (&["data.augment={ crop = 1 }"], &["`data.augment`"]),
        (&["arch.input=2x2x1"], &["2x2x1", "my.npz"]),
        (&["data.subsets=[\"classes:3\"]"], &["my.npz", "class 3"]),
    ];
    for (settings, said) in settings {
        let arguments: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
        let ended = place.train("run", &arguments);
        assert_eq!(ended.code, Some(2), "{settings:?}: {}", ended.stderr);
        for text in *said {
            assert!(ended.stderr.contains(text), "{settings:?}: {}, not {text}", ended.stderr);
        }
        assert!(!ended.stderr.contains("panicked") && !place.path("run").exists(), "{settings:?}: {}", ended.stderr);
    }
}
