//! Secrets out of texts. Every address that is shown, logged or kept in an error passes here.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What takes a secret's place, as in `Secret`'s own `Debug`.
const STARS: &str = "***";

/// Parameters whose value is a credential (specification 5.3, facts 3.3).
const SECRET_PARAMETERS: [&str; 2] = ["apikey", "token"];

/// How libraries write a query's value: all but letters and digits encoded, or these left, or a slash too.
const SPELLINGS: [&AsciiSet; 3] = [
    NON_ALPHANUMERIC,
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~'),
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/'),
];

/// An address without the values of secret parameters and without a username and password.
pub(crate) fn url(address: &str) -> String {
    let (head, query) = address.split_once('?').map_or((address, None), |(head, query)| (head, Some(query)));
    let head = without_userinfo(head);
    let Some(query) = query else { return head };
    let pairs: Vec<String> = query.split('&').map(pair).collect();
    format!("{head}?{}", pairs.join("&"))
}

fn pair(pair: &str) -> String {
    let Some((name, _)) = pair.split_once('=') else { return pair.to_string() };
    let plain = percent_decode_str(name).decode_utf8_lossy().to_ascii_lowercase();
    match SECRET_PARAMETERS.contains(&plain.as_str()) {
        true => format!("{name}={STARS}"),
        false => pair.to_string(),
    }
}

fn without_userinfo(head: &str) -> String {
    let Some((scheme, rest)) = head.split_once("//") else { return head.to_string() };
    let authority = rest.split('/').next().unwrap_or_default();
    match authority.rfind('@') {
        Some(at) => format!("{scheme}//{}", &rest[at + 1..]),
        None => head.to_string(),
    }
}

/// A text of a peer or a library without the secrets it may repeat: as they are, percent-encoded, as base64 or hex. Very short
/// ones would tear words apart and protect nothing.
pub(crate) fn secrets(text: String, secrets: &[String]) -> String {
    let mut text = text;
    for secret in secrets.iter().filter(|secret| secret.len() >= 4) {
        text = text.replace(secret, STARS);
        for encoded in SPELLINGS.map(|spelling| utf8_percent_encode(secret, spelling).to_string()) {
            text = text.replace(&encoded, STARS).replace(&in_lower_case(&encoded), STARS);
        }
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        for encoded in [STANDARD.encode(secret), URL_SAFE.encode(secret), hex.to_uppercase(), hex] {
            text = text.replace(encoded.trim_end_matches('='), STARS);
        }
    }
    text
}

/// A percent-encoded text with `%2f` for `%2F`; its letters stay.
fn in_lower_case(encoded: &str) -> String {
    let mut digits = 0;
    let lower = |letter: char| {
        digits = if letter == '%' { 2 } else { i32::max(digits - 1, -1) };
        if digits >= 0 { letter.to_ascii_lowercase() } else { letter }
    };
    encoded.chars().map(lower).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_credentials() {
        for (given, shown) in [
            ("https://h/p?schedule_id=5&apikey=canary", "https://h/p?schedule_id=5&apikey=***"),
            ("https://h/p?APIKEY=canary&x=1", "https://h/p?APIKEY=***&x=1"),
            ("https://h/p?%61pikey=canary", "https://h/p?%61pikey=***"),
            ("wss://h/live/v2/games?token=canary", "wss://h/live/v2/games?token=***"),
            ("https://ann:canary@h:1/a@b?x=c@d", "https://h:1/a@b?x=c@d"),
            ("/v1/data/teams?id=a@b", "/v1/data/teams?id=a@b"),
        ] {
            assert_eq!(url(given), shown);
        }
    }

    #[test]
    fn a_secret_that_a_peer_repeats_is_hidden() {
        let given = |secrets: &[&str]| secrets.iter().map(|s| s.to_string()).collect::<Vec<_>>();
        assert_eq!(secrets("bad key canary-1!".into(), &given(&["canary-1", "ab"])), "bad key ***!");
        assert_eq!(secrets("at /x?k=canary%2D1&y".into(), &given(&["canary-1"])), "at /x?k=***&y");
        for spelled in [
            "caNary/1+",
            "caNary%2F1%2B",
            "caNary%2f1%2b",
            "caNary/1%2B",
            "Y2FOYXJ5LzEr",
            "63614e6172792f312b",
            "63614E6172792F312B",
        ] {
            assert_eq!(secrets(format!("a {spelled} b"), &given(&["caNary/1+"])), "a *** b");
        }
        assert_eq!(secrets("about".into(), &given(&["ab", ""])), "about");
    }
}
