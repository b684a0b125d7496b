//! What goes wrong on purpose.

use super::dice::Dice;
use crate::error::{Error, Result};
use axum::http::{HeaderName, HeaderValue};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// One fault. A request that it matches is served with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// A glob over the path: `*` matches any run of characters.
    pub path: String,
    /// With a status or a body the true answer is never made, and the request is not even checked.
    pub status: Option<u16>,
    pub body: Option<Vec<u8>>,
    /// They take the place of the answer's own of the same name, be the answer true or not.
    pub headers: Vec<(String, String)>,
    /// Seconds before the answer begins.
    pub delay: f64,
    /// The connection ends after this many bytes of the answer's body: by FIN, or by RST with `reset`. With neither status
    /// nor body it is the true answer that is cut.
    pub cut_at: Option<usize>,
    /// With `cut_at` absent: the connection is reset before a byte of the answer.
    pub reset: bool,
    /// Seconds added to the server's clock: to the `Date` header and to the skew check.
    pub clock_offset: f64,
    /// How often it strikes; `None`: always.
    pub times: Option<u32>,
    /// How likely it strikes a request that it matches.
    pub probability: f64,
}

impl Default for Fault {
    /// Matches every request and does nothing to it.
    fn default() -> Self {
        Fault {
            path: "*".into(),
            status: None,
            body: None,
            headers: Vec::new(),
            delay: 0.0,
            cut_at: None,
            reset: false,
            clock_offset: 0.0,
            times: None,
            probability: 1.0,
        }
    }
}

/// `Date` can be written from 1970 to 9999; a generation either way is more than any test of a clock asks for.
const FARTHEST_CLOCK: f64 = 1e9;

impl Fault {
    fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::Argument(what));
        if let Some(status) = self.status
            // hyper sends no 1xx as an answer, and HTTP has none above 599.
            && !(200..=599).contains(&status)
        {
            return wrong(format!("status must be from 200 to 599, not {status}"));
        }
        if Duration::try_from_secs_f64(self.delay).is_err() {
            return wrong(format!("delay must be a number of seconds from 0 up, not {}", self.delay));
        }
        // NaN is in no range.
        if !(-FARTHEST_CLOCK..=FARTHEST_CLOCK).contains(&self.clock_offset) {
            return wrong(format!("clock_offset must be within {FARTHEST_CLOCK} seconds, not {}", self.clock_offset));
        }
        if !(0.0..=1.0).contains(&self.probability) {
            return wrong(format!("probability must be from 0 to 1, not {}", self.probability));
        }
        for (name, value) in &self.headers {
            if HeaderName::try_from(name).is_err() || HeaderValue::try_from(value).is_err() {
                return wrong(format!("{name:?}: {value:?} cannot be sent as a header"));
            }
        }
        Ok(())
    }
    /// Whether it answers in the service's place.
    pub(super) fn is_answer(&self) -> bool {
        self.status.is_some() || self.body.is_some()
    }
}

/// The faults of a simulator, shared with it.
#[derive(Debug, Clone)]
pub struct Faults(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// In the order added, each with how often it struck.
    faults: Vec<(Fault, u32)>,
    dice: Dice,
}

impl Faults {
    pub(super) fn new(dice: Dice) -> Self {
        Faults(Arc::new(Mutex::new(State { faults: Vec::new(), dice })))
    }
    /// Adds a fault; those added before it go first.
    pub fn add(&self, fault: Fault) -> Result<()> {
        fault.check()?;
        self.state().faults.push((fault, 0));
        Ok(())
    }
    pub fn clear(&self) {
        self.state().faults.clear();
    }
    /// The first fault that strikes a request for `path`.
    pub(super) fn strike(&self, path: &str) -> Option<Fault> {
        let State { faults, dice } = &mut *self.state();
        let (fault, struck) = faults.iter_mut().find(|(fault, struck)| {
            fault.times.is_none_or(|times| *struck < times)
                && matches(&fault.path, path)
                && dice.chance(fault.probability)
        })?;
        *struck += 1;
        Some(fault.clone())
    }
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a text is of the form of a glob, in which `*` stands for any run of characters.
pub(super) fn matches(glob: &str, text: &str) -> bool {
    let Some((start, rest)) = glob.split_once('*') else { return glob == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        // The first place will do: it leaves the most for what follows.
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(end)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]
    use super::super::dice::Purpose;
    use super::*;
    use proptest::prelude::*;

    fn faults() -> Faults {
        Faults::new(Dice::new(7, Purpose::Faults))
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
        let status = |path| faults.strike(path).map(|fault| fault.status.unwrap());
        assert_eq!([status("/a"), status("/b"), status("/b"), status("/a")], [Some(503), Some(503), Some(500), None]);
        faults.clear();
        assert_eq!(status("/b"), None);
    }

    #[test]
    fn a_fault_strikes_as_often_as_its_probability_says_and_alike_for_one_seed() {
        let run = || -> Vec<bool> {
            let faults = faults();
            faults.add(Fault { probability: 0.25, ..Fault::default() }).unwrap();
            (0..4000).map(|_| faults.strike("/").is_some()).collect()
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
        assert!((0..1000).all(|_| faults.strike("/").unwrap().status == Some(503)));
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
            Fault { probability: 1.1, ..nothing() },
            Fault { probability: f64::NAN, ..nothing() },
            Fault { headers: vec![("a b".into(), "c".into())], ..nothing() },
            Fault { headers: vec![("a".into(), "b\nc".into())], ..nothing() },
        ] {
            assert!(matches!(faults().add(wrong.clone()), Err(Error::Argument(_))), "{wrong:?}");
        }
    }
}
