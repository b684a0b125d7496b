//! Starting and stopping.

use super::*;
use crate::error::Error;
use std::net::TcpListener;
use std::time::Instant;

#[test]
fn a_port_that_is_taken_is_a_configuration_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let error = Simulator::start(SimulatorOptions { port, ..SimulatorOptions::default() }).unwrap_err();
    assert!(matches!(&error, Error::Configuration(text) if text.contains(&port.to_string())), "{error}");
}

#[test]
fn a_season_that_cannot_be_is_refused() {
    let base = SimulatorOptions::default;
    for options in [
        SimulatorOptions { teams: 1, ..base() },
        SimulatorOptions { teams: usize::MAX, ..base() },
        SimulatorOptions { games: usize::MAX, ..base() },
        SimulatorOptions { now: Some(i64::MIN), ..base() },
        SimulatorOptions { location_rate: 0, ..base() },
        SimulatorOptions { location_rate: 30, ..base() },
        SimulatorOptions { location_rate: 1000, ..base() },
        SimulatorOptions { now: Some(1_771_588_800), ..base() },
        SimulatorOptions { now: Some(i64::MAX), ..base() },
    ] {
        assert!(matches!(Simulator::start(options.clone()), Err(Error::Argument(_))), "{options:?}");
    }
}

#[test]
fn closing_ends_open_connections_and_frees_the_port() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    assert_eq!(sender.get("/v1/data/teams").status, 200);
    let port: u16 = simulator.base_url().rsplit(':').next().unwrap().parse().unwrap();
    let mut open = TcpStream::connect(("127.0.0.1", port)).unwrap();
    open.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    open.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let start = Instant::now();
    simulator.close();
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert!(matches!(open.read(&mut [0; 10]), Ok(0) | Err(_)));
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    simulator.close();
    let successor = start_at(port);
    assert_eq!(Sender::new(&successor).get("/v1/data/teams").status, 200);
}

#[test]
fn nothing_listens_any_more_when_closing_is_done() {
    for _ in 0..50 {
        let simulator = start(SimulatorOptions { games: 0, now: Some(NOW), ..SimulatorOptions::default() });
        let address = simulator.base_url().replace("http://", "");
        simulator.close();
        assert!(TcpStream::connect(address).is_err());
    }
}

fn start_at(port: u16) -> Simulator {
    start(SimulatorOptions { port, games: 4, now: Some(NOW), ..SimulatorOptions::default() })
}

#[test]
fn a_delayed_answer_does_not_hold_up_closing() {
    let simulator = small();
    simulator.faults().add(crate::Fault { delay: 60.0, ..Default::default() }).unwrap();
    let address = simulator.base_url().replace("http://", "");
    let mut open = TcpStream::connect(address).unwrap();
    open.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let start = Instant::now();
    drop(simulator);
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

#[test]
fn it_can_be_started_and_dropped_inside_another_runtime() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        drop(small());
        tokio::spawn(async { drop(small()) }).await.unwrap();
    });
}

#[test]
fn requests_are_noted_in_order_as_they_came() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    sender.get("/v1/data/schedule/games?from=1&location_id=a%40b&x=");
    sender.get("/v1/data/teams%2f");
    raw(&simulator, "PUT", "/x", &[("Host", "h".into()), ("B", "1".into()), ("A", "2".into())]);
    let seen = simulator.requests();
    let short: Vec<_> = seen.iter().map(|seen| (&seen.method[..], &seen.path[..], seen.status)).collect();
    assert_eq!(short, [("GET", "/v1/data/schedule/games", 200), ("GET", "/v1/data/teams%2f", 404), ("PUT", "/x", 404)]);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(seen[0].query, [pair("from", "1"), pair("location_id", "a@b"), pair("x", "")]);
    assert_eq!(seen[2].headers, [pair("host", "h"), pair("b", "1"), pair("a", "2"), pair("connection", "close")]);
}

#[test]
fn addresses_are_loopback_origins() {
    let simulator = small();
    let base = simulator.base_url();
    assert!(base.starts_with("http://127.0.0.1:"));
    assert_eq!((simulator.broadcast_base_url(), simulator.websocket_url()), (base.clone(), base.replace("http", "ws")));
}

#[test]
fn the_real_clock_places_the_season_around_today() {
    let simulator = start(SimulatorOptions { teams: 4, games: 20, ..SimulatorOptions::default() });
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as i64;
    let games = simulator.games();
    assert!(games[0].tipoff_at < now && games[games.len() - 1].tipoff_at > now);
}
