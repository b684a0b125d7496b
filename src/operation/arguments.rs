//! Ids, times and texts as users write them. Every error says what to write instead.

use super::argument::{Argument, Kind};
use super::{Arguments, Value};
use crate::error::{Error, Result};
use chrono::{DateTime, FixedOffset, NaiveDate, NaiveTime};

/// The arguments of one call, each in its wire form.
#[derive(Debug)]
pub(super) struct CheckedArguments {
    declarations: &'static [Argument],
    values: Vec<(&'static str, String)>,
}

impl CheckedArguments {
    /// Refuses a value that does not fit its declaration, an undeclared argument, and a second value of one that takes one.
    pub(super) fn new(operation: &str, declarations: &'static [Argument], arguments: &Arguments) -> Result<Self> {
        let mut valid = CheckedArguments { declarations, values: Vec::with_capacity(arguments.len()) };
        for (name, value) in arguments {
            let takes_several = |kind| matches!(kind, Kind::ForeignIds | Kind::Choices(_));
            let is_free = |argument: &&Argument| takes_several(argument.kind) || valid.get(argument.name).is_none();
            let Some(argument) = declarations.iter().find(|argument| argument.name == name).filter(is_free) else {
                return Err(Error::Argument(format!("{operation} takes no argument {name:?}")));
            };
            valid.values.extend(wire(argument, value.clone())?.map(|text| (argument.name, text)));
        }
        Ok(valid)
    }

    /// `None` where it is not given, or a flag that is not set.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.values(name).next()
    }

    pub(super) fn required(&self, name: &str) -> Result<&str> {
        self.get(name).ok_or_else(|| missing(name))
    }

    /// Every value of an argument that may be given several times.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.values.iter().filter(move |(key, _)| *key == name).map(|(_, value)| value.as_str())
    }

    /// A time in epoch milliseconds, which is what [`wire`] writes.
    pub(super) fn time(&self, name: &str) -> Option<i64> {
        self.get(name)?.parse().ok()
    }

    pub(super) fn required_time(&self, name: &str) -> Result<i64> {
        self.time(name).ok_or_else(|| missing(name))
    }

    /// The parameters of the query that are sent unchanged, in the order of their declaration.
    pub(super) fn parameters(&self) -> Result<Vec<(&'static str, String)>> {
        let mut query = Vec::new();
        for argument in self.declarations {
            let value = self.get(argument.name);
            match argument.parameter {
                Some(_) if value.is_none() && argument.is_required => return Err(missing(argument.name)),
                Some(parameter) => query.extend(value.map(|value| (parameter, value.to_owned()))),
                None => {}
            }
        }
        Ok(query)
    }
}

fn wire(argument: &Argument, value: Value) -> Result<Option<String>> {
    let name = argument.name;
    match argument.kind {
        Kind::Id => id(name, value).map(Some),
        Kind::Time => time(name, value).map(|time| Some(time.to_string())),
        Kind::Flag => match value {
            Value::Bool(flag) => Ok(flag.then(|| "true".into())),
            _ => Err(Error::Argument(format!("{name} is True or False"))),
        },
        Kind::Count => match value {
            Value::Int(1..) => text(name, value).map(Some),
            _ => Err(Error::Argument(format!("{name} is {value}; it must be a whole number from 1, such as {name}=3"))),
        },
        Kind::Choice(words) => choice(name, &text(name, value)?, words).map(Some),
        Kind::Text | Kind::ForeignIds | Kind::Choices(_) | Kind::Parameters => text(name, value).map(Some),
    }
}

fn choice(name: &str, text: &str, words: &[&str]) -> Result<String> {
    match words.iter().find(|word| word.eq_ignore_ascii_case(text)) {
        Some(word) => Ok((*word).into()),
        None => Err(Error::Argument(format!("{name} is {:?}; it must be one of {}", shorten(text), words.join(", ")))),
    }
}

pub(super) fn missing(name: &str) -> Error {
    Error::Argument(format!("{name} is missing"))
}

/// Whether a text is safe as a single path segment.
pub(super) fn is_id(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@:".contains(&byte);
    !text.is_empty() && text != "." && text != ".." && text.bytes().all(is_allowed)
}

fn id(name: &str, value: Value) -> Result<String> {
    let text = match value {
        Value::Int(number) => number.to_string(),
        Value::Text(text) => text,
        other => return Err(Error::Argument(format!("{name} is an id, a text or a whole number, not {other:?}"))),
    };
    if is_id(&text) {
        return Ok(text);
    }
    let instead = if text.contains("://") || text.contains("/v1/") {
        "; to follow a link write follow(link)"
    } else if text.is_empty() {
        "; it is empty"
    } else {
        ""
    };
    Err(Error::Argument(format!(
        "{name} {:?} is not an id: ids hold ASCII letters, digits, - _ . @ and : only{instead}",
        shorten(&text)
    )))
}

pub(super) fn text(name: &str, value: Value) -> Result<String> {
    let text = match value {
        Value::Text(text) => text,
        Value::Int(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        // As Python writes it: 1.0, not 1.
        Value::Float(number) if number.is_finite() => format!("{number:?}"),
        Value::Float(number) => return Err(Error::Argument(format!("{name} is {number}; it must be a finite number"))),
    };
    match text.chars().any(char::is_control) {
        false => Ok(text),
        true => Err(Error::Argument(format!("{name} {:?} holds a control character", shorten(&text)))),
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(80).collect()
}

pub fn time(name: &str, value: Value) -> Result<i64> {
    match value {
        Value::Int(milliseconds) if DateTime::from_timestamp_millis(milliseconds).is_some() => Ok(milliseconds),
        Value::Int(number) => Err(Error::Argument(format!("{name} {number} is not a time in epoch milliseconds"))),
        Value::Text(text) => iso_8601(name, text.trim_matches(' ')),
        other => Err(Error::Argument(format!(
            "{name} is a time: an aware datetime, a date, ISO 8601 text or epoch milliseconds as an int, not {other:?}"
        ))),
    }
}

/// `2026-11-01` (midnight UTC), or date and time with an offset: `2026-11-01T19:30Z`, `2026-11-01T19:30:00.5+01:00`.
fn iso_8601(name: &str, text: &str) -> Result<i64> {
    if let Ok(date) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        return Ok(date.and_time(NaiveTime::MIN).and_utc().timestamp_millis());
    }
    if let Some(time) = date_and_time(text) {
        return Ok(time.timestamp_millis());
    }
    if date_and_time(&format!("{text}Z")).is_some() {
        return Err(Error::Argument(format!(
            "{name} {:?} does not say in which time zone it is: write {text}Z for UTC, or an offset such as {text}+01:00",
            shorten(text)
        )));
    }
    Err(Error::Argument(format!(
        "{name} {:?} is not a time: write 2026-11-01, 2026-11-01T19:30:00Z or 2026-11-01T19:30:00+01:00, \
         or give epoch milliseconds as an int",
        shorten(text)
    )))
}

/// With `Z`, `+01`, `+0100` or `+01:00` at the end. chrono would skip blanks around the offset.
fn date_and_time(text: &str) -> Option<DateTime<FixedOffset>> {
    if text.chars().skip("2026-10-22 ".len()).any(|letter| letter.is_whitespace() || letter == '\u{2212}') {
        return None;
    }
    let forms = ["%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%dT%H:%M%#z", "%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%d %H:%M%#z"];
    forms.iter().find_map(|form| DateTime::parse_from_str(text, form).ok())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn at(text: &str) -> Result<i64> {
        time("start", Value::Text(text.into()))
    }

    fn refusal<T: std::fmt::Debug>(result: Result<T>) -> String {
        match result {
            Err(Error::Argument(text)) => text,
            other => panic!("not refused as an argument: {other:?}"),
        }
    }

    #[test]
    fn a_time_is_read_in_each_form_of_iso_8601_that_people_write() {
        let noon = 1_793_534_400_000; // date -u -d 2026-11-01T12:00:00Z +%s
        for text in [
            "2026-11-01T12:00:00Z",
            "2026-11-01T12:00Z",
            "2026-11-01 12:00:00+00:00",
            "2026-11-01T13:00:00.000+01:00",
            "2026-11-01T13:00+0100",
            "2026-11-01T05:00:00-07",
            "2026-11-01T17:30:00+05:30",
        ] {
            assert_eq!(at(text).unwrap(), noon, "{text}");
        }
        assert_eq!(at("2026-11-01").unwrap(), noon - 12 * 3_600_000);
        assert_eq!(at("2026-11-01T12:00:00.250Z").unwrap(), noon + 250);
        assert_eq!(time("start", Value::Int(noon)).unwrap(), noon);
    }

    #[test]
    fn a_time_without_a_zone_is_refused_with_what_to_write() {
        let text = refusal(at("2026-11-01T12:00:00"));
        assert!(text.contains("write 2026-11-01T12:00:00Z"), "{text}");
    }

    #[test]
    fn an_invalid_time_is_refused() {
        for text in [
            "",
            "yesterday",
            "2026-11-01\n",
            "2026-13-01",
            "1793534400000",
            "2026-11-01T12:00:00+1",
            "2026-11-01T12:00+99:00",
            "2026-11-01T12:00:00 Z",
            "2026-11-01T12:00:00 +01:00",
            "2026-11-01T12:00:00+01 00",
            "2026-11-01T12:00:00+01\n",
            "2026-11-01T12:00:00\u{2212}01:00",
            "é-é",
        ] {
            refusal(at(text));
        }
        refusal(time("start", Value::Int(i64::MAX)));
        refusal(time("start", Value::Bool(true)));
    }

    #[test]
    fn an_id_is_what_can_stand_in_a_path_as_it_is() {
        for good in ["461", "a1B2-_.@:", "..."] {
            assert_eq!(id("team_id", Value::Text(good.into())).unwrap(), good);
        }
        assert_eq!(id("team_id", Value::Int(461)).unwrap(), "461");
        for bad in ["", ".", "..", "a/b", "a?b", "a#b", "a b", "a%2fb", "é", "a\n", "a\\b", "a;b", "a,b"] {
            refusal(id("team_id", Value::Text(bad.into())));
        }
        refusal(id("team_id", Value::Bool(true)));
        let link = "https://host/v1/data/stats/1/stats".to_string();
        assert!(refusal(id("session_id", Value::Text(link))).contains("follow(link)"));
    }
}
