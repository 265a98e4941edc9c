//! Reads any bytes as the published files of a data set, IDX or CIFAR.
//!
//! The first byte chooses the data set and whether files of IDX are read as packed; of those, the next two say where the second begins.

use crate::folder;
use crate::seeds::Seed;
use flate2::Compression;
use flate2::write::GzEncoder;
use onebasin::data::catalogue::{self, Format, Source};
use onebasin::data::{self, Split, Verify};
use std::fs;
use std::io::Write as _;

const NAMES: [&str; 4] = ["mnist", "fashion-mnist", "cifar10", "cifar100"];

pub(crate) fn run(bytes: &[u8]) {
    let [first, low, high, bytes @ ..] = bytes else { return };
    let entry = catalogue::find(NAMES[usize::from(*first) % NAMES.len()]).expect("the catalogue has it");
    let Source::Files(files) = entry.source else { unreachable!("it is made of files") };
    let dir = folder::empty("data");
    let inside = dir.join(files.folder);
    fs::create_dir_all(&inside).expect("a temporary folder can be made");
    let names: Vec<&str> = files.files.iter().filter(|file| file.split == Split::Test).map(|file| file.name).collect();
    let (images, labels) = bytes.split_at(usize::from(u16::from_le_bytes([*low, *high])).min(bytes.len()));
    let contents = if files.format == Format::Idx { vec![images, labels] } else { vec![bytes] };
    for (name, bytes) in names.iter().zip(contents) {
        let name = if first & 4 == 0 { name.trim_end_matches(".gz") } else { name };
        fs::write(inside.join(name), bytes).expect("a temporary file can be written");
    }
    let Ok(dataset) = data::read(entry.name, Split::Test, &dir, Verify::Format) else { return };
    assert_eq!((dataset.shape(), dataset.classes()), (entry.shape, entry.classes), "it is a part of the data set");
    assert_eq!(dataset.pixels().len(), dataset.len() * entry.shape.len(), "there are all pixels");
    assert!(dataset.labels().iter().all(|label| (*label as usize) < entry.classes), "labels are classes");
    assert!(dataset.len() <= entry.test, "there are not more images than were published");
}

/// Two images of each data set, those of IDX also packed.
pub(crate) fn seeds() -> Vec<Seed> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
    let images = [words(&[0x803, 2, 28, 28]), (0..2 * 784).map(|pixel| (pixel % 251) as u8).collect()].concat();
    let labels = [words(&[0x801, 2]), vec![3, 9]].concat();
    let packed = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).expect("memory takes everything");
        encoder.finish().expect("memory takes everything")
    };
    let idx = |first: u8, images: &[u8], labels: &[u8]| {
        [&[first], &(images.len() as u16).to_le_bytes()[..], images, labels].concat()
    };
    let cifar = |first: u8, labels: &[u8]| {
        let record = [labels, &[7; 3072]].concat();
        [&[first, 0, 0], &record[..], &record].concat()
    };
    vec![
        Seed::new("mnist", idx(b'0', &images, &labels)),
        Seed::new("fashion-mnist-packed", idx(b'5', &packed(&images), &packed(&labels))),
        Seed::new("cifar10", cifar(b'2', &[9])),
        Seed::new("cifar100", cifar(b'3', &[19, 99])),
    ]
}
