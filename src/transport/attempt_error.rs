//! Attempts without a response: why they failed, and the error that the user sees.

use super::memory::LeaseError;
use super::retry::FailureKind;
use crate::advice::Advice;
use crate::error::{
    Error, RequestContext, RequestError,
    RequestErrorKind::{self, Certificate, Connect, Memory, Timeout, Transport},
};
use crate::scrub::{Scrubbed, Scrubber};
use std::borrow::Cow;
use std::error::Error as StdError;
use std::io;

/// An attempt without a response.
#[derive(Debug, thiserror::Error)]
#[error("{summary}{}", .source.as_ref().map_or(String::new(), |source| format!(": {}", error_chain(source))))]
pub(super) struct AttemptError {
    pub(super) kind: FailureKind,
    pub(super) class: RequestErrorKind,
    summary: Cow<'static, str>,
    /// The error of the HTTP client, if it reported one.
    source: Option<reqwest::Error>,
    pub(super) advice: Advice,
    pub(super) stage: Stage,
}

/// The stages of a request, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Resolving the name of the host or of the proxy.
    Dns,
    Connect,
    Proxy,
    Tls,
    Response,
}

impl AttemptError {
    /// Classifies an error by its sources, and where they have no type to be found by, by the texts of hyper-util's private
    /// types, and by reqwest's for a tunnel to an IPv6 address (its issue 3094, open): the tests against a real proxy detect
    /// when they change. The text omits the URL, which may contain the Broadcast key.
    pub(super) fn from_reqwest(error: reqwest::Error) -> Self {
        use FailureKind::{ConnectionLost, NotConnected, Permanent};
        let error = error.without_url();
        let (is_connect, is_timeout) = (error.is_connect(), error.is_timeout());
        let chain = error_chain(&error);
        let tls = if is_connect { find_source::<rustls::Error>(&error) } else { None };
        let is_tunnel = chain.contains("tunnel error");
        let connect_stage = if is_tunnel {
            Stage::Proxy
        } else if chain.contains("dns error") {
            Stage::Dns
        } else if is_timeout || chain.contains("tcp connect error") {
            Stage::Connect
        } else {
            Stage::Tls
        };
        let (kind, class, stage, summary, advice) = match tls {
            Some(tls) => {
                let is_certificate = matches!(tls, rustls::Error::InvalidCertificate(_));
                let class = if is_certificate { Certificate } else { Connect };
                (Permanent, class, Stage::Tls, "the TLS handshake failed", tls_advice(tls))
            }
            None if chain.contains("tunnel error: proxy authorization required") => {
                let summary = "the proxy requires authentication (status 407)";
                (Permanent, Connect, Stage::Proxy, summary, Advice::GiveProxyCredentials)
            }
            None if !is_tunnel && chain.contains("Invalid Server Name") => {
                (Permanent, Connect, Stage::Proxy, "could not connect through the proxy", Advice::AvoidProxy)
            }
            None if is_connect && is_timeout => {
                let summary = "could not connect within the connect timeout";
                (NotConnected, Timeout, connect_stage, summary, Advice::CheckAddress)
            }
            None if is_tunnel => {
                (NotConnected, Connect, connect_stage, "could not connect through the proxy", Advice::CheckProxy)
            }
            None if is_connect => (NotConnected, Connect, connect_stage, "could not connect", Advice::CheckAddress),
            None if is_timeout => {
                (Permanent, Timeout, Stage::Response, "no data within the read timeout", Advice::RaiseTimeout)
            }
            None => (ConnectionLost, Transport, Stage::Response, "the connection broke", Advice::TryAgain),
        };
        AttemptError { kind, class, summary: summary.into(), source: Some(error), advice, stage }
    }

    /// An error of this client's own while it waits for the response or reads it.
    pub(super) fn local(
        kind: FailureKind,
        class: RequestErrorKind,
        summary: impl Into<Cow<'static, str>>,
        advice: Advice,
    ) -> Self {
        AttemptError { kind, class, summary: summary.into(), source: None, advice, stage: Stage::Response }
    }

    pub(super) fn total_timeout(seconds: f64, last_error: Option<Scrubbed>) -> Self {
        let previous = last_error.map_or(String::new(), |error| format!("; the previous attempt: {error}"));
        let summary = format!("no response within the total timeout of {seconds} s{previous}");
        Self::local(FailureKind::Permanent, Timeout, summary, Advice::RaiseTimeout)
    }

    pub(super) fn body_too_large(limit: usize) -> Self {
        let is_builtin = limit == super::MAX_BODY_BYTES;
        let size =
            if limit.is_multiple_of(1 << 20) { format!("{} MiB", limit >> 20) } else { format!("{limit} bytes") };
        let (option, advice) = match is_builtin {
            true => ("", Advice::AskForLess),
            false => (" (max_response_bytes)", Advice::RaiseMaxResponseBytes),
        };
        let summary = format!("the response body is larger than the limit of {size}{option}");
        Self::local(FailureKind::Permanent, Transport, summary, advice)
    }

    /// The process cannot get the memory for the body.
    pub(super) fn out_of_memory() -> Self {
        let summary = "the process has no memory for the response body";
        Self::local(FailureKind::Permanent, Memory, summary, Advice::AskForLess)
    }

    pub(super) fn from_lease(error: LeaseError) -> Self {
        let (kind, summary, advice) = match error {
            LeaseError::TooLarge(limit) => return Self::body_too_large(limit),
            LeaseError::Full => (
                FailureKind::Permanent,
                "the bodies that the batch keeps use the memory that max_response_bytes allows",
                Advice::RaiseMaxResponseBytes,
            ),
            LeaseError::Preempted => (
                FailureKind::Preempted,
                "other responses are using the memory that max_response_bytes allows",
                Advice::TryAgain,
            ),
        };
        Self::local(kind, Transport, summary, advice)
    }

    /// Retried: the body may have been damaged in transit.
    pub(super) fn damaged_gzip() -> Self {
        let summary = "the response body cannot be decompressed: its gzip data is damaged or truncated";
        Self::local(FailureKind::ConnectionLost, Transport, summary, Advice::TryAgain)
    }

    /// What happened, with the messages of the libraries.
    pub(super) fn message(&self, scrubber: &Scrubber) -> Scrubbed {
        scrubber.message(self.to_string())
    }

    /// The error that a user sees.
    pub(super) fn into_error(self, scrubber: &Scrubber, request: RequestContext) -> Error {
        Error::Request(RequestError::failed(self.class, self.advice, self, request, scrubber))
    }
}

fn tls_advice(error: &rustls::Error) -> Advice {
    use rustls::CertificateError::{
        Expired, ExpiredContext, NotValidForName, NotValidForNameContext, NotValidYet, NotValidYetContext,
    };
    match error {
        rustls::Error::InvalidCertificate(reason) => match reason {
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

/// The texts of an error and its sources, outermost first, without those that the outer text already contains.
pub(super) fn error_chain(error: &dyn StdError) -> String {
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

/// The first error of type `E` among the sources. An `io::Error` skips the error that it wraps, so that one is checked too.
fn find_source<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let matching = error.downcast_ref::<E>().or_else(|| find_source(inner?));
        if matching.is_some() {
            return matching;
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
    fn an_error_chain_contains_all_sources() {
        assert_eq!(error_chain(&Outer(io::Error::other("refused"))), "outer: refused");
    }

    #[test]
    fn a_tls_error_is_found_inside_an_io_error() {
        let tls = rustls::Error::HandshakeNotComplete;
        let error = Outer(io::Error::other(tls));
        assert_eq!(find_source(&error), Some(&rustls::Error::HandshakeNotComplete));
        assert_eq!(find_source::<rustls::Error>(&Outer(io::Error::other("refused"))), None);
    }
}
