//! The operations, as data: each once, with its path, query, authentication, resource, arguments and documentation.
//!
//! Both Python clients, their overloads and docstrings are generated from here (`make generate`).

use super::argument::{Argument, Kind::*, arg};
use super::arguments::CheckedArguments;
use super::query::*;
use super::{Auth, Call, Request, SUBSCRIPTION_TOKEN, encode};
use crate::config::{Config, Sport};
use crate::error::Result;
use crate::resource::{
    self, Resource, ball_screens, broadcast, catch_up, event, game_shots, locations, play_by_play, possessions, roster,
    schedule, shots, stats, stats_details, team, videos,
};
use tables::Context;

/// One operation of the service.
#[derive(Debug)]
pub struct Operation {
    pub name: &'static str,
    pub(super) auth: Auth,
    /// With `{argument}` in place of an id.
    pub(super) path: &'static str,
    pub arguments: &'static [Argument],
    /// Request values for tables: the name in the path or query, and the column that it fills.
    pub(super) context_params: &'static [(&'static str, &'static str)],
    pub resource: Option<&'static Resource>,
    /// Whether the specification shows its body. Otherwise only a table needs the root.
    pub(super) is_body_shown: bool,
    pub reach: Reach,
    queries: QueryMaker,
    pub doc: Doc,
}

/// Who sends an operation's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// A method of the clients, generated from the declaration.
    Method,
    /// A method of the clients that is written by hand, because it does not return a payload.
    Internal,
    /// Only links lead to it.
    Link,
}

/// The parts of a method's docstring that do not follow from the rest of the declaration.
#[derive(Debug)]
pub struct Doc {
    /// One sentence.
    pub summary: &'static str,
    pub details: &'static str,
    /// Which errors mean what, beyond those that every method raises.
    pub raises: &'static str,
    /// The section of docs/wire.md.
    pub section: &'static str,
    /// The lines of a doctest without its prompts; what is printed follows `#>`.
    pub example: &'static [&'static str],
}

const TEAM: (&str, &str) = ("team_id", "team_id");
const GAME: (&str, &str) = ("game_id", "game_id");
const SESSION: (&str, &str) = ("session_id", "session_id");

const TEAM_ID: Argument = arg("team_id", Id, "the team.");
const GAME_ID: Argument = arg("game_id", Id, "the game.");
const SESSION_ID: Argument = arg("session_id", Id, "the session: a period of a game, or a drill.").many();
const SCHEDULE_ID: Argument = arg("schedule_id", Id, "the game, by its schedule id.").parameter("schedule_id").many();
const START: Argument = arg("start", Time, "the beginning of the range.");
const END: Argument = arg("end", Time, "the end of the range.");
const GAMES: Argument = GAME_ID.many();
const GAME_OF_SESSION: Argument = GAME_ID
    .optional()
    .context_only()
    .doc("fills the column `game_id`, which no response names: one game for all sessions, or one for each.");
pub(super) const MOCK: Argument =
    arg("mock", Flag, "request the service's sample game, which never ends, with the schedule id \"mock-service\".")
        .optional()
        .parameter("mock");

const NO_TABLE: &str = "What the body holds is not documented.";
const NO_STATS: &str = "`PermissionDenied` without access to stats, `NotFound` for an unknown session";
const NO_ACCESS: &str = "`PermissionDenied` without access to the game's resources";

const fn signed(name: &'static str, path: &'static str) -> Operation {
    Operation {
        name,
        auth: Auth::Signed,
        path,
        arguments: &[],
        context_params: &[],
        resource: None,
        is_body_shown: true,
        reach: Reach::Method,
        queries: declared_query,
        doc: Doc { summary: "", details: "", raises: "", section: "", example: &[] },
    }
}

const fn with_key(name: &'static str, path: &'static str) -> Operation {
    Operation { auth: Auth::ApiKey, ..signed(name, path).section("Broadcast API") }
}

/// Each of a session's resources.
const fn of_session(name: &'static str, path: &'static str, resource: &'static Resource) -> Operation {
    signed(name, path)
        .arguments(&[SESSION_ID, GAME_OF_SESSION])
        .context_params(&[SESSION])
        .resource(resource)
        .raises(NO_STATS)
}

/// Each of a game's resources.
const fn of_game(name: &'static str, path: &'static str, resource: &'static Resource) -> Operation {
    signed(name, path).arguments(&[GAMES]).context_params(&[GAME]).resource(resource).raises(NO_ACCESS)
}

/// What a declaration adds to its name and path; the fields say what each is.
impl Operation {
    const fn arguments(self, arguments: &'static [Argument]) -> Self {
        Operation { arguments, ..self }
    }

    const fn context_params(self, context_params: &'static [(&'static str, &'static str)]) -> Self {
        Operation { context_params, ..self }
    }

    const fn resource(self, resource: &'static Resource) -> Self {
        Operation { resource: Some(resource), ..self }
    }

    const fn queries(self, queries: QueryMaker) -> Self {
        Operation { queries, ..self }
    }

    const fn reach(self, reach: Reach) -> Self {
        Operation { reach, ..self }
    }

    const fn body_not_shown(self) -> Self {
        Operation { is_body_shown: false, ..self }
    }

    const fn summary(self, summary: &'static str) -> Self {
        Operation { doc: Doc { summary, ..self.doc }, ..self }
    }

    const fn details(self, details: &'static str) -> Self {
        Operation { doc: Doc { details, ..self.doc }, ..self }
    }

    const fn raises(self, raises: &'static str) -> Self {
        Operation { doc: Doc { raises, ..self.doc }, ..self }
    }

    const fn section(self, section: &'static str) -> Self {
        Operation { doc: Doc { section, ..self.doc }, ..self }
    }

    const fn example(self, example: &'static [&'static str]) -> Self {
        Operation { doc: Doc { example, ..self.doc }, ..self }
    }
}

pub static OPERATIONS: &[Operation] = &[
    signed("teams", "/v1/data/teams")
        .resource(&team::TEAMS)
        .summary("Return all teams that this credential may see.")
        .section("List teams")
        .example(&["client.teams().table().column_names[:2]", "#> ['team_id', 'name']"]),
    signed("roster", "/v1/data/teams/{team_id}")
        .arguments(&[
            TEAM_ID.many(),
            GAME_ID
                .optional()
                .parameter("game_event_id")
                .doc("the players at the time of this game; default: the current ones."),
            arg("reference", Text, "the system that the ids are of; default: the service's own.")
                .optional()
                .parameter("reference"),
        ])
        .context_params(&[TEAM])
        .resource(&roster::ROSTER)
        .queries(roster_query)
        .summary("Return the current players of a team, or those at the time of a game.")
        .details("Players who have left the team have `is_active` false.")
        .raises("`PermissionDenied` for a restricted team, `NotFound` for an unknown team or game")
        .section("Team roster")
        .example(&[r#"client.roster(team_id).table("team").to_dicts()[0]["team_id"] == team_id"#, "#> True"]),
    signed("schedule", "/v1/data/schedule/games")
        .arguments(&[
            START.parameter("from"),
            END.optional().positional().parameter("to").doc("the end of the range; default: one day after `start`."),
            arg("sport", Choice(&["basketball", "football"]), "default: the client's.").optional(),
            TEAM_ID.optional().parameter("team_id").doc("only games of this team."),
            arg("location_id", Text, "only games at this place: a court and a facility, joined by `@`.")
                .optional()
                .parameter("location_id"),
            arg("season_type", Choice(&["EXH", "PRE", "REG", "POST"]), "applies only together with `week`.")
                .optional()
                .parameter("seasonType"),
            arg("week", Count, "the week of the season, from 1.").optional().parameter("weekNumber"),
        ])
        .resource(&schedule::SCHEDULE)
        .queries(schedule_query)
        .summary("Return the games whose tip-off lies in a range, by default of one day.")
        .details("A game that has not been played has a row too.")
        .section("Game schedule")
        .example(&[r#"client.schedule("2026-11-01", "2027-04-15", team_id=team_id).table().num_rows > 0"#, "#> True"]),
    signed("team_events", "/v1/data/teams/{team_id}/events")
        .arguments(&[
            TEAM_ID.many(),
            START,
            END,
            arg("games_only", Flag, "leave practices out.").optional().parameter("gamesonly"),
            arg("workouts_only", Flag, "return live workouts, which are left out otherwise.")
                .optional()
                .parameter("workoutsonly"),
        ])
        .context_params(&[TEAM])
        .resource(&event::TEAM_EVENTS)
        .queries(team_events_queries)
        .summary("Return the games and practices of a team, with their sessions.")
        .details(
            "`sessions` has a row for each period or drill; its `session_id` is what `stats`, `possessions` and \
            `shots` take. A range over 8 months is split into pieces, and the responses are merged.",
        )
        .raises("`InvalidRequest`, with the violated `.rules`, for a range that is empty or begins before 1970")
        .section("Team events")
        .example(&[
            r#"events = client.team_events(team_id, "2026-11-01", "2027-03-01", games_only=True)"#,
            r#"{session["event_id"] for session in events.table("sessions").to_dicts()} <= {"#,
            r#"    event["event_id"] for event in events.table("events").to_dicts()"#,
            "}",
            "#> True",
        ]),
    signed("team_game_stats", "/v1/data/teams/{team_id}/players/game/stats")
        .arguments(&[
            TEAM_ID.many(),
            GAME_ID.optional().doc("one game; without it give a range."),
            START.optional(),
            END.optional(),
        ])
        .context_params(&[TEAM, ("event_id", "game_id")])
        .resource(&stats::TEAM_GAME_STATS)
        .queries(team_game_stats_query)
        .summary("Return a team's box score of one game, or summed over a range.")
        .details("Give either `game_id`, or `start` and `end`. DIST is in centimetres.")
        .raises(
            "`PermissionDenied` without access to stats, `InvalidRequest` for a range over 8 months, whose sums \
            cannot be merged from pieces",
        )
        .section("Team game stats")
        .example(&[
            r#"box_score = client.team_game_stats(team_id, game_id=game_id).table("box_score")"#,
            r#"{row["team_id"] for row in box_score.to_dicts()} == {team_id}"#,
            "#> True",
        ]),
    signed("game_events", "/v1/data/games/{game_id}/events")
        // The specification lists `team_id` without a place for it; the query is the only one left.
        .arguments(&[GAMES, TEAM_ID.optional().parameter("team_id").doc("only events of this team.")])
        .context_params(&[GAME, TEAM])
        .summary("Return the events of a whole game, unchanged from the service.")
        .details(NO_TABLE)
        .raises(NO_ACCESS)
        .section("Full game events")
        .example(&["client.game_events(game_id).tables", "#> []"]),
    of_game("game", "/v1/data/games/{game_id}", &event::GAME)
        .summary("Return one game with its sessions.")
        .details("`sessions` has a row for each period.")
        .raises("`NotFound` for an unknown game")
        .section("Game")
        .example(&[r#"client.game(game_id).table("events").to_dicts()[0]["game_id"] == game_id"#, "#> True"]),
    of_session("stats", "/v1/data/stats/{session_id}/stats", &stats::STATS)
        .summary("Return the box score of one session.")
        .details(
            "`player_stats` has a row for each player and stat code, `box_score` a row for each player. A team's \
            totals have player id 0 and `is_team_total`: do not add them to the players'. \
            `client.stats(client.game(game_id))` takes sessions and game from the game.",
        )
        .section("Stats")
        .example(&[
            r#"box_score = client.stats(session_id, game_id=game_id).table("box_score").to_dicts()"#,
            r#"{row["is_team_total"] for row in box_score} == {True, False}"#,
            "#> True",
            "periods = client.stats(client.game(game_id))",
            r#"{row["game_id"] for row in periods.table().to_dicts()} == {game_id}"#,
            "#> True",
        ]),
    of_session("stats_details", "/v1/data/stats/{session_id}/stats/details", &stats_details::STATS_DETAILS)
        .summary("Return each occurrence of each stat in a session, with clocks and place.")
        .details("x, y and z are millimetres from the centre of the court, `hoop_to_event_x` and `_y` from the hoop.")
        .section("Stats details")
        .example(&[r#""hoop_to_event_x" in client.stats_details(session_id).table().column_names"#, "#> True"]),
    of_session("possessions", "/v1/data/stats/{session_id}/possessions", &possessions::POSSESSIONS)
        .summary("Return the possessions of a session.")
        .details(
            "`possessions` has a row for each, with lineups and attributes, `possession_events` one for each stat \
            in it.",
        )
        .section("Possessions")
        .example(&[
            "client.possessions(session_id).tables",
            "#> ['possessions', 'possession_events', 'possession_players']",
        ]),
    of_session("shots", "/v1/data/stats/{session_id}/shots", &shots::SHOTS)
        .body_not_shown()
        .summary("Return the shots of a session.")
        .details(
            "Coordinates are millimetres, `distance_cm` is centimetres. `hoop_player_x` and `_y` are the shot \
            chart: the hoop at (0, 0), y towards mid-court.",
        )
        .raises(
            "`PermissionDenied` without access to shots, which is a privilege of its own, `NotFound` for an \
            unknown session",
        )
        .section("Shots")
        .example(&[
            "shots = client.shots(session_id).table().to_dicts()",
            r#"all(shot["points"] == 0 for shot in shots if not shot["is_make"])"#,
            "#> True",
        ]),
    signed("locations", "/v1/data/sensors/locations")
        .arguments(&[SESSION_ID, START, END, GAME_OF_SESSION])
        .context_params(&[("id", "session_id")])
        .resource(&locations::LOCATIONS)
        .queries(locations_queries)
        .body_not_shown()
        .summary("Return the positions of players and ball, step by step.")
        .details(
            "A row for each tag and time; x, y and z are millimetres. Any range: it is split into windows of at \
            most 30 minutes, and the responses are merged in order.",
        )
        .raises(NO_STATS)
        .section("Sensor locations")
        .example(&[
            "locations = client.locations(session_id, session_start, session_start + 2_000)",
            "locations.table().column_names[:3]",
            "#> ['session_id', 'game_id', 't']",
        ]),
    of_game("game_stats_details", "/v1/data/stats/games/{game_id}/stats/details", &stats_details::GAME_STATS_DETAILS)
        .summary("Return each occurrence of each stat in a whole game.")
        .section("Game stats details")
        .example(&["client.game_stats_details(game_id).table().num_rows > 0", "#> True"]),
    of_game("game_shots", "/v1/data/stats/games/{game_id}/shots", &game_shots::GAME_SHOTS)
        .summary("Return the shots of a whole game.")
        .details(
            "The table is that of `shots(session_id)`; `session_id` names the period. Coordinates are \
            millimetres, `distance_cm` is centimetres.",
        )
        .section("Game shots")
        .example(&[
            "shots = client.game_shots(game_id).table()",
            r#"{shot["game_id"] for shot in shots.to_dicts()} == {game_id}"#,
            "#> True",
        ]),
    of_game("play_by_play", "/v1/data/stats/games/{game_id}/details", &play_by_play::PLAY_BY_PLAY)
        .summary("Return the events of a whole game, one after the other.")
        .details("`stats` is a map of stat code to what the event adds. Coordinates are millimetres.")
        .section("Play-by-play")
        .example(&[
            r#"plays = client.play_by_play(game_id).table(columns=["event_id", "team_id", "description", "stats"])"#,
            "plays.num_rows > 0",
            "#> True",
        ]),
    of_game("ball_screens", "/v1/data/stats/games/{game_id}/ballscreens", &ball_screens::BALL_SCREENS)
        .summary("Return the predicted ball screens of a whole game.")
        .details("`offensive_actions` and `defensive_actions` are maps of action to probability, from 0 to 1.")
        .section("Ball screens")
        .example(&[
            "client.ball_screens(game_id).table().column_names[:3]",
            "#> ['game_id', 'session_id', 'event_id']",
        ]),
    of_game("videos", "/v1/data/stats/games/{game_id}/videos", &videos::VIDEOS)
        .summary("Return the videos of a whole game, which `sideline.clips` searches.")
        .details("A row for each part of a recording.")
        .section("Videos")
        .example(&["client.videos(game_id).table().column_names[:3]", "#> ['game_id', 'session_id', 'hls_file']"]),
    // After those of a single resource, which a link finds first.
    of_game("catch_up", "/v1/data/stats/games/{game_id}/{resources}", &catch_up::CATCH_UP)
        .arguments(&[GAMES, arg(PARTS, Choices(&catch_up::PARTS), "one or several, each once.")])
        .context_params(&[GAME, (PARTS, PARTS)])
        .summary("Return several resources of a whole game in one response.")
        .details(
            "The payload has the tables of the requested resources, in their order: `player_stats` and \
            `box_score` of \"stats\", `play_by_play` of \"details\", `shots` of \"shots\", and `possessions`, \
            `possession_events` and `possession_players` of \"possessions\".",
        )
        .raises("`ValueError` for another resource, `PermissionDenied` without access to the game's resources")
        .section("Catch-up")
        .example(&[
            r#"client.catch_up(game_id, ["shots", "stats"]).tables"#,
            "#> ['shots', 'player_stats', 'box_score']",
        ]),
    signed("matchup", "/v1/data/schedule/games/matchup")
        .arguments(&[
            // Ids of another system may hold any character.
            arg("team_ids", ForeignIds, "one team or two, by the ids of `reference`."),
            START,
            END.optional().positional().doc("the end of the range; default: the service's."),
            arg("reference", Text, "the system that the ids are of; \"SHOTTRACKER\" is the service's own.")
                .keyword_only(),
            arg("gender", Choice(&["MEN", "WOMEN"]), "of the teams.").keyword_only(),
        ])
        .resource(&schedule::MATCHUP)
        .queries(matchup_query)
        .summary("Return the games of one team, or of two against each other, by the ids of another system.")
        .raises("`ValueError` for another number of teams")
        .section("Matchup")
        .example(&[
            r#"games = client.matchup(team_id, "2026-11-01", "2027-04-15", reference="SHOTTRACKER", gender="MEN")"#,
            r#"all(team_id in (game["home_team_id"], game["away_team_id"]) for game in games.table().to_dicts())"#,
            "#> True",
        ]),
    // The self link of a practice: an event like a game, without a game's id.
    signed("practice", "/v1/data/teams/{team_id}/practices/{event_id}")
        .context_params(&[TEAM])
        .resource(&event::GAME)
        .reach(Reach::Link),
    signed(SUBSCRIPTION_TOKEN, "/v1/data/schedule/games/{game_id}/_subscribe")
        .arguments(&[GAME_ID])
        .reach(Reach::Internal),
    signed(FOLLOW, "")
        .arguments(&[arg("link", Text, "a link found in a response, or its path.").confidential()])
        .body_not_shown()
        .summary("Return the resource behind a link of a response, requested from this client's host.")
        .details("The tables are those of the linked resource.")
        .raises("`ValueError` for a link whose path does not begin with `/v1/data/`")
        .section("Links")
        .example(&[
            r#"link = client.game(game_id).table("sessions").to_dicts()[0]["stats_link"]"#,
            "client.follow(link).tables",
            "#> ['player_stats', 'box_score']",
        ]),
    signed(GET, "")
        .arguments(&[
            arg("path", Text, "from its first slash, without a query.").confidential(),
            arg("params", Parameters, "the query; a list is sent as often as it has elements.")
                .optional()
                .positional()
                .confidential(),
        ])
        .summary("Return the response of any path of the service, including paths without a method.")
        .details("The request is signed; a path below `/broadcast/` takes the API key instead.")
        .section("Links")
        .example(&[r#"sorted(client.get("/v1/data/teams"))"#, "#> ['teams']"]),
    with_key("broadcast_schedule", "/broadcast/v1/games/schedule")
        .arguments(&[
            START.optional().positional().parameter("from"),
            END.optional().positional().parameter("to"),
            MOCK,
        ])
        .summary("Return the Broadcast API's games; without a range those of the coming day.")
        .details(NO_TABLE)
        .example(&["client.broadcast_schedule().status", "#> 200"]),
    with_key("broadcast_teams", "/broadcast/v1/games/teams")
        .summary("Return the Broadcast API's teams.")
        .details(NO_TABLE)
        .example(&["client.broadcast_teams().status", "#> 200"]),
    with_key("broadcast_roster", "/broadcast/v1/games/teams/{team_id}")
        .arguments(&[
            TEAM_ID.many(),
            GAME_ID.optional().parameter("game_event_id").doc("the players at the time of this game."),
        ])
        .context_params(&[TEAM])
        .resource(&broadcast::BROADCAST_ROSTER)
        .summary("Return the Broadcast API's roster of a team, or that of a game.")
        .details("The tables are those of `roster`; columns that the Broadcast API lacks are null.")
        .example(&[r#"client.broadcast_roster(team_id).table("team").to_dicts()[0]["team_id"] == team_id"#, "#> True"]),
    with_key("broadcast_stats", "/broadcast/v1/stats")
        .arguments(&[SCHEDULE_ID, MOCK])
        .summary("Return the Broadcast API's current statistics of a game.")
        .details(NO_TABLE)
        .example(&[
            "client.broadcast_stats(game_id).status",
            "#> 200",
            r#"client.broadcast_stats("mock-service", mock=True)["schedule_id"]"#,
            "#> 'mock-service'",
        ]),
    with_key("broadcast_colors", "/broadcast/v1/games/active/{schedule_id}/colors")
        .arguments(&[arg("schedule_id", Id, "the game, by its schedule id.").many()])
        .summary("Return the jersey colours of a game in progress.")
        .details(
            "What the body holds is not documented. Before and after the game the service has no colours; the \
            simulator then raises `NotFound`.",
        )
        .example(&[
            "season = sideline.Simulator(seed=7)",
            r#"upcoming = season.games[-1]["event_id"]"#,
            "season.play(upcoming)",
            "client = season.client()",
            "sorted(client.broadcast_colors(upcoming))",
            "#> ['away', 'home']",
            "season.close()",
        ]),
    with_key("broadcast_locomotion", "/broadcast/v1/locomotion")
        .arguments(&[SCHEDULE_ID, TEAM_ID.parameter("team_id")])
        .summary("Return the movement of a team's players in a game.")
        .details(NO_TABLE)
        .example(&["client.broadcast_locomotion(game_id, team_id).status", "#> 200"]),
];

pub(super) const FOLLOW: &str = "follow";
pub(super) const GET: &str = "get";

/// The requested resources of a catch-up: the name in the path, and the tables' name.
pub(super) const PARTS: &str = "resources";

/// The name in `{name}`.
pub(super) fn placeholder(segment: &str) -> Option<&str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

impl Operation {
    /// Adds a value of the path or query to the context.
    pub(super) fn add_context(&self, context: Context, name: &str, value: &str) -> Context {
        match self.context_params.iter().find(|(wire, _)| *wire == name) {
            Some((_, known_as)) => context.with(known_as, value),
            None => context,
        }
    }

    /// The resource of a sport; for a catch-up with the tables of the requested parts.
    pub(super) fn resource_for(&self, sport: Sport, context: &Context) -> Option<&'static Resource> {
        match context.get(PARTS) {
            Some(parts) => catch_up::of(parts, sport),
            None => self.resource.map(|resource| resource::of_sport(resource, sport)),
        }
    }

    pub(super) fn call(&'static self, arguments: &CheckedArguments, config: &Config) -> Result<Call> {
        let mut context = Context::default();
        let mut segments = Vec::new();
        let template = if self.name == SUBSCRIPTION_TOKEN { &config.token_path } else { self.path };
        for segment in template.split('/') {
            match placeholder(segment) {
                None => segments.push(segment.to_string()),
                Some(name) => {
                    let value = if name == PARTS { parts(arguments)? } else { arguments.required(name)?.to_owned() };
                    context = self.add_context(context, name, &value);
                    segments.push(value);
                }
            }
        }
        for argument in self.arguments.iter().filter(|argument| argument.is_context_only) {
            if let Some(id) = arguments.get(argument.name) {
                context = context.with(argument.name, id);
            }
        }
        let path = segments.join("/");
        let base = (self.auth.scheme().base_url)(config);
        let queries = (self.queries)(arguments, config, &format!("{base}{path}"))?;
        let request = |query: Query| Request {
            operation: self.name,
            auth: self.auth,
            path: path.clone(),
            query: encode(&query),
            resource: self.resource_for(config.sport, &context),
            sport: config.sport,
            context: query.iter().fold(context.clone(), |acc, (name, value)| self.add_context(acc, name, value)),
        };
        Ok(Call { requests: queries.requests.into_iter().map(request).collect(), join: queries.join })
    }
}
