//! The behaviour of streams: heartbeats and injected faults.

use crate::error::{Error, Result};
use crate::faults::matches;
use crate::service::lock;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// A fault in an open stream. (Refusing a stream, or cutting it at a byte, is a [`super::super::Fault`].)
#[derive(Debug, Clone, PartialEq)]
pub enum StreamFaultKind {
    /// Nothing more arrives, for some seconds or forever, except heartbeats (on the websocket: pongs) if they continue.
    /// Without them the connection is half open: no FIN, and what the client sends is ignored.
    Stall { heartbeats: bool, seconds: Option<f64> },
    /// Bytes between two events, below the framing.
    Bytes(Vec<u8>),
    /// Maximum bytes per second, from the start.
    Slow { bytes_per_second: u32 },
}

#[derive(Debug, Clone, PartialEq)]
pub struct StreamFault {
    /// A glob over the path: `*` matches any run of characters.
    pub path: String,
    pub kind: StreamFaultKind,
    /// Applies after this many events on the connection.
    pub after: usize,
    /// Number of connections it applies to; `None`: all.
    pub times: Option<u32>,
}

impl StreamFault {
    fn check(&self) -> Result<()> {
        let invalid = |message: String| Err(Error::Argument(message));
        match self.kind {
            StreamFaultKind::Stall { seconds: Some(seconds), .. } if Duration::try_from_secs_f64(seconds).is_err() => {
                invalid(format!("seconds must be a number from 0 up, not {seconds}"))
            }
            StreamFaultKind::Slow { bytes_per_second: 0 } => invalid("bytes_per_second must be at least 1".to_owned()),
            _ => Ok(()),
        }
    }
}

/// The streams of a simulator. Clones share the state.
#[derive(Debug, Clone)]
pub struct Streams(Arc<StreamState>);

#[derive(Debug)]
struct StreamState {
    settings: Mutex<StreamSettings>,
    /// Whether by a reset.
    cuts: watch::Sender<bool>,
}

#[derive(Debug)]
struct StreamSettings {
    heartbeat: Duration,
    with_ids: bool,
    /// In the order added, with the number of applications.
    faults: Vec<(StreamFault, u32)>,
}

impl Default for Streams {
    fn default() -> Self {
        let settings = StreamSettings { heartbeat: Duration::from_secs(10), with_ids: false, faults: Vec::new() };
        Streams(Arc::new(StreamState { settings: Mutex::new(settings), cuts: watch::Sender::default() }))
    }
}

impl Streams {
    /// Seconds of silence before an event stream sends a heartbeat; 10 by default.
    pub fn heartbeat(&self) -> f64 {
        lock(&self.0.settings).heartbeat.as_secs_f64()
    }
    pub fn set_heartbeat(&self, seconds: f64) -> Result<()> {
        match Duration::try_from_secs_f64(seconds) {
            Ok(heartbeat) if !heartbeat.is_zero() => {
                lock(&self.0.settings).heartbeat = heartbeat;
                Ok(())
            }
            _ => Err(Error::Argument(format!("a heartbeat is a positive number of seconds, not {seconds}"))),
        }
    }
    /// Whether events of the event stream have ids, by which a client resumes. The service's have none.
    pub fn with_ids(&self) -> bool {
        lock(&self.0.settings).with_ids
    }
    pub fn set_with_ids(&self, with_ids: bool) {
        lock(&self.0.settings).with_ids = with_ids;
    }
    /// Adds a fault; earlier ones take precedence.
    pub fn add(&self, fault: StreamFault) -> Result<()> {
        fault.check()?;
        lock(&self.0.settings).faults.push((fault, 0));
        Ok(())
    }
    pub fn clear(&self) {
        lock(&self.0.settings).faults.clear();
    }
    /// The positions of the faults that no stream met, in the order added.
    pub fn unused(&self) -> Vec<usize> {
        let faults = &lock(&self.0.settings).faults;
        faults.iter().enumerate().filter(|(_, (_, uses))| *uses == 0).map(|(place, _)| place).collect()
    }
    /// Ends the connections of all open streams, by FIN or RST.
    pub fn cut(&self, reset: bool) {
        self.0.cuts.send_replace(reset);
    }

    /// The first fault that applies to a stream at `path`.
    pub(super) fn take_fault(&self, path: &str) -> Option<StreamFault> {
        let settings = &mut *lock(&self.0.settings);
        let (fault, uses) = settings
            .faults
            .iter_mut()
            .find(|(fault, uses)| fault.times.is_none_or(|times| *uses < times) && matches(&fault.path, path))?;
        *uses += 1;
        Some(fault.clone())
    }
    pub(crate) fn silence(&self) -> Duration {
        lock(&self.0.settings).heartbeat
    }
    pub(crate) fn cuts(&self) -> watch::Receiver<bool> {
        self.0.cuts.subscribe()
    }
}

/// A fault applied to one stream, and its progress.
#[derive(Debug)]
pub(super) struct ActiveFault {
    fault: Option<StreamFault>,
    /// When a stall ends.
    until: Option<Instant>,
}

/// The next action of a stream.
pub(super) enum StreamAction {
    Events,
    /// Wait until then; `None`: forever.
    Stall {
        heartbeats: bool,
        until: Option<Instant>,
    },
    Bytes(Vec<u8>),
}

impl ActiveFault {
    pub(super) fn new(fault: Option<StreamFault>) -> Self {
        ActiveFault { fault, until: None }
    }
    /// Called with the number of events sent.
    pub(super) fn next(&mut self, events: usize) -> StreamAction {
        let Some(fault) = self.fault.as_ref().filter(|fault| events >= fault.after) else {
            return StreamAction::Events;
        };
        match &fault.kind {
            StreamFaultKind::Slow { .. } => StreamAction::Events,
            StreamFaultKind::Bytes(bytes) => {
                let bytes = bytes.clone();
                self.fault = None;
                StreamAction::Bytes(bytes)
            }
            StreamFaultKind::Stall { heartbeats, seconds: None } => {
                StreamAction::Stall { heartbeats: *heartbeats, until: None }
            }
            StreamFaultKind::Stall { heartbeats, seconds: Some(seconds) } => {
                let (heartbeats, length) = (*heartbeats, Duration::try_from_secs_f64(*seconds).unwrap_or_default());
                let until = *self.until.get_or_insert_with(|| Instant::now() + length);
                if until <= Instant::now() {
                    self.fault = None;
                    return StreamAction::Events;
                }
                StreamAction::Stall { heartbeats, until: Some(until) }
            }
        }
    }
    /// Number of events to send before the fault applies.
    pub(super) fn may_send(&self, events: usize) -> usize {
        match &self.fault {
            Some(StreamFault { kind: StreamFaultKind::Slow { .. }, .. }) | None => usize::MAX,
            Some(fault) => fault.after.saturating_sub(events),
        }
    }
}

/// `None`: never.
pub(super) async fn sleep_until(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}
