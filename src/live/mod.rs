//! Live data: the Broadcast API's event stream and the live websocket (specification 6; facts 3.3, 4, 5).
//!
//! | file | what lives there |
//! |---|---|
//! | `sse` | event-stream framing: bytes to events, pure |
//! | `item` | updates and notices |
//! | `options`, `backoff` | what can be set; when to connect again: pure |
//! | `frames` | websocket framing: pure |
//! | `session` | a stream over its connections: two clocks, gaps |
//! | `event_stream` | the Broadcast API's event stream as a wire |
//! | `websocket` | the live websocket as a wire |
//! | `token`, `peer` | its token; its heartbeats and closes |
//! | `seq`, `sequence`, `runs` | where a message has its number; what numbers are believed: pure |
//! | `recovery` | gaps that the service closes |
//! | `buffer`, `queue` | what was read and not yet taken |
//! | `sync`, `model` | where threads meet: the locks of the buffer, and its model under shuttle |
//! | `spent` | texts to be used again |
//! | `stream` | a stream as its reader holds it |
//! | `journal`, `replay` | a stream on disk, and as a stream again |
//! | `table` | items as Arrow tables |
//! | `box_score` | the current box score, kept from updates |

mod backoff;
mod box_score;
mod buffer;
#[cfg(test)]
mod buffer_tests;
mod event_stream;
pub mod frames;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod item;
// Its thread writes to a disk, in real time.
#[allow(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod journal;
#[cfg(test)]
mod model;
mod options;
mod peer;
mod queue;
mod recovery;
mod replay;
mod runs;
pub mod seq;
pub mod sequence;
mod session;
mod spent;
pub mod sse;
mod stream;
mod sync;
pub mod table;
mod token;
mod websocket;

pub use box_score::BoxScore;
pub use buffer::{Buffer, Counts, State, Taken};
pub use item::{Item, NOT_RECOVERED, Notice, OVERFLOW, RESTARTED, Update};
pub use options::{Options, Overflow};
pub use replay::replay;
pub use spent::Spent;
pub use stream::{Filling, Source, Stream};
pub use token::subscription_token;
pub use websocket::Live;

use crate::error::{Error, Result};
use crate::operation::{self, Arguments, Request, Value};
use crate::transport::Transport;
use recovery::{Recovery, Updates};
use std::sync::Arc;

/// Where a recovered state of a game is from.
const CATCH_UP: &str = "catch_up";
/// The source whose messages need a resource of their own.
const SHOTS: &str = "shots";

/// The event stream behind a request of the Broadcast API.
pub fn event_stream(transport: Transport, request: Request, options: Options) -> Result<Stream> {
    let spent = Arc::<Spent>::default();
    let recovery = options.recover.map(|pause| {
        let snapshot = operation::snapshot_of(&request);
        Recovery::new(transport.clone(), snapshot, None, Updates::Snapshots, pause)
    });
    let wire = event_stream::EventStream::new(transport.clone(), request, &options, spent.clone());
    Ok(over(transport, wire, options, recovery)?.reusing(spent))
}

/// The live websocket. Arguments are checked now; the token is asked for when the first item is.
pub fn websocket(transport: Transport, live: Live, options: Options) -> Result<Stream> {
    let state = catch_up(&live, &transport)?;
    let wire = websocket::Websocket::new(transport.clone(), live, &options)?;
    let recovery = options
        .recover
        .zip(state)
        .map(|(pause, request)| Recovery::new(transport.clone(), request, Some(CATCH_UP), Updates::Changes, pause));
    over(transport, wire, options, recovery)
}

/// The request for the state of a game; without its id there is none. What is not needed is not asked for: access to shots is
/// a privilege of its own.
fn catch_up(live: &Live, transport: &Transport) -> Result<Option<Request>> {
    let Some(game) = &live.game_id else { return Ok(None) };
    let shots = live.sources.iter().any(|source| source == SHOTS).then_some(SHOTS);
    let parts = ["stats", "details"].into_iter().chain(shots);
    let mut arguments: Arguments = vec![("game_id".into(), Value::Text(game.clone()))];
    arguments.extend(parts.map(|part| ("resources".into(), Value::Text(part.into()))));
    Ok(operation::call(CATCH_UP, &arguments, transport.config())?.requests.pop())
}

fn over<W: session::Wire + 'static>(
    transport: Transport,
    wire: W,
    options: Options,
    recovery: Option<Recovery>,
) -> Result<Stream> {
    let (settings, scrubber) = (options.clone(), transport.scrubber().clone());
    let recovery = recovery.map(Arc::new);
    let recovering = recovery.clone();
    let source = move |buffer: Arc<Buffer>| -> Filling {
        Box::pin(async move {
            let recover = async {
                match &recovering {
                    Some(recovery) => recovery.run(&buffer).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = transport.closed() => Some(Error::Closed),
                never = recover => match never {},
                error = session::run(wire, &settings, &buffer, crate::machine::chance) => Some(error),
            }
        })
    };
    Ok(Stream::new(&options, Box::new(source))?.scrubbed_by(scrubber).recovered_by(recovery))
}
