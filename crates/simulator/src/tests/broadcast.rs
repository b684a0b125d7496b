//! The Broadcast API over the wire.

use super::*;
use std::io::BufRead;

fn get(simulator: &Simulator, path: &str) -> SocketResponse {
    let joint = if path.contains('?') { '&' } else { '?' };
    let target = format!("/broadcast/v1/{path}{joint}apikey={}", simulator.api_key());
    raw(simulator, "GET", &target, &[("Host", "x".into())])
}

fn json(simulator: &Simulator, path: &str) -> Value {
    let response = get(simulator, path);
    assert_eq!(response.status, 200, "{path}");
    response.json()
}

fn keys(body: &Value) -> Vec<&str> {
    body.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn a_broadcast_roster_is_the_roster_in_other_words() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    for team in simulator.teams() {
        let body = json(&simulator, &format!("games/teams/{}", team.id));
        assert_eq!(keys(&body), ["id", "name", "abbr", "city", "state", "color_rgb", "players"]);
        assert_eq!((&body["id"], &body["name"]), (&team.id.into(), &team.name.clone().into()));
        assert!(team.name.starts_with(body["city"].as_str().unwrap()));
        let color = body["color_rgb"].as_str().unwrap();
        assert!(color.len() == 6 && u32::from_str_radix(color, 16).is_ok(), "{color}");
        let roster = sender.json(&format!("/v1/data/teams/{}", team.id));
        let others = roster["players"].as_array().unwrap();
        let players = body["players"].as_array().unwrap();
        assert_eq!(players.len(), others.len());
        for (player, other) in players.iter().zip(others) {
            assert_eq!(player["position_abbr"], other["position"]);
            for same in
                ["id", "first_name", "last_name", "jersey_number", "jersey_number_str", "sensor", "special_services"]
            {
                assert_eq!(player[same], other[same], "{same}");
            }
            assert_eq!(player.get("is_active"), None);
        }
    }
}

#[test]
fn with_a_game_a_broadcast_roster_says_who_left_and_who_wore_which_sensor() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    let (mut left, mut replacements) = (0, 0);
    for game in simulator.games().into_iter().filter(|game| game.tipoff_at < NOW) {
        for team in [game.home_team_id, game.away_team_id] {
            let query = format!("{team}?game_event_id={}", game.event_id);
            let body = json(&simulator, &format!("games/teams/{query}"));
            let roster = sender.json(&format!("/v1/data/teams/{query}"));
            let active = |body: &Value| -> Vec<(i64, bool)> {
                let players = body["players"].as_array().unwrap().iter();
                players.map(|player| (player["id"].as_i64().unwrap(), player["is_active"].as_bool().unwrap())).collect()
            };
            assert_eq!(active(&body), active(&roster));
            left += active(&body).iter().filter(|player| !player.1).count();
            let history = body["sensor_assignments_history"].as_array().unwrap();
            for player in body["players"].as_array().unwrap() {
                let assignments: Vec<_> =
                    history.iter().filter(|assignment| assignment["player_id"] == player["id"]).collect();
                assert_eq!(assignments.last().unwrap()["sensor"], player["sensor"], "the last one tracks the game");
                assert!(
                    assignments.iter().all(|assignment| assignment["timestamp"].as_i64().unwrap() < game.tipoff_at)
                );
                replacements += assignments.len() - 1;
            }
        }
    }
    assert!(left > 0 && replacements > 20, "{left} {replacements}");
    let game = simulator.games().into_iter().rfind(|game| game.tipoff_at > NOW + DAY).unwrap();
    let body = json(&simulator, &format!("games/teams/{}?game_event_id={}", game.home_team_id, game.event_id));
    assert_eq!(body["sensor_assignments_history"], serde_json::json!([]), "none was given out yet");
}

#[test]
fn a_broadcast_roster_that_is_not_there_says_why() {
    let simulator = small();
    let game = &simulator.games()[0];
    let in_it = [game.home_team_id, game.away_team_id];
    let other = simulator.teams().into_iter().find(|team| !in_it.contains(&team.id)).unwrap().id;
    let refusal = |path: &str| {
        let response = get(&simulator, &format!("games/teams/{path}"));
        (response.status, response.message())
    };
    let not_found = |message: &str| (404, message.to_owned());
    assert_eq!(refusal("9"), not_found("Invalid id"));
    assert_eq!(refusal("x"), not_found("Invalid id"));
    assert_eq!(refusal(&format!("{}?game_event_id=x", in_it[0])), not_found("Game not found"));
    let query = format!("{other}?game_event_id={}", game.event_id);
    assert_eq!(refusal(&query), not_found("Team not found in the game"));
}

/// The first document of the event stream.
fn first_event(simulator: &Simulator, schedule_id: &str) -> Value {
    let address = simulator.base_url();
    let mut stream = TcpStream::connect(address.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let key = simulator.api_key();
    let target = format!("/broadcast/v1/stats/event-stream?schedule_id={schedule_id}&apikey={key}");
    stream.write_all(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).unwrap();
    let mut lines = std::io::BufReader::new(stream).lines();
    let data = lines.find_map(|line| Some(line.unwrap().strip_prefix("data: ")?.to_owned()));
    serde_json::from_str(&data.unwrap()).unwrap()
}

#[test]
fn broadcast_stats_are_what_the_event_stream_sends() {
    let simulator = small();
    let games = simulator.games();
    let running = games.iter().rfind(|game| game.tipoff_at < NOW).unwrap();
    for game in [&games[0], running] {
        let body = json(&simulator, &format!("stats?schedule_id={}", game.event_id));
        assert_eq!(body, first_event(&simulator, &game.event_id));
        let totals = Sender::new(&simulator).json(&format!("/v1/data/stats/games/{}/stats", game.event_id));
        assert_eq!(body["home_score"], totals["gameTotals"]["homeTeamScore"]["value"]);
        assert_eq!(body["away_score"], totals["gameTotals"]["awayTeamScore"]["value"]);
        assert!(body["home_score"].as_i64().unwrap() > 0);
    }
    for query in ["", "?schedule_id=", "?schedule_id=x"] {
        let response = get(&simulator, &format!("stats{query}"));
        assert_eq!((response.status, response.message()), (404, "Invalid id".into()), "{query}");
    }
}

#[test]
fn jersey_colors_are_there_while_the_game_is_played() {
    let simulator = small();
    let games = simulator.games();
    let refusal = |id: &str| get(&simulator, &format!("games/active/{id}/colors")).message();
    assert_eq!(refusal(&games[0].event_id), "Game is not active");
    assert_eq!(refusal("x"), "Invalid id");
    let game = games.iter().position(|game| game.tipoff_at > NOW).unwrap();
    simulator.play(&games[game].event_id, Some(1.0)).unwrap();
    let body = json(&simulator, &format!("games/active/{}/colors", games[game].event_id));
    assert_eq!(body["home"]["team_id"], games[game].home_team_id);
    assert_eq!(body["away"]["color_rgb"].as_str().unwrap().len(), 6);
}

#[test]
fn locomotion_is_of_one_team_in_one_game() {
    let simulator = small();
    let game = &simulator.games()[0];
    let path = |team: i64| format!("locomotion?schedule_id={}&team_id={team}", game.event_id);
    let body = json(&simulator, &path(game.away_team_id));
    assert_eq!(body["team_id"], game.away_team_id);
    assert!(body["players"].as_array().unwrap().iter().any(|player| player["distance_cm"].as_f64().unwrap() > 0.0));
    for path_of_error in [path(9), format!("locomotion?schedule_id={}", game.event_id), "locomotion?team_id=1".into()] {
        assert_eq!(get(&simulator, &path_of_error).message(), "Invalid id", "{path_of_error}");
    }
}

#[test]
fn mock_data_is_a_game_in_an_endless_loop() {
    let simulator = small();
    let games = json(&simulator, "games/schedule?mock=true");
    assert_eq!(games["games"].as_array().unwrap().len(), 1);
    assert_eq!(games["games"][0]["schedule_id"], "mock-service");
    assert_eq!(json(&simulator, "stats?mock=true")["schedule_id"], "mock-service");
    assert_eq!(first_event(&simulator, "mock-service&mock=true")["schedule_id"], "mock-service");
    assert_eq!(get(&simulator, "stats?schedule_id=mock-service").status, 404, "only with mock=true");
}

#[test]
fn the_key_is_taken_from_the_header_too() {
    let simulator = small();
    let headers = [("Host", "x".to_owned()), ("apikey", simulator.api_key())];
    assert_eq!(raw(&simulator, "GET", "/broadcast/v1/games/teams", &headers).status, 200);
}
