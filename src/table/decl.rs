//! The language in which a resource declares its tables. A declaration is `const` data; from it come the Arrow schema, the
//! decoder, the unknown-field report, projection, `SCHEMAS`, the documentation page and the test oracle.
//!
//! Paths: `teams[].player_stats[].stats{}[]`: `.` member, `[]` each element of an array, `[?]` the same but a single value
//! that is no array counts as its only element, `{}` each value of an object whose keys are data. Every path of a resource
//! starts at its *document*: the place its [`Resource::roots`] name, so one declaration serves `{"teams": [..]}` and a bare
//! team. A path with a leading `/` starts at the body itself.

use crate::table::Context;
use arrow_array::ArrayRef;

/// What a column holds, and with it what it accepts. Null, a missing key and a null parent give null everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ty {
    /// `461`, `461.0`, `4.61e2` and `"461"`; a fraction or a number beyond 64 bits is an error.
    Int64,
    /// As `Int64`, of what is no id: a fraction or a number beyond 64 bits gives null, and is reported.
    Count,
    /// As `Int64`, for positions in a list.
    Int32,
    /// Any number, or a string that is one.
    Float64,
    /// `true`, `false`, and `1`, `0`.
    Bool,
    /// A string; a number gives its token as it stands.
    Text,
    /// As `Text`, dictionary-encoded: an open set of few values.
    Category,
    /// As `Text`; an array of strings gives them joined by a blank (links come single and in arrays).
    Links,
    /// Epoch milliseconds, shown as `timestamp[ms, UTC]`; a fraction is cut off, a number beyond 64 bits gives null, and both
    /// are reported.
    TimestampMs,
    /// Array of `Int64`.
    ListInt64,
    /// Array of `Text`.
    ListText,
    /// An object whose keys are data, each value as `Float64`.
    MapFloat64,
    /// A clock string (`[h:]m:s[.f]`, `s[.f]`) or number, in seconds; a shape that cannot be read gives null, never an error.
    ClockSeconds,
    /// An array of ids as one text: sorted as numbers, joined by `-`.
    LineupId,
    /// Whether an id is 0, the service's sign for a team's own totals.
    IsTeamTotal,
    /// Whether a shot went in: as `Bool`, or `MAKE`, `MISS`; another word (an open set) gives null.
    IsMake,
    /// A query parameter of a link, as epoch milliseconds.
    LinkMs(&'static str),
    /// A query parameter of a link (of the first where they come in an array), as it is written there.
    LinkText(&'static str),
    /// The part of a text before its first `@`; null when there is none.
    BeforeAt,
    /// The part of a text after its first `@`; null when there is none.
    AfterAt,
}

/// Where a column's value comes from.
#[derive(Debug, Clone, Copy)]
pub enum Src {
    /// `.x` from the row, `@` the row's own value, else from the document.
    Path(&'static str),
    /// The key of the map level at this path (which ends in `{}`).
    Key(&'static str),
    /// The position, from 0, in the array level at this path (which ends in `[]` or `[?]`).
    Index(&'static str),
    /// A value of the request.
    Request(&'static str),
    /// Made from other columns of the same table, on whole arrays, after decoding.
    Derived(&'static Derivation),
    /// No body of this resource says it: null in every row.
    Absent,
}

/// A column made from others.
#[derive(Debug)]
pub struct Derivation {
    /// The columns it reads, hidden ones included; never itself derived.
    pub inputs: &'static [&'static str],
    /// Arrays in the order of `inputs`, all of one length, which the result has too.
    pub make: fn(&[ArrayRef], &Context) -> ArrayRef,
}

/// One column.
#[derive(Debug, Clone, Copy)]
pub struct Col {
    pub name: &'static str,
    pub ty: Ty,
    pub src: Src,
    /// Filled from this value of the request where the body has none.
    pub or_request: Option<&'static str>,
    /// A value of the request goes before the body's: rows are found by the id that was requested.
    pub by_request: bool,
    /// A null or missing value is a decode error.
    pub required: bool,
    /// Read for a derivation, not shown.
    pub hidden: bool,
    pub unit: &'static str,
    /// Of a coordinate: `court` or `hoop`; `sideline.court` says where each has its origin and what its axes are.
    pub frame: &'static str,
    pub doc: &'static str,
}

/// One table.
#[derive(Debug)]
pub struct Table {
    pub name: &'static str,
    pub doc: &'static str,
    /// Path of the rows from the document; `""` is the document itself.
    pub rows: &'static str,
    pub cols: &'static [Col],
    /// Path (from the row) of an object whose undeclared keys become `float64` columns after the declared ones, by name.
    pub open: Option<&'static str>,
}

/// A place of the documents, and what makes a body data: an array at every `[]` of the path, an array or object at `[?]`,
/// an object elsewhere, and no null element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Root {
    /// Path of the documents from the body; `""` is the body itself.
    pub path: &'static str,
    /// Members of the body without which it is no document. A name that ends in `[]` is an array without null elements.
    pub needs: &'static [&'static str],
    /// One of `needs` is enough.
    pub needs_any: bool,
    /// The array must have an element.
    pub needs_element: bool,
}

/// The root at `path`, which may be an empty array.
pub const fn root(path: &'static str) -> Root {
    Root { path, needs: &[], needs_any: false, needs_element: false }
}

impl Root {
    /// With members that a bare document must have.
    pub const fn needs(mut self, needs: &'static [&'static str]) -> Self {
        self.needs = needs;
        self
    }
    /// With members of which a bare document must have one.
    pub const fn needs_any(mut self, needs: &'static [&'static str]) -> Self {
        (self.needs, self.needs_any) = (needs, true);
        self
    }
    /// For an unusual place: an empty array there is no sign of the resource.
    pub const fn not_empty(mut self) -> Self {
        self.needs_element = true;
        self
    }
}

/// What one body holds.
#[derive(Debug)]
pub struct Resource {
    pub name: &'static str,
    /// Where the documents may lie, the usual place first. An array takes the root that starts with `[`; an object takes
    /// the first whose leading key it has, else `""` where that is among them, else the first.
    pub roots: &'static [Root],
    /// The first is the one `to_*` gives when none is named.
    pub tables: &'static [&'static Table],
    /// Paths that are known and in no table: they are in the dict only.
    pub known: &'static [&'static str],
}

const fn column(name: &'static str, ty: Ty, src: Src) -> Col {
    Col {
        name,
        ty,
        src,
        or_request: None,
        by_request: false,
        required: false,
        hidden: false,
        unit: "",
        frame: "",
        doc: "",
    }
}

/// A column read at `path`.
pub const fn col(name: &'static str, ty: Ty, path: &'static str) -> Col {
    column(name, ty, Src::Path(path))
}

/// The keys of the map level at `path`.
pub const fn key(name: &'static str, path: &'static str) -> Col {
    column(name, Ty::Category, Src::Key(path))
}

/// The position in the array level at `path`.
pub const fn index(name: &'static str, path: &'static str) -> Col {
    column(name, Ty::Int32, Src::Index(path)).required()
}

/// The value of the same name in the request.
pub const fn request(name: &'static str, ty: Ty) -> Col {
    column(name, ty, Src::Request(name))
}

/// A column that a body of this kind does not have.
pub const fn absent(name: &'static str, ty: Ty) -> Col {
    column(name, ty, Src::Absent)
}

/// The columns of a table for another kind of body: those of `elsewhere` are read there, and stay what they are otherwise.
/// So a table that several bodies come to is described once.
pub const fn read_elsewhere<const N: usize>(mut cols: [Col; N], elsewhere: &[Col]) -> [Col; N] {
    let mut number = 0;
    while number < elsewhere.len() {
        let Col { name, ty, src, .. } = elsewhere[number];
        let (mut at, mut found) = (0, false);
        while at < N {
            if same(cols[at].name, name) {
                // The request still knows it: of a game better than the body, of a session only where the body does not say.
                if let (Src::Request(asked), Src::Path(_)) = (cols[at].src, src) {
                    (cols[at].or_request, cols[at].by_request) = (Some(asked), same(asked, "game_id"));
                }
                (cols[at].ty, cols[at].src, found) = (ty, src, true);
            }
            at += 1;
        }
        assert!(found, "the table has no such column");
        number += 1;
    }
    cols
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b, mut at) = (a.as_bytes(), b.as_bytes(), 0);
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// A column made from others.
pub const fn derived(name: &'static str, ty: Ty, how: &'static Derivation) -> Col {
    column(name, ty, Src::Derived(how))
}

impl Col {
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }
    pub const fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }
    pub const fn or_request(mut self, name: &'static str) -> Self {
        self.or_request = Some(name);
        self
    }
    pub const fn by_request(mut self, name: &'static str) -> Self {
        (self.or_request, self.by_request) = (Some(name), true);
        self
    }
    pub const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }
    pub const fn frame(mut self, frame: &'static str) -> Self {
        self.frame = frame;
        self
    }
    pub const fn doc(mut self, doc: &'static str) -> Self {
        self.doc = doc;
        self
    }
}
