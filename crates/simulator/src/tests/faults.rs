//! Faults as a client meets them.

use super::*;
use crate::Fault;
use std::time::Instant;

const TEAMS: &str = "/v1/data/teams";

fn with(fault: Fault) -> Simulator {
    let simulator = small();
    simulator.faults().add(fault).unwrap();
    simulator
}

fn get(simulator: &Simulator) -> SocketResponse {
    Sender::new(simulator).get(TEAMS)
}

#[test]
fn a_status_has_an_error_body_of_the_service() {
    for (status, message) in [(500, "General system error"), (503, "Service Unavailable"), (429, "Too Many Requests")] {
        let simulator = with(Fault { status: Some(status), ..Fault::default() });
        assert_eq!(Sender::new(&simulator).refusal(TEAMS), (status, message.to_owned()));
        assert_eq!(last_seen(&simulator).status, status);
    }
}

#[test]
fn a_body_and_headers_are_sent_as_given() {
    let simulator = with(Fault {
        status: Some(429),
        body: Some(b"<html>".to_vec()),
        headers: vec![("Retry-After".into(), "3".into()), ("Content-Type".into(), "text/html".into())],
        ..Fault::default()
    });
    let response = get(&simulator);
    assert_eq!((response.status, &response.body[..]), (429, &b"<html>"[..]));
    assert_eq!((response.header("retry-after"), response.header("content-type")), (Some("3"), Some("text/html")));
    assert_eq!(response.headers.iter().filter(|(name, _)| name == "content-type").count(), 1);
}

#[test]
fn a_body_alone_is_of_status_200() {
    let response = get(&with(Fault { body: Some(b"{".to_vec()), ..Fault::default() }));
    assert_eq!((response.status, &response.body[..]), (200, &b"{"[..]));
}

#[test]
fn headers_alone_change_the_true_answer() {
    let simulator = with(Fault { headers: vec![("x-odd".into(), "1".into())], ..Fault::default() });
    let response = get(&simulator);
    assert_eq!((response.header("x-odd"), response.json()["teams"].as_array().unwrap().len()), (Some("1"), 6));
}

#[test]
fn a_content_length_that_lies_is_sent() {
    let lie = |length: &str| {
        let simulator = with(Fault {
            body: Some(b"0123456789".to_vec()),
            headers: vec![("Content-Length".into(), length.into())],
            ..Fault::default()
        });
        get(&simulator)
    };
    let response = lie("20");
    assert_eq!((response.header("content-length"), &response.body[..]), (Some("20"), &b"0123456789"[..]));
    response.end.unwrap();
    assert_eq!(lie("10").body, b"0123456789");
    assert_eq!(lie("4").body, b"0123456789", "what is beyond the length is sent all the same");
    assert_eq!(lie("18446744073709551615").body, b"0123456789");
    assert_eq!((lie("x").header("content-length"), lie("-1").header("content-length")), (Some("x"), Some("-1")));
}

#[test]
fn an_answer_in_chunks_is_as_long_as_its_body() {
    let headers = vec![("Transfer-Encoding".into(), "chunked".into())];
    let response = get(&with(Fault { body: Some(b"0123456789".to_vec()), headers, ..Fault::default() }));
    assert_eq!(response.body, b"A\r\n0123456789\r\n0\r\n\r\n");
}

#[test]
fn a_status_without_a_body_has_none() {
    for status in [204, 304] {
        let response = get(&with(Fault { status: Some(status), ..Fault::default() }));
        assert_eq!((response.status, response.body.len()), (status, 0));
    }
}

#[test]
fn a_delay_comes_before_the_true_answer() {
    let simulator = with(Fault { delay: 0.3, times: Some(1), ..Fault::default() });
    let start = Instant::now();
    assert_eq!(get(&simulator).status, 200);
    assert!((0.3..5.0).contains(&start.elapsed().as_secs_f64()), "{:?}", start.elapsed());
    let start = Instant::now();
    assert_eq!(get(&simulator).status, 200);
    assert!(start.elapsed().as_secs_f64() < 0.3, "{:?}", start.elapsed());
}

#[test]
fn a_cut_gives_exactly_so_many_bytes_of_the_true_body_and_then_the_end() {
    let simulator = small();
    let complete_body = get(&simulator).body;
    for bytes in [0, 1, 100, complete_body.len() - 1, complete_body.len(), complete_body.len() + 1] {
        simulator.faults().add(Fault { cut_at: Some(bytes), times: Some(1), ..Fault::default() }).unwrap();
        let response = get(&simulator);
        response.end.as_ref().unwrap();
        assert_eq!(response.status, 200);
        assert_eq!(
            response.header("content-length").unwrap(),
            complete_body.len().to_string(),
            "the header tells of the whole"
        );
        assert_eq!(response.body, complete_body[..bytes.min(complete_body.len())], "cut at {bytes}");
        assert_eq!(last_seen(&simulator).status, 200);
    }
}

#[test]
fn a_cut_by_reset_gives_the_bytes_and_then_a_reset() {
    let simulator = small();
    let complete_body = get(&simulator).body;
    for bytes in [0, 7, complete_body.len()] {
        let fault = Fault { cut_at: Some(bytes), reset: true, times: Some(1), ..Fault::default() };
        simulator.faults().add(fault).unwrap();
        let response = get(&simulator);
        assert_eq!(response.end.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        assert_eq!((response.status, response.body), (200, complete_body[..bytes].to_vec()));
    }
}

#[test]
fn a_reset_does_not_overtake_what_was_sent_before_it() {
    let (body, bytes) = (vec![b'x'; 5_000_000], 3_000_000);
    let simulator = with(Fault { body: Some(body), cut_at: Some(bytes), reset: true, ..Fault::default() });
    for _ in 0..5 {
        let response = get(&simulator);
        assert_eq!((response.body.len(), response.end.unwrap_err().kind()), (bytes, io::ErrorKind::ConnectionReset));
    }
}

#[test]
fn a_reset_comes_before_any_byte() {
    let simulator = with(Fault { reset: true, times: Some(1), ..Fault::default() });
    let response = get(&simulator);
    assert_eq!(response.end.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    assert_eq!((response.status, last_seen(&simulator).status), (0, 0));
    assert_eq!(get(&simulator).status, 200);
}

#[test]
fn a_fault_in_the_services_place_is_cut_too() {
    let body = vec![b'x'; 5_000_000];
    let simulator = with(Fault { status: Some(502), body: Some(body), cut_at: Some(4_321_987), ..Fault::default() });
    let response = get(&simulator);
    assert_eq!((response.status, response.body.len()), (502, 4_321_987));
    response.end.unwrap();
    simulator.faults().clear();
    simulator.faults().add(Fault { status: Some(503), cut_at: Some(10), ..Fault::default() }).unwrap();
    assert_eq!(get(&simulator).body, b"{\"status\":");
}

#[test]
fn only_the_matching_path_is_struck() {
    let simulator = with(Fault { path: "/v1/data/stats/*".into(), status: Some(500), ..Fault::default() });
    assert_eq!(get(&simulator).status, 200);
    assert_eq!(Sender::new(&simulator).get("/v1/data/stats/x/shots").status, 500);
}

#[test]
fn a_fault_strikes_an_unsigned_request_too() {
    let simulator = with(Fault { status: Some(502), ..Fault::default() });
    assert_eq!(raw(&simulator, "GET", "/", &[("Host", "x".into())]).status, 502);
}

#[test]
fn a_connection_goes_on_after_an_answer_and_ends_after_a_cut_one() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    let mut stream = TcpStream::connect(sender.host()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut send = || {
        let mut text = format!("GET {TEAMS} HTTP/1.1\r\n");
        for (name, value) in sender.headers("GET", TEAMS, SystemTime::now()) {
            text += &format!("{name}: {value}\r\n");
        }
        stream.write_all((text + "\r\n").as_bytes()).unwrap();
        let (mut bytes, mut chunk) = (Vec::new(), [0; 65536]);
        loop {
            let count = stream.read(&mut chunk).unwrap();
            bytes.extend_from_slice(&chunk[..count]);
            if count == 0 || bytes.ends_with(b"]}") {
                break (read_response(&bytes, Ok(())).status, count == 0);
            }
        }
    };
    assert_eq!([send(), send()], [(200, false), (200, false)]);
    // Also where the cut lies beyond the body.
    simulator.faults().add(Fault { cut_at: Some(1 << 40), ..Fault::default() }).unwrap();
    assert_eq!((send().0, stream.read(&mut [0; 1]).unwrap()), (200, 0));
}
