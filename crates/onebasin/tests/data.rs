//! Data sets in files: what is written is read, and no file, however damaged, does more than cause an error.

use flate2::Compression;
use flate2::write::GzEncoder;
use onebasin::data::{Dataset, Split, Verify, load, read};
use onebasin::error::{Error, Result};
use proptest::prelude::*;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const TRAIN_IMAGES: &str = "mnist/train-images-idx3-ubyte";
const TRAIN_LABELS: &str = "mnist/train-labels-idx1-ubyte";
const CIFAR10_TEST: &str = "cifar10/cifar-10-batches-bin/test_batch.bin";
const CIFAR100_TEST: &str = "cifar100/cifar-100-binary/test.bin";
const COLOUR: usize = 32 * 32 * 3;

/// A data directory that vanishes at the end of a test.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    fn load(&self, name: &str, split: Split) -> Result<Dataset> {
        read(name, split, self.0.path(), Verify::Format)
    }
    /// The message of the error that loading ends in, without the name of the folder.
    fn complaint(&self, name: &str, split: Split) -> String {
        let folder = format!("{}{}", self.0.path().display(), std::path::MAIN_SEPARATOR);
        self.load(name, split).unwrap_err().to_string().replace(&folder, "").replace('\\', "/")
    }
}

/// Bytes that differ from their neighbours.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index * 7 % 251) as u8).collect()
}

fn idx(magic: u32, sizes: &[u32], body: &[u8]) -> Vec<u8> {
    let header = [&[magic], sizes].concat();
    header.iter().flat_map(|word| word.to_be_bytes()).chain(body.iter().copied()).collect()
}

fn idx_images(count: u32) -> Vec<u8> {
    idx(0x803, &[count, 28, 28], &pattern(count as usize * 784))
}

fn idx_labels(labels: &[u8]) -> Vec<u8> {
    idx(0x801, &[labels.len() as u32], labels)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Records with these labels before each image.
fn cifar(labels: &[&[u8]]) -> Vec<u8> {
    let pixels = pattern(labels.len() * COLOUR);
    labels.iter().zip(pixels.chunks(COLOUR)).flat_map(|(labels, image)| [labels, image].concat()).collect()
}

#[test]
fn idx_files_are_read_packed_or_not() {
    let folder = Folder::new();
    folder.write(&format!("{TRAIN_IMAGES}.gz"), &gzip(&idx_images(3)));
    folder.write(TRAIN_LABELS, &idx_labels(&[7, 0, 9]));
    let set = folder.load("mnist", Split::Train).unwrap();
    assert_eq!((set.name(), set.shape().to_string(), set.classes()), ("mnist", "28x28x1".to_owned(), 10));
    assert_eq!((set.pixels(), set.labels(), set.full_scale()), (&pattern(3 * 784)[..], &[7, 0, 9][..], 255));
}

#[test]
fn of_two_forms_the_published_one_is_read() {
    let folder = Folder::new();
    folder.write(TRAIN_IMAGES, b"damaged");
    folder.write(&format!("{TRAIN_IMAGES}.gz"), &gzip(&idx_images(1)));
    folder.write(&format!("{TRAIN_LABELS}.gz"), &gzip(&idx_labels(&[1])));
    assert_eq!(folder.load("mnist", Split::Train).unwrap().len(), 1);
}

#[test]
fn cifar_planes_become_channels() {
    let folder = Folder::new();
    folder.write(CIFAR100_TEST, &cifar(&[&[19, 99], &[0, 3]]));
    let set = folder.load("cifar100", Split::Test).unwrap();
    assert_eq!((set.labels(), set.shape().to_string()), (&[99, 3][..], "32x32x3".to_owned()));
    let stored = pattern(2 * COLOUR);
    for (image, planes) in set.pixels().chunks(COLOUR).zip(stored.chunks(COLOUR)) {
        for (position, colour) in image.chunks(3).enumerate() {
            assert_eq!(colour, [0, 1, 2].map(|channel| planes[channel * 1024 + position]));
        }
    }
}

#[test]
fn other_images_do_not_pass_under_the_name_of_published_ones() {
    let folder = Folder::new();
    folder.write(TRAIN_IMAGES, &idx_images(2));
    folder.write(TRAIN_LABELS, &idx_labels(&[1, 2]));
    folder.write(CIFAR10_TEST, &cifar(&[&[1], &[0]]));
    assert_eq!(folder.load("mnist", Split::Train).unwrap().len(), 2);
    for (name, split, file) in [("mnist", Split::Train, TRAIN_IMAGES), ("cifar10", Split::Test, CIFAR10_TEST)] {
        let error = load(name, split, folder.0.path()).unwrap_err().to_string();
        assert!(error.contains(file) && error.contains("its SHA-256 is "), "{error}");
        assert!(error.ends_with(&format!("`onebasin data get {name}` replaces it")), "{error}");
    }
}

#[test]
fn the_five_batches_of_cifar10_are_joined_in_order() {
    let folder = Folder::new();
    for batch in 1..=5u8 {
        folder.write(&format!("cifar10/cifar-10-batches-bin/data_batch_{batch}.bin"), &cifar(&[&[batch], &[0]]));
    }
    assert_eq!(folder.load("cifar10", Split::Train).unwrap().labels(), [1, 0, 2, 0, 3, 0, 4, 0, 5, 0]);
    assert!(matches!(folder.load("cifar10", Split::Test), Err(Error::NoFile { .. })));
}

#[test]
fn a_missing_file_tells_how_to_get_it() {
    assert_eq!(
        Folder::new().complaint("mnist", Split::Train),
        "there is no file mnist/train-images-idx3-ubyte.gz; `onebasin data get mnist` downloads it"
    );
}

#[test]
fn a_folder_in_place_of_a_file_is_an_error() {
    let folder = Folder::new();
    for name in [TRAIN_IMAGES.to_owned(), format!("{TRAIN_IMAGES}.gz")] {
        fs::create_dir_all(folder.path(&name)).unwrap();
        assert!(matches!(folder.load("mnist", Split::Train), Err(Error::Io { .. })), "{name}");
    }
}

/// What is said of MNIST training files of these bytes.
fn idx_complaint(images: &[u8], labels: &[u8]) -> String {
    let folder = Folder::new();
    folder.write(TRAIN_IMAGES, images);
    folder.write(TRAIN_LABELS, labels);
    let complaint = folder.complaint("mnist", Split::Train);
    complaint
        .strip_suffix("; `onebasin data get mnist` replaces it")
        .expect("every error says how to mend it")
        .to_owned()
}

#[test]
fn what_is_wrong_with_an_idx_file_is_said() {
    let (images, labels) = (&idx_images(2)[..], &idx_labels(&[3, 4])[..]);
    let sized = |sizes: &[u32]| idx(0x803, sizes, &pattern(2 * 784));
    for (images, labels, said) in [
        (
            &images[..1000],
            labels,
            "images-idx3-ubyte: its length is 1000 bytes, but should be 1584 bytes, as its header counts 2 images",
        ),
        (
            &[images, b"x"].concat(),
            labels,
            "images-idx3-ubyte: its length is 1585 bytes, but should be 1584 bytes, as its header counts 2 images",
        ),
        (
            &images[..9],
            labels,
            "images-idx3-ubyte: its length is 9 bytes, but should be at least 16 bytes, to hold a header",
        ),
        (b"", labels, "images-idx3-ubyte: its length is 0 bytes, but should be at least 16 bytes, to hold a header"),
        (
            labels,
            labels,
            "images-idx3-ubyte: its magic number is 0x00000801, but should be 0x00000803 (a file of images)",
        ),
        (&sized(&[2, 32, 28]), labels, "images-idx3-ubyte: the height of its images is 32, but should be 28"),
        (&sized(&[2, 28, 0]), labels, "images-idx3-ubyte: the width of its images is 0, but should be 28"),
        (&sized(&[0, 28, 28]), labels, "images-idx3-ubyte: its number of images is 0, but should be at least 1"),
        (
            &sized(&[u32::MAX, 28, 28]),
            labels,
            "images-idx3-ubyte: its length is 1584 bytes, but should be 3367254359296 bytes, as its header counts 4294967295 images",
        ),
        (
            images,
            images,
            "labels-idx1-ubyte: its magic number is 0x00000803, but should be 0x00000801 (a file of labels)",
        ),
        (images, &idx_labels(&[1, 10]), "labels-idx1-ubyte: the label of image 1 is 10, but should be at most 9"),
        (
            images,
            &idx_labels(&[1]),
            "labels-idx1-ubyte: its number of labels is 1, but should be 2, as there are images in mnist/train-images-idx3-ubyte",
        ),
        (
            images,
            &vec![0; 60_009],
            "labels-idx1-ubyte: its length is more than 60008 bytes, but should be at most 60008 bytes",
        ),
    ] {
        assert_eq!(idx_complaint(images, labels), format!("mnist/train-{said}"));
    }
}

#[test]
fn a_damaged_gzip_stream_is_said_to_be_one() {
    let folder = Folder::new();
    let packed = gzip(&idx_images(2));
    for bytes in [&packed[..packed.len() / 2], b"plain", b""] {
        folder.write(&format!("{TRAIN_IMAGES}.gz"), bytes);
        let complaint = folder.complaint("mnist", Split::Train);
        assert!(
            complaint.starts_with("mnist/train-images-idx3-ubyte.gz: its gzip stream is damaged after"),
            "{complaint}"
        );
    }
}

#[test]
fn a_bomb_is_unpacked_only_as_far_as_a_data_set_goes() {
    let folder = Folder::new();
    folder.write(TRAIN_IMAGES, &idx_images(1));
    folder.write(&format!("{TRAIN_LABELS}.gz"), &gzip(&vec![0; 50_000_000]));
    let complaint = folder.complaint("mnist", Split::Train);
    assert!(complaint.contains("its length is more than 60008 bytes"), "{complaint}");
}

#[test]
fn what_is_wrong_with_a_cifar_file_is_said() {
    let folder = Folder::new();
    for (name, file, bytes, said) in [
        (
            "cifar10",
            CIFAR10_TEST,
            &cifar(&[&[1], &[2]])[..5000],
            "its length is 5000 bytes, but should be a multiple of 3073 bytes, the size of a record",
        ),
        (
            "cifar10",
            CIFAR10_TEST,
            b"",
            "its length is 0 bytes, but should be a multiple of 3073 bytes, the size of a record",
        ),
        ("cifar10", CIFAR10_TEST, &cifar(&[&[1], &[10]]), "the label of image 1 is 10, but should be at most 9"),
        ("cifar100", CIFAR100_TEST, &cifar(&[&[20, 0]]), "the coarse label of image 0 is 20, but should be at most 19"),
        ("cifar100", CIFAR100_TEST, &cifar(&[&[0, 100]]), "the fine label of image 0 is 100, but should be at most 99"),
    ] {
        folder.write(file, bytes);
        let said = format!("{file}: {said}; `onebasin data get {name}` replaces it");
        assert_eq!(folder.complaint(name, Split::Test), said);
    }
}

/// Bytes that were a valid file until some were changed, cut off or added; or never were.
fn damaged(valid: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    // Half of the changes hit the header, where they matter most.
    let early = prop::collection::vec((0..16usize, any::<u8>()), 0..4);
    let (len, extra) = (any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 0..9));
    let mutated = (changes, early, prop::option::of(len), extra).prop_map(move |(changes, early, len, extra)| {
        let mut bytes = valid.clone();
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        for (index, byte) in early {
            bytes[index % valid.len()] = byte;
        }
        bytes.truncate(len.map_or(valid.len(), |len| len.index(valid.len())));
        [bytes, extra].concat()
    });
    prop_oneof![3 => mutated, 1 => prop::collection::vec(any::<u8>(), 0..2000)]
}

/// Loading succeeds with something consistent, or fails with an error that names the file.
fn survives(folder: &Folder, name: &str, split: Split, file: &str) -> std::result::Result<(), TestCaseError> {
    match folder.load(name, split) {
        Ok(set) => {
            prop_assert_eq!(set.pixels().len(), set.len() * set.shape().len());
            prop_assert!(set.labels().iter().all(|label| (*label as usize) < set.classes()));
        }
        Err(error) => {
            let file = Path::new(file).file_stem().unwrap().to_str().unwrap();
            prop_assert!(error.to_string().contains(file) || error.to_string().contains("labels"), "{error}");
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_file_of_images_makes_it_panic(bytes in damaged(idx_images(2))) {
        let folder = Folder::new();
        folder.write(TRAIN_IMAGES, &bytes);
        folder.write(TRAIN_LABELS, &idx_labels(&[0, 1]));
        survives(&folder, "mnist", Split::Train, TRAIN_IMAGES)?;
    }

    #[test]
    fn no_file_of_labels_makes_it_panic(bytes in damaged(idx_labels(&[0, 1]))) {
        let folder = Folder::new();
        folder.write(TRAIN_IMAGES, &idx_images(2));
        folder.write(TRAIN_LABELS, &bytes);
        survives(&folder, "mnist", Split::Train, TRAIN_LABELS)?;
    }

    #[test]
    fn no_packed_file_makes_it_panic(bytes in damaged(gzip(&idx_labels(&[0, 1])))) {
        let folder = Folder::new();
        folder.write(TRAIN_IMAGES, &idx_images(2));
        let file = format!("{TRAIN_LABELS}.gz");
        folder.write(&file, &bytes);
        survives(&folder, "mnist", Split::Train, &file)?;
    }

    #[test]
    fn no_file_of_cifar10_makes_it_panic(bytes in damaged(cifar(&[&[0], &[9]]))) {
        let folder = Folder::new();
        folder.write(CIFAR10_TEST, &bytes);
        survives(&folder, "cifar10", Split::Test, CIFAR10_TEST)?;
    }

    #[test]
    fn no_file_of_cifar100_makes_it_panic(bytes in damaged(cifar(&[&[0, 0], &[19, 99]]))) {
        let folder = Folder::new();
        folder.write(CIFAR100_TEST, &bytes);
        survives(&folder, "cifar100", Split::Test, CIFAR100_TEST)?;
    }
}
