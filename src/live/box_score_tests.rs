// A test that fails is meant to panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use serde_json::{Map, Value, json};

impl BoxScore {
    /// The values of a code by player.
    pub(crate) fn values(&self, code: &str) -> BTreeMap<i64, Option<f64>> {
        let lines = self.teams.values().flat_map(|team| &team.lines);
        lines.filter_map(|(player, line)| Some((*player, line.cells.get(code)?.value))).collect()
    }
}

fn text(text: String, received_at: SystemTime) -> Update {
    Update { event: None, id: "".into(), text, binary: None, seq: None, source: None, received_at }
}

fn update(message: &Value) -> Item {
    Item::Update(text(message.to_string(), SystemTime::UNIX_EPOCH))
}

fn stats(player: i64, version: i64, stats: Value, classification: &str) -> Item {
    update(&json!({"type": "stats", "data": {"occurred_at": 1_700_000_000_000_i64, "team_id": "1", "player_id": player,
        "stats": stats, "classification": classification, "version": version}}))
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

#[test]
fn an_unreadable_row_costs_only_itself() {
    for value in [json!(true), json!("many"), json!({}), json!([1])] {
        let mut score = BoxScore::new(Sport::Basketball);
        assert!(!score.feed(&stats(11, 1, json!({"FG": 1, "FGA": value}), "TWO_POINT_MAKE")));
        assert_eq!((score.unreadable, score.table().unwrap().num_rows()), (1, 0), "a message is one row");
        let teams = json!([{"id": 1, "player_stats": [{"id": 11, "stats": {"FG": 1}}]},
            {"id": 2, "player_stats": [{"id": 21, "stats": {"FG": value}}, {"id": 22, "stats": {"FG": 2}}]},
            {"id": "x", "player_stats": [{"id": 31, "stats": {"FG": 1}}]}]);
        assert!(score.feed(&update(&json!({"teams": teams}))));
        let values = [11, 22, 21, 31].map(|player| self::value(&score, player, "FG"));
        assert_eq!(values, [Some(1.0), Some(2.0), None, None]);
        let paths: Vec<&str> = score.problems.iter().map(|(_, problem)| problem.path.as_str()).collect();
        let expected = ["$.data.stats.FGA", "$.teams[1].player_stats[0].stats.FG", "$.teams[2].id"];
        assert_eq!((paths.as_slice(), score.ignored), (&expected[..], 0));
        assert!(score.feed(&stats(11, 1, json!({"FG": "3", "FGA": null}), "TWO_POINT_MAKE")));
        assert_eq!([self::value(&score, 11, "FG"), self::value(&score, 11, "FGA")], [Some(3.0), None]);
    }
}

#[test]
fn a_member_that_no_box_score_shows_costs_nothing() {
    let mut score = BoxScore::new(Sport::Basketball);
    for (n, name) in (1..).zip(["occurred_at", "classification"]) {
        let mut data = json!({"team_id": 1, "player_id": 11, "stats": {"FG": n}});
        data[name] = json!([{}]);
        assert!(score.feed(&update(&json!({"type": "stats", "data": data, "seq": {}}))), "{name}");
    }
    assert_eq!((value(&score, 11, "FG"), score.unreadable), (Some(2.0), 0));
}

#[test]
fn the_last_problems_are_kept() {
    let mut score = BoxScore::new(Sport::Basketball);
    for n in 0..50 {
        score.feed(&stats(11, n, json!({format!("C{n}"): "many"}), "x"));
    }
    let last = score.problems.iter().last().unwrap();
    assert_eq!((score.unreadable, score.problems.len(), last.1.path.as_str()), (50, 20, "$.data.stats.C49"));
}

#[test]
fn names_are_read_as_tables_read_them() {
    let row = |details: Value| json!({"id": 11, "player_details": details, "stats": {"FG": 1}});
    for (details, first) in
        [(json!({}), None), (json!({"firstname": 7, "lastname": null}), Some("7")), (json!(null), None)]
    {
        let mut score = BoxScore::new(Sport::Basketball);
        let message = json!({"teams": [{"id": 1, "name": 3, "player_stats": [row(details.clone())]}]});
        assert!(score.feed(&update(&message)), "{details}");
        assert_eq!(value(&score, 11, "FG"), Some(1.0));
        let table = score.table().unwrap();
        let text = |name: &str| {
            table.column_by_name(name).unwrap().as_string::<i32>().iter().next().unwrap().map(str::to_owned)
        };
        assert_eq!((text("team_name").as_deref(), text("first_name").as_deref()), (Some("3"), first));
    }
    let mut score = BoxScore::new(Sport::Basketball);
    let unusual_message = json!({"teams": [{"id": 1, "name": {}, "player_stats": [row(json!({})), row(json!("A"))]}]});
    assert!(score.feed(&update(&unusual_message)));
    assert_eq!((value(&score, 11, "FG"), score.unreadable), (Some(1.0), 2), "a team's odd name costs only itself");
}

#[test]
fn late_and_duplicate_messages_are_ignored() {
    let mut score = BoxScore::new(Sport::Basketball);
    let (first, second) = (stats(11, 100, json!({"PTS": 7}), "x"), stats(11, 101, json!({"PTS": 5}), "y"));
    score.feed(&second);
    for late in [&first, &second, &first] {
        assert!(!score.feed(late));
    }
    assert_eq!((value(&score, 11, "PTS"), score.ignored), (Some(5.0), 3));
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
    for invalid in ["no json", "[1]", r#"{"games":[]}"#] {
        assert!(matches!(score.seed(invalid.as_bytes()), Err(Error::Argument(_))), "{invalid}");
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
    for invalid in [json!([{"pid": "11"}]), json!({})] {
        assert!(!score.feed(&state(invalid.clone())));
        assert!(score.seed(json!({"stats": invalid}).to_string().as_bytes()).is_err());
    }
    assert!(!score.feed(&state(json!([{"tid": "1", "pid": "11", "totalStats": {"PTS": true}}]))));
    assert_eq!((value(&score, 11, "PTS"), score.unreadable), (Some(14.0), 1));
}

#[test]
fn other_messages_are_no_error_and_change_nothing() {
    let mut score = BoxScore::new(Sport::Basketball);
    for text in [json!({"type": "clock"}), json!([]), json!({"teams": 3}), json!({"data": {"teams": 3}})] {
        assert!(!score.feed(&update(&text)));
    }
    assert!(!score.feed(&Item::Update(text("ping".into(), SystemTime::UNIX_EPOCH))));
    assert_eq!((score.ignored, score.unreadable, score.table().unwrap().num_rows()), (0, 0, 0));
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
    let messages = [
        stats(11, 2, nul.clone(), "x"),
        stats(11, 2, json!({"PTS": "many"}), "x"),
        stats(11, 2, Value::Object(codes(1_000)), "x"),
        update(&json!({"type": "stats", "data": 1})),
        update(&json!([{"type": "stats", "data": {"team_id": 1, "player_id": 11, "stats": {"PTS": 4}}}])),
        update(&json!({"teams": lines(11, nul.clone())})),
        update(&json!({"source": "broadcastsummary", "data": {"teams": lines(11, nul)}})),
        update(&json!({"stats": totals})),
    ];
    for (count, update) in (1..).zip(&messages) {
        assert!(!score.feed(update));
        assert_eq!((score.ignored, score.unreadable, value(&score, 11, "PTS")), (0, count, Some(2.0)));
    }
    assert!(score.feed(&stats(11, 2, Value::Object(codes(999)), "x")), "the last one that fits");
    for player in 12..200 {
        score.feed(&stats(player, 1, json!({"PTS": 1}), "x"));
    }
    assert_eq!((score.unreadable, score.table().unwrap().num_rows()), (messages.len() as u64 + 188 - 63, 64));
}

fn at(seconds: f64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs_f64(seconds)
}

/// A stats message without a version, received at this time.
fn message_at(seconds: f64, points: i64) -> Item {
    let message = json!({"type": "stats", "data": {"team_id": 1, "player_id": 11, "stats": {"PTS": points}}});
    Item::Update(text(message.to_string(), at(seconds)))
}

fn gap() -> Notice {
    let (start, end) = (at(0.0), Some(at(1.0)));
    Notice::Gap { start, end, reason: "it was cut".into(), dropped: None, is_final: false }
}

/// The state of the game, requested at this time.
fn state_at(seconds: f64, version: Option<i64>, points: i64) -> Item {
    state_of(seconds, version, &json!({"PTS": points}))
}

fn state_of(seconds: f64, version: Option<i64>, stats: &Value) -> Item {
    let row = json!({"id": 11, "version": version, "stats": stats});
    let state = json!({"teams": [{"id": 1, "player_stats": [row]}]});
    let gap = gap();
    let updates = vec![text(state.to_string(), at(seconds + 0.1))].into();
    Item::Notice(Notice::Recovered { gap: Box::new(gap), updates, requested_at: Some(at(seconds)) })
}

#[test]
fn a_requested_value_replaces_only_what_is_older_than_its_request() {
    let mut score = BoxScore::new(Sport::Basketball);
    score.feed(&message_at(1.0, 8));
    assert!(score.feed(&state_at(2.0, None, 10)));
    score.feed(&message_at(3.0, 12));
    assert!(!score.feed(&state_at(2.5, None, 13)), "the stream delivery a later one");
    assert_eq!(value(&score, 11, "PTS"), Some(12.0));
}

#[test]
fn a_requested_value_lowers_a_count_only_if_a_later_request_confirms_it() {
    let feed = |items: &[Item]| {
        let mut score = BoxScore::new(Sport::Basketball);
        score.feed(&message_at(1.0, 10));
        for item in items {
            score.feed(item);
        }
        value(&score, 11, "PTS")
    };
    let low = |seconds: f64| state_at(seconds, None, 8);
    assert_eq!(feed(&[low(2.0)]), Some(10.0));
    assert_eq!(feed(&[low(2.0), low(6.9)]), Some(10.0), "too soon");
    assert_eq!(feed(&[low(2.0), low(7.0)]), Some(8.0));
    assert_eq!(feed(&[low(2.0), state_at(7.0, None, 9)]), Some(10.0), "another value");
    assert_eq!(feed(&[low(2.0), message_at(3.0, 11), low(8.0)]), Some(11.0), "the stream has a newer one");
}

#[test]
fn a_count_that_the_stream_has_just_lowered_is_not_raised_by_one_request() {
    let mut score = BoxScore::new(Sport::Basketball);
    score.feed(&message_at(1.0, 10));
    score.feed(&message_at(3.0, 8));
    assert!(!score.feed(&state_at(4.0, None, 10)), "it may be the count before the correction");
    assert!(score.feed(&state_at(9.0, None, 10)));
    score.feed(&message_at(10.0, 8));
    assert!(score.feed(&state_at(30.0, None, 11)), "no copy of the service lags so much");
    assert_eq!(value(&score, 11, "PTS"), Some(11.0));
}

#[test]
fn a_count_that_a_request_has_lowered_is_not_raised_by_one_request() {
    let mut score = BoxScore::new(Sport::Basketball);
    score.feed(&message_at(0.0, 12));
    score.feed(&Item::Notice(gap()));
    score.feed(&state_at(2.0, None, 10));
    assert!(!score.feed(&state_at(7.0, None, 12)), "it may be of a copy that lags");
    assert_eq!(value(&score, 11, "PTS"), Some(10.0));
    assert!(score.feed(&state_at(12.0, None, 12)));
}

#[test]
fn a_count_that_the_stream_delivered_after_a_gap_is_not_raised_by_one_request() {
    let mut score = BoxScore::new(Sport::Basketball);
    score.feed(&message_at(1.0, 8));
    score.feed(&Item::Notice(gap()));
    // A count of 12 was lost, and this is its correction.
    score.feed(&message_at(3.0, 10));
    assert!(!score.feed(&partial_state_at(4.0, 12)), "it may be of a copy that lags");
    assert!(score.feed(&partial_state_at(9.0, 12)));
    assert_eq!(value(&score, 11, "PTS"), Some(12.0));
}

#[test]
fn what_closes_a_gap_lowers_counts_from_before_it_whatever_the_clock_says() {
    // The clock is set back after a delivery at 9.
    for (delivery, is_before, expected) in [(0.5, true, 8.0), (9.0, true, 8.0), (0.5, false, 10.0)] {
        let mut score = BoxScore::new(Sport::Basketball);
        let mut items = [message_at(delivery, 10), Item::Notice(gap())];
        if !is_before {
            items.reverse();
        }
        for item in &items {
            score.feed(item);
        }
        score.feed(&state_at(2.0, None, 8));
        assert_eq!(value(&score, 11, "PTS"), Some(expected));
    }
}

#[test]
fn what_closes_a_gap_has_no_code_that_was_corrected_to_zero() {
    for (is_before, expected) in [(true, None), (false, Some(1.0))] {
        let mut score = BoxScore::new(Sport::Basketball);
        let message = json!({"type": "stats", "data": {"team_id": 1, "player_id": 11, "stats": {"FG2": 1}}});
        let mut items = [Item::Update(text(message.to_string(), at(0.5))), Item::Notice(gap())];
        if !is_before {
            items.reverse();
        }
        for item in &items {
            score.feed(item);
        }
        score.feed(&state_at(2.0, None, 8));
        assert_eq!(value(&score, 11, "FG2"), expected);
    }
}

/// A state that closes no gap.
fn partial_state_at(seconds: f64, points: i64) -> Item {
    partial_state_of(seconds, &json!({"PTS": points}))
}

fn partial_state_of(seconds: f64, stats: &Value) -> Item {
    match state_of(seconds, None, stats) {
        Item::Notice(Notice::Recovered { gap, updates, requested_at: Some(requested_at) }) => {
            Item::Notice(Notice::Recovering { gap, updates, missing: vec!["plays".into()], requested_at })
        }
        other => other,
    }
}

#[test]
fn what_closes_a_gap_replaces_the_values_of_requests_before_it_whatever_the_clock_says() {
    // The clock is set back after the second request, or does not move at all.
    for (second, third) in [(6.0, 11.0), (6.0, 4.0), (2.0, 2.1)] {
        for points in [8, 10] {
            let mut score = BoxScore::new(Sport::Basketball);
            score.feed(&message_at(0.5, 9));
            score.feed(&Item::Notice(gap()));
            // A request that was sent before the end of the gap, and one after it.
            score.feed(&partial_state_at(2.0, 9));
            score.feed(&partial_state_at(second, points));
            score.feed(&state_at(third, None, points));
            assert_eq!(value(&score, 11, "PTS"), Some(points as f64), "{second} {third}");
        }
    }
}

#[test]
fn what_closes_a_gap_has_no_code_that_a_request_before_it_had() {
    let mut score = BoxScore::new(Sport::Basketball);
    score.feed(&Item::Notice(gap()));
    score.feed(&partial_state_of(2.0, &json!({"PTS": 2, "FG2": 1})));
    score.feed(&partial_state_of(7.0, &json!({"PTS": 0})));
    assert_eq!((value(&score, 11, "PTS"), value(&score, 11, "FG2")), (Some(2.0), Some(1.0)), "not confirmed");
    score.feed(&state_of(12.0, None, &json!({"PTS": 0})));
    assert_eq!((value(&score, 11, "PTS"), value(&score, 11, "FG2")), (Some(0.0), Some(0.0)));
}

#[test]
fn a_state_that_closes_two_gaps_does_not_confirm_itself() {
    let mut score = BoxScore::new(Sport::Basketball);
    let (start, end) = (at(1.0), Some(at(1.5)));
    let second = Notice::Gap { start, end, reason: "it was cut".into(), dropped: None, is_final: false };
    score.feed(&Item::Notice(gap()));
    score.feed(&Item::Notice(second.clone()));
    score.feed(&message_at(1.6, 10));
    let Item::Notice(Notice::Recovered { gap: first, updates, requested_at }) = state_at(2.0, None, 8) else {
        unreachable!()
    };
    for gap in [first, Box::new(second)] {
        score.feed(&Item::Notice(Notice::Recovered { gap, updates: updates.clone(), requested_at }));
    }
    assert_eq!(value(&score, 11, "PTS"), Some(10.0));
}

#[test]
fn a_request_raises_the_count_of_a_request_before_it() {
    let mut score = BoxScore::new(Sport::Basketball);
    score.feed(&Item::Notice(gap()));
    score.feed(&partial_state_at(2.0, 0));
    assert!(score.feed(&partial_state_at(7.0, 1)));
    assert_eq!(value(&score, 11, "PTS"), Some(1.0));
}

#[test]
fn the_higher_version_wins_wherever_both_have_one() {
    let mut score = BoxScore::new(Sport::Basketball);
    score.feed(&stats(11, 100, json!({"PTS": 10}), "x"));
    assert!(!score.feed(&state_at(9.0, Some(99), 12)));
    assert!(score.feed(&state_at(9.0, Some(101), 8)), "a correction, without another request");
    assert_eq!(value(&score, 11, "PTS"), Some(8.0));
    assert!(!score.feed(&stats(11, 101, json!({"PTS": 7}), "x")), "late");
}

#[test]
fn leaders_are_the_players_with_the_highest_values() {
    let mut score = BoxScore::new(Sport::Basketball);
    for (player, points) in [(0, 99), (11, 5), (12, 9), (13, 9), (14, 1)] {
        score.feed(&stats(player, 1, json!({"PTS": points}), "x"));
    }
    score.feed(&stats(15, 1, json!({"PTS": null}), "x"));
    let ids = |code: &str, count: usize| {
        let table = score.leaders(code, count).unwrap();
        table.column_by_name("player_id").unwrap().as_primitive::<Int64Type>().values().to_vec()
    };
    assert_eq!((ids("PTS", 3), ids("PTS", 99), ids("AST", 3)), (vec![12, 13, 11], vec![12, 13, 11, 14], vec![]));
}

/// A copy for each line would take the memory of all of them before any bound applies.
#[test]
fn a_team_s_name_is_kept_once_for_all_its_lines() {
    let line = |id: u64| json!({"id": id, "stats": {"PTS": 2}});
    for odd_line in [None, Some(json!({"id": {}}))] {
        let lines: Vec<Value> = (1..=100).map(line).chain(odd_line.clone()).collect();
        let message = json!({"teams": [{"id": 1, "name": "N".repeat(100_000), "player_stats": lines}]}).to_string();
        let read = rows::read(message.as_bytes(), Sport::Basketball).unwrap();
        assert_eq!((read.rows.len(), read.problems.len()), (100, usize::from(odd_line.is_some())));
        let mut score = BoxScore::new(Sport::Basketball);
        score.feed(&Item::Update(text(message, SystemTime::UNIX_EPOCH)));
        for rows in [read.rows, score.rows().collect()] {
            let names: Vec<_> = rows.iter().map(|row| row.team_name.clone().unwrap()).collect();
            assert_eq!((rows.len(), names[0].len()), (100, 100_000));
            assert!(names.iter().all(|name| Arc::ptr_eq(name, &names[0])));
        }
    }
}
