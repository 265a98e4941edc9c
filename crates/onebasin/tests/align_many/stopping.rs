//! Every alignment counts the assignment problems it solves, and stops soon after it is asked to.

use crate::{independent, settings, spec};
use onebasin::align::{Criterion, pair, relabel, to_mean, to_reference, to_universe};
use onebasin::error::{Error, Result};
use onebasin::posterior::Gaussian;
use onebasin::progress::{Monitor, Progress};
use onebasin::symmetry::Spec;
use onebasin_kernels::ThreadPool;
use std::ops::ControlFlow;

type Method = fn(&Spec, &[Gaussian], &ThreadPool, &mut Monitor<'_>) -> Result<()>;

const METHODS: [Method; 5] = [
    |spec, members, pool, monitor| {
        pair(spec, &members[0], &members[1], settings(Criterion::W2), pool, monitor).map(|_| ())
    },
    |spec, members, pool, monitor| to_reference(spec, members, 0, settings(Criterion::W2), pool, monitor).map(|_| ()),
    |spec, members, pool, monitor| to_mean(spec, members, settings(Criterion::W2), pool, monitor).map(|_| ()),
    |spec, members, pool, monitor| to_universe(spec, members, settings(Criterion::W2), pool, monitor).map(|_| ()),
    |spec, members, pool, monitor| relabel(spec, members, settings(Criterion::W2), pool, monitor).map(|_| ()),
];

/// What a method returns that is asked to stop at a report, and how many problems were solved at each report.
fn stopped_at(method: Method, last: usize) -> (Result<()>, Vec<usize>) {
    let spec = spec(0);
    let members: Vec<Gaussian> = (0..4).map(|index| independent(&spec, index)).collect();
    let mut heard = Vec::new();
    let mut callback = |Progress { done, .. }: Progress<'_>| {
        heard.push(done);
        if heard.len() <= last { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let ended = method(&spec, &members, &ThreadPool::alone(), &mut Monitor::new("align", &mut callback));
    (ended, heard)
}

#[test]
fn alignments_stop_within_a_few_assignment_problems() {
    for method in METHODS {
        let (ended, all) = stopped_at(method, usize::MAX);
        assert_eq!(ended, Ok(()));
        for solved in all.windows(2) {
            assert!((solved[0]..=solved[0] + 4).contains(&solved[1]), "{} after {} problems", solved[1], solved[0]);
        }
        for last in [0, 1, all.len() / 3, all.len() / 2, all.len() - 1] {
            let (ended, heard) = stopped_at(method, last);
            assert_eq!((ended, &heard[..]), (Err(Error::Stopped), &all[..=last]));
        }
    }
}
