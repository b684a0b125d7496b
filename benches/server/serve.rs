//! The service of the HTTP and stream rows: canned answers from memory, a thread for each connection, the standard library alone,
//! so that it is never what limits a client. It checks no signature.
//!
//!     rustc -O --edition 2024 benches/server/serve.rs -o target/bench/server
//!     target/bench/server FOLDER      # prints the ports of a plain and of a gzip listener; lives until its stdin ends
//!
//! FOLDER: game.json, game.json.gz, small.json, small.json.gz, and NAME.sse for each event stream, which is asked for by
//! `schedule_id=NAME`: its bytes at once. `schedule_id=paced` sends paced.json again and again, with the time it was sent.

#![allow(clippy::expect_used, clippy::print_stdout, reason = "a program of its own, for make bench")]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

type Files = Arc<HashMap<String, Vec<u8>>>;

/// Between two paced events.
const PACE: Duration = Duration::from_millis(5);

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).expect("a folder");
    let mut files = HashMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        files.insert(entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path())?);
    }
    let files = Arc::new(files);
    for gzip in [false, true] {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        println!("{}", listener.local_addr()?.port());
        let files = files.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let files = files.clone();
                std::thread::spawn(move || serve(stream, &files, gzip));
            }
        });
    }
    std::io::stdout().flush()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn serve(mut stream: TcpStream, files: &Files, gzip: bool) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let target = line.split(' ').nth(1).unwrap_or_default().to_owned();
        loop {
            line.clear();
            if reader.read_line(&mut line)? <= 2 {
                break;
            }
        }
        if let Some((_, query)) = target.split_once("event-stream?") {
            let name = query.split('&').find_map(|pair| pair.strip_prefix("schedule_id=")).unwrap_or_default();
            return events(stream, files, name);
        }
        let name = if target.ends_with("/stats/details") { "game.json" } else { "small.json" };
        let (body, encoding) = match files.get(&format!("{name}.gz")) {
            Some(body) if gzip => (body, "Content-Encoding: gzip\r\n"),
            _ => (&files[name], ""),
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{encoding}Content-Length: {}\r\n\r\n",
            body.len()
        );
        // One write: a small answer is one packet.
        let mut answer = head.into_bytes();
        answer.extend_from_slice(body);
        stream.write_all(&answer)?;
    }
}

fn events(mut stream: TcpStream, files: &Files, name: &str) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")?;
    if name != "paced" {
        return stream.write_all(&files[&format!("{name}.sse")]);
    }
    let snapshot = String::from_utf8_lossy(&files["paced.json"]);
    let mut next = Instant::now();
    loop {
        let sent = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let event = format!("data: {{\"sent\":{sent},\"snapshot\":{snapshot}}}\n\n");
        stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())?;
        next += PACE;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}
