//! Families: groups whose units come in blocks, one block for each unit of another group.

use super::{Group, Permutation};
use std::collections::BTreeMap;

/// A group and those that are within it, by their indices in the spec.
///
/// The permutations of a family are a wreath product: block b of each child comes from the block that unit b of the
/// parent comes from, and the units inside a block are reordered as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// The group whose units are the blocks of the children, such as the heads of an attention layer.
    pub parent: usize,
    /// The groups within it, in order.
    pub children: Vec<usize>,
}

/// The families of some groups, in the order of their parents.
pub(super) fn families(groups: &[Group]) -> Vec<Family> {
    if groups.iter().all(|group| group.within.is_none()) {
        return Vec::new();
    }
    let known = indices(groups);
    let mut children: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, group) in groups.iter().enumerate() {
        if let Some(parent) = &group.within {
            children.entry(known[&**parent]).or_default().push(index);
        }
    }
    children.into_iter().map(|(parent, children)| Family { parent, children }).collect()
}

fn indices(groups: &[Group]) -> BTreeMap<&str, usize> {
    groups.iter().map(|group| &*group.name).zip(0..).collect()
}

/// Says what is wrong with the parents of groups, whose names differ; else which groups are parents.
pub(super) fn check_parents(groups: &[Group]) -> Result<Vec<bool>, String> {
    let known = indices(groups);
    let mut parents = vec![false; groups.len()];
    for Group { name, size, within } in groups {
        let Some(parent) = within else { continue };
        let Some(&index) = known.get(&**parent) else {
            return Err(format!("group `{name}` is within `{parent}`, and there is no such group"));
        };
        let Group { size: blocks, within: above, .. } = &groups[index];
        if above.is_some() || parent == name {
            return Err(format!("group `{name}` is within `{parent}`, which is within a group itself"));
        }
        if *size == 0 || !size.is_multiple_of(*blocks) {
            let fault =
                format!("`{name}` has {size} units, not the same number for each of the {blocks} of `{parent}`");
            return Err(fault);
        }
        parents[index] = true;
    }
    Ok(parents)
}

/// Says which permutation does not keep the blocks of its family.
pub(super) fn check_blocks(groups: &[Group], permutations: &[Permutation]) -> Result<(), String> {
    for Family { parent, children } in families(groups) {
        let blocks = permutations[parent].as_slice();
        for child in children {
            let len = groups[child].size / blocks.len();
            for (unit, &from) in permutations[child].as_slice().iter().enumerate() {
                let (block, there) = (unit / len, from as usize / len);
                if there != blocks[block] as usize {
                    let (name, parent, wanted) = (&groups[child].name, &groups[parent].name, blocks[block]);
                    return Err(format!(
                        "unit {unit} of `{name}` comes from block {there}, but block {block} from unit {wanted} of `{parent}`"
                    ));
                }
            }
        }
    }
    Ok(())
}
