#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;
use crate::config::ClientOptions;
use crate::error::ApiErrorKind;

const HOUR: i64 = 3_600_000;
const NOON: i64 = 1_793_534_400_000; // 2026-11-01T12:00:00Z

fn config() -> Config {
    ClientOptions { base_url: Some("https://service.example".into()), ..ClientOptions::default() }
        .resolve(&|_| None)
        .unwrap()
}

fn text(value: &str) -> Value {
    Value::Text(value.into())
}

fn plan_call(name: &str, arguments: &[(&str, Value)]) -> Result<Call> {
    let arguments = arguments.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    call(name, &arguments, &config())
}

fn only(name: &str, arguments: &[(&str, Value)]) -> Request {
    let call = plan_call(name, arguments).unwrap();
    assert_eq!(call.requests.len(), 1, "{call:?}");
    call.requests.into_iter().next().unwrap()
}

fn target(request: &Request) -> String {
    match request.query.as_str() {
        "" => request.path.clone(),
        query => format!("{}?{query}", request.path),
    }
}

fn refusal(name: &str, arguments: &[(&str, Value)]) -> String {
    match plan_call(name, arguments) {
        Err(Error::Argument(text)) => text,
        other => panic!("{name} was not refused as an argument: {other:?}"),
    }
}

#[test]
fn each_operation_has_the_path_and_query_of_the_specification() {
    let (start, end) = (("start", Value::Int(NOON)), ("end", Value::Int(NOON + HOUR)));
    let (from, to) = (NOON, NOON + HOUR);
    let session = ("session_id", text("s-1"));
    let team = ("team_id", Value::Int(46));
    let game = ("game_id", text("g-1"));
    type Case = (&'static str, Vec<(&'static str, Value)>, String);
    let cases: Vec<Case> = vec![
        ("teams", vec![], "/v1/data/teams".into()),
        ("roster", vec![team.clone()], "/v1/data/teams/46".into()),
        (
            "roster",
            vec![team.clone(), game.clone(), ("reference", text("NCAA x"))],
            "/v1/data/teams/46?game_event_id=g-1&reference=NCAA%20x".into(),
        ),
        ("schedule", vec![start.clone()], format!("/v1/data/schedule/games?type=BASKETBALL&from={from}")),
        (
            "schedule",
            vec![
                ("week", Value::Int(3)),
                ("season_type", text("reg")),
                ("location_id", text("c@f")),
                team.clone(),
                ("sport", text("football")),
                end.clone(),
                start.clone(),
            ],
            format!(
                "/v1/data/schedule/games?type=FOOTBALL&from={from}&to={to}&team_id=46&location_id=c@f&seasonType=REG&weekNumber=3"
            ),
        ),
        (
            "team_events",
            vec![team.clone(), start.clone(), end.clone()],
            format!("/v1/data/teams/46/events?from={from}&to={to}"),
        ),
        (
            "team_events",
            vec![
                team.clone(),
                start.clone(),
                end.clone(),
                ("games_only", Value::Bool(true)),
                ("workouts_only", Value::Bool(true)),
            ],
            format!("/v1/data/teams/46/events?from={from}&to={to}&gamesonly=true&workoutsonly=true"),
        ),
        (
            "team_events",
            vec![team.clone(), start.clone(), end.clone(), ("games_only", Value::Bool(false))],
            format!("/v1/data/teams/46/events?from={from}&to={to}"),
        ),
        (
            "team_game_stats",
            vec![team.clone(), start.clone(), end.clone()],
            format!("/v1/data/teams/46/players/game/stats?from={from}&to={to}"),
        ),
        (
            "team_game_stats",
            vec![team.clone(), game.clone()],
            "/v1/data/teams/46/players/game/stats?from=1&to=2&event_id=g-1".into(),
        ),
        ("game_events", vec![game.clone(), team.clone()], "/v1/data/games/g-1/events?team_id=46".into()),
        ("game", vec![game.clone()], "/v1/data/games/g-1".into()),
        ("stats", vec![session.clone()], "/v1/data/stats/s-1/stats".into()),
        ("stats_details", vec![session.clone()], "/v1/data/stats/s-1/stats/details".into()),
        ("possessions", vec![session.clone()], "/v1/data/stats/s-1/possessions".into()),
        ("shots", vec![session.clone()], "/v1/data/stats/s-1/shots".into()),
        (
            "locations",
            vec![session.clone(), start.clone(), ("end", Value::Int(NOON + 60_000))],
            format!("/v1/data/sensors/locations?id=s-1&from={from}&to={}", NOON + 60_000),
        ),
        ("game_stats_details", vec![game.clone()], "/v1/data/stats/games/g-1/stats/details".into()),
        ("game_shots", vec![game.clone()], "/v1/data/stats/games/g-1/shots".into()),
        ("play_by_play", vec![game.clone()], "/v1/data/stats/games/g-1/details".into()),
        ("ball_screens", vec![game.clone()], "/v1/data/stats/games/g-1/ballscreens".into()),
        ("videos", vec![game.clone()], "/v1/data/stats/games/g-1/videos".into()),
        (
            "catch_up",
            [vec![game.clone()], ["stats", "details", "shots", "possessions"].map(|p| ("resources", text(p))).to_vec()]
                .concat(),
            "/v1/data/stats/games/g-1/stats,details,shots,possessions".into(),
        ),
        (
            "matchup",
            vec![
                ("gender", text("women")),
                ("reference", text("NCAA")),
                ("team_ids", text("a/b c&d")),
                ("team_ids", Value::Int(47)),
                start.clone(),
                end.clone(),
            ],
            format!(
                "/v1/data/schedule/games/matchup?from={from}&to={to}&team_id=a%2Fb%20c%26d&team_id=47&reference=NCAA&gender=WOMEN"
            ),
        ),
        (
            "matchup",
            vec![("team_ids", Value::Int(46)), start.clone(), ("reference", text("X")), ("gender", text("Men"))],
            format!("/v1/data/schedule/games/matchup?from={from}&team_id=46&reference=X&gender=MEN"),
        ),
        ("broadcast_roster", vec![team.clone()], "/broadcast/v1/games/teams/46".into()),
        ("broadcast_roster", vec![team.clone(), game.clone()], "/broadcast/v1/games/teams/46?game_event_id=g-1".into()),
        ("broadcast_stats", vec![("schedule_id", text("g-1"))], "/broadcast/v1/stats?schedule_id=g-1".into()),
        (
            "broadcast_schedule",
            vec![start.clone(), end.clone()],
            format!("/broadcast/v1/games/schedule?from={from}&to={to}"),
        ),
        ("broadcast_teams", vec![], "/broadcast/v1/games/teams".into()),
        ("broadcast_schedule", vec![("mock", Value::Bool(true))], "/broadcast/v1/games/schedule?mock=true".into()),
        (
            "broadcast_stats",
            vec![("schedule_id", text("mock-service")), ("mock", Value::Bool(true))],
            "/broadcast/v1/stats?schedule_id=mock-service&mock=true".into(),
        ),
        ("broadcast_colors", vec![("schedule_id", text("g-1"))], "/broadcast/v1/games/active/g-1/colors".into()),
        (
            "broadcast_locomotion",
            vec![("schedule_id", text("g-1")), team.clone()],
            "/broadcast/v1/locomotion?schedule_id=g-1&team_id=46".into(),
        ),
        ("subscription_token", vec![game.clone()], "/v1/data/schedule/games/g-1/_subscribe".into()),
    ];
    for (name, arguments, expected) in &cases {
        let request = only(name, arguments);
        assert_eq!(&target(&request), expected, "{name}");
        assert_eq!(request.operation, *name);
        assert_eq!(request.auth == Auth::ApiKey, name.starts_with("broadcast"), "{name}");
        // A resource has the name of its operation.
        assert_eq!(request.resource.map(|r| r.name), crate::resource::by_name(name).map(|r| r.name), "{name}");
    }
    for name in names().filter(|name| !["follow", "get", "practice"].contains(name)) {
        assert!(cases.iter().any(|(case, ..)| *case == name), "{name} is not covered here");
    }
}

#[test]
fn the_tables_know_team_game_and_session_of_the_request() {
    let context_of = |name: &str, arguments: &[(&str, Value)]| only(name, arguments).context;
    let context = context_of("team_game_stats", &[("team_id", Value::Int(46)), ("game_id", text("g"))]);
    assert_eq!((context.get("team_id"), context.get("game_id")), (Some("46"), Some("g")));
    assert_eq!(context_of("possessions", &[("session_id", text("s"))]).get("session_id"), Some("s"));
    let window = [("session_id", text("s")), ("start", Value::Int(NOON)), ("end", Value::Int(NOON + 1))];
    assert_eq!(context_of("locations", &window).get("session_id"), Some("s"));
    for name in ["game", "game_shots", "play_by_play", "ball_screens", "videos"] {
        assert_eq!(context_of(name, &[("game_id", text("g"))]).get("game_id"), Some("g"), "{name}");
    }
    let parts = only("catch_up", &[("game_id", text("g")), ("resources", text("shots")), ("resources", text("stats"))]);
    assert_eq!((parts.context.get("game_id"), parts.path.as_str()), (Some("g"), "/v1/data/stats/games/g/shots,stats"));
    let tables: Vec<&str> = parts.resource.unwrap().tables.iter().map(|table| table.name).collect();
    assert_eq!(tables, ["shots", "player_stats", "box_score"]);
    // As pickled: by name and context.
    assert!(std::ptr::eq(find("catch_up", parts.sport, &parts.context).unwrap().1.unwrap(), parts.resource.unwrap()));
    assert_eq!(find("catch_up", Sport::Basketball, &Context::default()).unwrap().1.unwrap().tables.len(), 7);
}

#[test]
fn the_default_reference_is_not_sent() {
    let roster = only("roster", &[("team_id", Value::Int(46)), ("reference", text("SHOTTRACKER"))]);
    assert_eq!(target(&roster), "/v1/data/teams/46");
}

#[test]
fn a_range_that_the_service_would_refuse_with_422_is_refused_in_its_words() {
    let range =
        |start: i64, end: i64| [("team_id", Value::Int(46)), ("start", Value::Int(start)), ("end", Value::Int(end))];
    let year = 366 * 24 * HOUR;
    for (name, arguments, rules) in [
        ("team_events", range(NOON, NOON), vec![ranges::IN_ORDER]),
        ("team_events", range(0, -5), vec![ranges::POSITIVE, ranges::IN_ORDER]),
        ("team_game_stats", range(NOON, NOON + year), vec![ranges::AT_MOST_8_MONTHS]),
        ("team_game_stats", range(NOON, NOON - 1), vec![ranges::IN_ORDER]),
    ] {
        let Err(Error::Api(error)) = plan_call(name, &arguments) else { panic!("{name} was not refused") };
        assert_eq!((error.kind, error.status, error.attempts), (ApiErrorKind::InvalidRequest, 422, 0));
        assert_eq!(error.rules, rules);
        assert_eq!((error.message.to_string(), error.request_id.clone()), (rules.join(" | "), None));
        let text = Error::Api(error).to_string();
        assert!(text.contains("would return 422"), "{text}");
    }
}

#[test]
fn a_range_that_holds_nothing_is_refused_by_every_operation() {
    let teams = [("team_ids", Value::Int(46)), ("reference", text("X")), ("gender", text("MEN"))];
    let more: [(&str, &[(&'static str, Value)]); 4] = [
        ("schedule", &[]),
        ("broadcast_schedule", &[]),
        ("matchup", &teams),
        ("locations", &[("session_id", text("s"))]),
    ];
    for (name, more) in more {
        let with = |start, end| [&[("start", Value::Int(start)), ("end", Value::Int(end))], more].concat();
        assert!(refusal(name, &with(NOON + 1, NOON)).contains("swap them"), "{name}");
        assert!(refusal(name, &with(NOON, NOON)).contains("the range is empty"), "{name}");
        assert!(refusal(name, &with(1, 2)).contains("from 1990 to 2100"), "{name}");
    }
}

#[test]
fn team_events_over_eight_months_are_split_into_pieces_that_touch() {
    let arguments = [("team_id", text("46")), ("start", text("2025-01-31")), ("end", text("2026-11-01T12:00:00Z"))];
    let call = plan_call("team_events", &arguments).unwrap();
    assert_eq!(call.join, Merge::Events);
    let ends: Vec<&str> = call.requests.iter().map(|request| request.query.as_str()).collect();
    // 2025-01-31, 2025-09-30, 2026-05-30, 2026-11-01T12:00, from date -u +%s
    assert_eq!(
        ends,
        [
            "from=1738281600000&to=1759190400000",
            "from=1759190400000&to=1780099200000",
            "from=1780099200000&to=1793534400000"
        ]
    );
}

#[test]
fn locations_are_split_into_windows_of_thirty_minutes_that_touch() {
    let arguments = [("session_id", text("s")), ("start", Value::Int(NOON)), ("end", Value::Int(NOON + HOUR + 1))];
    let call = plan_call("locations", &arguments).unwrap();
    assert_eq!((call.join, call.requests.len()), (Merge::Locations, 3));
    let half = NOON + HOUR / 2;
    assert_eq!(call.requests[1].query, format!("id=s&from={half}&to={}", NOON + HOUR));
}

#[test]
fn an_argument_that_is_missing_or_unknown_is_named() {
    assert!(refusal("stats", &[]).contains("session_id"));
    assert!(refusal("stats", &[("session_id", text("s")), ("sesion", text("s"))]).contains("sesion"));
    assert!(refusal("sats", &[]).contains("sats"));
    assert!(refusal("practice", &[]).contains("practice"));
    assert!(refusal("team_game_stats", &[("team_id", Value::Int(1))]).contains("game_id="));
    assert!(refusal("schedule", &[("start", Value::Int(NOON)), ("sport", text("soccer"))]).contains("basketball"));
    assert!(refusal("roster", &[("team_id", text("a/b"))]).contains("team_id"));
    refusal("schedule", &[("start", Value::Int(NOON)), ("location_id", text("a\nb"))]);
}

#[test]
fn a_season_type_is_one_of_four_and_a_week_a_number_from_one() {
    let schedule =
        |name: &'static str, value: Value| refusal("schedule", &[("start", Value::Int(NOON)), (name, value)]);
    for season_type in ["", "REGULAR", "PO ST", "R\u{c9}G"] {
        assert!(schedule("season_type", text(season_type)).contains("EXH, PRE, REG, POST"), "{season_type}");
    }
    for week in [Value::Int(0), Value::Int(-3), Value::Float(3.0), text("3"), Value::Bool(true)] {
        assert!(schedule("week", week.clone()).contains("such as week=3"), "{week}");
    }
}

#[test]
fn a_matchup_has_one_team_or_two_and_a_gender() {
    let refuse = |teams: &[&str], gender: &str| {
        let mut arguments: Vec<(&str, Value)> = teams.iter().map(|team| ("team_ids", text(team))).collect();
        arguments.extend([("start", Value::Int(NOON)), ("reference", text("X")), ("gender", text(gender))]);
        refusal("matchup", &arguments)
    };
    for teams in [&[][..], &["1", "2", "3"], &[""], &["1", ""]] {
        assert!(refuse(teams, "MEN").contains("one or two"), "{teams:?}");
    }
    assert!(refuse(&["1\n"], "MEN").contains("control character"));
    for gender in ["", "M", "MENS", "mixed"] {
        assert!(refuse(&["1"], gender).contains("MEN, WOMEN"), "{gender}");
    }
    let team = ("team_ids", Value::Int(1));
    assert!(refusal("matchup", &[team.clone(), ("start", Value::Int(1)), ("reference", text("X"))]).contains("gender"));
    assert!(refusal("matchup", &[team, ("start", Value::Int(1)), ("gender", text("MEN"))]).contains("reference"));
}

#[test]
fn a_catch_up_has_four_resources_and_names_them_for_an_unknown_one() {
    for names in [&["stat"][..], &["stats", "videos"], &["shots", "shots"], &["stats,"], &[""], &[]] {
        let mut arguments: Vec<(&str, Value)> = names.iter().map(|name| ("resources", text(name))).collect();
        arguments.push(("game_id", text("g")));
        assert!(refusal("catch_up", &arguments).contains("stats, details, shots, possessions"), "{names:?}");
    }
}

#[test]
fn a_link_keeps_path_and_query_and_finds_its_resource_whatever_its_host() {
    let follow = |link: &str| only("follow", &[("link", text(link))]);
    for (link, operation, expected) in [
        ("https://api.shottracker.com/v1/data/stats/s-1/stats", "stats", vec![("session_id", "s-1")]),
        ("HTTP://other.example:81/v1/data/games/g-1", "game", vec![("game_id", "g-1")]),
        ("/v1/data/stats/s%3A1/shots", "shots", vec![("session_id", "s:1")]),
        ("/v1/data/stats/games/g-1/stats/details", "game_stats_details", vec![("game_id", "g-1")]),
        ("/v1/data/sensors/locations?id=s-1&from=1&to=2", "locations", vec![("session_id", "s-1")]),
        ("/v1/data/teams/46/practices/p-1", "practice", vec![("team_id", "46")]),
        (
            "/v1/data/teams/46/players/game/stats?event_id=g",
            "team_game_stats",
            vec![("team_id", "46"), ("game_id", "g")],
        ),
        ("/v1/data/stats/games/g-1/shots", "game_shots", vec![("game_id", "g-1")]),
        ("/v1/data/stats/games/g-1/details", "play_by_play", vec![("game_id", "g-1")]),
        ("/v1/data/stats/games/g-1/ballscreens", "ball_screens", vec![("game_id", "g-1")]),
        ("/v1/data/stats/games/g-1/stats", "catch_up", vec![("game_id", "g-1"), ("resources", "stats")]),
        (
            "/v1/data/stats/games/g-1/shots,details",
            "catch_up",
            vec![("game_id", "g-1"), ("resources", "shots,details")],
        ),
        ("/v1/data/stats/games/g-1/shots%2Cstats/", "catch_up", vec![("game_id", "g-1"), ("resources", "shots,stats")]),
        ("/v1/data/stats/games/g-1/shots,videos", "follow", vec![]),
        ("/v1/data/stats/games/g-1/videos", "videos", vec![("game_id", "g-1")]),
        ("/v1/data/schedule/games/matchup?from=1&team_id=a&team_id=b", "matchup", vec![]),
        ("/v1/data/stats/s-1/possessions/summary", "follow", vec![]),
        ("/v1/data/teams/46,SHOTTRACKER", "follow", vec![]),
    ] {
        let request = follow(link);
        assert!(link.ends_with(&target(&request)), "{link}");
        assert_eq!(request.operation, operation, "{link}");
        assert_eq!(request.resource.is_some(), operation != "follow", "{link}");
        let context = expected.iter().fold(Context::default(), |context, (name, value)| context.with(name, *value));
        assert_eq!(request.context, context, "{link}");
        assert_eq!(request.auth, Auth::Signed);
    }
    assert_eq!(follow("/v1/data/teams#top").path, "/v1/data/teams");
    assert_eq!(follow(" /v1/data/teams ").path, "/v1/data/teams");
    let written = follow("https://h/v1/data/sensors/locations?id=a%2Fb+c&from=1");
    assert_eq!(written.query, "id=a%2Fb+c&from=1");
}

#[test]
fn a_link_that_could_lead_elsewhere_is_refused() {
    for link in [
        "https://api.shottracker.com/broadcast/v1/games/teams",
        "https://api.shottracker.com",
        "v1/data/teams",
        "ftp://host/v1/data/teams",
        "/v1/data/../admin",
        "/v1/data/%2e%2E/admin",
        "/v1/data/..%2fadmin",
        "/v1/data/%252e%252e/admin",
        "/v1/data/./teams",
        "/v1/data\\teams",
        "/v1/data/%5c..",
        "/v1/data/teams\n",
        "/v1/data/a%0d%0ab",
        "",
    ] {
        refusal("follow", &[("link", text(link))]);
    }
}

#[test]
fn get_takes_any_signed_path_and_encodes_its_parameters() {
    let request = only(
        "get",
        &[
            ("path", text("/v1/data/games/g/lineups")),
            ("at", Value::Int(5)),
            ("q", text("a b&c=é")),
            ("at", Value::Float(1.0)),
            ("deep", Value::Bool(true)),
        ],
    );
    assert_eq!(target(&request), "/v1/data/games/g/lineups?at=5&q=a%20b%26c%3D%C3%A9&at=1.0&deep=true");
    assert!(request.resource.is_none());
    assert_eq!(request.auth, Auth::Signed);
    assert_eq!(only("get", &[("path", text("/broadcast/v1/games/images"))]).auth, Auth::ApiKey);
    assert!(refusal("get", &[("path", text("/v1/data/teams?x=1"))]).contains("params"));
    assert!(refusal("get", &[("path", text("https://h/v1"))]).contains("follow(link)"));
    refusal("get", &[("path", text("/a/../b"))]);
    refusal("get", &[("path", text("/a")), ("x", Value::Float(f64::NAN))]);
    refusal("get", &[("path", text("/a")), ("x", text("a\0"))]);
}

#[test]
fn the_page_of_the_wire_lists_every_field_that_is_in_the_dict_only() {
    let line = |operation: &declared::Operation| {
        let paths = operation.resource?.paths;
        let cells: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
        (!paths.is_empty()).then(|| format!("| `{}` | {} |", operation.name, cells.join(", ")))
    };
    let expected: Vec<String> = OPERATIONS.iter().filter_map(line).collect();
    let page = include_str!("../../docs/wire.md").split("## Fields in the dict only").nth(1).unwrap();
    let page = page.split("## Unknown").next().unwrap();
    let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(lines, expected, "write in docs/wire.md:\n{}", expected.join("\n"));
}

/// `live_plays` is declared for tests alone, in one place.
#[test]
fn a_second_event_stream_is_one_declaration() {
    let game = |id: &str| vec![("schedule_id".to_owned(), text(id))];
    for (name, documents) in [("live_stats", "stats"), ("live_plays", "plays")] {
        let stream = event_stream(name, &game("g1")).unwrap();
        assert_eq!(target(&stream), format!("/broadcast/v1/{documents}/event-stream?schedule_id=g1"));
        let document = snapshot_of(&stream);
        assert_eq!(target(&document), format!("/broadcast/v1/{documents}?schedule_id=g1"));
        assert_eq!((document.operation, document.auth), (&*format!("broadcast_{documents}"), Auth::ApiKey));
        assert!(event_stream(name, &vec![]).is_err_and(|error| error.to_string().contains("schedule_id is missing")));
    }
    assert!(
        !arguments_of("live_stats").is_empty() && arguments_of("live_stats").len() > arguments_of("live_plays").len()
    );
    assert!(event_stream("live_nothing", &game("g1")).is_err());
}
