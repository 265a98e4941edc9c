//! Writes scalars as an event file for TensorBoard, which can be cut and continued after an interruption.
//!
//! A file is a sequence of records: the length of the data (u64), its checksum (u32), the data, their checksum (u32), all
//! little endian. The data are a protocol buffer `Event`; the few fields needed are encoded by hand, which is less than
//! the build of a general encoder would be.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Name of an event file: this, ten digits of seconds, and the suffix. TensorBoard wants `tfevents` in it, and reads the
/// files of a folder in the order of their names.
const PREFIX: &str = "events.out.tfevents.";
const SUFFIX: &str = ".onebasin";

/// Length and checksum before the data of a record, and checksum after.
const HEADER_LEN: u64 = 12;
const FOOTER_LEN: u64 = 4;

/// An event file that is being written.
#[derive(Debug)]
pub struct Events {
    file: BufWriter<File>,
    /// Bytes written so far, flushed or not.
    len: u64,
}

impl Events {
    /// Creates `events.out.tfevents.<seconds>.onebasin` in `dir`, and `dir` if need be; `wall_time` is in seconds since
    /// 1970.
    ///
    /// A file of that name is an error, as it belongs to another run.
    pub fn create(dir: &Path, wall_time: f64) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let file = File::create_new(dir.join(format!("{PREFIX}{:010.0}{SUFFIX}", wall_time.floor())))?;
        let mut events = Self { file: BufWriter::new(file), len: 0 };
        events.version(wall_time)?;
        Ok(events)
    }

    /// Continues the latest file in `dir` behind its first `keep` bytes, a length that [`Self::flush`] returned; without
    /// a file, creates one at `wall_time`.
    ///
    /// What came after `keep` is lost, as it is going to be written again. A TensorBoard that has read it already must be
    /// restarted. A file that is shorter, or has no record that ends there, is an error and stays as it is.
    pub fn resume(dir: &Path, keep: u64, wall_time: f64) -> io::Result<Self> {
        let Some(path) = latest(dir)? else {
            return Self::create(dir, wall_time);
        };
        let mut file = OpenOptions::new().read(true).write(true).open(&path)?;
        if !ends_record(&file, keep)? {
            let message = format!("{} has no record that ends at byte {keep}", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        file.set_len(keep)?;
        file.seek(SeekFrom::Start(keep))?;
        let mut events = Self { file: BufWriter::new(file), len: keep };
        if keep == 0 {
            events.version(wall_time)?;
        }
        Ok(events)
    }

    /// Adds one event with all `values`, each a tag and a number, which TensorBoard keeps as `f32`.
    pub fn scalars(&mut self, wall_time: f64, step: u64, values: &[(&str, f64)]) -> io::Result<()> {
        let scalar = |(tag, value): &(&str, f64)| {
            let number = [&key(2, WIRE_FIXED_32), &(*value as f32).to_le_bytes()[..]].concat();
            bytes_field(1, &[bytes_field(1, tag.as_bytes()), number].concat())
        };
        let summary: Vec<u8> = values.iter().flat_map(scalar).collect();
        self.record(wall_time, &[key(2, WIRE_VARINT), varint(step), bytes_field(5, &summary)].concat())
    }

    /// Hands everything to the disk; returns the length of the file in bytes, up to which [`Self::resume`] can keep it.
    pub fn flush(&mut self) -> io::Result<u64> {
        self.file.flush()?;
        self.file.get_ref().sync_data()?;
        Ok(self.len)
    }

    /// Adds the event that every file begins with.
    fn version(&mut self, wall_time: f64) -> io::Result<()> {
        self.record(wall_time, &bytes_field(3, b"brain.Event:2"))
    }

    /// Adds a record of an event with its time and these encoded fields.
    fn record(&mut self, wall_time: f64, fields: &[u8]) -> io::Result<()> {
        let data = [&key(1, WIRE_FIXED_64), &wall_time.to_le_bytes()[..], fields].concat();
        let header = (data.len() as u64).to_le_bytes();
        self.file.write_all(&header)?;
        self.file.write_all(&masked_crc32c(&header).to_le_bytes())?;
        self.file.write_all(&data)?;
        self.file.write_all(&masked_crc32c(&data).to_le_bytes())?;
        self.len += HEADER_LEN + data.len() as u64 + FOOTER_LEN;
        Ok(())
    }
}

/// The event file in `dir` with the largest number of seconds, if `dir` exists and has any.
fn latest(dir: &Path) -> io::Result<Option<PathBuf>> {
    let entries = match dir.read_dir() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    let seconds = |entry: &fs::DirEntry| -> Option<u64> {
        entry.file_name().to_str()?.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.parse().ok()
    };
    let entries = entries.collect::<io::Result<Vec<_>>>()?;
    let latest = entries.iter().filter_map(|entry| Some((seconds(entry)?, entry.path()))).max();
    Ok(latest.map(|(_, path)| path))
}

/// Whether `file` has at least `end` bytes and they are whole records; reads their headers only.
fn ends_record(file: &File, end: u64) -> io::Result<bool> {
    if end > file.metadata()?.len() {
        return Ok(false);
    }
    let mut reader = BufReader::new(file);
    let mut position = 0u64;
    while end.saturating_sub(position) > HEADER_LEN + FOOTER_LEN {
        let (mut len, mut crc) = ([0; 8], [0; 4]);
        reader.read_exact(&mut len)?;
        reader.read_exact(&mut crc)?;
        let rest = u64::from_le_bytes(len).saturating_add(FOOTER_LEN);
        if masked_crc32c(&len).to_le_bytes() != crc || rest > end - position - HEADER_LEN {
            return Ok(false);
        }
        reader.seek_relative(rest.cast_signed())?;
        position += HEADER_LEN + rest;
    }
    Ok(position == end)
}

/// How a field of a protocol buffer is encoded.
const WIRE_VARINT: u64 = 0;
const WIRE_FIXED_64: u64 = 1;
const WIRE_BYTES: u64 = 2;
const WIRE_FIXED_32: u64 = 5;

/// A field that is a string, a byte string or a message.
fn bytes_field(field: u64, bytes: &[u8]) -> Vec<u8> {
    [&key(field, WIRE_BYTES), &varint(bytes.len() as u64), bytes].concat()
}

fn key(field: u64, wire: u64) -> Vec<u8> {
    varint(field << 3 | wire)
}

/// Seven bits per byte, the lowest first; the eighth says that more follow.
fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// The checksum of a record: rotated and shifted, because checksums of data that contain checksums are weak.
fn masked_crc32c(data: &[u8]) -> u32 {
    crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (Castagnoli), bit by bit: a few hundred bytes for each event need no table, nor a crate.
fn crc32c(data: &[u8]) -> u32 {
    let shifted = |crc: u32, _| crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
    !data.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), shifted))
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: f64 = 1_700_000_000.5;

    /// The two records of [`write_two`], by the writer of the Python package tensorboard 2.21.0:
    /// `RecordWriter(file).write(event.SerializeToString())`.
    const VERSION_RECORD: &str = "1800000000000000a37f4b220900002040fc54d9411a0d627261696e2e4576656e743a322b353110";
    const SCALARS_RECORD: &str = "3200000000000000241956ec0900005040fc54d94110ac022a240a0b0a046c6f7373150000003f\
                                  0a150a0e747261696e2f616363757261637915cdcccc3d90f2e900";

    /// A folder that is gone when the test ends.
    struct Folder(PathBuf);

    impl Folder {
        fn new(test: &str) -> Self {
            let path = std::env::temp_dir().join(format!("onebasin-tensorboard-{}-{test}", std::process::id()));
            assert!(!path.exists());
            Self(path)
        }

        fn file(&self, seconds: u64) -> PathBuf {
            self.0.join(format!("events.out.tfevents.{seconds:010}.onebasin"))
        }

        fn bytes(&self, seconds: u64) -> Vec<u8> {
            fs::read(self.file(seconds)).unwrap()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn bytes(hex: &[&str]) -> Vec<u8> {
        let hex = hex.concat();
        (0..hex.len() / 2).map(|index| u8::from_str_radix(&hex[2 * index..][..2], 16).unwrap()).collect()
    }

    fn write_scalars(events: &mut Events) {
        events.scalars(START + 0.75, 300, &[("loss", 0.5), ("train/accuracy", 0.1)]).unwrap();
    }

    /// Writes the version and one event with two scalars; returns the length after each.
    fn write_two(folder: &Folder) -> [u64; 2] {
        let mut events = Events::create(&folder.0, START).unwrap();
        let first = events.flush().unwrap();
        write_scalars(&mut events);
        [first, events.flush().unwrap()]
    }

    #[test]
    fn checksums_are_the_published_ones() {
        // RFC 3720, appendix B.4, and the usual check value.
        assert_eq!(crc32c(b""), 0);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        let ascending: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&ascending), 0x46dd_794e);
        assert_eq!(masked_crc32c(&[0x18, 0, 0, 0, 0, 0, 0, 0]), 0x224b_7fa3);
    }

    #[test]
    fn varints_take_seven_bits_per_byte() {
        assert_eq!(varint(0), [0]);
        assert_eq!(varint(127), [0x7f]);
        assert_eq!(varint(128), [0x80, 0x01]);
        assert_eq!(varint(300), [0xac, 0x02]);
        assert_eq!(varint(u64::MAX), [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
    }

    #[test]
    fn files_are_those_of_tensorboard_byte_for_byte() {
        let folder = Folder::new("bytes");
        let [first, second] = write_two(&folder);
        assert_eq!(folder.bytes(1_700_000_000), bytes(&[VERSION_RECORD, SCALARS_RECORD]));
        let lens = [bytes(&[VERSION_RECORD]).len(), bytes(&[VERSION_RECORD, SCALARS_RECORD]).len()];
        assert_eq!([first as usize, second as usize], lens);
    }

    #[test]
    fn a_second_run_in_the_same_second_is_refused() {
        let folder = Folder::new("twice");
        write_two(&folder);
        assert_eq!(Events::create(&folder.0, START).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(folder.bytes(1_700_000_000), bytes(&[VERSION_RECORD, SCALARS_RECORD]));
    }

    #[test]
    fn a_resumed_file_is_what_an_uninterrupted_run_writes() {
        let folder = Folder::new("resume");
        let [first, second] = write_two(&folder);
        for keep in [second, first, 0] {
            // What a crash leaves: a part of another record.
            let mut crashed = folder.bytes(1_700_000_000);
            crashed.extend([0x32, 0, 0, 0, 0]);
            fs::write(folder.file(1_700_000_000), crashed).unwrap();

            let mut events = Events::resume(&folder.0, keep, START).unwrap();
            if keep < second {
                write_scalars(&mut events);
            }
            assert_eq!(events.flush().unwrap(), second, "{keep}");
            assert_eq!(folder.bytes(1_700_000_000), bytes(&[VERSION_RECORD, SCALARS_RECORD]), "{keep}");
        }
    }

    #[test]
    fn without_a_file_to_resume_there_is_a_new_one() {
        let folder = Folder::new("none");
        let mut events = Events::resume(&folder.0, 123, START).unwrap();
        assert_eq!(events.flush().unwrap() as usize, bytes(&[VERSION_RECORD]).len());
        assert_eq!(folder.bytes(1_700_000_000), bytes(&[VERSION_RECORD]));
    }

    #[test]
    fn the_latest_file_is_resumed() {
        let folder = Folder::new("latest");
        let [first, _] = write_two(&folder);
        Events::create(&folder.0, 1_800_000_000.0).unwrap();
        Events::create(&folder.0, 900_000_000.0).unwrap();
        for other in ["events.out.tfevents.1900000000.elsewhere", "events.out.tfevents.x.onebasin", "notes"] {
            fs::write(folder.0.join(other), "").unwrap();
        }
        let mut events = Events::resume(&folder.0, first, START).unwrap();
        write_scalars(&mut events);
        events.flush().unwrap();
        assert!(folder.bytes(1_800_000_000).ends_with(&bytes(&[SCALARS_RECORD])));
        assert_eq!(folder.bytes(900_000_000).len() as u64, first);
    }

    #[test]
    fn a_cut_inside_a_record_or_behind_the_end_is_refused() {
        let folder = Folder::new("cut");
        let [first, second] = write_two(&folder);
        let before = folder.bytes(1_700_000_000);
        let resumes = |keep| match Events::resume(&folder.0, keep, START) {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::InvalidData);
                false
            }
        };
        for keep in (1..=second + 20).filter(|keep| ![first, second].contains(keep)) {
            assert!(!resumes(keep), "{keep}");
            assert_eq!(folder.bytes(1_700_000_000), before);
        }
        // A length that was damaged does not lead the reader astray.
        let mut damaged = before;
        damaged[7] = 0xff;
        fs::write(folder.file(1_700_000_000), damaged).unwrap();
        assert!(!resumes(first));
    }
}
