//! Shots of a session, and the table shared by all shots.

use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array,
    cast::AsArray,
    types::{Float64Type, Int64Type},
};
use std::sync::Arc;
use tables::{Col, Context, Derivation, Resource, Table, Ty::*, absent, col, derive, request, root, table};

pub(crate) static SHOTS: Resource = Resource::new("shots", &[root("teams[]"), root("[]").not_empty()], &[&TABLE])
    .paths(&[
        "name",
        "logo_image_link",
        "player_shots[].player_details.id",
        "player_shots[].player_details.firstname",
        "player_shots[].player_details.lastname",
        "player_shots[].player_details.profile_image_link",
    ]);

static POINTS: Derivation = Derivation { inputs: &["is_make", "is_3point", "given_points"], make: points };
static DISTANCE: Derivation = Derivation {
    inputs: &["given_distance", "hoop_player_x", "hoop_player_y", "player_x", "player_y", "hoop_x", "hoop_y"],
    make: distance_cm,
};

/// A miss scores nothing, whatever the body has (game shots have -1); a make scores the given points, else by the arc.
fn points(inputs: &[ArrayRef], _: &Context) -> ArrayRef {
    let (makes, threes) = (inputs[0].as_boolean().iter(), inputs[1].as_boolean().iter());
    let points = makes.zip(threes).zip(inputs[2].as_primitive::<Int64Type>()).map(|row| match row {
        ((Some(false), _), _) => Some(0),
        (_, Some(value)) if value >= 0 => Some(value),
        ((None, _), Some(_)) => Some(0),
        ((Some(true), Some(three)), _) => Some(if three { 3 } else { 2 }),
        _ => None,
    });
    Arc::new(points.collect::<Int64Array>())
}

/// As given, else from the shot chart, else from the court. The frames are in millimetres, distances in centimetres.
fn distance_cm(inputs: &[ArrayRef], _: &Context) -> ArrayRef {
    let number = |input: usize, row: usize| {
        let numbers = inputs[input].as_primitive::<Float64Type>();
        numbers.is_valid(row).then(|| numbers.value(row))
    };
    let distance = |row| {
        let chart = || Some(number(1, row)?.hypot(number(2, row)?) / 10.0);
        let court = || {
            let (x, y) = (number(3, row)? - number(5, row)?, number(4, row)? - number(6, row)?);
            Some(x.hypot(y) / 10.0)
        };
        number(0, row).or_else(chart).or_else(court)
    };
    Arc::new((0..inputs[0].len()).map(distance).collect::<Float64Array>())
}

pub(super) static TABLE: Table =
    table("shots", "player_shots[].shots[]").doc("One row for each field-goal attempt.").columns(&COLUMNS);
pub(super) const COLUMNS: [Col; 29] = [
    request("session_id", Text).doc("Session id, from the request if the response has none"),
    request("game_id", Text).doc("Id of the requested game, else that in the response"),
    col("team_id", Int64, "id").doc("Id of the shooter's team"),
    col("player_id", Int64, "player_shots[].id").doc("Player id of the shooter"),
    col("occurred_at", TimestampMs, ".occurred_at").doc("Time of the shot"),
    col("is_make", IsMake, ".is_make").doc("Whether the shot was made"),
    col("is_3point", Bool, ".is_3point").doc("Whether the shot was a three-point attempt"),
    derive("points", Int64, &POINTS).doc("Points scored; 0 for a miss").unit("points"),
    col("zone", Count, ".zone").doc("Court zone, 1 to 14"),
    col("advanced_zone", Count, ".advanced_zone").doc("Advanced court zone, 1 to 23"),
    col("player_x", Float64, ".player_x").court().doc("Position of the shooter across the court, from its centre"),
    col("player_y", Float64, ".player_y").court().doc("Position of the shooter along the court, from its centre"),
    col("player_z", Float64, ".player_z").court().doc("Height of the shooter's position above the floor"),
    col("hoop_x", Float64, ".hoop_x").court().doc("Position of the hoop across the court, from its centre"),
    col("hoop_y", Float64, ".hoop_y").court().doc("Position of the hoop along the court, from its centre"),
    col("hoop_z", Float64, ".hoop_z").court().doc("Height of the hoop above the floor"),
    col("hoop_player_x", Float64, ".hoop_player_x")
        .hoop()
        .doc("Offset of the shooter from the hoop to the right, for a view from the hoop to mid-court"),
    col("hoop_player_y", Float64, ".hoop_player_y").hoop().doc("Offset of the shooter from the hoop towards mid-court"),
    derive("distance_cm", Float64, &DISTANCE)
        .unit("cm")
        .doc("Horizontal distance from the hoop, computed from coordinates if the response has none"),
    col("status", Category, ".status").doc("Shot status; RECORDED is the only documented value"),
    col("game_clock", Text, ".game_clock").doc("Game clock as sent"),
    col("game_clock_s", ClockSeconds, ".game_clock").doc("Time left in the period"),
    col("shot_clock", Text, ".shot_clock").doc("Shot clock as sent"),
    col("shot_clock_s", ClockSeconds, ".shot_clock").doc("Time left on the shot clock"),
    col("period", Category, ".period").doc("Period, such as Q1 or H1"),
    col("attributes", ListText, ".attributes")
        .doc("Attributes of the shot, such as CAS (catch-and-shoot) or OTD (off the dribble)"),
    col("defender_ids", ListInt64, ".shotDefenders").doc("Player ids of the defenders; null if the response has none"),
    absent("given_points", Count).hide(),
    absent("given_distance", Float64).hide(),
];
