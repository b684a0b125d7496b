//! Heartbeats that the service sends as text messages. Pure.

use reader::{Body, Value};
use std::borrow::Cow;

/// A heartbeat sent as a message. Such heartbeats are documented, their format is not.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heartbeat {
    Ping {
        /// The pong to reply with.
        reply: String,
        /// A ping of the client in the same format.
        client_ping: String,
    },
    Pong,
}

/// Longer messages are not heartbeats.
const MAX_HEARTBEAT_LEN: usize = 256;

/// Recognises `ping` or `pong` as plain text, as a JSON string, or as the type of an object. Anything else is an update.
pub(super) fn parse(text: &str) -> Option<Heartbeat> {
    if text.len() > MAX_HEARTBEAT_LEN || !(text.contains("ping") || text.contains("pong")) {
        return None;
    }
    let from_word = |word: &str, reply: &str, client_ping: &str| match word {
        "ping" => Some(Heartbeat::Ping { reply: reply.into(), client_ping: client_ping.into() }),
        "pong" => Some(Heartbeat::Pong),
        _ => None,
    };
    let body = Body::from(text.as_bytes());
    let bytes = body.with_padding();
    let Ok(message) = Value::of(&body, &bytes) else { return from_word(text.trim(), "pong", "ping") };
    match message.text() {
        Some(word) => from_word(&word, r#""pong""#, r#""ping""#),
        None => from_object(&message),
    }
}

fn from_object(message: &Value<'_>) -> Option<Heartbeat> {
    if message.get("seq").is_some() {
        return None;
    }
    let (key, word) = ["type", "event", "action"].into_iter().find_map(|key| Some((key, message.get(key)?)))?;
    match &*word.text()? {
        "pong" => Some(Heartbeat::Pong),
        "ping" => {
            // The pong returns the other members (a number, a time), as a control frame does.
            let member = |(name, value): (Cow<'_, [u8]>, Value<'_>)| match &*name == key.as_bytes() {
                true => format!("\"{key}\":\"pong\""),
                false => {
                    let name = serde_json::Value::from(String::from_utf8_lossy(&name));
                    format!("{name}:{}", String::from_utf8_lossy(value.raw()))
                }
            };
            let members: Vec<String> = message.members().map(member).collect();
            let client_ping = format!("{{\"{key}\":\"ping\"}}");
            Some(Heartbeat::Ping { reply: format!("{{{}}}", members.join(",")), client_ping })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(text: &str) -> Option<String> {
        match parse(text) {
            Some(Heartbeat::Ping { reply, .. }) => Some(reply),
            _ => None,
        }
    }

    #[test]
    fn a_ping_is_answered_in_its_own_format() {
        assert_eq!(reply("ping").as_deref(), Some("pong"));
        assert_eq!(reply(r#""ping""#).as_deref(), Some(r#""pong""#));
        assert_eq!(reply(r#"{"type":"ping","at":5}"#).as_deref(), Some(r#"{"type":"pong","at":5}"#));
        assert_eq!(reply(r#"{"action":"ping"}"#).as_deref(), Some(r#"{"action":"pong"}"#));
        for pong in ["pong", "\"pong\"", r#"{"type":"pong"}"#] {
            assert_eq!(parse(pong), Some(Heartbeat::Pong));
        }
    }

    #[test]
    fn the_clients_ping_has_the_format_of_the_services() {
        for (ping, expected) in
            [(" ping ", "ping"), ("\"ping\"", "\"ping\""), (r#"{"event":"ping","at":5}"#, r#"{"event":"ping"}"#)]
        {
            assert!(
                matches!(parse(ping), Some(Heartbeat::Ping { client_ping, .. }) if client_ping == expected),
                "{ping}"
            );
        }
    }

    #[test]
    fn a_message_that_only_mentions_ping_is_an_update() {
        for text in [
            "pinging",
            r#"{"type":"stats","note":"ping"}"#,
            r#"{"type":"ping","seq":5}"#,
            r#"["ping"]"#,
            r#"{"ping":1}"#,
            r#"{"type":{"a":"ping"}}"#,
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&format!(r#"{{"type":"ping","x":"{}"}}"#, "x".repeat(300))), None);
    }
}
