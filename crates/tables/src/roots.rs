//! Locates the documents of a body by its keys. The elements are checked by the pass that reads them.

use super::declaration::{Resource, Root};
use super::path::{self, Segment};
use memchr::{memchr, memmem};
use reader::{Cursor, JsonError, ReadResult, describe_token};

/// A member of the body that decides the root.
struct RootMember<'a> {
    key: &'static str,
    value: Cursor<'a>,
}

/// The root of a body. An error may also be due to invalid JSON, which the caller reports instead.
pub(super) fn find(resource: &Resource, mut cursor: Cursor) -> Result<&'static Root, JsonError> {
    const NONE: &Root = &super::declaration::root("");
    let roots = resource.roots;
    cursor.whitespace();
    let start = cursor;
    match cursor.peek_byte() {
        b'[' => in_array(resource, cursor),
        b'{' => match members(resource, &mut cursor) {
            Ok(members) => in_object(resource, start, &members),
            // A body that does not show its root.
            Err(_) => Ok(roots.iter().find(|root| root.path.is_empty()).or(roots.first()).unwrap_or(NONE)),
        },
        _ => Err(missing(resource, start, "an object")),
    }
}

fn in_array(resource: &Resource, mut cursor: Cursor) -> Result<&'static Root, JsonError> {
    let start = cursor;
    let Some(root) = resource.roots.iter().find(|root| root.path.starts_with('[')) else {
        return Err(missing(resource, start, "an object"));
    };
    cursor.advance(1);
    match cursor.has_first_item(b']') || !root.needs_element {
        true => Ok(root),
        false => Err(JsonError {
            message: "expected the resource, found an empty array".into(),
            ..missing(resource, start, "an object")
        }),
    }
}

/// The members that decide the root, reading no more than needed.
fn members<'a>(resource: &Resource, cursor: &mut Cursor<'a>) -> ReadResult<Vec<RootMember<'a>>> {
    let leading_keys: Vec<&'static str> = resource.roots.iter().filter_map(leading_key).collect();
    let needed_keys: Vec<&'static str> =
        resource.roots.iter().flat_map(|root| root.needs).map(|need| need.trim_end_matches("[]")).collect();
    let mut members: Vec<RootMember> = Vec::new();
    let mut follows = None;
    cursor.advance(1);
    if !cursor.has_first_item(b'}') {
        return Ok(members);
    }
    loop {
        let key = cursor.string()?;
        cursor.colon()?;
        let name = leading_keys.iter().chain(&needed_keys).find(|name| name.as_bytes() == &*key);
        if let Some(key) = name
            && !members.iter().any(|member| member.key == *key)
        {
            members.push(RootMember { key, value: *cursor });
        }
        let has_member = |key: &&str| members.iter().any(|member| member.key == *key);
        let is_decided = match leading_keys.first() {
            Some(first) if has_member(first) => true,
            _ if needed_keys.is_empty() || !needed_keys.iter().all(has_member) => false,
            Some(_) => !*follows.get_or_insert_with(|| may_follow(*cursor, &leading_keys)),
            None => true,
        };
        if is_decided {
            return Ok(members);
        }
        cursor.skip_value()?;
        if !cursor.has_next_item(b'}')? {
            return Ok(members);
        }
    }
}

/// Whether one of the keys may be in the rest of the body. To search it takes a fraction of reading it.
fn may_follow(cursor: Cursor, keys: &[&str]) -> bool {
    let mut end = cursor;
    end.advance(end.len());
    let rest = end.span_from(&cursor).bytes();
    let is_there = |key: &&str| memmem::find_iter(rest, key).any(|at| at > 0 && rest[at - 1] == b'"');
    // An escape may spell any letter.
    memchr(b'\\', rest).is_some() || keys.iter().any(is_there)
}

fn leading_key(root: &Root) -> Option<&'static str> {
    match path::segments(root.path).next() {
        Some(Segment::Key(key)) => Some(key),
        _ => None,
    }
}

fn in_object(resource: &Resource, body: Cursor, members: &[RootMember]) -> Result<&'static Root, JsonError> {
    let member = |key: &str| members.iter().find(|member| member.key == key);
    if let Some((root, member)) = resource.roots.iter().find_map(|root| Some((root, member(leading_key(root)?)?))) {
        let or_one = path::segments(root.path).any(|segment| segment == Segment::EachOrOne);
        return match member.value.peek_byte() {
            b'[' => Ok(root),
            b'{' if or_one => Ok(root),
            _ => Err(no_member(member.key, member.value, "an array")),
        };
    }
    let Some(root) = resource.roots.iter().find(|root| root.path.is_empty()) else {
        return Err(missing(resource, body, "an array"));
    };
    let check = |need: &&'static str| {
        let key = need.trim_end_matches("[]");
        let expected = if key == *need { "a value" } else { "an array" };
        match member(key).map(|member| (member.value, member.value.peek_byte())) {
            None => {
                let message = format!("expected {expected}, found no {key:?}");
                Err(JsonError { message, ..no_member(key, body, expected) })
            }
            Some((_, b'[')) => Ok(()),
            Some((_, byte)) if key == *need && byte != b'n' => Ok(()),
            Some((value, _)) => Err(no_member(key, value, expected)),
        }
    };
    let mut checks = root.needs.iter().map(check);
    match root.needs_any {
        true if root.needs.iter().any(|need| check(need).is_ok()) => Ok(root),
        _ => match checks.find_map(Result::err) {
            None => Ok(root),
            Some(error) if resource.roots.first() == Some(root) => Err(error),
            // Name the usual place.
            Some(_) => Err(missing(resource, body, "an array")),
        },
    }
}

/// The error for a member of the wrong kind.
fn no_member(key: &str, value: Cursor, expected: &str) -> JsonError {
    JsonError {
        path: format!("$.{key}"),
        message: format!("expected {expected}, found {}", describe_token(value.bytes64())),
        offset: value.position(),
    }
}

/// The error for a body without the usual root.
fn missing(resource: &Resource, body: Cursor, expected: &str) -> JsonError {
    let root = resource.roots.first().map_or("", |root| match root.path {
        "" => root.needs.first().copied().unwrap_or_default(),
        path => path,
    });
    let key = root.split(['[', '{']).next().unwrap_or_default();
    let message = match (body.peek_byte(), key) {
        (b'{', "") => format!("expected an array, found {}", describe_token(body.bytes64())),
        (b'{', key) => format!("expected {expected}, found no {key:?}"),
        (_, "") if root == "[]" => format!("expected an array, found {}", describe_token(body.bytes64())),
        _ => format!("expected an object, found {}", describe_token(body.bytes64())),
    };
    let path = if key.is_empty() { "$".into() } else { format!("$.{key}") };
    JsonError { path, message, offset: body.position() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::PlanCache;
    use crate::declaration::root;
    use reader::Body;

    fn find_in(roots: &'static [Root], body: &str) -> Result<&'static str, String> {
        let resource = Resource { name: "r", roots, tables: &[], paths: &[], cache: PlanCache::new() };
        let body = Body::from(body.as_bytes());
        let root = find(&resource, Cursor::new(&body.with_padding()).unwrap());
        root.map(|root| root.path).map_err(|missing| format!("{} {}", missing.path, missing.message))
    }

    #[test]
    fn a_body_shows_its_root_by_its_bracket_or_keys() {
        const ROOTS: &[Root] = &[root("events[?]"), root("[]"), root(""), root("games[]")];
        const BARE_FIRST: &[Root] = &[root(""), root("teams[]")];
        let roots = ROOTS;
        assert_eq!(find_in(roots, "[1]"), Ok("[]"));
        assert_eq!(find_in(roots, " {\"x\": [{}], \"\\u0065vents\": []}"), Ok("events[?]"));
        assert_eq!(find_in(roots, "{\"games\": 1, \"events\": {}}"), Ok("events[?]"));
        assert_eq!(find_in(roots, "{\"games\": []}"), Ok("games[]"));
        assert_eq!(find_in(roots, "{\"x\": 1}"), Ok(""));
        assert_eq!(find_in(roots, "{}"), Ok(""));
        assert_eq!(find_in(BARE_FIRST, "{\"x\": 1, \"teams\": []}"), Ok("teams[]"));
    }

    #[test]
    fn what_a_bare_document_needs_does_not_hide_a_root_with_a_key_that_follows() {
        const GAME: &[Root] = &[root("").needs(&["id"]), root("events[?]")];
        for (rest, expected) in [
            ("", ""),
            (",\"x\":\"/events?\"", ""),
            (",\"x\":{\"events\":[]}", ""),
            (",\"x\":\"\\n\"", ""),
            (",\"events\":[]", "events[?]"),
            (",\"x\":{},\"\\u0065vents\":[]", "events[?]"),
        ] {
            assert_eq!(find_in(GAME, &format!("{{\"id\":1{rest}}}")), Ok(expected), "{rest}");
        }
    }

    #[test]
    fn a_body_without_its_root_says_which() {
        const TEAMS: &[Root] = &[root("teams[]"), root("[]").not_empty()];
        const ROSTER: &[Root] = &[root("").needs(&["id", "players[]"])];
        const LOCATIONS: &[Root] = &[root("[]"), root("").needs(&["locations[]"])];
        const PARTS: &[Root] = &[root("").needs_any(&["stats[]", "shots[]"])];
        for (roots, body, expected) in [
            (TEAMS, "{}", "$.teams expected an array, found no \"teams\""),
            (TEAMS, "{\"squads\":[]}", "$.teams expected an array, found no \"teams\""),
            (TEAMS, "{\"teams\":null}", "$.teams expected an array, found null"),
            (TEAMS, "{\"teams\":{}}", "$.teams expected an array, found an object"),
            (TEAMS, "null", "$.teams expected an object, found null"),
            (TEAMS, "\"teams\"", "$.teams expected an object, found a string"),
            (TEAMS, "[]", "$.teams expected the resource, found an empty array"),
            (ROSTER, "{}", "$.id expected a value, found no \"id\""),
            (ROSTER, "{\"id\":null,\"players\":[]}", "$.id expected a value, found null"),
            (ROSTER, "{\"id\":1}", "$.players expected an array, found no \"players\""),
            (ROSTER, "{\"players\":7,\"id\":1}", "$.players expected an array, found a number"),
            (ROSTER, "[]", "$.id expected an object, found an array"),
            (LOCATIONS, "{}", "$ expected an array, found an object"),
            (LOCATIONS, "null", "$ expected an array, found null"),
            (PARTS, "{\"gameTotals\":{}}", "$.stats expected an array, found no \"stats\""),
        ] {
            assert_eq!(find_in(roots, body), Err(expected.into()), "{body}");
        }
        for (roots, body) in [
            (TEAMS, "{\"teams\":[]}"),
            (TEAMS, "[{}]"),
            (ROSTER, "{\"players\":[],\"id\":\"x\"}"),
            (LOCATIONS, "[]"),
            (LOCATIONS, "{\"locations\":[]}"),
            (PARTS, "{\"gameTotals\":{},\"shots\":[]}"),
        ] {
            assert!(find_in(roots, body).is_ok(), "{body}");
        }
    }
}
