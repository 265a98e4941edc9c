//! Reads checkpoints of `torch.save`: a pickle that describes tensors, and storages with their bytes.

mod globals;
mod legacy;
mod tensor;
mod walk;

pub(crate) use legacy::{begins as begins_legacy, read as read_legacy};

use crate::contents::{Contents, Place, Source};
use crate::error::{Error, Result};
use crate::file::Positioned;
use crate::pickle::{self, Fault};
use crate::zip::{Archive, Method};
use std::path::Path;
use tensor::{Found, Storages};
use walk::Walk;

/// Largest pickle that is unpacked; torch does not deflate, so a larger one was made to fill memory.
const LARGEST_DEFLATED: u64 = 1 << 26;
/// The entry that holds the pickle, behind the name of the archive.
const PICKLE: &str = "data.pkl";

/// Whether an archive is one of torch.
pub(crate) fn is_torch(archive: &Archive) -> bool {
    root(archive).is_some()
}

/// The name before that of the pickle: `model/`.
fn root(archive: &Archive) -> Option<&str> {
    let mut names = archive.entries.iter().filter_map(|entry| entry.name.strip_suffix(PICKLE));
    names.find(|root| root.is_empty() || root.ends_with('/') && !root[..root.len() - 1].contains('/'))
}

pub(crate) fn read(file: Positioned, archive: Archive) -> Result<Contents> {
    let root = root(&archive).unwrap_or_default().to_owned();
    let named = |name: &str| archive.index_of(&format!("{root}{name}")).map(|index| &archive.entries[index]);
    if named("constants.pkl").is_some() {
        let fix = "save its tensors: `torch.save(torch.jit.load(f).state_dict(), f)`";
        return Err(Error::unsupported(&file.path, "it is a TorchScript archive, which holds a program", fix));
    }
    let entry = named(PICKLE).ok_or_else(|| Error::damaged(&file.path, "the archive", "has no `data.pkl`"))?;
    if entry.method == Method::Deflated && entry.size > LARGEST_DEFLATED {
        return Err(
            entry.damaged(&file, &format!("claims {} bytes unpacked, more than {LARGEST_DEFLATED}", entry.size))
        );
    }
    let big_endian = match named("byteorder") {
        None => false,
        Some(order) if order.size > 16 => return Err(order.damaged(&file, "is neither `little` nor `big`")),
        Some(order) => match order.read(&file)?.as_slice() {
            b"little" => false,
            b"big" => true,
            _ => return Err(order.damaged(&file, "is neither `little` nor `big`")),
        },
    };
    let bytes = entry.read(&file)?;
    let pickle = pickle::read(&bytes).map_err(|fault| match fault {
        Fault::Ended => entry.damaged(&file, "ends early"),
        Fault::Wrong(reason) => entry.damaged(&file, &reason),
    })?;
    let find = |key: &str| {
        let index = archive.index_of(&format!("{root}data/{key}"));
        let index =
            index.ok_or_else(|| Error::damaged(&file.path, format!("storage `{key}`"), "is not in the archive"))?;
        let entry = &archive.entries[index];
        entry.check_readable(&file)?;
        Ok(Found { place: Place::Entry(index), len: entry.size })
    };
    let mut storages = Storages::new(&file.path, &find, big_endian);
    let walk = Walk::new(&file.path, &pickle, &mut storages);
    let mut contents = walk.contents()?;
    contents.storages = storages.into_storages();
    refuse_only_foreign(&file.path, &contents)?;
    contents.sources.push(Source { file, archive: Some(archive) });
    Ok(contents)
}

/// Refuses a file in which there are objects of foreign classes but no tensor that could be found without their code.
fn refuse_only_foreign(path: &Path, contents: &Contents) -> Result<()> {
    match contents.foreign.first() {
        Some(first) if contents.tensors.is_empty() => {
            let what =
                format!("no tensor is found in it, but objects that only their own code understands, as `{first}`");
            Err(Error::unsupported(path, what, "save its tensors: `torch.save(model.state_dict(), f)`"))
        }
        _ => Ok(()),
    }
}
