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
pub use item::{Item, Notice, OVERFLOW, RESTARTED, Update};
pub use options::{Options, Overflow};
pub use replay::replay;
pub use spent::Spent;
pub use stream::{Filling, Source, Stream};
pub use token::subscription_token;
pub use websocket::Live;

use crate::error::{Error, Result};
use crate::operation::Request;
use crate::transport::Transport;
use std::sync::Arc;

/// The event stream behind a request of the Broadcast API.
pub fn event_stream(transport: Transport, request: Request, options: Options) -> Result<Stream> {
    let spent = Arc::<Spent>::default();
    let wire = event_stream::EventStream::new(transport.clone(), request, &options, spent.clone());
    Ok(over(transport, wire, options)?.reusing(spent))
}

/// The live websocket. Arguments are checked now; the token is asked for when the first item is.
pub fn websocket(transport: Transport, live: Live, options: Options) -> Result<Stream> {
    let wire = websocket::Websocket::new(transport.clone(), live, &options)?;
    over(transport, wire, options)
}

fn over<W: session::Wire + 'static>(transport: Transport, wire: W, options: Options) -> Result<Stream> {
    let (settings, scrubber) = (options.clone(), transport.scrubber().clone());
    let source = move |buffer: Arc<Buffer>| -> Filling {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = transport.closed() => Some(Error::Closed),
                error = session::run(wire, &settings, &buffer, crate::machine::chance) => Some(error),
            }
        })
    };
    Ok(Stream::new(&options, Box::new(source))?.scrubbed_by(scrubber))
}
