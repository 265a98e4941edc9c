//! Recurrent layers: LSTM, GRU and plain ones, one layer and direction at a time.

use super::Builder;
use crate::error::Result;
use crate::graph::Index::{Any, Fixed};
use crate::graph::{Index, ValueId};

impl Builder {
    /// A recurrent layer over (time, example, feature) in one direction, with `gates` gates: weights of the input (gates · unit, feature), of the
    /// state (gates · unit, unit), any number of biases (gates · unit), and initial states (example, unit). Yields the states at
    /// all times (time, example, unit), then one last state (example, unit) for each of `states`.
    pub fn recurrent(
        &mut self,
        value: ValueId,
        [input, state]: [ValueId; 2],
        biases: &[ValueId],
        initial: &[ValueId],
        gates: usize,
        states: usize,
    ) -> Result<Vec<ValueId>> {
        let (x, w, r) = (self.shape(value).to_vec(), self.shape(input).to_vec(), self.shape(state).to_vec());
        let fits = gates > 0
            && x.len() == 3
            && w.len() == 2
            && r.len() == 2
            && w[0] == r[0]
            && w[1] == x[2]
            && r[0] == r[1].saturating_mul(gates);
        if !fits {
            return Err(self.error(format!("recurrent weights {w:?} and {r:?} do not fit an input {x:?}")));
        }
        let units = r[1];
        let (example, unit, feature) = (Any(0), Any(1), Any(2));
        let input = self.reshape(input, &[gates, units, w[1]])?;
        let state = self.reshape(state, &[gates, units, units])?;
        let mut operands = vec![
            (value, vec![Fixed, example, feature]),
            (input, vec![Fixed, unit, feature]),
            (state, vec![Fixed, unit, unit]),
        ];
        for bias in biases {
            operands.push((self.reshape(*bias, &[gates, units])?, vec![Fixed, unit]));
        }
        operands.extend(initial.iter().map(|initial| (*initial, vec![example, unit])));
        let all: (Vec<usize>, Vec<Index>) = (vec![x[0], x[1], units], vec![Fixed, example, unit]);
        let last = (vec![x[1], units], vec![example, unit]);
        let outputs: Vec<_> = [all].into_iter().chain(std::iter::repeat_n(last, states)).collect();
        self.indexed(&operands, &outputs)
    }
}
