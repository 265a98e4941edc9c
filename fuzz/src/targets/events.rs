//! Continues any bytes as a TensorBoard log; the first two are the length that a checkpoint knows.

use crate::folder;
use crate::seeds::Seed;
use onebasin::store::Events;
use std::fs;

pub(crate) fn run(bytes: &[u8]) {
    let [low, high, bytes @ ..] = bytes else { return };
    let keep = u64::from(u16::from_le_bytes([*low, *high]));
    let dir = folder::empty("events");
    let file = dir.join("events.out.tfevents.0000000001.onebasin");
    fs::write(&file, bytes).expect("a temporary file can be written");
    let Ok(mut events) = Events::resume(&dir, keep, 1.0) else {
        assert_eq!(fs::read(&file).expect("the file is there"), bytes, "what is refused stays as it is");
        return;
    };
    events.scalars(2.0, 3, &[("loss", 0.5)]).expect("the log can be written");
    let len = events.flush().expect("the log can be written");
    assert!(Events::resume(&dir, len, 1.0).is_ok(), "what is written is continued");
}

/// Logs of none to two events.
pub(crate) fn seeds() -> Vec<Seed> {
    let log = |count: u64| {
        let dir = folder::empty("seeds");
        let mut events = Events::create(&dir, 1.0).expect("the log can be made");
        (0..count).for_each(|step| events.scalars(1.0, step, &[("loss", 0.5)]).expect("the log can be written"));
        let len = events.flush().expect("the log can be written") as u16;
        let bytes = fs::read(dir.join("events.out.tfevents.0000000001.onebasin")).expect("the log is there");
        Seed::new(&format!("{count}"), bytes).behind(&len.to_le_bytes())
    };
    (0..3).map(log).collect()
}
