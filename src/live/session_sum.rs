//! The box score of a game as the sum of its sessions' box scores: pure.

use super::rows::{self, Row, Rows};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The sum of the sessions that were added: the newest names of each line, and the sums of its codes.
#[derive(Default)]
pub(super) struct SessionSum {
    lines: BTreeMap<(i64, i64), (Row, BTreeMap<String, f64>)>,
    team_names: BTreeMap<i64, Arc<str>>,
}

impl SessionSum {
    /// Adds the rows of a response of `stats`.
    pub(super) fn add(&mut self, read: Rows) {
        for row in read.unique_rows().into_values() {
            let (sum, stats) = self.lines.entry((row.team_id, row.player_id)).or_default();
            (sum.team_id, sum.player_id) = (row.team_id, row.player_id);
            sum.names.update(row.names);
            self.team_names.extend(row.team_name.map(|name| (row.team_id, name)));
            for (code, value) in row.stats {
                // The score so far is no count: the last session has that of the game.
                let is_score = matches!(code.as_str(), "TEAM_SCORE" | "OPPOSING_TEAM_SCORE");
                let (sum, value) = (stats.entry(code).or_default(), value.unwrap_or_default());
                *sum = if is_score { sum.max(value) } else { *sum + value };
            }
        }
    }

    /// A body of `stats` for the whole game. Its lines have no version: those of sessions do not count a game's messages.
    pub(super) fn into_body(self) -> String {
        let row = |(row, stats): (Row, BTreeMap<String, f64>)| Row {
            team_name: self.team_names.get(&row.team_id).cloned(),
            stats: stats.into_iter().map(|(code, value)| (code, Some(value))).collect(),
            ..row
        };
        rows::to_body(&self.lines.into_values().map(row).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used)]
    use super::super::rows::RowsKind;
    use super::*;
    use crate::config::Sport;
    use serde_json::{Value, json};

    fn session(team: i64, player: i64, stats: &Value) -> Rows {
        let details = json!({"id": player, "firstname": "A", "lastname": "B", "profile_image_link": "L"});
        let line = json!({"id": player, "player_details": details, "version": 3, "stats": stats});
        let body = json!({"teams": [{"id": team, "name": "T", "player_stats": [line]}]}).to_string();
        rows::read(body.as_bytes(), Sport::Basketball).filter(|read| read.kind == RowsKind::Snapshot).unwrap()
    }

    #[test]
    fn of_two_lines_of_a_player_the_later_version_counts() {
        let line = |version: i64, points: i64| json!({"id": 7, "version": version, "stats": {"PTS": points}});
        for lines in [[line(2, 3), line(3, 5)], [line(3, 5), line(2, 3)], [line(3, 4), line(3, 5)]] {
            let body = json!({"teams": [{"id": 1, "player_stats": lines}]}).to_string();
            let mut sum = SessionSum::default();
            sum.add(rows::read(body.as_bytes(), Sport::Basketball).unwrap());
            let body: Value = serde_json::from_str(&sum.into_body()).unwrap();
            assert_eq!(body["teams"][0]["player_stats"][0]["stats"]["PTS"], 5.0);
        }
    }

    #[test]
    fn each_code_of_each_line_is_added_up() {
        let mut sum = SessionSum::default();
        sum.add(session(1, 11, &json!({"PTS": 2, "DIST": 1.5, "AST": null, "TO": null, "TEAM_SCORE": 40})));
        sum.add(session(1, 12, &json!({"PTS": 3})));
        sum.add(session(2, 21, &json!({"PTS": 9})));
        sum.add(session(1, 11, &json!({"PTS": "4", "DIST": 2, "AST": 1, "STL": 1, "TEAM_SCORE": 70})));
        let body: Value = serde_json::from_str(&sum.into_body()).unwrap();
        let line = &body["teams"][0]["player_stats"][0];
        assert_eq!(line["stats"], json!({"PTS": 6.0, "DIST": 3.5, "AST": 1.0, "STL": 1.0, "TEAM_SCORE": 70.0}));
        assert_eq!((&line["player_details"]["firstname"], &line["version"]), (&json!("A"), &Value::Null));
        assert_eq!(body["teams"][0]["player_stats"][1]["stats"]["PTS"], 3.0);
        assert_eq!((&body["teams"][1]["id"], &body["teams"][1]["name"]), (&json!(2), &json!("T")));
    }
}
