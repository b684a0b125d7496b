//! Predicted ball screens of a game.

use super::play_by_play::GAME_ID;
use tables::{Resource, Table, Ty::*, col, root, table};

pub(crate) static BALL_SCREENS: Resource =
    Resource::new("ball_screens", &[root("").needs(&["ballscreens[]"])], &[&TABLE]).paths(&["gameTotals"]);

static TABLE: Table = table("ball_screens", "ballscreens[]").doc("One row for each predicted ball screen.").columns(&[
    GAME_ID,
    col("session_id", Text, ".sessionId").doc("Session id"),
    col("event_id", Text, ".eventId").required().doc("Event id, which corrections do not change"),
    col("timestamp", TimestampMs, ".timestamp").doc("Start of the ball screen"),
    col("end_timestamp", TimestampMs, ".endTimestamp").doc("End of the ball screen"),
    col("type", Category, ".type").doc("Event type; BALL_SCREEN is the only documented value"),
    col("team_possession_id", Text, ".teamPossessionId").doc("Id of the possession"),
    col("session_type", Category, ".sessionType").doc("Session type, such as GAME_ROUND"),
    col("period", Category, ".period").doc("Period, such as Q1 or H1"),
    col("source", Category, ".source").doc("Origin of the prediction, such as VERIZON"),
    col("corrected", Bool, ".corrected").doc("Whether the ball screen was corrected afterwards"),
    col("ball_handler_player_id", Int64, ".ballHandlerPlayerId").doc("Player id of the ball handler"),
    col("ball_handler_defender_player_id", Int64, ".ballHandlerDefenderPlayerId")
        .doc("Player id of the ball handler's defender"),
    col("screener_player_ids", ListInt64, ".screenerPlayerIds").doc("Player ids of the screeners"),
    col("screener_defender_player_ids", ListInt64, ".screenerDefenderPlayerIds")
        .doc("Player ids of the screeners' defenders"),
    col("offensive_actions", MapFloat64, ".offensiveActions")
        .doc("Probability of each offensive action, such as POP, from 0 to 1"),
    col("defensive_actions", MapFloat64, ".defensiveActions")
        .doc("Probability of each defensive action, such as SWITCH, from 0 to 1"),
    col("team_id", Int64, ".teamId").doc("Id of the team on offence"),
    col("defender_team_id", Int64, ".defenderTeamId").doc("Id of the team on defence"),
    col("screener_x", Float64, ".screenerX")
        .unit("mm")
        .doc("Position of the screener across the court, from its centre"),
    col("screener_y", Float64, ".screenerY")
        .unit("mm")
        .doc("Position of the screener along the court, from its centre"),
    col("wing", Count, ".wing").doc("Number of the wing, in the service's numbering"),
    col("video_time_mark_start", Text, ".videoTimeMarkStart").doc("Start in the video as sent, minutes:seconds"),
    col("start_game_clock", Text, ".startGameClock").doc("Game clock at the start, as sent"),
    col("start_game_clock_s", ClockSeconds, ".startGameClock").doc("Time left in the period at the start"),
    col("end_game_clock", Text, ".endGameClock").doc("Game clock at the end, as sent"),
    col("end_game_clock_s", ClockSeconds, ".endGameClock").doc("Time left in the period at the end"),
    col("start_shot_clock", Text, ".startShotClock").doc("Shot clock at the start, as sent"),
    col("start_shot_clock_s", ClockSeconds, ".startShotClock").doc("Time left on the shot clock at the start"),
    col("end_shot_clock", Text, ".endShotClock").doc("Shot clock at the end, as sent"),
    col("end_shot_clock_s", ClockSeconds, ".endShotClock").doc("Time left on the shot clock at the end"),
]);
