//! The central directory of a zip archive, checked against the local headers and the length of the file.

use super::field::{Field, u16_at, u32_at, u64_at};
use super::{Entry, Method};
use crate::error::{Error, Result};
use crate::file::Positioned;
use std::collections::BTreeMap;

const END: &[u8] = b"PK\x05\x06";
const END_LEN: usize = 22;
const WIDE_END: &[u8] = b"PK\x06\x06";
const WIDE_LOCATOR: &[u8] = b"PK\x06\x07";
const CENTRAL: &[u8] = b"PK\x01\x02";
const CENTRAL_LEN: usize = 46;
const LOCAL: &[u8] = b"PK\x03\x04";
const LOCAL_LEN: usize = 30;
const DESCRIPTOR: &[u8] = b"PK\x07\x08";

/// All entries of an archive, in the order of its directory.
#[derive(Debug)]
pub(crate) struct Archive {
    pub(crate) entries: Vec<Entry>,
    /// Where the directory's place in the file stands, and that of the 64-bit record at its end.
    pub(super) directory_fields: Vec<Field>,
    pub(super) directory: u64,
    pub(super) wide_record: Option<(Field, u64)>,
    by_name: BTreeMap<String, usize>,
}

/// What the records at the end of the file say about the directory.
struct End {
    directory: u64,
    len: u64,
    count: u64,
    directory_fields: Vec<Field>,
    wide_record: Option<(Field, u64)>,
}

impl Archive {
    pub(crate) fn read(file: &Positioned) -> Result<Self> {
        let end = end(file)?;
        let bytes = file.read_vec("the zip directory", end.directory, end.len)?;
        let damaged = |fault: &str| Error::damaged(&file.path, "the zip directory", fault);
        let mut entries = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            if rest.len() < CENTRAL_LEN || !rest.starts_with(CENTRAL) {
                return Err(damaged("has a record that is none"));
            }
            let lens = [28, 30, 32].map(|place| usize::from(u16_at(rest, place)));
            let len = CENTRAL_LEN + lens.iter().sum::<usize>();
            let record = rest.get(..len).ok_or_else(|| damaged("ends inside a record"))?;
            entries.push(entry(file, record, end.directory + at as u64)?);
            at += len;
        }
        if entries.len() as u64 != end.count {
            return Err(damaged(&format!("has {} entries, not the {} that it claims", entries.len(), end.count)));
        }
        let mut by_name = BTreeMap::new();
        for (index, entry) in entries.iter().enumerate() {
            if by_name.insert(entry.name.clone(), index).is_some() {
                return Err(damaged(&format!("has two entries `{}`", entry.name)));
            }
            if entry.name.split(['/', '\\']).any(|part| part == "..") {
                return Err(damaged(&format!("has the entry `{}`, whose name leaves the archive", entry.name)));
            }
        }
        // Entries that share bytes unpack to more than the file could justify, and changing one would change the other.
        let mut spans: Vec<(u64, u64)> =
            entries.iter().map(|entry| (entry.header, entry.end() + entry.descriptor)).collect();
        spans.push((end.directory, end.directory));
        spans.sort_unstable();
        if spans.windows(2).any(|pair| pair[0].1 > pair[1].0) || spans.last().is_none_or(|last| last.0 != end.directory)
        {
            return Err(damaged("has entries that overlap"));
        }
        let End { directory, directory_fields, wide_record, .. } = end;
        Ok(Self { entries, directory_fields, directory, wide_record, by_name })
    }

    pub(crate) fn index_of(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }
}

fn end(file: &Positioned) -> Result<End> {
    let damaged = |fault: &str| Error::damaged(&file.path, "the end of the zip archive", fault);
    // A comment of at most 65535 bytes may follow the record.
    let len = file.len.min(END_LEN as u64 + 0xffff);
    let start = file.len - len;
    let tail = file.read_vec("the end of the zip archive", start, len)?;
    let is_end = |at: &usize| {
        tail[*at..].starts_with(END) && usize::from(u16_at(&tail, at + END_LEN - 2)) == tail.len() - at - END_LEN
    };
    let last = tail.len().checked_sub(END_LEN);
    let at = last.and_then(|last| (0..=last).rev().find(is_end)).ok_or_else(|| damaged("is missing"))?;
    let record = &tail[at..];
    let place = start + at as u64;
    let mut found = End {
        directory: u32_at(record, 16).into(),
        len: u32_at(record, 12).into(),
        count: u16_at(record, 10).into(),
        directory_fields: Vec::new(),
        wide_record: None,
    };
    if u32_at(record, 16) != u32::MAX {
        found.directory_fields.push(Field::narrow(place + 16));
    }
    if u16_at(record, 4) != 0 && u16_at(record, 4) != u16::MAX {
        return Err(damaged("belongs to an archive of several files"));
    }
    if let Some(locator) = place.checked_sub(20) {
        let bytes = file.read_vec("the zip64 locator", locator, 20)?;
        if bytes.starts_with(WIDE_LOCATOR) {
            let wide = u64_at(&bytes, 8);
            let record = file.read_vec("the zip64 record", wide, 56)?;
            if !record.starts_with(WIDE_END) {
                return Err(damaged("has a locator of a zip64 record that is none"));
            }
            let (count, len, directory) = (u64_at(&record, 32), u64_at(&record, 40), u64_at(&record, 48));
            let differs = |narrow: u64, most: u64, wide: u64| narrow != most && narrow != wide;
            if differs(found.directory, u32::MAX.into(), directory)
                || differs(found.len, u32::MAX.into(), len)
                || differs(found.count, 0xffff, count)
            {
                return Err(damaged("contradicts its zip64 record"));
            }
            (found.count, found.len, found.directory) = (count, len, directory);
            found.directory_fields.push(Field::wide(wide + 48));
            found.wide_record = Some((Field::wide(locator + 8), wide));
        }
    }
    let limit = found.wide_record.map_or(place, |(_, wide)| wide.min(place));
    if found.directory.checked_add(found.len) != Some(limit) {
        return Err(damaged("does not follow the directory that it describes"));
    }
    Ok(found)
}

/// An entry, from its record in the directory, which begins at `at`.
fn entry(file: &Positioned, record: &[u8], at: u64) -> Result<Entry> {
    let name_len = usize::from(u16_at(record, 28));
    let raw_name = &record[CENTRAL_LEN..CENTRAL_LEN + name_len];
    let name = String::from_utf8_lossy(raw_name).into_owned();
    let damaged = |fault: &str| Error::damaged(&file.path, format!("zip entry `{name}`"), fault);
    let flags = u16_at(record, 8);
    let described = flags & 8 != 0;
    let method = u16_at(record, 10);
    let extra_at = CENTRAL_LEN + name_len;
    let extra = &record[extra_at..extra_at + usize::from(u16_at(record, 30))];
    let mut wide = wide_numbers(extra).into_iter().map(|place| extra_at + place);
    let mut number = |place: usize| -> Result<(u64, Field)> {
        let narrow = u32_at(record, place);
        if narrow != u32::MAX {
            return Ok((narrow.into(), Field::narrow(at + place as u64)));
        }
        let wide = wide.next().ok_or_else(|| damaged("has no zip64 record"))?;
        Ok((u64_at(record, wide), Field::wide(at + wide as u64)))
    };
    // This is their order in the zip64 record, too.
    let (size, _) = number(24)?;
    let (packed, packed_field) = number(20)?;
    let (header, header_field) = number(42)?;
    let checksum = u32_at(record, 16);
    let mut checksum_fields = vec![Field::narrow(at + 16)];
    let mut packed_fields = vec![packed_field];
    if flags & 1 != 0 {
        let what = format!("zip entry `{name}` is encrypted");
        return Err(Error::unsupported(&file.path, what, "save it without a password"));
    }

    let local = file.read_vec(&format!("the header of zip entry `{name}`"), header, LOCAL_LEN as u64)?;
    if !local.starts_with(LOCAL) {
        return Err(damaged("has no header where the directory says"));
    }
    let (local_name, local_extra) = (u16_at(&local, 26), u16_at(&local, 28));
    let variable = header + LOCAL_LEN as u64;
    let rest = u64::from(local_name) + u64::from(local_extra);
    let data = variable + rest;
    let rest = file.read_vec(&format!("the header of zip entry `{name}`"), variable, rest)?;
    if &rest[..usize::from(local_name)] != raw_name || u16_at(&local, 8) != method {
        return Err(damaged("has another name or method in its header than in the directory"));
    }
    if data.checked_add(packed).is_none_or(|end| end > file.len) {
        return Err(damaged(&format!("claims {packed} bytes, which reach beyond the end of the file")));
    }
    let mut descriptor_len = 0;
    if described {
        let found = descriptor(file, data + packed, checksum, packed, size);
        let (len, sizes) = found.ok_or_else(|| damaged("is not followed by its checksum and sizes"))?;
        descriptor_len = len;
        checksum_fields.push(Field::narrow(sizes.at - 4));
        packed_fields.push(sizes);
    } else {
        let extra_at = usize::from(local_name);
        let places = wide_numbers(&rest[extra_at..]);
        let local_packed = if u32_at(&local, 18) == u32::MAX {
            // The local record has both sizes if it has one.
            let place = places.get(1).ok_or_else(|| damaged("has no zip64 record in its header"))? + extra_at;
            packed_fields.push(Field::wide(variable + place as u64));
            u64_at(&rest, place)
        } else {
            packed_fields.push(Field::narrow(header + 18));
            u32_at(&local, 18).into()
        };
        checksum_fields.push(Field::narrow(header + 14));
        if local_packed != packed || u32_at(&local, 14) != checksum {
            return Err(damaged("has another size or CRC-32 in its header than in the directory"));
        }
    }
    let method = match method {
        0 => Method::Stored,
        8 => Method::Deflated,
        other => Method::Other(other),
    };
    Ok(Entry {
        name,
        method,
        checksum,
        size,
        packed,
        data,
        header,
        descriptor: descriptor_len,
        checksum_fields,
        packed_fields,
        header_field,
    })
}

/// Where the 64-bit numbers of a zip64 record begin in the extra fields of an entry.
fn wide_numbers(extra: &[u8]) -> Vec<usize> {
    let mut at = 0;
    while at + 4 <= extra.len() {
        let (kind, len) = (u16_at(extra, at), usize::from(u16_at(extra, at + 2)));
        let end = (at + 4 + len).min(extra.len());
        if kind == 1 {
            return (at + 4..end).step_by(8).filter(|place| place + 8 <= end).collect();
        }
        at = end;
    }
    Vec::new()
}

/// The length of the record that follows an entry, and where the packed size stands in it, right behind the checksum.
fn descriptor(file: &Positioned, at: u64, checksum: u32, packed: u64, size: u64) -> Option<(u64, Field)> {
    let bytes = file.read_vec("", at, 24.min(file.len.saturating_sub(at))).ok()?;
    let skipped = if bytes.starts_with(DESCRIPTOR) { 4 } else { 0 };
    let found = bytes.get(skipped..)?;
    if found.len() < 12 || u32_at(found, 0) != checksum {
        return None;
    }
    let sizes = at + skipped as u64 + 4;
    if found.len() >= 20 && u64_at(found, 4) == packed && u64_at(found, 12) == size {
        return Some((skipped as u64 + 20, Field::wide(sizes)));
    }
    let narrow = u64::from(u32_at(found, 4)) == packed && u64::from(u32_at(found, 8)) == size;
    narrow.then_some((skipped as u64 + 12, Field::narrow(sizes)))
}
