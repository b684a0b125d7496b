//! The status of a unit in its coverage row: one of five. Pure.

use crate::error::{ApiErrorKind, Error, Result};
use crate::resource::coverage::{Covered, TABLE};
use crate::transport::Response;
use arrow_array::RecordBatch;
use std::time::{SystemTime, UNIX_EPOCH};
use tables::from_rows::{categories, from_columns, integers, small_integers, texts, times};

/// The outcome of a unit. `rows`: of the first table, `None` if the operation has none.
pub(super) fn status(result: &std::result::Result<Option<usize>, Error>) -> &'static str {
    match result {
        Ok(Some(0)) => "empty",
        Ok(_) => "fetched",
        Err(Error::Api(response)) if response.kind == ApiErrorKind::PermissionDenied => "forbidden",
        Err(Error::Api(response)) if response.kind == ApiErrorKind::NotFound => "missing",
        // Also not accepted, throttled or out of order: says nothing about the data.
        Err(_) => "failed",
    }
}

/// The row of a unit, with its key and outcome. `first`: the first response, if any. `at`: when a unit without one ended.
pub(super) fn fill_row(
    unit: Covered,
    result: &std::result::Result<Option<usize>, Error>,
    first: Option<&Response>,
    attempts: u32,
    at: SystemTime,
) -> Covered {
    // An error document with status 200 says nothing about what exists.
    let is_refused = first.is_some_and(|first| first.refusal.is_some());
    let status = if is_refused { "failed" } else { status(result) };
    let served_at = first.and_then(|first| first.headers.iter().find(|(name, _)| name == "date"));
    let served_at = served_at.and_then(|(_, date)| httpdate::parse_http_date(date).ok());
    let of_error = if let Err(Error::Api(error)) = result { error.request_id.clone() } else { None };
    Covered {
        status: status.to_owned(),
        rows: result.as_ref().ok().copied().flatten().unwrap_or(0) as u64,
        request_id: first.and_then(|first| first.request_id.clone()).or(of_error).map(String::from),
        error: result.as_ref().err().map(ToString::to_string),
        attempts,
        fetched_at: epoch_ms(first.map_or(at, |first| first.fetched_at)),
        served_at: served_at.and_then(epoch_ms),
        ..unit
    }
}

fn epoch_ms(at: SystemTime) -> Option<i64> {
    at.duration_since(UNIX_EPOCH).ok().map(|since| since.as_millis() as i64)
}

pub fn table(rows: &[&Covered]) -> Result<RecordBatch> {
    let columns = vec![
        categories(rows.iter().map(|row| Some(row.operation.as_str()))),
        integers(rows.iter().map(|row| row.team_id)),
        texts(rows.iter().map(|row| row.game_id.as_deref())),
        texts(rows.iter().map(|row| row.session_id.as_deref())),
        times(rows.iter().map(|row| row.start)),
        times(rows.iter().map(|row| row.end)),
        categories(rows.iter().map(|row| Some(row.status.as_str()))),
        integers(rows.iter().map(|row| i64::try_from(row.rows).ok())),
        texts(rows.iter().map(|row| row.request_id.as_deref())),
        texts(rows.iter().map(|row| row.error.as_deref())),
        small_integers(rows.iter().map(|row| i32::try_from(row.attempts).ok())),
        times(rows.iter().map(|row| row.fetched_at)),
        texts(rows.iter().map(|row| Some(row.unit.as_str()))),
        times(rows.iter().map(|row| row.served_at)),
        times(rows.iter().map(|row| row.listed_at)),
    ];
    from_columns(&TABLE, columns).map_err(|error| Error::internal(error.to_string()).caused_by(error))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::error::ApiError;
    use crate::scrub::Scrubber;

    fn api_failure(kind: ApiErrorKind) -> std::result::Result<Option<usize>, Error> {
        Err(Error::Api(Box::new(ApiError {
            kind,
            status: 0,
            message: "no".into(),
            rules: Vec::new(),
            request_id: Some("r".into()),
            url: "http://host/".into(),
            attempts: 2,
            elapsed: Default::default(),
            advice: crate::advice::Advice::SeeMessage,
            hint: Default::default(),
            retry_after: None,
        })))
    }

    #[test]
    fn every_end_is_one_of_five() {
        assert_eq!(status(&Ok(Some(3))), "fetched");
        assert_eq!(status(&Ok(None)), "fetched");
        assert_eq!(status(&Ok(Some(0))), "empty");
        assert_eq!(status(&api_failure(ApiErrorKind::PermissionDenied)), "forbidden");
        assert_eq!(status(&api_failure(ApiErrorKind::NotFound)), "missing");
        use ApiErrorKind::{Authentication, InvalidRequest, Other, RateLimited, Server};
        for kind in [Authentication, InvalidRequest, RateLimited, Server, Other] {
            assert_eq!(status(&api_failure(kind)), "failed", "{kind:?}");
        }
        assert_eq!(status(&Err(crate::error::RequestErrorKind::Timeout.error("late"))), "failed");
    }

    #[test]
    fn a_row_says_which_unit_it_was_and_how_it_ended() {
        let unit = Covered { unit: "stats/s".into(), session_id: Some("s".into()), ..Covered::default() };
        let row = fill_row(unit, &api_failure(ApiErrorKind::NotFound), None, 2, UNIX_EPOCH);
        assert_eq!((row.unit.as_str(), row.session_id.as_deref()), ("stats/s", Some("s")));
        assert_eq!((row.attempts, row.request_id.as_deref()), (2, Some("r")));
        assert!(row.error.as_ref().unwrap().contains("returned 0: no"));
        let table = table(&[&row]).unwrap();
        assert_eq!((table.num_rows(), table.num_columns()), (1, 15));
    }

    #[test]
    fn an_error_document_of_a_200_is_a_failed_unit_and_the_service_s_time_is_kept() {
        let Err(error) = api_failure(ApiErrorKind::NotFound) else { panic!() };
        let response = |refusal: Option<Error>| Response {
            status: 200,
            headers: vec![("date".into(), "Thu, 01 Jan 1970 00:00:07 GMT".into())],
            body: Default::default(),
            url: Default::default(),
            scrubber: Scrubber::default(),
            request_id: None,
            elapsed: Default::default(),
            fetched_at: UNIX_EPOCH,
            attempts: 1,
            refusal: refusal.map(Box::new),
            redirect_refusal: None,
            lease: None,
            max_memory: None,
        };
        let refusal = response(Some(error.clone()));
        let row = fill_row(Covered::default(), &Err(error), Some(&refusal), 1, UNIX_EPOCH);
        assert_eq!((row.status.as_str(), row.served_at, row.listed_at), ("failed", Some(7_000), None));
        assert_eq!(fill_row(Covered::default(), &Ok(Some(1)), Some(&response(None)), 1, UNIX_EPOCH).status, "fetched");
    }
}
