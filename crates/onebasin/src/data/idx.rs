//! The IDX format of MNIST: a big-endian header (a magic number and the sizes of all axes), then bytes.

use super::files::Origin;
use crate::arch::Shape;
use crate::error::Result;

/// Unsigned bytes with three axes: (image, row, column).
const IMAGES: u32 = 0x0000_0803;
/// Unsigned bytes with one axis: (image).
const LABELS: u32 = 0x0000_0801;

/// The length of a file of so many images, or of their labels if there is no shape; saturated.
pub(super) fn file_len(count: usize, shape: Option<Shape>) -> usize {
    let (header, image) = shape.map_or((8, 1), |shape| (16, shape.len()));
    count.saturating_mul(image).saturating_add(header)
}

/// The pixels of a file of images, (image, row, column).
pub(super) fn images<'a>(bytes: &'a [u8], origin: &Origin<'_>, shape: Shape) -> Result<&'a [u8]> {
    let [count, height, width] = header(bytes, origin, IMAGES, "images")?;
    for (field, got, expected) in [("the height", height, shape.height), ("the width", width, shape.width)] {
        if got != expected {
            return Err(origin.bad(format!("{field} of its images"), got, expected));
        }
    }
    body(bytes, origin, count, "images", Some(shape))
}

/// The labels of a file of labels, (image), each below `classes`.
pub(super) fn labels<'a>(bytes: &'a [u8], origin: &Origin<'_>, classes: usize) -> Result<&'a [u8]> {
    let [count] = header(bytes, origin, LABELS, "labels")?;
    let labels = body(bytes, origin, count, "labels", None)?;
    match labels.iter().position(|label| usize::from(*label) >= classes) {
        Some(index) => Err(origin.bad_label("label", index, labels[index], classes)),
        None => Ok(labels),
    }
}

/// The sizes of all axes.
fn header<const AXES: usize>(bytes: &[u8], origin: &Origin<'_>, magic: u32, what: &str) -> Result<[usize; AXES]> {
    let (words, _) = bytes.as_chunks::<4>();
    let word = |index: usize| words.get(index).map(|word| u32::from_be_bytes(*word));
    let found = word(0).filter(|found| *found != magic);
    if let Some(found) = found {
        let expected = format!("{magic:#010x} (a file of {what})");
        return Err(origin.bad("its magic number".to_owned(), format!("{found:#010x}"), expected));
    }
    let mut sizes = [0; AXES];
    for (axis, size) in sizes.iter_mut().enumerate() {
        let whole = || origin.bad_len(bytes.len(), format!("at least {} bytes, to hold a header", 4 * (AXES + 1)));
        *size = word(axis + 1).ok_or_else(whole)? as usize;
    }
    Ok(sizes)
}

/// What follows the header, if it is as long as the header says.
fn body<'a>(bytes: &'a [u8], origin: &Origin<'_>, count: usize, what: &str, shape: Option<Shape>) -> Result<&'a [u8]> {
    if count == 0 {
        return Err(origin.bad(format!("its number of {what}"), 0, "at least 1"));
    }
    let expected = file_len(count, shape);
    if bytes.len() != expected {
        return Err(origin.bad_len(bytes.len(), format!("{expected} bytes, as its header counts {count} {what}")));
    }
    Ok(&bytes[file_len(0, shape)..])
}
