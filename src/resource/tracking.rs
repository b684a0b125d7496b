//! The answers from positions: `sideline.Tracking`.

use tables::{Col, Resource, Table, Ty::*, col, table};

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

const SESSION_ID: Col = col("session_id", Text, "session_id").doc("Session id");
const GAME_ID: Col = col("game_id", Text, "game_id").doc("Game id, if the tables have one");
const PERIOD: Col = col("period", Category, "period").doc("Period, such as Q1 or H1, if the tables have one");
const FRAME: Col = col("frame", Int32, "frame").required().doc("Position of the frame in its session, from 0");
const TIME: Col = col("t", TimestampMs, "t").required().doc("Time of the frame, in the clock of the positions");
const TEAM_ID: Col = col("team_id", Int64, "team_id").doc("Team id");
const PLAYER_ID: Col = col("player_id", Int64, "player_id").doc("Player id");
const REASON: Col = col("reason", Category, "reason").doc("Reason of a null; null if there is no null");
const OFFSET: Col = col("offset_s", Float64, "offset_s")
    .unit("s")
    .doc("Offset to add to the time of an event for the time of its positions");
const LOW: Col = col("low_90", Float64, "low_90").doc("Lower end of the 90 % interval");
const HIGH: Col = col("high_90", Float64, "high_90").doc("Upper end of the 90 % interval");

pub static FRAMES: Table =
    table("tracking_frames", "").doc("One row for each player, and the ball, at each frame.").columns(&[
        SESSION_ID,
        PERIOD,
        FRAME,
        TIME,
        col("game_clock_s", Float64, "game_clock_s").unit("s").doc("Time left in the period"),
        col("shot_clock_s", Float64, "shot_clock_s").unit("s").doc("Time left on the shot clock"),
        col("team_id", Int64, "team_id").doc("Team id; null for the ball"),
        col("player_id", Int64, "player_id").doc("Player id; null for the ball"),
        col("x_m", Float64, "x_m")
            .required()
            .unit("m")
            .frame("court")
            .doc("Position across the court, from its centre"),
        col("y_m", Float64, "y_m").required().unit("m").frame("court").doc("Position along the court, from its centre"),
        col("z_m", Float64, "z_m").unit("m").frame("court").doc("Height above the floor"),
        col("speed_mps", Float64, "speed_mps").unit("m/s").doc("Speed along the floor"),
        col("acceleration_mps2", Float64, "acceleration_mps2")
            .unit("m/s²")
            .doc("Change of the speed; negative when slowing down"),
        col("is_interpolated", Bool, "is_interpolated")
            .required()
            .doc("Whether the position lies between two positions of the sensor"),
        REASON,
    ]);

pub static OPPONENTS: Table = table("tracking_opponents", "").doc("One row for each player at each frame.").columns(&[
    SESSION_ID,
    PERIOD,
    FRAME,
    TIME,
    TEAM_ID,
    PLAYER_ID,
    col("nearest_player_id", Int64, "nearest_player_id").doc("Player id of the nearest opponent on court"),
    col("distance_m", Float64, "distance_m").unit("m").doc("Distance to that opponent"),
    REASON,
]);

pub static DEFENDERS: Table =
    table("tracking_defenders", "").doc("One row for each shot, or for each of the given rows.").columns(&[
        SESSION_ID,
        GAME_ID,
        col("row", Int32, "row").required().doc("Position among the shots or the given rows, from 0"),
        TEAM_ID,
        col("player_id", Int64, "player_id").doc("Player id of the shooter, or of the given row"),
        PERIOD,
        col("occurred_at", TimestampMs, "occurred_at").doc("Time of the row, in the clock of the events"),
        col("t", TimestampMs, "t").doc("Time of the row, in the clock of the positions"),
        col("defender_id", Int64, "defender_id").doc("Player id of the nearest opponent on court"),
        col("distance_m", Float64, "distance_m").unit("m").doc("Distance to that defender"),
        col("second_defender_id", Int64, "second_defender_id").doc("Player id of the second nearest opponent on court"),
        col("second_distance_m", Float64, "second_distance_m").unit("m").doc("Distance to the second defender"),
        col("closing_speed_mps", Float64, "closing_speed_mps")
            .unit("m/s")
            .doc("Speed at which the distance to the defender shrinks; negative when it grows"),
        col("angle_deg", Float64, "angle_deg")
            .unit("degrees")
            .doc("Angle between the directions to the hoop and to the defender; 0 for a defender in between"),
        col("openness", Category, "openness")
            .doc("Class of the distance: very_tight below 2 ft, tight below 4, open below 6, else wide_open"),
        col("service_defender_ids", ListInt64, "service_defender_ids")
            .doc("Player ids of the defenders that the service named"),
        OFFSET,
        REASON,
        col("is_make", Bool, "is_make").doc("Whether the shot was made"),
        col("is_3point", Bool, "is_3point").doc("Whether the shot was a three-point attempt"),
        col("points", Int64, "points").unit("points").doc("Points scored; 0 for a miss"),
        col("zone", Int64, "zone").doc("Court zone, 1 to 14"),
        col("hoop_player_x", Float64, "hoop_player_x")
            .hoop()
            .doc("Offset of the shooter from the hoop to the right, for a view from the hoop to mid-court"),
        col("hoop_player_y", Float64, "hoop_player_y")
            .hoop()
            .doc("Offset of the shooter from the hoop towards mid-court"),
        col("place_error_m", Float64, "place_error_m")
            .unit("m")
            .doc("Distance from the place of the shot to the shooter's position"),
        col("ball_distance_m", Float64, "ball_distance_m").unit("m").doc("Distance from the player to the ball"),
        col("service_defender_distance_m", Float64, "service_defender_distance_m")
            .unit("m")
            .doc("Distance to the nearest of the defenders that the service named"),
    ]);

pub static MATCHUPS: Table =
    table("tracking_matchups", "").doc("One row for each attacker and defender who met.").columns(&[
        col("offense_player_id", Int64, "offense_player_id").required().doc("Player id of the attacker"),
        col("defense_player_id", Int64, "defense_player_id").required().doc("Player id of the defender"),
        col("guarded_s", Float64, "guarded_s")
            .unit("s")
            .doc("Time as nearest opponent while the attacker's team had the ball; null without possessions"),
        col("mean_distance_m", Float64, "mean_distance_m").unit("m").doc("Mean distance in that time"),
        col("shots", Int64, "shots").required().doc("Shots of the attacker with this nearest defender"),
        col("makes", Int64, "makes").required().doc("Shots of them that were made"),
        col("points", Int64, "points").required().unit("points").doc("Points of these shots"),
        col("low_90", Float64, "low_90").doc("Lower end of Wilson's 90 % interval of makes / shots"),
        col("high_90", Float64, "high_90").doc("Upper end of Wilson's 90 % interval of makes / shots"),
        col("offense_team_id", Int64, "offense_team_id").doc("Team id of the attacker"),
    ]);

pub static SHOT_QUALITY: Table =
    table("tracking_shot_quality", "").doc("One row for each group of shots whose defender is known.").columns(&[
        col("player_id", Int64, "player_id").doc("Player id of the shooter; null if the groups have several"),
        col("team_id", Int64, "team_id").doc("Team id of the shooter; null if the groups have several"),
        col("defender_id", Int64, "defender_id")
            .doc("Player id of the nearest defender; null if the groups have several"),
        col("openness", Category, "openness").doc("Openness of the shots; null if the groups have several"),
        col("zone", Int64, "zone").doc("Court zone, 1 to 14; null if the groups have several"),
        col("shots", Int64, "shots").required().doc("Number of shots"),
        col("efg", Float64, "efg").required().doc("Effective field-goal share: (makes + made threes / 2) / shots"),
        col("expected_efg", Float64, "expected_efg")
            .required()
            .doc("Mean of the share of all shots of the same zone and openness"),
        col("difference", Float64, "difference").required().doc("Difference of efg and expected_efg"),
        LOW,
        HIGH,
    ]);

pub static TOUCHES: Table = table("tracking_touches", "").doc("One row for each touch of the ball.").columns(&[
    SESSION_ID,
    GAME_ID,
    PERIOD,
    TEAM_ID,
    PLAYER_ID,
    col("start_t", TimestampMs, "start_t").required().doc("Start of the touch"),
    col("end_t", TimestampMs, "end_t").required().doc("End of the touch"),
    col("duration_s", Float64, "duration_s").required().unit("s").doc("Duration of the touch"),
    col("distance_with_ball_m", Float64, "distance_with_ball_m")
        .required()
        .unit("m")
        .doc("Distance that the player ran with the ball"),
    col("ended_by", Category, "ended_by").required().doc("End of the touch: pass, shot, turnover, dead_ball or other"),
]);

pub static PASSES: Table = table("tracking_passes", "").doc("One row for each pass between teammates.").columns(&[
    SESSION_ID,
    GAME_ID,
    PERIOD,
    TEAM_ID,
    col("passer_id", Int64, "passer_id").required().doc("Player id of the passer"),
    col("receiver_id", Int64, "receiver_id").required().doc("Player id of the receiver"),
    col("t", TimestampMs, "t").required().doc("Time at which the ball left the passer"),
    col("distance_m", Float64, "distance_m").required().unit("m").doc("Distance from the passer to the receiver"),
    col("air_time_s", Float64, "air_time_s").required().unit("s").doc("Time between the two touches"),
]);

pub static SPACING: Table = table("tracking_spacing", "")
    .doc("One row for each possession of a team, or for each team at each frame.")
    .columns(&[
        SESSION_ID,
        GAME_ID,
        PERIOD,
        TEAM_ID,
        col("possession", Int32, "possession").doc("Position in the team's list of possessions, from 0; null by frame"),
        col("frame", Int32, "frame").doc("Position of the frame in its session, from 0; null by possession"),
        col("t", TimestampMs, "t")
            .required()
            .doc("Start of the possession, or time of the frame, in the clock of the positions"),
        col("hull_area_m2", Float64, "hull_area_m2")
            .unit("m²")
            .doc("Area of the convex hull of the team's five players"),
        col("mean_teammate_distance_m", Float64, "mean_teammate_distance_m")
            .unit("m")
            .doc("Mean distance between two of them"),
        col("players_in_paint", Float64, "players_in_paint").doc("Number of them in the paint; a mean by possession"),
        col("ball_side_share", Float64, "ball_side_share")
            .doc("Share of them in the half between the sidelines that the ball is in; null without a ball"),
        REASON,
    ]);

pub static LOADS: Table =
    table("tracking_loads", "").doc("One row for each player in a group, by default a period.").columns(&[
        col("session_id", Text, "session_id").doc("Session id; null if the group has several"),
        col("game_id", Text, "game_id").doc("Game id; null if the group has several or the tables have none"),
        col("period", Category, "period")
            .doc("Period, such as Q1 or H1; null if the group has several or the tables have none"),
        TEAM_ID,
        PLAYER_ID,
        col("tracked_min", Float64, "tracked_min").required().unit("min").doc("Time with positions at most 1 s apart"),
        col("seen_share", Float64, "seen_share").doc("Share of the expected frames in which the player was seen"),
        col("distance_m", Float64, "distance_m").unit("m").doc("Distance"),
        col("distance_m_per_min", Float64, "distance_m_per_min").unit("m/min").doc("Distance by tracked minute"),
        col("distance_band_1_m", Float64, "distance_band_1_m")
            .unit("m")
            .doc("Distance in the lowest speed band, by default below 2 m/s"),
        col("distance_band_2_m", Float64, "distance_band_2_m")
            .unit("m")
            .doc("Distance in the second band, by default from 2 m/s"),
        col("distance_band_3_m", Float64, "distance_band_3_m")
            .unit("m")
            .doc("Distance in the third band, by default from 4 m/s"),
        col("distance_band_4_m", Float64, "distance_band_4_m")
            .unit("m")
            .doc("Distance in the fourth band, by default from 5.5 m/s"),
        col("distance_band_5_m", Float64, "distance_band_5_m")
            .unit("m")
            .doc("Distance in the highest band, by default from 7 m/s"),
        col("sprints", Int64, "sprints").doc("Times of at least 1 s in the highest band"),
        col("peak_speed_mps", Float64, "peak_speed_mps").unit("m/s").doc("Highest speed over a fifth of a second"),
        col("accelerations_2", Int64, "accelerations_2").doc("Times of at least 0.3 s above 2 m/s²"),
        col("accelerations_3", Int64, "accelerations_3").doc("Times of at least 0.3 s above 3 m/s²"),
        col("decelerations_2", Int64, "decelerations_2").doc("Times of at least 0.3 s below -2 m/s²"),
        col("decelerations_3", Int64, "decelerations_3").doc("Times of at least 0.3 s below -3 m/s²"),
        REASON,
    ]);

pub static COVERAGE: Table =
    table("tracking_coverage", "").doc("One row for each player, and the ball, in a session.").columns(&[
        SESSION_ID,
        GAME_ID,
        col("team_id", Int64, "team_id").doc("Team id; null for the ball"),
        col("player_id", Int64, "player_id").doc("Player id; null for the ball"),
        col("frames_expected", Int64, "frames_expected").doc("Frames of the session at its rate"),
        col("frames_seen", Int64, "frames_seen").required().doc("Frames with a possible position"),
        col("longest_gap_s", Float64, "longest_gap_s")
            .unit("s")
            .doc("Longest time without one, from the start to the end of the session"),
        col("frames_off_court", Int64, "frames_off_court")
            .required()
            .doc("Positions left out because they are more than 2 m off the court"),
        col("teleports", Int64, "teleports")
            .required()
            .doc("Positions left out because they need more than 12 m/s, or have a time half a day from the others"),
        col("rate_hz", Float64, "rate_hz").unit("Hz").doc("Frames per second, measured in the session"),
        OFFSET,
    ]);
