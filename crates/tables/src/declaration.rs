//! The language in which a resource declares its tables. A declaration is `const` data; the Arrow schema, the decoder,
//! the unknown-field report, projection, `SCHEMAS`, the documentation page and the test oracle all derive from it.
//!
//! Paths look like `teams[].player_stats[].stats{}[]`: `.` is a member, `[]` each element of an array, `[?]` the same
//! but a value that is not an array counts as its only element, `{}` each value of an object whose keys are data. Paths
//! start at the *document*, which [`Resource::roots`] locates, so that one declaration serves `{"teams": [..]}` and a
//! bare team.

use crate::Context;
use crate::plan_cache::PlanCache;
use arrow_array::ArrayRef;

/// The type of a column, and the JSON values it accepts. Null, a missing key and a null parent are null for every type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ty {
    /// `461`, `461.0`, `4.61e2` and `"461"`; a fraction or a number beyond 64 bits is an error.
    Int64,
    /// Like `Int64`, for values that are not ids: a fraction or a number beyond 64 bits becomes null and is reported.
    Count,
    /// Like `Int64`, for positions in a list.
    Int32,
    /// Any number, or a string that contains one.
    Float64,
    /// `true`, `false`, and `1`, `0`.
    Bool,
    /// A string; a number is taken as written.
    Text,
    /// Like `Text`, dictionary-encoded: an open set of few values.
    Category,
    /// Like `Text`; an array of strings is joined by spaces (links come single and in arrays).
    Links,
    /// Epoch milliseconds, shown as `timestamp[ms, UTC]`; a fraction is rounded down, a number beyond 64 bits becomes
    /// null, and both are reported.
    TimestampMs,
    /// An array of `Int64`.
    ListInt64,
    /// An array of `Text`.
    ListText,
    /// An object whose keys are data, each value as `Float64`.
    MapFloat64,
    /// A clock string (`[h:]m:s[.f]`, `s[.f]`) or number, in seconds; an unreadable value becomes null, never an error.
    ClockSeconds,
    /// An array of ids as one text: sorted numerically, joined by `-`.
    LineupId,
    /// Whether an id is 0, which marks a team's own totals.
    IsTeamTotal,
    /// Whether a shot went in: as `Bool`, or `MAKE`, `MISS`; other words become null.
    IsMake,
    /// The parameters `from` and `to` of a link's query, as epoch milliseconds.
    LinkFrom,
    LinkTo,
    /// The parameter `id` of a link's query (of the first in an array), as written.
    LinkId,
    /// The part of a text before its first `@`; null without one.
    BeforeAt,
    /// The part of a text after its first `@`; null without one.
    AfterAt,
}

/// Where a column's value comes from.
#[derive(Debug, Clone, Copy)]
pub enum Src {
    /// `.x` from the row, `@` the row's own value, else from the document.
    Path(&'static str),
    /// The key of the map level at this path, which ends in `{}`.
    Key(&'static str),
    /// The 0-based position in the array level at this path, which ends in `[]` or `[?]`.
    Index(&'static str),
    /// A value from the request context.
    Request(&'static str),
    /// Computed from other columns of the same table, on whole arrays, after decoding.
    Derived(&'static Derivation),
    /// Not in any body of this resource: null in every row.
    Absent,
}

/// A column computed from others.
#[derive(Debug)]
pub struct Derivation {
    /// The input columns, hidden ones included; never derived themselves.
    pub inputs: &'static [&'static str],
    /// Takes arrays in the order of `inputs`, all of one length, and returns an array of that length.
    pub make: fn(&[ArrayRef], &Context) -> ArrayRef,
}

#[derive(Debug, Clone, Copy)]
pub struct Col {
    pub name: &'static str,
    pub ty: Ty,
    pub src: Src,
    /// Filled from this value of the request if the body has none.
    pub or_request: Option<&'static str>,
    /// The value of the request takes precedence over the body's: rows are found by the requested id.
    pub by_request: bool,
    /// A null or missing value is a decode error.
    pub required: bool,
    /// An input of a derived column, not part of the table.
    pub is_hidden: bool,
    pub unit: &'static str,
    /// For a coordinate: `court` or `hoop`; `sideline.court` describes origin and axes of each.
    pub frame: &'static str,
    pub doc: &'static str,
}

#[derive(Debug)]
pub struct Table {
    pub name: &'static str,
    pub doc: &'static str,
    /// Path of the rows from the document; `""` is the document itself.
    pub rows: &'static str,
    pub cols: &'static [Col],
    /// Path (from the row) of an open object: its undeclared keys become *extra columns*, `float64`, after the declared
    /// ones, sorted by name.
    pub open: Option<&'static str>,
}

/// A table whose rows are at this path and which has no open object.
pub const fn table(name: &'static str, rows: &'static str) -> Table {
    Table { name, doc: "", rows, cols: &[], open: None }
}

impl Table {
    pub const fn doc(self, doc: &'static str) -> Self {
        Table { doc, ..self }
    }
    pub const fn columns(self, cols: &'static [Col]) -> Self {
        Table { cols, ..self }
    }
}

/// Where the documents are, and what a body must have to contain data: an array at every `[]` of the path, an array or
/// object at `[?]`, an object elsewhere, and no null element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Root {
    /// Path of the documents from the body; `""` is the body itself.
    pub path: &'static str,
    /// Members that a document must have. A name that ends in `[]` is an array without null elements.
    pub needs: &'static [&'static str],
    /// One member of `needs` is enough.
    pub needs_any: bool,
    /// The array must not be empty.
    pub needs_element: bool,
}

/// The root at `path`, which may be an empty array.
pub const fn root(path: &'static str) -> Root {
    Root { path, needs: &[], needs_any: false, needs_element: false }
}

impl Root {
    /// Requires these members.
    pub const fn needs(self, needs: &'static [&'static str]) -> Self {
        Root { needs, ..self }
    }
    /// Requires one of these members.
    pub const fn needs_any(self, needs: &'static [&'static str]) -> Self {
        Root { needs, needs_any: true, ..self }
    }
    /// For an unusual place, where an empty array does not identify the resource.
    pub const fn not_empty(self) -> Self {
        Root { needs_element: true, ..self }
    }
}

/// One kind of response body: where its documents are, and its tables.
#[derive(Debug)]
pub struct Resource {
    pub name: &'static str,
    /// Where the documents may be, the usual place first. An array selects the root that starts with `[`; an object the
    /// first whose leading key it has, else `""` if that is listed, else the first.
    pub roots: &'static [Root],
    /// The first is the default of `to_*`.
    pub tables: &'static [&'static Table],
    /// Known paths that are in no table: their values are only in the dict.
    pub paths: &'static [&'static str],
    pub cache: PlanCache,
}

impl Resource {
    pub const fn new(name: &'static str, roots: &'static [Root], tables: &'static [&'static Table]) -> Self {
        Resource { name, roots, tables, paths: &[], cache: PlanCache::new() }
    }
    /// A table of the package's own, whose rows are the elements of an array.
    pub const fn of_rows(name: &'static str, tables: &'static [&'static Table]) -> Self {
        const ROWS: &[Root] = &[root("[]")];
        Resource::new(name, ROWS, tables)
    }
    pub const fn paths(mut self, paths: &'static [&'static str]) -> Self {
        self.paths = paths;
        self
    }
}

const fn column(name: &'static str, ty: Ty, src: Src) -> Col {
    Col {
        name,
        ty,
        src,
        or_request: None,
        by_request: false,
        required: false,
        is_hidden: false,
        unit: if matches!(ty, Ty::ClockSeconds) { "s" } else { "" },
        frame: "",
        doc: "",
    }
}

/// A column with the value at this path.
pub const fn col(name: &'static str, ty: Ty, path: &'static str) -> Col {
    column(name, ty, Src::Path(path))
}

/// A column with the document's member of the same name.
pub const fn member(name: &'static str, ty: Ty) -> Col {
    col(name, ty, name)
}

/// A column with the keys of the map level at this path.
pub const fn key(name: &'static str, path: &'static str) -> Col {
    column(name, Ty::Category, Src::Key(path))
}

/// A column with the positions in the array level at this path.
pub const fn index(name: &'static str, path: &'static str) -> Col {
    column(name, Ty::Int32, Src::Index(path)).required()
}

/// A column filled from the request value of the same name.
pub const fn request(name: &'static str, ty: Ty) -> Col {
    column(name, ty, Src::Request(name))
}

/// A column that this kind of body does not have.
pub const fn absent(name: &'static str, ty: Ty) -> Col {
    column(name, ty, Src::Absent)
}

/// The columns of a table read from another kind of body, so that a table that several bodies share is declared once.
/// Each column that is read from the body is in `elsewhere`, with its place there; without one it does not compile.
pub const fn read_elsewhere<const N: usize>(cols: [Col; N], elsewhere: &[Col]) -> [Col; N] {
    relocate(cols, elsewhere, false)
}

/// Like [`read_elsewhere`], of rows that are the same objects in both bodies: columns with a path from the row are
/// unchanged, and those with a path from the document are in `elsewhere`.
pub const fn same_rows_elsewhere<const N: usize>(cols: [Col; N], elsewhere: &[Col]) -> [Col; N] {
    relocate(cols, elsewhere, true)
}

const fn relocate<const N: usize>(mut cols: [Col; N], elsewhere: &[Col], same_rows: bool) -> [Col; N] {
    let mut at = 0;
    while at < N {
        let is_unchanged = match cols[at].src.path() {
            Some(path) => same_rows && matches!(path.as_bytes(), [b'.' | b'@', ..]),
            None => true,
        };
        let is_placed = is_unchanged || position(elsewhere, cols[at].name).is_some();
        assert!(is_placed, "a column of the table has no place in the other body");
        at += 1;
    }
    let mut number = 0;
    while number < elsewhere.len() {
        let Col { name, ty, src, .. } = elsewhere[number];
        let index = position(&cols, name);
        assert!(index.is_some(), "the table has no such column");
        if let Some(at) = index {
            // Keep the request value: for a game it takes precedence over the body, for a session it fills in for it.
            if let (Src::Request(request), Src::Path(_)) = (cols[at].src, src) {
                (cols[at].or_request, cols[at].by_request) = (Some(request), is_equal(request, "game_id"));
            }
            (cols[at].ty, cols[at].src) = (ty, src);
        }
        number += 1;
    }
    cols
}

/// Two lists as one; `N` is the sum of their lengths.
pub const fn concat<T: Copy, const A: usize, const B: usize, const N: usize>(first: [T; A], second: [T; B]) -> [T; N] {
    assert!(A + B == N && A > 0);
    let (mut all, mut at) = ([first[0]; N], 0);
    while at < N {
        all[at] = if at < A { first[at] } else { second[at - A] };
        at += 1;
    }
    all
}

const fn position(cols: &[Col], name: &str) -> Option<usize> {
    let mut at = 0;
    while at < cols.len() {
        if is_equal(cols[at].name, name) {
            return Some(at);
        }
        at += 1;
    }
    None
}

impl Src {
    /// Where in the body it is, if it is there.
    const fn path(&self) -> Option<&'static str> {
        match self {
            Src::Path(path) | Src::Key(path) | Src::Index(path) => Some(path),
            Src::Request(_) | Src::Derived(_) | Src::Absent => None,
        }
    }
}

const fn is_equal(a: &str, b: &str) -> bool {
    let (a, b, mut at) = (a.as_bytes(), b.as_bytes(), 0);
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// A column computed from others.
pub const fn derive(name: &'static str, ty: Ty, derivation: &'static Derivation) -> Col {
    column(name, ty, Src::Derived(derivation))
}

impl Col {
    pub const fn required(self) -> Self {
        Col { required: true, ..self }
    }
    pub const fn hide(self) -> Self {
        Col { is_hidden: true, ..self }
    }
    pub const fn by_request(self, name: &'static str) -> Self {
        Col { or_request: Some(name), by_request: true, ..self }
    }
    pub const fn unit(self, unit: &'static str) -> Self {
        Col { unit, ..self }
    }
    pub const fn frame(self, frame: &'static str) -> Self {
        Col { frame, ..self }
    }
    /// A coordinate of the service from the centre of the court.
    pub const fn court(self) -> Self {
        self.unit("mm").frame("court")
    }
    /// A coordinate of the service from the hoop.
    pub const fn hoop(self) -> Self {
        self.unit("mm").frame("hoop")
    }
    pub const fn doc(self, doc: &'static str) -> Self {
        Col { doc, ..self }
    }
}
