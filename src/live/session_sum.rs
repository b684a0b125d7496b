//! The box score of a game as the sum of its sessions' box scores: pure.

use super::rows::{Names, Rows};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The sum of the sessions that were added.
#[derive(Default)]
pub(super) struct SessionSum {
    teams: BTreeMap<i64, TeamSum>,
}

#[derive(Default)]
struct TeamSum {
    name: Option<String>,
    lines: BTreeMap<i64, LineSum>,
}

#[derive(Default)]
struct LineSum {
    names: Names,
    stats: BTreeMap<String, f64>,
}

impl SessionSum {
    /// Adds the rows of a response of `stats`.
    pub(super) fn add(&mut self, read: Rows) {
        for row in read.rows {
            let team = self.teams.entry(row.team_id).or_default();
            team.name = row.team_name.or(team.name.take());
            let line = team.lines.entry(row.player_id).or_default();
            line.names.first = row.names.first.or(line.names.first.take());
            line.names.last = row.names.last.or(line.names.last.take());
            for (code, value) in row.stats {
                *line.stats.entry(code).or_default() += value.unwrap_or_default();
            }
        }
    }

    /// A body of `stats` for the whole game. Its lines have no version, because those of sessions do not count the messages of
    /// a game.
    pub(super) fn into_body(self) -> String {
        let line = |(id, line): (&i64, &LineSum)| {
            let names = json!({ "firstname": line.names.first, "lastname": line.names.last });
            let stats: Map<String, Value> =
                line.stats.iter().map(|(code, value)| (code.clone(), json!(value))).collect();
            json!({ "id": id, "player_details": names, "stats": stats })
        };
        let team = |(id, team): (&i64, &TeamSum)| json!({ "id": id, "name": team.name, "player_stats": team.lines.iter().map(line).collect::<Value>() });
        json!({ "teams": self.teams.iter().map(team).collect::<Value>() }).to_string()
    }
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used)]
    use super::super::rows::{self, RowsKind};
    use super::*;
    use crate::config::Sport;

    fn session(team: i64, player: i64, stats: &Value) -> Rows {
        let details = json!({"id": player, "firstname": "A", "lastname": "B", "profile_image_link": "L"});
        let line = json!({"id": player, "player_details": details, "version": 3, "stats": stats});
        let body = json!({"teams": [{"id": team, "name": "T", "player_stats": [line]}]}).to_string();
        rows::read(body.as_bytes(), Sport::Basketball).filter(|read| read.kind == RowsKind::Snapshot).unwrap()
    }

    #[test]
    fn each_code_of_each_line_is_added_up() {
        let mut sum = SessionSum::default();
        sum.add(session(1, 11, &json!({"PTS": 2, "DIST": 1.5, "AST": null, "TO": null})));
        sum.add(session(1, 12, &json!({"PTS": 3})));
        sum.add(session(2, 21, &json!({"PTS": 9})));
        sum.add(session(1, 11, &json!({"PTS": "4", "DIST": 2, "AST": 1, "STL": 1, "TO": null})));
        let body: Value = serde_json::from_str(&sum.into_body()).unwrap();
        let line = &body["teams"][0]["player_stats"][0];
        assert_eq!(line["stats"], json!({"PTS": 6.0, "DIST": 3.5, "AST": 1.0, "STL": 1.0}));
        assert_eq!((&line["player_details"]["firstname"], &line["version"]), (&json!("A"), &Value::Null));
        assert_eq!(body["teams"][0]["player_stats"][1]["stats"]["PTS"], 3.0);
        assert_eq!((&body["teams"][1]["id"], &body["teams"][1]["name"]), (&json!(2), &json!("T")));
    }
}
