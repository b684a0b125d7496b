//! Compiles declarations to what the decoder runs: the requested columns' paths as a tree, flattened to numbered nodes.
//! A plan is of one table, or of all tables of a resource, which one pass then builds.
//!
//! The *levels* of a plan are the places on the way to the rows where one value becomes many: the body itself, then
//! each `[]`, `[?]` and `{}` of a row path. A column belongs to the last level of its path and holds one value for
//! each element of it. For each table, the last row of each element is recorded as it closes, and columns above the
//! row level are repeated at the end, so a parent's `id` may come before or after its children.

use super::declaration::{Col, Root, Src, Table, Ty};
use super::keys::{KeyStep, ObjectKeys};
use super::path::{self, Segment};
use super::{DecodeError, schema};
use arrow_schema::{FieldRef, SchemaRef};
use std::mem::discriminant;
use std::sync::Mutex;

/// A column's index in the decoder's storage, by its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnRef {
    Int(u32),
    Float(u32),
    Bool(u32),
    Text(u32),
    Category(u32),
    Ints(u32),
    Texts(u32),
    Map(u32),
}

/// How to read a value. The numbers are those of columns of the type's builder.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) enum Op {
    #[default]
    Skip,
    /// A value of one column.
    Value(Ty, u32),
    /// A clock as text and in seconds.
    TextAndClock(u32, u32),
    /// A list of ids, and its lineup.
    IntsAndLineup(u32, u32),
    /// An extra column.
    Open(u32),
    Object(u32),
    Level(u32),
    /// Several operations on one value.
    Several(u32),
}

#[derive(Debug, Default)]
pub(super) struct Level {
    /// What leads to its elements; `None` for the body.
    pub segment: Option<Segment>,
    /// Its elements are the documents: none is null.
    pub(crate) is_root: bool,
    /// How to read each element.
    pub(crate) op: Op,
    /// Columns that get a null if an element is null in place of an object.
    pub fill: Vec<ColumnRef>,
    pub keys: Vec<ColumnRef>,
    pub positions: Vec<ColumnRef>,
    /// The tables with rows at this level or below it.
    pub tables: Vec<LevelTable>,
}

/// What a level is to one table.
#[derive(Debug)]
pub(super) struct LevelTable {
    /// The index of the table in the plan.
    pub table: usize,
    /// Where the row after the last of each element is recorded; `None` if the elements are the rows.
    pub ends: Option<usize>,
    /// Columns that must have a value if an element has rows, and their indexes in the table's plan.
    pub required: Vec<(ColumnRef, u16)>,
}

/// Where the plan takes a column from: [`Src`], resolved.
#[derive(Debug)]
pub(super) enum ColumnSource {
    Body {
        /// Where the ends of its level are recorded; `None` at the row level.
        ends: Option<usize>,
        cell: ColumnRef,
    },
    Request(&'static str),
    /// Derived from the table's columns of these indexes.
    Columns(Vec<usize>),
    /// [`Src::Absent`]: null in every row.
    Nowhere,
}

#[derive(Debug)]
pub(super) struct PlannedColumn {
    pub col: &'static Col,
    pub from: ColumnSource,
    pub field: FieldRef,
}

#[derive(Debug)]
pub(super) enum ResultColumn {
    /// The index of a [`PlannedColumn`] of the table.
    PlannedColumn(usize),
    /// The extra column of this key.
    Open(String),
}

/// What decoding learns from bodies and reuses.
#[derive(Debug, Default)]
pub(super) struct DecodeHints {
    /// Taken out while an object of this kind is read.
    pub objects: Vec<Option<Box<ObjectKeys>>>,
    /// Elements of each level in the last body, divided by its bytes.
    pub(crate) density: Vec<f64>,
}

/// One table of a plan.
#[derive(Debug)]
pub(super) struct TablePlan {
    pub table: &'static Table,
    pub columns: Vec<PlannedColumn>,
    pub(crate) result_columns: Vec<ResultColumn>,
    /// Whether every extra column is requested.
    pub takes_extra: bool,
    /// The schema without extra columns.
    pub schema: SchemaRef,
}

#[derive(Debug, Default)]
pub(super) struct DecodePlan {
    pub tables: Vec<TablePlan>,
    pub levels: Vec<Level>,
    /// The path of each level.
    paths: Vec<Vec<Segment>>,
    /// Number of the vectors of ends: one for each table and level above its rows.
    pub ends: usize,
    /// Operations on one value, each with the columns that get a null if it finds null in place of an object.
    pub several: Vec<Vec<(Op, Vec<ColumnRef>)>>,
    /// The columns and the level of each. A `ColumnRef` has its number among those of its type.
    pub(crate) cells: Vec<(ColumnRef, usize)>,
    /// Whether skipped values are validated, because whole tables are built.
    pub validates: bool,
    /// The index of the table that gets the extra columns.
    pub open: usize,
    objects: Vec<ObjectKeys>,
    pool: Mutex<Vec<DecodeHints>>,
}

/// Number of threads that can decode with one plan and keep what they learned.
const MAX_POOLED_HINTS: usize = 16;

impl DecodePlan {
    pub(crate) fn hints(&self) -> DecodeHints {
        let hints = self.pool.lock().unwrap_or_else(|e| e.into_inner()).pop();
        hints.unwrap_or_else(|| DecodeHints {
            objects: self.objects.iter().map(|keys| Some(Box::new(keys.clone()))).collect(),
            density: vec![0.0; self.levels.len()],
        })
    }

    pub(crate) fn return_hints(&self, hints: DecodeHints) {
        let mut pool = self.pool.lock().unwrap_or_else(|e| e.into_inner());
        if pool.len() < MAX_POOLED_HINTS {
            pool.push(hints);
        }
    }
}

impl TablePlan {
    /// Whether an undeclared key becomes a column.
    pub(crate) fn wants(&self, key: &str) -> bool {
        let is_named = |column: &ResultColumn| matches!(column, ResultColumn::Open(name) if name == key);
        let is_declared = || self.table.cols.iter().any(|col| col.name == key);
        if self.takes_extra { !is_declared() } else { self.result_columns.iter().any(is_named) }
    }

    /// The message for a required column without a value.
    pub(crate) fn need(&self, column: u16) -> String {
        let Some(column_plan) = self.columns.get(column as usize) else { return String::new() };
        let source = if let Src::Path(path) = column_plan.col.src { path.trim_start_matches('.') } else { "" };
        let key = source.rsplit(['.', ']', '}']).next().unwrap_or_default();
        let subject = if key.is_empty() || key == "@" { "the value".into() } else { format!("{key:?}") };
        format!("{subject} is missing or null, and column {} of {} needs it", column_plan.col.name, self.table.name)
    }
}

/// Compiles the plan for whole tables, or for some columns of each, with the documents at `root`. The tests of the resources
/// check what a plan takes for granted of a declaration.
pub(super) fn compile(
    root: &'static Root,
    tables: &[&'static Table],
    columns: Option<&[String]>,
) -> Result<DecodePlan, DecodeError> {
    let mut plan = DecodePlan { validates: columns.is_none(), ..DecodePlan::default() };
    let mut tree = Tree::default();
    for table in tables {
        let takes_extra = columns.is_none() && table.open.is_some();
        plan.add(&mut tree, root, table, choose(table, columns)?, takes_extra);
    }
    plan.build(&tree, 0);
    Ok(plan)
}

/// The columns of the result, in order; those that are only extra if all are requested come after them.
fn choose(table: &'static Table, names: Option<&[String]>) -> Result<Vec<ResultColumn>, DecodeError> {
    let visible = table.cols.iter().enumerate().filter(|(_, col)| !col.is_hidden);
    let Some(names) = names else { return Ok(visible.map(|(i, _)| ResultColumn::PlannedColumn(i)).collect()) };
    let column = |name: &String| match visible.clone().find(|(_, col)| col.name == name) {
        Some((number, _)) => Ok(ResultColumn::PlannedColumn(number)),
        None if table.open.is_some() && !table.cols.iter().any(|col| col.name == name) => {
            Ok(ResultColumn::Open(name.clone()))
        }
        None => Err(no_column(table, name)),
    };
    names.iter().map(column).collect()
}

pub(super) fn no_column(table: &Table, name: &str) -> DecodeError {
    let candidates: Vec<&str> = table.cols.iter().filter(|col| !col.is_hidden).map(|col| col.name).collect();
    DecodeError::NoColumn { table: table.name.into(), name: name.into(), candidates: candidates.join(", ") }
}

/// The indexes of the columns shown, without extra ones.
pub(super) fn indexes(result_columns: &[ResultColumn]) -> impl Iterator<Item = usize> {
    result_columns.iter().filter_map(|column| match column {
        ResultColumn::PlannedColumn(number) => Some(*number),
        ResultColumn::Open(_) => None,
    })
}

/// The indexes of the columns shown and of their inputs.
fn needed_columns(table: &'static Table, result_columns: &[ResultColumn]) -> Vec<usize> {
    let mut columns: Vec<usize> = indexes(result_columns).collect();
    for i in columns.clone() {
        if let Src::Derived(derivation) = table.cols[i].src {
            columns.extend(inputs(table, derivation.inputs));
        }
    }
    columns.sort_unstable();
    columns.dedup();
    columns
}

fn inputs(table: &'static Table, names: &[&str]) -> Vec<usize> {
    names.iter().filter_map(|name| table.cols.iter().position(|col| col.name == *name)).collect()
}

/// The requested paths as a tree.
#[derive(Default)]
struct Tree {
    fields: Vec<(&'static str, Tree)>,
    /// The elements, by the index of their level.
    elements: Vec<(usize, Tree)>,
    sinks: Vec<(ColumnRef, Op)>,
    open: bool,
}

impl Tree {
    /// The place of a path; `levels` are the paths of the levels.
    fn at(&mut self, path: &[Segment], levels: &[Vec<Segment>]) -> &mut Tree {
        path.iter().enumerate().fold(self, |tree, (at, segment)| match segment {
            Segment::Key(key) => child(&mut tree.fields, key),
            _ => child(&mut tree.elements, levels.iter().position(|level| *level == path[..=at]).unwrap_or_default()),
        })
    }

    /// The columns of one element, without those of levels below.
    fn builders(&self) -> Vec<ColumnRef> {
        let below = self.fields.iter().flat_map(|(_, tree)| tree.builders());
        self.sinks.iter().map(|(cell, _)| *cell).chain(below).collect()
    }
}

fn child<K: PartialEq>(children: &mut Vec<(K, Tree)>, key: K) -> &mut Tree {
    let at = children.iter().position(|(k, _)| *k == key).unwrap_or_else(|| {
        children.push((key, Tree::default()));
        children.len() - 1
    });
    &mut children[at].1
}

/// Where the columns of a table are: paths of the documents and of the rows, and the levels of the rows.
struct TablePosition<'a> {
    root: &'a [Segment],
    row: &'a [Segment],
    levels: &'a [usize],
}

impl DecodePlan {
    /// Adds a table: its levels, and its columns' paths to the tree.
    fn add(
        &mut self,
        tree: &mut Tree,
        place: &Root,
        table: &'static Table,
        result_columns: Vec<ResultColumn>,
        takes_extra: bool,
    ) {
        let root = path::parse(place.path);
        let row: Vec<Segment> = root.iter().copied().chain(path::parse(table.rows)).collect();
        let number = self.tables.len();
        let levels = self.levels(number, &row, &root, place);
        tree.at(&row, &self.paths);
        let mut columns: Vec<PlannedColumn> = table
            .cols
            .iter()
            .map(|col| PlannedColumn { col, from: ColumnSource::Columns(vec![]), field: schema::field(col) })
            .collect();
        let position = TablePosition { root: &root, row: &row, levels: &levels };
        for number in needed_columns(table, &result_columns) {
            let col = &table.cols[number];
            columns[number].from = match col.src {
                Src::Request(name) => ColumnSource::Request(name),
                Src::Derived(derivation) => ColumnSource::Columns(inputs(table, derivation.inputs)),
                Src::Absent => ColumnSource::Nowhere,
                Src::Path(text) | Src::Key(text) | Src::Index(text) => {
                    self.add_column(tree, &position, number as u16, col, text)
                }
            };
        }
        let names_extra = result_columns.iter().any(|column| matches!(column, ResultColumn::Open(_)));
        if let (Some(path), true) = (table.open, takes_extra || names_extra) {
            self.open = number;
            tree.at(&path::absolute(&root, &row, path), &self.paths).open = true;
        }
        let schema = schema::of(table, indexes(&result_columns));
        self.tables.push(TablePlan { table, columns, result_columns, takes_extra, schema });
    }

    /// Adds a column that is read from the body.
    fn add_column(
        &mut self,
        tree: &mut Tree,
        position: &TablePosition<'_>,
        number: u16,
        col: &'static Col,
        text: &'static str,
    ) -> ColumnSource {
        let TablePosition { root, row, levels } = *position;
        let place = path::absolute(root, row, text);
        let depth = place.iter().filter(|s| s.is_level()).count();
        let (cell, op) = self.place(col.ty, levels[depth], depth + 1 == levels.len());
        let level = &mut self.levels[levels[depth]];
        match col.src {
            Src::Path(_) => tree.at(&place, &self.paths).sinks.push((cell, op)),
            Src::Key(_) => level.keys.push(cell),
            _ => level.positions.push(cell),
        }
        let Some(table) = level.tables.last_mut() else { return ColumnSource::Nowhere };
        if col.required && col.or_request.is_none() && matches!(col.src, Src::Path(_)) {
            table.required.push((cell, number));
        }
        ColumnSource::Body { ends: table.ends, cell }
    }

    /// Adds a builder for a column, and the operation that fills it.
    fn place(&mut self, ty: Ty, level: usize, is_row: bool) -> (ColumnRef, Op) {
        // Above the row level a category is kept as text: its values are numbered once the rows are known.
        let ty = if ty == Ty::Category && !is_row { Ty::Text } else { ty };
        let cell = match ty {
            Ty::Int64 | Ty::Int32 | Ty::Count | Ty::TimestampMs | Ty::LinkFrom | Ty::LinkTo => ColumnRef::Int,
            Ty::Float64 | Ty::ClockSeconds => ColumnRef::Float,
            Ty::Bool | Ty::IsTeamTotal | Ty::IsMake => ColumnRef::Bool,
            Ty::Category => ColumnRef::Category,
            Ty::Text | Ty::Links | Ty::LinkId | Ty::LineupId | Ty::BeforeAt | Ty::AfterAt => ColumnRef::Text,
            Ty::ListInt64 => ColumnRef::Ints,
            Ty::ListText => ColumnRef::Texts,
            Ty::MapFloat64 => ColumnRef::Map,
        };
        let kind = discriminant(&cell(0));
        let number = self.cells.iter().filter(|(other, _)| discriminant(other) == kind).count() as u32;
        self.cells.push((cell(number), level));
        (cell(number), Op::Value(ty, number))
    }

    /// The levels from the body to a table's rows; those that no other table has are added.
    fn levels(&mut self, table: usize, row: &[Segment], root: &[Segment], place: &Root) -> Vec<usize> {
        let is_root = |path: &[Segment]| {
            let needs = place.needs.iter().map(|need| path::parse(need));
            needs.chain(std::iter::once(root.to_vec())).any(|need| need.starts_with(path))
        };
        let ends = std::iter::once(0).chain((1..=row.len()).filter(|end| row[end - 1].is_level()));
        let mut levels = Vec::new();
        for path in ends.map(|end| &row[..end]) {
            let level = self.paths.iter().position(|other| other == path).unwrap_or_else(|| {
                self.paths.push(path.to_vec());
                self.levels.push(Level {
                    segment: path.last().copied(),
                    is_root: !path.is_empty() && is_root(path),
                    ..Level::default()
                });
                self.levels.len() - 1
            });
            let ends = (path.len() < row.len()).then_some(self.ends);
            self.ends += usize::from(ends.is_some());
            self.levels[level].tables.push(LevelTable { table, ends, required: Vec::new() });
            levels.push(level);
        }
        levels
    }

    /// Builds the nodes of a level's elements and of the levels below.
    fn build(&mut self, tree: &Tree, level: usize) {
        self.levels[level].fill = tree.builders();
        self.levels[level].op = self.op(tree);
    }

    fn op(&mut self, tree: &Tree) -> Op {
        let mut ops: Vec<(Op, Vec<ColumnRef>)> = match tree.sinks[..] {
            [(_, Op::Value(Ty::Text, text)), (_, Op::Value(Ty::ClockSeconds, clock))] => {
                vec![(Op::TextAndClock(text, clock), Vec::new())]
            }
            [(_, Op::Value(Ty::ListInt64, list)), (_, Op::Value(Ty::LineupId, text))] => {
                vec![(Op::IntsAndLineup(list, text), Vec::new())]
            }
            _ => tree.sinks.iter().map(|(_, op)| (*op, Vec::new())).collect(),
        };
        for (level, elements) in &tree.elements {
            self.build(elements, *level);
            ops.push((Op::Level(*level as u32), Vec::new()));
        }
        if tree.open || !tree.fields.is_empty() {
            let mut steps = Vec::with_capacity(tree.fields.len());
            let mut fill = Vec::new();
            for (number, (key, field)) in tree.fields.iter().enumerate() {
                let bit = 1u64.checked_shl(number as u32).unwrap_or_default();
                fill.extend(field.builders());
                steps.push(KeyStep::new(key, self.op(field), bit, field.builders()));
            }
            self.objects.push(ObjectKeys::new(steps, tree.open));
            ops.push((Op::Object(self.objects.len() as u32 - 1), fill));
        }
        match ops[..] {
            [] => Op::Skip,
            [(op, _)] => op,
            _ => {
                self.several.push(ops);
                Op::Several(self.several.len() as u32 - 1)
            }
        }
    }
}
