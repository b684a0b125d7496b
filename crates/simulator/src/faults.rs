//! The faults of a simulator, and which of them applies to a request.

use super::fault::Fault;
use super::random::SimRandom;
use super::throttle::Bucket;
use crate::error::Result;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

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
    applications: u32,
    /// Whether a request for its path came while no earlier fault applied.
    was_met: bool,
    bucket: Bucket,
}

impl Faults {
    pub(super) fn new(random: SimRandom) -> Self {
        Faults(Arc::new(Mutex::new(FaultState { faults: Vec::new(), random })))
    }
    /// Adds a fault; earlier ones take precedence.
    pub fn add(&self, fault: Fault) -> Result<()> {
        fault.check()?;
        self.state().faults.push(AddedFault { fault, applications: 0, was_met: false, bucket: Bucket::default() });
        Ok(())
    }
    pub fn clear(&self) {
        self.state().faults.clear();
    }
    /// The positions of the faults that no request met, in the order added.
    pub fn unused(&self) -> Vec<usize> {
        let state = self.state();
        state.faults.iter().enumerate().filter(|(_, entry)| !entry.was_met).map(|(place, _)| place).collect()
    }
    /// The first fault that applies to a request for `path`.
    pub(super) fn inject(&self, path: &str, now: Instant) -> Option<Fault> {
        let FaultState { faults, random } = &mut *self.state();
        faults.iter_mut().find_map(|entry| entry.inject(path, random, now))
    }
    fn state(&self) -> MutexGuard<'_, FaultState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AddedFault {
    fn inject(&mut self, path: &str, random: &mut SimRandom, now: Instant) -> Option<Fault> {
        let AddedFault { fault, applications, was_met, bucket } = self;
        let is_spent = fault.times.is_some_and(|times| *applications >= times);
        if is_spent || !matches(&fault.path, path) {
            return None;
        }
        *was_met = true;
        if !random.chance(fault.probability) {
            return None;
        }
        let mut fault = fault.clone();
        if let Some(throttle) = fault.throttle() {
            let wait = bucket.take(&throttle, now).err()?;
            fault.status = fault.status.or(Some(429));
            if fault.retry_after {
                fault.headers.push(("retry-after".to_owned(), wait.as_secs_f64().ceil().max(1.0).to_string()));
            }
        }
        *applications += 1;
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
    use std::time::Duration;

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
                    (Some((letter, rest)), Some((other, others))) => letter == other && by_definition(rest, others),
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
        let status = |path| faults.inject(path, Instant::now()).map(|fault| fault.status.unwrap());
        assert_eq!([status("/a"), status("/b"), status("/b"), status("/a")], [Some(503), Some(503), Some(500), None]);
        faults.clear();
        assert_eq!(status("/b"), None);
    }

    #[test]
    fn a_fault_strikes_as_often_as_its_probability_says_and_alike_for_one_seed() {
        let run = || -> Vec<bool> {
            let faults = faults();
            faults.add(Fault { probability: 0.25, ..Fault::default() }).unwrap();
            (0..4000).map(|_| faults.inject("/", Instant::now()).is_some()).collect()
        };
        let count = run().into_iter().filter(|is_injected| *is_injected).count();
        assert!((900..1100).contains(&count), "{count}");
        assert_eq!(run(), run());
    }

    #[test]
    fn certain_and_impossible_are_exact() {
        let faults = faults();
        faults.add(Fault { probability: 0.0, status: Some(500), ..Fault::default() }).unwrap();
        faults.add(Fault { probability: 1.0, status: Some(503), ..Fault::default() }).unwrap();
        assert!((0..1000).all(|_| faults.inject("/", Instant::now()).unwrap().status == Some(503)));
    }

    #[test]
    fn a_throttle_strikes_only_what_is_beyond_its_rate_and_says_how_long_to_wait() {
        let faults = faults();
        let slow = Fault { requests_per_second: Some(0.4), retry_after: true, ..Fault::default() };
        faults.add(Fault { path: "/a".into(), ..slow }).unwrap();
        faults.add(Fault { path: "/a".into(), status: Some(500), ..Fault::default() }).unwrap();
        let now = Instant::now();
        let inject = |path, after| {
            let fault = faults.inject(path, now + Duration::from_secs_f64(after));
            fault.map(|fault| (fault.status.unwrap(), fault.headers.first().map(|(_, value)| value.clone())))
        };
        assert_eq!(inject("/b", 0.0), None, "another path takes no token");
        assert_eq!(inject("/a", 0.0), Some((500, None)), "what has a token may meet another fault");
        assert_eq!(inject("/a", 0.0), Some((429, Some("3".into()))));
        assert_eq!(inject("/a", 2.4), Some((429, Some("1".into()))));
        assert_eq!(inject("/a", 2.6), Some((500, None)));
    }
}
