//! How requests are authenticated. A scheme is declared here; its credential is `transport::authentication`.

use crate::advice::Advice;
use crate::config::Config;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// Signature over date, host and request line; sent to the REST base.
    Signed,
    /// Key in the query; sent to the Broadcast base.
    ApiKey,
}

/// What follows from a scheme.
pub(crate) struct Scheme {
    /// The address that its requests go to.
    pub base_url: fn(&Config) -> &str,
    /// The operation that any credentials may call, which shows whether the service refuses them.
    pub open_operation: &'static str,
    /// Whether the date is part of what is authenticated.
    pub is_dated: bool,
    /// For a refused credential; `None`: it depends on the response.
    pub advice: Option<Advice>,
}

impl Auth {
    pub(crate) const ALL: [Auth; 2] = [Auth::Signed, Auth::ApiKey];
    /// A websocket has a token, whose refusal reads like that of a key.
    pub(crate) const WEBSOCKET: Auth = Auth::ApiKey;

    /// Of the Broadcast API or the REST API.
    pub fn of_api(is_broadcast: bool) -> Self {
        if is_broadcast { Auth::ApiKey } else { Auth::Signed }
    }

    pub(crate) fn scheme(self) -> Scheme {
        match self {
            Auth::Signed => {
                Scheme { base_url: |config| &config.base_url, open_operation: "teams", is_dated: true, advice: None }
            }
            Auth::ApiKey => Scheme {
                base_url: |config| &config.broadcast_base_url,
                open_operation: "broadcast_teams",
                is_dated: false,
                advice: Some(Advice::CheckKey),
            },
        }
    }
}
