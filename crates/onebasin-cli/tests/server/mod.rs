//! A web server on this machine that answers as a test tells it to, and remembers what it was asked.

#![allow(dead_code)] // two test programs include this, each uses some of it

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) path: String,
    /// The first byte of the range that was asked for.
    pub(crate) from: Option<usize>,
}

/// What is answered.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    status: &'static str,
    headers: String,
    body: Vec<u8>,
    sent: usize,
    hangs: bool,
}

impl Answer {
    /// All of `body`, whatever range was asked for.
    pub(crate) fn whole(body: &[u8]) -> Self {
        Self { status: "200 OK", headers: String::new(), body: body.to_vec(), sent: body.len(), hangs: false }
    }

    /// What `request` asks for: all of `body`, or its end.
    pub(crate) fn range(body: &[u8], request: &Request) -> Self {
        match request.from {
            None => Self::whole(body),
            Some(from) if from >= body.len() => Self::status("416 Range Not Satisfiable"),
            Some(from) => {
                let headers = format!("Content-Range: bytes {from}-{}/{}\r\n", body.len() - 1, body.len());
                Self { status: "206 Partial Content", headers, ..Self::whole(&body[from..]) }
            }
        }
    }

    /// Nothing but a status.
    pub(crate) fn status(status: &'static str) -> Self {
        Self { status, ..Self::whole(b"") }
    }

    /// Announces everything, but closes the connection after `sent` bytes.
    pub(crate) fn broken_after(self, sent: usize) -> Self {
        Self { sent, ..self }
    }

    /// Announces everything, sends `sent` bytes, and then nothing for a long time.
    pub(crate) fn hanging_after(self, sent: usize) -> Self {
        Self { sent, hangs: true, ..self }
    }
}

/// A server that runs until the end of the test.
pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Answers each request by what `answer` makes of it.
    pub(crate) fn new(answer: impl Fn(&Request) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming() {
                // A client that was killed is no concern of the server.
                let _ = serve(&mut stream.unwrap(), &answer, &log);
            }
        });
        Self { url, requests }
    }

    /// All requests until now.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// The beginnings of the ranges that were asked for, of all requests until now.
    pub(crate) fn ranges(&self) -> Vec<Option<usize>> {
        self.requests().into_iter().map(|request| request.from).collect()
    }
}

fn serve(
    stream: &mut TcpStream,
    answer: &impl Fn(&Request) -> Answer,
    log: &Mutex<Vec<Request>>,
) -> std::io::Result<()> {
    let head = BufReader::new(&*stream).lines().take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty()));
    let head: Vec<String> = head.collect::<Result<_, _>>()?;
    let path = head[0].split(' ').nth(1).unwrap().to_owned();
    let range = head.iter().find_map(|line| line.to_lowercase().strip_prefix("range: bytes=").map(str::to_owned));
    let from = range.map(|range| range.strip_suffix('-').unwrap().parse().unwrap());
    let request = Request { path, from };
    log.lock().unwrap().push(request.clone());
    let Answer { status, headers, body, sent, hangs } = answer(&request);
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n", body.len())?;
    stream.write_all(&body[..sent])?;
    stream.flush()?;
    if hangs {
        let stream = stream.try_clone()?;
        thread::spawn(move || {
            thread::sleep(Duration::from_mins(1));
            drop(stream);
        });
    }
    Ok(())
}
