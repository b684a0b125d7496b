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

VALUES: dict[str, re.Pattern[str]] = {
    "code": re.compile(r"[A-Z0-9_]{1,60}|[a-z][a-z_]{0,40}"),
    "clock": re.compile(r"[0-9:.]{1,15}"),
    "color": re.compile(r"#?[0-9A-Fa-f]{6}"),
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
