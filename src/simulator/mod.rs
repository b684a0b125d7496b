//! The service itself, on loopback.

mod faults;
pub mod season;

pub use faults::{Fault, Faults};

use crate::config::Sport;
use crate::error::Result;
use crate::resource::{schedule::ScheduledGame, team::Team};

#[derive(Debug, Clone)]
pub struct Options {
    pub seed: u64,
    pub sport: Sport,
    pub teams: usize,
    pub games: usize,
    /// The season's clock in epoch milliseconds: frozen when given, else the real one.
    pub now: Option<i64>,
    /// 0: any free one.
    pub port: u16,
}

impl Default for Options {
    fn default() -> Self {
        Options { seed: 0, sport: Sport::Basketball, teams: 16, games: 240, now: None, port: 0 }
    }
}

/// One request that the simulator answered (or cut), as it came in.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: String,
    /// Without the query.
    pub path: String,
    /// Decoded, in order.
    pub query: Vec<(String, String)>,
    /// Names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// 0 where the connection was cut before a status.
    pub status: u16,
}

/// A credential's privileges. Everything is allowed unless it is taken away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Privileges {
    pub stats: bool,
    pub shots: bool,
    /// Teams whose roster (and other team resources) this credential may not read.
    pub restricted_teams: Vec<i64>,
}

/// A running simulator. It stops when it is closed or dropped.
#[derive(Debug)]
pub struct Simulator {}

impl Simulator {
    /// Listens on 127.0.0.1, on a runtime and threads of its own.
    pub fn start(_options: Options) -> Result<Self> {
        unimplemented!()
    }
    pub fn base_url(&self) -> String {
        unimplemented!()
    }
    pub fn websocket_url(&self) -> String {
        unimplemented!()
    }
    pub fn broadcast_base_url(&self) -> String {
        unimplemented!()
    }
    pub fn username(&self) -> String {
        unimplemented!()
    }
    pub fn secret(&self) -> String {
        unimplemented!()
    }
    pub fn api_key(&self) -> String {
        unimplemented!()
    }
    pub fn teams(&self) -> Vec<Team> {
        unimplemented!()
    }
    pub fn games(&self) -> Vec<ScheduledGame> {
        unimplemented!()
    }
    pub fn requests(&self) -> Vec<Seen> {
        unimplemented!()
    }
    pub fn faults(&self) -> &Faults {
        unimplemented!()
    }
    pub fn add_credentials(&self, _username: &str, _secret: &str, _privileges: Privileges) -> Result<()> {
        unimplemented!()
    }
    pub fn close(&self) {
        unimplemented!()
    }
}
