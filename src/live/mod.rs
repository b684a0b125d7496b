//! Live data: the Broadcast API's event stream and the live websocket (docs/wire.md).
//!
//! | file | content |
//! |---|---|
//! | `sse` | event-stream framing: bytes to events; pure |
//! | `item` | updates and notices |
//! | `options`, `backoff` | options of a stream; delays before reconnecting; pure |
//! | `frames` | websocket framing; pure |
//! | `session` | connect, listen, reconnect: silence and quiet timers, gaps |
//! | `event_stream` | connector of the Broadcast API's event stream |
//! | `websocket` | connector of the live websocket |
//! | `token`, `heartbeat`, `close_code` | the websocket's token, text heartbeats and close codes |
//! | `envelope`, `sequence`, `interval_set` | a message's number and source; repeats and resume position; pure |
//! | `recovery` | closes gaps, beside the stream |
//! | `open_gaps` | when to request the state of the game, and which gaps it closes; pure |
//! | `game_state` | requests the state of a game, by `catch_up` or by its sessions |
//! | `session_sum` | the sum of the box scores of sessions; pure |
//! | `buffer`, `queue` | items received and not yet taken |
//! | `sync`, `model_tests` | the buffer's locks, and its model under shuttle |
//! | `stream` | the stream that a reader holds |
//! | `journal`, `replay` | recording a stream to disk, and replaying it |
//! | `table` | items as Arrow tables |
//! | `rows` | reads the rows of a message, each on its own; pure |
//! | `box_score`, `staleness` | the current box score, maintained from items; whether it may lack values; pure |

mod backoff;
mod box_score;
mod buffer;
#[cfg(test)]
mod buffer_tests;
mod close_code;
pub mod envelope;
mod event_stream;
pub mod frames;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod game_state;
mod gap_reason;
mod heartbeat;
mod interval_set;
mod item;
pub mod journal;
#[cfg(test)]
mod model_tests;
mod open_gaps;
mod options;
mod queue;
mod recovery;
mod replay;
mod rows;
pub mod sequence;
mod session;
mod session_sum;
pub mod sse;
#[cfg(test)]
mod sse_tests;
mod staleness;
mod stream;
mod sync;
pub mod table;
mod token;
mod websocket;

pub use box_score::BoxScore;
pub use buffer::{Buffer, ConnectionState, StreamCounts, Taken};
pub use gap_reason::GapReason;
pub use item::{Item, Notice, Update};
pub use options::{Overflow, StreamOptions};
pub use replay::replay;
pub use rows::Problem;
pub use stream::Stream;
pub use token::subscription_token;
pub use websocket::LiveSubscription;

use crate::error::{Error, Result};
use crate::operation::{self, Arguments, Request, Value};
use crate::transport::Transport;
use game_state::GameState;
use open_gaps::{OpenGaps, Updates};
use recovery::Recovery;
use std::sync::Arc;

/// The source of shots, which have a part of their own in `catch_up`.
const SHOTS: &str = "shots";

/// Creates a stream of the Broadcast API for a request, without connecting.
pub fn event_stream(transport: Transport, request: Request, options: StreamOptions) -> Result<Stream> {
    // The snapshots of the stream close gaps too, also where nothing is requested.
    let recovery = options.notices.then(|| {
        let state = GameState::Snapshot { transport: transport.clone(), request: operation::snapshot_of(&request) };
        let pause = options.recover.unwrap_or_default();
        Recovery::new(state, OpenGaps::new(Updates::Snapshots, transport.config().sport, pause))
    });
    let connector = event_stream::EventStreamConnector::new(transport.clone(), request, &options);
    new_stream(transport, connector, options, recovery)
}

/// Creates a stream of the live websocket. Checks the arguments now; requests the token when the stream opens.
pub fn websocket(transport: Transport, subscription: LiveSubscription, options: StreamOptions) -> Result<Stream> {
    let state = game_state(&subscription, &transport)?;
    let connector = websocket::WebsocketConnector::new(transport.clone(), subscription, &options)?;
    let gaps = |pause| OpenGaps::new(Updates::Changes, transport.config().sport, pause);
    let recovery = options.recover.zip(state).map(|(pause, state)| Recovery::new(state, gaps(pause)));
    new_stream(transport, connector, options, recovery)
}

/// The requests for the state of a game; `None` without its id. Shots are requested only if the stream names them, because
/// access to them is a separate privilege.
fn game_state(subscription: &LiveSubscription, transport: &Transport) -> Result<Option<GameState>> {
    let Some(game) = &subscription.game_id else { return Ok(None) };
    let request = |name: &str, parts: &[&str]| -> Result<Option<Request>> {
        let mut arguments: Arguments = vec![("game_id".into(), Value::Text(game.clone()))];
        arguments.extend(parts.iter().map(|part| ("resources".into(), Value::Text((*part).into()))));
        Ok(operation::call(name, &arguments, transport.config())?.requests.pop())
    };
    let has_shots = subscription.sources.iter().any(|source| source == SHOTS);
    let parts: &[&str] = if has_shots { &["stats", "details", SHOTS] } else { &["stats", "details"] };
    let requests = request("catch_up", parts)?.zip(request("game", &[])?);
    let transport = transport.clone();
    Ok(requests.map(|(request, game)| GameState::CatchUp { transport, request, game, has_shots }))
}

fn new_stream<C: session::Connector + 'static>(
    transport: Transport,
    connector: C,
    options: StreamOptions,
    recovery: Option<Recovery>,
) -> Result<Stream> {
    let (settings, scrubber) = (options.clone(), transport.scrubber().clone());
    let recovery = recovery.map(Arc::new);
    let running_recovery = recovery.clone();
    let produce = |buffer: Arc<Buffer>| async move {
        let recover = async {
            match &running_recovery {
                Some(recovery) if settings.recover.is_some() => recovery.run(&buffer).await,
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = transport.closed() => Some(Error::Closed),
            never = recover => match never {},
            error = session::run(connector, &settings, &buffer) => Some(error),
        }
    };
    Stream::new(&options, produce, recovery, scrubber)
}
