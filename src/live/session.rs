//! A stream over its connections: connects, listens, reconnects, and reports each loss, each failed attempt and each gap.
//! Two clocks: silence, after which a connection is lost, and quiet, after which a notice says that only heartbeats come.

use super::backoff::Backoff;
use super::buffer::{Buffer, State};
use super::item::{Item, Notice};
use super::options::Options;
use crate::error::Error;
use crate::machine;
use crate::scrub::Scrubbed;
use crate::transport::no_response;
use std::future::Future;
use std::iter::Peekable;
use std::time::{Duration, SystemTime};
use std::vec;
use tokio::time::{Instant, sleep, timeout};

/// How to connect. What a connection leaves for the next one (an event id, a sequence number) it keeps itself.
pub(super) trait Wire: Send {
    type Connection: Connection;
    /// Gives up when the service does not answer within the silence limit. The wait for a turn among the client's own requests
    /// is no silence of the service.
    fn connect(&mut self) -> impl Future<Output = Result<Self::Connection, Refusal>> + Send;
    /// The connection is over.
    fn lost(&mut self, connection: Self::Connection);
    /// Why the last connection does not resume where the one before it ended; said once.
    fn take_remark(&mut self) -> Option<Scrubbed> {
        None
    }
}

/// A connection that stands.
pub(super) trait Connection: Send {
    /// Waits for bytes and adds what they complete. Being dropped while it waits loses nothing that it had added.
    fn read(&mut self, into: &mut Vec<Item>) -> impl Future<Output = Result<Read, Lost>> + Send;
    /// For so long nothing may come before the connection does something of its own (a ping). A connection that has such a
    /// time is also read ahead of a full buffer, since pings come among the messages.
    fn idle_after(&self) -> Option<Duration> {
        None
    }
    /// Does that, without waiting for the service.
    fn idle(&mut self) -> impl Future<Output = ()> + Send {
        async {}
    }
    /// The wait that the service wishes for, before the next connection.
    fn retry(&self) -> Option<Duration> {
        None
    }
}

/// What was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Read {
    pub bytes: usize,
    /// Messages left out: an earlier connection had delivered them.
    pub repeats: usize,
}

/// Why a connection is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lost(pub Scrubbed);

/// Why there is no connection.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    pub reason: Scrubbed,
    /// Of an answer that is not what was asked for.
    pub status: Option<u16>,
    /// What ends the stream with this; `None`: it is tried again whatever the status.
    pub error: Option<Error>,
    /// What `Retry-After` asks for.
    pub wait: Option<Duration>,
    /// Whatever `give_up_on` says (a missing credential, a certificate that cannot be trusted).
    pub is_final: bool,
}

/// Bytes that are read ahead of a full buffer, so that pings among them are answered; one read may exceed it.
const READ_AHEAD: usize = 4 << 20;

/// Runs until the service is given up, and gives the error for it. Dropping the future ends the connection.
/// `chance` gives numbers in 0..1.
pub(super) async fn run<W: Wire>(
    mut wire: W,
    options: &Options,
    buffer: &Buffer,
    chance: impl Fn() -> f64 + Send,
) -> Error {
    let mut backoff = Backoff::new(options);
    let mut open_hole: Option<Hole> = None;
    loop {
        buffer.set_state(State::Connecting);
        let begun = machine::now();
        let wait = match wire.connect().await {
            Ok(mut connection) => {
                let at = machine::now();
                let remark = wire.take_remark();
                let hole = match (open_hole.take(), remark) {
                    (Some(hole), Some(remark)) => {
                        let reason = Scrubbed::local(format!("{}; {remark}", hole.reason));
                        Some(Hole { reason, ..hole })
                    }
                    (None, Some(reason)) => Some(Hole { start: begun, reason }),
                    (hole, None) => hole,
                };
                if let Some(Hole { start, reason }) = hole {
                    let (reason, end) = (reason.into(), Some(at));
                    buffer.push(Item::Notice(Notice::Gap { start, end, reason, dropped: None })).await;
                }
                buffer.set_state(State::Connected);
                buffer.push(Item::Notice(Notice::Connected { at })).await;
                let stood = Instant::now();
                let end = listen(&mut connection, options, buffer).await;
                backoff.ask(connection.retry());
                wire.lost(connection);
                let Lost(reason) = end.lost;
                open_hole = Some(Hole { start: end.last_byte, reason: reason.clone() });
                let wait = backoff.after_loss(stood.elapsed(), end.has_delivered, chance());
                report(buffer, reason, None, backoff.failed(), Some(wait)).await;
                wait
            }
            Err(refusal) => {
                let Refusal { reason, status, error, wait, is_final } = refusal;
                if let (None, Some(error @ (Error::Configuration(_) | Error::Argument(_)))) = (&open_hole, &error) {
                    // Nothing was sent, so nothing was lost: the first item is the error.
                    return error.clone();
                }
                let hole = open_hole.get_or_insert_with(|| Hole { start: begun, reason: reason.clone() });
                let ends = is_final || status.is_some_and(|status| options.give_up_on.contains(&status));
                if let Some(error) = error.filter(|_| ends) {
                    let Hole { start, reason: why } = hole.clone();
                    report(buffer, reason, status, backoff.failed() + 1, None).await;
                    let reason = why.into();
                    buffer.push(Item::Notice(Notice::Gap { start, end: None, reason, dropped: None })).await;
                    return error;
                }
                let own = backoff.after_failure(chance());
                let wait = wait.map_or(own, |asked| asked.clamp(own, options.max_wait.max(own)));
                report(buffer, reason, status, backoff.failed(), Some(wait)).await;
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
    reason: Scrubbed,
}

async fn report(buffer: &Buffer, reason: Scrubbed, status: Option<u16>, attempt: u32, wait: Option<Duration>) {
    let at = machine::now();
    let retry_at = wait.and_then(|wait| at.checked_add(wait));
    log::warn!(
        "live stream: {reason}{}",
        wait.map_or(String::new(), |w| format!("; again in {:.1} s", w.as_secs_f64()))
    );
    let reason = reason.into();
    buffer.push(Item::Notice(Notice::Disconnected { at, reason, status, attempt, retry_at })).await;
}

/// How a connection went.
struct End {
    lost: Lost,
    last_byte: SystemTime,
    has_delivered: bool,
}

/// Why `listen` goes on.
enum Event {
    Read(Result<Read, Lost>),
    HasRoom,
    TimedOut,
}

async fn listen<C: Connection>(connection: &mut C, options: &Options, buffer: &Buffer) -> End {
    let mut incoming = Vec::new();
    let mut ahead = Ahead::default();
    let mut has_delivered = false;
    let mut last_byte = machine::now();
    // What the reader of a full buffer keeps us waiting for is no silence of the service: the clocks run while it is read.
    let mut silent = Duration::ZERO;
    let mut since_idle = Duration::ZERO;
    let mut quiet = Quiet { since: machine::now(), lasted: Duration::ZERO, is_reported: false };
    let lost = loop {
        let room = buffer.room();
        ahead.give(buffer);
        let idle = connection.idle_after();
        let is_read = ahead.is_empty() || (idle.is_some() && ahead.bytes < READ_AHEAD);
        let until_idle = idle.map(|idle| idle.saturating_sub(since_idle));
        let begun = Instant::now();
        let event = if is_read {
            let left = options.silence_limit.saturating_sub(silent);
            let wait = [Some(left), quiet.left(options.quiet_after), until_idle].into_iter().flatten().min();
            tokio::select! {
                biased;
                read = timeout(wait.unwrap_or(left), connection.read(&mut incoming)) => read.map_or(Event::TimedOut, Event::Read),
                () = room, if !ahead.is_empty() => Event::HasRoom,
            }
        } else {
            match until_idle {
                None => {
                    room.await;
                    Event::HasRoom
                }
                Some(wait) => timeout(wait, room).await.map_or(Event::TimedOut, |()| Event::HasRoom),
            }
        };
        let took = begun.elapsed();
        since_idle += took;
        if is_read {
            (silent, quiet.lasted) = (silent + took, quiet.lasted + took);
        }
        let failed = match event {
            Event::Read(Ok(Read { bytes, repeats })) => {
                if bytes > 0 {
                    (silent, last_byte) = (Duration::ZERO, machine::now());
                    buffer.add_read(bytes, repeats);
                }
                None
            }
            Event::Read(Err(lost)) => Some(lost),
            Event::HasRoom | Event::TimedOut => None,
        };
        // What came before a connection broke has come.
        if incoming.iter().any(|item| matches!(item, Item::Update(_))) {
            has_delivered = true;
            quiet = Quiet { since: machine::now(), lasted: Duration::ZERO, is_reported: false };
        }
        ahead.extend(&mut incoming);
        if let Some(lost) = failed {
            break lost;
        }
        if silent >= options.silence_limit {
            break Lost(Scrubbed::local(format!("no byte for {} s", options.silence_limit.as_secs_f64())));
        }
        if quiet.left(options.quiet_after) == Some(Duration::ZERO) {
            quiet.is_reported = true;
            ahead.extend(&mut vec![Item::Notice(Notice::Quiet { since: quiet.since })]);
        }
        if idle.is_some_and(|idle| since_idle >= idle) {
            since_idle = Duration::ZERO;
            connection.idle().await;
        }
    };
    buffer.push_all(ahead.items()).await;
    End { lost, last_byte, has_delivered }
}

/// Items that were read and for which the buffer has no room yet.
#[derive(Default)]
struct Ahead {
    waiting: Option<Peekable<vec::IntoIter<Item>>>,
    /// After those.
    later: Vec<Item>,
    bytes: usize,
}

impl Ahead {
    fn is_empty(&self) -> bool {
        self.waiting.is_none() && self.later.is_empty()
    }

    fn extend(&mut self, items: &mut Vec<Item>) {
        self.bytes += items.iter().map(Item::size).sum::<usize>();
        self.later.append(items);
    }

    /// Puts as many as there is room for into the buffer.
    fn give(&mut self, buffer: &Buffer) {
        while !self.is_empty() {
            let waiting = self.waiting.get_or_insert_with(|| std::mem::take(&mut self.later).into_iter().peekable());
            if !buffer.try_push(waiting) {
                return;
            }
            self.waiting = None;
        }
        self.bytes = 0;
    }

    fn items(self) -> impl Iterator<Item = Item> + Send {
        self.waiting.into_iter().flatten().chain(self.later)
    }
}

/// The second clock.
struct Quiet {
    since: SystemTime,
    lasted: Duration,
    is_reported: bool,
}

impl Quiet {
    /// Until it is to be reported; `None`: it was.
    fn left(&self, after: Duration) -> Option<Duration> {
        (!self.is_reported).then(|| after.saturating_sub(self.lasted))
    }
}

impl Refusal {
    pub(super) fn silent(limit: Duration) -> Self {
        Refusal { reason: no_response(limit), status: None, error: None, wait: None, is_final: false }
    }
}

/// Whether a status can be a refusal of the position that was asked for, rather than of the caller, the pace or the time.
pub(super) fn refuses_position(status: Option<u16>) -> bool {
    matches!(status, Some(status @ 400..=499) if !matches!(status, 401 | 403 | 407 | 408 | 421 | 425 | 426 | 429))
}
