//! The box score of a game as the sum of its sessions' box scores: pure.

use super::box_score::{Names, number, teams_of};
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
    details: Option<Names>,
    stats: Map<String, Value>,
}

impl SessionSum {
    /// Adds a response of `stats`. `None`: it has no teams with lines, and nothing was added.
    pub(super) fn add(&mut self, body: &[u8]) -> Option<()> {
        let teams = match serde_json::from_slice(body).ok()? {
            Value::Object(mut body) => body.remove("teams")?,
            teams => teams,
        };
        for wire in teams_of(teams)? {
            let team = self.teams.entry(wire.id.0).or_default();
            team.name = wire.name().or(team.name.take());
            for new in wire.player_stats {
                let line = team.lines.entry(new.id.0).or_default();
                line.details = new.player_details.or(line.details.take());
                for (code, value) in new.stats.0 {
                    add(&mut line.stats, code, &value);
                }
            }
        }
        Some(())
    }

    /// A body of `stats` for the whole game. Its lines have no version, because those of sessions do not count the messages of
    /// a game.
    pub(super) fn into_body(self) -> String {
        let line =
            |(id, line): (&i64, &LineSum)| json!({ "id": id, "player_details": line.details, "stats": line.stats });
        let team = |(id, team): (&i64, &TeamSum)| json!({ "id": id, "name": team.name, "player_stats": team.lines.iter().map(line).collect::<Value>() });
        json!({ "teams": self.teams.iter().map(team).collect::<Value>() }).to_string()
    }
}

/// Adds a value to its code; null adds nothing.
fn add(stats: &mut Map<String, Value>, code: String, value: &Value) {
    let sum = match (stats.get(&code).and_then(number), number(value)) {
        (Some(sum), Some(more)) => Value::from(sum + more),
        (None, Some(first)) => Value::from(first),
        (sum, None) => sum.map_or(Value::Null, Value::from),
    };
    stats.insert(code, sum);
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn session(team: i64, player: i64, stats: &Value) -> Vec<u8> {
        let details = json!({"id": player, "firstname": "A", "lastname": "B", "profile_image_link": "L"});
        let line = json!({"id": player, "player_details": details, "version": 3, "stats": stats});
        json!({"teams": [{"id": team, "name": "T", "player_stats": [line]}]}).to_string().into_bytes()
    }

    #[test]
    fn each_code_of_each_line_is_added_up() {
        let mut sum = SessionSum::default();
        sum.add(&session(1, 11, &json!({"PTS": 2, "DIST": 1.5, "AST": null, "TO": null}))).unwrap();
        sum.add(&session(1, 12, &json!({"PTS": 3}))).unwrap();
        sum.add(&session(2, 21, &json!({"PTS": 9}))).unwrap();
        sum.add(&session(1, 11, &json!({"PTS": "4", "DIST": 2, "AST": 1, "STL": 1, "TO": null}))).unwrap();
        for wrong in [
            "no json",
            "{}",
            r#"{"teams":[{"id":1}]}"#,
            r#"{"teams":[{"id":1,"player_stats":[{"id":1,"stats":{"PTS":true}}]}]}"#,
        ] {
            assert!(sum.add(wrong.as_bytes()).is_none(), "{wrong}");
        }
        let body: Value = serde_json::from_str(&sum.into_body()).unwrap();
        let line = &body["teams"][0]["player_stats"][0];
        assert_eq!(line["stats"], json!({"PTS": 6.0, "DIST": 3.5, "AST": 1.0, "TO": null, "STL": 1.0}));
        assert_eq!((&line["player_details"]["firstname"], &line["version"]), (&json!("A"), &Value::Null));
        assert_eq!(body["teams"][0]["player_stats"][1]["stats"]["PTS"], 3.0);
        assert_eq!((&body["teams"][1]["id"], &body["teams"][1]["name"]), (&json!(2), &json!("T")));
    }
}
