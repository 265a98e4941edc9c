//! The binary format of CIFAR: records of one or two labels and an image that is stored channel after channel.

use super::catalogue::Format;
use super::files::Origin;
use crate::arch::Shape;
use crate::error::Result;

/// Classes of the coarse labels of CIFAR-100.
const COARSE: usize = 20;

/// The names of the bytes before an image; the last is the label.
fn labels_of(format: Format) -> &'static [&'static str] {
    match format {
        Format::Cifar100 => &["coarse label", "fine label"],
        Format::Cifar10 | Format::Idx => &["label"],
    }
}

/// Bytes of one record.
pub(super) fn record_len(format: Format, shape: Shape) -> usize {
    labels_of(format).len() + shape.len()
}

/// Appends the images of a file to `pixels` (image, row, column, channel), and their labels, each below `classes`, to
/// `labels` (image).
pub(super) fn append(
    bytes: &[u8],
    origin: &Origin<'_>,
    format: Format,
    shape: Shape,
    classes: usize,
    pixels: &mut Vec<u8>,
    labels: &mut Vec<u32>,
) -> Result<()> {
    let (names, record) = (labels_of(format), record_len(format, shape));
    if bytes.is_empty() || !bytes.len().is_multiple_of(record) {
        return Err(origin.bad_len(bytes.len(), format!("a multiple of {record} bytes, the size of a record")));
    }
    let positions = shape.height * shape.width;
    pixels.reserve(bytes.len() / record * shape.len());
    for (index, record) in bytes.chunks_exact(record).enumerate() {
        let (label_bytes, planes) = record.split_at(names.len());
        for (place, (name, &label)) in names.iter().zip(label_bytes).enumerate() {
            let classes = if place + 1 == names.len() { classes } else { COARSE };
            if usize::from(label) >= classes {
                return Err(origin.bad_label(name, index, label, classes));
            }
        }
        labels.push(label_bytes[names.len() - 1].into());
        for position in 0..positions {
            pixels.extend((0..shape.channels).map(|channel| planes[channel * positions + position]));
        }
    }
    Ok(())
}
