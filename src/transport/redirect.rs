//! Redirects. A signature and a key are for one server: only its own redirects are followed.

use crate::scrub::{Scrubbed, Scrubber};
use url::Url;

/// More in a row is a loop.
pub(super) const MOST: u32 = 5;

/// What a redirect leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    /// The answer is none.
    No,
    Follow(Url),
    /// Why it is not followed.
    Refused(Scrubbed),
}

pub(super) fn read(from: &Url, status: u16, location: Option<&str>, followed: u32, scrubber: &Scrubber) -> Redirect {
    let (301 | 302 | 303 | 307 | 308, Some(location)) = (status, location) else { return Redirect::No };
    let Ok(to) = from.join(location) else {
        return Redirect::Refused("refused redirect to what is no address".into());
    };
    let shown = scrubber.url(to.as_str());
    if to.origin() != from.origin() || !to.username().is_empty() || to.password().is_some() {
        return Redirect::Refused(scrubber.message(format!("refused redirect to {shown}, which is another server")));
    }
    if followed >= MOST {
        return Redirect::Refused(
            scrubber.message(format!("refused redirect to {shown}, the {}th in a row", followed + 1)),
        );
    }
    Redirect::Follow(to)
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn read(status: u16, location: &str, followed: u32) -> Redirect {
        super::read(
            &Url::parse("https://host/v1/data/teams?x=1").unwrap(),
            status,
            Some(location),
            followed,
            &Scrubber::default(),
        )
    }

    #[test]
    fn a_redirect_to_the_same_server_is_followed() {
        for status in [301, 302, 303, 307, 308] {
            let expected = Redirect::Follow(Url::parse("https://host/v2/teams?y=2").unwrap());
            assert_eq!(read(status, "/v2/teams?y=2", 0), expected);
            assert_eq!(read(status, "https://HOST:443/v2/teams?y=2", 4), expected);
        }
    }

    #[test]
    fn any_other_is_refused_without_its_secrets() {
        for location in [
            "http://host/v2",
            "https://other/v2",
            "https://host:8443/",
            "//other/",
            "https://u:canary@host/",
            "https://[",
        ] {
            let Redirect::Refused(why) = read(302, location, 0) else { panic!("{location} was followed") };
            assert!(!why.contains("canary"), "{why}");
        }
        assert!(matches!(read(302, "/again", MOST), Redirect::Refused(_)));
    }

    #[test]
    fn other_answers_are_no_redirects() {
        assert_eq!(read(304, "/x", 0), Redirect::No);
        assert_eq!(read(200, "/x", 0), Redirect::No);
        assert_eq!(super::read(&Url::parse("https://h/").unwrap(), 302, None, 0, &Scrubber::default()), Redirect::No);
    }
}
