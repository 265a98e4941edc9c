//! Diagnostics of chains, against what is known of their distribution and against a second implementation.

use onebasin::infer::diagnostics::{bulk_ess, ess, rank_rhat, split_rhat, summarise};
use onebasin::rng::Stream;

/// Standard deviations allowed to a statistic; with the fixed seeds here every test always passes or always fails.
const DEVIATIONS: f64 = 4.5;

type Function = fn(&[&[f64]]) -> f64;

const ALL: [Function; 4] = [split_rhat, rank_rhat, ess, bulk_ess];

/// Stationary chains `x[t] = ρ x[t−1] + √(1 − ρ²) ε[t]` with standard normal ε and x.
fn autoregressive(seed: u64, chains: usize, samples: usize, rho: f64) -> Vec<Vec<f64>> {
    let chain = |index| {
        let mut noise = vec![0.0; samples];
        Stream::new(seed, "chain", index).fill_normal(&mut noise);
        let mut state = None;
        noise
            .iter()
            .map(|&noise| {
                let noise = f64::from(noise);
                let next = state.map_or(noise, |state| rho * state + (1.0 - rho * rho).sqrt() * noise);
                *state.insert(next)
            })
            .collect()
    };
    (0..chains as u64).map(chain).collect()
}

fn slices(chains: &[Vec<f64>]) -> Vec<&[f64]> {
    chains.iter().map(Vec::as_slice).collect()
}

#[test]
fn independent_normals_have_converged() {
    let (chains, samples) = (4, 2000);
    for seed in 0..5 {
        let chains = autoregressive(seed, chains, samples, 0.0);
        let chains = slices(&chains);
        // For m halves of n samples (m − 1) B/W is nearly chi-square with m − 1 degrees of freedom, and
        // R² − 1 = (B/W − 1) / n, hence of deviation √(2 / (m − 1)) / n.
        let (m, n) = (2.0 * chains.len() as f64, (samples / 2) as f64);
        let allowed = DEVIATIONS * (2.0 / (m - 1.0)).sqrt() / n;
        for rhat in [split_rhat(&chains), rank_rhat(&chains)] {
            assert!((rhat.powi(2) - 1.0).abs() < allowed, "{rhat}");
        }
        // The relative variance of τ from lags up to W is 2 (2 W + 1) / S (Sokal 1997); the sequence ends at about lag 2.
        let all = m * n;
        for size in [ess(&chains), bulk_ess(&chains)] {
            assert!((size / all - 1.0).abs() < DEVIATIONS * (10.0 / all).sqrt(), "{size} of {all}");
        }
    }
}

#[test]
fn autoregressive_chains_have_the_known_effective_size() {
    let (chains, samples) = (4, 20_000);
    let all = (chains * samples) as f64;
    for rho in [0.3, 0.5, 0.8, 0.9] {
        let chains = autoregressive(7, chains, samples, rho);
        let chains = slices(&chains);
        let expected = all * (1.0 - rho) / (1.0 + rho);
        // As above; the sequence ends about where ρ^W sinks into the noise 1/√S.
        let window = all.ln() / (-2.0 * rho.ln());
        let allowed = DEVIATIONS * (2.0 * (2.0 * window + 1.0) / all).sqrt();
        for size in [ess(&chains), bulk_ess(&chains)] {
            assert!((size / expected - 1.0).abs() < allowed, "rho {rho}: {size}, not {expected}, {allowed}");
        }
    }
}

#[test]
fn chains_that_disagree_have_not_converged() {
    let normals = autoregressive(11, 4, 1000, 0.0);
    let changed = |change: fn(usize, usize, f64) -> f64| -> Vec<Vec<f64>> {
        let values = |(number, chain): (usize, &Vec<f64>)| {
            chain.iter().enumerate().map(|(time, &value)| change(number, time, value)).collect()
        };
        normals.iter().enumerate().map(values).collect()
    };
    // One chain elsewhere; the same drift in all, which only halves can see.
    let shifted = changed(|number, _, value| if number == 0 { value + 2.0 } else { value });
    let drifting = changed(|_, time, value| value + time as f64 / 250.0);
    for chains in [&shifted, &drifting] {
        let chains = slices(chains);
        assert!(split_rhat(&chains) > 1.1 && rank_rhat(&chains) > 1.1);
        assert!(ess(&chains) < 100.0 && bulk_ess(&chains) < 100.0);
    }
    // Equal means and other scales, which only distances to the median can see.
    let scaled = changed(|number, _, value| if number == 0 { 4.0 * value } else { value });
    let scaled = slices(&scaled);
    assert!(split_rhat(&scaled) < 1.01 && rank_rhat(&scaled) > 1.1);
}

#[test]
fn ranks_do_not_see_a_monotone_map() {
    let chains = autoregressive(13, 2, 100, 0.5);
    let mapped: Vec<Vec<f64>> = chains.iter().map(|chain| chain.iter().map(|value| value.exp()).collect()).collect();
    assert_eq!(bulk_ess(&slices(&chains)), bulk_ess(&slices(&mapped)));
    assert_ne!(ess(&slices(&chains)), ess(&slices(&mapped)));
}

#[test]
fn chains_that_stand_still_apart_are_infinitely_far_from_convergence() {
    let chains: [&[f64]; 2] = [&[0.1; 20], &[0.3; 20]];
    assert_eq!((split_rhat(&chains), rank_rhat(&chains)), (f64::INFINITY, f64::INFINITY));
    // Four halves, each worth about one sample.
    for size in [ess(&chains), bulk_ess(&chains)] {
        assert!((3.0..6.0).contains(&size), "{size}");
    }
}

#[test]
fn what_cannot_be_answered_is_nan() {
    let chain: Vec<f64> = (0..20).map(|index| f64::from(index * 7 % 20)).collect();
    let with = |value: f64| {
        let mut chain = chain.clone();
        chain[10] = value;
        chain
    };
    let [nan, infinite] = [with(f64::NAN), with(f64::INFINITY)];
    let mut odd = vec![1.0; 21];
    odd[10] = 2.0; // the middle, which belongs to no half
    let cases: [&[&[f64]]; 8] = [
        &[],
        &[&[], &[]],
        &[&chain[..3], &chain[..3]],
        &[&chain, &chain[..19]],
        &[&chain, &nan],
        &[&infinite, &chain],
        &[&[0.1; 20], &[0.1; 20]],
        &[&odd],
    ];
    for chains in cases {
        for function in ALL {
            assert!(function(chains).is_nan(), "{chains:?}");
        }
    }
    // Enough for one but not for the other.
    let short: [&[f64]; 1] = [&chain[..9]];
    assert!(split_rhat(&short) > 0.0 && rank_rhat(&short) > 0.0 && ess(&short).is_nan() && bulk_ess(&short).is_nan());
    // Squares that overflow or vanish.
    for scale in [1e-300, 1e300] {
        let chain: Vec<f64> = chain.iter().map(|value| value * scale).collect();
        assert!(split_rhat(&[&chain]).is_nan() && ess(&[&chain]).is_nan() && bulk_ess(&[&chain]) > 0.0);
    }
}

#[test]
fn values_of_a_coin_have_a_rank_rhat() {
    let chain: Vec<f64> = (0..20).map(|index| f64::from(index * 7 % 20 % 2)).collect();
    assert!(rank_rhat(&[&chain, &chain]).is_finite());
}

#[test]
fn a_summary_is_over_the_quantities_that_are_defined() {
    let (chains, samples) = (2, 40);
    let mut matrix: Vec<f64> = (0..3).flat_map(|seed| autoregressive(seed, chains, samples, 0.2).concat()).collect();
    matrix.extend([0.5; 80]); // a constant
    let apart: Vec<f64> =
        matrix[..80].iter().enumerate().map(|(index, value)| value + (index / 40 * 5) as f64).collect();
    matrix.extend(apart);

    let of = |function: Function, quantity: usize| {
        let quantity = &matrix[quantity * 80..][..80];
        function(&[&quantity[..40], &quantity[40..]])
    };
    let sorted = |function: Function| {
        let mut values: Vec<f64> = [0, 1, 2, 4].map(|quantity| of(function, quantity)).to_vec();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let (rhats, sizes) = (sorted(rank_rhat), sorted(bulk_ess));
    let summary = summarise(matrix.chunks_exact(80), chains);
    assert_eq!((summary.quantities, summary.undefined), (5, 1));
    assert_eq!((summary.max_rhat, summary.min_ess), (of(rank_rhat, 4), of(bulk_ess, 4)));
    assert_eq!((summary.max_rhat, summary.min_ess), (rhats[3], sizes[0]));
    assert_eq!(
        (summary.median_rhat, summary.median_ess),
        (f64::midpoint(rhats[1], rhats[2]), f64::midpoint(sizes[1], sizes[2]))
    );
}

#[test]
fn a_summary_of_nothing_is_nan() {
    let none: [Vec<f64>; 0] = [];
    let cases = [
        (summarise(none, 2), 0),
        (summarise([vec![1.0, 2.0, 3.0]], 2), 1),
        (summarise([vec![1.0; 20]], 0), 1),
        (summarise([vec![]], 0), 1),
        (summarise([vec![]], 2), 1),
    ];
    for (summary, quantities) in cases {
        assert_eq!((summary.quantities, summary.undefined), (quantities, quantities));
        let values = [summary.max_rhat, summary.median_rhat, summary.min_ess, summary.median_ess];
        assert!(values.iter().all(|value| value.is_nan()), "{summary:?}");
    }
}

// Four series and what ArviZ 0.23.4 says of them, with `x` of shape (chain, sample):
//
//     az.rhat(x, method="split"), az.rhat(x, method="rank"), az.ess(x, method="mean"), az.ess(x, method="bulk")
//
// The series are autoregressive normals from NumPy, rounded as printed here.
#[test]
fn arviz_gives_the_same() {
    // Short; an odd number of samples, with ties; chains apart, whose sequence ends at the last lag; the bound S log₁₀ S.
    let mixed: [&[f64]; 3] = [
        &[
            0.89, 0.58, -1.07, 0.54, 0.59, -0.34, 0.45, 0.48, 0.43, 0.15, 0.57, -0.53, -0.32, -0.55, 0.4, 0.16, -0.23,
            -0.82, -0.49, -0.14,
        ],
        &[
            1.15, 1.31, -2.19, -2.46, -0.9, -0.67, 0.0, 0.21, 2.08, -0.44, -0.49, 1.8, 1.16, 0.98, -0.2, -1.63, -0.33,
            0.01, -1.17, -1.0,
        ],
        &[
            -0.92, -0.37, -0.02, 0.03, -0.47, 0.42, 0.98, 0.6, -0.6, 0.52, -0.32, 0.74, -0.8, 0.63, 0.17, -1.14, -0.64,
            -0.14, 0.22, -0.87,
        ],
    ];
    let tied: [&[f64]; 2] = [
        &[
            -0.0, -0.5, -1.0, 0.0, 0.5, 0.0, 0.5, 0.5, -0.0, 0.5, 0.0, -0.0, -0.5, -0.0, -0.0, 0.0, -0.0, -0.0, -0.5,
            0.0, 0.0,
        ],
        &[
            0.5, -0.0, 0.0, 1.0, -0.0, -1.0, -1.0, -0.5, -0.0, 0.5, 0.5, 0.5, 0.5, 0.0, 0.5, -0.0, -0.5, -0.0, 0.5,
            0.0, -0.5,
        ],
    ];
    let apart: [&[f64]; 2] = [
        &[-1.19, -0.23, -0.61, -0.7, -0.53, -2.02, -1.21, -1.35, 2.2, 1.3, 0.34, -0.07, -0.61, -1.22, -0.95, -0.06],
        &[3.71, 3.18, 3.11, 4.39, 4.17, 3.15, 2.92, 3.43, 4.89, 3.71, 3.13, 3.94, 2.7, 2.6, 3.56, 3.78],
    ];
    let antithetic: [&[f64]; 2] = [
        &[
            0.33, 0.96, -0.2, -1.03, 0.72, -0.95, 0.77, -1.69, 1.35, -0.78, 1.67, -0.94, 1.03, -1.78, 2.86, -3.37,
            3.13, -2.44, 1.08, -1.22, 0.38, 0.01, -0.08, 1.12,
        ],
        &[
            1.28, -1.53, 1.63, -2.65, 1.61, -0.98, -0.38, 0.97, -0.55, 1.1, -0.09, -0.64, -0.12, -0.06, 0.58, 0.2,
            -0.65, 0.02, -0.58, -0.01, -0.16, 0.02, 1.46, -1.38,
        ],
    ];
    let cases: [(&[&[f64]], [f64; 4]); 4] = [
        (&mixed, [0.972_021_522_794_550_7, 1.050_368_289_649_234, 47.029_481_828_303_005, 48.280_267_307_442_28]),
        (&tied, [0.968_870_309_907_035_4, 1.051_373_142_090_412_9, 28.293_631_502_187_647, 29.530_690_890_350_787]),
        (&apart, [3.093_659_370_852_648, 1.896_978_564_437_568, 4.390_385_803_835_151_5, 5.359_382_816_584_537]),
        (&antithetic, [0.958_125_629_546_120_6, 1.129_958_358_827_069_2, 80.699_579_394_028_19, 80.699_579_394_028_19]),
    ];
    for (chains, expected) in cases {
        for (function, expected) in ALL.into_iter().zip(expected) {
            let found = function(chains);
            assert!((found / expected - 1.0).abs() < 1e-12, "{found}, not {expected}");
        }
    }
}
