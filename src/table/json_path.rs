//! The JSON path of a byte offset. It reads the body again from its start, so that decoding need not track where it is;
//! only an error pays.

/// Deeper paths are cut: a body of brackets must not make a message of megabytes.
const SHOWN: usize = 32;

enum Place {
    Member(String),
    Element(usize),
}

/// `$.teams[0].id` for the value that starts at `offset`, or that holds it. The body may be broken anywhere.
pub(super) fn at(body: &[u8], offset: usize) -> String {
    let body = &body[..offset.min(body.len())];
    let mut places: Vec<Place> = Vec::new();
    let mut key_next = false;
    let mut at = 0;
    while at < body.len() {
        match body[at] {
            b'{' => {
                places.push(Place::Member(String::new()));
                key_next = true;
            }
            b'[' => places.push(Place::Element(0)),
            b'}' | b']' => {
                places.pop();
                key_next = false;
            }
            b',' => match places.last_mut() {
                Some(Place::Element(index)) => *index += 1,
                Some(Place::Member(_)) => key_next = true,
                None => {}
            },
            b'"' => {
                let start = at + 1;
                at = start;
                while at < body.len() && body[at] != b'"' {
                    at += if body[at] == b'\\' { 2 } else { 1 };
                }
                if let (true, Some(Place::Member(key))) = (key_next, places.last_mut()) {
                    *key = String::from_utf8_lossy(&body[start..at.min(body.len())]).into_owned();
                    key_next = false;
                }
            }
            _ => {}
        }
        at += 1;
    }
    let mut path = String::from("$");
    for place in places.iter().take(SHOWN) {
        match place {
            Place::Member(key) if key.is_empty() => {}
            Place::Member(key) => {
                path.push('.');
                path.push_str(key);
            }
            Place::Element(index) => path.push_str(&format!("[{index}]")),
        }
    }
    if places.len() > SHOWN {
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
        assert_eq!(at(&[b'['; 100_000], 100_000).matches("[0]").count(), super::SHOWN);
    }
}
