//! The token of a live websocket (docs/wire.md, "Websocket"): passed by the user, or requested and renewed.

use crate::advice::Advice;
use crate::config::Secret;
use crate::error::{Error, RequestContext, RequestErrorKind, Result};
use crate::operation::{self, Request, Value};
use crate::scrub::{Scrubbed, Scrubber};
use crate::transport::{Attempts, Purpose, Response, Transport};
use reader::{Body, Value as JsonValue};
use std::borrow::Cow;
use std::time::Duration;

/// The current token, and the request that renews it.
#[derive(Debug)]
pub(super) struct TokenSource {
    /// Requests a fresh token; `None`: the user's token is the only one.
    request: Option<Request>,
    current: Option<Secret>,
}

/// A token to connect with.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub secret: Secret,
    /// It has just been requested for this game.
    pub(crate) is_fresh: bool,
}

impl TokenSource {
    pub(super) fn new(transport: &Transport, game_id: Option<String>, user_token: Option<Secret>) -> Result<Self> {
        let request = match (game_id, &user_token) {
            (None, None) => return Err(Error::Argument("live needs a game (game_id=) or its token (token=)".into())),
            (None, Some(_)) => None,
            (Some(game), _) => {
                let arguments = vec![("game_id".to_string(), Value::Text(game))];
                let call = operation::call(operation::SUBSCRIPTION_TOKEN, &arguments, transport.config())?;
                call.requests.into_iter().next()
            }
        };
        if let Some(token) = &user_token {
            if token.expose().is_empty() {
                return Err(Error::Argument("token is empty".into()));
            }
            if token.expose().chars().any(char::is_control) {
                return Err(Error::Argument("token holds a control character".into()));
            }
            // Messages of the request for a fresh one must not show it.
            transport.scrubber().learn(token.expose());
        }
        Ok(TokenSource { request, current: user_token })
    }

    /// Returns the current token, or requests one, which fails without a response within the limit.
    pub(super) async fn token(&mut self, transport: &Transport, silence_limit: Duration) -> Result<Token> {
        if let Some(current) = &self.current {
            return Ok(Token { secret: current.clone(), is_fresh: false });
        }
        let missing = || Error::Argument("live needs a game or its token".into());
        let request = self.request.as_ref().ok_or_else(missing)?;
        let secret = request_token(transport, request, Purpose::Stream(silence_limit)).await?;
        Ok(Token { secret: self.current.insert(secret).clone(), is_fresh: true })
    }

    /// Discards the current token, which was refused, if another one can be requested; returns whether it can.
    pub(super) fn discard_refused(&mut self) -> bool {
        self.current.take_if(|_| self.request.is_some());
        self.request.is_some()
    }
}

impl Token {
    /// Returns the scrubber for all texts of its connection.
    pub(super) fn scrubber(&self, transport: &Transport) -> Scrubber {
        transport.scrubber().with(&[self.secret.expose().to_owned()])
    }
}

/// Requests a fresh token for a game.
pub async fn subscription_token(transport: &Transport, request: &Request) -> Result<Secret> {
    request_token(transport, request, Purpose::Call(&Attempts::default())).await
}

async fn request_token(transport: &Transport, request: &Request, purpose: Purpose<'_>) -> Result<Secret> {
    let transport = transport.for_operation(request.operation);
    let secret = transport.send_for(request, purpose).await.and_then(|response| token_of(&response));
    match &secret {
        Ok(secret) => transport.scrubber().learn(secret.expose()),
        Err(error) => transport.trace.record_error(error),
    }
    secret
}

fn token_of(response: &Response) -> Result<Secret> {
    if let Some(error @ Error::Api(_)) = response.refusal.as_deref() {
        return Err(error.clone());
    }
    if let Some(token) = parse_token(response.body.as_slice()) {
        return Ok(token);
    }
    // The body is not shown, because it may be the token in an unknown shape.
    let (url, kind) = (&response.url, response.scrubber.id(response.header("content-type").unwrap_or("unknown")));
    let text = format!(
        "the response of GET {url} ({kind}) holds no token that can be read; pass token= if you know it by other means"
    );
    let request = RequestContext { url: url.clone(), attempts: response.attempts, elapsed: response.elapsed };
    Err(RequestErrorKind::Transport.with_advice(Scrubbed::local(text), Advice::SeeMessage, Some(request)))
}

/// Deeper objects are not searched for a token.
const MAX_DEPTH: usize = 8;
/// Longer texts are not tokens.
const MAX_TOKEN_LEN: usize = 8 * 1024;

/// Finds the token in a body whose shape is not documented: the whole text, or the value of a key `token` or `...token`.
pub(super) fn parse_token(body: &[u8]) -> Option<Secret> {
    let text = std::str::from_utf8(body).ok()?.trim_start_matches('\u{feff}').trim();
    let body = Body::from(text.as_bytes());
    let padded_body = body.with_padding();
    let token = match JsonValue::of(&body, &padded_body) {
        Ok(json) => find_in_json(&json, MAX_DEPTH)?,
        Err(_) => text.to_string(),
    };
    // A login page is not a token.
    let fits =
        !token.is_empty() && token.len() <= MAX_TOKEN_LEN && token.bytes().all(|b| b.is_ascii_graphic() && b != b'<');
    fits.then(|| Secret::new(token))
}

fn find_in_json(json: &JsonValue<'_>, depth: usize) -> Option<String> {
    // A token may be made of digits.
    if let Some(text) = json.text().map(Cow::into_owned).or(json.integer().map(|number| number.to_string())) {
        return Some(text);
    }
    let deeper =
        |value: &JsonValue<'_>| value.is_object().then(|| find_in_json(value, depth.checked_sub(1)?)).flatten();
    let at = |fits: fn(&str) -> bool| {
        let is_token_name = |key: &[u8]| fits(&String::from_utf8_lossy(key).to_ascii_lowercase());
        let mut named_members = json.members().filter(|(key, _)| is_token_name(key));
        named_members.find_map(|(_, value)| value.text().map(Cow::into_owned).or_else(|| deeper(&value)))
    };
    at(|key| key == "token")
        .or_else(|| at(|key| key.ends_with("token")))
        .or_else(|| json.members().find_map(|(_, value)| deeper(&value)))
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
            assert_eq!(parse_token(body.as_bytes()).as_ref().map(Secret::expose), Some("t-1"), "{body}");
        }
        assert_eq!(parse_token(b"123").as_ref().map(Secret::expose), Some("123"));
    }

    #[test]
    fn a_body_without_a_token_yields_none() {
        for body in
            ["", "  ", "{}", "[]", "null", "true", r#"{"token":null}"#, r#"{"token":""}"#, "<html>", "please log in"]
        {
            assert_eq!(parse_token(body.as_bytes()), None, "{body}");
        }
        assert_eq!(parse_token(&[b'a'; MAX_TOKEN_LEN + 1]), None);
        assert_eq!(parse_token(b"\xff"), None);
    }

    #[test]
    fn no_text_contains_the_token() {
        let token = Token { secret: Secret::new("canary+1"), is_fresh: false };
        assert!(!format!("{token:?}").contains("canary"));
        let transport = Transport::new(crate::config::ClientOptions::default().resolve(&|_| None).unwrap()).unwrap();
        let scrubber = token.scrubber(&transport);
        assert_eq!(scrubber.message("bad canary+1 and canary%2B1"), "bad *** and ***");
    }
}
