//! Reads the files of a data set into memory, never more of them than a whole data set can have.

use super::catalogue::{Entry, File, Files, Format};
use super::{Dataset, Split, Verify};
use crate::arch::Shape;
use crate::error::{Error, Result};
use crate::hash::sha256;
use flate2::read::MultiGzDecoder;
use std::fmt::Display;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// First word of an IDX file of unsigned bytes with three axes: (image, row, column).
const IDX_IMAGES: u32 = 0x0000_0803;
/// First word of an IDX file of unsigned bytes with one axis: (image).
const IDX_LABELS: u32 = 0x0000_0801;
/// Classes of the coarse labels of CIFAR-100.
const COARSE: usize = 20;

pub(super) fn load(entry: &Entry, files: &Files, split: Split, dir: &Path, verify: Verify) -> Result<Dataset> {
    let Entry { name, shape, classes, .. } = *entry;
    let count = entry.images(split);
    let of_split: Vec<&File> = files.files.iter().filter(|file| file.split == split).collect();
    let read = |file: &File, limit: usize| Contents::read(&dir.join(files.folder).join(file.name), entry, limit);
    let verified = |contents: &Contents<'_>, file: &File| match verify {
        Verify::Checksums => contents.check_sum(file),
        Verify::Format => Ok(()),
    };
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    match files.format {
        Format::Idx => {
            let [images_of, labels_of] = of_split[..] else { unreachable!("the catalogue lists two files") };
            let images_file = read(images_of, idx_len(count, Some(shape)))?;
            let images = images_file.idx_images()?;
            let labels_file = read(labels_of, idx_len(count, None))?;
            let found = labels_file.idx_labels()?;
            let images_count = images.len() / shape.len();
            if found.len() != images_count {
                let expected = format!("{images_count}, as there are images in {}", images_file.path.display());
                return Err(labels_file.bad("its number of labels", found.len(), expected));
            }
            verified(&images_file, images_of)?;
            verified(&labels_file, labels_of)?;
            pixels.extend_from_slice(images);
            labels.extend(found.iter().map(|label| u32::from(*label)));
        }
        Format::Cifar10 | Format::Cifar100 => {
            let names: &[&str] =
                if files.format == Format::Cifar10 { &["label"] } else { &["coarse label", "fine label"] };
            let limit = count / of_split.len() * (names.len() + shape.len());
            for file in of_split {
                let contents = read(file, limit)?;
                contents.append_cifar(names, &mut pixels, &mut labels)?;
                verified(&contents, file)?;
            }
        }
    }
    Dataset::new(name, shape, classes, u8::MAX, pixels, labels)
}

/// The length of an IDX file of so many images, or of their labels if there is no shape; saturated.
fn idx_len(count: usize, shape: Option<Shape>) -> usize {
    let (header, image) = shape.map_or((8, 1), |shape| (16, shape.len()));
    count.saturating_mul(image).saturating_add(header)
}

struct Contents<'a> {
    path: PathBuf,
    entry: &'a Entry,
    bytes: Vec<u8>,
}

impl<'a> Contents<'a> {
    /// Reads `path` or, if there is no such file and its name ends in `.gz`, the one without that ending.
    ///
    /// No more than `limit` bytes are read, or unpacked, so neither a header nor a compressed file can ask for more memory.
    fn read(path: &Path, entry: &'a Entry, limit: usize) -> Result<Self> {
        let is_packed = |path: &Path| path.extension().is_some_and(|extension| extension == "gz");
        let unpacked = is_packed(path).then(|| path.with_extension(""));
        let Some(path) = [Some(path.to_owned()), unpacked].into_iter().flatten().find(|path| path.exists()) else {
            return Err(Error::NoFile { path: path.to_owned(), dataset: entry.name.to_owned() });
        };
        let mut bytes = Vec::new();
        let mut read_from = |reader: &mut dyn Read| reader.take(limit as u64 + 1).read_to_end(&mut bytes);
        let read = fs::File::open(&path).and_then(|mut file| {
            if is_packed(&path) {
                read_from(&mut MultiGzDecoder::new(io::BufReader::new(file)))
            } else {
                read_from(&mut file)
            }
        });
        let contents = Self { path, entry, bytes };
        match read {
            Ok(_) if contents.bytes.len() > limit => {
                Err(contents.bad("its length", format!("more than {limit} bytes"), format!("at most {limit} bytes")))
            }
            Ok(_) => Ok(contents),
            // How the decoder says that the file is cut off or is not what gzip writes.
            Err(error) if is_packed(&contents.path) && error.raw_os_error().is_none() => {
                let got = format!("damaged after {} unpacked bytes ({error})", contents.bytes.len());
                Err(contents.bad("its gzip stream", got, "whole"))
            }
            Err(error) => Err(Error::file(&contents.path, error)),
        }
    }

    /// Refuses what is not, unpacked, the file that was published.
    fn check_sum(&self, file: &File) -> Result<()> {
        let (found, published) = (sha256(&self.bytes), file.unpacked.unwrap_or(file.digest).sha256);
        if found == published { Ok(()) } else { Err(self.bad("its SHA-256", found, published)) }
    }

    /// A field of the file is not what it should be.
    fn bad(&self, field: &str, got: impl Display, expected: impl Display) -> Error {
        let dataset = self.entry.name;
        let reason = format!("{field} is {got}, but should be {expected}; `onebasin data get {dataset}` replaces it");
        Error::File { path: self.path.clone(), reason }
    }

    fn bad_len(&self, expected: String) -> Error {
        self.bad("its length", format!("{} bytes", self.bytes.len()), expected)
    }

    fn check_label(&self, name: &str, index: usize, label: u8, classes: usize) -> Result<()> {
        if usize::from(label) < classes {
            return Ok(());
        }
        Err(self.bad(&format!("the {name} of image {index}"), label, format!("at most {}", classes - 1)))
    }

    /// The pixels of an IDX file of images, (image, row, column).
    fn idx_images(&self) -> Result<&[u8]> {
        let shape = self.entry.shape;
        let [count, height, width] = self.idx_header(IDX_IMAGES, "images")?;
        for (field, got, expected) in [("the height", height, shape.height), ("the width", width, shape.width)] {
            if got != expected {
                return Err(self.bad(&format!("{field} of its images"), got, expected));
            }
        }
        self.idx_body(count, "images", Some(shape))
    }

    /// The labels of an IDX file of labels, (image).
    fn idx_labels(&self) -> Result<&[u8]> {
        let [count] = self.idx_header(IDX_LABELS, "labels")?;
        let labels = self.idx_body(count, "labels", None)?;
        let mut all = labels.iter().enumerate();
        all.try_for_each(|(index, &label)| self.check_label("label", index, label, self.entry.classes))?;
        Ok(labels)
    }

    /// The sizes of all axes: an IDX file begins with a magic number and these, big-endian.
    fn idx_header<const AXES: usize>(&self, magic: u32, what: &str) -> Result<[usize; AXES]> {
        let (words, _) = self.bytes.as_chunks::<4>();
        let word = |index: usize| words.get(index).map(|word| u32::from_be_bytes(*word));
        if let Some(found) = word(0).filter(|found| *found != magic) {
            let expected = format!("{magic:#010x} (a file of {what})");
            return Err(self.bad("its magic number", format!("{found:#010x}"), expected));
        }
        let mut sizes = [0; AXES];
        for (axis, size) in sizes.iter_mut().enumerate() {
            let whole = || self.bad_len(format!("at least {} bytes, to hold a header", 4 * (AXES + 1)));
            *size = word(axis + 1).ok_or_else(whole)? as usize;
        }
        Ok(sizes)
    }

    /// What follows the header of an IDX file, if it is as long as the header says.
    fn idx_body(&self, count: usize, what: &str, shape: Option<Shape>) -> Result<&[u8]> {
        if count == 0 {
            return Err(self.bad(&format!("its number of {what}"), 0, "at least 1"));
        }
        let expected = idx_len(count, shape);
        if self.bytes.len() != expected {
            return Err(self.bad_len(format!("{expected} bytes, as its header counts {count} {what}")));
        }
        Ok(&self.bytes[idx_len(0, shape)..])
    }

    /// Appends the images of a file of CIFAR to `pixels` (image, row, column, channel), and their labels to `labels` (image).
    ///
    /// A record of the file is a byte for each of `names`, of which the last is the label, and an image that is stored
    /// channel after channel.
    fn append_cifar(&self, names: &[&str], pixels: &mut Vec<u8>, labels: &mut Vec<u32>) -> Result<()> {
        let Entry { shape, classes, .. } = *self.entry;
        let record = names.len() + shape.len();
        if self.bytes.is_empty() || !self.bytes.len().is_multiple_of(record) {
            return Err(self.bad_len(format!("a multiple of {record} bytes, the size of a record")));
        }
        let positions = shape.height * shape.width;
        pixels.reserve(self.bytes.len() / record * shape.len());
        for (index, record) in self.bytes.chunks_exact(record).enumerate() {
            let (label_bytes, planes) = record.split_at(names.len());
            for (place, (name, &label)) in names.iter().zip(label_bytes).enumerate() {
                let classes = if place + 1 == names.len() { classes } else { COARSE };
                self.check_label(name, index, label, classes)?;
            }
            labels.push(label_bytes[names.len() - 1].into());
            for position in 0..positions {
                pixels.extend((0..shape.channels).map(|channel| planes[channel * positions + position]));
            }
        }
        Ok(())
    }
}
