"""Which fields hold ids, names, codes or numbers of the game, by their names on the wire and in tables."""

import re
from functools import lru_cache
from typing import Literal

Kind = Literal["id", "jersey", "name", "code", "clock", "color", "token", "number", "text"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_IDS = _words("id sensor tag sid pid tid gid fid hid bid players shotDefenders request_id")
_ID_ENDINGS = ("_id", "_ids", "Id", "Ids", "ID")

_CODES = _words(
    "type status sport gender source season_type seasonType period prd game_type gameType position position_abbr "
    "classification possession_type details attributes st sst s sessionType session_type base_stats baseStats "
    "actual_stats actualStats act stat operation kind event reason openness ended_by table field"
)

_CLOCKS = _words(
    "game_clock shot_clock gc sc gameClock shotClock start_game_clock end_game_clock start_shot_clock "
    "end_shot_clock startGameClock endGameClock startShotClock endShotClock videoTimeMarkStart "
    "video_time_mark_start"
)

_NUMBERS = _words(
    "from to t timestamp endTimestamp version games_played value x y z zone advanced_zone az speed passes "
    "turnover half_court paint_touch ball_reversals ball_screens wing points pts px py pz hx hy hz hsx hsy d drb "
    "dd is3 player_x player_y player_z hoop_x hoop_y hoop_z hoop_player_x hoop_player_y hoop_to_event_x "
    "hoop_to_event_y playerX playerY playerZ hoopToEventX hoopToEventY screenerX screenerY screener_x screener_y "
    "is_make is_3point shot_distance_cm seq last_seq hlsStartOffset hlsVideoDelayMs hlsDuration startGameClockMs "
    "endGameClockMs"
)
_NUMBER_ENDINGS = ("_at", "_timestamp", "Timestamp", "_s", "_m", "_cm", "_ms")

_STAT_CODE = re.compile(r"[A-Z][A-Z0-9_]*")

KNOWN_KEYS = (
    _CODES
    | _CLOCKS
    | _NUMBERS
    | _IDS
    | _words(
        "AST BLK DEFENSIVE_REB DIST DRAG DROP FG FG2 FG3 FGA FGA2 FGA3 FGA3_OTD FGA_OTD FL FT FTA HANDOFF HEDGE LBTO "
        "OFFENSIVE_REB OPPOSING_TEAM_SCORE OTHER OVER PICK_N_POP PICK_N_ROLL PICK_N_SHORT_ROLL POP PTS REB REJECT "
        "RE_SCREEN ROLL SCREENED_SHOT SHORT_ROLL SLIP SNAKE SPLIT STAY STEP_UP STL SWITCH TEAM_SCORE TO UNDER "
        "_locations _possessions _possessions_summary _results _self _shots _stats _stats_details abbr actorId at away "
        "awayTeamScore away_score away_team_id away_team_name away_team_reference_id ballHandlerDefenderPlayerId "
        "ballHandlerPlayerId ball_screens_drag ball_screens_handoff ball_screens_left_wing ball_screens_middle_wing "
        "ball_screens_other ball_screens_pick_n_pop ball_screens_pick_n_roll ball_screens_pick_n_short_roll "
        "ball_screens_pop ball_screens_re_screen ball_screens_reject ball_screens_right_wing ball_screens_roll "
        "ball_screens_screened_shot ball_screens_short_roll ball_screens_slip ball_screens_snake ball_screens_split "
        "ball_screens_stay ball_screens_step_up ballscreens city clipId color_rgb conference_name corrected courtId "
        "court_name data defenderTeamId defensiveActions description display_name distance_cm drillDefinitionId "
        "end_timestamp ended_at error eventEndTimestamp eventId eventStartTimestamp event_id events facilityId "
        "facility_name fan_engagement_enabled first_name firstname gameId gameTotals game_attributes game_id games "
        "headshot_dark headshot_light headshot_transparent hlsFile hlsVideoStartTimestamp homeTeamScore "
        "home home_score home_team_id home_team_name home_team_reference_id image_dark image_dark_transparent "
        "image_light image_light_transparent image_profile is_active is_game_event is_practice_event is_scout "
        "is_starter jersey_number jersey_number_str key label last_name lastname league_name location_id locations "
        "logo_dark logo_dark_transparent logo_image_link logo_light logo_light_transparent logo_small_dark "
        "logo_small_dark_transparent logo_small_light logo_small_light_transparent message name occurred_at "
        "offensiveActions officials_team_id opposing_player_ids periodTotals player_details player_id player_ids "
        "player_shots player_stats possession_attributes possessions practiceDefinitionId practiceId "
        "profile_image_link reference_id results schedule_id screenerDefenderPlayerIds screenerPlayerIds seq "
        "sessionId sessions shot_attributes shots shottrackerRequestId special_services start_timestamp started_at "
        "state stats teamId teamPossessionId team_id team_images team_player_details team_player_images teams "
        "tipoff_at token totalStats totals tournament videoAttributes videos"
    )
)
"""Keys of the service's objects, which stay whatever the names of teams and players are."""

KNOWN_CODES = _words(
    "ACTIVE ACTUAL ASSIST AST BALL BALL_SCREEN BASKETBALL BLK BLOCK C CAS CLEAN DEFENSIVE_REB DEFENSIVE_REBOUND "
    "DERIVED DRILL DUNK F FADEAWAY FG FG2 FG3 FGA FGA2 FGA3 FGA3_OTD FGA_OTD FL FOOTBALL FOOTBALL_GAME_QUARTER "
    "FOUL FREE_THROW_MAKE FREE_THROW_MISS FT FTA G GAME GAME_END GAME_ROUND GUARDED HALF JUMPSHOT LAYUP LBTO "
    "LIVE_BALL_TURNOVER MAKE MEN MIC MISS OFFENSIVE_REB OFFENSIVE_REBOUND OTD PLAYER POP POST PRACTICE_DRILL PTS "
    "QUARTER REB REBOUND RECORDED REG SCHEDULE SESSION SHOTTRACKER STARTED STEAL STL SWITCH THREE_POINT_MAKE "
    "THREE_POINT_MISS TO TRACKING TURNOVER TWO_POINT_MAKE TWO_POINT_MISS UNGUARDED UNKNOWN VERIZON VIDEO WOMEN "
    "basketball football"
)
"""Codes that stay whatever the names are."""

VALUES: dict[str, re.Pattern[str]] = {
    "code": re.compile(r"[A-Z0-9_]{1,60}|[a-z][a-z_]{0,40}"),
    "clock": re.compile(r"[0-9:.]{1,15}"),
    "color": re.compile(r"#?[0-9A-Fa-f]{6}"),
    "number": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,15}\+00:00"),
}
"""Values of these kinds that stay; any other text in such a field is replaced."""

PERIOD = re.compile(r"(?:[QHP]|OT)[0-9]{0,2}")
"""A name of a session that stays."""

PATH_WORDS = _words(
    "v1 v2 data broadcast live teams events players game games stats schedule matchup _subscribe practices "
    "lineups sensor sensors assignments history details shots possessions summary locations ballscreens videos "
    "active colors event-stream locomotion mock-service"
)
QUERY_CODES = _words(
    "from to type seasonType weekNumber gender gamesonly workoutsonly reference mock source last_seq "
    "broadcast_summary_level resources"
)

MESSAGE_WORDS = _words(
    "a Access access and API apikey applicable at authenticate Authentication authentication Authorization be "
    "cannot code credentials data Data date denied does error Error exceed exceeded expired Forbidden forbidden "
    "found from Game game Gateway General greater header HMAC Id id in Internal internal Invalid invalid is it "
    "key less limit Locations match may Method method min Missing missing months must No no not Not of or "
    "parameter range rate Request request requested required resource Resource Restricted Server server Service "
    "service session SHOTS route Route matched those values with signature STATS system Team team than the "
    "timeframes timestamps to Token token Too Many Unauthorized Unavailable unavailable Unknown unknown Valid "
    "valid verified x-date x"
)
"""Words of error messages that stay."""


@lru_cache(4096)
def kind_of(field: str) -> Kind:
    """Return the kind of a field; that of an unknown field is "text"."""
    if field in _CODES:
        return "code"
    if field in _CLOCKS:
        return "clock"
    lower_case = field.lower()
    if lower_case.endswith("token"):
        return "token"
    if "jersey" in lower_case:
        return "jersey"
    if field in _IDS or field.endswith(_ID_ENDINGS):
        return "id"
    if "color" in lower_case:
        return "color"
    if lower_case.endswith("name"):
        return "name"
    if field in _NUMBERS or field.endswith(_NUMBER_ENDINGS) or field.startswith("ball_screens_"):
        return "number"
    return "number" if _STAT_CODE.fullmatch(field) else "text"
