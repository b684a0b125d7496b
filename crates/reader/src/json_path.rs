//! The JSON path of a byte offset, for which the body is read again: only errors pay for tracking the path.

use super::{Body, Cursor};
use std::ops::Range;

/// Deeper paths and longer keys are cut, so that a body of brackets cannot produce a message of megabytes.
const MAX_STEPS: usize = 32;
const MAX_KEY: usize = 200;

enum PathStep {
    Member(Range<usize>),
    Element(usize),
}

/// The path, such as `$.teams[0].id`, of the value that starts at or contains `offset`. The body may be broken
/// anywhere.
pub fn at(body: &Body, offset: usize) -> String {
    let bytes = body.with_padding();
    let steps = Cursor::new(&bytes).map(|cursor| steps_to(cursor, offset)).unwrap_or_default();
    let mut path = String::from("$");
    for step in steps.iter().take(MAX_STEPS) {
        match step {
            PathStep::Member(key) if key.is_empty() => {}
            PathStep::Member(key) => {
                let key = String::from_utf8_lossy(&bytes[key.clone()]);
                path.push('.');
                path.extend(key.chars().take(MAX_KEY).chain(key.chars().nth(MAX_KEY).map(|_| '…')));
            }
            PathStep::Element(index) => path.push_str(&format!("[{index}]")),
        }
    }
    if steps.len() > MAX_STEPS {
        path.push('…');
    }
    path
}

/// The brackets that are open before `offset`, each with its last key or position.
fn steps_to(mut cursor: Cursor<'_>, offset: usize) -> Vec<PathStep> {
    let mut steps: Vec<PathStep> = Vec::new();
    let mut is_key_next = false;
    while cursor.position() < offset && !cursor.is_at_end() {
        let start = cursor.position() + 1;
        match cursor.peek_byte() {
            b'{' => {
                steps.push(PathStep::Member(0..0));
                is_key_next = true;
            }
            b'[' => steps.push(PathStep::Element(0)),
            b'}' | b']' => {
                steps.pop();
                is_key_next = false;
            }
            b',' => match steps.last_mut() {
                Some(PathStep::Element(index)) => *index += 1,
                Some(PathStep::Member(_)) => is_key_next = true,
                None => {}
            },
            _ => {
                let is_whole = cursor.skip_string().is_ok();
                if let (true, Some(PathStep::Member(key))) =
                    (is_key_next && cursor.position() >= start, steps.last_mut())
                {
                    *key = start..(cursor.position() - usize::from(is_whole)).min(offset);
                    is_key_next = false;
                }
            }
        }
        if cursor.position() < start {
            cursor.advance(1);
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::{Body, at};

    #[test]
    fn a_value_has_the_path_of_its_keys_and_positions() {
        let text = br#"{"a": "x{[,", "teams": [{"id": 1}, {"id": [2, 3], "name": "y"}], "cut\n": "\q"}"#;
        let body = Body::from(&text[..]);
        let place = |part: &str| text.windows(part.len()).position(|w| w == part.as_bytes()).unwrap();
        let path = |part: &str| at(&body, place(part));
        assert_eq!(path("{\"a"), "$");
        assert_eq!(path("1}"), "$.teams[0].id");
        assert_eq!(path("3]"), "$.teams[1].id[1]");
        assert_eq!(path("\"y"), "$.teams[1].name");
        assert_eq!(path("ms\": ["), "$.tea");
        assert_eq!(path("t\\n"), "$.cu");
        assert_eq!(path("\\q"), "$.cut\\n");
        assert_eq!(at(&body, usize::MAX), "$.cut\\n");
        let long = Body::from(format!("{{\"{}\": x}}", "k".repeat(100_000)).into_bytes());
        assert_eq!(at(&long, 100_006), format!("$.{}…", "k".repeat(super::MAX_KEY)));
        let brackets = Body::from(vec![b'['; 100_000]);
        assert_eq!(at(&brackets, 100_000).matches("[0]").count(), super::MAX_STEPS);
    }
}
