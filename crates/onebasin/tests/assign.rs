//! Assignments are optimal: equal to the best of all permutations where those can be counted, and proved by their duals.

use onebasin::assign::{Assigner, Assignment, Goal};
use onebasin::error::Error;
use onebasin::rng::Stream;
use onebasin_kernels::Isa;
use proptest::prelude::*;

const GOALS: [Goal; 2] = [Goal::Minimise, Goal::Maximise];

fn normals(seed: u64, label: &str, len: usize) -> Vec<f32> {
    let mut values = vec![0.0; len];
    Stream::new(seed, label, 0).fill_normal(&mut values);
    values
}

/// Of `f(row, column)`.
fn matrix(n: usize, f: impl Fn(usize, usize) -> f32) -> Vec<f32> {
    (0..n * n).map(|index| f(index / n, index % n)).collect()
}

/// a bᵀ with rows of `depth` normal numbers, where b is the rows of a in another order with so much noise.
fn similarities(seed: u64, n: usize, depth: usize, noise: f32) -> Vec<f32> {
    let (a, b) = (normals(seed, "a", n * depth), normals(seed, "b", n * depth));
    let row = |i: usize| &a[i * depth..][..depth];
    matrix(n, |i, j| {
        let (signal, noises) = (row((j * 7 + 3) % n), &b[j * depth..][..depth]);
        row(i).iter().zip(signal.iter().zip(noises)).map(|(a, (signal, b))| a * (signal + noise * b)).sum()
    })
}

/// Asserts that the columns are a permutation, the value is theirs and the duals prove it, all to rounding.
fn assert_optimal(assignment: &Assignment, goal: Goal, costs: &[f32], what: &str) {
    let n = assignment.columns.len();
    let mut columns = assignment.columns.clone();
    columns.sort_unstable();
    assert!(columns.iter().copied().eq(0..n as u32), "{what}: {:?} is no permutation", assignment.columns);
    let chosen =
        assignment.columns.iter().enumerate().map(|(row, column)| f64::from(costs[row * n + *column as usize]));
    let scale = costs.iter().fold(f64::MIN_POSITIVE, |scale, cost| scale.max(f64::from(cost.abs())));
    let tolerance = 1e-12 * scale;
    assert!((chosen.sum::<f64>() - assignment.value).abs() <= tolerance * n as f64, "{what}: not the sum of its costs");
    let (violation, gap) = (assignment.violation(goal, costs), assignment.gap());
    assert!(violation <= tolerance, "{what}: the duals are violated by {violation}, of costs up to {scale}");
    assert!(gap <= tolerance * n as f64, "{what}: a gap of {gap}, of costs up to {scale}");
}

/// Solves for both goals and on every instruction set (only the fastest for many rows), cold and from its own solution, and asserts what must hold.
fn solve_everywhere(costs: &[f32], n: usize, what: &str) {
    let scale = costs.iter().fold(0.0, |scale: f64, cost| scale.max(f64::from(cost.abs())));
    for goal in GOALS {
        let mut values = Vec::new();
        let isas = if n < 200 { Isa::available() } else { vec![Isa::detect()] };
        for isa in isas {
            let what = format!("{what} of {n}, {goal:?}, {isa:?}");
            let mut assigner = Assigner::new(isa);
            let cold = assigner.solve(goal, costs, n, None).unwrap();
            assert_optimal(&cold, goal, costs, &what);
            let again = assigner.solve(goal, costs, n, Some(&cold.column_duals)).unwrap();
            assert_optimal(&again, goal, costs, &format!("{what}, from its own duals"));
            values.extend([cold.value, again.value]);
        }
        for value in &values {
            assert!((value - values[0]).abs() <= 1e-12 * scale * n as f64, "{what} of {n}: values {values:?}");
        }
    }
}

/// The best value of all permutations of the columns from `row` on.
fn best_of_all(goal: Goal, costs: &[f32], n: usize, row: usize, taken: u32) -> f64 {
    if row == n {
        return 0.0;
    }
    let values = (0..n)
        .filter(|column| taken >> column & 1 == 0)
        .map(|column| f64::from(costs[row * n + column]) + best_of_all(goal, costs, n, row + 1, taken | 1 << column));
    match goal {
        Goal::Minimise => values.fold(f64::INFINITY, f64::min),
        Goal::Maximise => values.fold(f64::NEG_INFINITY, f64::max),
    }
}

/// Costs of several kinds: any, small whole numbers, and of very different size.
fn costs(sizes: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = (usize, Vec<f32>)> {
    sizes.prop_flat_map(|n| {
        let each = |cost: BoxedStrategy<f32>| proptest::collection::vec(cost, n * n);
        let wide =
            (-30.0f32..30.0, any::<bool>()).prop_map(|(power, sign)| if sign { 1.0 } else { -1.0 } * 10f32.powf(power));
        let costs =
            prop_oneof![each((-1.0f32..1.0).boxed()), each((0u8..4).prop_map(f32::from).boxed()), each(wide.boxed()),];
        costs.prop_map(move |costs| (n, costs))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_permutation_is_better((n, costs) in costs(1..=7)) {
        solve_everywhere(&costs, n, "costs");
        let scale = costs.iter().fold(0.0, |scale: f64, cost| scale.max(f64::from(cost.abs())));
        for goal in GOALS {
            let value = Assigner::new(Isa::detect()).solve(goal, &costs, n, None).unwrap().value;
            let best = best_of_all(goal, &costs, n, 0, 0);
            prop_assert!((value - best).abs() <= 1e-12 * scale, "{goal:?}: {value}, but {best} is possible");
        }
    }

    #[test]
    fn any_start_leads_to_an_optimum(
        (n, costs) in costs(2..=60),
        seed in any::<u64>(),
        power in -20.0f64..300.0,
        shift in -1e6f64..1e6,
    ) {
        let mut assigner = Assigner::new(Isa::detect());
        let garbage = normals(seed, "start", n).into_iter().map(|dual| f64::from(dual) * 10f64.powf(power) + shift);
        let garbage: Vec<f64> = garbage.collect();
        for goal in GOALS {
            let cold = assigner.solve(goal, &costs, n, None).unwrap();
            let warm = assigner.solve(goal, &costs, n, Some(&garbage)).unwrap();
            assert_optimal(&cold, goal, &costs, "cold");
            assert_optimal(&warm, goal, &costs, "warm");
        }
    }

    #[test]
    fn to_maximise_is_to_minimise_the_negative((n, costs) in costs(1..=80)) {
        let negative: Vec<f32> = costs.iter().map(|cost| -cost).collect();
        let mut assigner = Assigner::new(Isa::detect());
        let maximum = assigner.solve(Goal::Maximise, &costs, n, None).unwrap();
        let minimum = assigner.solve(Goal::Minimise, &negative, n, None).unwrap();
        prop_assert_eq!(&maximum.columns, &minimum.columns);
        prop_assert_eq!(maximum.value, -minimum.value);
        let negated: Vec<f64> = minimum.column_duals.iter().map(|dual| -dual).collect();
        prop_assert_eq!(&maximum.column_duals, &negated);
    }

    #[test]
    fn the_duals_prove_assignments_of_any_size((n, costs) in costs(1..=100)) {
        solve_everywhere(&costs, n, "costs");
    }
}

#[test]
fn the_duals_prove_assignments_around_the_sizes_of_vectors_and_lists() {
    for n in [15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 191, 193] {
        solve_everywhere(&normals(n as u64, "costs", n * n), n, "normal costs");
    }
    solve_everywhere(&normals(0, "costs", 400 * 400), 400, "normal costs");
}

#[test]
fn similarities_of_units_are_assigned_optimally() {
    for noise in [0.0, 1.0, 8.0, 100.0] {
        solve_everywhere(&similarities(1, 200, 20, noise), 200, &format!("similarities with noise {noise}"));
    }
}

#[test]
fn what_a_large_assignment_leaves_behind_does_not_change_a_small_one() {
    let (large, small) = (normals(1, "large", 500 * 500), normals(1, "small", 90 * 90));
    let mut used = Assigner::new(Isa::detect());
    let solution = used.solve(Goal::Maximise, &large, 500, None).unwrap();
    assert_optimal(&solution, Goal::Maximise, &large, "large");
    let fresh = Assigner::new(Isa::detect()).solve(Goal::Minimise, &small, 90, None).unwrap();
    assert_eq!(used.solve(Goal::Minimise, &small, 90, None).unwrap(), fresh);
}

#[test]
fn costs_without_a_clear_choice_are_assigned_optimally() {
    for n in [1, 2, 3, 40, 110] {
        let noise = normals(5, "noise", n * n);
        solve_everywhere(&matrix(n, |_, _| 0.0), n, "zeros");
        solve_everywhere(&matrix(n, |_, _| -7.25), n, "constants");
        solve_everywhere(&matrix(n, |i, _| i as f32), n, "constant rows");
        solve_everywhere(&matrix(n, |_, j| j as f32), n, "constant columns");
        solve_everywhere(&matrix(n, |i, j| (i as f32 + 1.0) * (j as f32 + 1.0)), n, "products of rank one");
        solve_everywhere(&matrix(n, |i, j| noise[i] * noise[j]), n, "noise of rank one");
        solve_everywhere(&matrix(n, |i, j| noise[i * n + j].abs().floor()), n, "small whole numbers");
        solve_everywhere(&matrix(n, |i, j| f32::from(noise[i * n + j] > 0.0)), n, "zeros and ones");
        solve_everywhere(&matrix(n, |i, j| f32::from(i == j)), n, "the identity");
        solve_everywhere(&matrix(n, |i, j| (i as f32 - j as f32).abs()), n, "distances");
        solve_everywhere(&matrix(n, |i, j| f32::from(j < n / 2) + 1e-6 * noise[i * n + j]), n, "two blocks");
        solve_everywhere(&matrix(n, |i, j| 1e30 * f32::from(i < j) + 1e-30 * noise[i * n + j]), n, "huge and tiny");
        // Where scans round to f32, these would overflow, vanish, or be equal.
        solve_everywhere(&matrix(n, |i, j| f32::MAX * noise[i * n + j].sin()), n, "the largest numbers");
        solve_everywhere(&matrix(n, |i, j| 8.0 * f32::MIN_POSITIVE * noise[i * n + j]), n, "the smallest numbers");
        solve_everywhere(&matrix(n, |i, j| 1e6 * noise[i] + noise[i * n + j]), n, "small differences");
    }
}

#[test]
fn the_best_of_the_identity_is_the_identity() {
    let n = 100;
    let costs = matrix(n, |i, j| if i == j { -1.0 } else { ((i * 31 + j * 17) % 97) as f32 });
    let solution = Assigner::new(Isa::detect()).solve(Goal::Minimise, &costs, n, None).unwrap();
    assert!(solution.columns.iter().copied().eq(0..n as u32));
    assert_eq!(solution.value, -(n as f64));
}

#[test]
fn the_duals_of_similar_costs_are_a_start() {
    let n = 300;
    let (before, change) = (similarities(2, n, 30, 8.0), normals(9, "change", n * n));
    let after: Vec<f32> = before.iter().zip(&change).map(|(cost, change)| cost + 0.3 * change).collect();
    let mut assigner = Assigner::new(Isa::detect());
    for goal in GOALS {
        let start = assigner.solve(goal, &before, n, None).unwrap().column_duals;
        let warm = assigner.solve(goal, &after, n, Some(&start)).unwrap();
        let cold = assigner.solve(goal, &after, n, None).unwrap();
        assert_optimal(&warm, goal, &after, "warm");
        assert!((warm.value - cold.value).abs() <= 1e-9 * cold.value.abs());
    }
}

#[test]
fn wrong_duals_prove_nothing() {
    let costs = normals(3, "costs", 25);
    for goal in GOALS {
        let mut solution = Assigner::new(Isa::detect()).solve(goal, &costs, 5, None).unwrap();
        let sign = if goal == Goal::Minimise { 1.0 } else { -1.0 };
        solution.column_duals[2] += 0.5 * sign;
        assert!((solution.violation(goal, &costs) - 0.5).abs() < 1e-12);
        assert!((solution.gap() - 0.5).abs() < 1e-12);
    }
}

/// The message of the error of an assignment.
fn refused(costs: &[f32], n: usize, start: Option<&[f64]>) -> String {
    let error: Error = Assigner::new(Isa::detect()).solve(Goal::Minimise, costs, n, start).unwrap_err();
    error.to_string()
}

#[test]
fn wrong_arguments_are_refused_with_their_operands() {
    assert_eq!(refused(&[], 0, None), "the size of an assignment is 0; it must be at least 1");
    let length = "the matrix of costs has 3 values, but 4 are needed (2 rows and 2 columns)";
    assert_eq!(refused(&[1.0; 3], 2, None), length);
    let start = "the start of an assignment has 1 values, but 2 are needed (one for each column)";
    assert_eq!(refused(&[1.0; 4], 2, Some(&[0.0])), start);
    let dual = "the dual of column 1 to start from is NaN; it must be finite";
    assert_eq!(refused(&[1.0; 4], 2, Some(&[0.0, f64::NAN])), dual);
    assert!(refused(&[], 2_000_000, None).contains("2000000"));
}

#[test]
fn costs_that_are_not_finite_are_refused_with_their_place() {
    for n in [1, 5, 40] {
        for (value, name) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf"), (f32::NEG_INFINITY, "-inf")] {
            let (row, column) = (n / 2, n - 1);
            let mut costs = vec![1.0; n * n];
            costs[row * n + column] = value;
            let said = format!("the cost of row {row} and column {column} is {name}; it must be finite");
            assert_eq!(refused(&costs, n, None), said);
            assert_eq!(refused(&costs, n, Some(&vec![0.0; n])), said);
        }
    }
}
