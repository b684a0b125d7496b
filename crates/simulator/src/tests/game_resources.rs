//! A game as a whole over the wire.

use super::*;

const PARTS: [&str; 4] = ["stats", "details", "shots", "possessions"];

fn keys(body: &Value) -> Vec<&str> {
    body.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn a_catch_up_has_the_requested_parts_in_order_and_the_score() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    let path = format!("/v1/data/stats/games/{}", simulator.games()[0].event_id);
    let all = sender.json(&format!("{path}/{}", PARTS.join(",")));
    assert_eq!(keys(&all), ["stats", "details", "shots", "possessions", "gameTotals"]);
    assert_eq!(keys(&sender.json(&format!("{path}/shots,stats"))), ["shots", "stats", "gameTotals"]);
    assert_eq!(keys(&sender.json(&format!("{path}/possessions%2Cdetails"))), ["possessions", "details", "gameTotals"]);
    for part in PARTS {
        let single = sender.json(&format!("{path}/{part}"));
        assert_eq!(keys(&single), [part, "gameTotals"]);
        assert_eq!((&single[part], &single["gameTotals"]), (&all[part], &all["gameTotals"]));
        assert!(!all[part].as_array().unwrap().is_empty(), "{part}");
    }
    let screens = sender.json(&format!("{path}/ballscreens"));
    assert_eq!(keys(&screens), ["ballscreens", "gameTotals"]);
    assert_eq!(screens["gameTotals"], all["gameTotals"]);
}

#[test]
fn an_unknown_resource_of_a_game_leads_nowhere() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    let game = simulator.games()[0].event_id.clone();
    for parts in ["clips", "stats,stats", "stats,ballscreens", "stats,", ",", "Stats"] {
        let refusal = sender.refusal(&format!("/v1/data/stats/games/{game}/{parts}"));
        assert_eq!(refusal, (404, "Not found".into()), "{parts}");
    }
    for parts in ["stats", "shots", "details", "ballscreens", "stats,shots"] {
        let refusal = sender.refusal(&format!("/v1/data/stats/games/x/{parts}"));
        assert_eq!(refusal, (403, "Access denied to resource".into()), "{parts}");
    }
}

#[test]
fn a_part_that_is_closed_closes_the_whole_answer() {
    let simulator = small();
    let game = simulator.games()[0].event_id.clone();
    let no_shots = Privileges { shots: false, ..Privileges::default() };
    let no_stats = Privileges { stats: false, ..Privileges::default() };
    let access_denied = (403, "Access denied to resource".to_owned());
    for (privileges, closed, open) in [
        (no_shots, ["shots", "stats,shots", "shots,details"], ["stats", "details", "ballscreens"]),
        (no_stats, ["stats", "ballscreens", "shots,details"], ["shots", "shots", "shots"]),
    ] {
        let sender = Sender::with(&simulator, "less", privileges);
        for parts in closed {
            assert_eq!(sender.refusal(&format!("/v1/data/stats/games/{game}/{parts}")), access_denied, "{parts}");
        }
        for parts in open {
            sender.json(&format!("/v1/data/stats/games/{game}/{parts}"));
        }
    }
}
