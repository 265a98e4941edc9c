//! Changes of an archive: new checksums of entries whose bytes changed in place, and entries that were deflated again.

use super::field::Field;
use super::{Archive, Entry, Method};
use crate::error::{Error, Result};
use crate::file::{CHUNK, Positioned};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::collections::BTreeMap;
use std::io::{Read, Write};

/// Corrects the checksum of a stored entry whose bytes were changed in `changed`, a copy of `source`.
///
/// The old bytes are checked first: a new checksum would hide that they were damaged.
pub(crate) fn correct_checksums(source: &Positioned, changed: &Positioned, entry: &Entry) -> Result<()> {
    assert_eq!(entry.method, Method::Stored, "only stored bytes are changed in place");
    entry.check(source, checksum(source, entry.reader(source))?)?;
    let new = checksum(changed, entry.reader(changed))?;
    entry.checksum_fields.iter().try_for_each(|field| field.put_checksum(changed, new))
}

/// CRC-32 of everything that a reader gives.
fn checksum(file: &Positioned, mut reader: impl Read) -> Result<u32> {
    let mut hasher = crc32fast::Hasher::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        match reader.read(&mut chunk).map_err(|error| Error::io(&file.path, error))? {
            0 => return Ok(hasher.finalize()),
            read => hasher.update(&chunk[..read]),
        }
    }
}

/// What became of an entry that was deflated again.
struct Outcome {
    packed: u64,
    checksum: u32,
}

/// New unpacked bytes of an entry, by its index.
pub(crate) type Repacked<'a> = BTreeMap<usize, &'a Positioned>;

/// Writes an archive to `to` with some entries deflated again, which moves what follows them.
pub(crate) fn splice(archive: &Archive, from: &Positioned, repacked: &Repacked<'_>, to: &Positioned) -> Result<()> {
    let mut order: Vec<usize> = repacked.keys().copied().collect();
    order.sort_by_key(|index| archive.entries[*index].data);
    let mut outcomes = BTreeMap::new();
    // Old end of each entry that was deflated again, and what is added to places from there on.
    let mut shifts: Vec<(u64, i128)> = Vec::new();
    let (mut read, mut written) = (0, 0);
    for index in order {
        let entry = &archive.entries[index];
        written += to.copy_at(written, from, read..entry.data)?;
        let outcome = deflate(repacked[&index], to, written)?;
        written += outcome.packed;
        read = entry.end();
        shifts.push((read, i128::from(written) - i128::from(read)));
        outcomes.insert(index, outcome);
    }
    to.copy_at(written, from, read..from.len)?;

    let moved = |at: u64| {
        let shift = shifts.iter().rev().find(|(end, _)| *end <= at).map_or(0, |(_, shift)| *shift);
        u64::try_from(i128::from(at) + shift).expect("nothing moves before the beginning")
    };
    for (index, entry) in archive.entries.iter().enumerate() {
        entry.header_field.moved(moved).put(to, moved(entry.header))?;
        let Some(outcome) = outcomes.get(&index) else { continue };
        for field in &entry.checksum_fields {
            field.moved(moved).put_checksum(to, outcome.checksum)?;
        }
        for field in &entry.packed_fields {
            field.moved(moved).put(to, outcome.packed)?;
        }
    }
    for field in &archive.directory_fields {
        field.moved(moved).put(to, moved(archive.directory))?;
    }
    if let Some((field, wide_record)) = archive.wide_record {
        field.moved(moved).put(to, moved(wide_record))?;
    }
    Ok(())
}

/// Deflates a whole file.
fn deflate(unpacked: &Positioned, to: &Positioned, at: u64) -> Result<Outcome> {
    let fault = |error| Error::io(&to.path, error);
    let mut encoder = DeflateEncoder::new(to.appender(at), Compression::default());
    let mut section = unpacked.section(0, u64::MAX);
    let mut hasher = crc32fast::Hasher::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = section.read(&mut chunk).map_err(|error| Error::io(&unpacked.path, error))?;
        if read == 0 {
            break;
        }
        hasher.update(&chunk[..read]);
        encoder.write_all(&chunk[..read]).map_err(fault)?;
    }
    let mut appender = encoder.finish().map_err(fault)?;
    appender.flush().map_err(fault)?;
    Ok(Outcome { packed: appender.get_ref().at - at, checksum: hasher.finalize() })
}

impl Field {
    /// Writes a checksum, which may have any bits.
    fn put_checksum(self, file: &Positioned, checksum: u32) -> Result<()> {
        file.write_at(self.at, &checksum.to_le_bytes())
    }
}
