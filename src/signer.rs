//! The signature of a REST request. Pure: the clock is an argument.

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;

/// The three signed lines, joined by newlines, without a final one. `path` has no query.
pub fn string_to_sign(date: &str, host: &str, method: &str, path: &str) -> String {
    format!("date: {}\nhost: {host}\n{method} {path} HTTP/1.1", date.trim())
}

/// HMAC-SHA1 over the string to sign, in base64.
pub fn signature(secret: &[u8], string_to_sign: &str) -> String {
    // HMAC accepts a key of any length, so this cannot fail; the service would reject an empty signature.
    let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(secret) else { return String::new() };
    mac.update(string_to_sign.as_bytes());
    STANDARD.encode(mac.finalize().into_bytes())
}

/// The Authorization header. Order and spacing follow the vendor's samples: the gateway's grammar is strict.
pub fn authorization(username: &str, secret: &[u8], date: &str, host: &str, method: &str, path: &str) -> String {
    let signature = signature(secret, &string_to_sign(date, host, method, path));
    format!(
        r#"hmac username="{username}",algorithm="hmac-sha1",headers="date host request-line",signature="{signature}""#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATE: &str = "Sun, 01 Nov 2026 12:00:00 GMT";

    // Expected values: printf '<string to sign>' | openssl dgst -sha1 -hmac '<secret>' -binary | base64

    #[test]
    fn three_lines_are_signed_without_a_newline_at_the_end() {
        let text = string_to_sign(" Sun, 01 Nov 2026 12:00:00 GMT ", "127.0.0.1:8080", "GET", "/v1/data/teams");
        assert_eq!(text, "date: Sun, 01 Nov 2026 12:00:00 GMT\nhost: 127.0.0.1:8080\nGET /v1/data/teams HTTP/1.1");
    }

    #[test]
    fn the_signature_is_that_of_openssl() {
        let text = string_to_sign(DATE, "api.shottracker.com", "GET", "/v1/data/teams/46/events");
        assert_eq!(signature(b"a secret & more", &text), "m2iH9s96Kme8k0srUy5uLoP66IA=");
        let text = string_to_sign(DATE, "127.0.0.1:8080", "GET", "/v1/data/teams");
        assert_eq!(signature(b"", &text), "BZl16PjL9A3iUhLQiN9OxRFY3b4=");
    }

    #[test]
    fn the_header_has_its_pairs_in_the_gateways_order_without_blanks() {
        let header =
            authorization("a b", b"a secret & more", DATE, "api.shottracker.com", "GET", "/v1/data/teams/46/events");
        let expected = concat!(
            r#"hmac username="a b",algorithm="hmac-sha1",headers="date host request-line","#,
            r#"signature="m2iH9s96Kme8k0srUy5uLoP66IA=""#
        );
        assert_eq!(header, expected);
    }
}
