//! Where the documents of a body lie: its first key or bracket tells.

use super::cursor::Cursor;
use super::decl::Resource;
use super::fault::Read;
use super::path::{self, Segment};

/// The root of a body, as [`Resource::roots`] says. A body that cannot be read takes the one it would have when empty:
/// decoding it tells what is wrong.
pub(super) fn choose(resource: &Resource, mut cursor: Cursor) -> &'static str {
    let roots = resource.roots;
    cursor.whitespace();
    let found = match cursor.byte() {
        b'[' => roots.iter().position(|root| root.starts_with('[')),
        b'{' => by_key(roots, &mut cursor),
        _ => None,
    };
    let plain = || roots.iter().position(|root| root.is_empty());
    let root = found.or_else(plain).unwrap_or(0);
    roots.get(root).copied().unwrap_or_default()
}

/// The first root whose leading key the object has.
fn by_key(roots: &[&'static str], cursor: &mut Cursor) -> Option<usize> {
    let keyed: Vec<(usize, &str)> = roots
        .iter()
        .enumerate()
        .filter_map(|(number, root)| match path::parse(root).first() {
            Some(Segment::Key(key)) => Some((number, *key)),
            _ => None,
        })
        .collect();
    let mut best = None;
    // A body that breaks off has the keys met so far.
    let _ = members(cursor, |key| {
        if let Some((number, _)) = keyed.iter().find(|(_, k)| k.as_bytes() == key) {
            best = Some(best.map_or(*number, |b: usize| b.min(*number)));
        }
        best.is_none() || best != keyed.first().map(|(number, _)| *number)
    });
    best
}

/// Calls `more` with each key of an object until it says no.
fn members(cursor: &mut Cursor, mut more: impl FnMut(&[u8]) -> bool) -> Read<()> {
    cursor.advance(1);
    if !cursor.opened(b'}') {
        return Ok(());
    }
    loop {
        let key = cursor.string()?;
        if !more(&key) {
            return Ok(());
        }
        cursor.colon()?;
        cursor.skip_unchecked()?;
        if !cursor.another(b'}')? {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Body;

    fn root(roots: &'static [&'static str], body: &str) -> &'static str {
        let resource = Resource { name: "r", roots, tables: &[], known: &[] };
        let body = Body::from(body.as_bytes());
        choose(&resource, Cursor::new(&body.padded()).unwrap())
    }

    #[test]
    fn a_body_shows_its_root_by_its_bracket_or_keys() {
        let roots = &["events[?]", "[]", "", "games[]"];
        assert_eq!(root(roots, "[1]"), "[]");
        assert_eq!(root(roots, " {\"x\": [{}], \"\\u0065vents\": 1"), "events[?]");
        assert_eq!(root(roots, "{\"games\": 1, \"events\": 1}"), "events[?]");
        assert_eq!(root(roots, "{\"games\": 1, \"x\": }"), "games[]");
        assert_eq!(root(roots, "{\"x\": 1}"), "");
        assert_eq!(root(roots, "{}"), "");
        assert_eq!(root(&["teams[]", "[]"], "{\"x\": 1}"), "teams[]");
        assert_eq!(root(&["", "teams[]"], "{\"x\": 1, \"teams\": 2}"), "teams[]");
        assert_eq!(root(&[""], "[]"), "");
        assert_eq!(root(&["teams[]", "[]"], "null"), "teams[]");
    }
}
