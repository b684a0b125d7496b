//! Injected faults.

use super::random::SimRandom;
use super::throttle::{Bucket, Throttle};
use crate::error::{Error, Result};
use axum::http::{HeaderName, HeaderValue};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// One fault. It is applied to matching requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// A glob over the path: `*` matches any run of characters.
    pub path: String,
    /// With a status or body the true response is never made, and the request is not authenticated.
    pub status: Option<u16>,
    pub body: Option<Vec<u8>>,
    /// Replace headers of the same name, also of a true response.
    pub headers: Vec<(String, String)>,
    /// Seconds before the response begins.
    pub delay: f64,
    /// The connection ends after this many bytes of the response's body: by FIN, or by RST with `reset`. Without status
    /// and body the true response is cut.
    pub cut_at: Option<usize>,
    /// End by reset where `cut_at` or `stale` end the connection; without both, before the first byte of the response.
    pub reset: bool,
    /// Added to the stated Content-Length. If it exceeds the body, the connection is closed.
    pub content_length: i64,
    pub gzip: Option<Gzip>,
    /// Bytes after the response, on the same connection.
    pub trailing: Vec<u8>,
    /// Statuses of informational responses before the response.
    pub informational: Vec<u16>,
    /// The connection stays open after the response, and closes when the next request arrives.
    pub stale: bool,
    /// Maximum bytes per second.
    pub bytes_per_second: Option<u32>,
    /// Applies only beyond this rate, with status 429 unless set.
    pub throttle: Option<Throttle>,
    /// Seconds added to the server's clock: to the `Date` header and the skew check.
    pub clock_offset: f64,
    /// How often it applies; `None`: always.
    pub times: Option<u32>,
    /// The probability that it applies to a matching request.
    pub probability: f64,
}

/// How to compress a body, whether or not the request accepts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gzip {
    Complete,
    /// One digit is changed, which only the checksum detects.
    Damaged,
    /// Without checksum and length.
    Cut,
}

impl Default for Fault {
    /// Matches every request and changes nothing.
    fn default() -> Self {
        Fault {
            path: "*".into(),
            status: None,
            body: None,
            headers: Vec::new(),
            delay: 0.0,
            cut_at: None,
            reset: false,
            content_length: 0,
            gzip: None,
            trailing: Vec::new(),
            informational: Vec::new(),
            stale: false,
            bytes_per_second: None,
            throttle: None,
            clock_offset: 0.0,
            times: None,
            probability: 1.0,
        }
    }
}

/// `Date` can be written from 1970 to 9999; a generation either way suffices for tests.
const MAX_CLOCK_OFFSET: f64 = 1e9;

impl Fault {
    fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::Argument(what));
        if let Some(status) = self.status
            // hyper sends no 1xx as a response, and HTTP has none above 599.
            && !(200..=599).contains(&status)
        {
            return wrong(format!("status must be from 200 to 599, not {status}"));
        }
        if Duration::try_from_secs_f64(self.delay).is_err() {
            return wrong(format!("delay must be a number of seconds from 0 up, not {}", self.delay));
        }
        // NaN is in no range.
        if !(-MAX_CLOCK_OFFSET..=MAX_CLOCK_OFFSET).contains(&self.clock_offset) {
            return wrong(format!("clock_offset must be within {MAX_CLOCK_OFFSET} seconds, not {}", self.clock_offset));
        }
        if !(0.0..=1.0).contains(&self.probability) {
            return wrong(format!("probability must be from 0 to 1, not {}", self.probability));
        }
        for (name, value) in &self.headers {
            if HeaderName::try_from(name).is_err() || HeaderValue::try_from(value).is_err() {
                return wrong(format!("{name:?}: {value:?} cannot be sent as a header"));
            }
        }
        let states_length = self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        if self.content_length != 0 && states_length {
            return wrong("content_length is added to the true length: give it or a Content-Length header".to_owned());
        }
        // A client that is asked to switch protocols does not wait for a response.
        if let Some(status) = self.informational.iter().find(|status| !(100..=199).contains(*status) || **status == 101)
        {
            return wrong(format!("informational is statuses from 100 to 199 but 101, not {status}"));
        }
        if self.bytes_per_second == Some(0) {
            return wrong("bytes_per_second must be at least 1".to_owned());
        }
        self.throttle.map_or(Ok(()), |throttle| throttle.check())
    }
    /// Whether it replaces the service's response.
    pub(super) fn is_answer(&self) -> bool {
        self.status.is_some() || self.body.is_some()
    }
}

/// The faults of a simulator. Clones share them.
#[derive(Debug, Clone)]
pub struct Faults(Arc<Mutex<FaultState>>);

#[derive(Debug)]
struct FaultState {
    /// In the order added.
    faults: Vec<AddedFault>,
    random: SimRandom,
}

#[derive(Debug)]
struct AddedFault {
    fault: Fault,
    /// Number of applications.
    struck: u32,
    bucket: Bucket,
}

impl Faults {
    pub(super) fn new(random: SimRandom) -> Self {
        Faults(Arc::new(Mutex::new(FaultState { faults: Vec::new(), random })))
    }
    /// Adds a fault; earlier ones take precedence.
    pub fn add(&self, fault: Fault) -> Result<()> {
        fault.check()?;
        self.state().faults.push(AddedFault { fault, struck: 0, bucket: Bucket::default() });
        Ok(())
    }
    pub fn clear(&self) {
        self.state().faults.clear();
    }
    /// The first fault that applies to a request for `path`.
    pub(super) fn strike(&self, path: &str, now: Instant) -> Option<Fault> {
        let FaultState { faults, random } = &mut *self.state();
        faults.iter_mut().find_map(|added| added.strike(path, random, now))
    }
    fn state(&self) -> MutexGuard<'_, FaultState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AddedFault {
    fn strike(&mut self, path: &str, random: &mut SimRandom, now: Instant) -> Option<Fault> {
        let AddedFault { fault, struck, bucket } = self;
        let spent = fault.times.is_some_and(|times| *struck >= times);
        if spent || !matches(&fault.path, path) || !random.chance(fault.probability) {
            return None;
        }
        let mut fault = fault.clone();
        if let Some(throttle) = fault.throttle {
            let wait = bucket.take(&throttle, now).err()?;
            fault.status = fault.status.or(Some(429));
            if throttle.retry_after {
                fault.headers.push(("retry-after".to_owned(), wait.as_secs_f64().ceil().max(1.0).to_string()));
            }
        }
        *struck += 1;
        Some(fault)
    }
}

/// Whether a text matches a glob, in which `*` stands for any characters.
pub(super) fn matches(glob: &str, text: &str) -> bool {
    let Some((start, rest)) = glob.split_once('*') else { return glob == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        // The first match leaves the most for the rest.
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(end)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]
    use super::super::random::Purpose;
    use super::*;
    use proptest::prelude::*;

    fn faults() -> Faults {
        Faults::new(SimRandom::new(7, Purpose::Faults))
    }

    #[test]
    fn a_star_matches_any_run_of_characters() {
        for (glob, text) in [
            ("*", ""),
            ("*", "/v1/data/teams"),
            ("/v1/data/teams", "/v1/data/teams"),
            ("/v1/*/stats", "/v1/data/stats/x/stats"),
            ("*teams*", "/v1/data/teams/4"),
            ("*a*ab", "aab"),
            ("a**b", "ab"),
        ] {
            assert!(matches(glob, text), "{glob} {text}");
        }
        for (glob, text) in
            [("/v1/data/teams", "/v1/data/teams/4"), ("", "/"), ("*/stats", "/stats/x"), ("ab*ba", "aba"), ("a?", "ab")]
        {
            assert!(!matches(glob, text), "{glob} {text}");
        }
    }

    proptest! {
        #[test]
        fn a_glob_matches_as_the_definition_says(glob in "[ab*]{0,8}", text in "[ab]{0,8}") {
            fn by_definition(glob: &[u8], text: &[u8]) -> bool {
                match (glob.split_first(), text.split_first()) {
                    (None, _) => text.is_empty(),
                    (Some((b'*', rest)), _) => (0..=text.len()).any(|from| by_definition(rest, &text[from..])),
                    (Some((one, rest)), Some((other, others))) => one == other && by_definition(rest, others),
                    (Some(_), None) => false,
                }
            }
            prop_assert_eq!(matches(&glob, &text), by_definition(glob.as_bytes(), text.as_bytes()));
        }
    }

    #[test]
    fn the_first_added_that_strikes_wins_until_it_is_spent() {
        let faults = faults();
        faults.add(Fault { status: Some(503), times: Some(2), ..Fault::default() }).unwrap();
        faults.add(Fault { status: Some(500), path: "/b".into(), ..Fault::default() }).unwrap();
        let status = |path| faults.strike(path, Instant::now()).map(|fault| fault.status.unwrap());
        assert_eq!([status("/a"), status("/b"), status("/b"), status("/a")], [Some(503), Some(503), Some(500), None]);
        faults.clear();
        assert_eq!(status("/b"), None);
    }

    #[test]
    fn a_fault_strikes_as_often_as_its_probability_says_and_alike_for_one_seed() {
        let run = || -> Vec<bool> {
            let faults = faults();
            faults.add(Fault { probability: 0.25, ..Fault::default() }).unwrap();
            (0..4000).map(|_| faults.strike("/", Instant::now()).is_some()).collect()
        };
        let struck = run().into_iter().filter(|struck| *struck).count();
        assert!((900..1100).contains(&struck), "{struck}");
        assert_eq!(run(), run());
    }

    #[test]
    fn certain_and_impossible_are_exact() {
        let faults = faults();
        faults.add(Fault { probability: 0.0, status: Some(500), ..Fault::default() }).unwrap();
        faults.add(Fault { probability: 1.0, status: Some(503), ..Fault::default() }).unwrap();
        assert!((0..1000).all(|_| faults.strike("/", Instant::now()).unwrap().status == Some(503)));
    }

    fn throttle(requests_per_second: f64, burst: u32) -> Throttle {
        Throttle { requests_per_second, burst, retry_after: true }
    }

    #[test]
    fn a_throttle_strikes_only_what_is_beyond_its_rate_and_says_how_long_to_wait() {
        let faults = faults();
        faults.add(Fault { path: "/a".into(), throttle: Some(throttle(0.4, 1)), ..Fault::default() }).unwrap();
        faults.add(Fault { path: "/a".into(), status: Some(500), ..Fault::default() }).unwrap();
        let now = Instant::now();
        let strike = |path, after| {
            let struck = faults.strike(path, now + Duration::from_secs_f64(after));
            struck.map(|fault| (fault.status.unwrap(), fault.headers.first().map(|(_, value)| value.clone())))
        };
        assert_eq!(strike("/b", 0.0), None, "another path takes no token");
        assert_eq!(strike("/a", 0.0), Some((500, None)), "what has a token may meet another fault");
        assert_eq!(strike("/a", 0.0), Some((429, Some("3".into()))));
        assert_eq!(strike("/a", 2.4), Some((429, Some("1".into()))));
        assert_eq!(strike("/a", 2.6), Some((500, None)));
    }

    #[test]
    fn a_fault_that_cannot_be_is_refused() {
        let nothing = Fault::default;
        for wrong in [
            Fault { status: Some(199), ..nothing() },
            Fault { status: Some(600), ..nothing() },
            Fault { delay: -0.1, ..nothing() },
            Fault { delay: f64::NAN, ..nothing() },
            Fault { delay: f64::INFINITY, ..nothing() },
            Fault { clock_offset: f64::NAN, ..nothing() },
            Fault { clock_offset: 1e12, ..nothing() },
            Fault { content_length: 1, headers: vec![("Content-Length".into(), "2".into())], ..nothing() },
            Fault { informational: vec![103, 200], ..nothing() },
            Fault { informational: vec![101], ..nothing() },
            Fault { informational: vec![99], ..nothing() },
            Fault { bytes_per_second: Some(0), ..nothing() },
            Fault { throttle: Some(throttle(0.0, 1)), ..nothing() },
            Fault { throttle: Some(throttle(f64::NAN, 1)), ..nothing() },
            Fault { throttle: Some(throttle(f64::INFINITY, 1)), ..nothing() },
            Fault { throttle: Some(throttle(1.0, 0)), ..nothing() },
            Fault { probability: 1.1, ..nothing() },
            Fault { probability: f64::NAN, ..nothing() },
            Fault { headers: vec![("a b".into(), "c".into())], ..nothing() },
            Fault { headers: vec![("a".into(), "b\nc".into())], ..nothing() },
        ] {
            assert!(matches!(faults().add(wrong.clone()), Err(Error::Argument(_))), "{wrong:?}");
        }
    }
}
