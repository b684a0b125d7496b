//! The declared paths of a resource as one tree, all its tables together: what a body is surveyed by.

use super::decl::{Col, Resource, Root, Src, Ty};
use super::extent::Extent;
use super::keys::Step;
use super::path::{self, Segment};
use super::plan::Op;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

/// The declared paths of a resource from one root.
#[derive(Debug)]
pub(super) struct Known {
    pub nodes: Vec<Node>,
    /// Of each table.
    pub extents: Vec<Extent>,
    /// How many places `Survey::next` has.
    pub places: usize,
    /// Values of the request without which a table does not decode.
    pub requests: Vec<(&'static str, Ty)>,
    /// Whether the survey can tell that every table decodes. Not where a column that needs a value is made from others, and
    /// the like: there only decoding tells.
    pub tells: bool,
}

/// What a column's type takes; null everywhere. A clock takes anything, so it is none of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    Integer,
    /// An integer, or a number that is reported.
    Count,
    /// The same of a time.
    Time,
    /// Of 32 bits.
    Position,
    Float,
    Boolean,
    Text,
    Links,
    /// A link with milliseconds in this parameter: of the others only that they are text is known.
    LinkMs(&'static str),
    /// A boolean or any word.
    Make,
    Integers,
    Texts,
    Floats,
}

impl Fit {
    fn of(col: &Col) -> Option<Fit> {
        Some(match col.ty {
            Ty::Int64 | Ty::IsTeamTotal => Fit::Integer,
            Ty::Count => Fit::Count,
            Ty::TimestampMs => Fit::Time,
            Ty::Int32 => Fit::Position,
            Ty::Float64 => Fit::Float,
            Ty::Bool => Fit::Boolean,
            Ty::LinkMs(parameter) if col.required => Fit::LinkMs(parameter),
            // Of several links none may be there.
            Ty::Links if col.required => Fit::Text,
            Ty::Text | Ty::Category | Ty::LinkMs(_) | Ty::BeforeAt | Ty::AfterAt => Fit::Text,
            Ty::Links | Ty::LinkText(_) => Fit::Links,
            Ty::IsMake => Fit::Make,
            Ty::ListInt64 | Ty::LineupId => Fit::Integers,
            Ty::ListText => Fit::Texts,
            Ty::MapFloat64 => Fit::Floats,
            Ty::ClockSeconds => return None,
        })
    }
}

#[derive(Debug, Default)]
pub(super) struct Node {
    pub path: String,
    /// Its declared keys.
    pub keys: Vec<Member>,
    pub each: Option<usize>,
    /// `[?]`: a value that is no array is the only element.
    pub or_one: bool,
    pub map: Option<usize>,
    /// Any key is known here, and has a number.
    pub open: bool,
    /// Its array or object holds rows, or what rows are found in.
    pub holds_rows: bool,
    /// An element without which the body is no answer of the resource: never null.
    pub is_root: bool,
    /// The body must have it.
    pub leads_to_root: bool,
    /// Its elements are rows of a table.
    pub is_row: bool,
    /// The body or a document: its containers are expected, those deeper may be absent.
    pub is_document: bool,
    /// What the columns that are read here take.
    pub fits: Vec<Fit>,
    /// A column needs a value here, or in a member of it.
    pub is_needed: bool,
    /// All below it is known, and nothing of it is read.
    pub is_skipped: bool,
    /// Where its places in `Survey::next` begin: one for the start of an object, one for each key.
    pub place: usize,
}

/// A declared key of a node.
#[derive(Debug)]
pub(super) struct Member {
    pub step: Step,
    /// The node below it.
    pub below: usize,
    /// Where all that is known of the value is that it fits this.
    pub fit: Option<Fit>,
    pub is_needed: bool,
}

impl Node {
    pub fn is_object(&self) -> bool {
        !self.keys.is_empty() || self.map.is_some() || self.open
    }
}

impl Known {
    fn of(resource: &Resource, place: &'static Root) -> Known {
        let document = Node { is_document: true, ..Node::default() };
        let mut known =
            Known { nodes: vec![document], extents: Vec::new(), places: 0, requests: Vec::new(), tells: true };
        let root = path::parse(place.path);
        known.at(&root).is_document = true;
        let needs = place.needs.iter().map(|need| path::parse(need));
        for needed in needs.chain(std::iter::once(root.clone())) {
            for end in 1..=needed.len() {
                let node = known.at(&needed[..end]);
                node.leads_to_root = true;
                node.is_root |= needed[end - 1].is_level();
            }
        }
        for table in resource.tables {
            let row: Vec<Segment> = root.iter().copied().chain(path::parse(table.rows)).collect();
            let node = known.place(&row);
            known.nodes[node].is_row = true;
            known.extents.push(Extent::of(table, node));
            for end in (0..row.len()).filter(|i| row[*i].is_level()) {
                known.at(&row[..end]).holds_rows = true;
            }
            for col in table.cols {
                known.column(col, &root, &row);
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
            known.sum_up(at);
        }
        for node in &mut known.nodes {
            node.place = known.places;
            known.places += node.keys.len() + 1;
        }
        known
    }

    fn column(&mut self, col: &Col, root: &[Segment], row: &[Segment]) {
        let from_request = if let Src::Request(name) = col.src { Some(name) } else { col.or_request };
        if let (true, Some(name)) = (col.required, from_request) {
            self.requests.push((name, col.ty));
        }
        match col.src {
            Src::Path(text) => {
                let node = self.at(&path::absolute(root, row, text));
                if let Some(fit) = Fit::of(col)
                    && !node.fits.contains(&fit)
                {
                    node.fits.push(fit);
                }
                let is_needed = col.required && col.or_request.is_none();
                node.is_needed |= is_needed;
                // These may give null where there is a value.
                let may_be_none =
                    matches!(col.ty, Ty::ClockSeconds | Ty::IsMake | Ty::LinkText(_) | Ty::BeforeAt | Ty::AfterAt);
                self.tells &= !(is_needed && may_be_none);
            }
            Src::Key(text) | Src::Index(text) => {
                self.at(&path::absolute(root, row, text));
            }
            Src::Derived(_) | Src::Absent => self.tells &= !col.required,
            Src::Request(_) => {}
        }
    }

    /// What follows from the nodes below.
    fn sum_up(&mut self, at: usize) {
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
        self.tells &= !is_of_two_kinds && keys.len() <= 64;
        let node = &mut self.nodes[at];
        node.is_skipped = is_skipped;
        node.is_needed |= keys.iter().any(|member| member.is_needed);
        node.keys = keys;
    }

    fn place(&mut self, path: &[Segment]) -> usize {
        path.iter().fold(0, |at, segment| self.below(at, *segment))
    }

    fn at(&mut self, path: &[Segment]) -> &mut Node {
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
                    let step = Step::new(key, Op::Skip, 0, Vec::new());
                    node.keys.push(Member { step, below: new, fit: None, is_needed: false });
                    new
                }
            },
            Segment::Each | Segment::EachOrOne => {
                // Of two tables that disagree the stricter one is heard.
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
            self.nodes.push(Node { path, ..Node::default() });
        }
        below
    }
}

/// Compiled once and kept; a resource is told by its address: it is static. What is kept is never waited for: another thread
/// may have held it when this process was forked, and then nobody gives it back.
pub(super) fn known(resource: &'static Resource, root: &'static Root) -> Arc<Known> {
    type Kept = HashMap<(usize, &'static str), Arc<Known>>;
    static KEPT: LazyLock<Mutex<Kept>> = LazyLock::new(Mutex::default);
    let make = || Arc::new(Known::of(resource, root));
    match KEPT.try_lock() {
        Ok(mut kept) => kept.entry((std::ptr::from_ref(resource).addr(), root.path)).or_insert_with(make).clone(),
        Err(_) => make(),
    }
}

pub(super) fn member(path: &str, key: &str) -> String {
    let mut text = path.to_string();
    path::push_key(&mut text, key);
    text
}
