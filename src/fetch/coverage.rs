//! How a unit ended: exactly one of five, whatever came. Pure.

use super::plan::Keys;
use crate::error::{ApiErrorKind, Error, Result};
use crate::resource::coverage::{COVERAGE, Covered};
use crate::table::{self, Body, Context};
use arrow_array::RecordBatch;
use std::time::{SystemTime, UNIX_EPOCH};

/// What a unit ended as. `rows`: of the first table, `None` where the operation has none.
pub(super) fn status(ended: &std::result::Result<Option<usize>, Error>) -> &'static str {
    match ended {
        Ok(Some(0)) => "empty",
        Ok(_) => "fetched",
        Err(Error::Api(answer)) => match answer.kind {
            ApiErrorKind::PermissionDenied => "forbidden",
            ApiErrorKind::NotFound => "missing",
            // Not accepted, throttled, out of order: it says nothing of what was asked for.
            _ => "failed",
        },
        Err(_) => "failed",
    }
}

pub(super) fn covered(
    keys: Keys,
    ended: &std::result::Result<Option<usize>, Error>,
    request_id: Option<String>,
    attempts: u32,
    at: SystemTime,
) -> Covered {
    let error = ended.as_ref().err();
    let of_error = error.and_then(|error| match error {
        Error::Api(answer) => answer.request_id.clone(),
        _ => None,
    });
    Covered {
        operation: keys.operation.to_owned(),
        // An id of another system may be no number.
        team_id: keys.team_id.and_then(|id| id.parse().ok()),
        game_id: keys.game_id,
        session_id: keys.session_id,
        start: keys.start,
        end: keys.end,
        status: status(ended).to_owned(),
        rows: ended.as_ref().ok().copied().flatten().unwrap_or(0) as u64,
        request_id: request_id.or(of_error),
        error: error.map(ToString::to_string),
        attempts,
        fetched_at: at.duration_since(UNIX_EPOCH).ok().map(|since| since.as_millis() as i64),
    }
}

/// The table `coverage`.
pub fn table(rows: &[Covered]) -> Result<RecordBatch> {
    let json = serde_json::to_vec(rows).map_err(|error| Error::Argument(error.to_string()))?;
    table::decode(&COVERAGE, "coverage", None, &Body::from(json), &Context::default()).map_err(Error::Decode)
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::error::ApiError;

    fn answered(kind: ApiErrorKind) -> std::result::Result<Option<usize>, Error> {
        Err(Error::Api(Box::new(ApiError {
            kind,
            status: 0,
            message: "no".into(),
            rules: Vec::new(),
            request_id: Some("r".into()),
            method: "GET".into(),
            url: "http://host/".into(),
            attempts: 2,
            hint: String::new(),
        })))
    }

    #[test]
    fn every_end_is_one_of_five() {
        assert_eq!(status(&Ok(Some(3))), "fetched");
        assert_eq!(status(&Ok(None)), "fetched");
        assert_eq!(status(&Ok(Some(0))), "empty");
        assert_eq!(status(&answered(ApiErrorKind::PermissionDenied)), "forbidden");
        assert_eq!(status(&answered(ApiErrorKind::NotFound)), "missing");
        use ApiErrorKind::{Authentication, InvalidRequest, Other, RateLimited, Server};
        for kind in [Authentication, InvalidRequest, RateLimited, Server, Other] {
            assert_eq!(status(&answered(kind)), "failed", "{kind:?}");
        }
        assert_eq!(status(&Err(Error::Timeout("late".into()))), "failed");
    }

    #[test]
    fn a_row_says_which_unit_it_was_and_how_it_ended() {
        let keys =
            Keys { operation: "stats", team_id: Some("KU".into()), session_id: Some("s".into()), ..Keys::default() };
        let row = covered(keys, &answered(ApiErrorKind::NotFound), None, 2, UNIX_EPOCH);
        assert_eq!((row.team_id, row.session_id.as_deref(), row.request_id.as_deref()), (None, Some("s"), Some("r")));
        assert!(row.error.as_ref().unwrap().contains("answered 0: no"));
        let table = table(&[row]).unwrap();
        assert_eq!((table.num_rows(), table.num_columns()), (1, 12));
    }
}
