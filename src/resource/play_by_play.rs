//! Play-by-play of a game.

use tables::{Col, Resource, Table, Ty::*, col, root, table};

pub(crate) static PLAY_BY_PLAY: Resource = Resource::new("play_by_play", &[root("").needs(&["details[]"])], &[&TABLE])
    .paths(&["gameTotals", "details[].videoAttributes", "details[].key"]);

/// As each of a game's resources has it.
pub(super) const GAME_ID: Col =
    col("game_id", Text, ".gameId").by_request("game_id").doc("Id of the requested game, else that in the response");

pub(super) static TABLE: Table =
    table("play_by_play", "details[]").doc("One row for each event of a game.").columns(&[
        GAME_ID,
        col("session_id", Text, ".sessionId").doc("Session id"),
        col("event_id", Text, ".eventId").required().doc("Event id, which corrections do not change"),
        col("type", Category, ".type").doc("Event type; ACTUAL is the only documented value"),
        col("timestamp", TimestampMs, ".timestamp").doc("Time of the event"),
        col("team_id", Int64, ".teamId").doc("Team id"),
        col("session_type", Category, ".sessionType").doc("Session type, such as GAME_ROUND"),
        col("practice_id", Text, ".practiceId").doc("Practice id; null in games"),
        col("practice_definition_id", Text, ".practiceDefinitionId")
            .doc("Id of the practice definition; null in games"),
        col("drill_definition_id", Text, ".drillDefinitionId").doc("Id of the drill definition; null in games"),
        col("stats", MapFloat64, ".stats")
            .doc("Increment of each stat code by the event; DIST in cm, other codes are counts"),
        col("corrected", Bool, ".corrected").doc("Whether the event was corrected afterwards"),
        col("facility_id", Text, ".facilityId").doc("Facility id"),
        col("court_id", Text, ".courtId").doc("Court id"),
        col("game_clock", Text, ".gameClock").doc("Game clock as sent"),
        col("game_clock_s", ClockSeconds, ".gameClock").doc("Time left in the period"),
        col("shot_clock", Text, ".shotClock").doc("Shot clock as sent"),
        col("shot_clock_s", ClockSeconds, ".shotClock").doc("Time left on the shot clock"),
        col("period", Category, ".period").doc("Period, such as Q1 or H1"),
        col("player_x", Float64, ".playerX").court().doc("Position of the player across the court, from its centre"),
        col("player_y", Float64, ".playerY").court().doc("Position of the player along the court, from its centre"),
        col("player_z", Float64, ".playerZ").court().doc("Height of the player's position above the floor"),
        col("hoop_to_event_x", Float64, ".hoopToEventX")
            .hoop()
            .doc("Offset from the hoop to the right, for a view from the hoop to mid-court"),
        col("hoop_to_event_y", Float64, ".hoopToEventY").hoop().doc("Offset from the hoop towards mid-court"),
        col("clip_id", Text, ".clipId").doc("Id of the video clip"),
        col("classification", Category, ".classification")
            .doc("Classification of the event, such as LIVE_BALL_TURNOVER"),
        col("description", Text, ".description").doc("Description of the event in words"),
        col("base_stats", Category, ".baseStats").doc("General stat code, such as TO"),
        col("actual_stats", Category, ".actualStats").doc("Specific stat code, such as LBTO"),
        col("act", Category, ".act").doc("Type of the actor; PLAYER is the only documented value"),
        col("player_id", Int64, ".pid").doc("Player id"),
    ]);
