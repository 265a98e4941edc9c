//! Reads files of people's own: every type and shape, every mistake, and damaged bytes.

use onebasin::data::arrays::{self, Arrays, Layout, Targets};
use onebasin::data::{Own, Split, Values};
use onebasin::error::Result;
use proptest::prelude::*;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A file of `numpy.save`.
fn npy(description: &str, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let sizes: Vec<String> = shape.iter().map(|size| format!("{size},")).collect();
    let sizes = sizes.concat();
    let header = format!("{{'descr': '{description}', 'fortran_order': False, 'shape': ({sizes}), }}\n");
    [b"\x93NUMPY\x01\x00".as_slice(), &(header.len() as u16).to_le_bytes(), header.as_bytes(), data].concat()
}

fn floats(shape: &[usize], values: &[f32]) -> Vec<u8> {
    npy("<f4", shape, &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
}

fn wholes(shape: &[usize], values: &[i64]) -> Vec<u8> {
    npy("<i8", shape, &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
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

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn read(&self, arrays: &[(&str, Vec<u8>)]) -> Result<Arrays> {
        arrays::read(&self.file("my.npz", &npz(arrays)), None)
    }

    /// The message of a file that is refused, which begins with its path.
    fn refused(&self, arrays: &[(&str, Vec<u8>)]) -> String {
        let error = self.read(arrays).unwrap_err().to_string();
        assert!(error.contains("my.npz"), "{error}");
        error
    }

    fn own(&self, arrays: &[(&str, Vec<u8>)]) -> Own {
        Own { path: self.file("my.npz", &npz(arrays)), labels: None, layout: None, test_fraction: None }
    }
}

fn classes(labels: &[u32], classes: usize) -> Targets {
    Targets::Classes { labels: labels.to_vec(), classes }
}

#[test]
fn every_type_of_numbers_is_read() {
    let place = Place::new();
    for (description, bytes, expected) in [
        ("|u1", vec![1, 200], Values::Pixels(vec![1, 200])),
        ("|i1", vec![1, 200], Values::Numbers(vec![1.0, -56.0])),
        ("|b1", vec![1, 0], Values::Numbers(vec![1.0, 0.0])),
        ("<u2", vec![0, 1, 2, 0], Values::Numbers(vec![256.0, 2.0])),
        (">u2", vec![0, 1, 2, 0], Values::Numbers(vec![1.0, 512.0])),
        ("<i4", [7_i32, -8].map(i32::to_le_bytes).concat(), Values::Numbers(vec![7.0, -8.0])),
        ("<i8", [7_i64, -8].map(i64::to_le_bytes).concat(), Values::Numbers(vec![7.0, -8.0])),
        ("<f2", vec![0x00, 0x3c, 0x00, 0xc0], Values::Numbers(vec![1.0, -2.0])),
        ("<f4", [0.5_f32, -8.0].map(f32::to_le_bytes).concat(), Values::Numbers(vec![0.5, -8.0])),
        ("<f8", [0.5_f64, -8.0].map(f64::to_le_bytes).concat(), Values::Numbers(vec![0.5, -8.0])),
    ] {
        let found = place.read(&[("x", npy(description, &[2, 1], &bytes)), ("y", wholes(&[2], &[0, 1]))]).unwrap();
        assert_eq!((found.inputs.values, found.inputs.shape), (expected, vec![1]), "{description}");
        assert_eq!(found.targets, classes(&[0, 1], 2));
    }
}

#[test]
fn targets_are_classes_or_numbers() {
    let place = Place::new();
    let read = |y: Vec<u8>| place.read(&[("Inputs", floats(&[2, 1], &[1.0, 2.0])), ("LABELS", y)]).unwrap().targets;
    assert_eq!(read(wholes(&[2], &[0, 4])), classes(&[0, 4], 5));
    assert_eq!(read(wholes(&[2, 1], &[1, 0])), classes(&[1, 0], 2));
    assert_eq!(read(floats(&[2], &[1.0, 0.0])), classes(&[1, 0], 2));
    assert_eq!(read(npy("|b1", &[2], &[1, 0])), classes(&[1, 0], 2));
    for values in [[0.0, 0.5], [-1.0, 1.0], [0.0, 2e6]] {
        assert_eq!(read(floats(&[2], &values)), Targets::Numbers { values: values.to_vec(), each: 1 });
    }
    let several = vec![0.0, 1.0, 1.0, 0.0];
    assert_eq!(read(floats(&[2, 2], &several)), Targets::Numbers { values: several, each: 2 });
}

#[test]
fn parts_pairs_and_inputs_alone_are_found() {
    let place = Place::new();
    let x = || floats(&[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let (few, y) = (floats(&[1, 2], &[7.0, 8.0]), wholes(&[3], &[0, 1, 0]));
    let own =
        place.own(&[("train_images", x()), ("Y_train", y.clone()), ("x_test", few), ("y_test", wholes(&[1], &[4]))]);
    let summary = own.summary().unwrap();
    assert_eq!(
        (summary.train, summary.test, summary.classes, summary.shape.to_string()),
        (3, 1, 5, "1x1x2".to_owned())
    );
    assert_eq!(summary.assumed, [""; 0]);
    let [train, test] = [Split::Train, Split::Test].map(|split| own.load(split).unwrap());
    assert_eq!((train.labels(), train.classes(), test.labels(), test.classes()), (&[0, 1, 0][..], 5, &[4][..], 5));
    assert_eq!(test.values(), &Values::Numbers(vec![7.0, 8.0]));
    let error = Own { test_fraction: Some(0.5), ..own }.load(Split::Train).unwrap_err().to_string();
    assert!(error.contains("`test_fraction` is 0.5") && error.contains("has a test part"), "{error}");

    let (inputs, labels) = (place.file("x.npy", &x()), place.file("labels.npy", &y));
    let pair = arrays::read(&inputs, Some(&labels)).unwrap();
    assert_eq!((pair.inputs.examples, pair.targets), (3, classes(&[0, 1, 0], 2)));
    assert_eq!(arrays::read_inputs(&inputs).unwrap().shape, [2]);
    let text = place.file("my.csv", b"a,b,class\n1,2,0\n3,4,1\n5,6,0\n");
    assert_eq!(arrays::read(&text, None).unwrap().inputs.values, pair.inputs.values);
    let error = arrays::read(&inputs, None).unwrap_err().to_string();
    assert!(error.contains("x.npy") && error.contains("no inputs with targets"), "{error}");
}

#[test]
fn images_are_arranged_and_the_raw_order_is_kept() {
    let place = Place::new();
    let images: Vec<u8> = (0..2 * 3 * 2 * 2).collect();
    let own = place.own(&[("x", npy("|u1", &[2, 3, 2, 2], &images)), ("y", wholes(&[2], &[0, 1]))]);
    assert_eq!(arrays::read(&own.path, None).unwrap().inputs.values, Values::Pixels(images.clone()));
    let summary = own.summary().unwrap();
    assert_eq!(summary.shape.to_string(), "2x2x3");
    assert!(summary.assumed[0].contains("(example, channel, row, column)"), "{:?}", summary.assumed);
    assert!(summary.assumed[1].contains("1 of 2 examples are held out"), "{:?}", summary.assumed);
    let both = [Split::Train, Split::Test].map(|split| own.load(split).unwrap().pixels()[..3].to_vec());
    assert!(both.contains(&vec![0, 4, 8]) && both.contains(&vec![12, 16, 20]), "{both:?}");
    let raw = Own { layout: Some(Layout::Hwc), ..own.clone() }.summary().unwrap();
    assert_eq!((raw.shape.to_string(), raw.assumed.len()), ("3x2x2".to_owned(), 1));
    let deep = place.own(&[("x", floats(&[2, 1, 1, 1, 1], &[0.0, 1.0])), ("y", wholes(&[2], &[0, 1]))]);
    let error = deep.load(Split::Train).unwrap_err().to_string();
    assert!(error.contains("my.npz") && error.contains("(1, 1, 1, 1)"), "{error}");
}

#[test]
fn held_out_examples_are_always_the_same_and_disjoint() {
    let place = Place::new();
    let (x, y): (Vec<f32>, Vec<i64>) = (0..100).map(|index| (index as f32, i64::from(index % 3))).unzip();
    let own = place.own(&[("data", floats(&[100], &x)), ("target", wholes(&[100], &y))]);
    for (fraction, count) in [(None, 20), (Some(0.5), 50), (Some(1e-9), 1), (Some(0.999_999), 99)] {
        let own = Own { test_fraction: fraction, ..own.clone() };
        let read = |split: Split| match own.load(split).unwrap().values() {
            Values::Numbers(numbers) => numbers.clone(),
            Values::Pixels(_) => panic!("they are numbers"),
        };
        let (train, test) = (read(Split::Train), read(Split::Test));
        assert_eq!((test.len(), read(Split::Test)), (count, test.clone()));
        assert!(train.is_sorted() && test.is_sorted());
        let mut both = [train, test].concat();
        both.sort_by(f32::total_cmp);
        assert_eq!(both, x);
    }
    let first = own.load(Split::Test).unwrap();
    assert_eq!(first.values(), &Values::Numbers(HELD_OUT.iter().map(|index| *index as f32).collect()));
    let one = place.own(&[("x", floats(&[1, 1], &[0.0])), ("y", wholes(&[1], &[1]))]);
    assert!(one.load(Split::Test).unwrap_err().to_string().contains("it has 1 examples"));
}

/// Results depend on which examples are held out.
const HELD_OUT: [u32; 20] = [7, 21, 22, 25, 30, 34, 41, 48, 56, 57, 58, 61, 73, 74, 82, 88, 92, 94, 97, 98];

#[test]
fn what_is_wrong_with_an_array_is_named() {
    let place = Place::new();
    let (x, y) = (floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0]), wholes(&[2], &[0, 1]));
    let with_x = |x: Vec<u8>| place.refused(&[("x", x), ("y", y.clone())]);
    let with_y = |labels: Vec<u8>| place.refused(&[("x", x.clone()), ("y", labels)]);
    for (error, said) in [
        (with_x(floats(&[2, 2], &[1.0, 2.0, 3.0, f32::NAN])), "`x[1, 1]` (row 1, column 1, counted from 0) is NaN"),
        (
            with_x(floats(&[2, 2], &[1.0, f32::INFINITY, 3.0, 4.0])),
            "`x[0, 1]` (row 0, column 1, counted from 0) is inf",
        ),
        (with_x(npy("<f8", &[2, 1], &[0.0, 1e300].map(f64::to_le_bytes).concat())), "not a finite number of 32 bits"),
        (with_x(floats(&[0, 2], &[])), "`x` has no examples (its shape is (0, 2))"),
        (with_x(floats(&[2, 0], &[])), "`x` is empty"),
        (with_x(floats(&[], &[1.0])), "`x` is a single number"),
        (with_x(npy("<c8", &[2], &[0; 16])), "`x` has elements of the type c64"),
        (with_x(npy("<U3", &[2], &[0; 24])), "number the classes"),
        (with_x(npy("|O", &[2], &[0; 24])), "array `x` of Python objects"),
        (with_x(floats(&[3, 2], &[0.0; 6])), "`y` has 2 examples, but `x` has 3"),
        (with_x(floats(&[2, 9], &[0.0; 4])), "reaches beyond"),
        (with_x(floats(&[usize::MAX, 9], &[0.0; 4])), "too large"),
        (with_y(wholes(&[2], &[0, -1])), "`y[1]` (example 1, counted from 0) is -1; a class is a whole number from 0"),
        (with_y(wholes(&[2], &[0, 1 << 20])), "is 1048576; a class"),
        (with_y(wholes(&[2], &[i64::MAX, 0])), "is 9223372036854776"),
        (with_y(floats(&[2], &[0.5, f32::NAN])), "`y[1]` (example 1, counted from 0) is NaN"),
        (with_y(npy("|O", &[2], &[0; 24])), "array `y` of Python objects"),
        (place.refused(&[("x", x.clone())]), "no targets for `x`"),
        (place.refused(&[("y", y.clone())]), "no inputs for `y`"),
        (place.refused(&[("a", x.clone()), ("b", y.clone())]), "it has `a`, `b`"),
        (place.refused(&[]), "it has nothing"),
        (place.refused(&[("x", x.clone()), ("X", x.clone()), ("y", y.clone())]), "both `x` and `X`"),
        (place.refused(&[("x", x.clone()), ("y", y.clone()), ("x_test", x.clone())]), "no targets for `x_test`"),
    ] {
        assert!(error.contains(said), "{error}, not {said}");
    }
    let both = [("x", x.clone()), ("y", y.clone()), ("x_train", x.clone()), ("y_train", y.clone())];
    assert!(place.refused(&both).contains("a training part beside"));
    let differ = [("x_train", x.clone()), ("y_train", y.clone()), ("x_test", floats(&[2], &[0.0; 2])), ("y_test", y)];
    assert!(place.refused(&differ).contains("`x_test` has the shape (2)"));
}

#[test]
fn regressions_are_no_data_sets() {
    let place = Place::new();
    let x = || floats(&[3, 1], &[1.0, 2.0, 3.0]);
    for (y, said) in [
        (floats(&[3], &[1.0, 0.25, 2.0]), "that of example 1 is 0.25"),
        (floats(&[3], &[1.0, 0.0, -2.0]), "that of example 2 is -2"),
        (floats(&[3, 2], &[0.0; 6]), "each example has 2"),
    ] {
        let own = place.own(&[("x", x()), ("y", y)]);
        for error in [own.summary().unwrap_err(), own.load(Split::Test).unwrap_err()] {
            let error = error.to_string();
            assert!(error.contains(said) && error.contains("only classifiers are trained"), "{error}");
        }
    }
    let one_class = place.own(&[("x", x()), ("y", wholes(&[3], &[0; 3]))]);
    assert!(one_class.load(Split::Train).unwrap_err().to_string().contains("at least 2 classes"));
}

#[test]
fn files_that_are_none_are_refused() {
    let place = Place::new();
    let missing = arrays::read(&place.0.path().join("none.npz"), None).unwrap_err().to_string();
    assert!(missing.contains("none.npz"), "{missing}");
    for (name, bytes) in [
        ("empty.npz", &b""[..]),
        ("empty.npy", b""),
        ("empty.csv", b""),
        ("other", b""),
        ("binary.csv", b"\x00\xff\x01"),
        ("other.bin", b"\xff\xfe\xfd"),
        ("start.npz", b"PK\x03\x04"),
        ("start", b"\x93NUMPY"),
    ] {
        let error = arrays::read(&place.file(name, bytes), None).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}

proptest! {
    #[test]
    fn damaged_files_are_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        keep in any::<prop::sample::Index>(),
        cut: bool,
    ) {
        let place = Place::new();
        let x = floats(&[4, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        let mut bytes = npz(&[("x", x), ("y", wholes(&[4], &[0, 1, 0, 2]))]);
        for (index, byte) in changes {
            let len = bytes.len();
            bytes[index.index(len)] = byte;
        }
        if cut {
            bytes.truncate(keep.index(bytes.len()));
        }
        let own = Own { path: place.file("my.npz", &bytes), labels: None, layout: None, test_fraction: None };
        let _ = own.summary();
        if let Ok(found) = arrays::read(&own.path, None) {
            let values = match found.inputs.values {
                Values::Pixels(pixels) => pixels.len(),
                Values::Numbers(numbers) => numbers.len(),
            };
            prop_assert_eq!(values, found.inputs.examples * found.inputs.shape.iter().product::<usize>());
            prop_assert!(values <= bytes.len());
        }
        for split in [Split::Train, Split::Test] {
            if let Err(error) = own.load(split) {
                prop_assert!(error.to_string().contains("my.npz"), "{}", error);
            }
        }
    }
}
