//! Permutes the elements of tensors of any type, as bytes.

use crate::symmetry::{Permutation, Permutations};
use onebasin_graph::symmetry::{Segment, TensorAxes};

/// For each axis, the index that each place takes its entries from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisMaps {
    shape: Vec<usize>,
    /// None where all entries stay in their place.
    maps: Vec<Option<Vec<u32>>>,
}

impl AxisMaps {
    /// What permutations of all groups do to the axes of a tensor.
    pub fn of(tensor: &TensorAxes, permutations: &Permutations) -> Self {
        let permutations = permutations.as_slice();
        let map = |segments: &Vec<Segment>| {
            segments.iter().any(|segment| segment.group.is_some()).then(|| axis_map(segments, permutations))
        };
        Self { shape: tensor.shape.clone(), maps: tensor.axes.iter().map(map).collect() }
    }

    /// Number of entries of the tensor.
    pub fn entries(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether all entries stay in their place.
    pub fn is_identity(&self) -> bool {
        let stays = |map: &Vec<u32>| map.iter().zip(0..).all(|(from, place)| *from == place);
        self.maps.iter().flatten().all(stays)
    }

    /// The entries, row-major and `size` bytes each, in their new order.
    ///
    /// # Panics
    /// If `bytes` has another length than the tensor.
    pub fn apply(&self, bytes: &[u8], size: usize) -> Vec<u8> {
        assert_eq!(bytes.len(), self.entries() * size, "bytes of the whole tensor");
        // Axes behind the last one that is permuted move as a whole.
        let last = self.maps.iter().rposition(Option::is_some).map_or(0, |axis| axis + 1);
        let run = self.shape[last..].iter().product::<usize>() * size;
        let mut strides = vec![run; last];
        for axis in (1..last).rev() {
            strides[axis - 1] = strides[axis] * self.shape[axis];
        }
        let mut out = Vec::with_capacity(bytes.len());
        self.gather(0, 0, &strides, run, bytes, &mut out);
        out
    }

    fn gather(&self, axis: usize, from: usize, strides: &[usize], run: usize, bytes: &[u8], out: &mut Vec<u8>) {
        let Some(stride) = strides.get(axis) else {
            out.extend_from_slice(&bytes[from..from + run]);
            return;
        };
        match &self.maps[axis] {
            Some(map) => {
                for index in map {
                    self.gather(axis + 1, from + *index as usize * stride, strides, run, bytes, out);
                }
            }
            None => {
                for index in 0..self.shape[axis] {
                    self.gather(axis + 1, from + index * stride, strides, run, bytes, out);
                }
            }
        }
    }
}

fn axis_map(segments: &[Segment], permutations: &[Permutation]) -> Vec<u32> {
    let mut map = Vec::new();
    for &Segment { group, units, repeat, blocks } in segments {
        let start = map.len();
        for block in 0..blocks {
            for unit in 0..units {
                let from = group.map_or(unit, |group| permutations[group].as_slice()[unit] as usize);
                map.extend((0..repeat).map(|index| (start + (block * units + from) * repeat + index) as u32));
            }
        }
    }
    map
}
