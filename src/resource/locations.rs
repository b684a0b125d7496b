//! Sensor locations.

use tables::{Resource, Table, Ty::*, col, request, root, table};

pub(crate) static LOCATIONS: Resource =
    Resource::new("locations", &[root("[]"), root("").needs(&["locations[]"])], &[&TABLE]);

static TABLE: Table =
    table("locations", "locations[]").doc("One row for each position of a player or the ball.").columns(&[
        col("session_id", Text, ".sid")
            .by_request("session_id")
            .doc("Id of the requested session, else that in the response"),
        request("game_id", Text).doc("Id of the requested game"),
        col("t", TimestampMs, ".t").required().doc("Time of the position"),
        col("type", Category, ".type").doc("Type of the tracked object; PLAYER is the only documented value"),
        col("team_id", Int64, ".tid").doc("Team id"),
        col("player_id", Int64, ".pid").doc("Player id"),
        col("tag", Text, ".tag").doc("Number of the sensor"),
        col("x", Float64, ".x").court().doc("Position across the court, from its centre"),
        col("y", Float64, ".y").court().doc("Position along the court, from its centre"),
        col("z", Float64, ".z").court().doc("Height above the floor"),
        col("speed", Float64, ".speed").doc("Speed in an undocumented unit"),
        col("game_clock", Text, ".gc").doc("Game clock as sent"),
        col("game_clock_s", ClockSeconds, ".gc").doc("Time left in the period"),
        col("shot_clock", Text, ".sc").doc("Shot clock as sent"),
        col("shot_clock_s", ClockSeconds, ".sc").doc("Time left on the shot clock"),
    ]);
