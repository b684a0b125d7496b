//! Further headers of every request (`headers=`): which names are refused, and which carry credentials.

use super::{Secret, no_control_characters};
use crate::error::{Error, Result};

/// A header that the user adds to every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FurtherHeader {
    pub name: String,
    /// `None`: a credential that a pickle does not carry.
    pub value: Option<Secret>,
}

impl FurtherHeader {
    /// Whether its value is a credential, by its name.
    pub fn is_credential(&self) -> bool {
        let name = self.name.to_ascii_lowercase();
        CREDENTIAL_WORDS.iter().any(|word| name.contains(word))
    }

    /// The value, unless it is a credential.
    pub fn public_value(&self) -> Option<&str> {
        self.value.as_ref().filter(|_| !self.is_credential()).map(Secret::expose)
    }
}

const CREDENTIAL_WORDS: [&str; 11] =
    ["auth", "cookie", "credential", "csrf", "jwt", "key", "pass", "secret", "session", "signature", "token"];

/// Headers of the signature, of the protocol, and those that this client sends itself.
const RESERVED_NAMES: [&str; 23] = [
    "accept",
    "accept-encoding",
    "apikey",
    "authorization",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "date",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "last-event-id",
    "origin",
    "range",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "via",
];

/// Whether only this client, its HTTP library or a proxy may set a header.
pub(crate) fn is_reserved_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    RESERVED_NAMES.contains(&&*name) || ["sec-", "proxy-", "if-"].iter().any(|prefix| name.starts_with(prefix))
}

/// The credentials among them.
pub(super) fn secrets(headers: &[FurtherHeader]) -> impl Iterator<Item = String> {
    let credentials = headers.iter().filter(|header| header.is_credential());
    credentials.filter_map(|header| header.value.as_ref()).map(|value| value.expose().to_owned())
}

/// Refuses names that are reserved, repeated or invalid, and values that no header can carry. No error shows a value.
pub(super) fn check(headers: Vec<FurtherHeader>) -> Result<Vec<FurtherHeader>> {
    for (place, header) in headers.iter().enumerate() {
        let name = &header.name;
        let refuse = |reason: &str| Err(Error::configuration(format!("headers has {name:?}, {reason}")));
        if name.is_empty()
            || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
        {
            return refuse("which is not the name of a header: write letters, digits and hyphens");
        }
        match &*name.to_ascii_lowercase() {
            "user-agent" => return refuse("which has its own option: give user_agent="),
            "apikey" => {
                return refuse("which carries the key of the Broadcast API: give api_key= and api_key_in=\"header\"");
            }
            "authorization" | "date" | "host" => {
                return refuse("which belongs to the signature of a request; leave it out: sideline sets it");
            }
            name if is_reserved_header(name) => {
                return refuse("which belongs to the protocol; leave it out: sideline sets it where it is needed");
            }
            _ => {}
        }
        let is_same = |other: &FurtherHeader| other.name.eq_ignore_ascii_case(name);
        if headers.iter().take(place).any(is_same) {
            return refuse("twice (case does not matter): give one value");
        }
        if let Some(value) = &header.value {
            no_control_characters(value.expose().to_owned(), &format!("headers[{name:?}]"))?;
        }
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::config::ClientOptions;

    fn headers(pairs: &[(&str, &str)]) -> Vec<FurtherHeader> {
        let header =
            |(name, value): &(&str, &str)| FurtherHeader { name: (*name).into(), value: Some(Secret::new(*value)) };
        pairs.iter().map(header).collect()
    }

    #[test]
    fn reserved_repeated_and_invalid_headers_are_refused_without_their_value() {
        for pairs in [
            &[("Host", "canary")][..],
            &[("date", "canary")],
            &[("Authorization", "canary")],
            &[("Accept-Encoding", "canary")],
            &[("Sec-WebSocket-Key", "canary")],
            &[("Proxy-Authorization", "canary")],
            &[("User-Agent", "canary")],
            &[("apikey", "canary")],
            &[("", "canary")],
            &[("X Tenant", "canary")],
            &[("X-Tenant", "a"), ("x-tenant", "canary")],
            &[("X-Tenant", "canary\n")],
        ] {
            let text = check(headers(pairs)).unwrap_err().to_string();
            assert!(text.contains("headers") && !text.contains("canary"), "{text}");
        }
        assert_eq!(check(headers(&[("X-Tenant", "a"), ("Cookie", "b")])).unwrap().len(), 2);
    }

    #[test]
    fn the_scrubber_hides_credentials_only() {
        let pairs = [("X-Tenant", "tenant-17"), ("X-Gateway-Token", "canary-17")];
        let config = ClientOptions { headers: headers(&pairs), ..ClientOptions::default() }.resolve(&|_| None).unwrap();
        assert_eq!(config.scrubber().message("tenant-17 canary-17"), "tenant-17 ***");
        assert!(!format!("{config:?}").contains("canary-17"));
    }
}
