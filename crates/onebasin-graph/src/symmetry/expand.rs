//! An axis as a row of parts, each the product of leaves and of indices that stay fixed.

use super::classes::{ClassId, Classes, Form, ReasonId};

/// A factor of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Factor {
    /// So many indices that stay in their order.
    Fixed(usize),
    /// Units that may be permuted.
    Free(ClassId),
}

/// The product of some factors, the last one fastest.
pub(super) type Part = Vec<Factor>;

/// The free units of a part, in order.
pub(super) fn free(part: &Part) -> impl Iterator<Item = ClassId> {
    part.iter().filter_map(|factor| if let Factor::Free(class) = factor { Some(*class) } else { None })
}

/// More parts than an axis is cut into; the units of one with more stay fixed.
const MOST_PARTS: usize = 1 << 16;

/// The parts of a class. Where free units are in front of parts, which cannot be written as a row, the parts are fixed first.
pub(super) fn expand(classes: &mut Classes, class: ClassId, reason: ReasonId) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for part in classes.parts(class) {
        let factors = classes.factors(part);
        let mut own = expand_factors(classes, &factors, reason);
        parts.append(&mut own);
        if parts.len() > MOST_PARTS {
            classes.fix(class, reason);
            return vec![vec![Factor::Fixed(classes.size(class))]];
        }
    }
    // Neighbouring parts that are fixed are one.
    let mut joined: Vec<Part> = Vec::new();
    for part in parts {
        match (joined.last_mut().map(Vec::as_mut_slice), &part[..]) {
            (Some([Factor::Fixed(before)]), [Factor::Fixed(more)]) => *before += more,
            _ => joined.push(part),
        }
    }
    joined
}

fn expand_factors(classes: &mut Classes, factors: &[ClassId], reason: ReasonId) -> Vec<Part> {
    let composite = |class: &ClassId| matches!(classes.form(*class), Form::Split(_));
    let Some(at) = factors.iter().position(composite) else { return vec![simple(classes, factors)] };
    let (before, behind) = (simple(classes, &factors[..at]), &factors[at + 1..]);
    let times = match before[..] {
        [] => 1,
        [Factor::Fixed(times)] => times,
        _ => {
            classes.fix(factors[at], reason);
            0
        }
    };
    let parts = classes.parts(factors[at]);
    if times == 0 || times.saturating_mul(parts.len()) > MOST_PARTS || is_fixed(classes, factors[at]) {
        if times != 0 {
            classes.fix(factors[at], reason);
        }
        // As one block of fixed indices: a leaf of its own stands for it.
        let block = classes.leaf(classes.size(factors[at]));
        classes.fix(block, reason);
        let all = [&factors[..at], &[block], behind].concat();
        return expand_factors(classes, &all, reason);
    }
    let mut once = Vec::new();
    for part in parts {
        let own = [&classes.factors(part)[..], behind].concat();
        once.extend(expand_factors(classes, &own, reason));
    }
    std::iter::repeat_n(once, times).flatten().collect()
}

fn is_fixed(classes: &Classes, class: ClassId) -> bool {
    match classes.form(class) {
        Form::Leaf => classes.fixed(class).is_some(),
        Form::Product(children) | Form::Split(children) => children.iter().all(|child| is_fixed(classes, *child)),
    }
}

/// A product of leaves; neighbouring ones that are fixed are one factor, and factors of one index none.
fn simple(classes: &Classes, leaves: &[ClassId]) -> Part {
    let mut part = Part::new();
    for leaf in leaves.iter().filter(|leaf| classes.size(**leaf) > 1) {
        if classes.fixed(*leaf).is_none() {
            part.push(Factor::Free(classes.root(*leaf)));
        } else if let Some(Factor::Fixed(size)) = part.last_mut() {
            *size *= classes.size(*leaf);
        } else {
            part.push(Factor::Fixed(classes.size(*leaf)));
        }
    }
    if part.is_empty() && !leaves.is_empty() { vec![Factor::Fixed(1)] } else { part }
}
