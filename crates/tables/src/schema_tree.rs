//! The declared paths of all tables of a resource as one tree, for the schema check.

use super::declaration::{Col, Resource, Root, Src, Table, Ty};
use super::keys::KeyStep;
use super::path::{self, Segment};
use super::plan::Op;

/// The elements of a list, and a lineup, take less than so many times their JSON.
pub(super) const LIST_FACTOR: usize = 8;

#[derive(Debug, Default)]
pub(super) struct SchemaTree {
    pub nodes: Vec<SchemaNode>,
    /// The node of the first table's rows.
    pub first_rows: Option<usize>,
    /// The node of the rows that have extra columns.
    pub open_rows: Option<usize>,
    /// The most columns of a table, a list counted [`LIST_FACTOR`] times.
    pub row_width: usize,
    /// Length of `Validator::next`.
    pub places: usize,
    /// Request values without which a table does not decode.
    pub requests: Vec<(&'static str, Ty)>,
    /// Whether the check can prove that every table decodes. It cannot if, for example, a required column is derived.
    pub(crate) is_conclusive: bool,
}

/// The type whose values a column accepts besides null. A clock accepts anything.
fn accepted_type(ty: Ty) -> Option<Ty> {
    Some(match ty {
        Ty::ClockSeconds => return None,
        Ty::IsTeamTotal => Ty::Int64,
        Ty::Category | Ty::BeforeAt | Ty::AfterAt => Ty::Text,
        Ty::LinkId => Ty::Links,
        Ty::LineupId => Ty::ListInt64,
        ty => ty,
    })
}

#[derive(Debug, Default)]
pub(super) struct SchemaNode {
    pub path: String,
    pub keys: Vec<SchemaMember>,
    pub item: Option<usize>,
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
    /// The body or a document: its containers are expected, deeper ones may be absent.
    pub(crate) is_document: bool,
    /// What the columns that read this node accept.
    pub types: Vec<Ty>,
    /// Set if a value that is not null only has to match this type.
    pub only: Option<Ty>,
    /// A required column reads this node or a member of it.
    pub(crate) is_needed: bool,
    /// The bits of the keys whose values are needed.
    pub required_bits: u64,
    /// Its first index in `Validator::next`: one entry for the start of an object, one for each key.
    pub place: usize,
}

#[derive(Debug)]
pub(super) struct SchemaMember {
    pub step: KeyStep,
    /// The node of the value.
    pub below: usize,
}

impl SchemaNode {
    pub(crate) fn is_object(&self) -> bool {
        !self.keys.is_empty() || self.has_data_keys()
    }

    pub(crate) fn has_data_keys(&self) -> bool {
        self.map.is_some() || self.open
    }

    pub(crate) fn is_leaf(&self) -> bool {
        !self.is_object() && self.item.is_none()
    }
}

impl SchemaTree {
    pub(super) fn of(resource: &Resource, place: &'static Root) -> SchemaTree {
        let document = SchemaNode { is_document: true, ..SchemaNode::default() };
        let mut tree = SchemaTree { nodes: vec![document], is_conclusive: true, ..SchemaTree::default() };
        let root = path::parse(place.path);
        tree.at(&root).is_document = true;
        let needs = place.needs.iter().map(|need| path::parse(need));
        for need in needs.chain(std::iter::once(root.clone())) {
            for end in 1..=need.len() {
                let node = tree.at(&need[..end]);
                node.leads_to_root = true;
                node.is_root |= need[end - 1].is_level();
            }
        }
        for table in resource.tables {
            tree.table(table, &root);
        }
        for text in resource.paths {
            tree.at(&path::absolute(&root, &root, text));
        }
        // Child nodes have larger indexes than their parents.
        for at in (0..tree.nodes.len()).rev() {
            let node = &tree.nodes[at];
            let is_of_two_kinds = node.item.is_some() && node.is_object();
            tree.is_conclusive &= !is_of_two_kinds && node.keys.len() <= 64;
            let is_needed = node.keys.iter().map(|member| tree.nodes[member.below].is_needed);
            let required_bits = is_needed.rev().fold(0, |bits, is_needed| bits << 1 | u64::from(is_needed));
            let keys = node.keys.len();
            let node = &mut tree.nodes[at];
            (node.required_bits, node.place) = (required_bits, tree.places);
            node.is_needed |= required_bits != 0;
            node.only = node.types.first().copied().filter(|_| node.types.len() == 1 && node.is_leaf());
            tree.places += keys + 1;
        }
        tree
    }

    fn table(&mut self, table: &'static Table, root: &[Segment]) {
        let row: Vec<Segment> = root.iter().copied().chain(path::parse(table.rows)).collect();
        let node = self.place(&row);
        self.first_rows.get_or_insert(node);
        for end in (0..row.len()).filter(|i| row[*i].is_level()) {
            self.at(&row[..end]).holds_rows = true;
        }
        for col in table.cols {
            self.column(col, root, &row);
        }
        if let Some(open) = table.open {
            self.at(&path::absolute(root, &row, open)).open = true;
            self.open_rows = Some(node);
        }
        let is_list = |ty: Ty| matches!(ty, Ty::Links | Ty::ListInt64 | Ty::ListText | Ty::LineupId | Ty::MapFloat64);
        let width = |col: &Col| if is_list(col.ty) { LIST_FACTOR } else { 1 };
        self.row_width = self.row_width.max(table.cols.iter().map(width).sum());
    }

    fn column(&mut self, col: &Col, root: &[Segment], row: &[Segment]) {
        let from_request = if let Src::Request(name) = col.src { Some(name) } else { col.or_request };
        if let (true, Some(name)) = (col.required, from_request) {
            self.requests.push((name, col.ty));
        }
        // These types may become null although there is a value.
        let may_be_none = matches!(col.ty, Ty::ClockSeconds | Ty::IsMake | Ty::LinkId | Ty::BeforeAt | Ty::AfterAt);
        match col.src {
            Src::Path(text) => {
                let node = self.at(&path::absolute(root, row, text));
                let new = accepted_type(col.ty).filter(|ty| !node.types.contains(ty));
                node.types.extend(new);
                let is_needed = col.required && col.or_request.is_none();
                node.is_needed |= is_needed;
                self.is_conclusive &= !(is_needed && may_be_none);
            }
            Src::Key(text) | Src::Index(text) => {
                self.at(&path::absolute(root, row, text));
            }
            Src::Derived(_) | Src::Absent => self.is_conclusive &= !col.required,
            Src::Request(_) => {}
        }
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
        let (below, path) = match segment {
            Segment::Key(key) => {
                let mut members = node.keys.iter();
                let below =
                    members.find(|member| member.step.key() == key.as_bytes()).map_or(new, |member| member.below);
                if below == new {
                    let step = KeyStep::new(key, Op::Skip, 0, Vec::new());
                    node.keys.push(SchemaMember { step, below });
                }
                (below, member(&node.path, key))
            }
            Segment::Each | Segment::EachOrOne => {
                // If two tables disagree, the stricter one counts.
                node.or_one = segment == Segment::EachOrOne && (node.item.is_none() || node.or_one);
                (*node.item.get_or_insert(new), format!("{}[]", node.path))
            }
            Segment::Map => (*node.map.get_or_insert(new), format!("{}{{}}", node.path)),
        };
        if below == new {
            self.nodes.push(SchemaNode { path, ..SchemaNode::default() });
        }
        below
    }
}

pub(super) fn member(path: &str, key: &str) -> String {
    if path.is_empty() { key.into() } else { format!("{path}.{key}") }
}
