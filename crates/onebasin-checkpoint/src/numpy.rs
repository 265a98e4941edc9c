//! Reads the headers of NumPy arrays: a single `.npy`, or the entries of an `.npz`.

use crate::contents::{Contents, Location, Place, Source, Storage};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::file::Positioned;
use crate::view::View;
use crate::zip::Archive;
use std::io::Read;

/// How an array begins.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";
/// How the names of arrays in an archive end.
const SUFFIX: &str = ".npy";
/// The name of the only array of a file.
const ONLY: &str = "array";
/// Longest header; those of structured types are the longest.
const LONGEST_HEADER: usize = 1 << 20;

/// What the header of an array says.
#[derive(Debug, PartialEq, Eq)]
struct Header {
    /// Type with its byte order, `<f4`; of a structured type, its whole description.
    description: String,
    structured: bool,
    column_major: bool,
    shape: Vec<usize>,
    /// Where the elements begin.
    start: u64,
}

pub(crate) fn read_npy(file: Positioned) -> Result<Contents> {
    let damaged = |fault: String| Error::damaged(&file.path, "the array", fault);
    let header = header(&mut file.section(0, file.len)).map_err(damaged)?;
    let mut contents = Contents::default();
    contents.storages.push(Storage { source: 0, place: Place::Plain(0) });
    if !add(&mut contents, ONLY, header, file.len, 0).map_err(damaged)? {
        let fix = "save an array of numbers";
        return Err(Error::unsupported(&file.path, "its elements are Python objects, which are not tensors", fix));
    }
    contents.sources.push(Source { file, archive: None });
    Ok(contents)
}

/// Whether an archive has an array.
pub(crate) fn is_npz(archive: &Archive) -> bool {
    archive.entries.iter().any(|entry| entry.name.ends_with(SUFFIX))
}

pub(crate) fn read_npz(file: Positioned, archive: Archive) -> Result<Contents> {
    let mut contents = Contents::default();
    for (index, entry) in archive.entries.iter().enumerate() {
        let Some(name) = entry.name.strip_suffix(SUFFIX) else { continue };
        entry.check_readable(&file)?;
        let damaged = |fault: String| Error::damaged(&file.path, format!("array `{name}`"), fault);
        let header = header(&mut entry.reader(&file)).map_err(damaged)?;
        let storage = contents.storages.len();
        if add(&mut contents, name, header, entry.size, storage).map_err(damaged)? {
            contents.storages.push(Storage { source: 0, place: Place::Entry(index) });
        } else {
            contents.foreign.insert(name.to_owned());
        }
    }
    contents.sources.push(Source { file, archive: Some(archive) });
    Ok(contents)
}

/// Adds an array of a storage of `len` bytes; false if its elements are not bytes but Python objects.
fn add(
    contents: &mut Contents,
    name: &str,
    header: Header,
    len: u64,
    storage: usize,
) -> std::result::Result<bool, String> {
    let Header { description, structured, column_major, shape, start } = header;
    let room = len.saturating_sub(start);
    if structured {
        let bytes = usize::try_from(room).map_err(|_| format!("has {room} bytes, which is too large"))?;
        let view = View::contiguous(&[bytes], false, start, 1, len)?;
        contents.push(
            name.to_owned(),
            shape,
            DType::Other { name: description.into(), size: None },
            Location { storage, view },
        );
        return Ok(true);
    }
    let wrong = || format!("has the type {description:?}, which NumPy does not have");
    let order = description.chars().next().filter(|order| "<>|=".contains(*order));
    let kind = if order.is_some() { &description[1..] } else { &description[..] };
    if kind.starts_with('O') {
        return Ok(false);
    }
    let dtype = if let Some(dtype) = DType::of_numpy(kind) {
        dtype
    } else {
        let letter = kind.chars().next().filter(char::is_ascii_alphabetic).ok_or_else(wrong)?;
        // A unit may follow: `M8[ns]`.
        let digits: String = kind[1..].chars().take_while(char::is_ascii_digit).collect();
        let count: usize = digits.parse().map_err(|_| wrong())?;
        // Characters of text have four bytes.
        let size = if letter == 'U' { count.checked_mul(4) } else { Some(count) };
        DType::Other { name: description.as_str().into(), size: size.filter(|size| *size > 0) }
    };
    let size = dtype.size().unwrap_or(0);
    let mut view = View::contiguous(&shape, column_major, start, size, len)?;
    if order == Some('>') {
        view = view.big_endian(dtype.swapped_bytes());
    }
    contents.push(name.to_owned(), shape, dtype, Location { storage, view });
    Ok(true)
}

fn header(reader: &mut impl Read) -> std::result::Result<Header, String> {
    let mut take = |len: usize| {
        let mut bytes = vec![0; len];
        reader.read_exact(&mut bytes).map(|()| bytes).map_err(|error| format!("has a header that ends early ({error})"))
    };
    let start = take(8)?;
    if !start.starts_with(MAGIC) {
        return Err("does not begin like an array of NumPy".to_owned());
    }
    let (len, before) = match start[6] {
        1 => (take(2)?.iter().rev().fold(0, |len, byte| len << 8 | usize::from(*byte)), 10),
        2 | 3 => (take(4)?.iter().rev().fold(0, |len, byte| len << 8 | usize::from(*byte)), 12),
        version => return Err(format!("has a header of version {version}; 1 to 3 are known")),
    };
    if len > LONGEST_HEADER {
        return Err(format!("has a header of {len} bytes, more than the {LONGEST_HEADER} allowed"));
    }
    let text = String::from_utf8_lossy(&take(len)?).into_owned();
    let said = |key: &str| {
        let quoted = [format!("'{key}'"), format!("\"{key}\"")];
        let at = quoted.iter().find_map(|quoted| text.find(quoted.as_str()).map(|at| at + quoted.len()));
        let value = at.and_then(|at| text[at..].trim_start().strip_prefix(':')).map(str::trim_start);
        value.ok_or_else(|| format!("has a header without `{key}`"))
    };
    let column_major = match said("fortran_order")? {
        value if value.starts_with("False") => false,
        value if value.starts_with("True") => true,
        _ => return Err("has a header whose `fortran_order` is neither True nor False".to_owned()),
    };
    let shape = said("shape")?.strip_prefix('(').and_then(|shape| shape.split_once(')')).map(|(shape, _)| shape);
    let shape = shape.ok_or("has a header whose `shape` is not a tuple")?;
    let sizes = shape.split(',').map(|size| size.trim().trim_end_matches('L')).filter(|size| !size.is_empty());
    let sizes: std::result::Result<Vec<usize>, _> = sizes.map(str::parse).collect();
    let shape = sizes.map_err(|_| format!("has the shape ({shape}), which is not one of sizes"))?;
    let description = said("descr")?;
    let quote = description.chars().next().filter(|quote| "'\"".contains(*quote));
    let simple = quote.and_then(|quote| description[1..].split_once(quote)).map(|(simple, _)| simple.to_owned());
    let structured = simple.is_none();
    if structured && !description.starts_with(['[', '(']) {
        return Err("has a header whose `descr` is not a type".to_owned());
    }
    let end = description.rfind("'fortran_order'").unwrap_or(description.len());
    let whole = || description[..end].trim_end_matches([',', ' ']).to_owned();
    let description = simple.unwrap_or_else(whole);
    Ok(Header { description, structured, column_major, shape, start: (before + len) as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(version: u8, text: &str) -> std::result::Result<Header, String> {
        let mut bytes = [MAGIC, &[version, 0]].concat();
        let len = text.len() as u32;
        bytes.extend(if version == 1 { (len as u16).to_le_bytes().to_vec() } else { len.to_le_bytes().to_vec() });
        bytes.extend(text.as_bytes());
        header(&mut bytes.as_slice())
    }

    #[test]
    fn headers_of_all_versions_are_read() {
        let text = "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }  \n";
        for (version, before) in [(1, 10), (2, 12), (3, 12)] {
            let found = read(version, text).unwrap();
            assert_eq!((found.description.as_str(), found.column_major, found.structured), ("<f4", true, false));
            assert_eq!((found.shape.as_slice(), found.start), ([3, 4].as_slice(), before + text.len() as u64));
        }
        assert_eq!(read(1, "{'descr': '<f4', 'fortran_order': False, 'shape': ()}").unwrap().shape, [0; 0]);
        assert_eq!(read(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (7L,)}").unwrap().shape, [7]);
        let structured = read(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}").unwrap();
        assert_eq!((structured.description.as_str(), structured.structured), ("[('a', '<f4')]", true));
    }

    #[test]
    fn a_damaged_header_is_an_error_that_names_the_key() {
        for (text, said) in [
            ("{}", "fortran_order"),
            ("{'descr': '<f4', 'fortran_order': 3, 'shape': ()}", "neither True nor False"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': 3}", "not a tuple"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", "(-3,)"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "not one of sizes"),
            ("{'descr': 4, 'fortran_order': False, 'shape': (3,)}", "`descr`"),
        ] {
            let fault = read(1, text).unwrap_err();
            assert!(fault.contains(said), "{text}: {fault}");
        }
        assert!(read(4, "").unwrap_err().contains("version 4"));
        assert!(
            header(&mut [MAGIC, &[2, 0, 255, 255, 255, 255]].concat().as_slice()).unwrap_err().contains("4294967295")
        );
        assert!(header(&mut [MAGIC, &[1, 0, 9, 0, 1]].concat().as_slice()).unwrap_err().contains("ends early"));
    }
}
