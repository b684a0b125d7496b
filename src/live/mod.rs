//! Live data: the Broadcast API's event stream and the live websocket (specification 6; facts 3.3, 4, 5).
//!
//! | file | what lives there |
//! |---|---|
//! | `sse` | event-stream framing: bytes to events, pure |
//! | `item` | updates and notices |
//! | `options`, `backoff` | what can be set; when to connect again: pure |
//! | `buffer` | what was read and not yet taken |

mod backoff;
mod buffer;
mod item;
mod options;
pub mod sse;

pub use buffer::{Buffer, Counts, State, Taken};
pub use item::{Item, Notice, Update};
pub use options::{Options, Overflow};
