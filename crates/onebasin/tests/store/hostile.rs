//! Files that are damaged, cut, made up, or lie about themselves: always an error with the file's name, never a panic, and
//! never memory for what is not in the file.

use crate::{checkpoint, posteriors};
use onebasin::store::{Checkpoint, StoredPosterior, StoredSamples};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;

/// The largest piece of memory that anybody here asked for.
static LARGEST: AtomicUsize = AtomicUsize::new(0);

/// More than any test needs, and far less than what hostile files ask for.
const ENOUGH: usize = 1 << 26;

struct Noting;

#[global_allocator]
static NOTING: Noting = Noting;

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are the ones asked for.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are the ones asked for.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.fetch_max(size, Ordering::Relaxed);
        // SAFETY: the caller's promises are the ones asked for.
        unsafe { System.realloc(pointer, layout, size) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are the ones asked for.
        unsafe { System.dealloc(pointer, layout) }
    }
}

thread_local! {
    /// One for all files of a test: there are thousands.
    static FOLDER: TempDir = TempDir::new().unwrap();
}

/// What reading these bytes as a posterior and as a state says, if it is an error; each names the file.
fn errors(bytes: &[u8]) -> [Option<String>; 2] {
    let path = FOLDER.with(|folder| folder.path().join("a file.safetensors"));
    // Some file systems wait for the disk when a file is overwritten.
    let _ = std::fs::remove_file(&path);
    std::fs::write(&path, bytes).unwrap();
    let errors = [StoredPosterior::read(&path).err(), Checkpoint::read(&path).err()];
    if errors[0].is_some() {
        assert!(StoredSamples::open(&path).unwrap_err().to_string().starts_with(path.to_str().unwrap()));
    }
    assert!(LARGEST.load(Ordering::Relaxed) < ENOUGH, "{} bytes", LARGEST.load(Ordering::Relaxed));
    errors.map(|error| {
        let said = error?.to_string();
        assert!(said.starts_with(path.to_str().unwrap()), "{said}");
        Some(said)
    })
}

fn assert_refused(bytes: &[u8]) {
    assert!(errors(bytes).iter().all(Option::is_some), "{} bytes", bytes.len());
}

/// The bytes of a point, a Gaussian, samples, a Gaussian of low rank and a state.
static FILES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file");
    let mut files = Vec::new();
    for stored in posteriors() {
        stored.write(&path).unwrap();
        files.push(std::fs::read(&path).unwrap());
    }
    checkpoint().write(&path).unwrap();
    files.push(std::fs::read(&path).unwrap());
    files
});

const POINT: usize = 0;
const GAUSSIAN: usize = 1;
const SAMPLES: usize = 2;
const LOW_RANK: usize = 3;
const STATE: usize = 4;

fn parts(file: usize) -> (Value, &'static [u8]) {
    let bytes = &FILES[file];
    let len = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    (serde_json::from_slice(&bytes[8..8 + len]).unwrap(), &bytes[8 + len..])
}

fn assemble(header: &[u8], values: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header, values].concat()
}

/// A file with another header.
fn with_header(file: usize, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let (mut header, values) = parts(file);
    change(&mut header);
    assemble(header.to_string().as_bytes(), values)
}

/// A file with other metadata of ours.
fn with_metadata(file: usize, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    with_header(file, |header| {
        let text = &mut header["__metadata__"]["onebasin"];
        let mut metadata: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
        change(&mut metadata);
        *text = metadata.to_string().into();
    })
}

#[test]
fn untouched_files_are_read() {
    for file in 0..=LOW_RANK {
        assert_eq!(errors(&FILES[file])[0], None);
        assert_eq!(errors(&with_header(file, |_| {}))[0], None);
        assert_eq!(errors(&with_metadata(file, |_| {}))[0], None);
    }
    assert_eq!(errors(&with_metadata(STATE, |_| {}))[1], None);
}

#[test]
fn one_kind_is_not_read_as_another() {
    for file in 0..=LOW_RANK {
        assert!(errors(&FILES[file])[1].is_some());
    }
    assert!(errors(&FILES[STATE])[0].is_some());
}

#[test]
fn no_beginning_of_a_file_is_a_file() {
    for file in FILES.iter() {
        for len in 0..file.len() {
            assert_refused(&file[..len]);
        }
        assert_refused(&[&file[..], b"x"].concat());
    }
}

#[test]
fn headers_that_lie_about_their_length_are_refused() {
    for len in [0, 1, 7, 1 << 20, 99_999_999, 100_000_000, 1 << 32, i64::MAX as u64, u64::MAX - 8, u64::MAX] {
        for file in FILES.iter() {
            assert_refused(&[&len.to_le_bytes(), &file[8..]].concat());
        }
    }
}

#[test]
fn headers_that_are_no_headers_are_refused() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for header in ["", "{", "[]", "null", "{}", "\"text\"", r#"{"__metadata__": 3}"#, r#"{"a": {}}"#, &deep] {
        assert_refused(&assemble(header.as_bytes(), &[]));
    }
    assert_refused(&assemble(b"\xff\xfe", &[]));
    for file in 0..=STATE {
        assert_refused(&with_header(file, |header| _ = header.as_object_mut().unwrap().remove("__metadata__")));
        for text in ["", "{", "3", "{}", "[]", &deep] {
            assert_refused(&with_header(file, |header| header["__metadata__"]["onebasin"] = text.into()));
        }
        assert_refused(&with_header(file, |header| header["__metadata__"] = json!({ "format": "pt" })));
    }
}

#[test]
fn tensors_that_are_not_the_ones_expected_are_refused_by_name() {
    for (file, name) in [
        (POINT, "head.bias"),
        (GAUSSIAN, "std/hidden1.weight"),
        (SAMPLES, "hidden1.bias"),
        (LOW_RANK, "factor/head.bias"),
    ] {
        let said = |change: &dyn Fn(&mut Value)| {
            let bytes = with_header(file, |header| change(&mut header[name]));
            errors(&bytes)[0].clone().expect("it is refused")
        };
        let shape = parts(file).0[name]["shape"].clone();
        let len: u64 = shape.as_array().unwrap().iter().map(|axis| axis.as_u64().unwrap()).product();
        // Of the right size, but not what they should be.
        for dtype in ["I32", "U32"] {
            assert!(said(&|tensor| tensor["dtype"] = dtype.into()).contains(name));
        }
        for shape in [json!([len]), json!([1, len]), json!([len, 1, 1])] {
            if shape != parts(file).0[name]["shape"] {
                assert!(said(&|tensor| tensor["shape"] = shape.clone()).contains(name));
            }
        }
        for shape in [json!([]), json!([0]), json!([u64::MAX]), json!([u64::MAX, u64::MAX]), json!([1u64 << 62, 4])] {
            said(&|tensor| tensor["shape"] = shape.clone());
        }
        for dtype in ["F64", "F16", "BOOL", "F128"] {
            said(&|tensor| tensor["dtype"] = dtype.into());
        }
        let end = 4 * len;
        for offsets in
            [[0, end], [1, end + 1], [8, 4], [0, u64::MAX], [u64::MAX - 4, u64::MAX], [1 << 40, (1 << 40) + end]]
        {
            let overlapping = with_header(file, |header| header[name]["data_offsets"] = json!(offsets));
            if overlapping != with_header(file, |_| {}) {
                assert!(errors(&overlapping)[0].is_some(), "{name} {offsets:?}");
            }
        }
        let missing = with_header(file, |header| _ = header.as_object_mut().unwrap().remove(name));
        assert!(errors(&missing)[0].is_some());
        let renamed = with_header(file, |header| {
            let tensor = header.as_object_mut().unwrap().remove(name).unwrap();
            header["another"] = tensor;
        });
        assert!(errors(&renamed)[0].as_ref().unwrap().contains(&format!("no tensor `{name}`")));
    }
}

#[test]
fn metadata_that_name_something_else_or_enormous_are_refused() {
    let most = i64::MAX as u64;
    for file in 0..=LOW_RANK {
        for arch in [
            json!({"preset": "mlp", "input": "2x3x1", "classes": 3, "hidden": [5]}),
            json!({"preset": "mlp", "input": "2x3x1", "classes": 3, "hidden": []}),
            json!({"preset": "mlp", "input": "2x3x1", "classes": 1 << 27, "hidden": [1 << 27]}),
            json!({"preset": "mlp", "input": "2x3x1", "classes": 3, "hidden": [4, 1 << 27]}),
            json!({"preset": "mlp", "input": "2x3x1", "classes": 3, "hidden": [4, most]}),
            json!({"preset": "mlp", "input": "2x3x1", "classes": most, "hidden": [4]}),
            json!({"preset": "mlp", "input": "16384x16384x1", "classes": 3, "hidden": [4]}),
            json!({"preset": "mlp", "input": format!("{most}x{most}x{most}"), "classes": 3, "hidden": [4]}),
            json!({"preset": "mlp", "input": "0x0x0", "classes": 3, "hidden": [4]}),
            json!({"preset": "mlp", "input": "2x3x1", "classes": 3, "hidden": vec![1 << 20; 10_000]}),
            json!({"preset": "resnet", "input": "32x32x3", "classes": 10, "depth": 1202, "width": 1000}),
            json!({"preset": "resnet", "input": "32x32x3", "classes": 10, "depth": most}),
            json!({"preset": "resnet", "input": "32x32x3", "classes": 10, "width": most}),
            json!({"preset": "cnn", "input": "32x32x3", "classes": 10, "stack": ["99999999/2", "max"]}),
            json!({"preset": "oracle"}),
        ] {
            assert_refused(&with_metadata(file, |metadata| metadata["provenance"]["arch"] = arch.clone()));
        }
        for kind in ["point", "gaussian", "samples", "low-rank", "oracle", ""] {
            let bytes = with_metadata(file, |metadata| {
                let own = metadata["kind"].as_str().unwrap().to_owned();
                metadata["kind"] = (if own == kind { "oracle" } else { kind }).into();
            });
            assert_refused(&bytes);
        }
        for field in ["arch", "likelihood", "standardisation", "seed"] {
            assert_refused(&with_metadata(file, |metadata| metadata["provenance"][field] = json!([1, 2])));
        }
    }
    for (field, value) in
        [("samples", json!(0)), ("samples", json!(5)), ("samples", json!(most)), ("samples", json!(u64::MAX))]
            .into_iter()
            .chain([("chains", json!(0)), ("chains", json!(4)), ("chains", json!(u64::MAX)), ("chains", json!(-1))])
    {
        assert_refused(&with_metadata(SAMPLES, |metadata| metadata[field] = value.clone()));
    }
    for rank in [json!(0), json!(2), json!(most), json!(u64::MAX), json!(-1), json!(null)] {
        assert_refused(&with_metadata(LOW_RANK, |metadata| metadata["rank"] = rank.clone()));
    }
}

#[test]
fn states_that_lie_about_themselves_are_refused() {
    for (field, value) in [
        ("numbers", json!([])),
        ("numbers", json!(["x"])),
        ("numbers", json!(3)),
        ("vectors", json!([["nowhere", 5]])),
        ("vectors", json!([["a", 4]])),
        ("vectors", json!([["a", u64::MAX]])),
        ("vectors", json!([["a", 1u64 << 62]])),
        ("vectors", json!({})),
        ("run", json!({})),
        ("run", json!({"log_bytes": -1, "samples": 0, "last": {}, "event_bytes": 0})),
    ] {
        let bytes = with_metadata(STATE, |metadata| metadata[field] = value.clone());
        assert!(errors(&bytes)[1].is_some(), "{field} {value}");
    }
}

#[test]
fn no_bit_of_a_state_can_be_wrong() {
    let (_, values) = parts(STATE);
    let start = FILES[STATE].len() - values.len();
    for bit in 0..8 * values.len() {
        let mut bytes = FILES[STATE].clone();
        bytes[start + bit / 8] ^= 1 << (bit % 8);
        assert!(errors(&bytes)[1].as_ref().is_some_and(|said| said.contains("checksum")), "bit {bit}");
    }
    let bytes = with_metadata(STATE, |metadata| metadata["run"]["log_bytes"] = json!(1));
    assert!(errors(&bytes)[1].as_ref().is_some_and(|said| said.contains("checksum")));
}

#[test]
fn a_header_that_has_a_name_twice_is_refused() {
    let (header, values) = parts(POINT);
    let header = header.to_string();
    let name = "head.bias";
    let entry = format!("{{\"{name}\":{{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}},");
    let said = errors(&assemble(header.replacen('{', &entry, 1).as_bytes(), values))[0].clone().unwrap();
    assert!(said.contains(&format!("`{name}` is in it twice")), "{said}");
}

#[test]
fn a_standard_deviation_below_zero_is_refused_by_name() {
    let (header, _) = parts(GAUSSIAN);
    let at = header["std/head.bias"]["data_offsets"][0].as_u64().unwrap() as usize;
    let mut bytes = FILES[GAUSSIAN].clone();
    let at = bytes.len() - parts(GAUSSIAN).1.len() + at;
    bytes[at..at + 4].copy_from_slice(&(-0.5f32).to_le_bytes());
    let said = errors(&bytes)[0].clone().unwrap();
    assert!(said.contains("`head.bias`") && said.contains("-0.5"), "{said}");
}

#[test]
fn what_is_no_file_is_an_error() {
    let folder = TempDir::new().unwrap();
    for path in [folder.path().to_owned(), folder.path().join("nowhere")] {
        for error in [StoredPosterior::read(&path).unwrap_err(), Checkpoint::read(&path).unwrap_err()] {
            assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Values have no checksum, so some of these are read; none may panic.
    #[test]
    fn flipped_bits_do_no_harm(file in 0..4usize, flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8u32), 1..4)) {
        let mut bytes = FILES[file].clone();
        for (at, bit) in flips {
            let len = bytes.len();
            bytes[at.index(len)] ^= 1 << bit;
        }
        errors(&bytes);
    }

    #[test]
    fn replaced_pieces_do_no_harm(
        file in 0..4usize, at: prop::sample::Index, piece in prop::collection::vec(any::<u8>(), 0..20), skipped in 0..20usize
    ) {
        let whole = &FILES[file];
        let at = at.index(whole.len());
        let rest = &whole[(at + skipped).min(whole.len())..];
        errors(&[&whole[..at], &piece[..], rest].concat());
    }

    #[test]
    fn numbers_and_names_of_headers_can_be_anything(file in 0..4usize, which: prop::sample::Index, with in "[0-9]{1,20}|-1|null|\"F32\"|\\[\\]|\\{\\}") {
        let (header, values) = parts(file);
        let text = header.to_string();
        let places: Vec<_> = text.match_indices(|c: char| c.is_ascii_digit()).map(|(at, _)| at).collect();
        let at = places[which.index(places.len())];
        let end = text[at..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |end| at + end);
        errors(&assemble(format!("{}{with}{}", &text[..at], &text[end..]).as_bytes(), values));
    }

    #[test]
    fn noise_is_refused(header in prop::collection::vec(any::<u8>(), 0..200), values in prop::collection::vec(any::<u8>(), 0..50)) {
        assert_refused(&header);
        assert_refused(&assemble(&header, &values));
    }
}
