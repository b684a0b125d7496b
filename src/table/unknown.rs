//! What a body holds that no declaration knows: a walk over it with all paths of all tables at hand.

use super::cursor::Cursor;
use super::decl::{Resource, Src};
use super::fault::{Fault, Read};
use super::path::{self, Segment};
use std::collections::HashSet;

/// The declared paths as a tree, and what was met of them.
#[derive(Debug, Default)]
struct Known {
    fields: Vec<(String, Known)>,
    each: Option<Box<Known>>,
    map: Option<Box<Known>>,
    /// Any key is known here.
    open: bool,
    /// Its array or object holds rows, or what rows are found in.
    holds_rows: bool,
    /// The body or a document: its containers are expected, those deeper may be absent.
    is_document: bool,
    met: bool,
    /// Keys that nothing declares.
    unknown: HashSet<String>,
}

impl Known {
    fn at(&mut self, path: &[Segment]) -> &mut Known {
        path.iter().fold(self, |known, segment| match segment {
            Segment::Key(key) => known.field(key),
            Segment::Each | Segment::EachOrOne => known.each.get_or_insert_default(),
            Segment::Map => known.map.get_or_insert_default(),
        })
    }

    fn field(&mut self, key: &str) -> &mut Known {
        let at = self.fields.iter().position(|(k, _)| k == key).unwrap_or_else(|| {
            self.fields.push((key.into(), Known::default()));
            self.fields.len() - 1
        });
        &mut self.fields[at].1
    }

    fn of(resource: &Resource, root: &'static str) -> Known {
        let mut known = Known { is_document: true, ..Known::default() };
        let root = path::parse(root);
        known.at(&root).is_document = true;
        for table in resource.tables {
            let row: Vec<Segment> = root.iter().copied().chain(path::parse(table.rows)).collect();
            known.at(&row);
            for end in (0..row.len()).filter(|i| row[*i].is_level()) {
                known.at(&row[..end]).holds_rows = true;
            }
            for col in table.cols {
                if let Src::Path(text) | Src::Key(text) | Src::Index(text) = col.src {
                    known.at(&path::absolute(&root, &row, text));
                }
            }
            if let Some(open) = table.open {
                known.at(&path::absolute(&root, &row, open)).open = true;
            }
        }
        for text in resource.known {
            known.at(&path::absolute(&root, &root, text));
        }
        known
    }

    fn is_leaf(&self) -> bool {
        self.fields.is_empty() && self.each.is_none() && self.map.is_none() && !self.open
    }
}

/// The report for a body whose documents lie at `root`. A fault comes with its offset.
pub(super) fn report(
    resource: &Resource,
    root: &'static str,
    cursor: Cursor,
) -> Result<Vec<String>, (Fault, usize)> {
    let mut known = Known::of(resource, root);
    let mut walk = Walk { cursor, found: Vec::new() };
    walk.cursor.whitespace();
    let read = walk.value(&mut known, "").and_then(|()| {
        walk.cursor.whitespace();
        if walk.cursor.is_at_end() { Ok(()) } else { Err(Fault::Trailing) }
    });
    match read {
        Ok(()) => {
            missing(&known, "", &mut walk.found);
            Ok(walk.found)
        }
        Err(fault) => Err((fault, walk.cursor.position())),
    }
}

struct Walk<'a> {
    cursor: Cursor<'a>,
    found: Vec<String>,
}

impl Walk<'_> {
    fn value(&mut self, known: &mut Known, path: &str) -> Read<()> {
        known.met = true;
        match self.cursor.byte() {
            _ if known.is_leaf() => self.cursor.skip_checked(),
            b'{' if known.each.is_none() || !known.fields.is_empty() || known.map.is_some() => {
                self.object(known, path)
            }
            b'[' => match &mut known.each {
                Some(each) => self.array(each, &format!("{path}[]")),
                None => self.cursor.skip_checked(),
            },
            // `[?]`: a value that counts as the only element. Where an array is declared, decoding tells what is wrong.
            _ => match &mut known.each {
                Some(each) => self.value(each, &format!("{path}[]")),
                None => self.cursor.skip_checked(),
            },
        }
    }

    fn array(&mut self, each: &mut Known, path: &str) -> Read<()> {
        self.cursor.advance(1);
        if !self.cursor.opened(b']') {
            return Ok(());
        }
        loop {
            self.value(each, path)?;
            if !self.cursor.another(b']')? {
                return Ok(());
            }
        }
    }

    fn object(&mut self, known: &mut Known, path: &str) -> Read<()> {
        self.cursor.advance(1);
        if !self.cursor.opened(b'}') {
            return Ok(());
        }
        loop {
            if self.cursor.byte() != b'"' {
                return Err(Fault::Key);
            }
            let key = self.cursor.string()?;
            self.cursor.colon()?;
            let key = String::from_utf8_lossy(&key);
            if let Some((_, field)) = known.fields.iter_mut().find(|(k, _)| *k == key) {
                self.value(field, &member(path, &key))?;
            } else if let Some(map) = &mut known.map {
                self.value(map, &format!("{path}{{}}"))?;
            } else {
                if !known.open && !known.unknown.contains(&*key) {
                    known.unknown.insert(key.to_string());
                    self.found.push(member(path, &key));
                }
                self.cursor.skip_checked()?;
            }
            if !self.cursor.another(b'}')? {
                return Ok(());
            }
        }
    }
}

fn member(path: &str, key: &str) -> String {
    let mut text = path.to_string();
    path::push_key(&mut text, key);
    text
}

/// Containers of rows that should have been there and never were: a renamed one must not be a quietly empty table.
fn missing(known: &Known, path: &str, found: &mut Vec<String>) {
    for (key, field) in &known.fields {
        let path = member(path, key);
        if field.met {
            missing(field, &path, found);
        } else if field.holds_rows && known.met && (known.is_document || !known.unknown.is_empty()) {
            let bracket = if field.map.is_some() { "{}" } else { "[]" };
            found.push(format!("{path}{bracket} (missing)"));
        }
    }
    for (below, bracket) in [(&known.each, "[]"), (&known.map, "{}")] {
        if let Some(below) = below {
            missing(below, &format!("{path}{bracket}"), found);
        }
    }
}
