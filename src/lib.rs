//! sideline: the client of a sports tracking data service, its decoder and its simulator.
//!
//! Data travels one way: [`operation`] (what to ask) → [`transport`] (sign, send, retry) → bytes → [`resource`] (what a body
//! holds) → [`table`] (the decoding engine) → Arrow. Nothing imports what stands to its right but by the next arrow.
//!
//! | module | what lives there |
//! |---|---|
//! | [`advice`] | what a user can do about an error, as data |
//! | [`config`] | addresses, credentials (redacted), limits, timeouts |
//! | [`error`] | one error type; each variant says what a user can do |
//! | `machine` | the time of day, chance and waiting threads: all that is not tokio's |
//! | [`scrub`] | text of peers and addresses, fit to be shown |
//! | [`signer`] | the string to sign and the Authorization header: pure |
//! | [`operation`] | each operation of the service, once |
//! | [`resource`] | each body of the service: its wire model and its tables |
//! | [`table`] | JSON bytes to Arrow, driven by declarations; knows no resource |
//! | [`transport`] | HTTP: retry, server clock, request budget |
//! | [`fetch`] | ranges, plan, payload: several requests as one result |
//! | [`live`] | event stream and websocket: decoding, reconnecting, gaps, delivery, journal |
//! | [`simulator`] | the whole service on loopback |
//! | `python` | what Python sees |

pub mod advice;
pub mod config;
pub mod error;
pub mod fetch;
pub mod live;
mod machine;
pub mod operation;
pub mod resource;
pub mod scrub;
pub mod signer;
// Runs in real time, on threads of its own.
#[allow(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod simulator;
pub mod table;
pub mod transport;

/// For `fuzz/` and the tests; no build that ships has it.
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzz;
#[cfg(any(feature = "python", test))]
mod per_process;
// Waits for the interpreter, which has no other clock.
#[cfg(feature = "python")]
#[allow(clippy::disallowed_methods)]
mod python;
#[cfg(test)]
mod simulation;
