//! The pure parts in Rust alone: no Python, and no socket.
//!
//!     cargo bench --manifest-path benches/pure/Cargo.toml

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
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
use std::time::{Duration, SystemTime};
use tables::Context;

/// Events of a stream or a journal.
const EVENTS: usize = 1000;

/// A message as the service sends it, of about so many bytes.
fn message(size: usize) -> String {
    let line = r#"{"id":200193,"version":983208,"stats":{"FGA":6,"FG":2,"FGA2":4,"PTS":4,"DIST":163333}},"#;
    let lines = line.repeat(size.div_ceil(line.len()));
    format!(r#"{{"schedule_id":"9d26a9b7","teams":[{}]}}"#, lines.trim_end_matches(','))
}

fn event_stream(c: &mut Criterion) {
    for (name, size) in [("small", 200), ("large", 6000)] {
        let event = format!("event: stats\nid: 17\ndata: {}\n\n", message(size));
        let stream = event.repeat(EVENTS);
        let mut group = c.benchmark_group(format!("event stream, {name} events"));
        group.throughput(Throughput::Bytes(stream.len() as u64));
        // A segment of the network, a read of a socket, and an event at a time.
        for chunk in [1460, 65_536, event.len()] {
            let how = if chunk == event.len() { "a chunk each".into() } else { format!("chunks of {chunk}") };
            group.bench_function(how, |b| {
                b.iter(|| {
                    let mut decoder = SseDecoder::new(16 << 20, "".into());
                    let mut events = 0;
                    for bytes in stream.as_bytes().chunks(chunk) {
                        let each = |frame| events += usize::from(matches!(black_box(frame), SseItem::Event(_)));
                        decoder.feed(bytes, each).unwrap();
                    }
                    assert_eq!(events, EVENTS);
                });
            });
        }
    }
}

fn signer(c: &mut Criterion) {
    let (date, path) = ("Sun, 01 Nov 2026 12:00:00 GMT", "/v1/data/teams/46/events");
    c.bench_function("signer/authorization", |b| {
        b.iter(|| {
            authorization("user", black_box(b"a secret of thirty-two characters"), date, "api.host", "GET", path)
        });
    });
}

/// The golden body of a resource, with each element of its list `times` over.
fn body(golden: &str, times: usize) -> Body {
    let mut body: Value = serde_json::from_str(golden).unwrap();
    let teams = body["teams"].as_array_mut().unwrap();
    *teams = (0..times).flat_map(|_| teams.clone()).collect();
    Body::from(body.to_string().as_bytes())
}

fn tables(c: &mut Criterion) {
    let mut group = c.benchmark_group("table");
    let request = Context::default().with("session_id", "s1");
    for (name, table, golden) in [
        ("stats_details", "stat_events", include_str!("../../tests/golden/stats_details.json")),
        ("possessions", "possessions", include_str!("../../tests/golden/possessions.json")),
    ] {
        let (resource, body) = (by_name(name).unwrap(), body(golden, 200));
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(table, |b| {
            // A clone of a body has its own copy of the bytes, and knows what the first one was found to be.
            let fresh = || Body::from(body.as_slice());
            let decode = |body: Body| tables::decode(resource, table, None, &body, &request).unwrap();
            b.iter_batched(fresh, decode, BatchSize::LargeInput);
        });
    }
}

fn journal(c: &mut Criterion) {
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
    let mut group = c.benchmark_group("journal");
    group.throughput(Throughput::Elements(EVENTS as u64));
    group.bench_function("write", |b| {
        b.iter_batched(|| drop(std::fs::remove_file(&path)), |()| write(), BatchSize::PerIteration)
    });
    drop(std::fs::remove_file(&path));
    write();
    group.bench_function("read", |b| {
        b.iter(|| {
            let (mut reader, mut entries) = (Reader::open(&path).unwrap(), Vec::new());
            while reader.next(&mut entries).unwrap() {}
            assert_eq!(entries.len(), EVENTS);
        });
    });
    std::fs::remove_dir_all(folder).unwrap();
}

fn websocket(c: &mut Criterion) {
    let message = format!(r#"{{"source":"stats","seq":17,"data":{}}}"#, message(1000));
    let mut group = c.benchmark_group("websocket");
    group.bench_function("number and source of a message", |b| {
        b.iter(|| read_envelope(black_box(&message)).seq.unwrap())
    });
    group.throughput(Throughput::Elements(EVENTS as u64));
    // Each even number is missing at first, as those of sources that were not asked for are.
    group.bench_function("numbers seen", |b| {
        b.iter(|| {
            let mut sequence = Sequence::new(None);
            let number = |n: i64| black_box(n * 2 % EVENTS as i64);
            let is_new = |n: &i64| sequence.receive(Some("stats"), number(*n), b"{}") == Verdict::Deliver;
            (0..EVENTS as i64).filter(is_new).count()
        });
    });
    group.finish();
}

criterion_group!(pure, event_stream, signer, tables, journal, websocket);
criterion_main!(pure);
