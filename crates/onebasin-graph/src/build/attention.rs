//! Attention between stacks of queries, keys and values.

use super::Builder;
use crate::error::Result;
use crate::graph::Index::{Any, Fixed, One};
use crate::graph::{Index, ValueId};

impl Builder {
    /// softmax(q kᵀ + mask) v of (stack..., position, dimension), with causal attention or not. The key and value may have fewer heads (the
    /// last axis of the stack) than the query, each for as many neighbouring heads of the query.
    pub fn attention(
        &mut self,
        [query, key, value]: [ValueId; 3],
        mask: Option<ValueId>,
        causal: bool,
    ) -> Result<ValueId> {
        let [q, k, v] = [query, key, value].map(|part| self.shape(part).to_vec());
        let axes = q.len();
        if axes < 2 || k.len() != axes || v.len() != axes {
            return Err(self.error(format!("attention of {q:?}, {k:?}, {v:?}")));
        }
        if axes > 2 && q[axes - 3] != k[axes - 3] {
            return self.grouped_attention([query, key, value], mask, causal);
        }
        let stack: Vec<Index> = (0..axes - 2).map(Any).collect();
        let position = |number: usize| if causal { Fixed } else { Any(number) };
        let (from, to, inner, outer) = (position(axes), position(axes + 1), Any(axes + 2), Any(axes + 3));
        let with = |last: [Index; 2]| [&stack[..], &last].concat();
        let mut operands = vec![(query, with([from, inner])), (key, with([to, inner])), (value, with([to, outer]))];
        if let Some(mask) = mask {
            let own = self.shape(mask).to_vec();
            let all = [&q[..axes - 1], &k[axes - 2..axes - 1]].concat();
            let indices = with([from, to]);
            let Some(skipped) = all.len().checked_sub(own.len()) else {
                return Err(self.error(format!("a mask {own:?} does not fit {all:?}")));
            };
            let index = |(axis, size): (usize, &usize)| match (*size, all[skipped + axis]) {
                (1, all) if all != 1 => One,
                _ => indices[skipped + axis],
            };
            operands.push((mask, own.iter().enumerate().map(index).collect()));
        }
        let shape = [&q[..axes - 1], &v[axes - 1..]].concat();
        let result = self.indexed_one(&operands, &shape, with([from, outer]))?;
        self.works_alone_at(0..axes - 2);
        Ok(result)
    }

    fn grouped_attention(
        &mut self,
        [query, key, value]: [ValueId; 3],
        mask: Option<ValueId>,
        causal: bool,
    ) -> Result<ValueId> {
        let [q, k, v] = [query, key, value].map(|part| self.shape(part).to_vec());
        let at = q.len() - 3;
        let (heads, groups) = (q[at], k[at]);
        if groups == 0
            || !heads.is_multiple_of(groups)
            || v[at] != groups
            || mask.is_some_and(|mask| self.shape(mask).len() > 3)
        {
            return Err(self.error(format!("{heads} heads do not share {groups} keys and values")));
        }
        let each = heads / groups;
        let split = [&q[..at], &[groups, each], &q[at + 1..]].concat();
        let query = self.reshape(query, &split)?;
        let [key, value] = [(key, &k), (value, &v)].map(|(part, shape)| {
            let one = [&shape[..=at], &[1], &shape[at + 1..]].concat();
            let all = [&shape[..=at], &[each], &shape[at + 1..]].concat();
            self.reshape(part, &one).and_then(|part| self.broadcast(&[part], &all))
        });
        let result = self.attention([query, key?, value?], mask, causal)?;
        let last = *self.shape(result).last().expect("attention has axes");
        self.reshape(result, &[&q[..q.len() - 1], &[last]].concat())
    }
}
