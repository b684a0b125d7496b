"""The contract's columns of every table, written by hand. A version may append columns: these stay, first and in this order."""

from __future__ import annotations

from typing import Any

from needs import library

import sideline
from sideline._core import _operations

pa = library("pyarrow")

TYPES = {
    "id": pa.int64(),
    "int": pa.int64(),
    "int32": pa.int32(),
    "text": pa.string(),
    "cat": pa.dictionary(pa.int32(), pa.string()),
    "num": pa.float64(),
    "flag": pa.bool_(),
    "when": pa.timestamp("ms", tz="UTC"),
    "ids": pa.list_(pa.int64()),
    "texts": pa.list_(pa.string()),
    "map": pa.map_(pa.string(), pa.float64()),
}
CODES = ["FG", "FGA", "FG2", "FGA2", "FG3", "FGA3", "FT", "FTA", "PTS", "AST", "TO", "STL", "BLK", "REB", "OFFENSIVE_REB",
         "DEFENSIVE_REB", "FL", "DIST"]  # fmt: skip
ATTRIBUTES = [
    "turnover", "passes", "half_court", "paint_touch", "ball_reversals", "ball_screens",
    *("ball_screens_" + kind for kind in (
        "left_wing", "middle_wing", "right_wing", "pick_n_pop", "pick_n_roll", "pick_n_short_roll", "screened_shot", "handoff", "drag",
        "pop", "roll", "slip", "short_roll", "reject", "re_screen", "stay", "step_up", "snake", "split", "other")),
]  # fmt: skip
CLOCKS = "game_clock? text, game_clock_s? num, shot_clock? text, shot_clock_s? num"
WHO = "team_id id, team_name? text, player_id id, first_name? text, last_name? text, is_team_total flag, version? int"
TEAM_COLUMNS = "team_id id, name? text, gender? cat, conference_name? text, league_name? text, sport? cat, reference_id? text"
# In order: name, `?` where it may be null, type.
COLUMNS = {
    "teams": TEAM_COLUMNS,
    "players": "team_id id, player_id id, first_name? text, last_name? text, display_name? text, jersey_number? int,"
    " jersey_number_str? text, position? cat, is_active? flag, is_starter? flag, is_scout? flag, reference_id? text, sensor? int,"
    " profile_image_link? text, image_light? text, image_dark? text, image_light_transparent? text, image_dark_transparent? text,"
    " headshot_light? text, headshot_dark? text, headshot_transparent? text, image_profile? text",
    "special_services": "team_id id, player_id id, type? cat, value? text",
    "team": TEAM_COLUMNS + ", logo_image_link? text, logo_small_light? text, logo_small_dark? text,"
    " logo_small_light_transparent? text, logo_small_dark_transparent? text, logo_light? text, logo_dark? text,"
    " logo_light_transparent? text, logo_dark_transparent? text",
    "games": "game_id text, tipoff_at? when, status? cat, type? cat, gender? cat, home_team_id? id, home_team_name? text,"
    " away_team_id? id, away_team_name? text, home_team_reference_id? text, away_team_reference_id? text, officials_team_id? id,"
    " facility_name? text, court_name? text, location_id? text, court_id? text, facility_id? text, tournament? text,"
    " reference_id? text, fan_engagement_enabled? flag, source? cat, results_link? text",
    "events": "team_id? id, event_id text, game_id? text, name? text, source? cat, is_practice_event? flag, is_game_event? flag,"
    " started_at? when, ended_at? when, game_type? cat, home_team_id? id, home_team_name? text, away_team_id? id,"
    " away_team_name? text, self_link? text, stats_details_link? text",
    "sessions": "team_id? id, event_id text, game_id? text, session_id text, position int32, name? text, type? cat,"
    " started_at? when, ended_at? when, stats_link? text, stats_details_link? text, shots_link? text, possessions_link? text",
    "location_windows": "event_id? text, game_id? text, session_id text, start when, end when, link text",
    "player_stats": f"session_id? text, game_id? text, {WHO}, games_played? int, stat cat, value? num",
    "box_score": f"session_id? text, game_id? text, {WHO}, games_played? int, " + ", ".join(f"{c}? num" for c in CODES),
    "game_box_score": "game_id text, team_id id, team_name? text, player_id id, player_name? text, is_team_total flag,"
    " did_not_play flag, source cat, " + ", ".join(f"{c}? num" for c in CODES),
    "stat_events": f"session_id? text, game_id? text, {WHO}, stat cat, occurred_at? when, value? num, {CLOCKS}, period? cat,"
    " x? num, y? num, z? num, hoop_to_event_x? num, hoop_to_event_y? num",
    "possessions": "session_id text, game_id? text, team_id id, team_name? text, possession int32, start_timestamp? when, end_timestamp? when,"
    " start_game_clock? text, start_game_clock_s? num, end_game_clock? text, end_game_clock_s? num, period? cat, player_ids? ids,"
    " opposing_player_ids? ids, lineup_id? text, opposing_lineup_id? text, "
    + ", ".join(f"{n}? {'flag' if n in ('half_court', 'paint_touch') else 'int'}" for n in ATTRIBUTES)
    + ", locations_link? text",
    "possession_events": "session_id text, game_id? text, team_id id, possession int32, position int32, timestamp? when, possession_type? cat,"
    f" details? texts, player_id? id, {CLOCKS}, shot_distance_cm? num, x? num, y? num, z? num, zone? int, advanced_zone? int,"
    " is_3point? flag",
    "possession_players": "session_id? text, game_id? text, team_id id, player_id id, first_name? text, last_name? text, profile_image_link? text",
    "shots": "session_id? text, game_id? text, team_id? id, player_id? id, occurred_at? when, is_make? flag, is_3point? flag,"
    " points? int, zone? int, advanced_zone? int, player_x? num, player_y? num, player_z? num, hoop_x? num, hoop_y? num,"
    f" hoop_z? num, hoop_player_x? num, hoop_player_y? num, distance_cm? num, status? cat, {CLOCKS}, period? cat,"
    " attributes? texts, defender_ids? ids",
    "live_items": "kind cat, at when, event? cat, id? text, seq? int, source? cat, text? text, start? when, end? when, reason? text,"
    " status? int, attempt? int, retry_at? when, dropped? int",
    "stat_updates": "occurred_at? when, team_id? id, player_id? id, stat cat, value? num, classification? cat, version? int, seq? int, source? cat",
    "live_leaders": "team_id id, team_name? text, player_id id, player_name? text, value num",
    "play_by_play": "game_id? text, session_id? text, event_id text, type? cat, timestamp? when, team_id? id, session_type? cat,"
    " practice_id? text, practice_definition_id? text, drill_definition_id? text, stats? map, corrected? flag, facility_id? text,"
    f" court_id? text, {CLOCKS}, period? cat, player_x? num, player_y? num, player_z? num, hoop_to_event_x? num,"
    " hoop_to_event_y? num, clip_id? text, classification? cat, description? text, base_stats? cat, actual_stats? cat, act? cat,"
    " player_id? id",
    "ball_screens": "game_id? text, session_id? text, event_id text, timestamp? when, end_timestamp? when, type? cat,"
    " team_possession_id? text, session_type? cat, period? cat, source? cat, corrected? flag, ball_handler_player_id? id,"
    " ball_handler_defender_player_id? id, screener_player_ids? ids, screener_defender_player_ids? ids, offensive_actions? map,"
    " defensive_actions? map, team_id? id, defender_team_id? id, screener_x? num, screener_y? num, wing? int,"
    " video_time_mark_start? text, start_game_clock? text, start_game_clock_s? num, end_game_clock? text, end_game_clock_s? num,"
    " start_shot_clock? text, start_shot_clock_s? num, end_shot_clock? text, end_shot_clock_s? num",
    "videos": "game_id? text, session_id? text, hls_file? text, hls_video_start_timestamp? when, hls_start_offset? num, hls_video_delay_ms? num,"
    " hls_duration? num, period? cat, event_start_timestamp? when, event_end_timestamp? when, start_game_clock_ms? num, end_game_clock_ms? num,"
    " source? cat, team_id? id, player_id? id, facility_id? text",
    "corrections": "table cat, team_id? id, game_id? text, session_id? text, player_id? id, key? text, field text, old? text, new? text,"
    " old_version? int, new_version? int, seen_at when",
    "coverage": "operation cat, team_id? id, game_id? text, session_id? text, start? when, end? when, status cat, rows int, request_id? text,"
    " error? text, attempts int32, fetched_at? when, unit text, served_at? when, listed_at? when",
    "drift": "operation cat, path text, first_seen when, count int, type? cat",
    "violations": "rule cat, team_id? id, game_id? text, session_id? text, player_id? id, expected? text, found? text, message text",
    "tracking_frames": "session_id? text, period? cat, frame int32, t when, game_clock_s? num, shot_clock_s? num, team_id? id, player_id? id,"
    " x_m num, y_m num, z_m? num, speed_mps? num, acceleration_mps2? num, is_interpolated flag, reason? cat",
    "tracking_opponents": "session_id? text, period? cat, frame int32, t when, team_id? id, player_id? id, nearest_player_id? id, distance_m? num, reason? cat",
    "tracking_defenders": "session_id? text, game_id? text, row int32, team_id? id, player_id? id, period? cat, occurred_at? when, t? when,"
    " defender_id? id, distance_m? num, second_defender_id? id, second_distance_m? num, closing_speed_mps? num, angle_deg?"
    " num, openness? cat, service_defender_ids? ids, offset_s? num, reason? cat, is_make? flag, is_3point? flag, points?"
    " int, zone? int, hoop_player_x? num, hoop_player_y? num,"
    " place_error_m? num, ball_distance_m? num, service_defender_distance_m? num",
    "tracking_matchups": "offense_player_id id, defense_player_id id, guarded_s? num, mean_distance_m? num, shots int, makes int, points int,"
    " low_90? num, high_90? num, offense_team_id? id",
    "tracking_shot_quality": "player_id? id, team_id? id, defender_id? id, openness? cat, zone? int, shots int, efg num, expected_efg num,"
    " difference num, low_90? num, high_90? num",
    "tracking_touches": "session_id? text, game_id? text, period? cat, team_id? id, player_id? id, start_t when, end_t when, duration_s num,"
    " distance_with_ball_m num, ended_by cat",
    "tracking_passes": "session_id? text, game_id? text, period? cat, team_id? id, passer_id id, receiver_id id, t when, distance_m num, air_time_s num",
    "tracking_spacing": "session_id? text, game_id? text, period? cat, team_id? id, possession? int32, frame? int32, t when, hull_area_m2? num,"
    " mean_teammate_distance_m? num, players_in_paint? num, ball_side_share? num, reason? cat",
    "tracking_loads": "session_id? text, game_id? text, period? cat, team_id? id, player_id? id, tracked_min num, seen_share? num,"
    " distance_m? num, distance_m_per_min? num, distance_band_1_m? num, distance_band_2_m? num, distance_band_3_m? num,"
    " distance_band_4_m? num, distance_band_5_m? num, sprints? int, peak_speed_mps? num, accelerations_2? int,"
    " accelerations_3? int, decelerations_2? int, decelerations_3? int, reason? cat",
    "tracking_coverage": "session_id? text, game_id? text, team_id? id, player_id? id, frames_expected? int, frames_seen int, longest_gap_s?"
    " num, frames_off_court int, teleports int, rate_hz? num, offset_s? num",
    "locations": f"session_id? text, game_id? text, t when, type? cat, team_id? id, player_id? id, tag? text, x? num, y? num, z? num, speed? num, {CLOCKS}",
}


def columns(table: str) -> list[tuple[str, pa.DataType, bool]]:
    fields = (column.split() for column in COLUMNS[table].split(","))
    return [(name.rstrip("?"), TYPES[kind], name.endswith("?")) for name, kind in fields]


def appended_columns(table: str) -> list[str]:
    """The names of the columns that follow those of the contract."""
    return sideline.SCHEMAS[table].names[len(columns(table)) :]


def rows_of(table: sideline.Table) -> list[dict[str, Any]]:
    """Rows with the contract's columns, and each stat code that has a value; test_tables.py tests the appended columns."""
    rows = table.to_dicts()
    codes = {column for row in rows for column, value in row.items() if column.isupper() and value is not None}
    empty_codes = set(appended_columns(table.name)) - codes
    return [{column: value for column, value in row.items() if column not in empty_codes} for row in rows]


def operations() -> list[dict[str, Any]]:
    """The operations of the core: for each its name, path and arguments."""
    result: list[dict[str, Any]] = _operations()
    return result
