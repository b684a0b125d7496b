//! A value of any kind inside a body, for what no declaration describes: envelopes, heartbeats, error documents.

use super::body::Body;
use super::cursor::Cursor;
use super::error::{ErrorKind, JsonError};
use std::borrow::Cow;

/// A value of a valid body. Its parts are found when they are requested, and nothing is allocated but texts with escapes.
#[derive(Debug, Clone, Copy)]
pub struct Value<'a> {
    /// At the first byte of the value.
    start: Cursor<'a>,
    text: &'a [u8],
}

impl<'a> Value<'a> {
    /// The value of a whole body. `padded_body` are the bytes of `body` with their padding.
    pub fn of(body: &Body, padded_body: &'a [u8]) -> Result<Self, JsonError> {
        let mut cursor = super::open(body, padded_body)?;
        if !body.is_validated() {
            let mut document = cursor;
            document.validate_document().map_err(|kind| kind.at(body, document.position()))?;
            body.mark_validated();
        }
        Value::next(&mut cursor).ok_or_else(|| ErrorKind::Unpadded.at(body, 0))
    }

    /// Takes the value at the cursor.
    fn next(cursor: &mut Cursor<'a>) -> Option<Self> {
        cursor.whitespace();
        let start = *cursor;
        cursor.skip_value().ok()?;
        Some(Value { start, text: cursor.span_from(&start).bytes() })
    }

    /// The value in the body, unchanged.
    pub fn raw(&self) -> &'a [u8] {
        self.text
    }

    /// The position of the value in its body, in bytes.
    pub fn offset(&self) -> usize {
        self.start.position()
    }

    pub fn is_object(&self) -> bool {
        self.text.first() == Some(&b'{')
    }

    pub fn is_array(&self) -> bool {
        self.text.first() == Some(&b'[')
    }

    pub fn is_null(&self) -> bool {
        self.text == b"null"
    }

    /// The members of an object in their order, repeated keys included; none for another value.
    pub fn members(&self) -> impl Iterator<Item = (Cow<'a, [u8]>, Value<'a>)> + use<'a> {
        items(self.start, [b'{', b'}'], |cursor| {
            let key = cursor.string().ok()?;
            cursor.colon().ok()?;
            Some((key, Value::next(cursor)?))
        })
    }

    /// The elements of an array in their order; none for another value.
    pub fn elements(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        items(self.start, [b'[', b']'], Value::next)
    }

    /// The member of this name, the last one if the key is repeated, as in Python.
    pub fn get(&self, name: &str) -> Option<Self> {
        self.members().filter(|(key, _)| &**key == name.as_bytes()).last().map(|(_, value)| value)
    }

    /// The text of a string.
    pub fn text(&self) -> Option<Cow<'a, str>> {
        if self.text.first() != Some(&b'"') {
            return None;
        }
        let mut cursor = self.start;
        match cursor.string().ok()? {
            Cow::Borrowed(text) => std::str::from_utf8(text).ok().map(Cow::Borrowed),
            Cow::Owned(text) => String::from_utf8(text).ok().map(Cow::Owned),
        }
    }

    /// A number without point and exponent.
    pub fn integer(&self) -> Option<i64> {
        match self.text.first() {
            Some(b'-' | b'0'..=b'9') => std::str::from_utf8(self.text).ok()?.parse().ok(),
            _ => None,
        }
    }
}

/// The items between two brackets.
fn items<'a, T>(
    mut cursor: Cursor<'a>,
    [open, close]: [u8; 2],
    read: impl Fn(&mut Cursor<'a>) -> Option<T>,
) -> impl Iterator<Item = T> {
    let mut has_next = cursor.peek_byte() == open;
    cursor.advance(1);
    has_next = has_next && cursor.has_first_item(close);
    std::iter::from_fn(move || {
        let item = if has_next { read(&mut cursor) } else { None };
        has_next = item.is_some() && cursor.has_next_item(close).unwrap_or_default();
        item
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T>(text: &str, look: impl FnOnce(Value<'_>) -> T) -> T {
        let body = Body::from(text.as_bytes());
        let padded_body = body.with_padding();
        look(Value::of(&body, &padded_body).unwrap())
    }

    #[test]
    fn members_and_elements_are_found_in_their_order() {
        let text = r#" { "a" : [ 1 , {"b": [] } , "x" ] , "a\u0062":null,"a": {} } "#;
        read(text, |value| {
            let members: Vec<(String, String)> = value
                .members()
                .map(|(key, value)| {
                    (String::from_utf8_lossy(&key).into_owned(), String::from_utf8_lossy(value.raw()).into_owned())
                })
                .collect();
            let expected = [("a", r#"[ 1 , {"b": [] } , "x" ]"#), ("ab", "null"), ("a", "{}")];
            assert_eq!(members, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
            let (_, list) = value.members().next().unwrap();
            let elements: Vec<&[u8]> = list.elements().map(|element| element.raw()).collect();
            assert_eq!(elements, [&b"1"[..], br#"{"b": [] }"#, br#""x""#]);
            assert_eq!(&text.as_bytes()[list.offset()..list.offset() + 3], b"[ 1");
            assert!(value.get("a").unwrap().is_object(), "the last value of a repeated key");
            assert!(value.get("ab").unwrap().is_null());
            assert!(value.get("b").is_none());
        });
    }

    #[test]
    fn values_of_other_kinds_have_no_parts() {
        for text in ["1", "\"x\"", "null", "true", "[]", "{}"] {
            read(text, |value| {
                assert_eq!((value.members().count(), value.elements().count()), (0, 0), "{text}");
                assert!(value.get("x").is_none());
            });
        }
    }

    #[test]
    fn texts_and_integers_are_read_and_nothing_is_taken_for_them() {
        for (text, expected) in [(r#""a\"\u00e9""#, Some("a\"é")), ("\"\"", Some("")), ("1", None), ("[\"a\"]", None)]
        {
            assert_eq!(read(text, |value| value.text().map(Cow::into_owned)).as_deref(), expected);
        }
        let numbers = [("5", Some(5)), ("-7", Some(-7)), ("9223372036854775807", Some(i64::MAX)), ("5.5", None)];
        for (text, expected) in
            numbers.into_iter().chain([("5e3", None), ("99999999999999999999", None), ("\"5\"", None), ("true", None)])
        {
            assert_eq!(read(text, |value| value.integer()), expected, "{text}");
        }
    }

    #[test]
    fn a_body_that_is_no_json_is_an_error() {
        for text in ["", "{", "{\"a\":}", "[1,]", "1 2", "{\"a\":1}x", "nul"] {
            let body = Body::from(text.as_bytes());
            let padded_body = body.with_padding();
            assert!(Value::of(&body, &padded_body).is_err(), "{text}");
        }
    }
}
