//! The JSON path of a byte offset. It reads the body again from its start, so that only errors pay for tracking the
//! path.

use std::ops::Range;

/// Deeper paths are cut, so that a body of brackets cannot produce a message of megabytes.
const MAX_STEPS: usize = 32;

enum PathStep {
    Member(Range<usize>),
    Element(usize),
}

/// The path, such as `$.teams[0].id`, of the value that starts at or contains `offset`. The body may be broken
/// anywhere.
pub fn at(body: &[u8], offset: usize) -> String {
    let body = &body[..offset.min(body.len())];
    let mut steps: Vec<PathStep> = Vec::new();
    let mut key_next = false;
    let mut at = 0;
    while at < body.len() {
        match body[at] {
            b'{' => {
                steps.push(PathStep::Member(0..0));
                key_next = true;
            }
            b'[' => steps.push(PathStep::Element(0)),
            b'}' | b']' => {
                steps.pop();
                key_next = false;
            }
            b',' => match steps.last_mut() {
                Some(PathStep::Element(index)) => *index += 1,
                Some(PathStep::Member(_)) => key_next = true,
                None => {}
            },
            b'"' => {
                let start = at + 1;
                at = start;
                while at < body.len() && body[at] != b'"' {
                    at += if body[at] == b'\\' { 2 } else { 1 };
                }
                if let (true, Some(PathStep::Member(key))) = (key_next, steps.last_mut()) {
                    *key = start..at.min(body.len());
                    key_next = false;
                }
            }
            _ => {}
        }
        at += 1;
    }
    let mut path = String::from("$");
    for step in steps.iter().take(MAX_STEPS) {
        match step {
            PathStep::Member(key) if key.is_empty() => {}
            PathStep::Member(key) => {
                path.push('.');
                path.push_str(&String::from_utf8_lossy(&body[key.clone()]));
            }
            PathStep::Element(index) => path.push_str(&format!("[{index}]")),
        }
    }
    if steps.len() > MAX_STEPS {
        path.push('…');
    }
    path
}

#[cfg(test)]
mod tests {
    use super::at;

    #[test]
    fn a_value_has_the_path_of_its_keys_and_positions() {
        let body = br#"{"a": "x{[,", "teams": [{"id": 1}, {"id": [2, 3], "name": "y"}]}"#;
        let path = |text: &str| at(body, body.windows(text.len()).position(|w| w == text.as_bytes()).unwrap());
        assert_eq!(path("{\"a"), "$");
        assert_eq!(path("1}"), "$.teams[0].id");
        assert_eq!(path("3]"), "$.teams[1].id[1]");
        assert_eq!(path("\"y"), "$.teams[1].name");
        assert_eq!(at(&[b'['; 100_000], 100_000).matches("[0]").count(), super::MAX_STEPS);
    }
}
