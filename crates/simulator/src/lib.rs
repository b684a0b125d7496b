//! The simulator: the whole service on loopback. It shares no code with the client, so that both never make the same mistake.
//!
//! | module | content |
//! |---|---|
//! | `connection` | sockets that fail at an exact byte |
//! | `service` | from a request to a response |
//! | `fault` | an injected fault: its options and effects |
//! | `faults`, `throttle` | which fault applies to a request |
//! | `raw_response` | responses as bytes, valid or not |
//! | `auth` | signatures and keys |
//! | `call` | a request as the endpoints see it |
//! | `rest`, `schedule`, `game_resources` | the signed endpoints |
//! | `broadcast` | the endpoints with an API key |
//! | `live` | event stream, websocket, games being played |
//! | `rules` | the rules of time ranges |
//! | `response` | bodies and errors |
//! | `random` | the service's own randomness |
//! | `recording` | a capture, served instead of a season |
//! | `request_log` | the requests received |
//! | `season` | the games and teams |
//! | `model` | the bodies of the service |
//! | `sport`, `secret`, `error` | small types of the whole crate |

// It runs in real time, on threads of its own.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod auth;
mod broadcast;
mod call;
mod connection;
mod error;
mod fault;
mod faults;
mod game_resources;
mod live;
mod model;
mod random;
mod raw_response;
mod recording;
mod request_log;
mod response;
mod rest;
mod rules;
mod schedule;
mod season;
mod secret;
mod service;
mod sport;
#[cfg(test)]
mod tests;
mod throttle;

pub use error::{Error, Result};
pub use fault::{Fault, Gzip, Words};
pub use faults::Faults;
pub use live::{StreamFault, StreamFaultKind, Streams, TokenStore};
pub use recording::{RecordedResponse, RecordedStream, Recording};
pub use sport::Sport;

use auth::StoredCredential;
use connection::{CutSwitch, Loopback};
use random::{Purpose, SimRandom};
use season::{Season, Sensors};
use secret::Secret;
use service::{Service, lock, real_now};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Runtime;

#[derive(Debug, Clone)]
pub struct SimulatorOptions {
    pub seed: u64,
    pub sport: Sport,
    pub teams: usize,
    pub games: usize,
    /// The season's clock in epoch milliseconds: frozen if set, else the real one.
    pub now: Option<i64>,
    /// 0: any free port.
    pub port: u16,
    /// Time steps of locations per second.
    pub location_rate: u32,
    /// Standard deviation of each coordinate, in metres.
    pub noise_m: f64,
    /// Share of locations that are missing.
    pub dropout: f64,
    /// Seconds by which positions lag behind the events.
    pub clock_offset_s: f64,
    /// Share of shots whose named defender is not the nearest opponent.
    pub wrong_defenders: f64,
    /// Whether substitutes have locations too.
    pub bench_tags: bool,
    /// Served instead of a season.
    pub recording: Option<Recording>,
}

impl Default for SimulatorOptions {
    fn default() -> Self {
        SimulatorOptions {
            seed: 0,
            sport: Sport::Basketball,
            teams: 16,
            games: 240,
            now: None,
            port: 0,
            location_rate: 2,
            noise_m: 0.0,
            dropout: 0.0,
            clock_offset_s: 0.0,
            wrong_defenders: 0.0,
            bench_tags: false,
            recording: None,
        }
    }
}

impl SimulatorOptions {
    fn sensors(&self) -> Sensors {
        Sensors {
            step: i64::from(1000 / self.location_rate),
            noise: (self.noise_m * 1000.0).round() as i64,
            dropout: (self.dropout * 1000.0).round() as i64,
            lag: (self.clock_offset_s * 1000.0).round() as i64,
            wrong_defenders: (self.wrong_defenders * 1000.0).round() as i64,
            bench: self.bench_tags,
        }
    }

    /// Larger seasons would take gigabytes or leave the range of the service's times.
    fn check(&self) -> Result<()> {
        let invalid = |message: String| Err(Error::Argument(message));
        if !(2..=MAX_TEAMS).contains(&self.teams) {
            return invalid(format!("a season has from 2 to {MAX_TEAMS} teams, not {}", self.teams));
        }
        if self.games > MAX_GAMES {
            return invalid(format!("a season has at most {MAX_GAMES} games, not {}", self.games));
        }
        if !(1..=MAX_RATE).contains(&self.location_rate) || 1000 % self.location_rate != 0 {
            return invalid(format!(
                "location_rate is a number of frames a second whose steps last whole milliseconds (2, 10, 20, 25, ..), \
                 at most {MAX_RATE}, not {}",
                self.location_rate
            ));
        }
        for (name, value, range, kind) in [
            ("noise_m", self.noise_m, 0.0..=2.0, "a standard deviation from 0 to 2 m"),
            ("dropout", self.dropout, 0.0..=1.0, "a share from 0 to 1"),
            ("clock_offset_s", self.clock_offset_s, -60.0..=60.0, "a time from -60 to 60 s"),
            ("wrong_defenders", self.wrong_defenders, 0.0..=1.0, "a share from 0 to 1"),
        ] {
            if !range.contains(&value) {
                return invalid(format!("{name} is {kind}, not {value}"));
            }
        }
        match self.now {
            Some(now) if !(EARLIEST..LATEST).contains(&now) => {
                invalid(format!("now is in epoch milliseconds, from 2000 to 2199; {now} is not"))
            }
            _ => Ok(()),
        }
    }
}

const MAX_TEAMS: usize = 10_000;
const MAX_GAMES: usize = 1_000_000;
const MAX_RATE: u32 = 50;
/// The years 2000 and 2200.
const EARLIEST: i64 = 946_684_800_000;
const LATEST: i64 = 7_258_118_400_000;

/// One request that got a response or was cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub method: String,
    /// Without the query.
    pub path: String,
    /// Decoded, in order.
    pub query: Vec<(String, String)>,
    /// Names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// 0 if the connection was cut before a status.
    pub status: u16,
}

/// A credential's privileges; all by default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Privileges {
    pub stats: bool,
    pub shots: bool,
    /// Teams whose roster (and other team resources) this credential may not read.
    pub restricted_teams: Vec<i64>,
}

impl Default for Privileges {
    fn default() -> Self {
        Privileges { stats: true, shots: true, restricted_teams: Vec::new() }
    }
}

/// A running simulator. It stops when closed or dropped.
pub struct Simulator {
    service: Arc<Service>,
    port: u16,
    username: String,
    secret: Secret,
    running: Mutex<Option<Running>>,
}

/// The threads that serve.
struct Running {
    runtime: Runtime,
    /// The process of the threads: a fork inherits the simulator without them.
    process: u32,
}

/// How long closing waits for a game being played.
const MAX_CLOSE_WAIT: Duration = Duration::from_secs(2);

impl Simulator {
    /// Listens on 127.0.0.1, with a runtime and threads of its own.
    pub fn start(options: SimulatorOptions) -> Result<Self> {
        options.check()?;
        let sensors = options.sensors();
        let SimulatorOptions { seed, sport, teams, games, now, port, recording, .. } = options;
        let listen_error = |error: std::io::Error| {
            Error::Configuration(format!("the simulator cannot listen on 127.0.0.1:{port}: {error}"))
        };
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(listen_error)?;
        socket.set_nonblocking(true).map_err(listen_error)?;
        let port = socket.local_addr().map_err(listen_error)?.port();

        let mut random = SimRandom::new(seed, Purpose::StoredCredentials);
        let username = format!("sim-{seed}");
        let secret = Secret::new(random.text(40));
        let service = Arc::new(Service {
            season: Season::new(seed, sport, teams, games, now.unwrap_or_else(real_now)).sensed_by(sensors),
            frozen_at: now,
            faults: Faults::new(SimRandom::new(seed, Purpose::Faults)),
            credentials: Mutex::default(),
            api_key: Secret::new(random.text(32)),
            seen: Mutex::default(),
            ids: Mutex::new(SimRandom::new(seed, Purpose::RequestIds)),
            bodies: Mutex::default(),
            live: live::LiveService::default(),
            recording,
        });
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(4)
            .thread_name("sideline-simulator")
            .enable_all()
            .build()
            .map_err(|error| Error::Configuration(format!("the simulator's threads cannot start: {error}")))?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(socket).map_err(listen_error)?
        };
        let router = axum::Router::new().fallback(service::serve).with_state(service.clone());
        let serving = axum::serve(Loopback(listener), router.into_make_service_with_connect_info::<CutSwitch>());
        runtime.spawn(async move {
            // It ends with the runtime, and never by itself.
            let _ = serving.await;
        });
        let running = Running { runtime, process: std::process::id() };
        let simulator = Simulator { service, port, username, secret, running: Mutex::new(Some(running)) };
        simulator.add_credentials(&simulator.username, simulator.secret.expose(), Privileges::default())?;
        Ok(simulator)
    }
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
    pub fn websocket_url(&self) -> String {
        format!("ws://127.0.0.1:{}", self.port)
    }
    pub fn broadcast_base_url(&self) -> String {
        self.base_url()
    }
    pub fn username(&self) -> String {
        self.username.clone()
    }
    pub fn secret(&self) -> String {
        self.secret.expose().to_owned()
    }
    pub fn api_key(&self) -> String {
        self.service.api_key.expose().to_owned()
    }
    /// The teams, as the service sends them: a JSON array.
    pub fn teams_json(&self) -> serde_json::Result<Vec<u8>> {
        match &self.service.recording {
            Some(recording) => serde_json::to_vec(&recording.objects("/v1/data/teams", "teams", "id")),
            None => serde_json::to_vec(self.service.season.teams()),
        }
    }
    /// The games, as the service sends them: a JSON array.
    pub fn games_json(&self) -> serde_json::Result<Vec<u8>> {
        match &self.service.recording {
            Some(recording) => {
                let mut games = recording.objects("/v1/data/schedule/games", "games", "event_id");
                games.sort_by_key(|game| game["tipoff_at"].as_i64());
                serde_json::to_vec(&games)
            }
            None => serde_json::to_vec(self.service.season.games()),
        }
    }
    /// The latest requests, in order of arrival.
    pub fn requests(&self) -> Vec<Seen> {
        lock(&self.service.seen).requests()
    }
    pub fn faults(&self) -> &Faults {
        &self.service.faults
    }
    /// The behaviour of streams.
    pub fn streams(&self) -> &Streams {
        &self.service.live.streams
    }
    /// The tokens issued for websockets.
    pub fn tokens(&self) -> &TokenStore {
        &self.service.live.tokens
    }
    /// Plays a game from its tip-off, or from where it is, at a speed (1: real time); `None` or infinity: as fast as
    /// the readers of its streams take it. Returns at once. All resources of the game follow its clock.
    pub fn play(&self, game_id: &str, speed: Option<f64>) -> Result<()> {
        let speed = speed.filter(|speed| *speed != f64::INFINITY);
        if let Some(speed) = speed
            && (speed.is_nan() || speed <= 0.0)
        {
            return Err(Error::Argument(format!("speed must be more than 0, not {speed}")));
        }
        let game = self.game(game_id)?;
        let running = lock(&self.running);
        let Some(running) = running.as_ref() else {
            return Err(Error::Argument("the simulator is closed".into()));
        };
        live::play(&self.service, game, speed, running.runtime.handle())
            .map_err(|reason| Error::Argument(format!("{game_id} cannot be played: {reason}")))
    }
    /// Changes a player's line, and so the team's, by `delta` after the fact.
    pub fn correct(&self, game_id: &str, player_id: i64, stat: &str, delta: i64) -> Result<()> {
        self.service.correct(self.game(game_id)?, player_id, stat, delta).map_err(Error::Argument)
    }
    fn game(&self, id: &str) -> Result<usize> {
        self.service.season.game_index(id).ok_or_else(|| Error::Argument(format!("{id:?} is no game of this season")))
    }
    /// Adds or replaces a credential.
    pub fn add_credentials(&self, username: &str, secret: &str, privileges: Privileges) -> Result<()> {
        if username.is_empty() || username.contains(char::is_control) {
            return Err(Error::Argument("a username must be some text without control characters".into()));
        }
        let credential = StoredCredential { secret: Secret::new(secret), privileges };
        lock(&self.service.credentials).insert(username.to_owned(), credential);
        Ok(())
    }
    /// Stops: on return the port is free and every connection closed. May be called again.
    pub fn close(&self) {
        let Some(Running { runtime, process }) = lock(&self.running).take() else { return };
        if process != std::process::id() {
            // In a fork the threads do not exist, and the sockets are the parent's to close.
            std::mem::forget(runtime);
            return;
        }
        // Waiting would panic on a thread of another runtime, so a new thread waits.
        let stop = std::thread::Builder::new().spawn(move || runtime.shutdown_timeout(MAX_CLOSE_WAIT));
        if let Ok(stop) = stop {
            let _ = stop.join();
        }
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.close();
    }
}

impl std::fmt::Debug for Simulator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Simulator").field("base_url", &self.base_url()).finish_non_exhaustive()
    }
}
