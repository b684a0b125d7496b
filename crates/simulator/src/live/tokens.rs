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
    issued: Mutex<HashMap<String, (usize, Privileges)>>,
    revoked: watch::Sender<()>,
}

/// Without the tokens.
impl std::fmt::Debug for TokenState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens").field("issued", &lock(&self.issued).len()).finish_non_exhaustive()
    }
}

/// The access that a valid token grants.
#[derive(Clone)]
pub(super) struct TokenAccess {
    pub(super) game: usize,
    pub(super) privileges: Privileges,
    token: String,
    tokens: TokenStore,
    revoked: watch::Receiver<()>,
}

impl TokenStore {
    /// Revokes one token, or all: websockets that use it are closed (1008), new ones refused.
    pub fn revoke(&self, token: Option<&str>) {
        let mut issued = lock(&self.0.issued);
        match token {
            Some(token) => drop(issued.remove(token)),
            None => issued.clear(),
        }
        drop(issued);
        self.0.revoked.send_replace(());
    }

    /// A new token from the system's randomness; `None` if it has none.
    pub(crate) fn issue(&self, game: usize, privileges: Privileges) -> Option<String> {
        let mut bytes = [0; 24];
        SystemRandom::new().fill(&mut bytes).ok()?;
        let token = URL_SAFE_NO_PAD.encode(bytes);
        lock(&self.0.issued).insert(token.clone(), (game, privileges));
        Some(token)
    }

    pub(super) fn admit(&self, token: Option<&str>) -> Option<TokenAccess> {
        let revoked = self.0.revoked.subscribe();
        let (game, privileges) = lock(&self.0.issued).get(token?)?.clone();
        Some(TokenAccess { game, privileges, token: token?.to_owned(), tokens: self.clone(), revoked })
    }
}

impl TokenAccess {
    /// Waits until the token is revoked.
    pub(super) async fn revoked(&mut self) {
        while lock(&self.tokens.0.issued).contains_key(&self.token) {
            if self.revoked.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }
}
