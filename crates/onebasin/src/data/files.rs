//! Reads the files of a data set into memory, never more of them than a whole data set can have.

use super::Dataset;
use super::Split;
use super::catalogue::Entry;
use super::catalogue::Files;
use super::catalogue::Format;
use super::cifar;
use super::idx;
use crate::error::Error;
use crate::error::Result;
use flate2::read::MultiGzDecoder;
use std::fmt::Display;
use std::fs;
use std::io;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

/// Which file bytes come from, for what has to be said about them.
#[derive(Clone, Debug)]
pub(super) struct Origin<'a> {
    pub(super) file: PathBuf,
    pub(super) dataset: &'a str,
}

impl Origin<'_> {
    /// A field of the file is not what it should be.
    pub(super) fn bad(&self, field: String, got: impl Display, expected: impl Display) -> Error {
        Error::BadFile {
            file: self.file.display().to_string(),
            field,
            got: got.to_string(),
            expected: expected.to_string(),
            dataset: self.dataset.to_owned(),
        }
    }

    /// The file is too short or too long.
    pub(super) fn bad_len(&self, got: usize, expected: String) -> Error {
        self.bad("its length".to_owned(), format!("{got} bytes"), expected)
    }

    /// A label is not one of `classes`.
    pub(super) fn bad_label(&self, name: &str, index: usize, label: u8, classes: usize) -> Error {
        self.bad(format!("the {name} of image {index}"), label, format!("at most {}", classes - 1))
    }
}

/// Reads one part of a data set from the data directory.
pub(super) fn load(entry: &Entry, files: &Files, split: Split, dir: &Path) -> Result<Dataset> {
    let Entry { name, shape, classes, .. } = *entry;
    let count = entry.images(split);
    let of_split: Vec<PathBuf> = files
        .files
        .iter()
        .filter(|file| file.split == split)
        .map(|file| dir.join(files.folder).join(file.name))
        .collect();
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    match files.format {
        Format::Idx => {
            let [images_file, labels_file] = &of_split[..] else { unreachable!("the catalogue lists two files") };
            let (bytes, images_origin) = read(images_file, name, idx::file_len(count, Some(shape)))?;
            let images = idx::images(&bytes, &images_origin, shape)?;
            let (bytes, origin) = read(labels_file, name, idx::file_len(count, None))?;
            let found = idx::labels(&bytes, &origin, classes)?;
            let images_count = images.len() / shape.len();
            if found.len() != images_count {
                let expected = format!("{images_count}, as there are images in {}", images_origin.file.display());
                return Err(origin.bad("its number of labels".to_owned(), found.len(), expected));
            }
            pixels.extend_from_slice(images);
            labels.extend(found.iter().map(|label| u32::from(*label)));
        }
        Format::Cifar10 | Format::Cifar100 => {
            let limit = count / of_split.len() * cifar::record_len(files.format, shape);
            for file in &of_split {
                let (bytes, origin) = read(file, name, limit)?;
                cifar::append(&bytes, &origin, files.format, shape, classes, &mut pixels, &mut labels)?;
            }
        }
    }
    Dataset::new(name, shape, classes, u8::MAX, pixels, labels)
}

/// The contents of `path` or, if there is no such file and its name ends in `.gz`, of the one without that ending.
///
/// No more than `limit` bytes are read, or unpacked, so neither a header nor a compressed file can ask for more memory.
fn read<'a>(path: &Path, dataset: &'a str, limit: usize) -> Result<(Vec<u8>, Origin<'a>)> {
    let is_packed = |path: &Path| path.extension().is_some_and(|extension| extension == "gz");
    let unpacked = is_packed(path).then(|| path.with_extension(""));
    let file = std::iter::once(path.to_owned()).chain(unpacked).find(|path| path.exists());
    let Some(file) = file else {
        return Err(Error::NoFile { file: path.display().to_string(), dataset: dataset.to_owned() });
    };
    let origin = Origin { file, dataset };
    let mut bytes = Vec::new();
    let mut read_from = |reader: &mut dyn Read| reader.take(limit as u64 + 1).read_to_end(&mut bytes);
    let result = fs::File::open(&origin.file).and_then(|mut file| {
        if is_packed(&origin.file) {
            read_from(&mut MultiGzDecoder::new(io::BufReader::new(file)))
        } else {
            read_from(&mut file)
        }
    });
    match result {
        Ok(_) if bytes.len() > limit => Err(origin.bad(
            "its length".to_owned(),
            format!("more than {limit} bytes"),
            format!("at most {limit} bytes"),
        )),
        Ok(_) => Ok((bytes, origin)),
        // How the decoder says that the file is cut off or is not what gzip writes.
        Err(error) if is_packed(&origin.file) && error.raw_os_error().is_none() => {
            let got = format!("damaged after {} unpacked bytes ({error})", bytes.len());
            Err(origin.bad("its gzip stream".to_owned(), got, "whole"))
        }
        Err(error) => Err(Error::CannotRead { file: origin.file.display().to_string(), reason: error.to_string() }),
    }
}
