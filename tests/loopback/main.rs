//! The client against servers on loopback that share no code with it. One program: each would be linked by itself.

// A test that fails is meant to panic.
#![allow(clippy::disallowed_methods)] // Real sockets, in real time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod event_stream;
mod fetch;
mod scripted;
mod tls;
mod transport;
mod websocket;
