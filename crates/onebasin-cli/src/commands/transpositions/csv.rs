//! What was measured, as comma-separated values: a line for each run of each experiment.

use onebasin::experiment::Moment;
use onebasin::experiment::OnLine;
use onebasin::experiment::Pair;
use onebasin::experiment::Rise;
use onebasin::experiment::Rises;
use onebasin::experiment::Started;
use onebasin::experiment::Transpositions;

/// The columns of a pair.
const PAIR: &str = "transpositions,distance_before,distance_after,\
    train_loss,train_loss_barrier_before,train_loss_barrier_after,\
    train_error,train_error_barrier_before,train_error_barrier_after,\
    test_loss,test_loss_barrier_before,test_loss_barrier_after,\
    test_error,test_error_barrier_before,test_error_barrier_after";

pub(super) fn starts(found: &Transpositions) -> String {
    let lines = found.starts.iter().map(|Started { run, planted, recovered, off, pair: it }| {
        format!("{run},{planted},{recovered},{off},{}\n", pair(it))
    });
    format!("run,planted,recovered,off,{PAIR}\n") + &lines.collect::<String>()
}

pub(super) fn line(found: &Transpositions) -> String {
    let lines = found
        .line
        .iter()
        .map(|OnLine { run, tau, from_first, from_second }| format!("{run},{tau},{from_first},{from_second}\n"));
    "run,tau,from_first,from_second\n".to_owned() + &lines.collect::<String>()
}

pub(super) fn dynamics(found: &Transpositions) -> String {
    let lines = found.dynamics.iter().map(|Moment { run, epoch, pair: it }| format!("{run},{epoch},{}\n", pair(it)));
    format!("run,epoch,{PAIR}\n") + &lines.collect::<String>()
}

fn pair(Pair { transpositions, distance_before, distance_after, train, test }: &Pair) -> String {
    let rises = [train, test].into_iter().flat_map(|Rises { loss, error }| [loss, error]);
    let rises = rises.map(|Rise { ends, before, after }| format!(",{ends},{before},{after}"));
    format!("{transpositions},{distance_before},{distance_after}") + &rises.collect::<String>()
}
