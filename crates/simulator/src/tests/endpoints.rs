//! Each endpoint.

use super::*;
use std::collections::BTreeSet;

/// The last game of a small season that is surely over, and its event.
fn played_game(simulator: &Simulator) -> (crate::model::schedule::ScheduledGame, Value) {
    let game = simulator.games().into_iter().rfind(|game| game.tipoff_at < NOW - DAY).unwrap();
    let event = Sender::new(simulator).json(&format!("/v1/data/games/{}", game.event_id));
    (game, event)
}

fn session(event: &Value) -> String {
    event["results"][0]["id"].as_str().unwrap().to_owned()
}

fn ids<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|item| item[key].as_str().unwrap()).collect()
}

/// A link, on this host: the vendor's is taken off.
fn target(link: &Value) -> &str {
    let link = link.as_str().unwrap().strip_prefix("https://").unwrap();
    &link[link.find('/').unwrap()..]
}

#[test]
fn teams_and_games_are_those_the_simulator_names() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    assert_eq!(sender.json("/v1/data/teams")["teams"], serde_json::to_value(simulator.teams()).unwrap());
    let all = format!("/v1/data/schedule/games?from=1&to={}", i64::MAX);
    assert_eq!(sender.json(&all)["games"], serde_json::to_value(simulator.games()).unwrap());
}

#[test]
fn a_schedule_without_an_end_is_of_one_day() {
    let simulator = small();
    let games = simulator.games();
    let from = games[10].tipoff_at;
    let body = Sender::new(&simulator).json(&format!("/v1/data/schedule/games?from={from}"));
    let expected = games.iter().filter(|game| (from..from + DAY).contains(&game.tipoff_at));
    let expected: Vec<_> = expected.map(|game| game.event_id.as_str()).collect();
    assert!(!expected.is_empty());
    assert_eq!(ids(&body["games"], "event_id"), expected);
}

#[test]
fn a_schedule_begins_with_its_start_and_ends_before_its_end() {
    let simulator = small();
    let games = simulator.games();
    let (from, to) = (games[10].tipoff_at, games[12].tipoff_at);
    let body = Sender::new(&simulator).json(&format!("/v1/data/schedule/games?from={from}&to={to}"));
    let listed_ids = ids(&body["games"], "event_id");
    assert!(listed_ids.contains(&games[10].event_id.as_str()) && !listed_ids.contains(&games[12].event_id.as_str()));
}

#[test]
fn a_schedule_is_filtered() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    let games = simulator.games();
    let ids_of = |query: &str| -> Vec<String> {
        let body = sender.json(&format!("/v1/data/schedule/games?from=1&to={}{query}", NOW * 2));
        ids(&body["games"], "event_id").into_iter().map(str::to_owned).collect()
    };
    let expected = |is: &dyn Fn(&crate::model::schedule::ScheduledGame) -> bool| -> Vec<String> {
        games.iter().filter(|game| is(game)).map(|game| game.event_id.clone()).collect()
    };
    let (team, place) = (games[0].home_team_id, &games[0].location_id);
    assert_eq!(ids_of("&type=BASKETBALL"), expected(&|_| true));
    assert_eq!(ids_of("&type=FOOTBALL"), expected(&|_| false));
    assert_eq!(ids_of(&format!("&team_id={team}")), expected(&|g| [g.home_team_id, g.away_team_id].contains(&team)));
    assert_eq!(ids_of(&format!("&location_id={}", place.replace('@', "%40"))), expected(&|g| g.location_id == *place));
    assert_eq!(ids_of("&seasonType=POST"), expected(&|_| true), "it only counts along with a week");
}

#[test]
fn a_week_holds_its_games_of_one_season_type() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    let ids_of_week = |week: i64, more: &str| -> Vec<String> {
        let path = format!("/v1/data/schedule/games?from=1&to={}&weekNumber={week}{more}", NOW * 2);
        ids(&sender.json(&path)["games"], "event_id").into_iter().map(str::to_owned).collect()
    };
    let games = simulator.games();
    // The days since the Monday before the first game; the epoch's first day was a Thursday.
    let day = |at: i64| at.div_euclid(DAY);
    let monday = day(games[0].tipoff_at) - (day(games[0].tipoff_at) + 3).rem_euclid(7);
    let mut seen = Vec::new();
    let mut types = BTreeSet::new();
    for week in 1..=30 {
        let in_week = |game: &&crate::model::schedule::ScheduledGame| {
            (monday + 7 * (week - 1)..monday + 7 * week).contains(&day(game.tipoff_at))
        };
        let expected: BTreeSet<_> = games.iter().filter(in_week).map(|game| game.event_id.clone()).collect();
        let mut games_found = Vec::new();
        for kind in ["EXH", "PRE", "REG", "POST"] {
            let of_type = ids_of_week(week, &format!("&seasonType={kind}"));
            types.extend((!of_type.is_empty()).then_some(kind));
            games_found.extend(of_type);
        }
        assert_eq!(games_found.iter().cloned().collect::<BTreeSet<_>>(), expected);
        assert_eq!(games_found.len(), expected.len(), "a game has one type");
        assert_eq!(ids_of_week(week, ""), ids_of_week(week, "&seasonType=REG"), "REG is the default");
        assert!(ids_of_week(week, "&seasonType=XYZ").is_empty());
        seen.extend(games_found);
    }
    assert_eq!(seen.len(), games.len());
    assert_eq!(types.len(), 4, "{types:?}");
}

#[test]
fn a_matchup_finds_the_games_of_all_teams_named() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    let games = simulator.games();
    let ids_of = |query: String| -> Vec<String> {
        let body = sender.json(&format!("/v1/data/schedule/games/matchup?{query}"));
        ids(&body["games"], "event_id").into_iter().map(str::to_owned).collect()
    };
    let own_reference = |more: &str| format!("from=1&reference=SHOTTRACKER&gender=MEN{more}");
    let (home, away) = (games[0].home_team_id, games[0].away_team_id);
    let expected = |teams: &[i64], from: i64, to: i64| -> Vec<String> {
        let is_in = |game: &&crate::model::schedule::ScheduledGame| {
            teams.iter().all(|team| [game.home_team_id, game.away_team_id].contains(team))
                && (from..to).contains(&game.tipoff_at)
        };
        games.iter().filter(is_in).map(|game| game.event_id.clone()).collect()
    };
    let (of_one, of_both) = (expected(&[home], 1, i64::MAX), expected(&[home, away], 1, i64::MAX));
    assert!(of_both.len() > 1 && of_both.len() < of_one.len() && of_one.len() < games.len());
    assert_eq!(ids_of(own_reference(&format!("&team_id={home}"))), of_one);
    assert_eq!(ids_of(own_reference(&format!("&team_id={home}&team_id={away}"))), of_both);
    assert_eq!(ids_of(own_reference(&format!("&team_id={away}&team_id={home}"))), of_both);
    let (from, to) = (games[10].tipoff_at, games[30].tipoff_at);
    assert_eq!(
        ids_of(format!("from={from}&to={to}&team_id={home}&reference=SHOTTRACKER&gender=MEN")),
        expected(&[home], from, to)
    );
    let reference = |id: i64| simulator.teams().into_iter().find(|team| team.id == id).unwrap().reference_id;
    let by_reference = |gender: &str| {
        ids_of(format!("from=1&reference=SIM&gender={gender}&team_id={}&team_id={}", reference(home), reference(away)))
    };
    assert_eq!(by_reference("MEN"), of_both);
    assert!(by_reference("WOMEN").is_empty());
    for query in [
        own_reference("&team_id=9"),
        own_reference("&team_id=x"),
        own_reference(&format!("&team_id={}", reference(home))),
        own_reference(&format!("&team_id={home}&team_id=9")),
        format!("from=1&reference=SIM&gender=MEN&team_id={home}"),
        format!("from=1&reference=OTHER&gender=MEN&team_id={home}"),
    ] {
        assert!(ids_of(query.clone()).is_empty(), "{query}");
    }
}

#[test]
fn a_matchups_games_have_neither_type_nor_source_and_another_location() {
    let simulator = small();
    let game = &simulator.games()[0];
    let path = format!("from=1&reference=SHOTTRACKER&gender=MEN&team_id={}", game.home_team_id);
    let body = Sender::new(&simulator).json(&format!("/v1/data/schedule/games/matchup?{path}"));
    let mut expected = serde_json::to_value(game).unwrap();
    let fields = expected.as_object_mut().unwrap();
    fields.remove("type").unwrap();
    fields.remove("source").unwrap();
    let (court, facility) = game.location_id.split_once('@').unwrap();
    fields["location_id"] = format!("/{court}/{facility}").into();
    assert_eq!(body["games"][0], expected);
}

#[test]
fn a_matchup_that_lacks_something_is_a_general_error() {
    let simulator = small();
    for query in [
        "",
        "?team_id=1&reference=SIM&gender=MEN",
        "?from=1&team_id=&reference=SIM&gender=MEN",
        "?from=1&team_id=1&team_id=2&team_id=3&reference=SIM&gender=MEN",
        "?from=1&team_id=1&gender=MEN",
        "?from=1&team_id=1&reference=SIM",
    ] {
        let refusal = Sender::new(&simulator).refusal(&format!("/v1/data/schedule/games/matchup{query}"));
        assert_eq!(refusal, (500, "General system error".into()), "no other error is documented: {query}");
    }
}

#[test]
fn workouts_are_sent_only_to_who_requests_them() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    let mut seen = 0;
    for team in simulator.teams() {
        let path = format!("/v1/data/teams/{}/events?from={}&to={NOW}", team.id, NOW - 200 * DAY);
        let all = sender.json(&path);
        let workouts = sender.json(&format!("{path}&workoutsonly=true"));
        let workouts = workouts["events"].as_array().unwrap();
        assert!((3..=5).contains(&workouts.len()), "{} workouts", workouts.len());
        let others: BTreeSet<_> = ids(&all["events"], "id").into_iter().collect();
        for workout in workouts {
            assert_eq!((&workout["is_practice_event"], &workout["is_game_event"]), (&true.into(), &false.into()));
            assert!(workout["name"].as_str().unwrap().ends_with(" workout"));
            assert!(!others.contains(workout["id"].as_str().unwrap()));
            assert!(workout["results"].as_array().unwrap().iter().all(|drill| drill["type"] == "DRILL"));
            assert_eq!(sender.json(target(&workout["_self"])), *workout);
            sender.json(target(&workout["results"][0]["_stats"]));
            seen += 1;
        }
        assert!(!all["events"].as_array().unwrap().iter().any(|e| e["name"].as_str().unwrap().ends_with("workout")));
        assert_eq!(sender.json(&format!("{path}&workoutsonly=false")), all);
        let neither = sender.json(&format!("{path}&workoutsonly=true&gamesonly=true"));
        assert_eq!(neither["events"], serde_json::json!([]), "no workout is a game");
        let early = sender.json(&format!("/v1/data/teams/{}/events?from=1&to=2&workoutsonly=true", team.id));
        assert_eq!(early["events"], serde_json::json!([]));
    }
    assert!(seen > 18);
}

#[test]
fn a_schedule_needs_its_start() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    for query in ["", "?from=", "?from=x", "?to=5"] {
        let response = sender.refusal(&format!("/v1/data/schedule/games{query}"));
        assert_eq!(response, (500, "General system error".into()), "its only error");
    }
    for query in ["?from=0", "?from=-5&to=0", "?from=9&to=5", "?from=5&to=5"] {
        let body = sender.json(&format!("/v1/data/schedule/games{query}"));
        assert_eq!(body["games"], serde_json::json!([]), "a range is never refused: {query}");
    }
}

#[test]
fn a_roster_is_requested_in_three_ways() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    let team = simulator.teams()[2].clone();
    let plain = sender.json(&format!("/v1/data/teams/{}", team.id));
    assert_eq!((&plain["id"], &plain["name"]), (&team.id.into(), &team.name.into()));
    assert!(plain["players"].as_array().unwrap().len() >= 5);
    assert_eq!(sender.json(&format!("/v1/data/teams/{},SHOTTRACKER", team.id)), plain);
    assert_eq!(sender.json(&format!("/v1/data/teams/{}%2CSHOTTRACKER", team.id)), plain);
    assert_eq!(sender.json(&format!("/v1/data/teams/{}?reference=SHOTTRACKER", team.id)), plain);
}

#[test]
fn a_roster_that_is_not_there_says_why() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    let game = &simulator.games()[0];
    let (in_it, id) = (game.home_team_id, &game.event_id);
    let other = simulator.teams().into_iter().find(|t| ![in_it, game.away_team_id].contains(&t.id)).unwrap().id;
    let team = |path: &str| sender.refusal(&format!("/v1/data/teams/{path}"));
    let not_found = |message: &str| (404, message.to_owned());
    sender.json(&format!("/v1/data/teams/{in_it}?game_event_id={id}"));
    assert_eq!(team(&format!("{in_it}?game_event_id=x")), not_found("Game not found"));
    assert_eq!(team(&format!("{other}?game_event_id={id}")), not_found("Team not found in the game"));
    assert_eq!(team("9?game_event_id=x"), not_found("Game not found | Team not found in the game"));
    assert_eq!(team("9"), not_found("Invalid id"));
    assert_eq!(team("x"), not_found("Invalid id"));
    assert_eq!(team(&format!("{in_it},OTHER")), not_found("Invalid id"));
    assert_eq!(team(&format!("{in_it}?reference=OTHER")), not_found("Invalid id"));
}

#[test]
fn team_events_are_wrapped_and_lie_in_the_range() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    let (game, event) = played_game(&simulator);
    let team = game.home_team_id;
    let (from, to) = (game.tipoff_at - 20 * DAY, game.tipoff_at + DAY);
    let events = format!("/v1/data/teams/{team}/events?from={from}&to={to}");
    let body = sender.json(&events);
    let list = body["events"].as_array().unwrap();
    assert!(list.contains(&event));
    for event in list {
        assert!(event["started_at"].as_i64().unwrap() < to && event["ended_at"].as_i64().unwrap() > from);
    }
    let games = sender.json(&format!("{events}&gamesonly=true"));
    let only: Vec<&Value> = list.iter().filter(|event| event["is_game_event"] == true).collect();
    assert!(!only.is_empty() && only.len() < list.len());
    assert_eq!(games["events"].as_array().unwrap().iter().collect::<Vec<_>>(), only);
    assert_eq!(sender.json(&format!("{events}&gamesonly=false")), body);
}

#[test]
fn a_practice_is_its_own_teams_and_no_game() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    let [team, other] = [simulator.teams()[0].id, simulator.teams()[1].id];
    let body = sender.json(&format!("/v1/data/teams/{team}/events?from={}&to={NOW}", NOW - 100 * DAY));
    let practice = body["events"].as_array().unwrap().iter().find(|event| event["is_practice_event"] == true).unwrap();
    let id = practice["id"].as_str().unwrap();
    assert_eq!(sender.json(target(&practice["_self"])), *practice);
    let invalid = (404, "Invalid id".to_owned());
    assert_eq!(sender.refusal(&format!("/v1/data/teams/{other}/practices/{id}")), invalid);
    assert_eq!(sender.refusal(&format!("/v1/data/games/{id}")), invalid);
    let session = session(practice);
    sender.json(&format!("/v1/data/stats/{session}/stats"));
}

#[test]
fn a_422_lists_the_violated_rules() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    let team = simulator.teams()[0].id;
    for path in ["events", "players/game/stats"] {
        let refusal = |query: &str| sender.refusal(&format!("/v1/data/teams/{team}/{path}{query}"));
        assert_eq!(refusal(""), (422, "from and to must both be greater than 0 | from must be less than to".into()));
        assert_eq!(refusal("?from=2&to=1"), (422, "from must be less than to".into()));
        assert_eq!(refusal(&format!("?from=1&to={NOW}")), (422, "the range may not exceed 8 months".into()));
    }
}

#[test]
fn a_game_makes_the_range_of_team_game_stats_idle() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    let (game, _) = played_game(&simulator);
    let stats = format!("/v1/data/teams/{}/players/game/stats", game.home_team_id);
    let plain = sender.json(&format!("{stats}?event_id={}", game.event_id));
    assert_eq!(plain["id"], game.home_team_id);
    assert_eq!(sender.json(&format!("{stats}?from=1&to=2&event_id={}", game.event_id)), plain);
    assert_eq!(sender.json(&format!("{stats}?from=9&to=2&event_id={}", game.event_id)), plain);
    sender.json(&format!("{stats}?from={}&to={}", NOW - DAY, NOW));
    assert_eq!(sender.refusal(&format!("{stats}?from=1&to=2&event_id=x")), (500, "General system error".into()));
}

#[test]
fn an_id_that_is_unknown_is_invalid() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    let (game, event) = played_game(&simulator);
    let (game, session) = (game.event_id, session(&event));
    let team = simulator.teams()[0].id;
    for path in [
        "games/x".into(),
        format!("games/{session}"),
        "stats/x/stats".into(),
        format!("stats/{game}/stats"),
        "stats/x/stats/details".into(),
        "stats/x/possessions".into(),
        "stats/x/shots".into(),
        "sensors/locations?id=x&from=1&to=2".into(),
        "sensors/locations?from=1&to=2".into(),
        format!("teams/{team}/practices/x"),
        format!("teams/{team}/practices/{game}"),
    ] {
        assert_eq!(sender.refusal(&format!("/v1/data/{path}")), (404, "Invalid id".into()), "{path}");
    }
    // Of these operations no 404 is documented.
    for path in ["games/x/events", "stats/games/x/stats/details", "stats/games/x/shots"] {
        let access_denied = (403, "Access denied to resource".into());
        assert_eq!(sender.refusal(&format!("/v1/data/{path}")), access_denied, "{path}");
    }
    for path in ["teams/9/events?from=1&to=2", "teams/x/players/game/stats?from=1&to=2"] {
        assert_eq!(sender.refusal(&format!("/v1/data/{path}")), (500, "General system error".into()), "{path}");
    }
}

#[test]
fn an_unknown_path_is_404_for_every_credential() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    for path in ["/v1/data", "/v1/data/", "/v1/data/nothing", "/v1/other", "/", "/v2/data/teams"] {
        assert_eq!(sender.refusal(path), (404, "Not found".into()), "{path}");
    }
    let key = simulator.api_key();
    let response = raw(&simulator, "GET", &format!("/broadcast/v1/nothing?apikey={key}"), &[("Host", "x".into())]);
    assert_eq!((response.status, response.message()), (404, "Not found".into()));
}

#[test]
fn only_get_is_served() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    let status = |method, path| sender.request(method, path, SystemTime::now()).status;
    assert_eq!(status("PUT", "/v1/data/schedule/games"), 403);
    for method in ["POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"] {
        assert_eq!(status(method, "/v1/data/teams"), 405, "{method}");
    }
    assert_eq!(raw(&simulator, "POST", "/v1/data/teams", &[("Host", "x".into())]).status, 401);
}

#[test]
fn locations_come_for_at_most_30_minutes() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    let (_, event) = played_game(&simulator);
    let (id, start) = (session(&event), event["results"][0]["started_at"].as_i64().unwrap());
    let path = format!("/v1/data/sensors/locations?id={id}");
    assert!(sender.json(&format!("{path}&from={start}&to={}", start + 1_800_000)).is_array());
    assert_eq!(
        sender.refusal(&format!("{path}&from={start}&to={}", start + 1_800_001)),
        (400, "Locations must be requested in 30 min timeframes".into())
    );
    for query in ["", "&from=1", "&from=x&to=2", "&from=3&to=2"] {
        let refusal = sender.refusal(&format!("{path}{query}"));
        assert_eq!(refusal, (400, "Valid from and to timestamps are required".into()));
    }
}

#[test]
fn game_events_tell_of_the_sessions() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    let (game, event) = played_game(&simulator);
    let path = format!("/v1/data/games/{}/events", game.event_id);
    let body = sender.json(&path);
    assert_eq!(body["events"][0]["game_id"], game.event_id);
    assert_eq!(ids(&body["events"][0]["sessions"], "id"), ids(&event["results"], "id"));
    assert_eq!(sender.json(&format!("{path}?team_id={}", game.home_team_id)), body);
}

#[test]
fn broadcast_games_carry_the_schedule_id() {
    let simulator = small();
    let get = |query: &str| {
        let target = format!("/broadcast/v1/games/schedule?apikey={}{query}", simulator.api_key());
        let response = raw(&simulator, "GET", &target, &[("Host", "x".into())]);
        assert_eq!(response.status, 200);
        response.json()
    };
    let games = simulator.games();
    let between = |from: i64, to: i64| -> Vec<&str> {
        let games = games.iter().filter(|game| (from..to).contains(&game.tipoff_at));
        games.map(|game| game.event_id.as_str()).collect()
    };
    let all = get(&format!("&from=1&to={}", i64::MAX));
    assert_eq!(ids(&all["games"], "schedule_id"), between(1, i64::MAX));
    assert_eq!(ids(&all["games"], "event_id"), between(1, i64::MAX));
    assert_eq!(ids(&get("")["games"], "schedule_id"), between(NOW, NOW + DAY));
    let from = games[3].tipoff_at;
    assert_eq!(ids(&get(&format!("&from={from}"))["games"], "schedule_id"), between(from, from + DAY));
    assert_eq!(ids(&get(&format!("&to={}", NOW + 9 * DAY))["games"], "schedule_id"), between(NOW, NOW + 9 * DAY));
}

#[test]
fn broadcast_teams_are_the_teams() {
    let simulator = small();
    let target = format!("/broadcast/v1/games/teams?apikey={}", simulator.api_key());
    let response = raw(&simulator, "GET", &target, &[("Host", "x".into())]);
    assert_eq!(response.json()["teams"], serde_json::to_value(simulator.teams()).unwrap());
}

/// All links of `/v1/data/..` in a body, wherever they stand.
fn links(body: &Value, links_found: &mut BTreeSet<String>) {
    match body {
        Value::Array(items) => items.iter().for_each(|item| links(item, links_found)),
        Value::Object(members) => members.iter().for_each(|(name, value)| match value {
            Value::String(_) if name.starts_with('_') => drop(links_found.insert(target(value).to_owned())),
            Value::Array(items) if name.starts_with('_') => {
                links_found.extend(items.iter().map(|link| target(link).to_owned()));
            }
            other => links(other, links_found),
        }),
        _ => {}
    }
}

/// Follows every link from the schedule (games over, going on and to come) and the teams' events on; gives how many there
/// are.
fn follow_all(simulator: &Simulator) -> usize {
    let sender = Sender::new(simulator);
    let kind = simulator.teams()[0].sport.clone();
    let games = simulator.games();
    assert!(games[0].tipoff_at < NOW && games[games.len() - 1].tipoff_at > NOW);
    let mut open = BTreeSet::new();
    links(&sender.json(&format!("/v1/data/schedule/games?from=1&to={}&type={kind}", i64::MAX)), &mut open);
    for team in simulator.teams() {
        let events = format!("/v1/data/teams/{}/events?from={}&to={NOW}", team.id, NOW - 10 * DAY);
        links(&sender.json(&events), &mut open);
    }
    let mut done = BTreeSet::new();
    while let Some(link) = open.pop_first() {
        let mut links_found = BTreeSet::new();
        let response = sender.get_ok(&link);
        // Most bodies are positions without a link: making values of them takes as long as simulating them.
        match response.body.windows(2).any(|bytes| bytes == b"\"_") {
            true => links(&response.json(), &mut links_found),
            false => drop(serde_json::from_slice::<serde::de::IgnoredAny>(&response.body).unwrap()),
        }
        done.insert(link);
        open.extend(links_found.difference(&done).cloned());
    }
    done.len()
}

#[test]
fn every_link_leads_somewhere() {
    let simulator =
        start(SimulatorOptions { seed: 3, teams: 4, games: 8, now: Some(NOW), ..SimulatorOptions::default() });
    assert!(follow_all(&simulator) > 200);
}

#[test]
fn every_link_of_a_football_season_leads_somewhere() {
    let sport = crate::sport::Sport::Football;
    let simulator =
        start(SimulatorOptions { seed: 3, sport, teams: 4, games: 8, now: Some(NOW), ..SimulatorOptions::default() });
    assert!(follow_all(&simulator) > 40);
}

#[test]
fn the_same_seed_and_clock_give_the_same_bodies() {
    let (first, second) = (small(), small());
    let (game, event) = played_game(&first);
    let (team, id) = (game.home_team_id, session(&event));
    let start = event["results"][0]["started_at"].as_i64().unwrap();
    for path in [
        "/v1/data/teams".into(),
        format!("/v1/data/teams/{team}"),
        format!("/v1/data/teams/{team}/events?from={}&to={NOW}", NOW - 30 * DAY),
        format!("/v1/data/games/{}", game.event_id),
        format!("/v1/data/stats/{id}/stats"),
        format!("/v1/data/stats/{id}/stats/details"),
        format!("/v1/data/stats/{id}/possessions"),
        format!("/v1/data/stats/{id}/shots"),
        format!("/v1/data/sensors/locations?id={id}&from={start}&to={}", start + 5000),
    ] {
        let bodies = [&first, &first, &second].map(|simulator| Sender::new(simulator).get(&path).body);
        assert_eq!(bodies[0], bodies[1], "{path}: made anew or kept");
        assert_eq!(bodies[0], bodies[2], "{path}");
    }
}
