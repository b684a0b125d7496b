//! The declared paths of all tables of a resource as one tree, for the schema check.

use super::declaration::{Col, Resource, Root, Src, Table, Ty};
use super::extent::Extent;
use super::keys::KeyStep;
use super::path::{self, Segment};
use super::plan::Op;

#[derive(Debug)]
pub(super) struct SchemaTree {
    pub nodes: Vec<SchemaNode>,
    /// One for each table.
    pub(crate) extents: Vec<Extent>,
    /// Length of `Validator::next`.
    pub places: usize,
    /// Request values without which a table does not decode.
    pub requests: Vec<(&'static str, Ty)>,
    /// Whether the check can prove that every table decodes. It cannot if, for example, a required column is derived.
    pub(crate) is_conclusive: bool,
}

/// The type whose values a column accepts besides null. A clock accepts anything.
fn accepted_type(col: &Col) -> Option<Ty> {
    Some(match col.ty {
        Ty::ClockSeconds => return None,
        Ty::IsTeamTotal => Ty::Int64,
        // An array of links may be empty.
        Ty::Links if col.required => Ty::Text,
        // A link without milliseconds is null.
        Ty::LinkMs(_) if !col.required => Ty::Text,
        Ty::Category | Ty::BeforeAt | Ty::AfterAt => Ty::Text,
        Ty::LinkText(_) => Ty::Links,
        Ty::LineupId => Ty::ListInt64,
        ty => ty,
    })
}

#[derive(Debug, Default)]
pub(super) struct SchemaNode {
    pub path: String,
    pub keys: Vec<SchemaMember>,
    pub each: Option<usize>,
    /// `[?]`: a value that is not an array is the only element.
    pub or_one: bool,
    pub map: Option<usize>,
    /// Any key is accepted and holds a number.
    pub open: bool,
    /// Its array or object contains rows, or leads to them.
    pub(crate) holds_rows: bool,
    /// An element that must not be null, or the body is not a response of the resource.
    pub(crate) is_root: bool,
    /// The body must contain it.
    pub(crate) leads_to_root: bool,
    pub(crate) is_row: bool,
    /// The body or a document: its containers are expected, deeper ones may be absent.
    pub(crate) is_document: bool,
    /// What the columns that read this node accept.
    pub fits: Vec<Ty>,
    /// A required column reads this node or a member of it.
    pub(crate) is_needed: bool,
    /// Everything below is known and nothing of it is read.
    pub(crate) is_skipped: bool,
    /// Its first index in `Validator::next`: one entry for the start of an object, one for each key.
    pub place: usize,
}

#[derive(Debug)]
pub(super) struct SchemaMember {
    pub step: KeyStep,
    /// The node of the value.
    pub below: usize,
    /// Set if the value only has to match this type.
    pub fit: Option<Ty>,
    pub(crate) is_needed: bool,
}

impl SchemaNode {
    pub(crate) fn is_object(&self) -> bool {
        !self.keys.is_empty() || self.map.is_some() || self.open
    }
}

impl SchemaTree {
    pub(super) fn of(resource: &Resource, place: &'static Root) -> SchemaTree {
        let document = SchemaNode { is_document: true, ..SchemaNode::default() };
        let mut tree = SchemaTree {
            nodes: vec![document],
            extents: Vec::new(),
            places: 0,
            requests: Vec::new(),
            is_conclusive: true,
        };
        let root = path::parse(place.path);
        tree.at(&root).is_document = true;
        let needs = place.needs.iter().map(|need| path::parse(need));
        for needed in needs.chain(std::iter::once(root.clone())) {
            for end in 1..=needed.len() {
                let node = tree.at(&needed[..end]);
                node.leads_to_root = true;
                node.is_root |= needed[end - 1].is_level();
            }
        }
        for table in resource.tables {
            tree.table(table, &root);
        }
        for text in resource.known {
            tree.at(&path::absolute(&root, &root, text));
        }
        // Child nodes have larger indexes than their parents.
        for at in (0..tree.nodes.len()).rev() {
            tree.summarize(at);
        }
        for node in &mut tree.nodes {
            node.place = tree.places;
            tree.places += node.keys.len() + 1;
        }
        tree
    }

    fn table(&mut self, table: &'static Table, root: &[Segment]) {
        let row: Vec<Segment> = root.iter().copied().chain(path::parse(table.rows)).collect();
        let node = self.place(&row);
        self.nodes[node].is_row = true;
        self.extents.push(Extent::of(table, node));
        for end in (0..row.len()).filter(|i| row[*i].is_level()) {
            self.at(&row[..end]).holds_rows = true;
        }
        for col in table.cols {
            self.column(col, root, &row);
        }
        if let Some(open) = table.open {
            self.at(&path::absolute(root, &row, open)).open = true;
        }
    }

    fn column(&mut self, col: &Col, root: &[Segment], row: &[Segment]) {
        let from_request = if let Src::Request(name) = col.src { Some(name) } else { col.or_request };
        if let (true, Some(name)) = (col.required, from_request) {
            self.requests.push((name, col.ty));
        }
        match col.src {
            Src::Path(text) => {
                let node = self.at(&path::absolute(root, row, text));
                if let Some(fit) = accepted_type(col)
                    && !node.fits.contains(&fit)
                {
                    node.fits.push(fit);
                }
                let is_needed = col.required && col.or_request.is_none();
                node.is_needed |= is_needed;
                // These types may become null although there is a value.
                let may_be_none =
                    matches!(col.ty, Ty::ClockSeconds | Ty::IsMake | Ty::LinkText(_) | Ty::BeforeAt | Ty::AfterAt);
                self.is_conclusive &= !(is_needed && may_be_none);
            }
            Src::Key(text) | Src::Index(text) => {
                self.at(&path::absolute(root, row, text));
            }
            Src::Derived(_) | Src::Absent => self.is_conclusive &= !col.required,
            Src::Request(_) => {}
        }
    }

    /// Derives the properties that depend on child nodes.
    fn summarize(&mut self, at: usize) {
        let mut keys = std::mem::take(&mut self.nodes[at].keys);
        for member in &mut keys {
            let below = &self.nodes[member.below];
            let is_value = !below.is_object() && below.each.is_none();
            member.fit = if let ([fit], true) = (&below.fits[..], is_value) { Some(*fit) } else { None };
            member.is_needed = below.is_needed;
        }
        let below = [self.nodes[at].each, self.nodes[at].map];
        let is_skipped = |below: usize| self.nodes[below].is_skipped && !self.nodes[below].is_row;
        let node = &self.nodes[at];
        let is_skipped =
            keys.is_empty() && !node.open && node.fits.is_empty() && below.into_iter().flatten().all(is_skipped);
        let is_of_two_kinds = node.each.is_some() && (node.is_object() || !keys.is_empty());
        self.is_conclusive &= !is_of_two_kinds && keys.len() <= 64;
        let node = &mut self.nodes[at];
        node.is_skipped = is_skipped;
        node.is_needed |= keys.iter().any(|member| member.is_needed);
        node.keys = keys;
    }

    fn place(&mut self, path: &[Segment]) -> usize {
        path.iter().fold(0, |at, segment| self.below(at, *segment))
    }

    fn at(&mut self, path: &[Segment]) -> &mut SchemaNode {
        let at = self.place(path);
        &mut self.nodes[at]
    }

    fn below(&mut self, at: usize, segment: Segment) -> usize {
        let new = self.nodes.len();
        let node = &mut self.nodes[at];
        let below = match segment {
            Segment::Key(key) => match node.keys.iter().find(|member| member.step.key() == key.as_bytes()) {
                Some(member) => member.below,
                None => {
                    let step = KeyStep::new(key, Op::Skip, 0, Vec::new());
                    node.keys.push(SchemaMember { step, below: new, fit: None, is_needed: false });
                    new
                }
            },
            Segment::Each | Segment::EachOrOne => {
                // If two tables disagree, the stricter one counts.
                node.or_one = segment == Segment::EachOrOne && (node.each.is_none() || node.or_one);
                *node.each.get_or_insert(new)
            }
            Segment::Map => *node.map.get_or_insert(new),
        };
        if below == new {
            let path = match segment {
                Segment::Key(key) => member(&node.path, key),
                Segment::Each | Segment::EachOrOne => format!("{}[]", node.path),
                Segment::Map => format!("{}{{}}", node.path),
            };
            self.nodes.push(SchemaNode { path, ..SchemaNode::default() });
        }
        below
    }
}

pub(super) fn member(path: &str, key: &str) -> String {
    let mut text = path.to_string();
    path::push_key(&mut text, key);
    text
}
