//! Addresses of each environment, credentials, limits and timeouts.

use crate::error::Result;
use std::time::Duration;

/// A text that no output ever shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Secret(text.into())
    }
    /// The text itself; for signing and sending only.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Environment {
    Production,
    Development,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sport {
    Basketball,
    Football,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timeouts {
    pub connect: Duration,
    pub read: Duration,
    pub total: Duration,
}

/// What a user gave; everything else is looked up when it is resolved.
#[derive(Debug, Clone, Default)]
pub struct Options {
    pub username: Option<String>,
    pub secret: Option<Secret>,
    pub api_key: Option<Secret>,
    pub environment: Option<String>,
    pub sport: Option<String>,
    pub base_url: Option<String>,
    pub websocket_url: Option<String>,
    pub broadcast_base_url: Option<String>,
    pub timeouts: Option<Timeouts>,
    pub max_retries: Option<u32>,
    pub max_concurrency: Option<usize>,
    pub requests_per_second: Option<f64>,
    pub proxy: Option<Secret>,
    pub ca_bundle: Option<String>,
    pub user_agent: Option<String>,
    pub allow_http: bool,
}

/// A client's settings, checked.
#[derive(Debug, Clone)]
pub struct Config {
    pub username: Option<String>,
    pub secret: Option<Secret>,
    pub api_key: Option<Secret>,
    pub environment: Environment,
    pub sport: Sport,
    /// Origins, without a path and without a slash at the end.
    pub base_url: String,
    pub websocket_url: String,
    pub broadcast_base_url: String,
    pub timeouts: Timeouts,
    pub max_retries: u32,
    pub max_concurrency: usize,
    pub requests_per_second: Option<f64>,
    pub proxy: Option<Secret>,
    pub ca_bundle: Option<String>,
    pub user_agent: String,
    pub allow_http: bool,
}

impl Options {
    /// Checks what was given and looks up the rest with `variable` (the environment, or a map in a test).
    pub fn resolve(self, _variable: &dyn Fn(&str) -> Option<String>) -> Result<Config> {
        unimplemented!()
    }
}
