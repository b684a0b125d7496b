//! Requests over HTTP: signed inside the retry loop, within a budget.

use crate::config::Config;
use crate::error::Result;
use crate::operation::Request;
use crate::table::Body;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// An answer of status 200 whose content is JSON.
#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Arc<Body>,
    /// Redacted.
    pub url: String,
    pub request_id: Option<String>,
    /// From the first attempt's start to the body's last byte.
    pub elapsed: Duration,
    pub fetched_at: SystemTime,
    pub attempts: u32,
}

/// Sends requests. Cheap to clone; clones share connections, budget and server clock.
#[derive(Debug, Clone)]
pub struct Transport {
    config: Arc<Config>,
}

impl Transport {
    /// Opens nothing. Must be called on a thread with the tokio runtime entered? No: it needs none.
    pub fn new(config: Config) -> Result<Self> {
        Ok(Transport { config: Arc::new(config) })
    }
    pub fn config(&self) -> &Config {
        &self.config
    }
    /// Sends a request until it is answered or given up.
    pub async fn send(&self, _request: &Request) -> Result<Response> {
        unimplemented!()
    }
    /// No request is sent any more; those in flight end with [`crate::error::Error::Closed`].
    pub fn close(&self) {
        unimplemented!()
    }
}
