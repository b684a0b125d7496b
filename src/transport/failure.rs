//! Attempts that ended without an answer: what kind of end it was, and its whole story in one line.

use super::retry::Outcome;
use crate::error::Error;
use std::error::Error as StdError;
use std::io;

/// Which class of error a failure is to its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Connect,
    Timeout,
    Transport,
}

/// An attempt without an answer.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) outcome: Outcome,
    class: Class,
    pub(super) text: String,
    hint: &'static str,
}

impl Failure {
    /// Reads the kind off the error and its sources. No text of it holds the address, which may hold the Broadcast key.
    pub(super) fn of(error: reqwest::Error) -> Self {
        let error = error.without_url();
        let (outcome, class, what, hint) = if has_source::<rustls::Error>(&error) {
            let hint = "If a proxy of your network issues the certificate, give its authority with ca_bundle=";
            (Outcome::Final, Class::Connect, "no secure connection", hint)
        } else if error.is_connect() && error.is_timeout() {
            (Outcome::Unconnected, Class::Timeout, "no connection within the connect timeout", CHECK_ADDRESS)
        } else if error.is_connect() {
            (Outcome::Unconnected, Class::Connect, "no connection", CHECK_ADDRESS)
        } else if error.is_timeout() {
            (Outcome::Final, Class::Timeout, "silence for longer than the read timeout", "Try again, or raise timeout=")
        } else {
            (Outcome::Broken, Class::Transport, "the connection broke", "Try again")
        };
        Failure { outcome, class, text: format!("{what}: {}", chain(&error)), hint }
    }

    pub(super) fn out_of_time(total: f64, last: Option<String>) -> Self {
        let before = last.map_or(String::new(), |last| format!("; the attempt before: {last}"));
        Failure {
            outcome: Outcome::Final,
            class: Class::Timeout,
            text: format!("no answer within the total timeout of {total} s{before}"),
            hint: "Try again, or raise timeout=",
        }
    }

    pub(super) fn too_large(limit: usize) -> Self {
        Failure {
            outcome: Outcome::Final,
            class: Class::Transport,
            text: format!("the body is larger than the limit of {} MiB", limit >> 20),
            hint: "Ask for less at once, such as a shorter range",
        }
    }

    /// The error that a user sees.
    pub(super) fn error(self, url: &str, attempts: u32) -> Error {
        let tries = if attempts > 1 { format!(" after {attempts} attempts") } else { String::new() };
        let text = format!("GET {url} failed{tries}: {}. {}", self.text, self.hint);
        match self.class {
            Class::Connect => Error::Connect(text),
            Class::Timeout => Error::Timeout(text),
            Class::Transport => Error::Transport(text),
        }
    }
}

const CHECK_ADDRESS: &str = "Check the address, the network and the proxy";

/// Every source's text, outermost first; one that its outer text already quotes is left out.
pub(super) fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let inner = error.to_string();
        if !text.contains(&inner) {
            text = format!("{text}: {inner}");
        }
        source = error.source();
    }
    text
}

/// Whether an error of this type is among the sources. An `io::Error` hides the one it was made from: its own source is that
/// one's source.
fn has_source<E: StdError + 'static>(error: &(dyn StdError + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if error.is::<E>() || wrapped.is_some_and(|wrapped| has_source::<E>(wrapped)) {
            return true;
        }
        next = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] io::Error);

    #[test]
    fn the_whole_chain_of_sources_is_told() {
        assert_eq!(chain(&Outer(io::Error::other("refused"))), "outer: refused");
    }

    #[test]
    fn a_tls_error_is_found_inside_an_io_error() {
        let tls = rustls::Error::HandshakeNotComplete;
        let error = Outer(io::Error::other(tls));
        assert!(has_source::<rustls::Error>(&error));
        assert!(!has_source::<rustls::Error>(&Outer(io::Error::other("refused"))));
    }
}
