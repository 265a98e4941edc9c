//! Where the archive keeps its tensors: which of them are one, and the entries of constants.

use std::collections::BTreeMap;
use std::io::{Read, Seek};

use super::archive::{Archive, MOST_BYTES};
use super::pickle;
use super::place::{MOST_ENTRIES, Place};
use super::schema::{Payload, Payloads};
use crate::error::{Error, Result};

/// Where a kind of tensors is stored.
#[derive(Debug, Default)]
pub(super) struct Storage {
    places: BTreeMap<String, Option<Place>>,
    /// The folder of the storages, or the pickle that has them.
    home: Home,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Home {
    #[default]
    None,
    Folder(String),
    Pickle(String),
}

impl Storage {
    /// That of parameters and persistent buffers.
    pub(super) fn weights<R: Read + Seek>(archive: &mut Archive<R>, model: &str) -> Result<Self> {
        let config = format!("data/weights/{model}_weights_config.json");
        Self::read(archive, &config, &["serialized_state_dict.pt", &format!("data/weights/{model}.pt")])
    }

    /// That of constants and buffers that are not in the state dict.
    pub(super) fn constants<R: Read + Seek>(archive: &mut Archive<R>, model: &str) -> Result<Self> {
        let config = format!("data/constants/{model}_constants_config.json");
        Self::read(archive, &config, &["serialized_constants.pt", &format!("data/constants/{model}.pt")])
    }

    fn read<R: Read + Seek>(archive: &mut Archive<R>, config: &str, pickles: &[&str]) -> Result<Self> {
        if let Some(path) = archive.find(config) {
            let bytes = archive.read(&path, MOST_BYTES)?;
            let fault = |error: serde_json::Error| Error::new(format!("{}: {path}", archive.name), error.to_string());
            let payloads: Payloads = serde_json::from_slice(&bytes).map_err(fault)?;
            let folder = path[..path.rfind('/').map_or(0, |at| at + 1)].to_owned();
            let place = |name: &str, payload: &Payload| match &payload.tensor_meta {
                // Tensors without memory all have the same empty storage, and are not the same for that.
                Some(meta) if meta.device.as_ref().is_some_and(|device| device.kind == "meta") => {
                    Place::of(format!("meta/{name}"), meta)
                }
                Some(meta) if !payload.use_pickle => Place::of(payload.path_name.clone(), meta),
                _ => None,
            };
            let places = payloads.config.iter().map(|(name, payload)| (name.clone(), place(name, payload))).collect();
            return Ok(Self { places, home: Home::Folder(folder) });
        }
        let Some(path) = pickles.iter().find_map(|pickle| archive.find(pickle)) else { return Ok(Self::default()) };
        let mut inner = archive.nested(&path)?;
        let Some(data) = inner.find("data.pkl") else {
            return Err(Error::new(inner.name, "it has no data.pkl, which says where tensors are stored"));
        };
        let bytes = inner.read(&data, MOST_BYTES / 8)?;
        let places = pickle::places(&bytes).map_err(|fault| Error::new(format!("{}: {data}", inner.name), fault))?;
        Ok(Self { places, home: Home::Pickle(path) })
    }

    /// Names of all tensors, in alphabetical order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    /// Where a tensor is.
    pub(super) fn place(&self, name: &str) -> Option<&Place> {
        self.places.get(name).and_then(Option::as_ref)
    }

    /// The entries of a tensor, row-major, if the archive has them and they are few.
    pub(super) fn entries<R: Read + Seek>(&self, archive: &mut Archive<R>, name: &str) -> Option<Vec<f64>> {
        let place = self.place(name)?;
        let (bytes, decode) = decoder(place.dtype)?;
        let positions = place.positions()?;
        let most = (MOST_ENTRIES * 8) as u64;
        if let Some(order) = archive.find("byteorder")
            && archive.read(&order, 16).ok()?.starts_with(b"big")
        {
            return None;
        }
        let storage = match &self.home {
            Home::None => return None,
            Home::Folder(folder) => archive.read(&format!("{folder}{}", place.storage), most).ok()?,
            Home::Pickle(path) => {
                let mut inner = archive.nested(path).ok()?;
                let file = inner.find(&format!("data/{}", place.storage))?;
                inner.read(&file, most).ok()?
            }
        };
        let entry = |position: &usize| {
            let start = position.checked_mul(bytes)?;
            storage.get(start..start.checked_add(bytes)?).map(decode)
        };
        let entries: Vec<f64> = positions.iter().map(entry).collect::<Option<_>>()?;
        // Different integers beyond these may be one number of 64 bits.
        let exact = place.dtype != 5 || entries.iter().all(|entry| entry.abs() < (1u64 << 53) as f64);
        exact.then_some(entries)
    }
}

/// Number of bytes of a number, and how they make it.
type Decoder = (usize, fn(&[u8]) -> f64);

/// How numbers of this type are read.
fn decoder(dtype: i64) -> Option<Decoder> {
    fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.try_into().expect("as many bytes as the type has")
    }
    Some(match dtype {
        1 | 12 => (1, |bytes| f64::from(bytes[0])),
        2 => (1, |bytes| f64::from(i8::from_le_bytes(fixed(bytes)))),
        3 => (2, |bytes| f64::from(i16::from_le_bytes(fixed(bytes)))),
        4 => (4, |bytes| f64::from(i32::from_le_bytes(fixed(bytes)))),
        5 => (8, |bytes| i64::from_le_bytes(fixed(bytes)) as f64),
        7 => (4, |bytes| f64::from(f32::from_le_bytes(fixed(bytes)))),
        8 => (8, |bytes| f64::from_le_bytes(fixed(bytes))),
        13 => (2, |bytes| f64::from(f32::from_bits(u32::from(u16::from_le_bytes(fixed(bytes))) << 16))),
        _ => return None,
    })
}
