//! The request log. It is bounded: a service that runs for days forgets its first requests.

use super::Seen;
use std::collections::VecDeque;

/// About 100 MB.
const MAX_REQUESTS: usize = 100_000;

/// The latest requests, in order of arrival.
#[derive(Debug, Default)]
pub(super) struct RequestLog {
    dropped_requests: usize,
    requests: VecDeque<Seen>,
}

impl RequestLog {
    /// Returns the request's number.
    pub(super) fn add(&mut self, seen: Seen) -> usize {
        if self.requests.len() == MAX_REQUESTS {
            self.requests.pop_front();
            self.dropped_requests += 1;
        }
        self.requests.push_back(seen);
        self.dropped_requests + self.requests.len() - 1
    }

    pub(super) fn set_status(&mut self, number: usize, status: u16) {
        let place = number.checked_sub(self.dropped_requests);
        if let Some(seen) = place.and_then(|place| self.requests.get_mut(place)) {
            seen.status = status;
        }
    }

    pub(super) fn requests(&self) -> Vec<Seen> {
        self.requests.iter().cloned().collect()
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
        request_log.set_status(numbers[3], 200);
        request_log.set_status(numbers[10], 201);
        request_log.set_status(numbers[MAX_REQUESTS + 9], 202);
        let requests = request_log.requests();
        let ends: Vec<(&str, u16)> = [&requests[0], &requests[1], &requests[MAX_REQUESTS - 1]]
            .map(|seen| (seen.path.as_str(), seen.status))
            .into();
        assert_eq!(requests.len(), MAX_REQUESTS);
        assert_eq!(ends, [("10", 201), ("11", 0), ("100009", 202)]);
    }
}
