//! The token of a live websocket (facts 2.5, 3.3): given, or asked for and asked for again.

use crate::config::Secret;
use crate::error::{Error, Result};
use crate::operation::{self, Request, Value};
use crate::scrub::{Scrubbed, Scrubber};
use crate::transport::{Response, Transport};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value as Json;
use std::time::Duration;

/// Where tokens come from, and the one in hand.
#[derive(Debug)]
pub(super) struct Tokens {
    /// Asks for a fresh one; `None`: there is only the one that was given.
    request: Option<Request>,
    held: Option<Secret>,
}

/// A token to connect with.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub secret: Secret,
    /// It has just been asked for, or there is no other: to be refused with it is to be refused.
    pub is_last_word: bool,
    /// It was requested for this game just now.
    pub is_fresh: bool,
}

impl Tokens {
    pub(super) fn new(transport: &Transport, game_id: Option<String>, given: Option<Secret>) -> Result<Self> {
        let request = match (game_id, &given) {
            (None, None) => return Err(Error::Argument("live needs a game (game_id=) or its token (token=)".into())),
            (None, Some(_)) => None,
            (Some(game), _) => {
                let arguments = vec![("game_id".to_string(), Value::Text(game))];
                let call = operation::call(operation::SUBSCRIPTION_TOKEN, &arguments, transport.config())?;
                call.requests.into_iter().next()
            }
        };
        if let Some(token) = &given {
            if token.expose().is_empty() {
                return Err(Error::Argument("token is empty".into()));
            }
            if token.expose().chars().any(char::is_control) {
                return Err(Error::Argument("token holds a control character".into()));
            }
            // What is said when a fresh one is requested must not show it.
            transport.scrubber().learn(token.expose());
        }
        Ok(Tokens { request, held: given })
    }

    /// The request for a fresh one is given up when it is not answered within the limit.
    pub(super) async fn take(&mut self, transport: &Transport, silence_limit: Duration) -> Result<Token> {
        match (&self.held, &self.request) {
            (Some(held), request) => {
                Ok(Token { secret: held.clone(), is_last_word: request.is_none(), is_fresh: false })
            }
            (None, Some(request)) => {
                let secret = read_answer(&transport.send_live(request, silence_limit).await?)?;
                transport.scrubber().learn(secret.expose());
                self.held = Some(secret.clone());
                Ok(Token { secret, is_last_word: true, is_fresh: true })
            }
            (None, None) => Err(Error::Argument("live needs a game or its token".into())),
        }
    }

    /// The one in hand was refused.
    pub(super) fn refused(&mut self) {
        if self.request.is_some() {
            self.held = None;
        }
    }
}

impl Token {
    /// As it stands in a query.
    pub(super) fn encoded(&self) -> String {
        utf8_percent_encode(self.secret.expose(), NON_ALPHANUMERIC).to_string()
    }

    /// For the texts of its connection.
    pub(super) fn scrubber(&self, transport: &Transport) -> Scrubber {
        transport.scrubber().with(&[self.secret.expose().to_owned()])
    }
}

/// A fresh token for a game.
pub async fn subscription_token(transport: &Transport, request: &Request) -> Result<Secret> {
    let secret = read_answer(&transport.send(request).await?)?;
    transport.scrubber().learn(secret.expose());
    Ok(secret)
}

fn read_answer(answer: &Response) -> Result<Secret> {
    read(answer.body.as_slice()).ok_or_else(|| unreadable(&answer.url))
}

/// The body is not shown: it may be the token in a shape that nobody knows.
fn unreadable(url: &Scrubbed) -> Error {
    Error::Transport(
        Scrubbed::local(format!(
            "the answer of GET {url} holds no token that can be read; pass it with token= if you know it by other means"
        ))
        .into(),
    )
}

/// Tokens longer than this are none.
const LONGEST: usize = 8 * 1024;

/// The token in a body whose shape is not documented: a text by itself, or the value of a key `token`, or of one that ends so.
pub(super) fn read(body: &[u8]) -> Option<Secret> {
    let text = std::str::from_utf8(body).ok()?.trim_start_matches('\u{feff}').trim();
    let token = match serde_json::from_str::<Json>(text) {
        Ok(json) => in_json(&json)?,
        Err(_) => text.to_string(),
    };
    // A log-in page is no token.
    let fits = !token.is_empty() && token.len() <= LONGEST && token.bytes().all(|b| b.is_ascii_graphic() && b != b'<');
    fits.then(|| Secret::new(token))
}

fn in_json(json: &Json) -> Option<String> {
    match json {
        Json::String(text) => Some(text.clone()),
        // A token of digits.
        Json::Number(number) => Some(number.to_string()),
        Json::Object(object) => {
            let at = |fits: fn(&str) -> bool| {
                object.iter().filter(|(key, _)| fits(&key.to_ascii_lowercase())).find_map(|(_, value)| match value {
                    Json::String(text) => Some(text.clone()),
                    Json::Object(_) => in_json(value),
                    _ => None,
                })
            };
            at(|key| key == "token")
                .or_else(|| at(|key| key.ends_with("token")))
                .or_else(|| object.values().filter(|value| value.is_object()).find_map(in_json))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_from_any_likely_body() {
        for body in [
            r#"{"token":"t-1"}"#,
            r#"{"expires":5,"subscriptionToken":"t-1"}"#,
            r#"{"start_token":"t-1"}"#,
            r#"{"refresh_token":"no","token":"t-1"}"#,
            r#"{"data":{"token":"t-1"}}"#,
            r#"{"token":{"token":"t-1"}}"#,
            r#"{"status":200,"data":{"x":{"access_token":"t-1"}}}"#,
            r#""t-1""#,
            "t-1",
            " t-1\n",
        ] {
            assert_eq!(read(body.as_bytes()).as_ref().map(Secret::expose), Some("t-1"), "{body}");
        }
        assert_eq!(read(b"123").as_ref().map(Secret::expose), Some("123"));
    }

    #[test]
    fn what_holds_no_token_gives_none() {
        for body in
            ["", "  ", "{}", "[]", "null", "true", r#"{"token":null}"#, r#"{"token":""}"#, "<html>", "please log in"]
        {
            assert_eq!(read(body.as_bytes()), None, "{body}");
        }
        assert_eq!(read(&[b'a'; LONGEST + 1]), None);
        assert_eq!(read(b"\xff"), None);
    }

    #[test]
    fn a_token_is_in_no_text() {
        let token = Token { secret: Secret::new("canary+1"), is_last_word: false, is_fresh: false };
        assert!(!format!("{token:?}").contains("canary"));
        let transport = Transport::new(crate::config::ClientOptions::default().resolve(&|_| None).unwrap()).unwrap();
        let scrubber = token.scrubber(&transport);
        assert_eq!(scrubber.message("bad canary+1 and canary%2B1"), "bad *** and ***");
    }
}
