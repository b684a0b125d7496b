//! What a body holds that no declaration knows. Every answer is walked as it comes, so a body that fits costs one comparison
//! for each key: the declared paths are compiled into a tree, and the key that followed last time is tried first.

use super::cursor::Cursor;
use super::decl::{Resource, Src};
use super::fault::{Fault, Read};
use super::keys::Step;
use super::path::{self, Segment};
use super::plan::Op;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

/// A path that no declaration knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// Such as `teams[].new`, or `games[] (missing)` for rows that should have been there.
    pub path: String,
    /// The JSON type of an example: of the first value that was not null, where there is one. `None` where it is missing.
    pub kind: Option<&'static str>,
    /// Byte of the body at which the first value stands; of what is missing, 0.
    pub offset: usize,
}

/// The declared paths of a resource from one root.
#[derive(Debug)]
struct Known {
    nodes: Vec<Node>,
    /// How many places [`Walk::next`] has.
    places: usize,
}

#[derive(Debug, Default)]
struct Node {
    path: String,
    /// Its declared keys, and the nodes below them.
    keys: Vec<(Step, usize)>,
    each: Option<usize>,
    map: Option<usize>,
    /// Any key is known here.
    open: bool,
    /// Its array or object holds rows, or what rows are found in.
    holds_rows: bool,
    /// The body or a document: its containers are expected, those deeper may be absent.
    is_document: bool,
    /// All below it is known.
    is_leaf: bool,
    /// Where its places in [`Walk::next`] begin: one for the start of an object, one for each key.
    place: usize,
}

impl Known {
    fn of(resource: &Resource, root: &'static str) -> Known {
        let mut known = Known { nodes: vec![Node { is_document: true, ..Node::default() }], places: 0 };
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
        // Nodes below stand after the one they are below of.
        for at in (0..known.nodes.len()).rev() {
            let node = &known.nodes[at];
            let is_leaf = |below: Option<usize>| below.is_none_or(|below| known.nodes[below].is_leaf);
            let is_leaf = node.keys.is_empty() && !node.open && is_leaf(node.each) && is_leaf(node.map);
            known.nodes[at].is_leaf = is_leaf;
        }
        for node in &mut known.nodes {
            node.place = known.places;
            known.places += node.keys.len() + 1;
        }
        known
    }

    fn at(&mut self, path: &[Segment]) -> &mut Node {
        let at = path.iter().fold(0, |at, segment| self.below(at, *segment));
        &mut self.nodes[at]
    }

    fn below(&mut self, at: usize, segment: Segment) -> usize {
        let new = self.nodes.len();
        let node = &mut self.nodes[at];
        let below = match segment {
            Segment::Key(key) => match node.keys.iter().find(|(step, _)| step.key() == key.as_bytes()) {
                Some((_, below)) => *below,
                None => {
                    node.keys.push((Step::new(key, Op::Skip, 0, Vec::new()), new));
                    new
                }
            },
            Segment::Each | Segment::EachOrOne => *node.each.get_or_insert(new),
            Segment::Map => *node.map.get_or_insert(new),
        };
        if below == new {
            let path = match segment {
                Segment::Key(key) => member(&node.path, key),
                Segment::Each | Segment::EachOrOne => format!("{}[]", node.path),
                Segment::Map => format!("{}{{}}", node.path),
            };
            self.nodes.push(Node { path, ..Node::default() });
        }
        below
    }
}

/// Compiled once and kept; a resource is told by its address: it is static. What is kept is never waited for: another thread
/// may have held it when this process was forked, and then nobody gives it back.
fn known(resource: &'static Resource, root: &'static str) -> Arc<Known> {
    type Kept = HashMap<(usize, &'static str), Arc<Known>>;
    static KEPT: LazyLock<Mutex<Kept>> = LazyLock::new(Mutex::default);
    let make = || Arc::new(Known::of(resource, root));
    match KEPT.try_lock() {
        Ok(mut kept) => kept.entry((std::ptr::from_ref(resource).addr(), root)).or_insert_with(make).clone(),
        Err(_) => make(),
    }
}

/// The report for a body whose documents lie at `root`: in the order met, what is missing last. A fault comes with its
/// offset.
pub(super) fn report(
    resource: &'static Resource,
    root: &'static str,
    cursor: Cursor,
) -> Result<Vec<Unknown>, (Fault, usize)> {
    let known = known(resource, root);
    let mut walk = Walk {
        known: &known,
        cursor,
        next: vec![0; known.places],
        met: vec![false; known.nodes.len()],
        found: Vec::new(),
        places: HashMap::new(),
    };
    walk.cursor.whitespace();
    let read = walk.value(0).and_then(|()| {
        walk.cursor.whitespace();
        if walk.cursor.is_at_end() { Ok(()) } else { Err(Fault::Trailing) }
    });
    match read {
        Ok(()) => {
            walk.missing(0);
            Ok(walk.found)
        }
        Err(fault) => Err((fault, walk.cursor.position())),
    }
}

struct Walk<'a> {
    known: &'a Known,
    cursor: Cursor<'a>,
    /// For each key of each node, and for the start of its objects: the key that followed last time.
    next: Vec<u16>,
    met: Vec<bool>,
    found: Vec<Unknown>,
    /// Where in `found` an unknown key of a node stands.
    places: HashMap<(usize, String), usize>,
}

impl<'a> Walk<'a> {
    fn value(&mut self, at: usize) -> Read<()> {
        let known: &'a Known = self.known;
        let node = &known.nodes[at];
        self.met[at] = true;
        if node.is_leaf {
            return self.cursor.skip_checked();
        }
        match (self.cursor.byte(), node.each) {
            (b'{', each) if each.is_none() || !node.keys.is_empty() || node.map.is_some() => self.object(at, node),
            (b'[', Some(each)) => self.array(each),
            // `[?]`: a value that counts as the only element. Where an array is declared, decoding tells what is wrong.
            (_, Some(each)) => self.value(each),
            (_, None) => self.cursor.skip_checked(),
        }
    }

    fn array(&mut self, each: usize) -> Read<()> {
        self.cursor.advance(1);
        if !self.cursor.opened(b']') {
            return Ok(());
        }
        loop {
            self.value(each)?;
            if !self.cursor.another(b']')? {
                return Ok(());
            }
        }
    }

    fn object(&mut self, at: usize, node: &'a Node) -> Read<()> {
        self.cursor.advance(1);
        if !self.cursor.opened(b'}') {
            return Ok(());
        }
        let mut place = node.place;
        loop {
            let expected = usize::from(self.next[place]);
            match node.keys.get(expected) {
                Some((step, below)) if step.is_at(&self.cursor) => {
                    self.cursor.advance(step.len);
                    self.cursor.whitespace();
                    place = node.place + 1 + expected;
                    self.value(*below)?;
                }
                _ => place = self.other_key(at, node, place)?,
            }
            if !self.cursor.another(b'}')? {
                return Ok(());
            }
        }
    }

    /// A member whose key is not the one that was expected; gives the place to go on from.
    fn other_key(&mut self, at: usize, node: &'a Node, place: usize) -> Read<usize> {
        if self.cursor.byte() != b'"' {
            return Err(Fault::Key);
        }
        let key = self.cursor.string()?;
        self.cursor.colon()?;
        if let Some(number) = node.keys.iter().position(|(step, _)| step.key() == &*key) {
            self.next[place] = u16::try_from(number).unwrap_or_default();
            self.value(node.keys[number].1)?;
            return Ok(node.place + 1 + number);
        }
        match node.map {
            Some(map) => self.value(map)?,
            None => {
                if !node.open {
                    self.unknown(at, node, &String::from_utf8_lossy(&key));
                }
                self.cursor.skip_checked()?;
            }
        }
        Ok(place)
    }

    fn unknown(&mut self, at: usize, node: &Node, key: &str) {
        let kind = match self.cursor.byte() {
            b'"' => "string",
            b'{' => "object",
            b'[' => "array",
            b't' | b'f' => "boolean",
            b'n' => "null",
            _ => "number",
        };
        let place = *self.places.entry((at, key.to_owned())).or_insert(self.found.len());
        match self.found.get_mut(place) {
            Some(found) if found.kind == Some("null") => found.kind = Some(kind),
            Some(_) => {}
            None => {
                let offset = self.cursor.position();
                self.found.push(Unknown { path: member(&node.path, key), kind: Some(kind), offset });
            }
        }
    }

    /// Containers of rows that should have been there and never were: a renamed one must not be a quietly empty table.
    fn missing(&mut self, at: usize) {
        let known: &'a Known = self.known;
        let node = &known.nodes[at];
        for &(_, below) in &node.keys {
            let field = &known.nodes[below];
            if self.met[below] {
                self.missing(below);
            } else if field.holds_rows && self.met[at] && (node.is_document || self.has_unknown(at)) {
                let bracket = if field.map.is_some() { "{}" } else { "[]" };
                let path = format!("{}{bracket} (missing)", field.path);
                self.found.push(Unknown { path, kind: None, offset: 0 });
            }
        }
        for below in [node.each, node.map].into_iter().flatten() {
            self.missing(below);
        }
    }

    fn has_unknown(&self, at: usize) -> bool {
        self.places.keys().any(|(node, _)| *node == at)
    }
}

fn member(path: &str, key: &str) -> String {
    let mut text = path.to_string();
    path::push_key(&mut text, key);
    text
}
