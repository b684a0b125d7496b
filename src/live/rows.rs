//! Reads the rows of a message: with the engine of the tables, so that a message gives the values of its table; and where a row is
//! unreadable, each row on its own, so that it costs only itself. Pure.

use crate::config::Sport;
use crate::resource::catch_up::{CATCH_UP, PARTS};
use crate::resource::live::STAT_UPDATES;
use crate::resource::of_sport;
use crate::resource::stats::STATS;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrowPrimitiveType, RecordBatch};
use reader::{Body, Value};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};
use tables::{Context, DecodeError, Resource};

/// The player id of a team's own line.
pub(super) const TEAM_LINE_ID: i64 = 0;
/// More rows than a game has: such a message is not read row by row.
const MAX_ROWS: usize = 2048;

/// What a message says about a box score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowsKind {
    /// New values of some codes of one row.
    Change,
    /// Whole rows of both teams.
    Snapshot,
    /// Whole rows of a game, as `catch_up` has them.
    Game,
}

/// The readable rows of a message, and the others.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rows {
    pub(crate) kind: RowsKind,
    pub(crate) rows: Vec<Row>,
    pub(crate) problems: Vec<Problem>,
}

impl Rows {
    /// Of a message that is unreadable as one.
    fn unreadable(problem: Problem) -> Self {
        Rows { kind: RowsKind::Change, rows: Vec::new(), problems: vec![problem] }
    }

    /// Reads each line on its own. `paths` are those of all lines in the message, and in the body that `decode` makes of a list
    /// of one.
    fn read_lines(
        &mut self,
        lines: Value<'_>,
        left: &mut usize,
        paths: (&str, &str),
        decode: impl Fn(&[u8]) -> Result<RecordBatch, DecodeError>,
    ) {
        for (at, line) in lines.elements().enumerate() {
            let path = format!("{}[{at}]", paths.0);
            if *left == 0 {
                return self.problems.push(Problem::new(path, "more rows than a game has: they are left out"));
            }
            *left -= 1;
            match decode(&[b"[", line.raw(), b"]"].concat()) {
                Ok(batch) => self.rows.extend(rows_of(&batch)),
                Err(error) => self.problems.push(Problem::relocate(error, &format!("{}[0]", paths.1), &path)),
            }
        }
    }

    /// The rows by player: of several lines that of the highest version, or else the last.
    pub(super) fn unique_rows(mut self) -> BTreeMap<(i64, i64), Row> {
        self.rows.sort_by_key(|row| row.version);
        self.rows.into_iter().map(|row| (row.player(), row)).collect()
    }

    /// Whether it is the complete state of a game of these players, with nothing left out.
    pub(super) fn is_complete(&self, players: impl IntoIterator<Item = (i64, i64)>) -> bool {
        self.is_whole() && self.has_lines(players)
    }

    /// Whether it is a snapshot with nothing left out.
    pub(super) fn is_whole(&self) -> bool {
        self.kind == RowsKind::Snapshot && self.problems.is_empty() && !self.rows.is_empty()
    }

    /// Which lines it leaves out of the teams of whose players it has lines; of all teams if these are two.
    pub(super) fn absent(&self) -> impl Fn(i64, i64) -> bool + use<> {
        let lines: BTreeSet<_> = self.rows.iter().map(Row::player).collect();
        let teams: BTreeSet<_> = lines.iter().filter(|line| line.1 != TEAM_LINE_ID).map(|line| line.0).collect();
        move |team, player| (teams.len() > 1 || teams.contains(&team)) && !lines.contains(&(team, player))
    }

    /// Whether it has values of each of these players.
    pub(super) fn has_lines(&self, players: impl IntoIterator<Item = (i64, i64)>) -> bool {
        let with_values: BTreeSet<_> = self.rows.iter().filter(|row| !row.stats.is_empty()).map(Row::player).collect();
        players.into_iter().all(|player| with_values.contains(&player))
    }
}

/// The row of a player, or of a team's total.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Row {
    pub(crate) team_id: i64,
    /// Shared by the rows of a team, because a name may be long.
    pub(crate) team_name: Option<Arc<str>>,
    pub(crate) player_id: i64,
    pub(crate) names: Names,
    pub(crate) version: Option<i64>,
    /// Time of the event, which a correction repeats.
    pub(crate) occurred_at: Option<i64>,
    pub(crate) stats: Vec<(String, Option<f64>)>,
}

impl Row {
    /// Team and player.
    pub(super) fn player(&self) -> (i64, i64) {
        (self.team_id, self.player_id)
    }

    /// Whether a later state must have its line: it may leave out codes, and lines, that are zero.
    pub(super) fn has_counts(&self) -> bool {
        self.player_id != TEAM_LINE_ID && self.stats.iter().any(|(_, value)| value.is_some_and(|value| value != 0.0))
    }
}

/// First and last name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Names {
    pub(crate) first: Option<String>,
    pub(crate) last: Option<String>,
}

impl Names {
    /// Takes newer names, where there are any.
    pub(super) fn update(&mut self, newer: Names) {
        self.first = newer.first.or(self.first.take());
        self.last = newer.last.or(self.last.take());
    }

    /// First and last name, where there is one.
    pub(super) fn whole(&self) -> Option<String> {
        let names: Vec<&str> = [&self.first, &self.last].into_iter().flatten().map(String::as_str).collect();
        (!names.is_empty()).then(|| names.join(" "))
    }
}

/// The bytes of these names and codes of a row.
pub(super) fn text_bytes<'a>(names: Option<&'a Names>, codes: impl Iterator<Item = &'a String>) -> usize {
    let names = names.into_iter().flat_map(|names| names.first.iter().chain(&names.last));
    codes.chain(names).map(String::len).sum()
}

/// A body of `stats` with these rows, of which those of a team follow each other.
pub(super) fn to_body(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let names = json!({ "firstname": row.names.first, "lastname": row.names.last });
        let stats: serde_json::Map<_, _> = row.stats.iter().map(|(code, value)| (code.clone(), json!(value))).collect();
        let mut line = json!({ "id": row.player_id, "player_details": names, "stats": stats });
        if let Some(version) = row.version {
            line["version"] = version.into();
        }
        line
    };
    let team = |rows: &[Row]| {
        let lines: Vec<_> = rows.iter().map(line).collect();
        json!({ "id": rows[0].team_id, "name": rows[0].team_name.as_deref(), "player_stats": lines })
    };
    let teams: Vec<_> = rows.chunk_by(|a, b| a.team_id == b.team_id).map(team).collect();
    json!({ "teams": teams }).to_string()
}

/// A row that is left out, by its path in the message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Problem {
    pub path: String,
    pub reason: String,
}

impl Problem {
    pub(super) fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Problem { path: path.into(), reason: reason.into() }
    }

    /// The problem of a value that was decoded elsewhere: `from` is its path there, `place` in the message.
    pub(super) fn relocate(error: DecodeError, from: &str, place: &str) -> Self {
        match error {
            DecodeError::Body { message, path, .. } => {
                Problem::new(path.strip_prefix(from).map_or(place.to_owned(), |rest| format!("{place}{rest}")), message)
            }
            other => Problem::new(place, other.to_string()),
        }
    }
}

/// Reads a message of a stream, or a response of REST. `None`: it has nothing of a box score.
pub(super) fn read(text: &[u8], sport: Sport) -> Option<Rows> {
    let body = Body::from(text);
    let padded_body = body.with_padding();
    let message = match Value::of(&body, &padded_body) {
        Ok(message) => message,
        // Something else than JSON, such as a heartbeat.
        Err(_) if !text.trim_ascii_start().starts_with(b"{") => return None,
        Err(error) => return Some(Rows::unreadable(Problem::new(error.path, error.message))),
    };
    if let Some(read) = read_document(message, "$", sport) {
        return Some(read);
    }
    let is_change = is_change(&message);
    match message.get("data") {
        Some(data) if is_change && data.is_object() => {
            let mut read = read_change(&body);
            let occurred_at = data.get("occurred_at").and_then(|at| at.integer());
            read.rows.iter_mut().for_each(|row| row.occurred_at = occurred_at);
            Some(read)
        }
        _ if is_change => Some(Rows::unreadable(without_data(&message))),
        // A snapshot inside an envelope (source `broadcastsummary`).
        data => read_document(data?, "$.data", sport),
    }
}

/// The problem of a stats message without data, or of several in an array.
pub(super) fn without_data(message: &Value<'_>) -> Problem {
    let path = if message.is_array() { "$" } else { "$.data" };
    Problem::new(path, "a stats message without an object")
}

/// Whether it is or has a stats message. An envelope may lack its type; a version tells its values from what an event adds.
pub(super) fn is_change(message: &Value<'_>) -> bool {
    let is_stats = |name| message.get(name).and_then(|value| value.text()).is_some_and(|text| text == "stats");
    let is_line = |data: Value<'_>| {
        ["team_id", "player_id", "version"].iter().all(|name| data.get(name).is_some_and(|value| !value.is_null()))
            && data.get("stats").is_some_and(|stats| stats.is_object())
    };
    let has_no_type = message.get("type").is_none() || is_stats("source");
    let is_message = is_stats("type") || (has_no_type && message.get("data").is_some_and(is_line));
    is_message || message.elements().any(|element| is_change(&element))
}

/// The rows of a whole document.
fn read_document(document: Value<'_>, place: &str, sport: Sport) -> Option<Rows> {
    if document.get("teams").is_some() || document.is_array() {
        return read_teams(document, place, sport);
    }
    if document.get("player_stats").is_none() {
        return if is_change(&document) { None } else { read_game(document, place, sport) };
    }
    let teams = Body::from([b"[", document.raw(), b"]"].concat());
    let padded_body = teams.with_padding();
    let mut read = read_teams(Value::of(&teams, &padded_body).ok()?, "", sport)?;
    for problem in &mut read.problems {
        problem.path = problem.path.replacen('$', place, 1);
    }
    Some(read)
}

/// New values: a stats message.
fn read_change(body: &Body) -> Rows {
    static COLUMNS: LazyLock<[String; 5]> =
        LazyLock::new(|| ["team_id", "player_id", "stat", "value", "version"].map(str::to_owned));
    let read = tables::decode(&STAT_UPDATES, "stat_updates", Some(&*COLUMNS), body, &Context::default());
    let row = read.map_err(|error| Problem::relocate(error, "$", "$")).and_then(|batch| change(&batch));
    match row {
        Ok(row) => Rows { kind: RowsKind::Change, rows: row.into_iter().collect(), problems: Vec::new() },
        Err(problem) => Rows::unreadable(problem),
    }
}

/// The row of a table of one stats message; `None` if it has no codes.
fn change(batch: &RecordBatch) -> Result<Option<Row>, Problem> {
    if batch.num_rows() == 0 {
        return Ok(None);
    }
    let id = |name: &str| {
        number::<Int64Type>(batch, name, 0)
            .ok_or_else(|| Problem::new("$.data", format!("\"{name}\" is missing or null")))
    };
    let codes = categories(batch, "stat");
    let stats: Vec<(String, Option<f64>)> =
        (0..batch.num_rows()).filter_map(|at| Some((codes(at)?, number::<Float64Type>(batch, "value", at)))).collect();
    // Arrow's C interface ends a name at a NUL.
    if stats.iter().any(|(code, _)| code.contains('\0')) {
        return Err(Problem::new("$.data.stats", "a key with a NUL character cannot name a column"));
    }
    let (team_id, player_id) = (id("team_id")?, id("player_id")?);
    Ok(Some(Row { team_id, player_id, version: number::<Int64Type>(batch, "version", 0), stats, ..Row::default() }))
}

/// The rows of `{"teams": [..]}`, or of such an array.
fn read_teams(document: Value<'_>, place: &str, sport: Sport) -> Option<Rows> {
    let (teams, path) = match document.get("teams") {
        Some(teams) => (teams, format!("{place}.teams")),
        None => (document, place.to_owned()),
    };
    let has_lines = || teams.elements().any(|team| team.get("player_stats").is_some());
    let is_empty = !document.is_array() && teams.elements().next().is_none();
    if !teams.is_array() || !(is_empty || has_lines()) {
        let has_any = memchr::memmem::find(teams.raw(), b"\"player_stats\"").is_some();
        return has_any.then(|| Rows::unreadable(Problem::new(path, "expected an array of teams, found another form")));
    }
    let resource = of_sport(&STATS, sport);
    let mut read_rows = Rows { kind: RowsKind::Snapshot, rows: Vec::new(), problems: Vec::new() };
    if let Ok(batch) = box_score(resource, &wrap_teams(teams.raw())) {
        read_rows.rows = rows_of(&batch);
        return Some(read_rows);
    }
    let mut left = MAX_ROWS;
    for (at, team) in teams.elements().enumerate() {
        // The path of a single team is that of the message itself.
        let team_path = if path.is_empty() { "$".to_owned() } else { format!("{path}[{at}]") };
        read_team(resource, team, &team_path, &mut left, &mut read_rows);
    }
    Some(read_rows)
}

fn read_team(resource: &'static Resource, team: Value<'_>, path: &str, left: &mut usize, read_rows: &mut Rows) {
    const TEAM: &str = "$.teams[0]";
    if !team.is_object() {
        let read = box_score(resource, &wrap_teams(&[b"[", team.raw(), b"]"].concat()));
        return read_rows.problems.extend(read.err().map(|error| Problem::relocate(error, TEAM, path)));
    }
    let member = |key| Some((key, team.get(key)?.raw()));
    let mut members: Vec<(&str, &[u8])> = ["id", "name"].into_iter().filter_map(member).collect();
    let check = |members: &[(&str, &[u8])]| box_score(resource, &one_team(members, b"[{\"id\":0}]"));
    let read = check(&members);
    // Lines are read without the name, which may be long. An unreadable one costs only itself, an id its team.
    members.retain(|(key, _)| *key == "id");
    let name = match read {
        Ok(batch) => rows_of(&batch).pop().and_then(|row| row.team_name),
        Err(error) => {
            read_rows.problems.push(Problem::relocate(error, TEAM, path));
            if check(&members).is_err() {
                return;
            }
            None
        }
    };
    let Some(lines) = team.get("player_stats") else { return };
    if !lines.is_array() {
        let read = box_score(resource, &one_team(&members, lines.raw()));
        return read_rows.problems.extend(read.err().map(|error| Problem::relocate(error, TEAM, path)));
    }
    let decode = |lines: &[u8]| box_score(resource, &one_team(&members, lines));
    let first = read_rows.rows.len();
    read_rows.read_lines(lines, left, (&format!("{path}.player_stats"), "$.teams[0].player_stats"), decode);
    read_rows.rows[first..].iter_mut().for_each(|row| row.team_name = name.clone());
}

/// The rows of `{"stats": [{"tid", "pid", "totalStats"}]}`.
fn read_game(document: Value<'_>, place: &str, sport: Sport) -> Option<Rows> {
    let lines = document.get(PARTS[0]).filter(Value::is_array)?;
    if lines.elements().next().is_some() && !lines.elements().any(|line| line.get("totalStats").is_some()) {
        return None;
    }
    let resource = of_sport(&CATCH_UP, sport);
    let decode = |lines: &[u8]| box_score(resource, &Body::from([b"{\"stats\":", lines, b"}"].concat()));
    let mut read_rows = Rows { kind: RowsKind::Game, rows: Vec::new(), problems: Vec::new() };
    match decode(lines.raw()) {
        Ok(batch) => read_rows.rows = rows_of(&batch),
        Err(_) => {
            read_rows.read_lines(lines, &mut MAX_ROWS.clone(), (&format!("{place}.stats"), "$.stats"), decode);
        }
    }
    Some(read_rows)
}

pub(super) fn box_score(resource: &'static Resource, body: &Body) -> Result<RecordBatch, DecodeError> {
    tables::decode(resource, "box_score", None, body, &Context::default())
}

/// A body of `stats` with these teams.
fn wrap_teams(teams: &[u8]) -> Body {
    Body::from([b"{\"teams\":", teams, b"}"].concat())
}

/// A body of `stats` with one team of these members and lines.
fn one_team(members: &[(&str, &[u8])], lines: &[u8]) -> Body {
    let all = [members, &[("player_stats", lines)]].concat();
    let members: Vec<Vec<u8>> =
        all.iter().map(|(key, value)| [b"\"", key.as_bytes(), b"\":", *value].concat()).collect();
    wrap_teams(&[b"[{", members.join(&b',').as_slice(), b"}]"].concat())
}

/// The rows of a table `box_score`; a code without a value is left out.
fn rows_of(batch: &RecordBatch) -> Vec<Row> {
    let (team_name, first, last) = (texts(batch, "team_name"), texts(batch, "first_name"), texts(batch, "last_name"));
    let schema = batch.schema();
    let codes_from = schema.index_of("games_played").map_or(0, |at| at + 1);
    let mut last_name: Option<Arc<str>> = None;
    let row = |at: usize| {
        let name = team_name(at);
        if last_name.as_deref() != name {
            last_name = name.map(Into::into);
        }
        let codes = schema.fields().iter().enumerate().skip(codes_from);
        let stats = codes.filter_map(|(column, field)| {
            let values = batch.column(column).as_primitive_opt::<Float64Type>()?;
            values.is_valid(at).then(|| (field.name().clone(), Some(values.value(at))))
        });
        Some(Row {
            team_id: number::<Int64Type>(batch, "team_id", at)?,
            team_name: last_name.clone(),
            player_id: number::<Int64Type>(batch, "player_id", at)?,
            names: Names { first: first(at).map(str::to_owned), last: last(at).map(str::to_owned) },
            version: number::<Int64Type>(batch, "version", at),
            occurred_at: None,
            stats: stats.collect(),
        })
    };
    (0..batch.num_rows()).filter_map(row).collect()
}

fn number<T: ArrowPrimitiveType>(batch: &RecordBatch, column: &str, at: usize) -> Option<T::Native> {
    let values = batch.column_by_name(column)?.as_primitive_opt::<T>()?;
    values.is_valid(at).then(|| values.value(at))
}

/// Reads the texts of a column.
fn texts<'a>(batch: &'a RecordBatch, column: &str) -> impl Fn(usize) -> Option<&'a str> + 'a {
    let values = batch.column_by_name(column).and_then(|values| values.as_string_opt::<i32>());
    move |at| values.filter(|values| values.is_valid(at)).map(|values| values.value(at))
}

/// Reads the texts of a dictionary-encoded column.
fn categories<'a>(batch: &'a RecordBatch, column: &str) -> impl Fn(usize) -> Option<String> + 'a {
    let values = batch.column_by_name(column).and_then(|values| values.as_dictionary_opt::<Int32Type>());
    let texts = values.and_then(|values| values.values().as_string_opt::<i32>());
    move |at| {
        let (values, texts) = values.zip(texts)?;
        values.key(at).map(|key| texts.value(key).to_owned())
    }
}
