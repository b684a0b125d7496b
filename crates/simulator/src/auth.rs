//! Authentication: signatures of the REST API and keys of the Broadcast API, with the gateway's errors. Shares no code
//! with the client, so that a mistake in its signer cannot agree with itself.

use super::Privileges;
use crate::secret::Secret;
use axum::http::header::{AUTHORIZATION, DATE, HOST};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Version};
use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use std::collections::HashMap;
use std::time::{Duration, SystemTime};

/// The credential of a username.
#[derive(Debug, Clone)]
pub(super) struct StoredCredential {
    pub(super) secret: Secret,
    pub(super) privileges: Privileges,
}

pub(super) type StoredCredentials = HashMap<String, StoredCredential>;

pub(super) const NO_AUTHORIZATION: &str = "Unauthorized";
pub(super) const NO_VALID_DATE: &str =
    "HMAC signature cannot be verified, a valid date or x-date header is required for HMAC Authentication";
pub(super) const CANNOT_BE_VERIFIED: &str = "HMAC signature cannot be verified";
pub(super) const DOES_NOT_MATCH: &str = "HMAC signature does not match";
pub(super) const NO_KEY: &str = "No API key found in request";
pub(super) const WRONG_KEY: &str = "Invalid authentication credentials";
pub(super) const TWO_KEYS: &str = "Duplicate API key found";

const MAX_SKEW_MS: Duration = Duration::from_secs(5 * 60);

/// Checks a signed request, in the gateway's order; the error is its message. All have status 401.
pub(super) fn check_signature(
    request: &Parts,
    credentials: &StoredCredentials,
    now: SystemTime,
) -> Result<Privileges, &'static str> {
    if !request.headers.contains_key(AUTHORIZATION) {
        return Err(NO_AUTHORIZATION);
    }
    let date = single(&request.headers, DATE).ok_or(NO_VALID_DATE)?;
    if !is_near(date, now) {
        return Err(NO_VALID_DATE);
    }
    let authorization =
        single(&request.headers, AUTHORIZATION).and_then(Authorization::parse).ok_or(CANNOT_BE_VERIFIED)?;
    if authorization.algorithm != "hmac-sha1" || authorization.headers != "date host request-line" {
        return Err(CANNOT_BE_VERIFIED);
    }
    let credential = credentials.get(authorization.username).ok_or(CANNOT_BE_VERIFIED)?;
    // A request without a host, or with two, is signed over something else than it carries.
    let host = single(&request.headers, HOST).ok_or(DOES_NOT_MATCH)?;
    let version = match request.version {
        Version::HTTP_10 => "HTTP/1.0",
        _ => "HTTP/1.1",
    };
    let mut mac =
        Hmac::<Sha1>::new_from_slice(credential.secret.expose().as_bytes()).map_err(|_| CANNOT_BE_VERIFIED)?;
    for part in ["date: ", date, "\nhost: ", host, "\n", request.method.as_str(), " ", request.uri.path(), " ", version]
    {
        mac.update(part.as_bytes());
    }
    let signature = STANDARD.decode(authorization.signature).map_err(|_| DOES_NOT_MATCH)?;
    mac.verify_slice(&signature).map_err(|_| DOES_NOT_MATCH)?;
    Ok(credential.privileges.clone())
}

/// Checks a Broadcast request's key, from a header or else from the query.
pub(super) fn check_key(headers: &HeaderMap, query: &[(String, String)], key: &Secret) -> Result<(), &'static str> {
    let keys: Vec<&[u8]> = headers.get_all("apikey").iter().map(|value| value.as_bytes()).collect();
    let keys = match keys.is_empty() {
        true => query.iter().filter(|(name, _)| name == "apikey").map(|(_, value)| value.as_bytes()).collect(),
        false => keys,
    };
    match keys[..] {
        [] => Err(NO_KEY),
        [key_sent] if key_sent == key.expose().as_bytes() => Ok(()),
        [_] => Err(WRONG_KEY),
        _ => Err(TWO_KEYS),
    }
}

/// The pairs of an Authorization header: in this order, in double quotes, without escapes.
#[derive(Debug, PartialEq)]
struct Authorization<'a> {
    username: &'a str,
    algorithm: &'a str,
    headers: &'a str,
    signature: &'a str,
}

impl<'a> Authorization<'a> {
    /// Parsed from its end, like the gateway's greedy pattern: a quote or comma belongs to the username.
    fn parse(header: &'a str) -> Option<Self> {
        let pairs = header.strip_prefix("hmac ")?.trim_start().strip_suffix('"')?;
        let (pairs, signature) = last(pairs, "signature=\"")?;
        let (pairs, headers) = last(pairs, "headers=\"")?;
        let (pairs, algorithm) = last(pairs, "algorithm=\"")?;
        let username = pairs.strip_prefix("username=\"").filter(|username| !username.is_empty())?;
        Some(Authorization { username, algorithm, headers, signature })
    }
}

/// Splits off the last pair: the text before it, and its value.
fn last<'a>(pairs: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let (before, value) = pairs.rsplit_once(name)?;
    let before = before.trim_end_matches([' ', '\t']).strip_suffix("\",")?;
    (!value.is_empty() && !value.contains('"')).then_some((before, value))
}

/// A header that occurs exactly once, as text.
fn single(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (Some(value), None) => std::str::from_utf8(value.as_bytes()).ok(),
        _ => None,
    }
}

/// Whether a date is within the skew. Dates are in whole seconds, so the clock is truncated too.
fn is_near(date: &str, now: SystemTime) -> bool {
    let Ok(date) = httpdate::parse_http_date(date) else { return false };
    let seconds = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    seconds(date).abs_diff(seconds(now)) <= MAX_SKEW_MS.as_secs()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]
    use super::*;
    use axum::http::Request;

    /// 21 November 2026, 01:00:00 UTC.
    const NOW: u64 = 1_795_222_800;
    const DATE_TEXT: &str = "Sat, 21 Nov 2026 01:00:00 GMT";
    const HEADER: &str =
        r#"hmac username="u1",algorithm="hmac-sha1",headers="date host request-line",signature="SIGNATURE""#;
    /// `printf 'date: Sat, 21 Nov 2026 01:00:00 GMT\nhost: api.shottracker.com\nGET /v1/data/teams HTTP/1.1' |
    /// openssl dgst -sha1 -hmac s3cret -binary | base64`
    const SIGNATURE: &str = "4CpLOVcUegcsHCOOxpT01DnKJ3Q=";

    fn at(seconds: i64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(NOW.checked_add_signed(seconds).unwrap())
    }

    fn credentials() -> StoredCredentials {
        let privileges = Privileges { stats: true, shots: false, restricted_teams: vec![4] };
        HashMap::from([("u1".into(), StoredCredential { secret: Secret::new("s3cret"), privileges })])
    }

    fn request(headers: &[(&str, &str)], method: &str, target: &str) -> Parts {
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn good() -> Vec<(&'static str, String)> {
        vec![
            ("date", DATE_TEXT.into()),
            ("host", "api.shottracker.com".into()),
            ("authorization", HEADER.replace("SIGNATURE", SIGNATURE)),
        ]
    }

    fn check(headers: &[(&'static str, String)], method: &str, target: &str) -> Result<Privileges, &'static str> {
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        check_signature(&request(&headers, method, target), &credentials(), at(0))
    }

    /// A good request with one header changed.
    fn with(name: &str, value: &str) -> Result<Privileges, &'static str> {
        let mut headers = good();
        headers.iter_mut().find(|(n, _)| *n == name).unwrap().1 = value.into();
        check(&headers, "GET", "/v1/data/teams")
    }

    fn check_without(name: &str) -> Result<Privileges, &'static str> {
        let headers: Vec<_> = good().into_iter().filter(|(n, _)| *n != name).collect();
        check(&headers, "GET", "/v1/data/teams")
    }

    fn check_twice(name: &str) -> Result<Privileges, &'static str> {
        let mut headers = good();
        headers.push(headers.iter().find(|(n, _)| *n == name).unwrap().clone());
        check(&headers, "GET", "/v1/data/teams")
    }

    #[test]
    fn a_signature_that_openssl_made_is_accepted() {
        let privileges = check(&good(), "GET", "/v1/data/teams").unwrap();
        assert_eq!(privileges, Privileges { stats: true, shots: false, restricted_teams: vec![4] });
    }

    #[test]
    fn the_query_is_not_signed() {
        assert!(check(&good(), "GET", "/v1/data/teams?from=1").is_ok());
    }

    #[test]
    fn each_signed_part_counts() {
        assert_eq!(check(&good(), "PUT", "/v1/data/teams"), Err(DOES_NOT_MATCH));
        assert_eq!(check(&good(), "GET", "/v1/data/teams/"), Err(DOES_NOT_MATCH));
        assert_eq!(with("host", "api.shottracker.com:443"), Err(DOES_NOT_MATCH));
        assert_eq!(with("date", "Sat, 21 Nov 2026 01:00:01 GMT"), Err(DOES_NOT_MATCH));
        for signature in ["AAAA", "no base64", &SIGNATURE.to_lowercase(), &format!("{SIGNATURE}=")] {
            assert_eq!(with("authorization", &HEADER.replace("SIGNATURE", signature)), Err(DOES_NOT_MATCH));
        }
    }

    #[test]
    fn the_version_is_signed_as_it_came() {
        let headers = good();
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let mut parts = request(&headers, "GET", "/v1/data/teams");
        parts.version = Version::HTTP_10;
        assert_eq!(check_signature(&parts, &credentials(), at(0)), Err(DOES_NOT_MATCH));
    }

    #[test]
    fn a_header_that_is_missing_or_doubled_is_refused() {
        assert_eq!(check_without("authorization"), Err(NO_AUTHORIZATION));
        assert_eq!(check_without("date"), Err(NO_VALID_DATE));
        assert_eq!(check_without("host"), Err(DOES_NOT_MATCH));
        assert_eq!(check_twice("authorization"), Err(CANNOT_BE_VERIFIED));
        assert_eq!(check_twice("date"), Err(NO_VALID_DATE));
        assert_eq!(check_twice("host"), Err(DOES_NOT_MATCH));
    }

    #[test]
    fn five_minutes_of_skew_pass_and_a_second_more_does_not() {
        let headers = good();
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let parts = request(&headers, "GET", "/v1/data/teams");
        for skew in [-300, -299, 299, 300] {
            assert!(check_signature(&parts, &credentials(), at(skew)).is_ok(), "{skew}");
        }
        for skew in [-301, 301, 86_400] {
            assert_eq!(check_signature(&parts, &credentials(), at(skew)), Err(NO_VALID_DATE), "{skew}");
        }
        // Half a second into the last second is still that second.
        assert!(check_signature(&parts, &credentials(), at(300) + Duration::from_millis(500)).is_ok());
        assert_eq!(with("date", "yesterday"), Err(NO_VALID_DATE));
    }

    #[test]
    fn the_grammar_is_strict() {
        let good = HEADER.replace("SIGNATURE", SIGNATURE);
        assert!(with("authorization", &good.replace("\",", "\", ")).is_ok(), "blanks after commas are tolerated");
        for invalid_header in [
            good.replace("hmac ", "hmac"),
            good.replace("hmac ", "Hmac "),
            good.replace("hmac ", "Basic "),
            good.replace('"', ""),
            good.replace('"', "'"),
            good.replace("\",", "\" ,"),
            good.replace("\",", "\";"),
            good.replace("username=", "user="),
            good.replace("u1", "u2"),
            good.replace("u1", ""),
            good.replace("hmac-sha1", "hmac-sha256"),
            good.replace("date host request-line", "date request-line"),
            good.replace("date host request-line", "host date request-line"),
            good.replace("date host request-line", "date host @request-target"),
            format!("{good} "),
            format!("{good},x=\"y\""),
            format!(
                r#"hmac algorithm="hmac-sha1",username="u1",headers="date host request-line",signature="{SIGNATURE}""#
            ),
            format!(
                r#"hmac username="u1",headers="date host request-line",algorithm="hmac-sha1",signature="{SIGNATURE}""#
            ),
            format!(r#"hmac username="u1",algorithm="hmac-sha1",signature="{SIGNATURE}""#),
            "hmac ".into(),
            "hmac \"".into(),
        ] {
            assert_eq!(with("authorization", &invalid_header), Err(CANNOT_BE_VERIFIED), "{invalid_header}");
        }
    }

    #[test]
    fn a_username_may_hold_quotes_and_commas() {
        let header = HEADER.replace("u1", r#"a",b"c"#);
        assert_eq!(Authorization::parse(&header).unwrap().username, r#"a",b"c"#);
    }

    #[test]
    fn a_key_comes_once_by_header_or_query() {
        let key = Secret::new("k");
        let check = |headers: &[&str], query: &[&str]| {
            let headers: Vec<(&str, &str)> = headers.iter().map(|value| ("apikey", *value)).collect();
            let mut pairs = vec![("from".to_string(), "1".to_string())];
            pairs.extend(query.iter().map(|value| ("apikey".to_string(), value.to_string())));
            check_key(&request(&headers, "GET", "/").headers, &pairs, &key)
        };
        assert_eq!(check(&["k"], &[]), Ok(()));
        assert_eq!(check(&[], &["k"]), Ok(()));
        assert_eq!(check(&[], &[]), Err(NO_KEY));
        assert_eq!(check(&[], &["x"]), Err(WRONG_KEY));
        assert_eq!(check(&["x"], &[]), Err(WRONG_KEY));
        assert_eq!(check(&["k", "k"], &[]), Err(TWO_KEYS));
        assert_eq!(check(&[], &["k", "k"]), Err(TWO_KEYS));
    }
}
