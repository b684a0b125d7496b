//! The pure parts in Rust alone: no Python, and no socket. Each line is what was measured, how many bytes or elements a run goes
//! through, and the nanoseconds of a run in each round.
//!
//!     cargo bench --bench pure -- 7

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "prints times; what fails ends it"
)]

use reader::Body;
use serde_json::Value;
use sideline::live::envelope::read_envelope;
use sideline::live::journal::{Reader, Writer};
use sideline::live::sequence::{Sequence, Verdict};
use sideline::live::sse::{SseDecoder, SseItem};
use sideline::live::{Item, Update};
use sideline::resource::by_name;
use sideline::signer::authorization;
use std::hint::black_box;
use std::time::{Duration, Instant, SystemTime};
use tables::Context;

/// Events of a stream or a journal.
const EVENTS: usize = 1000;

/// A message as the service sends it, of about so many bytes.
fn message(size: usize) -> String {
    let line = r#"{"id":200193,"version":983208,"stats":{"FGA":6,"FG":2,"FGA2":4,"PTS":4,"DIST":163333}},"#;
    let lines = line.repeat(size.div_ceil(line.len()));
    format!(r#"{{"schedule_id":"9d26a9b7","teams":[{}]}}"#, lines.trim_end_matches(','))
}

/// What a round measures at least.
const ROUND: Duration = Duration::from_millis(100);

/// Prints the times of `run`, which `prepare` gives something new each time. Neither that nor dropping what `run` gives is measured.
fn measure<T, R>(
    name: &str,
    (amount, unit): (usize, &str),
    mut prepare: impl FnMut() -> T,
    mut run: impl FnMut(T) -> R,
) {
    let mut round = || {
        let (mut elapsed, mut runs) = (Duration::ZERO, 0);
        while elapsed < ROUND {
            let input = prepare();
            let start = Instant::now();
            let result = black_box(run(input));
            elapsed += start.elapsed();
            drop(result);
            runs += 1;
        }
        (elapsed.as_nanos() as f64 / f64::from(runs)).to_string()
    };
    let rounds = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(7);
    round();
    let times: Vec<String> = (0..rounds).map(|_| round()).collect();
    println!("{name}\t{amount}\t{unit}\t{}", times.join(" "));
}

fn event_stream() {
    for (name, size) in [("small", 200), ("large", 6000)] {
        let event = format!("event: stats\nid: 17\ndata: {}\n\n", message(size));
        let stream = event.repeat(EVENTS);
        // A segment of the network, a read of a socket, and an event at a time.
        for chunk in [1460, 65_536, event.len()] {
            let chunking = if chunk == event.len() { "a chunk each".into() } else { format!("chunks of {chunk}") };
            let decode = |()| {
                let mut decoder = SseDecoder::new(16 << 20, "".into());
                let mut events = 0;
                for bytes in stream.as_bytes().chunks(chunk) {
                    let count = |frame| events += usize::from(matches!(black_box(frame), SseItem::Event(_)));
                    decoder.feed(bytes, count).unwrap();
                }
                assert_eq!(events, EVENTS);
            };
            measure(&format!("event stream, {name} events, {chunking}"), (stream.len(), "bytes"), || (), decode);
        }
    }
}

fn signer() {
    let (date, path) = ("Sun, 01 Nov 2026 12:00:00 GMT", "/v1/data/teams/46/events");
    let sign =
        |_| authorization("user", black_box(b"a secret of thirty-two characters"), date, "api.host", "GET", path);
    measure(
        "signer, authorization",
        (EVENTS, "each"),
        || (),
        |()| (0..EVENTS).map(sign).for_each(|text| drop(black_box(text))),
    );
}

/// The golden body of a resource, with each element of its list `times` over.
fn body(golden: &str, times: usize) -> Body {
    let mut body: Value = serde_json::from_str(golden).unwrap();
    let teams = body["teams"].as_array_mut().unwrap();
    *teams = (0..times).flat_map(|_| teams.clone()).collect();
    Body::from(body.to_string().as_bytes())
}

fn decoding() {
    let request = Context::default().with("session_id", "s1");
    for (name, table, golden) in [
        ("stats_details", "stat_events", include_str!("../tests/golden/stats_details.json")),
        ("possessions", "possessions", include_str!("../tests/golden/possessions.json")),
    ] {
        let (resource, body) = (by_name(name).unwrap(), body(golden, 200));
        // A clone of a body has its own copy of the bytes, and knows what the first one was found to be.
        let fresh = || Body::from(body.as_slice());
        let decode = |body: Body| (tables::decode(resource, table, None, &body, &request).unwrap(), body);
        measure(&format!("table, {table}"), (body.len(), "bytes"), fresh, decode);
    }
}

fn journal() {
    let folder = std::env::temp_dir().join(format!("sideline-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (path, now) = (folder.join("a.journal"), SystemTime::UNIX_EPOCH);
    let text = message(1000);
    let item = |n: usize| {
        let seq = Some(n as i64);
        Item::Update(Update {
            event: None,
            id: "17".into(),
            text: text.clone(),
            binary: None,
            seq,
            source: None,
            received_at: now,
        })
    };
    let items: Vec<Item> = (0..EVENTS).map(item).collect();
    let write = || {
        let mut writer = Writer::open(&path, now).unwrap();
        for item in &items {
            writer.append(item, now, Duration::ZERO).unwrap();
        }
        writer.close(now).unwrap();
    };
    measure("journal, write", (EVENTS, "each"), || drop(std::fs::remove_file(&path)), |()| write());
    drop(std::fs::remove_file(&path));
    write();
    let read = |()| {
        let (mut reader, mut entries) = (Reader::open(&path).unwrap(), Vec::new());
        while reader.next(&mut entries).unwrap() {}
        assert_eq!(entries.len(), EVENTS);
        entries
    };
    measure("journal, read", (EVENTS, "each"), || (), read);
    std::fs::remove_dir_all(folder).unwrap();
}

fn websocket() {
    let message = format!(r#"{{"source":"stats","seq":17,"data":{}}}"#, message(1000));
    let number = |_| read_envelope(black_box(&message)).seq.unwrap();
    measure(
        "websocket, number and source of a message",
        (EVENTS, "each"),
        || (),
        |()| (0..EVENTS).map(number).sum::<i64>(),
    );
    // Each even number is missing at first, as those of sources that were not requested are.
    let seen = |()| {
        let mut sequence = Sequence::new(None);
        let number = |n: i64| black_box(n * 2 % EVENTS as i64);
        let is_new = |n: &i64| sequence.receive(Some("stats"), number(*n), b"{}") == Verdict::Deliver;
        (0..EVENTS as i64).filter(is_new).count()
    };
    measure("websocket, numbers seen", (EVENTS, "each"), || (), seen);
}

fn main() {
    event_stream();
    signer();
    decoding();
    journal();
    websocket();
}
