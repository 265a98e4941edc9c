//! Kicks and drifts against their formulas, and whole trajectories there and back again.

use crate::plain::{close, normals};
use onebasin_kernels::Isa;
use onebasin_kernels::elementwise::KickAndDrift;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_kick_and_a_drift(len in 0..100usize, precision in 0.0..3.0f32, kick in -1.0..1.0f32, drift in -1.0..1.0f32) {
        let (momenta, positions, gradient) = (normals("p", len), normals("q", len), normals("g", len));
        let mut expected = [vec![0.0f64; len], vec![0.0f64; len]];
        for index in 0..len {
            let [p, q, g] = [momenta[index], positions[index], gradient[index]].map(f64::from);
            expected[0][index] = p + f64::from(kick) * (g - f64::from(precision) * q);
            expected[1][index] = q + f64::from(drift) * expected[0][index];
        }
        for isa in Isa::available() {
            let (mut momentum, mut position) = (momenta.clone(), positions.clone());
            isa.run(KickAndDrift { momentum: &mut momentum, position: &mut position, gradient: &gradient, precision, kick, drift });
            // Terms of at most 4, 4 and 3 · 4 in size, each rounded a few times.
            close(&momentum, &expected[0], 20.0, 2e-7)?;
            close(&position, &expected[1], 24.0, 2e-7)?;
            let (mut momentum, mut position) = (momenta.clone(), positions.clone());
            isa.run(KickAndDrift { momentum: &mut momentum, position: &mut position, gradient: &gradient, precision, kick, drift: 0.0 });
            close(&momentum, &expected[0], 20.0, 2e-7)?;
            prop_assert_eq!(&position, &positions);
        }
    }
}

/// 20 leapfrog steps under the log-likelihood −¼ Σ θ⁴.
fn trajectory(isa: Isa, momentum: &mut [f32], position: &mut [f32]) {
    const STEPS: usize = 20;
    for step in 0..=STEPS {
        let gradient: Vec<f32> = position.iter().map(|value| -value.powi(3)).collect();
        let part = if step == 0 || step == STEPS { 0.5 } else { 1.0 };
        let drift = if step < STEPS { 0.1 } else { 0.0 };
        isa.run(KickAndDrift { momentum, position, gradient: &gradient, precision: 1.5, kick: 0.1 * part, drift });
    }
}

fn turn_round(momentum: &mut [f32]) {
    for value in momentum {
        *value = -*value;
    }
}

#[test]
fn a_trajectory_with_the_momentum_turned_round_leads_back() {
    for isa in Isa::available() {
        let (momenta, positions) = (normals("p", 53), normals("q", 53));
        let (mut momentum, mut position) = (momenta.clone(), positions.clone());
        trajectory(isa, &mut momentum, &mut position);
        assert!(position.iter().zip(&positions).any(|(there, here)| (there - here).abs() > 0.5), "it stayed");
        turn_round(&mut momentum);
        trajectory(isa, &mut momentum, &mut position);
        turn_round(&mut momentum);
        // 40 steps rounded to a few units of 1e-7 each, which the force may magnify.
        for (found, start) in momentum.iter().zip(&momenta).chain(position.iter().zip(&positions)) {
            assert!((found - start).abs() < 2e-4, "{isa:?}: {found}, not {start}");
        }
    }
}
