//! Redirects. A credential is for one server, so only redirects to the same server are followed.

use crate::scrub::{Scrubbed, Scrubber};
use url::Url;

/// More consecutive redirects count as a loop.
pub(super) const MAX_REDIRECTS: u32 = 5;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    /// The response is not a redirect.
    No,
    Follow(Url),
    /// With the reason.
    Refused(Scrubbed),
}

/// `redirects`: the number of redirects that have been followed already.
pub(super) fn evaluate(
    from: &Url,
    status: u16,
    location: Option<&str>,
    redirects: u32,
    scrubber: &Scrubber,
) -> Redirect {
    let (301 | 302 | 303 | 307 | 308, Some(location)) = (status, location) else { return Redirect::No };
    let Ok(to) = from.join(location) else {
        return Redirect::Refused("refused redirect to an invalid address".into());
    };
    let target = scrubber.url(&to);
    let refuse = |reason: String| Redirect::Refused(scrubber.message(format!("refused redirect to {target}{reason}")));
    if to.origin() != from.origin() || !to.username().is_empty() || to.password().is_some() {
        return refuse(", which is a different server".into());
    }
    if redirects >= MAX_REDIRECTS {
        return refuse(format!(" after {redirects} redirects in a row"));
    }
    Redirect::Follow(to)
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn evaluate(status: u16, location: &str, redirects: u32) -> Redirect {
        super::evaluate(
            &Url::parse("https://host/v1/data/teams?x=1").unwrap(),
            status,
            Some(location),
            redirects,
            &Scrubber::default(),
        )
    }

    #[test]
    fn redirects_to_the_same_server_are_followed() {
        for status in [301, 302, 303, 307, 308] {
            let expected = Redirect::Follow(Url::parse("https://host/v2/teams?y=2").unwrap());
            assert_eq!(evaluate(status, "/v2/teams?y=2", 0), expected);
            assert_eq!(evaluate(status, "https://HOST:443/v2/teams?y=2", 4), expected);
        }
    }

    #[test]
    fn other_redirects_are_refused_without_showing_secrets() {
        for location in [
            "http://host/v2",
            "https://other/v2",
            "https://host:8443/",
            "//other/",
            "https://u:canary@host/",
            "https://[",
        ] {
            let Redirect::Refused(reason) = evaluate(302, location, 0) else { panic!("{location} was followed") };
            assert!(!reason.contains("canary"), "{reason}");
        }
        assert!(matches!(evaluate(302, "/again", MAX_REDIRECTS), Redirect::Refused(_)));
    }

    #[test]
    fn responses_without_a_redirect_status_or_location_are_not_redirects() {
        assert_eq!(evaluate(304, "/x", 0), Redirect::No);
        assert_eq!(evaluate(200, "/x", 0), Redirect::No);
        assert_eq!(
            super::evaluate(&Url::parse("https://h/").unwrap(), 302, None, 0, &Scrubber::default()),
            Redirect::No
        );
    }
}
