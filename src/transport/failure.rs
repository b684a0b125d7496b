//! Attempts that ended without an answer: what kind of end it was, and its whole story in one line.

use super::memory::NoRoom;
use super::retry::Outcome;
#[cfg(test)]
use super::simulated::Trouble;
use crate::advice::Advice;
use crate::error::{Error, Requested, Unanswered};
use crate::scrub::{Scrubbed, Scrubber};
use std::error::Error as StdError;
use std::io;

/// Which class of error a failure is to its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Connect,
    Certificate,
    Timeout,
    Transport,
}

/// An attempt without an answer.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) outcome: Outcome,
    class: Class,
    text: String,
    pub(super) advice: Advice,
    pub(super) stage: Stage,
}

/// On the way to an answer, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The name of the host, or of the proxy.
    Name,
    Connection,
    Proxy,
    Tls,
    Answer,
}

impl Failure {
    #[cfg(test)]
    pub(super) fn simulated(trouble: Trouble) -> Self {
        let (outcome, class, stage) = match trouble {
            Trouble::Refused => (Outcome::Unconnected, Class::Connect, Stage::Connection),
            Trouble::ConnectTimeout => (Outcome::Unconnected, Class::Timeout, Stage::Connection),
            Trouble::ReadTimeout => (Outcome::Final, Class::Timeout, Stage::Answer),
            Trouble::Broken => (Outcome::Broken, Class::Transport, Stage::Answer),
        };
        Failure { outcome, class, text: format!("simulated: {trouble:?}"), advice: Advice::TryAgain, stage }
    }

    /// Reads the kind off the error and its sources. No text of it holds the address, which may hold the Broadcast key.
    pub(super) fn of(error: reqwest::Error) -> Self {
        let error = error.without_url();
        let story = chain(&error);
        let tls = error.is_connect().then(|| source_of::<rustls::Error>(&error)).flatten();
        let (outcome, class, what, advice) = if let Some(tls) = tls {
            let is_certificate = matches!(tls, rustls::Error::InvalidCertificate(_));
            let class = if is_certificate { Class::Certificate } else { Class::Connect };
            (Outcome::Final, class, "no secure connection", tls_advice(tls))
        } else if story.contains(ASKS_FOR_CREDENTIALS) {
            (Outcome::Final, Class::Connect, "the proxy refused (status 407)", Advice::GiveProxyCredentials)
        } else if story.contains(NO_SERVER_NAME) {
            (Outcome::Final, Class::Connect, "no connection through the proxy", Advice::AvoidProxy)
        } else if error.is_connect() && error.is_timeout() {
            (Outcome::Unconnected, Class::Timeout, "no connection within the connect timeout", Advice::CheckAddress)
        } else if story.contains(TUNNEL) {
            (Outcome::Unconnected, Class::Connect, "no connection through the proxy", Advice::CheckProxy)
        } else if error.is_connect() {
            (Outcome::Unconnected, Class::Connect, "no connection", Advice::CheckAddress)
        } else if error.is_timeout() {
            (Outcome::Final, Class::Timeout, "silence for longer than the read timeout", Advice::RaiseTimeout)
        } else {
            (Outcome::Broken, Class::Transport, "the connection broke", Advice::TryAgain)
        };
        let stage = if tls.is_some() {
            Stage::Tls
        } else if story.contains(TUNNEL) || story.contains(NO_SERVER_NAME) {
            Stage::Proxy
        } else if story.contains(NO_NAME) {
            Stage::Name
        } else if story.contains(NO_TCP) || error.is_connect() && error.is_timeout() {
            Stage::Connection
        } else if error.is_connect() {
            Stage::Tls
        } else {
            Stage::Answer
        };
        Failure { outcome, class, text: format!("{what}: {story}"), advice, stage }
    }

    pub(super) fn out_of_time(total: f64, last: Option<Scrubbed>) -> Self {
        let before = last.map_or(String::new(), |last| format!("; the attempt before: {last}"));
        Failure {
            outcome: Outcome::Final,
            class: Class::Timeout,
            text: format!("no answer within the total timeout of {total} s{before}"),
            advice: Advice::RaiseTimeout,
            stage: Stage::Answer,
        }
    }

    pub(super) fn too_large(limit: usize) -> Self {
        let is_fixed = limit == super::BODY_LIMIT;
        let size =
            if limit.is_multiple_of(1 << 20) { format!("{} MiB", limit >> 20) } else { format!("{limit} bytes") };
        let (option, advice) = match is_fixed {
            true => ("", Advice::AskForLess),
            false => (" (max_response_bytes)", Advice::RaiseMaxResponseBytes),
        };
        Failure {
            outcome: Outcome::Final,
            class: Class::Transport,
            text: format!("the body is larger than the limit of {size}{option}"),
            advice,
            stage: Stage::Answer,
        }
    }

    /// Other bodies need its room.
    pub(super) fn no_room(why: NoRoom) -> Self {
        match why {
            NoRoom::TooLarge(limit) => Self::too_large(limit),
            NoRoom::GivesWay => Failure {
                outcome: Outcome::NoRoom,
                class: Class::Transport,
                text: "other responses need the memory that max_response_bytes allows".into(),
                advice: Advice::TryAgain,
                stage: Stage::Answer,
            },
        }
    }

    /// Of gzip. It may have happened on the way: another attempt can cure it.
    pub(super) fn damaged() -> Self {
        Failure {
            outcome: Outcome::Broken,
            class: Class::Transport,
            text: "the body cannot be decompressed: its gzip is damaged or cut".into(),
            advice: Advice::TryAgain,
            stage: Stage::Answer,
        }
    }

    /// What happened, as a peer and libraries say it.
    pub(super) fn story(&self, scrubber: &Scrubber) -> Scrubbed {
        scrubber.message(&self.text)
    }

    pub(super) fn is_timeout(&self) -> bool {
        self.class == Class::Timeout
    }

    /// The error that a user sees.
    pub(super) fn error(self, scrubber: &Scrubber, request: Requested) -> Error {
        let attempts = request.attempts;
        let tries = if attempts > 1 { format!(" after {attempts} attempts") } else { String::new() };
        let found = scrubber.composed(format!("GET {} failed{tries}: {}", request.url, self.story(scrubber)));
        let unanswered = Unanswered::new(found, self.advice, Some(request));
        match self.class {
            Class::Connect => Error::Connect(unanswered),
            Class::Certificate => Error::Certificate(unanswered),
            Class::Timeout => Error::Timeout(unanswered),
            Class::Transport => Error::Transport(unanswered),
        }
    }
}

/// What hyper-util's private error type says; the tests against a real proxy see to it that it still does.
const TUNNEL: &str = "tunnel error";
const NO_NAME: &str = "dns error";
const NO_TCP: &str = "tcp connect error";
const ASKS_FOR_CREDENTIALS: &str = "tunnel error: proxy authorization required";

/// What reqwest says where the host of a tunnel is an IPv6 address (its issue 3094, open): an attempt cannot cure it.
const NO_SERVER_NAME: &str = "Invalid Server Name";

/// What a user can do about a certificate, or about what answered in its place.
fn tls_advice(error: &rustls::Error) -> Advice {
    use rustls::CertificateError::{
        Expired, ExpiredContext, NotValidForName, NotValidForNameContext, NotValidYet, NotValidYetContext,
    };
    match error {
        rustls::Error::InvalidCertificate(why) => match why {
            Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. } => {
                Advice::CheckClockOrCertificate
            }
            NotValidForName | NotValidForNameContext { .. } => Advice::CheckHost,
            _ => Advice::TrustAuthority,
        },
        rustls::Error::InvalidMessage(_) => Advice::CheckPort,
        _ => Advice::CheckFirewall,
    }
}

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

/// The first error of this type among the sources. An `io::Error` hides the one it was made from: its own source is that
/// one's source.
fn source_of<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let found = error.downcast_ref::<E>().or_else(|| source_of(wrapped?));
        if found.is_some() {
            return found;
        }
        next = error.source();
    }
    None
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
        assert_eq!(source_of(&error), Some(&rustls::Error::HandshakeNotComplete));
        assert_eq!(source_of::<rustls::Error>(&Outer(io::Error::other("refused"))), None);
    }
}
