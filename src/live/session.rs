//! The session of a stream: connects, listens, reconnects, and reports each lost connection, failed attempt and gap.
//! It has two timers: silence ends a connection; quiet produces a notice that only heartbeats arrive.

use super::backoff::Backoff;
use super::buffer::{Buffer, ConnectionState};
use super::item::{Item, Notice};
use super::options::StreamOptions;
use crate::error::Error;
use crate::machine;
use crate::scrub::Scrubbed;
use crate::transport::{StreamOpenError, Transport};
use std::collections::VecDeque;
use std::future::{Future, pending};
use std::time::{Duration, SystemTime};
use tokio::time::{Instant, sleep, timeout};

/// Opens connections, and keeps what the next one needs from the last (an event id, sequence numbers).
pub(super) trait Connector: Send {
    type Connection: StreamConnection;
    /// A transport whose requests are reported as parts of one connection.
    fn transport(&self) -> Transport;
    /// Opens a connection; also returns why it does not resume where the previous one ended, if it does not. Fails if the
    /// service does not respond within the silence limit, which excludes the wait for the client's own limits.
    fn connect(
        &mut self,
        transport: &Transport,
    ) -> impl Future<Output = Result<(Self::Connection, Option<Scrubbed>), StreamOpenError>> + Send;
    /// Takes back a connection that has ended; returns the service's `retry:`, the wait before the next one.
    fn disconnected(&mut self, connection: Self::Connection) -> Option<Duration>;
}

/// An open connection.
pub(super) trait StreamConnection: Send {
    /// Waits for bytes and adds the items that they complete; fails with the reason when the connection ended. Cancel-safe: no
    /// item is lost if the future is dropped.
    fn read(&mut self, into: &mut Vec<Item>) -> impl Future<Output = Result<ReadCounts, Scrubbed>> + Send;
    /// Interval of `send_keepalive`. A connection that has one is read even while the buffer is full, because the service's
    /// pings arrive between the messages.
    fn keepalive_after(&self) -> Option<Duration> {
        None
    }
    /// Sends a ping, without waiting for the service.
    fn send_keepalive(&mut self) {}
}

/// What a read received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ReadCounts {
    pub bytes: usize,
    /// Messages left out because an earlier connection delivered them.
    pub repeats: usize,
}

/// Maximum of bytes read while the buffer is full, so that pings are answered; one read may exceed it.
const MAX_READ_AHEAD: usize = 4 << 20;

/// Runs until the stream fails for good, and returns the error. Dropping the future ends the connection.
pub(super) async fn run<C: Connector>(mut connector: C, options: &StreamOptions, buffer: &Buffer) -> Error {
    let mut backoff = Backoff::new(options);
    // The start and the reason of a gap: nothing has been received since.
    let mut open_gap: Option<(SystemTime, Scrubbed)> = None;
    // Consecutive connections without a byte.
    let mut silent_connections = 0_u32;
    loop {
        buffer.set_state(ConnectionState::Connecting);
        let (started_at, transport) = (machine::now(), connector.transport());
        let wait = match connector.connect(&transport).await {
            Ok((mut connection, resume_failure)) => {
                let at = machine::now();
                if let Some((start, reason)) = gap_before(open_gap.take(), resume_failure, started_at) {
                    buffer.push(Item::Notice(Notice::gap(start, Some(at), reason))).await;
                }
                buffer.set_state(ConnectionState::Connected);
                buffer.push(Item::Notice(Notice::Connected { at })).await;
                let connected_at = Instant::now();
                let end = listen(&mut connection, options, buffer).await;
                transport.trace.record_failure("disconnected", end.cause.clone());
                backoff.set_server_retry(connector.disconnected(connection));
                silent_connections = if end.has_bytes { 0 } else { silent_connections + 1 };
                let reason = end.reason(silent_connections);
                open_gap = Some((end.last_byte, reason.clone()));
                let wait = backoff.after_loss(connected_at.elapsed(), end.has_delivered, machine::chance());
                report(buffer, reason, None, backoff.failed_attempts, Some(wait)).await;
                wait
            }
            Err(failure) => {
                transport.trace.record_error(&failure.error);
                let (reason, is_final) = (failure.reason(), failure.is_final());
                let StreamOpenError { error, status, wait } = failure;
                if open_gap.is_none() && matches!(error, Error::Configuration(_) | Error::Argument(_)) {
                    // Nothing was sent, so there is no gap: the error is the first item.
                    return error;
                }
                let (start, cause) = open_gap.get_or_insert_with(|| (started_at, reason.clone()));
                if is_final || status.is_some_and(|status| options.give_up_on.contains(&status)) {
                    report(buffer, reason, status, backoff.failed_attempts + 1, None).await;
                    buffer.push(Item::Notice(Notice::gap(*start, None, cause.to_string()))).await;
                    return error;
                }
                let delay = backoff.after_failure(machine::chance());
                let wait = wait.map_or(delay, |wait| wait.clamp(delay, backoff.longest_requested().max(delay)));
                report(buffer, reason, status, backoff.failed_attempts, Some(wait)).await;
                wait
            }
        };
        drop(transport);
        buffer.set_state(ConnectionState::Waiting);
        sleep(wait).await;
    }
}

/// The gap that a new connection ends, with what is known of its position.
fn gap_before(
    open: Option<(SystemTime, Scrubbed)>,
    resume_failure: Option<Scrubbed>,
    since: SystemTime,
) -> Option<(SystemTime, String)> {
    match (open, resume_failure) {
        (Some((start, reason)), Some(failure)) => Some((start, format!("{reason}; {failure}"))),
        (None, Some(failure)) => Some((since, failure.into())),
        (open, None) => open.map(|(start, reason)| (start, reason.into())),
    }
}

async fn report(buffer: &Buffer, reason: Scrubbed, status: Option<u16>, attempt: u32, wait: Option<Duration>) {
    let at = machine::now();
    let retry_at = wait.and_then(|wait| at.checked_add(wait));
    let retry = wait.map_or(String::new(), |wait| format!("; again in {:.1} s", wait.as_secs_f64()));
    log::warn!("live stream: {reason}{retry}");
    let reason = reason.into();
    buffer.push(Item::Notice(Notice::Disconnected { at, reason, status, attempt, retry_at })).await;
}

/// Connections without a byte after which a hint is given.
const MIN_SILENT_CONNECTIONS: u32 = 2;
const BUFFERING: &str = ": a proxy on the way may hold back what the service sends; a higher silence_limit, or another way, shows whether it does";

/// How a connection ended.
struct ListenResult {
    cause: Scrubbed,
    last_byte: SystemTime,
    has_delivered: bool,
    has_bytes: bool,
    /// It ended because of the silence limit.
    is_silent: bool,
}

impl ListenResult {
    /// Why it ended, after so many connections without a byte.
    fn reason(&self, silent_connections: u32) -> Scrubbed {
        let reason = &self.cause;
        if self.is_silent && silent_connections >= MIN_SILENT_CONNECTIONS {
            return Scrubbed::local(format!("{reason}, on {silent_connections} connections in a row{BUFFERING}"));
        }
        reason.clone()
    }
}

async fn listen<C: StreamConnection>(connection: &mut C, options: &StreamOptions, buffer: &Buffer) -> ListenResult {
    let mut incoming = Vec::new();
    let mut ahead = ReadAhead::default();
    let (mut has_delivered, mut has_bytes, mut is_silent) = (false, false, false);
    let mut last_byte = machine::now();
    // Both timers run only while the connection is read: a slow reader is not a silent service.
    let mut silent = Duration::ZERO;
    let mut since_keepalive = Duration::ZERO;
    // The time of the last update, and how long the connection was read since; `None`: that is reported.
    let (mut quiet_since, mut quiet) = (machine::now(), Some(Duration::ZERO));
    let cause = loop {
        let free = buffer.room();
        ahead.fill(buffer);
        let keepalive = connection.keepalive_after();
        let is_read = ahead.items.is_empty() || (keepalive.is_some() && ahead.bytes < MAX_READ_AHEAD);
        let until_keepalive = keepalive.map(|interval| interval.saturating_sub(since_keepalive));
        let start = Instant::now();
        let until_silent = is_read.then(|| options.silence_limit.saturating_sub(silent));
        let until_quiet = quiet.filter(|_| is_read).map(|elapsed| options.quiet_after.saturating_sub(elapsed));
        let wait = [until_silent, until_quiet, until_keepalive].into_iter().flatten().min();
        let read = async { if is_read { connection.read(&mut incoming).await } else { pending().await } };
        let capacity = async { if ahead.items.is_empty() { pending().await } else { free.await } };
        let read = timeout(wait.unwrap_or(Duration::MAX), first(read, capacity)).await.ok().flatten();
        let elapsed = start.elapsed();
        since_keepalive += elapsed;
        if is_read {
            (silent, quiet) = (silent + elapsed, quiet.map(|time| time + elapsed));
        }
        if let Some(Ok(ReadCounts { bytes: bytes @ 1.., repeats })) = read {
            has_bytes = true;
            (silent, last_byte) = (Duration::ZERO, machine::now());
            buffer.count_read(bytes, repeats);
        }
        // Items that arrived before the connection broke count as delivered.
        if incoming.iter().any(|item| matches!(item, Item::Update(_))) {
            has_delivered = true;
            (quiet_since, quiet) = (machine::now(), Some(Duration::ZERO));
        }
        ahead.extend(incoming.drain(..));
        if let Some(Err(cause)) = read {
            break cause;
        }
        if silent >= options.silence_limit {
            is_silent = true;
            break Scrubbed::local(format!("no byte for {} s", options.silence_limit.as_secs_f64()));
        }
        if quiet.take_if(|elapsed| *elapsed >= options.quiet_after).is_some() {
            ahead.extend([Item::Notice(Notice::Quiet { since: quiet_since })]);
        }
        if keepalive.is_some_and(|interval| since_keepalive >= interval) {
            since_keepalive = Duration::ZERO;
            connection.send_keepalive();
        }
    };
    buffer.push_all(ahead.items).await;
    ListenResult { cause, last_byte, has_delivered, has_bytes, is_silent }
}

/// What is read, unless there is room before.
async fn first<T>(read: impl Future<Output = T>, capacity: impl Future<Output = ()>) -> Option<T> {
    tokio::select! {
        biased;
        read = read => Some(read),
        () = capacity => None,
    }
}

/// Items that were read while the buffer was full.
#[derive(Default)]
struct ReadAhead {
    items: VecDeque<Item>,
    bytes: usize,
}

impl ReadAhead {
    fn extend(&mut self, items: impl IntoIterator<Item = Item>) {
        self.items.extend(items.into_iter().inspect(|item| self.bytes += item.size()));
    }

    /// Moves as many items as fit into the buffer.
    fn fill(&mut self, buffer: &Buffer) {
        if buffer.try_push(&mut self.items) {
            self.items.clear();
            self.bytes = 0;
        }
    }
}

/// After this many refusals in a row that the position may have caused, connect without it.
pub(super) const MAX_REFUSALS: u32 = 2;

/// Whether a status may reject the requested position, rather than the caller, the request rate or the time.
pub(super) fn refuses_position(status: Option<u16>) -> bool {
    matches!(status, Some(status @ 400..=499) if !matches!(status, 401 | 403 | 407 | 408 | 421 | 425 | 426 | 429))
}
