//! The request log. It is bounded: a service that runs for days forgets its first requests.

use super::Seen;
use std::collections::VecDeque;

/// About 100 MB.
const MAX_REQUESTS: usize = 100_000;

/// The latest requests, in order of arrival.
#[derive(Debug, Default)]
pub(super) struct RequestLog {
    forgotten: usize,
    kept: VecDeque<Seen>,
}

impl RequestLog {
    /// Returns the request's number.
    pub(super) fn add(&mut self, seen: Seen) -> usize {
        if self.kept.len() == MAX_REQUESTS {
            self.kept.pop_front();
            self.forgotten += 1;
        }
        self.kept.push_back(seen);
        self.forgotten + self.kept.len() - 1
    }

    pub(super) fn answered(&mut self, number: usize, status: u16) {
        let place = number.checked_sub(self.forgotten);
        if let Some(seen) = place.and_then(|place| self.kept.get_mut(place)) {
            seen.status = status;
        }
    }

    pub(super) fn all(&self) -> Vec<Seen> {
        self.kept.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(path: usize) -> Seen {
        Seen { method: "GET".into(), path: path.to_string(), query: Vec::new(), headers: Vec::new(), status: 0 }
    }

    #[test]
    fn the_last_are_kept_and_an_answer_finds_its_request() {
        let mut request_log = RequestLog::default();
        let numbers: Vec<usize> = (0..MAX_REQUESTS + 10).map(|path| request_log.add(seen(path))).collect();
        request_log.answered(numbers[3], 200);
        request_log.answered(numbers[10], 201);
        request_log.answered(numbers[MAX_REQUESTS + 9], 202);
        let all = request_log.all();
        let ends: Vec<(&str, u16)> =
            [&all[0], &all[1], &all[MAX_REQUESTS - 1]].map(|seen| (seen.path.as_str(), seen.status)).into();
        assert_eq!(all.len(), MAX_REQUESTS);
        assert_eq!(ends, [("10", 201), ("11", 0), ("100009", 202)]);
    }
}
