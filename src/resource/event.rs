//! Team events, games and practices, and their sessions.

use arrow_array::{Array, ArrayRef, BooleanArray, StringArray, cast::AsArray};
use std::sync::Arc;
use tables::{Col, Context, Derivation, Resource, Table, Ty::*, col, derive, index, member, request, root, table};

/// Documented both as the root and as an `events` array: both are read.
pub(crate) static TEAM_EVENTS: Resource = Resource::new(
    "team_events",
    &[root("events[?]"), root("[]"), root("").needs(&["id"])],
    &[&SESSIONS, &EVENTS, &LOCATION_WINDOWS],
)
.paths(KNOWN_PATHS);

/// A game (or a practice) by its own link.
pub(crate) static GAME: Resource = Resource::new(
    "game",
    &[root("").needs(&["id"]), root("[]").not_empty(), root("events[?]").not_empty()],
    &[&SESSIONS, &EVENTS, &LOCATION_WINDOWS],
)
.paths(KNOWN_PATHS);

const KNOWN_PATHS: &[&str] = &["results[]._possessions_summary"];

const IS_GAME: Col = member("is_game_event", Bool).doc("Whether the event is a game");
const IS_PRACTICE: Col = member("is_practice_event", Bool).doc("Whether the event is a practice");
const SELF_LINK: Col = col("self_link", Links, "_self").doc("Link to the game or practice");
const EVENT_ID: Col = col("event_id", Text, "id").required().doc("Event id of a game or a practice");
const TEAM_ID: Col = request("team_id", Int64).doc("Id of the requested team");
const GAME_ID: Col = derive("game_id", Text, &GAME_ID_OF_EVENT)
    .doc("Id of the requested game, else the event id of a game; null for a practice");

static GAME_ID_OF_EVENT: Derivation =
    Derivation { inputs: &["event_id", "is_game_event", "is_practice_event", "self_link"], make: game_id_of_event };

/// An event is a game if its flags state it; without flags, if its own link or the request does.
fn game_id_of_event(inputs: &[ArrayRef], context: &Context) -> ArrayRef {
    let id = inputs[0].as_string::<i32>();
    let (game, practice) = (inputs[1].as_boolean(), inputs[2].as_boolean());
    let link = inputs[3].as_string::<i32>();
    let flag = |flags: &BooleanArray, row: usize| flags.is_valid(row).then(|| flags.value(row));
    let rows = (0..id.len()).map(|row| {
        let is_game = match (flag(game, row), flag(practice, row)) {
            (Some(game), _) => game,
            (None, Some(true)) => false,
            (None, _) => {
                context.get("game_id").is_some() || (link.is_valid(row) && link.value(row).contains("/v1/data/games/"))
            }
        };
        // Rows are found by the requested id.
        (is_game && id.is_valid(row)).then(|| context.get("game_id").unwrap_or(id.value(row)))
    });
    Arc::new(rows.collect::<StringArray>())
}

static SESSIONS: Table = table("sessions", "results[]")
    .doc("One row for each session (a period of a game, a drill of a practice).")
    .columns(&[
        TEAM_ID,
        EVENT_ID,
        GAME_ID,
        col("session_id", Text, ".id").required().doc("Session id"),
        index("position", "results[]").doc("Position in the event's list of sessions, from 0"),
        col("name", Text, ".name").doc("Name of the period, such as Q1; null in documented basketball responses"),
        col("type", Category, ".type").doc("Session type, such as GAME_ROUND or FOOTBALL_GAME_QUARTER"),
        col("started_at", TimestampMs, ".started_at").doc("Start of the session"),
        col("ended_at", TimestampMs, ".ended_at").doc("End of the session"),
        col("stats_link", Links, "._stats").doc("Link to the stats of the session"),
        col("stats_details_link", Links, "._stats_details").doc("Link to the stats details of the session"),
        col("shots_link", Links, "._shots").doc("Link to the shots of the session"),
        col("possessions_link", Links, "._possessions").doc("Link to the possessions of the session"),
        IS_GAME.hide(),
        IS_PRACTICE.hide(),
        SELF_LINK.hide(),
    ]);

static EVENTS: Table = table("events", "").doc("One row for each event: a game or a practice.").columns(&[
    TEAM_ID,
    EVENT_ID,
    GAME_ID,
    member("name", Text).doc("Event name"),
    member("source", Category).doc("Origin of the data"),
    IS_PRACTICE,
    IS_GAME,
    member("started_at", TimestampMs).doc("Start of the event"),
    member("ended_at", TimestampMs).doc("End of the event"),
    member("game_type", Category).doc("Period format, HALF or QUARTER; games only"),
    col("home_team_id", Int64, "game_attributes.home_team_id").doc("Home team id; games only"),
    col("home_team_name", Text, "game_attributes.home_team_name").doc("Home team name; games only"),
    col("away_team_id", Int64, "game_attributes.away_team_id").doc("Away team id; games only"),
    col("away_team_name", Text, "game_attributes.away_team_name").doc("Away team name; games only"),
    SELF_LINK,
    col("stats_details_link", Links, "totals._stats_details")
        .doc("Link to the stats details of the whole game; games only"),
]);

static LOCATION_WINDOWS: Table = table("location_windows", "results[]._locations[?]")
    .doc("One row for each time window of a session's sensor locations; consecutive windows cover the session.")
    .columns(&[
        col("event_id", Text, "id").doc("Event id of a game or a practice"),
        GAME_ID,
        col("session_id", Text, "results[].id").required().doc("Session id"),
        col("start", LinkFrom, "@").required().doc("Start of the window"),
        col("end", LinkTo, "@").required().doc("End of the window"),
        col("link", Links, "@").required().doc("Link to the sensor locations of the window"),
        IS_GAME.hide(),
        IS_PRACTICE.hide(),
        SELF_LINK.hide(),
    ]);
