//! sideline: the client of a sports tracking data service, and its decoder.
//!
//! Data flows one way: [`operation`] → [`transport`] (sign, send, retry) → bytes → [`resource`] (the schema of a body) →
//! [`tables`] (the decoding engine over [`reader`], the cursor) → Arrow.
//!
//! | module | content |
//! |---|---|
//! | [`advice`] | what a user can do about an error, as data |
//! | [`config`] | base URLs, credentials (redacted), limits, timeouts |
//! | [`error`] | the error type |
//! | [`machine`] | the time of day, randomness and waiting threads: everything that is not tokio's |
//! | [`scrub`] | text of peers and URLs that is safe to show |
//! | [`signer`] | the string to sign and the Authorization header: pure |
//! | [`operation`] | the operations of the service |
//! | [`resource`] | the response bodies: their tables |
//! | [`transport`] | HTTP: retry, server clock, limits |
//! | [`fetch`] | ranges, plan, payload: several requests as one result |
//! | [`live`] | event stream and websocket: decoding, reconnecting, gaps, delivery, journal |

pub mod advice;
pub mod config;
pub mod error;
pub mod fetch;
pub mod live;
pub mod machine;
pub mod operation;
pub mod resource;
pub mod scrub;
pub mod signer;
pub mod transport;

#[cfg(test)]
#[path = "../tests/conformance/cases.rs"]
mod cases;
pub mod fork_safe;
/// For `fuzz/` and the tests; no build that ships has it.
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzz;
#[cfg(test)]
mod simulation;
