//! Every interleaving of the steps of the thread pool's protocol: no helper follows the pointer of a job that is over, every part is
//! done once, nobody waits for ever.
//!
//! A step is one atomic operation, or one use of a lock, of `thread_pool.rs`; all of those that order anything are `SeqCst` there, so
//! that interleavings are all there is. (The checker loom cannot stand in for this: it takes `SeqCst` loads and stores for weaker ones,
//! and would report wake-ups as lost that are not.)

use std::collections::HashSet;

const HELPERS: usize = 2;
const JOBS: u8 = 2;
const PARTS: u8 = 2;

/// Where the caller is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Caller {
    Prepare,
    Open,
    LookForSleepers,
    Wake(usize),
    TakePart,
    Close,
    AwaitHelpers,
    Stop,
    WakeToEnd(usize),
    Join(usize),
    Done,
}

/// Where a helper is; with the number of the job that it has seen open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Helper {
    Look,
    FallAsleep,
    LookOnceMore,
    Parked,
    WakeUp,
    CheckStopped(u8),
    Enter,
    ReadJob,
    TakePart,
    Leave,
    Ended,
}

/// Everything that threads share, and where each of them is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    number: u8,
    open: bool,
    inside: u8,
    /// The job whose work is alive.
    alive: Option<u8>,
    next: u8,
    done: [u8; PARTS as usize],
    asleep: u8,
    stopped: bool,
    caller: Caller,
    helpers: [(Helper, u8); HELPERS],
    /// Whether a helper was unparked since it parked last.
    unparked: [bool; HELPERS],
}

impl World {
    /// Whether a helper that has seen this job is needed.
    fn calls(&self, seen: u8) -> bool {
        self.open && self.number != seen || self.stopped
    }

    /// Takes the next part; whether there was one.
    fn take_part(&mut self) -> bool {
        let index = self.next;
        self.next += 1;
        if index < PARTS {
            self.done[usize::from(index)] += 1;
        }
        index < PARTS
    }

    /// One step of the caller; none if it has to wait.
    fn caller_steps(&self) -> Option<Self> {
        let mut world = self.clone();
        world.caller = match self.caller {
            Caller::Prepare => {
                assert_eq!(self.inside, 0, "a job is replaced while a helper may read it: {self:?}");
                (world.alive, world.next, world.done) = (Some(self.number + 1), 0, [0; PARTS as usize]);
                Caller::Open
            }
            Caller::Open => {
                (world.number, world.open, world.inside) = (self.number + 1, true, 0);
                Caller::LookForSleepers
            }
            Caller::LookForSleepers if self.asleep > 0 => Caller::Wake(0),
            Caller::LookForSleepers | Caller::Wake(HELPERS) => Caller::TakePart,
            Caller::Wake(helper) => {
                world.unparked[helper] = true;
                Caller::Wake(helper + 1)
            }
            Caller::TakePart if world.take_part() => Caller::TakePart,
            Caller::TakePart => Caller::Close,
            Caller::Close => {
                world.open = false;
                Caller::AwaitHelpers
            }
            Caller::AwaitHelpers if self.inside > 0 => return None,
            Caller::AwaitHelpers => {
                assert_eq!(self.done, [1; PARTS as usize], "every part is done once: {self:?}");
                world.alive = None;
                if self.number < JOBS { Caller::Prepare } else { Caller::Stop }
            }
            Caller::Stop => {
                world.stopped = true;
                Caller::WakeToEnd(0)
            }
            Caller::WakeToEnd(HELPERS) => Caller::Done,
            Caller::WakeToEnd(helper) => {
                world.unparked[helper] = true;
                Caller::Join(helper)
            }
            Caller::Join(helper) if self.helpers[helper].0 == Helper::Ended => Caller::WakeToEnd(helper + 1),
            Caller::Join(_) | Caller::Done => return None,
        };
        Some(world)
    }

    /// One step of a helper; none if it has to wait, or has ended.
    fn helper_steps(&self, index: usize) -> Option<Self> {
        let mut world = self.clone();
        let (helper, seen) = self.helpers[index];
        let mut now = seen;
        let next = match helper {
            Helper::Look if self.calls(seen) => Helper::CheckStopped(self.number),
            // However long it looks, it may see nothing.
            Helper::Look => Helper::FallAsleep,
            Helper::FallAsleep => {
                world.asleep += 1;
                Helper::LookOnceMore
            }
            Helper::LookOnceMore if self.calls(seen) => Helper::WakeUp,
            Helper::LookOnceMore => Helper::Parked,
            Helper::Parked if !self.unparked[index] => return None,
            Helper::Parked => {
                world.unparked[index] = false;
                Helper::WakeUp
            }
            Helper::WakeUp => {
                world.asleep -= 1;
                Helper::Look
            }
            Helper::CheckStopped(_) if self.stopped => Helper::Ended,
            Helper::CheckStopped(number) => {
                now = number;
                Helper::Enter
            }
            Helper::Enter if self.open && self.number == seen => {
                world.inside += 1;
                Helper::ReadJob
            }
            Helper::Enter => Helper::Look,
            Helper::ReadJob => {
                assert_eq!(self.alive, Some(seen), "a helper reads a job that is over: {self:?}");
                Helper::TakePart
            }
            Helper::TakePart => {
                assert_eq!(self.alive, Some(seen), "a helper works for a job that is over: {self:?}");
                if world.take_part() { Helper::TakePart } else { Helper::Leave }
            }
            Helper::Leave => {
                world.inside -= 1;
                Helper::Look
            }
            Helper::Ended => return None,
        };
        world.helpers[index] = (next, now);
        Some(world)
    }
}

#[test]
fn every_interleaving_ends_well() {
    let start = World {
        number: 0,
        open: false,
        inside: 0,
        alive: None,
        next: 0,
        done: [0; PARTS as usize],
        asleep: 0,
        stopped: false,
        caller: Caller::Prepare,
        helpers: [(Helper::Look, 0); HELPERS],
        unparked: [false; HELPERS],
    };
    let mut seen = HashSet::from([start.clone()]);
    let (mut waiting, mut ended) = (vec![start], 0);
    while let Some(world) = waiting.pop() {
        let steps: Vec<World> = world
            .caller_steps()
            .into_iter()
            .chain((0..HELPERS).filter_map(|index| world.helper_steps(index)))
            .collect();
        if steps.is_empty() {
            assert_eq!(world.caller, Caller::Done, "everybody waits: {world:?}");
            ended += 1;
        }
        waiting.extend(steps.into_iter().filter(|step| seen.insert(step.clone())));
    }
    assert!(ended > 0 && seen.len() > 1000, "{ended} ends of {} states", seen.len());
}
