//! Assignments of matrices of any shape, in either precision and with forbidden pairs, are optimal.

use onebasin::assign::{Assigner, Assignment, Cost, Goal, Matrix, NONE};
use onebasin::error::{Error, Result};
use onebasin::rng::Stream;
use onebasin_kernels::Isa;
use proptest::prelude::*;

const GOALS: [Goal; 2] = [Goal::Minimise, Goal::Maximise];

fn sign(goal: Goal) -> f64 {
    if goal == Goal::Minimise { 1.0 } else { -1.0 }
}

fn normals(seed: u64, label: &str, len: usize) -> Vec<f64> {
    let mut values = vec![0.0; len];
    Stream::new(seed, label, 0).fill_normal(&mut values);
    values.into_iter().map(f64::from).collect()
}

fn solve<T: Cost>(goal: Goal, costs: &[T], rows: usize, columns: usize) -> Result<Assignment> {
    Assigner::new(Isa::detect()).solve_matrix(goal, Matrix { costs, rows, columns }, None)
}

/// (column, row)
fn transposed<T: Copy>(costs: &[T], rows: usize, columns: usize) -> Vec<T> {
    (0..rows * columns).map(|index| costs[index % rows * columns + index / rows]).collect()
}

/// Asserts that each of the fewer has one partner, the value is theirs and the duals prove it, all to rounding.
fn assert_optimal<T: Cost>(assignment: &Assignment, goal: Goal, costs: &[T], columns: usize, what: &str) {
    let rows = costs.len() / columns;
    let pairs: Vec<(usize, usize)> = assignment.pairs().collect();
    assert_eq!((assignment.columns.len(), pairs.len()), (rows, rows.min(columns)), "{what}");
    let mut taken: Vec<usize> = pairs.iter().map(|(_, column)| *column).collect();
    taken.sort_unstable();
    taken.dedup();
    assert_eq!(taken.len(), pairs.len(), "{what}: a column is taken twice");
    let finite = costs.iter().map(|cost| (*cost).into()).filter(|cost: &f64| cost.is_finite());
    let scale = finite.fold(f64::MIN_POSITIVE, |scale, cost| scale.max(cost.abs()));
    let tolerance = 1e-12 * scale * rows.min(columns) as f64;
    let value: f64 = pairs.iter().map(|(row, column)| costs[row * columns + column].into()).sum();
    assert!((value - assignment.value).abs() <= tolerance, "{what}: {value} is not {}", assignment.value);
    let (violation, gap) = (assignment.violation(goal, costs), assignment.gap());
    assert!(violation <= tolerance, "{what}: the duals are violated by {violation}, of costs up to {scale}");
    assert!(gap <= tolerance, "{what}: a gap of {gap}, of costs up to {scale}");
}

/// Solves for both goals, on every instruction set (only the fastest for many rows), as it is and transposed, cold and from its own solution.
fn solve_everywhere<T: Cost>(costs: &[T], rows: usize, columns: usize, what: &str) {
    let isas = if rows.max(columns) < 200 { Isa::available() } else { vec![Isa::detect()] };
    let flipped = transposed(costs, rows, columns);
    for goal in GOALS {
        for isa in &isas {
            for (costs, rows, columns) in [(costs, rows, columns), (&flipped, columns, rows)] {
                let what = format!("{what}, {rows} rows, {columns} columns, {goal:?}, {isa:?}");
                let matrix = Matrix { costs, rows, columns };
                let mut assigner = Assigner::new(*isa);
                let cold = assigner.solve_matrix(goal, matrix, None).unwrap();
                assert_optimal(&cold, goal, costs, columns, &what);
                let warm = assigner.solve_matrix(goal, matrix, Some(&cold.column_duals)).unwrap();
                assert_optimal(&warm, goal, costs, columns, &format!("{what}, warm"));
            }
        }
    }
}

/// The best value of all assignments of the rows from `row` on, infinite if all have a forbidden pair; to minimise.
fn best_of_all(costs: &[f64], columns: usize, row: usize, taken: u32) -> f64 {
    let rows = costs.len() / columns;
    if row == rows {
        return 0.0;
    }
    let free = (0..columns).filter(|column| taken >> column & 1 == 0);
    let values = free.map(|column| {
        let cost = costs[row * columns + column];
        if cost == f64::INFINITY { cost } else { cost + best_of_all(costs, columns, row + 1, taken | 1 << column) }
    });
    values.fold(f64::INFINITY, f64::min)
}

/// Costs of several kinds: any, small whole numbers, of very different size, and each perhaps with forbidden pairs; rows, columns.
fn costs(most: usize) -> impl Strategy<Value = (usize, usize, Vec<f64>)> {
    (1..=most, 1..=most, 0u8..3, 0u8..4).prop_flat_map(|(rows, columns, kind, forbidden)| {
        let wide = (-300.0f64..299.0, any::<bool>())
            .prop_map(|(power, sign)| if sign { 10f64.powf(power) } else { -(10f64.powf(power)) });
        let cost = match kind {
            0 => (-1.0f64..1.0).boxed(),
            1 => (0u8..4).prop_map(f64::from).boxed(),
            _ => wide.boxed(),
        };
        let cost = (cost, 0u8..8).prop_map(move |(cost, die)| if die < forbidden { f64::INFINITY } else { cost });
        proptest::collection::vec(cost, rows * columns).prop_map(move |costs| (rows, columns, costs))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_assignment_is_better((rows, columns, costs) in costs(6)) {
        let single = |cost: &f64| if cost.is_finite() { (*cost as f32).clamp(f32::MIN, f32::MAX) } else { f32::INFINITY };
        let small: Vec<f32> = costs.iter().map(single).collect();
        let rounded: Vec<f64> = small.iter().copied().map(f64::from).collect();
        for costs in [&costs, &rounded] {
            let (best, signed) = if rows <= columns {
                (best_of_all(costs, columns, 0, 0), costs.clone())
            } else {
                (best_of_all(&transposed(costs, rows, columns), rows, 0, 0), costs.clone())
            };
            let finite = signed.iter().filter(|cost| cost.is_finite());
            let tolerance = 1e-12 * finite.fold(0.0, |scale: f64, cost| scale.max(cost.abs()));
            for goal in GOALS {
                let signed: Vec<f64> = signed.iter().map(|cost| sign(goal) * cost).collect();
                let single: Vec<f32> = signed.iter().map(|cost| *cost as f32).collect();
                let mut solutions = vec![solve(goal, &signed, rows, columns)];
                if costs == &rounded {
                    solutions.push(solve(goal, &single, rows, columns));
                }
                for solution in solutions {
                    if best == f64::INFINITY {
                        prop_assert_eq!(solution, Err(Error::Infeasible));
                        continue;
                    }
                    let solution = solution.unwrap();
                    assert_optimal(&solution, goal, &signed, columns, "costs");
                    let value = sign(goal) * solution.value;
                    prop_assert!((value - best).abs() <= tolerance, "{goal:?}: {value}, but {best} is possible");
                }
            }
        }
    }

    #[test]
    fn any_start_leads_to_an_optimum(
        (rows, columns, costs) in costs(60),
        seed in any::<u64>(),
        power in -20.0f64..300.0,
        shift in -1e6f64..1e6,
    ) {
        let garbage = normals(seed, "start", columns).into_iter().map(|dual| dual * 10f64.powf(power) + shift);
        let garbage: Vec<f64> = garbage.collect();
        let mut assigner = Assigner::new(Isa::detect());
        let matrix = Matrix { costs: &costs[..], rows, columns };
        let cold = assigner.solve_matrix(Goal::Minimise, matrix, None);
        let warm = assigner.solve_matrix(Goal::Minimise, matrix, Some(&garbage));
        prop_assert_eq!(cold.is_ok(), warm.is_ok());
        if let (Ok(cold), Ok(warm)) = (cold, warm) {
            assert_optimal(&cold, Goal::Minimise, &costs, columns, "cold");
            assert_optimal(&warm, Goal::Minimise, &costs, columns, "warm");
        }
    }

    #[test]
    fn the_transposed_matrix_has_the_same_optimum((rows, columns, costs) in costs(60)) {
        let there = solve(Goal::Minimise, &costs, rows, columns);
        let back = solve(Goal::Minimise, &transposed(&costs, rows, columns), columns, rows);
        prop_assert_eq!(there.is_ok(), back.is_ok());
        if let (Ok(there), Ok(back)) = (there, back) {
            assert_optimal(&there, Goal::Minimise, &costs, columns, "as it is");
            let finite = costs.iter().filter(|cost| cost.is_finite());
            let scale = finite.fold(0.0, |scale: f64, cost| scale.max(cost.abs()));
            prop_assert!((there.value - back.value).abs() <= 1e-10 * scale);
        }
    }

    #[test]
    fn forbidden_pairs_are_those_that_cost_too_much((rows, columns, costs) in costs(40)) {
        // So that every cost counts beside one that is too large.
        let costs: Vec<f64> = costs.iter().map(|cost| cost.clamp(-8.0, 8.0) + if cost.is_finite() { 0.0 } else { *cost }).collect();
        let large: Vec<f64> = costs.iter().map(|cost| cost.min(1e6)).collect();
        let penalised = solve(Goal::Minimise, &large, rows, columns).unwrap();
        match solve(Goal::Minimise, &costs, rows, columns) {
            Ok(solution) => prop_assert!((solution.value - penalised.value).abs() < 1e-6),
            Err(error) => {
                prop_assert_eq!(error, Error::Infeasible);
                prop_assert!(penalised.pairs().any(|(row, column)| large[row * columns + column] == 1e6));
            }
        }
    }
}

#[test]
fn the_duals_prove_assignments_of_many_shapes() {
    for (rows, columns) in
        [(1, 1), (1, 40), (2, 3), (15, 17), (16, 33), (63, 64), (64, 64), (65, 193), (128, 129), (150, 600)]
    {
        let noise = normals(1, "noise", rows * columns);
        let single: Vec<f32> = noise.iter().map(|cost| *cost as f32).collect();
        solve_everywhere(&noise, rows, columns, "normal costs");
        solve_everywhere(&single, rows, columns, "normal costs in f32");
        for power in [-300, -30, -19, 19, 30, 290] {
            let scaled: Vec<f64> = noise.iter().map(|cost| cost * 10f64.powi(power)).collect();
            solve_everywhere(&scaled, rows, columns, &format!("costs of 1e{power}"));
        }
        for power in [-38, -30, 30, 37] {
            let scaled: Vec<f32> = noise.iter().map(|cost| (cost * 10f64.powi(power)) as f32).collect();
            solve_everywhere(&scaled, rows, columns, &format!("costs of 1e{power} in f32"));
        }
        let of = |f: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
            (0..rows * columns).map(|index| f(index / columns, index % columns)).collect()
        };
        solve_everywhere(&of(&|_, _| 7.25), rows, columns, "constants");
        solve_everywhere(&of(&|i, j| (i + 1) as f64 * (j + 1) as f64), rows, columns, "products of rank one");
        solve_everywhere(&of(&|i, j| noise[i] * noise[j]), rows, columns, "noise of rank one");
        solve_everywhere(&of(&|i, j| noise[i * columns + j].abs().floor()), rows, columns, "small whole numbers");
        solve_everywhere(&of(&|i, j| 1e9 * noise[i] + noise[i * columns + j]), rows, columns, "small differences");
        solve_everywhere(
            &of(&|i, j| if i < j { 1e200 } else { noise[i * columns + j] }),
            rows,
            columns,
            "huge and small",
        );
    }
}

#[test]
fn whole_numbers_that_f32_cannot_tell_apart_are_assigned_exactly() {
    for (rows, columns) in [(100, 100), (60, 200)] {
        let noise = normals(2, "noise", rows * columns);
        for base in [16_777_216.0, -1_125_899_906_842_624.0] {
            let differences: Vec<f64> = noise.iter().map(|noise| (noise * 20.0).round()).collect();
            let costs: Vec<f64> = differences.iter().map(|difference| base + difference).collect();
            for goal in GOALS {
                let exact = solve(goal, &costs, rows, columns).unwrap();
                let small = solve(goal, &differences, rows, columns).unwrap();
                // Whole numbers below 2^53 are summed without rounding.
                let chosen: f64 = exact.pairs().map(|(row, column)| differences[row * columns + column]).sum();
                assert_eq!(chosen, small.value, "{rows} rows, {columns} columns, from {base}");
                assert_eq!(exact.violation(goal, &costs), 0.0);
            }
        }
    }
}

#[test]
fn small_problems_that_others_test_with_have_the_same_solutions() {
    const NO: f64 = f64::INFINITY;
    // Rows of a matrix, and the chosen cost of each.
    let cases: [(&[&[f64]], &[f64]); 5] = [
        (&[&[400., 150., 400.], &[400., 450., 600.], &[300., 225., 300.]], &[150., 400., 300.]),
        (&[&[400., 150., 400., 1.], &[400., 450., 600., 2.], &[300., 225., 300., 3.]], &[150., 2., 300.]),
        (&[&[10., 10., 8.], &[9., 8., 1.], &[9., 7., 4.]], &[10., 1., 7.]),
        (&[&[10., 10., 8., 11.], &[9., 8., 1., 1.], &[9., 7., 4., 10.]], &[10., 1., 4.]),
        (&[&[10., NO, NO], &[NO, NO, 1.], &[NO, 7., NO]], &[10., 1., 7.]),
    ];
    for (matrix, chosen) in cases {
        let (rows, columns) = (matrix.len(), matrix[0].len());
        for goal in GOALS {
            let costs: Vec<f64> = matrix.iter().flat_map(|row| row.iter()).map(|cost| sign(goal) * cost).collect();
            let solution = solve(goal, &costs, rows, columns).unwrap();
            let found: Vec<f64> = solution.pairs().map(|(row, column)| matrix[row][column]).collect();
            assert_eq!(found, chosen);
            let back = solve(goal, &transposed(&costs, rows, columns), columns, rows).unwrap();
            let mut found: Vec<f64> = back.pairs().map(|(column, row)| matrix[row][column]).collect();
            found.sort_by(f64::total_cmp);
            let mut chosen = chosen.to_vec();
            chosen.sort_by(f64::total_cmp);
            assert_eq!(found, chosen);
        }
    }
}

#[test]
fn sparse_problems_are_solved_or_infeasible() {
    let n = 100;
    let mut feasible = 0;
    for seed in 0..40 {
        let (noise, keep) = (normals(seed, "noise", n * n), normals(seed, "keep", n * n));
        let costs: Vec<f64> =
            noise.iter().zip(&keep).map(|(noise, keep)| if *keep > 1.5 { *noise } else { f64::INFINITY }).collect();
        let large: Vec<f64> = costs.iter().map(|cost| cost.min(1e6)).collect();
        let possible = solve(Goal::Minimise, &large, n, n).unwrap().value < 1e5;
        let solution = solve(Goal::Minimise, &costs, n, n);
        assert_eq!(solution.is_ok(), possible, "seed {seed}");
        if let Ok(solution) = solution {
            feasible += 1;
            assert_optimal(&solution, Goal::Minimise, &costs, n, "sparse");
        } else {
            assert_eq!(solution, Err(Error::Infeasible));
        }
    }
    assert!((1..40).contains(&feasible), "{feasible} of 40 are feasible");
}

#[test]
fn long_chains_of_forbidden_pairs_have_their_only_solution() {
    let n = 300;
    // Row i allows columns i and i + 1 alone, row n - 1 column 0 too: two solutions, the better of which is the shift.
    let mut costs = vec![f32::INFINITY; n * n];
    for row in 0..n {
        costs[row * n + row] = 1e38;
        costs[row * n + (row + 1) % n] = -1e38;
    }
    let solution = solve(Goal::Minimise, &costs, n, n).unwrap();
    assert!(solution.pairs().all(|(row, column)| column == (row + 1) % n));
    assert_optimal(&solution, Goal::Minimise, &costs, n, "a chain");
}

#[test]
fn nothing_is_assigned_where_there_are_no_rows_or_columns() {
    for (rows, columns) in [(0, 0), (2, 0), (0, 3)] {
        let solution = solve::<f64>(Goal::Maximise, &[], rows, columns).unwrap();
        assert_eq!(solution.columns, vec![NONE; rows]);
        assert_eq!((solution.pairs().count(), solution.value, solution.gap()), (0, 0.0, 0.0));
        assert_eq!(solution.violation::<f64>(Goal::Maximise, &[]), 0.0);
    }
}

#[test]
fn an_infeasible_problem_leaves_nothing_behind() {
    let n = 60;
    let costs = normals(4, "costs", n * n);
    let mut infeasible = costs.clone();
    // Three rows allow the same two columns alone.
    for (index, cost) in infeasible.iter_mut().enumerate() {
        if index / n < 3 && index % n > 1 {
            *cost = f64::INFINITY;
        }
    }
    let mut assigner = Assigner::new(Isa::detect());
    let fresh = assigner.solve(Goal::Minimise, &costs, n, None).unwrap();
    let matrix = Matrix { costs: &infeasible[..], rows: n, columns: n };
    assert_eq!(assigner.solve_matrix(Goal::Minimise, matrix, None), Err(Error::Infeasible));
    assert_eq!(assigner.solve_matrix(Goal::Minimise, matrix, Some(&fresh.column_duals)), Err(Error::Infeasible));
    assert_eq!(assigner.solve(Goal::Minimise, &costs, n, None).unwrap(), fresh);
}

#[test]
fn the_duals_of_similar_rectangular_costs_are_a_start() {
    let (rows, columns) = (200, 500);
    let (before, change) = (normals(6, "before", rows * columns), normals(6, "change", rows * columns));
    let after: Vec<f64> = before.iter().zip(&change).map(|(cost, change)| cost + 0.05 * change).collect();
    for (before, after, rows, columns) in [
        (before.clone(), after.clone(), rows, columns),
        (transposed(&before, rows, columns), transposed(&after, rows, columns), columns, rows),
    ] {
        for goal in GOALS {
            let start = solve(goal, &before, rows, columns).unwrap().column_duals;
            let matrix = Matrix { costs: &after[..], rows, columns };
            let warm = Assigner::new(Isa::detect()).solve_matrix(goal, matrix, Some(&start)).unwrap();
            assert_optimal(&warm, goal, &after, columns, "warm");
        }
    }
}

#[test]
fn invalid_costs_are_refused_with_their_place() {
    let refused = |goal, value: f64, rows: usize, columns: usize| {
        let mut costs = vec![1.0; rows * columns];
        // A row and a column that are forbidden as a whole are no reason to overlook what is invalid.
        costs[..columns].fill(sign(goal) * f64::INFINITY);
        costs[(rows - 1) * columns + 1] = value;
        solve(goal, &costs, rows, columns).unwrap_err().to_string()
    };
    let least = "finite, or inf where the pair is forbidden";
    let most = "finite, or -inf where the pair is forbidden";
    for (rows, columns) in [(4, 4), (3, 5), (5, 3)] {
        let place = format!("the cost of row {} and column 1", rows - 1);
        let said = |value: &str, expected: &str| format!("{place} is {value}; it must be {expected}");
        assert_eq!(refused(Goal::Minimise, f64::NAN, rows, columns), said("NaN", least));
        assert_eq!(refused(Goal::Minimise, f64::NEG_INFINITY, rows, columns), said("-inf", least));
        assert_eq!(refused(Goal::Maximise, f64::NAN, rows, columns), said("NaN", most));
        assert_eq!(refused(Goal::Maximise, f64::INFINITY, rows, columns), said("inf", most));
    }
    let large = solve(Goal::Minimise, &[1e301], 1, 1).unwrap_err().to_string();
    assert!(large.contains("at most 1e300"), "{large}");
}
