//! What the other side of a websocket says of the connection itself: heartbeats, and why it closes. Pure.

use crate::scrub::Scrubbed;
use serde_json::{Map, Value as Json};
use std::borrow::Cow;

/// A heartbeat as a message. That there are such is documented, their form is not.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heartbeat {
    /// What answers it, and a ping of our own in the same form.
    Ping {
        answer: String,
        own: String,
    },
    Pong,
}

/// What is longer is no heartbeat.
const LONGEST_HEARTBEAT: usize = 256;

/// `ping` by itself, as JSON, or as the type of an object. All else is an update.
pub(super) fn heartbeat(text: &str) -> Option<Heartbeat> {
    if text.len() > LONGEST_HEARTBEAT || !(text.contains("ping") || text.contains("pong")) {
        return None;
    }
    let of = |word: &str, answer: &str, own: &str| match word {
        "ping" => Some(Heartbeat::Ping { answer: answer.into(), own: own.into() }),
        "pong" => Some(Heartbeat::Pong),
        _ => None,
    };
    match serde_json::from_str(text) {
        Err(_) => of(text.trim(), "pong", "ping"),
        Ok(Json::String(word)) => of(&word, r#""pong""#, r#""ping""#),
        Ok(Json::Object(object)) => of_object(object),
        Ok(_) => None,
    }
}

fn of_object(mut object: Map<String, Json>) -> Option<Heartbeat> {
    if object.contains_key("seq") {
        return None;
    }
    let key = ["type", "event", "action"].into_iter().find(|key| object.contains_key(*key))?;
    match object.get(key)?.as_str()? {
        "pong" => Some(Heartbeat::Pong),
        "ping" => {
            // What else stands in it (a number, a time) comes back, as in a control frame.
            object.insert(key.into(), Json::String("pong".into()));
            // Its other members are the service's own.
            let own = Json::Object(Map::from_iter([(key.into(), Json::String("ping".into()))])).to_string();
            Some(Heartbeat::Ping { answer: Json::Object(object).to_string(), own })
        }
        _ => None,
    }
}

/// Why it closed, in words.
pub(super) fn close(code: Option<u16>, text: &str) -> String {
    let said = match code {
        None | Some(1005) => "the service closed the connection without a reason".to_string(),
        Some(code) => {
            let what = match code {
                1000 => "the service ended the stream",
                1001 => "the service is going away",
                1002 => "the service saw a mistake in the protocol",
                1003 | 1007 => "the service could not read what it was sent",
                1008 => "the service refused by its policy",
                1009 => "the service was sent too much",
                1011 => "the service failed",
                1012 => "the service restarts",
                1013 => "the service is overloaded",
                4401 => "the service did not accept the token",
                4403 => "the service denied access",
                _ => "the service closed the connection",
            };
            format!("{what} (close code {code})")
        }
    };
    let text = cleaned(text);
    if text.is_empty() { said } else { format!("{said}: {text}") }
}

/// Of a connection that just ended, code 1006 to most libraries.
pub(super) fn no_close() -> Scrubbed {
    "the connection ended without a close (1006)".into()
}

/// Whether a close code refuses the token.
pub(super) fn is_refusal(code: u16) -> bool {
    matches!(code, 1008 | 4401 | 4403)
}

/// In one line, and not long (a close has at most 123 bytes, by the letter).
fn cleaned(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect()
}

/// The inside of a JSON string.
pub(super) fn unescaped(inside: &str) -> Cow<'_, str> {
    match inside.contains('\\') {
        false => Cow::Borrowed(inside),
        true => serde_json::from_str(&format!("\"{inside}\"")).map_or(Cow::Borrowed(inside), Cow::Owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> Option<String> {
        match heartbeat(text) {
            Some(Heartbeat::Ping { answer, .. }) => Some(answer),
            _ => None,
        }
    }

    #[test]
    fn a_ping_is_answered_in_kind() {
        assert_eq!(answer("ping").as_deref(), Some("pong"));
        assert_eq!(answer(r#""ping""#).as_deref(), Some(r#""pong""#));
        assert_eq!(answer(r#"{"type":"ping","at":5}"#).as_deref(), Some(r#"{"type":"pong","at":5}"#));
        assert_eq!(answer(r#"{"action":"ping"}"#).as_deref(), Some(r#"{"action":"pong"}"#));
        for pong in ["pong", "\"pong\"", r#"{"type":"pong"}"#] {
            assert_eq!(heartbeat(pong), Some(Heartbeat::Pong));
        }
    }

    #[test]
    fn a_ping_of_our_own_has_the_form_of_the_peers() {
        for (theirs, ours) in
            [(" ping ", "ping"), ("\"ping\"", "\"ping\""), (r#"{"event":"ping","at":5}"#, r#"{"event":"ping"}"#)]
        {
            assert!(matches!(heartbeat(theirs), Some(Heartbeat::Ping { own, .. }) if own == ours), "{theirs}");
        }
    }

    #[test]
    fn what_only_mentions_a_ping_is_an_update() {
        for text in [
            "pinging",
            r#"{"type":"stats","note":"ping"}"#,
            r#"{"type":"ping","seq":5}"#,
            r#"["ping"]"#,
            r#"{"ping":1}"#,
            r#"{"type":{"a":"ping"}}"#,
        ] {
            assert_eq!(heartbeat(text), None, "{text}");
        }
        assert_eq!(heartbeat(&format!(r#"{{"type":"ping","x":"{}"}}"#, "x".repeat(300))), None);
    }

    #[test]
    fn a_close_is_told_with_its_code_and_the_peers_words_in_one_line() {
        assert_eq!(close(Some(1001), ""), "the service is going away (close code 1001)");
        assert_eq!(
            close(Some(4999), "a\r\nb\u{1b}[31m"),
            "the service closed the connection (close code 4999): a b [31m"
        );
        assert_eq!(close(None, ""), "the service closed the connection without a reason");
        assert!(close(Some(1000), &"x".repeat(900)).len() < 300);
        let codes = [1000, 1001, 1002, 1003, 1008, 1009, 1011, 1012, 1013, 4401, 4403, 4000];
        let told: std::collections::BTreeSet<String> = codes.iter().map(|code| close(Some(*code), "")).collect();
        assert_eq!(told.len(), codes.len());
    }

    #[test]
    fn a_source_is_read_as_json_reads_it() {
        assert_eq!(unescaped("marker"), "marker");
        assert_eq!(unescaped(r#"a\"b\u00e9"#), "a\"bé");
    }
}
