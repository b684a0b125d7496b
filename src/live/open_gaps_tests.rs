// A test that fails is meant to panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::super::gap_reason::GapReason;
use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

const PAUSE: Duration = Duration::from_secs(5);

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn time(seconds: f64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs_f64(seconds)
}

fn gap(start: f64, end: Option<f64>) -> Notice {
    Notice::Gap { start: time(start), end: end.map(time), reason: "cut".into(), dropped: None, is_final: false }
}

fn update(message: &Value) -> Update {
    let (text, received_at) = (message.to_string(), SystemTime::UNIX_EPOCH);
    Update { event: None, id: "".into(), text, binary: None, seq: None, source: None, received_at }
}

/// A message of the stream.
fn change(player: i64, version: Option<i64>, points: i64) -> Update {
    let data = json!({"team_id": 1, "player_id": player, "version": version, "stats": {"PTS": points}});
    update(&json!({"type": "stats", "data": data}))
}

fn snapshot(rows: Value) -> Update {
    update(&json!({"teams": [{"id": 1, "player_stats": rows}]}))
}

/// The state of the game, with a version or without.
fn state(version: Option<i64>, points: [i64; 2]) -> State {
    let row = |id: i64, points: i64| json!({"id": id, "version": version, "stats": {"PTS": points}});
    state_of(&snapshot(json!([row(7, points[0]), row(8, points[1])])))
}

fn state_of(update: &Update) -> State {
    let rows = rows::read(update.raw(), Sport::Basketball).unwrap();
    State { update: update.clone(), rows, missing: Vec::new(), requested_at: SystemTime::UNIX_EPOCH }
}

fn open_gaps(updates: Updates) -> OpenGaps {
    OpenGaps::new(updates, Sport::Basketball, PAUSE)
}

fn changes() -> OpenGaps {
    open_gaps(Updates::Changes)
}

/// What the reader learns: "recovered", "recovering" with what is missing, or "final".
fn reports(notices: &[Notice]) -> Vec<String> {
    let word = |notice: &Notice| match notice {
        Notice::Recovered { .. } => "recovered".to_owned(),
        Notice::Recovering { missing, .. } => format!("recovering {}", missing.join(" ")),
        Notice::Gap { is_final: true, .. } => "final".to_owned(),
        other => panic!("{other:?}"),
    };
    notices.iter().map(word).collect()
}

/// Requests the state at this time, and gets it a tenth of a second later.
fn request_state(gaps: &mut OpenGaps, at: f64, state: State) -> Vec<String> {
    assert!(gaps.start_attempt(seconds(at)), "no request is due at {at}: {:?}", gaps.due);
    reports(&gaps.take_state(state, seconds(at), seconds(at + 0.1), 0.0))
}

#[test]
fn a_late_message_does_not_confirm_a_state_with_another_value() {
    let mut gaps = changes();
    gaps.take_gap(&gap(1.0, Some(2.0)), seconds(9.0));
    assert_eq!(request_state(&mut gaps, 9.0, state(None, [45, 8])), ["recovering stats"]);
    // Another message overtook it, and was lost.
    assert!(gaps.take_update(&change(7, None, 44), seconds(12.0)).is_empty());
    assert_eq!(request_state(&mut gaps, 15.0, state(None, [46, 8])), ["recovering stats"]);
    assert_eq!(request_state(&mut gaps, 21.0, state(None, [46, 8])), ["recovered"]);
}

#[test]
fn a_late_message_and_a_copy_that_lags_do_not_confirm_each_other() {
    let mut gaps = changes();
    gaps.take_gap(&gap(1.0, Some(2.0)), seconds(9.0));
    // The message with 12 was lost.
    assert!(gaps.take_update(&change(7, None, 10), seconds(9.0)).is_empty());
    assert_eq!(request_state(&mut gaps, 9.0, state(None, [12, 8])), ["recovering stats"]);
    assert_eq!(request_state(&mut gaps, 15.0, state(None, [10, 8])), ["recovering stats"], "a copy that lags");
    assert_eq!(request_state(&mut gaps, 21.0, state(None, [12, 8])), ["recovering stats"]);
    // A correction that the stream delivers between two requests may be late too.
    assert!(gaps.take_update(&change(7, None, 11), seconds(24.0)).is_empty());
    assert_eq!(request_state(&mut gaps, 27.0, state(None, [11, 8])), ["recovering stats"]);
    assert_eq!(request_state(&mut gaps, 33.0, state(None, [11, 8])), ["recovered"]);
}

#[test]
fn a_message_between_two_requests_with_a_lower_value_is_followed_by_a_third_request() {
    let mut gaps = changes();
    gaps.take_gap(&gap(1.0, Some(2.0)), seconds(9.0));
    assert_eq!(request_state(&mut gaps, 9.0, state(None, [35, 8])), ["recovering stats"]);
    // It is late, or a correction that both copies of the service lack.
    assert!(gaps.take_update(&change(7, None, 32), seconds(12.0)).is_empty());
    assert_eq!(request_state(&mut gaps, 15.0, state(None, [35, 8])), ["recovering stats"]);
    assert_eq!(request_state(&mut gaps, 21.0, state(None, [35, 8])), ["recovered"]);
}

#[test]
fn a_state_with_an_unreadable_row_confirms_nothing() {
    let mut gaps = changes();
    gaps.take_gap(&gap(1.0, Some(2.0)), seconds(9.0));
    let unreadable = json!([{"id": 7, "stats": {"PTS": "many"}}, {"id": 8, "stats": {"PTS": 4}}]);
    let [report] = &request_state(&mut gaps, 9.0, state_of(&snapshot(unreadable)))[..] else { panic!() };
    assert!(report.starts_with("recovering $."), "{report}");
    // A copy of the service that lags does not have the row yet.
    let earlier = || state_of(&snapshot(json!([{"id": 8, "stats": {"PTS": 4}}])));
    assert_eq!(request_state(&mut gaps, 15.0, earlier()), ["recovering stats"]);
    assert_eq!(request_state(&mut gaps, 21.0, earlier()), ["recovered"]);
}

#[test]
fn an_empty_state_closes_a_gap_20_seconds_after_it() {
    let empty = || state_of(&snapshot(json!([])));
    let mut gaps = changes();
    gaps.take_gap(&gap(1.0, Some(2.0)), seconds(9.0));
    // A copy of the service that lags may be empty twice.
    for at in [9.0, 15.0, 21.0] {
        assert_eq!(request_state(&mut gaps, at, empty()), ["recovering stats"]);
    }
    assert_eq!(request_state(&mut gaps, 29.0, empty()), ["recovered"]);
}

#[test]
fn only_two_states_20_seconds_after_a_gap_show_that_a_player_has_no_counts_any_more() {
    let [waits, closes] = ["recovering stats", "recovered"];
    let cases: [&[(f64, &str)]; 2] = [&[(9.0, waits), (15.0, waits), (29.0, closes)], &[(29.0, waits), (35.0, closes)]];
    for (version, requests) in [None, Some(3)].into_iter().flat_map(|version| cases.map(|case| (version, case))) {
        let mut gaps = changes();
        assert!(gaps.take_update(&change(7, version, 2), seconds(1.0)).is_empty());
        gaps.take_gap(&gap(1.0, Some(2.0)), seconds(9.0));
        for (at, report) in requests {
            let without_player = json!([{"id": 8, "version": version, "stats": {"PTS": 4}}]);
            assert_eq!(
                request_state(&mut gaps, *at, state_of(&snapshot(without_player))),
                [*report],
                "{version:?} {at}"
            );
        }
    }
}

#[test]
fn a_gap_among_changes_is_requested_at_once() {
    let mut gaps = changes();
    gaps.take_gap(&gap(1.0, Some(2.0)), seconds(9.0));
    assert_eq!(gaps.due, Some(seconds(9.0)));
    assert!(gaps.start_attempt(seconds(9.0)));
}

#[test]
fn the_end_of_a_stream_and_final_gaps_cause_no_request() {
    let mut gaps = changes();
    let Notice::Gap { start, end, reason, dropped, .. } = gap(1.0, Some(2.0)) else { panic!() };
    gaps.take_gap(&Notice::Gap { start, end, reason, dropped, is_final: true }, Duration::ZERO);
    gaps.take_gap(&gap(1.0, None), Duration::ZERO);
    assert!(gaps.gaps.is_empty() && gaps.due.is_none());
}

#[test]
fn a_state_without_versions_closes_a_gap_once_a_later_request_confirms_it() {
    let mut gaps = changes();
    gaps.take_gap(&gap(1.0, Some(2.0)), seconds(2.0));
    assert_eq!(request_state(&mut gaps, 2.0, state(None, [10, 4])), ["recovering stats"]);
    assert_eq!(gaps.due, Some(seconds(7.1)));
    gaps.take_update(&change(8, None, 6), seconds(4.0));
    // The stream has delivered the new value of player 8, and player 7 has the value of the request before.
    assert_eq!(request_state(&mut gaps, 7.1, state(None, [10, 6])), ["recovered"]);
    assert!(gaps.gaps.is_empty() && gaps.due.is_none());
}

#[test]
fn beyond_the_maximum_of_remembered_values_no_state_without_versions_closes_a_gap() {
    let mut gaps = changes();
    gaps.take_gap(&gap(1.0, Some(2.0)), seconds(2.0));
    let stats: serde_json::Map<String, Value> = (0..1_000).map(|n| (format!("CODE{n}"), json!(1))).collect();
    for player in 0..70 {
        gaps.take_update(
            &update(&json!({"type": "stats", "data": {"team_id": 2, "player_id": player, "stats": stats}})),
            seconds(2.0),
        );
    }
    assert_eq!((gaps.delivered_values.len(), gaps.last_delivered.len()), (MAX_CELLS, MAX_CELLS));
    for at in [2.0, 7.1, 12.2] {
        assert_eq!(request_state(&mut gaps, at, state(None, [10, 4])), ["recovering stats"]);
    }
    // One of rows with versions does, once it is later than the gap.
    assert_eq!(request_state(&mut gaps, 40.0, state(Some(1), [10, 4])), ["recovered"]);
    assert!(gaps.delivered_values.is_empty() && gaps.last_delivered.is_empty());
}

#[test]
fn a_gap_that_follows_a_request_waits_for_the_pause() {
    let mut gaps = changes();
    gaps.take_gap(&gap(1.0, Some(2.0)), seconds(2.0));
    assert_eq!(request_state(&mut gaps, 2.0, state(None, [10, 4])), ["recovering stats"]);
    for n in 0..100 {
        gaps.take_gap(&gap(3.0, Some(4.0)), seconds(2.0 + f64::from(n) / 100.0));
        assert!(!gaps.start_attempt(seconds(6.9)));
    }
    assert_eq!(gaps.due, Some(seconds(7.1)));
}

#[test]
fn a_code_that_only_the_request_before_has_is_not_confirmed() {
    let mut gaps = changes();
    gaps.take_gap(&gap(1.0, Some(2.0)), seconds(2.0));
    request_state(&mut gaps, 2.0, state(None, [10, 4]));
    let row = |id: i64, stats: Value| json!({"id": id, "stats": stats});
    let other = snapshot(json!([row(7, json!({"PTS": 10})), row(8, json!({}))]));
    assert_eq!(request_state(&mut gaps, 7.1, state_of(&other)), ["recovering stats"]);
}

#[test]
fn a_value_that_neither_the_stream_nor_the_request_before_has_is_not_confirmed() {
    let mut gaps = changes();
    gaps.take_gap(&gap(1.0, Some(2.0)), seconds(2.0));
    // The copy of the service that answers lags: it has 7 points, then 8, where the stream had 10 before the gap.
    request_state(&mut gaps, 2.0, state(None, [7, 4]));
    assert_eq!(request_state(&mut gaps, 7.1, state(None, [8, 4])), ["recovering stats"]);
    assert_eq!(request_state(&mut gaps, 12.2, state(None, [8, 4])), ["recovered"]);
}

#[test]
fn the_first_state_after_failures_is_not_confirmed_either() {
    let mut gaps = changes();
    gaps.take_gap(&gap(1.0, Some(2.0)), seconds(2.0));
    assert!(gaps.start_attempt(seconds(2.0)));
    gaps.take_failure(&Failure { reason: "503".into(), is_refusal: false }, seconds(2.1), 0.0);
    assert_eq!(request_state(&mut gaps, 7.1, state(None, [10, 4])), ["recovering stats"]);
    assert_eq!(request_state(&mut gaps, 12.2, state(None, [10, 4])), ["recovered"]);
}

#[test]
fn a_state_with_versions_that_was_requested_20_seconds_after_a_gap_closes_it() {
    let mut gaps = changes();
    gaps.take_gap(&gap(1.0, Some(2.0)), seconds(2.0));
    for at in [2.0, 7.1, 12.2, 22.3] {
        let expected = if at < 22.0 { "recovering stats" } else { "recovered" };
        let due = gaps.due.unwrap().as_secs_f64();
        assert!(due <= at, "{due}");
        assert_eq!(request_state(&mut gaps, at, state(Some(9), [10, 4])), [expected], "{at}");
    }
}

#[test]
fn what_is_missing_keeps_a_gap_open() {
    let mut gaps = changes();
    gaps.take_gap(&gap(1.0, Some(2.0)), seconds(2.0));
    request_state(&mut gaps, 2.0, state(None, [10, 4]));
    let without_plays = State { missing: vec!["plays"], ..state(None, [10, 4]) };
    assert_eq!(request_state(&mut gaps, 7.1, without_plays), ["recovering plays"]);
    let unreadable_row = snapshot(json!([{"id": 7, "stats": {"PTS": 10}}, {"id": 8, "stats": {"PTS": "x"}}]));
    assert_eq!(
        request_state(&mut gaps, 12.2, state_of(&unreadable_row)),
        ["recovering $.teams[0].player_stats[1].stats.PTS"]
    );
    assert_eq!(request_state(&mut gaps, 17.3, state(None, [10, 4])), ["recovering stats"]);
    assert_eq!(request_state(&mut gaps, 22.4, state(None, [10, 4])), ["recovered"]);
}

#[test]
fn waits_between_attempts_grow_from_5_to_20_seconds() {
    let mut gaps = changes();
    gaps.take_gap(&gap(1.0, Some(2.0)), Duration::ZERO);
    let mut waits = Vec::new();
    for jitter in [0.0, 1.0, 0.0, 0.5, 0.0] {
        let at = gaps.due.unwrap();
        assert!(gaps.start_attempt(at));
        gaps.take_failure(&Failure { reason: "503".into(), is_refusal: false }, at, jitter);
        waits.push((gaps.due.unwrap() - at).as_secs());
    }
    assert_eq!(waits, [5, 12, 20, 22, 20]);
}

#[test]
fn a_refusal_for_good_makes_every_gap_final() {
    let mut gaps = changes();
    gaps.take_gap(&gap(1.0, Some(2.0)), seconds(2.0));
    gaps.take_gap(&gap(3.0, Some(4.0)), seconds(4.0));
    assert!(gaps.start_attempt(seconds(4.0)));
    let notices = gaps.take_failure(&Failure { reason: "404".into(), is_refusal: true }, seconds(4.1), 0.0);
    assert_eq!(reports(&notices), ["final", "final"]);
    let Notice::Gap { reason, .. } = &notices[0] else { panic!() };
    assert_eq!(reason.as_str(), "not recovered: 404 (gap: cut)");
    assert!(gaps.gaps.is_empty() && gaps.due.is_none());
}

#[test]
fn gaps_are_closed_in_their_order_and_a_later_one_stays_open() {
    let mut gaps = changes();
    gaps.take_gap(&gap(1.0, Some(2.0)), seconds(2.0));
    request_state(&mut gaps, 2.0, state(None, [10, 4]));
    gaps.take_gap(&gap(5.0, Some(6.0)), seconds(6.0));
    assert_eq!(request_state(&mut gaps, 7.1, state(None, [10, 4])), ["recovered", "recovering stats"]);
    assert_eq!(request_state(&mut gaps, 12.2, state(None, [10, 4])), ["recovered"]);
}

#[test]
fn a_state_that_was_requested_before_a_gap_confirms_nothing_about_it() {
    let mut gaps = changes();
    gaps.take_gap(&gap(1.0, Some(2.0)), seconds(2.0));
    request_state(&mut gaps, 2.0, state(None, [10, 4]));
    gaps.take_gap(&gap(2.5, Some(3.0)), seconds(3.0));
    // It may come from a copy of the service that lags.
    assert_eq!(request_state(&mut gaps, 8.1, state(None, [10, 4])), ["recovered", "recovering stats"]);
    assert_eq!(request_state(&mut gaps, 13.2, state(None, [10, 4])), ["recovered"]);
}

#[test]
fn a_complete_snapshot_of_the_stream_closes_gaps_and_only_where_none_comes_is_one_requested() {
    let rows = json!([{"id": 7, "stats": {"PTS": 10}}]);
    let mut gaps = open_gaps(Updates::Snapshots);
    gaps.take_gap(&gap(1.0, Some(2.0)), seconds(2.0));
    assert_eq!((gaps.due, gaps.start_attempt(seconds(3.9))), (Some(seconds(4.0)), false));
    let unreadable_row = snapshot(json!([{"id": 7, "stats": {"PTS": 10}}, {"id": null}]));
    assert_eq!(gaps.take_update(&unreadable_row, seconds(9.0)), Vec::new(), "it may lack what the gap lost");
    let notices = gaps.take_update(&snapshot(rows), seconds(9.0));
    assert_eq!(reports(&notices), ["recovered"]);
    let [Notice::Recovered { updates, requested_at: None, .. }] = notices.as_slice() else { panic!("{notices:?}") };
    assert_eq!((updates.len(), gaps.due), (1, None));
}

#[test]
fn beyond_the_maximum_the_oldest_gaps_are_one() {
    let mut gaps = changes();
    for n in 0..1000_u32 {
        let is_merged = gaps.take_gap(&gap(f64::from(n), Some(f64::from(n) + 0.5)), seconds(f64::from(n)));
        assert_eq!(is_merged, n as usize >= MAX_OPEN);
    }
    assert_eq!(gaps.gaps.len(), MAX_OPEN);
    let Notice::Gap { start, end, .. } = &gaps.gaps[0].gap else { panic!() };
    assert_eq!((*start, *end), (time(0.0), Some(time(744.5))));
}

#[test]
fn gaps_are_merged_with_the_number_of_their_messages_where_it_is_known() {
    let overflow = |start: f64, dropped: Option<u64>| {
        let end = Some(time(start + 1.0));
        Notice::Gap { start: time(start), end, reason: GapReason::Overflow, dropped, is_final: false }
    };
    let merge = |earlier, mut later: Notice| {
        later.cover(earlier);
        let Notice::Gap { start, dropped, .. } = later else { panic!() };
        (start, dropped)
    };
    assert_eq!(merge(overflow(1.0, Some(2)), overflow(3.0, Some(3))), (time(1.0), Some(5)));
    assert_eq!(merge(overflow(1.0, None), overflow(3.0, Some(3))).1, None);
}

proptest! {
    /// Whatever happens, requests keep their distance, and each gap is closed or final once, in order.
    #[test]
    fn every_gap_has_one_end(steps in prop::collection::vec((0_u64..4_000, 0_u8..8, any::<bool>()), 1..200)) {
        let mut gaps = changes();
        let (mut now, mut requests, mut taken_gaps, mut closed_gaps) = (Duration::ZERO, Vec::new(), Vec::new(), Vec::new());
        for (n, (wait, step, versions)) in steps.into_iter().enumerate() {
            now += Duration::from_millis(wait);
            if step < 2 {
                let gap = gap(n as f64, Some(n as f64 + 0.5));
                taken_gaps.push(gap.clone());
                gaps.take_gap(&gap, now);
            } else if gaps.start_attempt(now) {
                requests.push(now);
                let notices = match step {
                    2 => gaps.take_failure(&Failure { reason: "503".into(), is_refusal: versions }, now, 0.5),
                    3 => gaps.take_state(State { missing: vec!["plays"], ..state(None, [1, 2]) }, now, now, 0.5),
                    _ => gaps.take_state(state(versions.then_some(9), [1, 2]), now, now, 0.5),
                };
                for notice in notices {
                    match notice {
                        Notice::Recovered { gap, .. } => closed_gaps.push(*gap),
                        Notice::Gap { start, end, .. } => {
                            closed_gaps.push(Notice::Gap { start, end, reason: "cut".into(), dropped: None, is_final: false });
                        }
                        _ => {}
                    }
                }
            }
            prop_assert_eq!(gaps.gaps.is_empty(), gaps.due.is_none());
        }
        prop_assert!(requests.windows(2).all(|pair| pair[1] - pair[0] >= PAUSE), "{:?}", requests);
        prop_assert_eq!(&closed_gaps[..], &taken_gaps[..closed_gaps.len()]);
        prop_assert_eq!(taken_gaps.len() - closed_gaps.len(), gaps.gaps.len());
    }
}
