//! Maintains the current box score from updates. A message has new values, not increments, and a `version` that orders it:
//! corrections replace earlier values; late and duplicate messages are ignored (tests/specification.md, facts 8).

use super::item::Update;
use crate::config::Sport;
use crate::error::{Error, Result};
use crate::resource;
use crate::resource::stats::STATS;
use crate::scrub::Scrubber;
use arrow_array::RecordBatch;
use reader::Body;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use tables::Context;

/// The player id of a team's own line.
const TEAM_LINE_ID: i64 = 0;

/// The lines of both teams.
#[derive(Debug, Clone)]
pub struct BoxScore {
    sport: Sport,
    teams: BTreeMap<i64, TeamLines>,
    codes: BTreeSet<String>,
    /// Late and duplicate messages.
    ignored: u64,
    /// Messages with lines that cannot be taken.
    unreadable: u64,
}

#[derive(Debug, Clone, Default)]
struct TeamLines {
    name: Option<String>,
    lines: BTreeMap<i64, PlayerLine>,
}

#[derive(Debug, Clone, Default)]
struct PlayerLine {
    details: Option<Names>,
    version: Option<i64>,
    stats: Map<String, Value>,
}

/// The known shapes of a message and of a game's state (tests/specification.md, facts 4, 5 and 2). Ids are numbers or
/// strings.
#[derive(Deserialize)]
struct BoxScoreMessage {
    #[serde(rename = "type")]
    kind: Option<Value>,
    data: Option<Value>,
    teams: Option<Value>,
    stats: Option<Value>,
}

#[derive(Deserialize)]
struct StatsChange {
    team_id: Id,
    player_id: Id,
    stats: Stats,
    version: Option<Value>,
}

/// A team of a snapshot, or of a response of `stats`.
#[derive(Deserialize)]
pub(super) struct WireTeam {
    pub id: Id,
    #[serde(default)]
    name: Option<Value>,
    pub player_stats: Vec<WireLine>,
}

#[derive(Deserialize)]
pub(super) struct WireLine {
    pub id: Id,
    #[serde(default)]
    pub(crate) player_details: Option<Names>,
    #[serde(default)]
    version: Option<Value>,
    pub stats: Stats,
}

impl WireTeam {
    /// The name; `None` also for one of another type.
    pub(super) fn name(&self) -> Option<String> {
        self.name.as_ref().and_then(Value::as_str).map(str::to_owned)
    }
}

/// The names of a player in `player_details`; a missing one, or one of another type, is unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Value")]
pub(super) struct Names {
    firstname: Option<String>,
    lastname: Option<String>,
}

impl From<Value> for Names {
    fn from(details: Value) -> Self {
        let name = |key: &str| details.get(key).and_then(Value::as_str).map(str::to_owned);
        Names { firstname: name("firstname"), lastname: name("lastname") }
    }
}

/// An id: a number, or a string of digits.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Id(pub i64);

impl TryFrom<Value> for Id {
    type Error = &'static str;

    fn try_from(value: Value) -> std::result::Result<Self, Self::Error> {
        id(&value).map(Id).ok_or("not an id")
    }
}

/// Stats whose values are all numeric or null, and whose codes can name a column (Arrow's C interface ends a name at a NUL).
#[derive(Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub(super) struct Stats(pub Map<String, Value>);

impl TryFrom<Map<String, Value>> for Stats {
    type Error = &'static str;

    fn try_from(stats: Map<String, Value>) -> std::result::Result<Self, Self::Error> {
        let fits =
            |(code, value): (&String, &Value)| !code.contains('\0') && (value.is_null() || number(value).is_some());
        if stats.iter().all(fits) { Ok(Stats(stats)) } else { Err("not a stat") }
    }
}

impl BoxScore {
    /// Creates an empty box score with the columns of a sport.
    pub fn new(sport: Sport) -> Self {
        BoxScore { sport, teams: BTreeMap::new(), codes: BTreeSet::new(), ignored: 0, unreadable: 0 }
    }

    /// Applies an update of either stream; returns whether it changed the box score. Other messages and invalid JSON change
    /// nothing.
    pub fn feed(&mut self, update: &Update) -> bool {
        let Ok(message) = serde_json::from_str::<BoxScoreMessage>(&update.text) else { return false };
        let is_stats = message.kind.as_ref().and_then(Value::as_str) == Some("stats");
        let (has_lines, changed) = match (message.teams, message.data) {
            (Some(teams), _) => (has_lines(&teams), self.replace(teams)),
            (None, Some(data)) if is_stats => (true, serde_json::from_value(data).ok().and_then(|new| self.apply(new))),
            // A snapshot inside an envelope (source `broadcastsummary`).
            (None, Some(Value::Object(mut data))) => match data.remove("teams") {
                Some(teams) => (has_lines(&teams), self.replace(teams)),
                None => (false, None),
            },
            (None, None) => match message.stats {
                Some(lines) => (has_lines(&lines), self.replace_game(lines)),
                None => (false, None),
            },
            _ => (false, None),
        };
        self.ignored += u64::from(changed == Some(false));
        self.unreadable += u64::from(changed.is_none() && has_lines);
        changed == Some(true)
    }

    /// Applies a REST response, initially or after a gap, where it is not older than the current lines. Its root is that of `stats`
    /// or of `team_game_stats`.
    pub fn seed(&mut self, body: &[u8]) -> Result<()> {
        let wrong = || {
            Error::Argument("a box score is seeded with a payload of stats, team_game_stats or catch_up with \"stats\"; this body has no team with player_stats, or stats that no table can have".into())
        };
        let body: Value = serde_json::from_slice(body).map_err(|_| wrong())?;
        let teams = match body {
            Value::Object(mut body) => match (body.remove("teams"), body.remove("stats")) {
                (Some(teams), _) => teams,
                (None, Some(lines)) => return self.replace_game(lines).map(|_| ()).ok_or_else(wrong),
                (None, None) => Value::Array(vec![Value::Object(body)]),
            },
            teams => teams,
        };
        self.replace(teams).map(|_| ()).ok_or_else(wrong)
    }

    /// Number of updates that were ignored because they were late or duplicates.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// Number of messages with lines that were not applied: a value is no number, or there is no room for it.
    pub fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// Makes room for teams and for lines, each with its team's id, its own and its stats; `None` if there is none.
    fn reserve<'a>(
        &mut self,
        teams: impl Iterator<Item = i64>,
        lines: impl Iterator<Item = (i64, i64, &'a Stats)> + Clone,
    ) -> Option<()> {
        let is_new = |team: &i64, id: &i64| !self.teams.get(team).is_some_and(|team| team.lines.contains_key(id));
        let new: BTreeSet<(i64, i64)> =
            lines.clone().map(|(team, id, _)| (team, id)).filter(|(team, id)| is_new(team, id)).collect();
        let codes: BTreeSet<&String> =
            lines.flat_map(|(_, _, stats)| stats.0.keys()).filter(|code| !self.codes.contains(*code)).collect();
        let new_teams: BTreeSet<i64> = teams.filter(|team| !self.teams.contains_key(team)).collect();
        let known: usize = self.teams.values().map(|team| 1 + team.lines.len()).sum();
        let rows = known + new_teams.len() + new.len();
        let columns = codes.len() + self.codes.len();
        // The limits of a table of an empty body, so that the table can always have its columns.
        if tables::is_too_wide(columns.max(1), rows, 0) {
            return None;
        }
        self.codes.extend(codes.into_iter().cloned());
        Some(())
    }

    /// Applies a change of one line. `None`: there is no room for it.
    fn apply(&mut self, change: StatsChange) -> Option<bool> {
        let team = std::iter::once(change.team_id.0);
        self.reserve(team, std::iter::once((change.team_id.0, change.player_id.0, &change.stats)))?;
        let version = change.version.as_ref().and_then(id);
        let team = self.teams.entry(change.team_id.0).or_default();
        let line = team.lines.entry(change.player_id.0).or_default();
        if is_outdated(version, line.version, true) {
            return Some(false);
        }
        line.version = version.or(line.version);
        line.stats.extend(change.stats.0);
        Some(true)
    }

    /// Replaces whole lines. `None`: the value is no list of teams with lines, or there is no room for them.
    fn replace(&mut self, teams: Value) -> Option<bool> {
        let teams = teams_of(teams)?;
        self.reserve(
            teams.iter().map(|team| team.id.0),
            teams.iter().flat_map(|team| team.player_stats.iter().map(|line| (team.id.0, line.id.0, &line.stats))),
        )?;
        let mut changed = false;
        for wire in teams {
            let team = self.teams.entry(wire.id.0).or_default();
            team.name = wire.name().or(team.name.take());
            for new in wire.player_stats {
                let version = new.version.as_ref().and_then(id);
                let line = team.lines.entry(new.id.0).or_default();
                line.details = new.player_details.or(line.details.take());
                if is_outdated(version, line.version, false) || line.stats == new.stats.0 {
                    line.version = line.version.max(version);
                    continue;
                }
                line.version = version.or(line.version);
                line.stats = new.stats.0;
                changed = true;
            }
        }
        Some(changed)
    }

    /// Replaces the lines of a game, which have no version: they are as new as their request. A team's own line that is absent
    /// becomes unknown. `None`: the value is no list of such lines, or there is no room for them.
    fn replace_game(&mut self, lines: Value) -> Option<bool> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct WireGameLine {
            tid: Id,
            pid: Id,
            total_stats: Stats,
        }
        let lines: Vec<WireGameLine> = serde_json::from_value(lines).ok()?;
        self.reserve(
            lines.iter().map(|line| line.tid.0),
            lines.iter().map(|line| (line.tid.0, line.pid.0, &line.total_stats)),
        )?;
        let mut changed = false;
        for WireGameLine { tid, .. } in &lines {
            let has_total = lines.iter().any(|line| (line.tid.0, line.pid.0) == (tid.0, TEAM_LINE_ID));
            let team = self.teams.entry(tid.0).or_default();
            // Its version stays, so that earlier messages remain late.
            if !has_total && let Some(total) = team.lines.get_mut(&TEAM_LINE_ID) {
                changed |= !std::mem::take(&mut total.stats).is_empty();
            }
        }
        for WireGameLine { tid, pid, total_stats } in lines {
            let line = self.teams.entry(tid.0).or_default().lines.entry(pid.0).or_default();
            changed |= line.stats != total_stats.0;
            line.stats = total_stats.0;
        }
        Some(changed)
    }

    /// Builds the table `box_score`.
    pub fn table(&self) -> Result<RecordBatch> {
        let line = |(id, line): (&i64, &PlayerLine)| json!({ "id": id, "player_details": line.details, "version": line.version, "stats": line.stats });
        let team = |(id, team): (&i64, &TeamLines)| json!({ "id": id, "name": team.name, "player_stats": team.lines.iter().map(line).collect::<Value>() });
        let json = json!({ "teams": self.teams.iter().map(team).collect::<Value>() }).to_string();
        tables::decode(
            resource::of_sport(&STATS, self.sport),
            "box_score",
            None,
            &Body::from(json.as_bytes()),
            &Context::default(),
        )
        .map_err(|error| Error::decode(error, &Scrubber::default()))
    }
}

/// Whether a new version is outdated. With `or_same`, an equal version is too: such a message is a duplicate, whereas a whole
/// line of an equal version may have more codes.
fn is_outdated(new: Option<i64>, known: Option<i64>, or_same: bool) -> bool {
    match (new, known) {
        (Some(new), Some(known)) => new < known || (or_same && new == known),
        // Without versions, the later message wins.
        _ => false,
    }
}

/// Whether the value is meant as teams with lines, or as lines of `catch_up`.
fn has_lines(value: &Value) -> bool {
    value.as_array().is_some_and(|entries| {
        entries.iter().any(|entry| entry.get("player_stats").or(entry.get("totalStats")).is_some())
    })
}

/// The teams with lines of a snapshot or a response; `None`: these are no such teams.
pub(super) fn teams_of(teams: Value) -> Option<Vec<WireTeam>> {
    serde_json::from_value(teams).ok()
}

/// A stat's value, which comes as a number or as its text.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => serde_json::from_str::<Number>(text).ok()?.as_f64(),
        _ => None,
    }
}

fn id(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => {
            number.as_i64().or_else(|| number.as_f64().filter(|n| n.fract() == 0.0).map(|n| n as i64))
        }
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type};
    use serde_json::json;
    use std::time::SystemTime;

    fn update(message: &Value) -> Update {
        let received_at = SystemTime::UNIX_EPOCH;
        Update {
            event: None,
            id: "".into(),
            text: message.to_string(),
            binary: None,
            seq: None,
            source: None,
            received_at,
        }
    }

    fn stats(player: i64, version: i64, stats: Value, classification: &str) -> Update {
        update(
            &json!({"type": "stats", "data": {"occurred_at": 1_700_000_000_000_i64, "team_id": "1", "player_id": player,
            "stats": stats, "classification": classification, "version": version}}),
        )
    }

    fn value(score: &BoxScore, player: i64, column: &str) -> Option<f64> {
        let table = score.table().unwrap();
        let players = table.column_by_name("player_id").unwrap().as_primitive::<Int64Type>();
        let row = players.values().iter().position(|id| *id == player)?;
        let column = table.column_by_name(column)?.as_primitive::<Float64Type>();
        column.iter().nth(row).unwrap()
    }

    /// A shot that is counted, then deleted.
    #[test]
    fn a_correction_replaces_and_never_adds() {
        let mut score = BoxScore::new(Sport::Basketball);
        assert!(score.feed(&stats(11, 100, json!({"FGA": 5.0, "FG": 3.0, "PTS": 7.0}), "TWO_POINT_MAKE")));
        assert_eq!(value(&score, 11, "PTS"), Some(7.0));
        assert!(score.feed(&stats(11, 101, json!({"FGA": 4.0, "FG": 2.0, "PTS": 5.0}), "DELETED_TWO_POINT_MAKE")));
        assert_eq!([value(&score, 11, "PTS"), value(&score, 11, "FGA")], [Some(5.0), Some(4.0)]);
        assert!(score.table().unwrap().column_by_name("team_name").unwrap().is_null(0), "no message had it");
    }

    /// Not even the teams before the invalid one.
    #[test]
    fn an_invalid_message_changes_nothing() {
        let mut score = BoxScore::new(Sport::Basketball);
        for value in [json!(true), json!("many"), json!({}), json!([1])] {
            assert!(!score.feed(&stats(11, 1, json!({"FG": 1, "FGA": value}), "TWO_POINT_MAKE")));
            let teams = json!([{"id": 1, "player_stats": [{"id": 11, "stats": {"FG": 1}}]},
                {"id": 2, "player_stats": [{"id": 21, "stats": {"FG": value}}]}]);
            assert!(!score.feed(&update(&json!({"teams": teams}))));
        }
        let teams =
            json!([{"id": 1, "player_stats": [{"id": 11, "stats": {"FG": 1}}]}, {"id": "x", "player_stats": []}]);
        assert!(!score.feed(&update(&json!({"teams": teams}))));
        assert_eq!((score.table().unwrap().num_rows(), score.ignored()), (0, 0));
        assert!(score.feed(&stats(11, 1, json!({"FG": "3", "FGA": null}), "TWO_POINT_MAKE")));
        assert_eq!([value(&score, 11, "FG"), value(&score, 11, "FGA")], [Some(3.0), None]);
    }

    #[test]
    fn names_that_are_missing_or_of_another_type_are_unknown() {
        for details in [json!({}), json!({"firstname": 7, "lastname": null}), json!("A"), json!(null)] {
            let mut score = BoxScore::new(Sport::Basketball);
            let line = json!({"id": 11, "player_details": details, "stats": {"FG": 1}});
            assert!(
                score.feed(&update(&json!({"teams": [{"id": 1, "name": 3, "player_stats": [line]}]}))),
                "{details}"
            );
            assert_eq!(value(&score, 11, "FG"), Some(1.0));
            let table = score.table().unwrap();
            for name in ["team_name", "first_name", "last_name"] {
                assert!(table.column_by_name(name).unwrap().is_null(0), "{details}: {name}");
            }
        }
    }

    #[test]
    fn late_and_duplicate_messages_are_ignored() {
        let mut score = BoxScore::new(Sport::Basketball);
        let (first, second) = (stats(11, 100, json!({"PTS": 7}), "x"), stats(11, 101, json!({"PTS": 5}), "y"));
        score.feed(&second);
        for late in [&first, &second, &first] {
            assert!(!score.feed(late));
        }
        assert_eq!((value(&score, 11, "PTS"), score.ignored()), (Some(5.0), 3));
        // Versions are per player.
        assert!(score.feed(&stats(12, 50, json!({"PTS": 2}), "x")));
    }

    #[test]
    fn only_the_codes_of_a_message_change() {
        let mut score = BoxScore::new(Sport::Basketball);
        score.feed(&stats(11, 1, json!({"PTS": 2, "AST": 1}), "x"));
        score.feed(&stats(11, 2, json!({"PTS": 4}), "x"));
        assert_eq!([value(&score, 11, "PTS"), value(&score, 11, "AST")], [Some(4.0), Some(1.0)]);
    }

    #[test]
    fn snapshots_and_rest_responses_replace_whole_lines_unless_they_are_older() {
        let team = |version: i64, points: i64| {
            json!({"teams": [{"id": 1, "name": "T", "logo_image_link": "L", "player_stats": [{"id": 11, "player_details":
                {"id": 11, "firstname": "A", "lastname": "B", "profile_image_link": "L"}, "version": version,
                "stats": {"PTS": points}}]}]})
        };
        let mut score = BoxScore::new(Sport::Basketball);
        score.feed(&stats(11, 5, json!({"PTS": 9, "AST": 3}), "x"));
        assert!(!score.feed(&update(&team(4, 1))), "older");
        assert!(score.feed(&update(&team(6, 11))));
        assert_eq!([value(&score, 11, "PTS"), value(&score, 11, "AST")], [Some(11.0), None]);
        assert!(score.feed(&update(&json!({"source": "broadcastsummary", "data": team(7, 12)}))));
        score.seed(team(8, 13).to_string().as_bytes()).unwrap();
        assert_eq!(value(&score, 11, "PTS"), Some(13.0));
        assert!(!score.feed(&stats(11, 8, json!({"PTS": 99}), "x")));
        score.seed(team(9, 14)["teams"][0].to_string().as_bytes()).unwrap();
        assert_eq!(value(&score, 11, "PTS"), Some(14.0));
        for wrong in ["no json", "[1]", r#"{"games":[]}"#] {
            assert!(matches!(score.seed(wrong.as_bytes()), Err(Error::Argument(_))), "{wrong}");
        }
    }

    /// Its lines have no version, so later messages are compared with the versions before it.
    #[test]
    fn the_state_of_a_game_replaces_its_lines() {
        let mut score = BoxScore::new(Sport::Basketball);
        score.feed(&stats(11, 5, json!({"PTS": 9, "AST": 3}), "x"));
        score.feed(&stats(0, 5, json!({"PTS": 9}), "x"));
        score.feed(&stats(12, 5, json!({"PTS": 1}), "x"));
        let state = |lines: Value| update(&json!({"stats": lines, "details": [], "gameTotals": {}}));
        let lines = json!([{"tid": "1", "pid": 11, "totalStats": {"PTS": 12}}]);
        assert!(score.feed(&state(lines.clone())));
        assert_eq!([value(&score, 11, "PTS"), value(&score, 11, "AST")], [Some(12.0), None]);
        assert_eq!(value(&score, 12, "PTS"), Some(1.0));
        assert_eq!(value(&score, 0, "PTS"), None, "the team's own line is unknown");
        assert!(!score.feed(&stats(0, 4, json!({"PTS": 8}), "x")), "a late message does not restore it");
        assert!(!score.feed(&state(lines)), "nothing new");
        assert!(!score.feed(&stats(11, 5, json!({"PTS": 9}), "x")), "late");
        assert!(score.feed(&stats(11, 6, json!({"PTS": 14}), "x")));
        let total = json!([{"tid": 1, "pid": "0", "totalStats": {"PTS": 15}}]);
        score.seed(json!({"stats": total}).to_string().as_bytes()).unwrap();
        assert_eq!(value(&score, 0, "PTS"), Some(15.0));
        for wrong in
            [json!([{"pid": "11"}]), json!({}), json!([{"tid": "1", "pid": "11", "totalStats": {"PTS": true}}])]
        {
            assert!(
                !score.feed(&state(wrong.clone()))
                    && score.seed(json!({"stats": wrong}).to_string().as_bytes()).is_err()
            );
        }
        assert_eq!(value(&score, 11, "PTS"), Some(14.0));
    }

    #[test]
    fn other_messages_are_no_error_and_change_nothing() {
        let mut score = BoxScore::new(Sport::Basketball);
        for text in [json!({"type": "clock"}), json!([]), json!({"teams": 3}), json!({"data": {"teams": 3}})] {
            assert!(!score.feed(&update(&text)));
        }
        assert!(!score.feed(&Update { text: "ping".into(), ..update(&json!(1)) }));
        assert_eq!((score.ignored(), score.unreadable(), score.table().unwrap().num_rows()), (0, 0, 0));
    }

    /// Each costs its own message: the box score and its table stay as they were.
    #[test]
    fn messages_that_no_table_can_have_are_counted_and_change_nothing() {
        let mut score = BoxScore::new(Sport::Basketball);
        score.feed(&stats(11, 1, json!({"PTS": 2}), "x"));
        let lines = |id: i64, stats: Value| json!([{"id": 1, "player_stats": [{"id": id, "stats": stats}]}]);
        let codes = |count: usize| (0..count).map(|code| (format!("C{code}"), json!(1))).collect::<Map<_, _>>();
        let nul = json!({"F\u{0}G": 1});
        let totals = json!([{"tid": 1, "pid": 11, "totalStats": nul}]);
        let wrong = [
            stats(11, 2, nul.clone(), "x"),
            stats(11, 2, json!({"PTS": "many"}), "x"),
            stats(11, 2, Value::Object(codes(1_000)), "x"),
            update(&json!({"type": "stats", "data": 1})),
            update(&json!({"teams": lines(11, nul.clone())})),
            update(&json!({"source": "broadcastsummary", "data": {"teams": lines(11, nul)}})),
            update(&json!({"stats": totals})),
        ];
        for (count, update) in (1..).zip(&wrong) {
            assert!(!score.feed(update));
            assert_eq!((score.ignored(), score.unreadable(), value(&score, 11, "PTS")), (0, count, Some(2.0)));
        }
        assert!(score.seed(json!({"stats": totals}).to_string().as_bytes()).is_err());
        assert!(score.feed(&stats(11, 2, Value::Object(codes(999)), "x")), "the last one that fits");
        for player in 12..200 {
            score.feed(&stats(player, 1, json!({"PTS": 1}), "x"));
        }
        assert_eq!((score.unreadable(), score.table().unwrap().num_rows()), (wrong.len() as u64 + 188 - 63, 64));
    }
}
