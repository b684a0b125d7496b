//! Websocket tokens, each for one game.

use crate::Privileges;
use crate::service::lock;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::rand::{SecureRandom, SystemRandom};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// The tokens issued by a simulator.
#[derive(Debug, Clone, Default)]
pub struct TokenStore(Arc<TokenState>);

#[derive(Default)]
struct TokenState {
    grants: Mutex<HashMap<String, (usize, Privileges)>>,
    revocations: watch::Sender<()>,
}

/// Without the tokens.
impl std::fmt::Debug for TokenState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens").field("issued", &lock(&self.grants).len()).finish_non_exhaustive()
    }
}

/// The access that a valid token grants.
#[derive(Clone)]
pub(super) struct TokenAccess {
    pub(super) game: usize,
    pub(super) privileges: Privileges,
    token: String,
    tokens: TokenStore,
    revocations: watch::Receiver<()>,
}

impl TokenStore {
    /// Revokes one token, or all: websockets that use it are closed (1008), new ones refused.
    pub fn revoke(&self, token: Option<&str>) {
        let mut grants = lock(&self.0.grants);
        match token {
            Some(token) => drop(grants.remove(token)),
            None => grants.clear(),
        }
        drop(grants);
        self.0.revocations.send_replace(());
    }

    /// A new token from the system's randomness; `None` if it has none.
    pub(crate) fn issue(&self, game: usize, privileges: Privileges) -> Option<String> {
        let mut bytes = [0; 24];
        SystemRandom::new().fill(&mut bytes).ok()?;
        let token = URL_SAFE_NO_PAD.encode(bytes);
        lock(&self.0.grants).insert(token.clone(), (game, privileges));
        Some(token)
    }

    pub(super) fn admit(&self, token: Option<&str>) -> Option<TokenAccess> {
        let revocations = self.0.revocations.subscribe();
        let (game, privileges) = lock(&self.0.grants).get(token?)?.clone();
        Some(TokenAccess { game, privileges, token: token?.to_owned(), tokens: self.clone(), revocations })
    }
}

impl TokenAccess {
    /// Waits until the token is revoked.
    pub(super) async fn wait_until_revoked(&mut self) {
        while lock(&self.tokens.0.grants).contains_key(&self.token) {
            if self.revocations.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }
}
