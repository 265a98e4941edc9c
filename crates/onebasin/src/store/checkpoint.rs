//! The state of an unfinished run, as one safetensors file.

use super::tensors::{self, Entry, Tensors, put_floats};
use crate::error::{Error, Result};
use crate::hash::Hasher;
use crate::infer::State;
use safetensors::Dtype;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

/// Everything that is needed to go on.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The inference.
    pub state: State,
    /// The run around it.
    pub run: RunState,
}

/// How far the files of a run had come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// Bytes of the log.
    pub log_bytes: u64,
    /// The last numbers of the inference; null stands for NaN and infinities.
    pub last: BTreeMap<String, Option<f64>>,
    /// Bytes of the TensorBoard events.
    pub event_bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct Metadata {
    run: RunState,
    numbers: Vec<String>,
    vectors: Vec<(String, usize)>,
    /// SHA-256 of everything else: a state with a wrong bit would go on to a wrong result.
    #[serde(default)]
    sha256: String,
}

/// The tensor of all numbers, in f64 because text would round them.
const NUMBERS: &str = "numbers";

impl Checkpoint {
    /// Writes the file, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        let State { vectors, numbers } = &self.state;
        let metadata = Metadata {
            run: self.run.clone(),
            numbers: numbers.keys().cloned().collect(),
            vectors: vectors.iter().map(|(name, values)| (name.clone(), values.len())).collect(),
            sha256: self.sha256(),
        };
        let values: Vec<&Vec<f32>> = vectors.values().collect();
        let mut entries = vec![Entry { name: NUMBERS.to_owned(), dtype: Dtype::F64, shape: vec![numbers.len()] }];
        entries.extend(vectors.iter().map(|(name, values)| Entry::floats(vector_name(name), vec![values.len()])));
        tensors::write(path, &metadata, &entries, |index, file| match index {
            0 => {
                let bytes: Vec<u8> = numbers.values().flat_map(|number| number.to_le_bytes()).collect();
                file.write_all(&bytes).map_err(|error| Error::file(path, error))
            }
            _ => put_floats(path, file, values[index - 1]),
        })
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        let tensors = Tensors::open(path)?;
        let Metadata { run, numbers, vectors, sha256 } = tensors.metadata()?;
        let values = tensors.doubles(NUMBERS, numbers.len())?;
        let mut state = State { numbers: numbers.into_iter().zip(values).collect(), ..State::default() };
        for (name, len) in vectors {
            let values = tensors.floats(&vector_name(&name), &[len])?;
            state.vectors.insert(name, values);
        }
        let checkpoint = Self { state, run };
        if sha256.is_empty() {
            return Err(tensors.unreadable("an earlier version of onebasin wrote it; `--force` starts again"));
        }
        if checkpoint.sha256() != sha256 {
            return Err(tensors.unreadable("it is damaged: its checksum is wrong"));
        }
        Ok(checkpoint)
    }

    /// SHA-256 of all names and values.
    fn sha256(&self) -> String {
        let mut hasher = Hasher::default();
        let mut add = |bytes: &[u8]| hasher.write_all(bytes).expect("a hash takes everything");
        add(serde_json::to_string(&self.run).expect("it is plain data").as_bytes());
        for (name, number) in &self.state.numbers {
            add(name.as_bytes());
            add(&number.to_le_bytes());
        }
        for (name, values) in &self.state.vectors {
            add(name.as_bytes());
            for part in values.chunks(1 << 12) {
                let bytes: Vec<u8> = part.iter().flat_map(|value| value.to_le_bytes()).collect();
                add(&bytes);
            }
        }
        hasher.hex()
    }
}

fn vector_name(name: &str) -> String {
    format!("vectors/{name}")
}
