//! The path language of declarations, parsed.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment {
    Key(&'static str),
    /// `[]`
    Each,
    /// `[?]`
    EachOrOne,
    /// `{}`
    Map,
}

impl Segment {
    /// Whether it leads from one value to many.
    pub fn is_level(self) -> bool {
        !matches!(self, Segment::Key(_))
    }
}

/// The segments of a path. Never fails: an unknown character is part of a key.
pub fn segments(path: &'static str) -> impl Iterator<Item = Segment> {
    let mut rest = path;
    std::iter::from_fn(move || {
        let bracket = [("[]", Segment::Each), ("[?]", Segment::EachOrOne), ("{}", Segment::Map)];
        rest = rest.trim_start_matches('.');
        if let Some((text, segment)) = bracket.into_iter().find(|(text, _)| rest.starts_with(text)) {
            rest = &rest[text.len()..];
            return Some(segment);
        }
        let end = rest.get(1..)?.find(['.', '[', '{']).map_or(rest.len(), |at| at + 1);
        let (key, after) = rest.split_at(end);
        rest = after;
        Some(Segment::Key(key))
    })
}

pub fn parse(path: &'static str) -> Vec<Segment> {
    segments(path).collect()
}

/// A column's path from the body. `row` and `root` are paths from the body too.
pub fn absolute(root: &[Segment], row: &[Segment], path: &'static str) -> Vec<Segment> {
    let (base, rest) = if path == "@" {
        (row, "")
    } else if path.starts_with('.') {
        (row, path)
    } else {
        (root, path)
    };
    base.iter().copied().chain(parse(rest)).collect()
}

/// Number of leading segments up to the last array or object level: the element a value belongs to.
pub fn scope(path: &[Segment]) -> usize {
    path.iter().rposition(|s| s.is_level()).map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::{Segment::*, *};

    /// The path as text: `teams[].player_stats[].stats{}`.
    fn print(path: &[Segment]) -> String {
        path.iter().fold(String::new(), |mut text, segment| {
            match segment {
                Key(key) if text.is_empty() => text.push_str(key),
                Key(key) => text.extend([".", key]),
                Each | EachOrOne => text.push_str("[]"),
                Map => text.push_str("{}"),
            }
            text
        })
    }

    #[test]
    fn a_path_is_members_elements_and_map_values() {
        assert_eq!(
            parse("teams[].player_stats[?].stats{}[]"),
            [Key("teams"), Each, Key("player_stats"), EachOrOne, Key("stats"), Map, Each]
        );
        assert_eq!(parse(""), []);
        assert_eq!(parse("[]"), [Each]);
        assert_eq!(print(&parse("[].a.b{}")), "[].a.b{}");
    }

    #[test]
    fn a_column_is_read_from_the_row_or_the_document() {
        let (root, row) = (parse("teams[]"), parse("teams[].shots[]"));
        assert_eq!(print(&absolute(&root, &row, ".x.y")), "teams[].shots[].x.y");
        assert_eq!(print(&absolute(&root, &row, "@")), "teams[].shots[]");
        assert_eq!(print(&absolute(&root, &row, "id")), "teams[].id");
        assert_eq!(scope(&absolute(&root, &row, "id")), 2);
    }
}
