//! Classes of units that can only be permuted together, refined until nothing contradicts.
//!
//! A class stands for the indices of an axis. It is free at first. Where axes meet, their classes are joined; where an axis is cut
//! or reshaped, its class becomes a row of parts or a product of factors. Each step only takes permutations away, and a class whose
//! form cannot be reconciled is fixed, so what is left in the end fits every node.

/// Index of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ClassId(usize);

/// Index of a reason why units stay fixed.
pub(super) type ReasonId = usize;

/// What the indices of a class are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Units in any order.
    Leaf,
    /// All combinations of the indices of the factors, the last one fastest.
    Product(Vec<ClassId>),
    /// The indices of the parts, one part behind the other.
    Split(Vec<ClassId>),
}

#[derive(Clone, Debug)]
struct Class {
    size: usize,
    form: Form,
    /// Why a leaf stays fixed.
    fixed: Option<ReasonId>,
    /// The class that it was joined with.
    joined: Option<ClassId>,
}

/// Forms that are nested deeper are fixed.
const DEEPEST: usize = 64;

/// All classes of a network.
#[derive(Debug, Default)]
pub(super) struct Classes {
    all: Vec<Class>,
    reasons: Vec<String>,
    depth: usize,
}

impl Classes {
    /// A free class of its own.
    pub(super) fn leaf(&mut self, size: usize) -> ClassId {
        self.push(size, Form::Leaf)
    }

    /// All combinations of factors; factors of one index change nothing.
    pub(super) fn product(&mut self, factors: &[ClassId]) -> ClassId {
        let factors: Vec<ClassId> = factors.iter().copied().filter(|factor| self.size(*factor) > 1).collect();
        match factors[..] {
            [] => self.leaf(1),
            [only] => only,
            _ => {
                let size = factors.iter().map(|factor| self.size(*factor)).product();
                self.push(size, Form::Product(factors))
            }
        }
    }

    /// Parts one behind the other.
    pub(super) fn split(&mut self, parts: &[ClassId]) -> ClassId {
        if let [only] = parts {
            return *only;
        }
        let size = parts.iter().map(|part| self.size(*part)).sum();
        self.push(size, Form::Split(parts.to_vec()))
    }

    /// A reason for fixing classes.
    pub(super) fn reason(&mut self, reason: String) -> ReasonId {
        self.reasons.push(reason);
        self.reasons.len() - 1
    }

    pub(super) fn size(&self, class: ClassId) -> usize {
        self.all[class.0].size
    }

    pub(super) fn form(&self, class: ClassId) -> &Form {
        &self.all[self.root(class).0].form
    }

    /// Why a leaf stays fixed; `None` if it is free.
    pub(super) fn fixed(&self, leaf: ClassId) -> Option<&str> {
        Some(&self.reasons[self.all[self.root(leaf).0].fixed?])
    }

    /// The class that stands for all those joined with this one.
    pub(super) fn root(&self, mut class: ClassId) -> ClassId {
        while let Some(other) = self.all[class.0].joined {
            class = other;
        }
        class
    }

    /// Fixes all units of a class.
    pub(super) fn fix(&mut self, class: ClassId, reason: ReasonId) {
        let mut open = vec![self.root(class)];
        while let Some(class) = open.pop() {
            let class = self.root(class);
            match &self.all[class.0].form {
                Form::Leaf => {
                    self.all[class.0].fixed.get_or_insert(reason);
                }
                Form::Product(children) | Form::Split(children) => open.extend(children),
            }
        }
    }

    /// Makes two classes of one size one class: their units move together from now on.
    pub(super) fn join(&mut self, first: ClassId, second: ClassId, reason: ReasonId) {
        let (first, second) = (self.root(first), self.root(second));
        if first == second {
            return;
        }
        assert_eq!(self.size(first), self.size(second), "only classes of one size are joined");
        if self.depth >= DEEPEST {
            self.fix(first, reason);
            self.fix(second, reason);
            return;
        }
        self.depth += 1;
        let fits = match (self.form(first).clone(), self.form(second).clone()) {
            (Form::Leaf, _) => {
                if let Some(reason) = self.all[first.0].fixed {
                    self.fix(second, reason);
                }
                true
            }
            (_, Form::Leaf) => {
                if let Some(reason) = self.all[second.0].fixed {
                    self.fix(first, reason);
                }
                self.all[second.0].joined = Some(first);
                self.depth -= 1;
                return;
            }
            (Form::Product(_), Form::Product(_)) => self.join_factors(first, second, reason),
            (Form::Split(_), Form::Split(_)) => {
                self.join_parts(first, second, reason);
                true
            }
            (Form::Product(_), Form::Split(_)) => self.join_mixed(first, second, reason),
            (Form::Split(_), Form::Product(_)) => self.join_mixed(second, first, reason),
        };
        self.depth -= 1;
        if fits {
            // A product that was reconciled with parts is described by the parts.
            let (gone, kept) = match self.form(second) {
                Form::Product(_) if matches!(self.form(first), Form::Split(_)) => (second, first),
                _ => (first, second),
            };
            self.all[gone.0].joined = Some(kept);
        } else {
            self.fix(first, reason);
            self.fix(second, reason);
        }
    }

    /// Cuts a class into parts of these sizes.
    pub(super) fn cut(&mut self, class: ClassId, sizes: &[usize], reason: ReasonId) -> Vec<ClassId> {
        let parts: Vec<ClassId> = sizes.iter().map(|size| self.leaf(*size)).collect();
        let split = self.split(&parts);
        self.join(class, split, reason);
        parts
    }

    /// The factors or parts of a class; none of a leaf.
    pub(super) fn children(&self, class: ClassId) -> Vec<ClassId> {
        match self.form(class) {
            Form::Leaf => Vec::new(),
            Form::Product(children) | Form::Split(children) => children.clone(),
        }
    }

    /// The factors of a class, those of factors included; the class itself if it is no product.
    pub(super) fn factors(&self, class: ClassId) -> Vec<ClassId> {
        self.flat(class, |form| if let Form::Product(factors) = form { Some(factors) } else { None })
    }

    /// The parts of a class, those of parts included; the class itself if it has none.
    pub(super) fn parts(&self, class: ClassId) -> Vec<ClassId> {
        self.flat(class, |form| if let Form::Split(parts) = form { Some(parts) } else { None })
    }

    fn flat(&self, class: ClassId, children: impl Fn(&Form) -> Option<&Vec<ClassId>>) -> Vec<ClassId> {
        let (mut found, mut open) = (Vec::new(), vec![class]);
        while let Some(class) = open.pop() {
            let class = self.root(class);
            match children(&self.all[class.0].form) {
                Some(children) => open.extend(children.iter().rev()),
                None => found.push(class),
            }
        }
        found
    }

    /// Joins products by refining factors until they correspond; says whether they do.
    fn join_factors(&mut self, first: ClassId, second: ClassId, reason: ReasonId) -> bool {
        let [mut left, mut right] = [first, second].map(|class| {
            let mut factors = self.factors(class);
            factors.reverse();
            factors
        });
        while let (Some(a), Some(b)) = (left.pop(), right.pop()) {
            let (small, large) = (self.size(a).min(self.size(b)), self.size(a).max(self.size(b)));
            if small == large {
                self.join(a, b, reason);
                continue;
            }
            if !large.is_multiple_of(small) {
                return false;
            }
            let outer = self.leaf(small);
            let inner = self.leaf(large / small);
            let refined = self.product(&[outer, inner]);
            let (whole, own, others) = if self.size(a) > self.size(b) { (a, b, &mut left) } else { (b, a, &mut right) };
            others.push(inner);
            self.join(whole, refined, reason);
            self.join(outer, own, reason);
        }
        left.is_empty() && right.is_empty()
    }

    /// Joins classes that consist of parts, by cutting each at the borders of the other.
    fn join_parts(&mut self, first: ClassId, second: ClassId, reason: ReasonId) {
        let [mut left, mut right] = [first, second].map(|class| {
            let mut parts = self.parts(class);
            parts.reverse();
            parts
        });
        while let (Some(a), Some(b)) = (left.pop(), right.pop()) {
            let (small, large) = (self.size(a).min(self.size(b)), self.size(a).max(self.size(b)));
            if small == large {
                self.join(a, b, reason);
                continue;
            }
            let (whole, own, others) = if self.size(a) > self.size(b) { (a, b, &mut left) } else { (b, a, &mut right) };
            let before = self.leaf(small);
            let behind = self.leaf(large - small);
            others.push(behind);
            let cut = self.split(&[before, behind]);
            self.join(whole, cut, reason);
            self.join(before, own, reason);
        }
    }

    /// Joins a product with parts, if its first factor can be cut where the parts end; says whether it can.
    fn join_mixed(&mut self, product: ClassId, split: ClassId, reason: ReasonId) -> bool {
        let factors = self.factors(product);
        let (first, rest) = (factors[0], factors[1..].to_vec());
        let inner = self.product(&rest);
        let each = self.size(inner);
        // Runs of parts that end with whole indices of the first factor.
        let (mut runs, mut run, mut len) = (Vec::new(), Vec::new(), 0);
        for part in self.parts(split) {
            len += self.size(part);
            run.push(part);
            if len.is_multiple_of(each) {
                runs.push((std::mem::take(&mut run), len / each));
                len = 0;
            }
        }
        if !run.is_empty() || runs.iter().any(|(run, indices)| run.len() > 1 && *indices > 1) {
            return false;
        }
        let sizes: Vec<usize> = runs.iter().map(|(_, indices)| *indices).collect();
        let pieces = self.cut(first, &sizes, reason);
        for ((run, _), piece) in runs.into_iter().zip(pieces) {
            let parts = self.split(&run);
            let own = self.product(&[piece, inner]);
            self.join(parts, own, reason);
        }
        true
    }

    fn push(&mut self, size: usize, form: Form) -> ClassId {
        self.all.push(Class { size, form, fixed: None, joined: None });
        ClassId(self.all.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(classes: &Classes, list: &[ClassId]) -> Vec<usize> {
        list.iter().map(|class| classes.size(*class)).collect()
    }

    #[test]
    fn joined_leaves_are_one_class_and_share_a_reason() {
        let mut classes = Classes::default();
        let (a, b, c) = (classes.leaf(4), classes.leaf(4), classes.leaf(4));
        let why = classes.reason("inputs".to_owned());
        classes.join(a, b, why);
        classes.join(b, c, why);
        assert_eq!(classes.fixed(c), None);
        classes.fix(a, why);
        assert_eq!(classes.fixed(c), Some("inputs"));
    }

    #[test]
    fn products_are_refined_to_common_factors() {
        let mut classes = Classes::default();
        let why = classes.reason(String::new());
        let coarse: Vec<ClassId> = [6, 4].into_iter().map(|size| classes.leaf(size)).collect();
        let fine: Vec<ClassId> = [2, 3, 4].into_iter().map(|size| classes.leaf(size)).collect();
        let (a, b) = (classes.product(&coarse), classes.product(&fine));
        classes.join(a, b, why);
        let factors = classes.factors(coarse[0]);
        assert_eq!(sizes(&classes, &factors), [2, 3]);
        assert_eq!(classes.root(coarse[1]), classes.root(fine[2]));
        assert_eq!(classes.fixed(fine[0]), None);
    }

    #[test]
    fn products_without_common_factors_are_fixed() {
        let mut classes = Classes::default();
        let why = classes.reason("reshaped".to_owned());
        let first: Vec<ClassId> = [4, 6].into_iter().map(|size| classes.leaf(size)).collect();
        let second: Vec<ClassId> = [6, 4].into_iter().map(|size| classes.leaf(size)).collect();
        let (a, b) = (classes.product(&first), classes.product(&second));
        classes.join(a, b, why);
        assert!(first.iter().chain(&second).all(|class| classes.fixed(*class) == Some("reshaped")));
    }

    #[test]
    fn parts_are_cut_where_either_ends() {
        let mut classes = Classes::default();
        let why = classes.reason(String::new());
        let whole = classes.leaf(10);
        let parts = classes.cut(whole, &[4, 6], why);
        classes.cut(whole, &[7, 3], why);
        let all = classes.parts(whole);
        assert_eq!(sizes(&classes, &all), [4, 3, 3]);
        let second = classes.parts(parts[1]);
        assert_eq!(sizes(&classes, &second), [3, 3]);
    }

    #[test]
    fn a_product_whose_first_factor_is_cut_joins_parts() {
        let mut classes = Classes::default();
        let why = classes.reason(String::new());
        // Three parts of 8 that become (3, 8): the parts move alike.
        let parts: Vec<ClassId> = (0..3).map(|_| classes.leaf(8)).collect();
        let split = classes.split(&parts);
        let (three, eight) = (classes.leaf(3), classes.leaf(8));
        let product = classes.product(&[three, eight]);
        classes.join(split, product, why);
        assert!(parts.iter().all(|part| classes.root(*part) == classes.root(eight)));
        // Parts that end inside of an index are fixed.
        let parts: Vec<ClassId> = [5, 7].into_iter().map(|size| classes.leaf(size)).collect();
        let split = classes.split(&parts);
        let (three, four) = (classes.leaf(3), classes.leaf(4));
        let product = classes.product(&[three, four]);
        classes.join(product, split, why);
        assert!([three, four, parts[0], parts[1]].iter().all(|class| classes.fixed(*class).is_some()));
    }
}
