//! A stream over its connections: connects, listens, connects again, and tells each loss, each failed attempt and each hole.
//! Two clocks: silence, after which a connection is lost, and quiet, after which it is said that only heartbeats come.

use super::backoff::Backoff;
use super::buffer::{Buffer, State};
use super::item::{Item, Notice, Update};
use super::options::Options;
use crate::error::Error;
use crate::transport::no_answer;
use std::future::Future;
use std::time::{Duration, SystemTime};
use tokio::time::{Instant, sleep, timeout};

/// How to connect. What a connection leaves for the next one (an event id, a sequence number) it keeps itself.
pub(super) trait Wire: Send {
    type Connection: Connection;
    /// Gives up when the service does not answer within the silence limit. The wait for a turn among the client's own requests
    /// is no silence of the service.
    fn connect(&mut self) -> impl Future<Output = Result<Self::Connection, Refusal>> + Send;
    /// The connection is over.
    fn lost(&mut self, connection: Self::Connection);
}

/// A connection that stands.
pub(super) trait Connection: Send {
    /// Waits for bytes and adds what they complete. Being dropped while it waits loses nothing that it had added.
    fn read(&mut self, into: &mut Vec<Update>) -> impl Future<Output = Result<Read, Lost>> + Send;
    /// For so long nothing may come before the connection does something of its own (a ping).
    fn idle_after(&self) -> Option<Duration> {
        None
    }
    /// Does that.
    fn idle(&mut self) -> impl Future<Output = Result<(), Lost>> + Send {
        async { Ok(()) }
    }
    /// The wait that the service wishes for, before the next connection.
    fn retry(&self) -> Option<Duration> {
        None
    }
}

/// What came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Read {
    pub bytes: usize,
}

/// Why a connection is over.
#[derive(Debug, Clone)]
pub(super) enum Lost {
    /// It ended, by either side; another one is worth a try.
    Ended(String),
    /// No other would be better.
    Fatal(Error),
}

/// Why there is no connection.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    pub reason: String,
    /// Of an answer that is not what was asked for.
    pub status: Option<u16>,
    /// What ends the stream with this; `None`: it is tried again whatever the status.
    pub error: Option<Error>,
    /// What `Retry-After` asks for.
    pub wait: Option<Duration>,
    /// Whatever `give_up_on` says (a missing credential, a certificate that cannot be trusted).
    pub is_final: bool,
}

/// Runs until the service is given up, and gives the error for it. Dropping the future ends the connection.
/// `chance` gives numbers in 0..1.
pub(super) async fn run<W: Wire>(
    mut wire: W,
    options: &Options,
    buffer: &Buffer,
    chance: impl Fn() -> f64 + Send,
) -> Error {
    let mut backoff = Backoff::new(options);
    let mut hole: Option<Hole> = None;
    loop {
        buffer.set_state(State::Connecting);
        let begun = SystemTime::now();
        let wait = match wire.connect().await {
            Ok(mut connection) => {
                let at = SystemTime::now();
                if let Some(Hole { start, reason }) = hole.take() {
                    buffer.push(Item::Notice(Notice::Gap { start, end: Some(at), reason })).await;
                }
                buffer.set_state(State::Connected);
                buffer.push(Item::Notice(Notice::Connected { at })).await;
                let stood = Instant::now();
                let end = listen(&mut connection, options, buffer).await;
                backoff.asked(connection.retry());
                wire.lost(connection);
                let reason = match &end.lost {
                    Lost::Ended(reason) => reason.clone(),
                    Lost::Fatal(error) => error.to_string(),
                };
                hole = Some(Hole { start: end.last_byte, reason: reason.clone() });
                if let Lost::Fatal(error) = end.lost {
                    told(buffer, reason, None, 0, None).await;
                    return given_up(buffer, hole, error).await;
                }
                let wait = backoff.after_loss(stood.elapsed(), end.had_update, chance());
                told(buffer, reason, None, backoff.failed(), Some(wait)).await;
                wait
            }
            Err(refusal) => {
                let Refusal { reason, status, error, wait, is_final } = refusal;
                if let (None, Some(error @ (Error::Configuration(_) | Error::Argument(_)))) = (&hole, &error) {
                    // Nothing was sent, so nothing was lost: the first item is the error.
                    return error.clone();
                }
                let hole = hole.get_or_insert_with(|| Hole { start: begun, reason: reason.clone() });
                let ends = is_final || status.is_some_and(|status| options.give_up_on.contains(&status));
                if let Some(error) = error.filter(|_| ends) {
                    let hole = Some(hole.clone());
                    told(buffer, reason, status, backoff.failed() + 1, None).await;
                    return given_up(buffer, hole, error).await;
                }
                let own = backoff.after_failure(chance());
                let wait = wait.map_or(own, |asked| asked.clamp(own, options.max_wait.max(own)));
                told(buffer, reason, status, backoff.failed(), Some(wait)).await;
                wait
            }
        };
        buffer.set_state(State::Waiting);
        sleep(wait).await;
    }
}

/// What has not been received since.
#[derive(Debug, Clone)]
struct Hole {
    start: SystemTime,
    reason: String,
}

async fn told(buffer: &Buffer, reason: String, status: Option<u16>, attempt: u32, wait: Option<Duration>) {
    let at = SystemTime::now();
    let retry_at = wait.and_then(|wait| at.checked_add(wait));
    log::warn!(
        "live stream: {reason}{}",
        wait.map_or(String::new(), |w| format!("; again in {:.1} s", w.as_secs_f64()))
    );
    buffer.push(Item::Notice(Notice::Disconnected { at, reason, status, attempt, retry_at })).await;
}

async fn given_up(buffer: &Buffer, hole: Option<Hole>, error: Error) -> Error {
    if let Some(Hole { start, reason }) = hole {
        buffer.push(Item::Notice(Notice::Gap { start, end: None, reason })).await;
    }
    error
}

/// How a connection went.
struct End {
    lost: Lost,
    last_byte: SystemTime,
    had_update: bool,
}

async fn listen<C: Connection>(connection: &mut C, options: &Options, buffer: &Buffer) -> End {
    let mut updates = Vec::new();
    let mut had_update = false;
    let mut last_byte = SystemTime::now();
    // What the reader of a full buffer keeps us waiting for is no silence of the service: the clocks stand from read to read.
    let mut silent = Duration::ZERO;
    let mut since_idle = Duration::ZERO;
    let mut quiet = Quiet { since: SystemTime::now(), lasted: Duration::ZERO, told: false };
    let lost = loop {
        let left = options.silence_limit.saturating_sub(silent);
        let wait = [
            Some(left),
            quiet.left(options.quiet_after),
            connection.idle_after().map(|i| i.saturating_sub(since_idle)),
        ];
        let wait = wait.into_iter().flatten().min().unwrap_or(left);
        let begun = Instant::now();
        let read = timeout(wait, connection.read(&mut updates)).await;
        let took = begun.elapsed();
        (silent, since_idle, quiet.lasted) = (silent + took, since_idle + took, quiet.lasted + took);
        let failed = match read {
            Ok(Ok(Read { bytes })) => {
                if bytes > 0 {
                    (silent, last_byte) = (Duration::ZERO, SystemTime::now());
                    buffer.add_bytes(bytes);
                }
                None
            }
            Ok(Err(lost)) => Some(lost),
            Err(_) => None,
        };
        // What had come before a connection broke has come.
        if !updates.is_empty() {
            had_update = true;
            quiet = Quiet { since: SystemTime::now(), lasted: Duration::ZERO, told: false };
            buffer.push_all(updates.drain(..).map(Item::Update)).await;
        }
        if let Some(lost) = failed {
            break lost;
        }
        if silent >= options.silence_limit {
            break Lost::Ended(format!("no byte for {} s", options.silence_limit.as_secs_f64()));
        }
        if quiet.left(options.quiet_after) == Some(Duration::ZERO) {
            quiet.told = true;
            buffer.push(Item::Notice(Notice::Quiet { since: quiet.since })).await;
        }
        if connection.idle_after().is_some_and(|idle| since_idle >= idle) {
            since_idle = Duration::ZERO;
            if let Err(lost) = connection.idle().await {
                break lost;
            }
        }
    };
    End { lost, last_byte, had_update }
}

/// The second clock.
struct Quiet {
    since: SystemTime,
    lasted: Duration,
    told: bool,
}

impl Quiet {
    /// Until it is to be told; `None`: it was.
    fn left(&self, after: Duration) -> Option<Duration> {
        (!self.told).then(|| after.saturating_sub(self.lasted))
    }
}

impl Refusal {
    pub(super) fn silent(limit: Duration) -> Self {
        Refusal { reason: no_answer(limit), status: None, error: None, wait: None, is_final: false }
    }
}
