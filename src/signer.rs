//! Signature of a REST request (specification 5.1). Pure: the clock is given.

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;

/// The three lines that are signed, joined by newlines, none at the end. `path` goes without its query.
pub fn string_to_sign(date: &str, host: &str, method: &str, path: &str) -> String {
    format!("date: {}\nhost: {host}\n{method} {path} HTTP/1.1", date.trim())
}

/// HMAC-SHA1 over the string to sign, in base64.
pub fn signature(secret: &[u8], string_to_sign: &str) -> String {
    // HMAC takes a key of any length, so this cannot fail; an empty answer would be refused by the service, loudly.
    let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(secret) else { return String::new() };
    mac.update(string_to_sign.as_bytes());
    STANDARD.encode(mac.finalize().into_bytes())
}

/// The Authorization header. Its pairs stand in this order and without blanks, as in all of the vendor's samples: the
/// gateway's grammar is strict (facts 3.1, 3.2).
pub fn authorization(username: &str, secret: &[u8], date: &str, host: &str, method: &str, path: &str) -> String {
    let signature = signature(secret, &string_to_sign(date, host, method, path));
    format!(
        r#"hmac username="{username}",algorithm="hmac-sha1",headers="date host request-line",signature="{signature}""#
    )
}
