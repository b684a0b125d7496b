//! The answers from positions: `sideline.Tracking`.

use tables::{Col, Resource, Table, Ty::*, member, table};

pub(crate) static RESOURCES: [Resource; 10] = [
    Resource::of_rows("tracking_frames", &[&FRAMES]),
    Resource::of_rows("tracking_opponents", &[&OPPONENTS]),
    Resource::of_rows("tracking_defenders", &[&DEFENDERS]),
    Resource::of_rows("tracking_matchups", &[&MATCHUPS]),
    Resource::of_rows("tracking_shot_quality", &[&SHOT_QUALITY]),
    Resource::of_rows("tracking_touches", &[&TOUCHES]),
    Resource::of_rows("tracking_passes", &[&PASSES]),
    Resource::of_rows("tracking_spacing", &[&SPACING]),
    Resource::of_rows("tracking_loads", &[&LOADS]),
    Resource::of_rows("tracking_coverage", &[&COVERAGE]),
];

const SESSION_ID: Col = member("session_id", Text).doc("Session id");
const GAME_ID: Col = member("game_id", Text).doc("Game id, if the tables have one");
const PERIOD: Col = member("period", Category).doc("Period, such as Q1 or H1, if the tables have one");
const FRAME: Col = member("frame", Int32).required().doc("Position of the frame in its session, from 0");
const TIME: Col = member("t", TimestampMs).required().doc("Time of the frame, in the clock of the positions");
const TEAM_ID: Col = member("team_id", Int64).doc("Team id");
const PLAYER_ID: Col = member("player_id", Int64).doc("Player id");
const REASON: Col = member("reason", Category).doc("Reason of a null; null if there is no null");
const OFFSET: Col =
    member("offset_s", Float64).unit("s").doc("Offset to add to the time of an event for the time of its positions");
const LOW: Col = member("low_90", Float64).doc("Lower end of the 90 % interval");
const HIGH: Col = member("high_90", Float64).doc("Upper end of the 90 % interval");

pub static FRAMES: Table =
    table("tracking_frames", "").doc("One row for each player, and the ball, at each frame.").columns(&[
        SESSION_ID,
        PERIOD,
        FRAME,
        TIME,
        member("game_clock_s", Float64).unit("s").doc("Time left in the period"),
        member("shot_clock_s", Float64).unit("s").doc("Time left on the shot clock"),
        member("team_id", Int64).doc("Team id; null for the ball"),
        member("player_id", Int64).doc("Player id; null for the ball"),
        member("x_m", Float64).required().unit("m").frame("court").doc("Position across the court, from its centre"),
        member("y_m", Float64).required().unit("m").frame("court").doc("Position along the court, from its centre"),
        member("z_m", Float64).unit("m").frame("court").doc("Height above the floor"),
        member("speed_mps", Float64).unit("m/s").doc("Speed along the floor"),
        member("acceleration_mps2", Float64).unit("m/s²").doc("Change of the speed; negative when slowing down"),
        member("is_interpolated", Bool).required().doc("Whether the position lies between two positions of the sensor"),
        REASON,
    ]);

pub static OPPONENTS: Table = table("tracking_opponents", "").doc("One row for each player at each frame.").columns(&[
    SESSION_ID,
    PERIOD,
    FRAME,
    TIME,
    TEAM_ID,
    PLAYER_ID,
    member("nearest_player_id", Int64).doc("Player id of the nearest opponent on court"),
    member("distance_m", Float64).unit("m").doc("Distance to that opponent"),
    REASON,
]);

pub static DEFENDERS: Table =
    table("tracking_defenders", "").doc("One row for each shot, or for each of the given rows.").columns(&[
        SESSION_ID,
        GAME_ID,
        member("row", Int32).required().doc("Position among the shots or the given rows, from 0"),
        TEAM_ID,
        member("player_id", Int64).doc("Player id of the shooter, or of the given row"),
        PERIOD,
        member("occurred_at", TimestampMs).doc("Time of the row, in the clock of the events"),
        member("t", TimestampMs).doc("Time of the row, in the clock of the positions"),
        member("defender_id", Int64).doc("Player id of the nearest opponent on court"),
        member("distance_m", Float64).unit("m").doc("Distance to that defender"),
        member("second_defender_id", Int64).doc("Player id of the second nearest opponent on court"),
        member("second_distance_m", Float64).unit("m").doc("Distance to the second defender"),
        member("closing_speed_mps", Float64)
            .unit("m/s")
            .doc("Speed at which the distance to the defender shrinks; negative when it grows"),
        member("angle_deg", Float64).unit("degrees").doc(
            "Angle between hoop and defender, seen from the player; 0 if in between, null for a row without a hoop",
        ),
        member("openness", Category)
            .doc("Class of the distance: very_tight below 2 ft, tight below 4, open below 6, else wide_open"),
        member("service_defender_ids", ListInt64).doc("Player ids of the defenders that the service named"),
        OFFSET,
        REASON,
        member("is_make", Bool).doc("Whether the shot was made"),
        member("is_3point", Bool).doc("Whether the shot was a three-point attempt"),
        member("points", Int64).unit("points").doc("Points scored; 0 for a miss"),
        member("zone", Int64).doc("Court zone, 1 to 14"),
        member("hoop_player_x", Float64)
            .hoop()
            .doc("Offset of the shooter from the hoop to the right, for a view from the hoop to mid-court"),
        member("hoop_player_y", Float64).hoop().doc("Offset of the shooter from the hoop towards mid-court"),
        member("place_error_m", Float64).unit("m").doc("Distance from the place of the shot to the shooter's position"),
        member("ball_distance_m", Float64).unit("m").doc("Distance from the player to the ball"),
        member("service_defender_distance_m", Float64)
            .unit("m")
            .doc("Distance to the nearest of the defenders that the service named"),
    ]);

pub static MATCHUPS: Table =
    table("tracking_matchups", "").doc("One row for each attacker and defender who met.").columns(&[
        member("offense_player_id", Int64).required().doc("Player id of the attacker"),
        member("defense_player_id", Int64).required().doc("Player id of the defender"),
        member("guarded_s", Float64).unit("s").doc(
            "Time as nearest opponent in possessions of the attacker's team; null if a session has none, or one without its times",
        ),
        member("mean_distance_m", Float64).unit("m").doc("Mean distance in that time"),
        member("shots", Int64).required().doc("Shots of the attacker with this nearest defender"),
        member("makes", Int64).required().doc("Shots of them that were made"),
        member("points", Int64).required().unit("points").doc("Points of these shots"),
        member("low_90", Float64).doc("Lower end of Wilson's 90 % interval of makes / shots"),
        member("high_90", Float64).doc("Upper end of Wilson's 90 % interval of makes / shots"),
        member("offense_team_id", Int64).doc("Team id of the attacker"),
    ]);

pub static SHOT_QUALITY: Table =
    table("tracking_shot_quality", "").doc("One row for each group of shots whose defender is known.").columns(&[
        member("player_id", Int64).doc("Player id of the shooter; null if the groups have several"),
        member("team_id", Int64).doc("Team id of the shooter; null if the groups have several"),
        member("defender_id", Int64).doc("Player id of the nearest defender; null if the groups have several"),
        member("openness", Category).doc("Openness of the shots; null if the groups have several"),
        member("zone", Int64).doc("Court zone, 1 to 14; null if the groups have several"),
        member("shots", Int64).required().doc("Number of shots"),
        member("efg", Float64).required().doc("Effective field-goal share: (makes + made threes / 2) / shots"),
        member("expected_efg", Float64).required().doc("Mean of the share of all shots of the same zone and openness"),
        member("difference", Float64).required().doc("Difference of efg and expected_efg"),
        LOW,
        HIGH,
    ]);

pub static TOUCHES: Table = table("tracking_touches", "").doc("One row for each touch of the ball.").columns(&[
    SESSION_ID,
    GAME_ID,
    PERIOD,
    TEAM_ID,
    PLAYER_ID,
    member("start_t", TimestampMs).required().doc("Start of the touch"),
    member("end_t", TimestampMs).required().doc("End of the touch"),
    member("duration_s", Float64).required().unit("s").doc("Duration of the touch"),
    member("distance_with_ball_m", Float64).required().unit("m").doc("Distance that the player ran with the ball"),
    member("ended_by", Category).required().doc("End of the touch: pass, shot, turnover, dead_ball or other"),
]);

pub static PASSES: Table = table("tracking_passes", "").doc("One row for each pass between teammates.").columns(&[
    SESSION_ID,
    GAME_ID,
    PERIOD,
    TEAM_ID,
    member("passer_id", Int64).required().doc("Player id of the passer"),
    member("receiver_id", Int64).required().doc("Player id of the receiver"),
    member("t", TimestampMs).required().doc("Time at which the ball left the passer"),
    member("distance_m", Float64).required().unit("m").doc("Distance from the passer to the receiver"),
    member("air_time_s", Float64).required().unit("s").doc("Time between the two touches"),
]);

pub static SPACING: Table = table("tracking_spacing", "")
    .doc("One row for each possession of a team, or for each team at each frame.")
    .columns(&[
        SESSION_ID,
        GAME_ID,
        PERIOD,
        TEAM_ID,
        member("possession", Int32).doc("Position in the team's list of possessions, from 0; null by frame"),
        member("frame", Int32).doc("Position of the frame in its session, from 0; null by possession"),
        member("t", TimestampMs)
            .required()
            .doc("Start of the possession, or time of the frame, in the clock of the positions"),
        member("hull_area_m2", Float64).unit("m²").doc("Area of the convex hull of the team's five players"),
        member("mean_teammate_distance_m", Float64).unit("m").doc("Mean distance between two of them"),
        member("players_in_paint", Float64).doc("Number of them in either paint; a mean by possession"),
        member("ball_side_share", Float64)
            .doc("Share of them in the ball's half between the sidelines, with the middle line; null without a ball"),
        REASON,
    ]);

pub static LOADS: Table =
    table("tracking_loads", "").doc("One row for each player in a group, by default a period.").columns(&[
        member("session_id", Text).doc("Session id; null if the group has several"),
        member("game_id", Text).doc("Game id; null if the group has several or the tables have none"),
        member("period", Category)
            .doc("Period, such as Q1 or H1; null if the group has several or the tables have none"),
        TEAM_ID,
        PLAYER_ID,
        member("tracked_min", Float64).required().unit("min").doc("Time with positions at most 1 s apart"),
        member("seen_share", Float64).doc("Share of the expected frames in which the player was seen"),
        member("distance_m", Float64).unit("m").doc("Distance"),
        member("distance_m_per_min", Float64).unit("m/min").doc("Distance by tracked minute"),
        member("distance_band_1_m", Float64).unit("m").doc("Distance in the lowest speed band, by default below 2 m/s"),
        member("distance_band_2_m", Float64).unit("m").doc("Distance in the second band, by default from 2 m/s"),
        member("distance_band_3_m", Float64).unit("m").doc("Distance in the third band, by default from 4 m/s"),
        member("distance_band_4_m", Float64).unit("m").doc("Distance in the fourth band, by default from 5.5 m/s"),
        member("distance_band_5_m", Float64).unit("m").doc("Distance in the highest band, by default from 7 m/s"),
        member("sprints", Int64).doc("Times of at least 1 s in the highest band"),
        member("peak_speed_mps", Float64).unit("m/s").doc("Highest speed over a fifth of a second"),
        member("accelerations_2", Int64).doc("Times of at least 0.3 s above 2 m/s²"),
        member("accelerations_3", Int64).doc("Times of at least 0.3 s above 3 m/s²"),
        member("decelerations_2", Int64).doc("Times of at least 0.3 s below -2 m/s²"),
        member("decelerations_3", Int64).doc("Times of at least 0.3 s below -3 m/s²"),
        REASON,
    ]);

pub static COVERAGE: Table =
    table("tracking_coverage", "").doc("One row for each player, and the ball, in a session.").columns(&[
        SESSION_ID,
        GAME_ID,
        member("team_id", Int64).doc("Team id; null for the ball"),
        member("player_id", Int64).doc("Player id; null for the ball"),
        member("frames_expected", Int64).doc("Frames of the session at its rate"),
        member("frames_seen", Int64).required().doc("Frames with a possible position"),
        member("longest_gap_s", Float64)
            .unit("s")
            .doc("Longest time without one, from the start to the end of the session"),
        member("frames_off_court", Int64)
            .required()
            .doc("Positions left out because they are more than 2 m off the court"),
        member("teleports", Int64)
            .required()
            .doc("Positions left out because they need more than 12 m/s, or have a time half a day from the others"),
        member("rate_hz", Float64).unit("Hz").doc("Frames per second, measured in the session"),
        OFFSET,
    ]);
