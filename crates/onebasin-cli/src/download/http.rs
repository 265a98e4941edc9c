//! One HTTP transfer into a file that may already have its beginning.

use crate::printer::Printer;
use anyhow::{Context, bail};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::mpsc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;
use std::{fs, io, thread};
use ureq::http::Response;
use ureq::{Agent, Body};

/// How long a server may take to answer, and then to send more. A transfer may take as long as it takes, but not stand still.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// How many bytes are read at a time.
const CHUNK: usize = 1 << 16;

/// How long a download will be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    /// As far as is known.
    pub(super) expected: u64,
    /// What is longer is not what was asked for.
    pub(super) limit: u64,
    /// Whether `expected` is certain.
    pub(super) exact: bool,
}

/// A transfer that came to its end.
#[derive(Debug)]
pub(super) struct Fetched {
    /// Whether its beginning was there before.
    pub(super) resumed: bool,
    /// Locked until this is dropped: what is being verified or unpacked must not be written to by another process.
    _file: fs::File,
}

/// A client for all transfers.
pub(super) fn agent() -> Agent {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .timeout_connect(Some(PATIENCE))
        .timeout_recv_response(Some(PATIENCE))
        .user_agent(concat!("onebasin/", env!("CARGO_PKG_VERSION")));
    config.build().into()
}

/// Downloads `url` into `part`, from where `part` ends if the server can do that.
///
/// The outer error is ours (a full disk), the inner one a sentence about the server or the way to it; what has arrived until
/// then stays in `part`.
pub(super) fn fetch(
    agent: &Agent,
    url: &str,
    part: &Path,
    size: Size,
    patience: Duration,
    printer: &Printer,
) -> anyhow::Result<Result<Fetched, String>> {
    let cannot_write = || format!("cannot write {}", part.display());
    let mut file = fs::OpenOptions::new().append(true).create(true).open(part).with_context(cannot_write)?;
    if let Err(fs::TryLockError::WouldBlock) = file.try_lock() {
        bail!("{} is being downloaded by another process", part.display());
    }
    let mut have = file.metadata().with_context(cannot_write)?.len();
    if have > size.limit {
        have = 0;
    }
    if size.exact && have == size.expected {
        return Ok(Ok(Fetched { resumed: true, _file: file }));
    }
    let response = match request(agent, url, &mut have) {
        Ok(response) => response,
        Err(failure) => return Ok(Err(failure)),
    };
    file.set_len(have).with_context(cannot_write)?;
    let resumed = have > 0;
    if resumed {
        printer.say(&format!("resuming {url} after {have} bytes"));
    }
    let bar = printer.bar(url, have, size.expected);
    let arrived = arriving(response.into_body().into_reader());
    loop {
        let bytes = match arrived.recv_timeout(patience) {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(error)) => return Ok(Err(format!("the transfer broke off after {have} bytes: {error}"))),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let seconds = patience.as_secs_f64();
                return Ok(Err(format!(
                    "the transfer stands still: nothing has come after {have} bytes for {seconds} seconds"
                )));
            }
        };
        have += bytes.len() as u64;
        if have > size.limit {
            file.set_len(0).with_context(cannot_write)?;
            return Ok(Err(format!("it has more than the {} bytes it should have", size.limit)));
        }
        file.write_all(&bytes).with_context(cannot_write)?;
        bar.inc(bytes.len() as u64);
    }
    bar.finish_and_clear();
    if size.exact && have < size.expected {
        return Ok(Err(format!("the transfer ended after {have} of {} bytes", size.expected)));
    }
    file.sync_all().with_context(cannot_write)?;
    Ok(Ok(Fetched { resumed, _file: file }))
}

/// What a reader brings, read on a thread of its own, because a read that stands still cannot be given up.
fn arriving(mut reader: impl Read + Send + 'static) -> Receiver<io::Result<Vec<u8>>> {
    // Whoever writes is never far behind.
    let (sender, receiver) = mpsc::sync_channel(4);
    thread::spawn(move || {
        loop {
            let mut bytes = vec![0; CHUNK];
            let read = reader.read(&mut bytes).map(|count| bytes.truncate(count));
            let ended = read.is_err() || bytes.is_empty();
            if (read.is_err() || !bytes.is_empty()) && sender.send(read.map(|()| bytes)).is_err() || ended {
                return;
            }
        }
    });
    receiver
}

/// Asks for what follows the first `have` bytes; sets `have` to 0 if the answer is the whole.
fn request(agent: &Agent, url: &str, have: &mut u64) -> Result<Response<Body>, String> {
    loop {
        let mut request = agent.get(url);
        if *have > 0 {
            request = request.header("Range", format!("bytes={have}-"));
        }
        let response = request.call().map_err(|error| error.to_string())?;
        match response.status().as_u16() {
            206 if *have > 0 && begins_at(&response, *have) => return Ok(response),
            200 => {
                *have = 0;
                return Ok(response);
            }
            // The server has nothing behind so many bytes, or something else than was asked for: start over.
            206 | 416 if *have > 0 => *have = 0,
            _ => return Err(format!("the server answers {}", response.status())),
        }
    }
}

/// Whether a partial answer begins at byte `first`.
fn begins_at(response: &Response<Body>, first: u64) -> bool {
    let range = response.headers().get("Content-Range").and_then(|range| range.to_str().ok());
    let ends = range.and_then(|range| range.strip_prefix("bytes ")?.split_once('-'));
    ends.is_some_and(|(start, _)| start == first.to_string())
}
