"""What a live box score says beside its table: sides, clock, leaders, doubts and problems."""

from __future__ import annotations

import itertools
import json
import time
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import sideline
from sideline.live import Side

AT = datetime(2027, 3, 1, 12, 0, 5, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def later(seconds: float) -> datetime:
    return AT + timedelta(seconds=seconds)


def update(message: Any, seconds: float = 0.0, seq: int | None = None) -> sideline.Update:
    parts = None, "", json.dumps(message), None, seq, None, later(seconds) - EPOCH
    restore: Callable[..., sideline.Update] = getattr(sideline.Update, "_restore")  # noqa: B009
    return restore(*parts)


def stats(team: int, player: int, seconds: float = 0.0, **values: Any) -> sideline.Update:
    return update({"type": "stats", "data": {"team_id": team, "player_id": player, "stats": values}}, seconds)


def snapshot(points: Any, seconds: float = 0.0, **more: Any) -> sideline.Update:
    """The whole state: a player and the total of the home team, and a player of the away team."""
    names = {"firstname": "Ada", "lastname": "Lane"}
    home = [{"id": 0, "stats": {"PTS": points, "FL": 3}}, {"id": 7, "player_details": names, "stats": {"PTS": points}}]
    teams = [{"id": 1, "name": "Home", "player_stats": home}, {"id": 2, "name": "Away", "player_stats": [{"id": 9, "stats": {"PTS": 4}}]}]
    return update({"home_team_id": 1, "away_team_id": 2, "teams": teams, **more}, seconds)


def gap(start: float, end: float, *, is_final: bool = False) -> sideline.live.Gap:
    return sideline.live.Gap(later(start), later(end), "not recovered: refused" if is_final else "reset", is_final=is_final)


def score_of(*items: object) -> sideline.LiveBoxScore:
    score = sideline.LiveBoxScore()
    score.feed_all(items)
    return score


def test_before_the_first_item_nothing_is_known() -> None:
    score = score_of()
    assert (score.home, score.away, score.period, score.clock, score.clock_s) == (Side(), Side(), None, None, None)
    assert (score.stale, score.unreadable, score.problems, score.updated_at, score.ignored) == (False, 0, [], None, 0)
    assert score.leaders("PTS").to_dicts() == []


def test_a_roster_names_players_without_a_name_in_every_table() -> None:
    players = [
        {"id": 7, "first_name": "Rosa", "last_name": "Roster"},
        {"id": 8, "first_name": "Ida", "last_name": "Wren"},
        {"id": 9, "first_name": "Bea", "last_name": "Moss"},
    ]
    roster = sideline.Payload.from_bytes("roster", json.dumps({"id": 2, "name": "Away", "players": players}).encode())
    empty = update({"teams": [{"id": 2, "player_stats": [{"id": 8, "player_details": {"firstname": "", "lastname": ""}, "stats": {"PTS": 1}}]}]})
    for items in ([roster, snapshot(10), empty], [snapshot(10), empty, roster]):
        score = sideline.LiveBoxScore()
        for item in items:
            score.seed(item) if isinstance(item, sideline.Payload) else score.feed(item)
        names = {row["player_id"]: (row["first_name"], row["last_name"]) for row in score.table().to_dicts()}
        assert names == {0: (None, None), 7: ("Ada", "Lane"), 8: ("Ida", "Wren"), 9: ("Bea", "Moss")}, "a message's own name counts"
        assert [row["player_name"] for row in score.leaders("PTS").to_dicts()] == ["Ada Lane", "Bea Moss", "Ida Wren"]
        assert {row["last_name"] for row in score.to_dict()["rows"]} == {None, "Lane", "Wren", "Moss"}


def test_sides_have_what_is_known_of_them() -> None:
    score = score_of(snapshot(10, home_timeouts_left=2))
    assert score.home == Side(1, "Home", 10, 3, 2)
    assert score.away == Side(2, "Away", None, None, None)
    score.feed(update({"away_score": 4, "away_timeouts_left": 5}))
    assert (score.away.points, score.away.timeouts_left) == (4, 5)


@pytest.mark.parametrize(("points", "fouls"), [(1e300, 3), (9.5, 3), (10, 2.5)])
def test_points_and_fouls_that_are_no_counts_are_unknown(points: float, fouls: float) -> None:
    total = {"id": 0, "stats": {"PTS": points, "FL": fouls}}
    side = score_of(update({"home_team_id": 1, "teams": [{"id": 1, "player_stats": [total]}]})).home
    assert (side.points, side.fouls) == (10 if points == 10 else None, 3 if fouls == 3 else None)


@pytest.mark.parametrize(
    ("clock", "seconds"),
    [
        ("16:3.1", 963.1),
        ("12:30.0", 750.0),
        ("4.5", 4.5),
        ("00:15:00", 900.0),
        ("half", None),
        ("1:2:3:4", None),
        ("-1:00", None),
        ("1.5:00", None),
        ("٣:00", None),
        ("1..2", None),
    ],
)
def test_the_clock_is_that_of_the_service_and_its_seconds(clock: str, seconds: float | None) -> None:
    score = score_of(update({"source": "clock", "data": {"occurred_at": 5, "period": "H1", "game_clock": clock}}))
    assert (score.period, score.clock) == ("H1", clock)
    assert score.clock_s == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize("clock", ["9" * 310, "9" * 310 + ":1", "1:" + "9" * 310, "H" * 61])
def test_a_clock_that_is_too_long_is_none(clock: str) -> None:
    score = score_of(update({"game_clock": "9:00"}), update({"period": "Q2", "game_clock": clock}))
    assert (score.period, score.clock, score.clock_s) == ("Q2", None, None)


def clock_message(at: int | None, period: str, clock: str, home: int, seq: int | None = None) -> sideline.Update:
    data = {"period": period, "game_clock": clock, "home_team_id": 1, "away_team_id": 2, "home_score": home, "away_score": 8, "home_timeouts_left": home}
    return update({"source": "clock", "data": data if at is None else {"occurred_at": at, **data}}, seq=seq)


@pytest.mark.parametrize("seq", [None, 3])
def test_a_late_message_turns_neither_score_nor_period_nor_clock_back(seq: int | None) -> None:
    score = score_of(clock_message(2000, "Q2", "9:00", 10), clock_message(1000, "Q1", "0:10", 7, seq))
    assert (score.home.points, score.home.timeouts_left, score.period, score.clock) == (10, 10, "Q2", "9:00")
    score.feed(update({"homeTeamScore": {"teamId": "1", "value": 7}, "occurred_at": 1999}))
    assert score.home.points == 10
    score.feed(clock_message(2001, "Q1", "0:09", 9))
    assert (score.home.points, score.period, score.clock) == (9, "Q1", "0:09"), "a later message corrects it"
    score.feed(clock_message(None, "Q3", "8:00", 11))
    assert (score.home.points, score.period, score.clock) == (11, "Q3", "8:00")


def test_the_gap_before_a_stream_forgets_nothing_that_the_stream_said() -> None:
    """A page with a feed puts it behind what has arrived by then."""
    start = sideline.live.Gap(later(1), later(1), "started")
    score = score_of(clock_message(1000, "Q1", "9:00", 10), start)
    assert (score.home.points, score.period, score.clock, score.stale) == (10, "Q1", "9:00", True)


def test_the_score_of_a_state_counts_where_no_message_since_the_gap_had_one() -> None:
    totals = {"homeTeamScore": {"teamId": "1", "value": 24}, "awayTeamScore": {"teamId": "2", "value": 20}, "period": "Q2", "gameClock": "00:08:00"}
    body = {"stats": [{"tid": "1", "pid": "7", "totalStats": {"PTS": 24}}], "details": [], "gameTotals": totals}
    seeded_score = sideline.LiveBoxScore(sideline.Payload.from_bytes("catch_up", json.dumps(body).encode()))
    recovered = sideline.live.Recovered(gap(1, 2), (update(body, 8.1),), later(8))
    for score in (seeded_score, score_of(gap(1, 2), recovered)):
        assert (score.home, score.away) == (Side(1, points=24), Side(2, points=20))
        assert (score.period, score.clock) == (None, None), "a stream without periods would leave them as they are"
    score = score_of(gap(1, 2), update({"homeTeamScore": {"teamId": "1", "value": 26}}, 7), recovered)
    assert (score.home.points, score.away.points) == (26, 20)
    score = score_of(clock_message(1000, "Q1", "9:00", 10), gap(1, 2), recovered)
    assert (score.period, score.clock) == ("Q2", None), "the stream says when the next period begins"
    score.feed(clock_message(2000, "Q3", "10:00", 30))
    assert score.period == "Q3"
    score = score_of(clock_message(1000, "Q1", "9:00", 10), gap(1, 2), clock_message(2000, "Q3", "10:00", 30), recovered)
    assert (score.period, score.clock, score.home.points) == ("Q3", "10:00", 30)
    for invalid_totals in (None, [], "x", {"homeTeamScore": 5, "awayTeamScore": {"teamId": [], "value": "x"}}):
        assert score_of(sideline.live.Recovered(gap(1, 2), (update(body | {"gameTotals": invalid_totals}),), later(8))).home == Side()


@pytest.mark.parametrize("message", [{"home_team_id": 2}, {"away_team_id": 1}, {"home_team_id": 3, "away_team_id": 3}])
def test_one_team_is_not_both_sides(message: dict[str, Any]) -> None:
    score = score_of(snapshot(10), update(message))
    assert (score.home.team_id, score.away.team_id, score.home.points) == (1, 2, 10)
    score.feed(update({"home_team_id": 2, "away_team_id": 1}))
    assert (score.home.team_id, score.away.team_id) == (2, 1), "the sides were wrong before"


@pytest.mark.parametrize("seconds", [21, -3600])
def test_a_time_that_is_wrong_does_not_stop_the_clock(seconds: float) -> None:
    """One time of far in the future, or a clock of the service that is set back; the reader's may be set back too."""

    def message(at: int, clock: str, home: int, seconds: float) -> sideline.Update:
        return update(clock_message(at, "Q2", clock, home).to_dict(), seconds)

    score = score_of(message(1000, "9:00", 10, 0), message(4_000_000_000_000, "8:59", 11, 1), message(2000, "8:58", 12, 2))
    assert (score.home.points, score.clock) == (11, "8:59"), "it may be late"
    score.feed(message(22_000, "8:38", 13, 1 + seconds))
    assert (score.home.points, score.clock) == (13, "8:38")
    score.feed(message(21_000, "8:39", 12, 1 + seconds))
    assert (score.home.points, score.clock) == (13, "8:38"), "late"


def test_after_a_gap_what_no_recovery_brings_is_unknown() -> None:
    players = (update({"stats": [{"tid": "1", "pid": "7", "totalStats": {"PTS": 24}}], "details": []}, 8.1),)
    score = score_of(clock_message(1000, "Q1", "9:00", 10), gap(1, 2))
    assert (score.home.points, score.period, score.clock) == (None, None, None)
    score.feed(sideline.live.Recovered(gap(1, 2), players, later(8)))
    assert (score.stale, score.home, score.away.points) == (False, Side(1), None)
    score.feed(clock_message(3000, "Q2", "8:00", 24))
    score.feed(gap(1, 2, is_final=True))
    assert (score.home.points, score.period, score.clock) == (24, "Q2", "8:00"), "the gap was before them"
    score.feed(update({"source": "clock", "data": {"occurred_at": 2000, "home_score": 20, "period": "Q1"}}))
    assert (score.home.points, score.period) == (24, "Q2")


def test_leaders_are_the_players_with_the_highest_values() -> None:
    score = score_of(snapshot(10), stats(2, 8, PTS=10), stats(2, 6, AST=1))
    assert score.leaders("PTS", 2).to_dicts() == [
        {"team_id": 1, "team_name": "Home", "player_id": 7, "player_name": "Ada Lane", "value": 10.0},
        {"team_id": 2, "team_name": "Away", "player_id": 8, "player_name": None, "value": 10.0},
    ]
    assert score.leaders("PTS").num_rows == 3
    assert (score.leaders("AST").num_rows, score.leaders("BLK").num_rows) == (1, 0)
    for code, hint in {"NO_CODE": "$", "pts": "; did you mean PTS", "REBS": "; did you mean REB", "team_id": "$"}.items():
        with pytest.raises(ValueError, match=f"no player has a value of {code}{hint}"):
            score.leaders(code)
    assert sideline.LiveBoxScore().leaders("NO_CODE").num_rows == 0, "any code may still come"
    with pytest.raises(ValueError, match="count is 0; it must be a whole number of at least 1"):
        score.leaders("PTS", 0)
    with pytest.raises(TypeError, match='stat is a code such as "PTS"'):
        score.leaders(5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="count is a whole number; this one exceeds 64 bits"):
        score.leaders("PTS", 2**70)


def test_it_is_stale_while_a_gap_is_open() -> None:
    score = score_of(snapshot(10), gap(1, 2))
    assert score.stale
    state = (snapshot(12, 3.0),)
    score.feed(sideline.live.Recovering(gap(1, 2), state, ("plays",), later(2.5)))
    assert (score.home.points, score.stale) == (12, True)
    score.feed(sideline.live.Recovered(gap(1, 2), state, later(8)))
    assert not score.stale


def test_it_is_stale_when_the_connection_has_been_lost_for_a_second() -> None:
    now = datetime.now(UTC)
    score = score_of(sideline.live.Disconnected(now, "reset", None, 0, None))
    assert not score.stale
    time.sleep(1.1)
    assert score.stale
    score.feed(sideline.live.Connected(datetime.now(UTC)))
    assert not score.stale


def test_it_is_stale_after_a_final_gap_until_a_later_complete_state() -> None:
    score = score_of(gap(1, 2), gap(1, 2, is_final=True), snapshot(10, 1.5), stats(1, 7, 3.0, PTS=11))
    assert score.stale
    score.feed(snapshot("x", 4.0))
    assert score.stale, "a row of it is unreadable"
    score.feed(snapshot(12, 5.0))
    assert not score.stale


def test_a_row_that_is_left_out_is_counted_and_named_with_its_time() -> None:
    score = score_of(snapshot("x", 1.0), stats(1, 7, 2.0, PTS=5))
    assert (score.unreadable, score.updated_at) == (2, later(2))
    assert [(problem.received_at, problem.path) for problem in score.problems] == [(later(1), f"$.teams[0].player_stats[{row}].stats.PTS") for row in (0, 1)]
    assert all(problem.reason for problem in score.problems)
    for second in range(30):
        score.feed(stats(1, 7, second, PTS=[second]))
    assert (score.unreadable, len(score.problems), score.problems[-1].received_at) == (32, 20, later(29))


def test_the_time_of_the_last_change_follows_a_clock_that_is_set_back() -> None:
    score = score_of(stats(1, 7, 3600, PTS=2), stats(1, 7, 5, PTS=4))
    assert score.updated_at == later(5)
    score.feed(stats(1, 7, 9, PTS=4))
    assert score.updated_at == later(5), "nothing changed"


def test_it_is_one_dict_that_json_can_hold_but_for_times() -> None:
    score = score_of(snapshot(10, game_clock="16:3.1", period="H1"), stats(1, 7, 2.0, PTS=[]))
    summary = score.to_dict()
    assert sorted(summary) == ["away", "clock", "clock_s", "home", "period", "problems", "rows", "stale", "unreadable", "updated_at"]
    assert summary["home"] == {"team_id": 1, "name": "Home", "points": 10, "fouls": 3, "timeouts_left": None}
    assert (summary["clock"], summary["updated_at"], summary["unreadable"], len(summary["rows"])) == ("16:3.1", AT, 1, 3)
    assert json.loads(json.dumps(summary, default=str))["problems"][0]["path"] == "$.data.stats.PTS"
    assert repr(score) == "<sideline.LiveBoxScore 3 rows, 1 unreadable>"


def test_what_closes_a_gap_replaces_the_last_update_before_it() -> None:
    score = score_of(stats(1, 7, 0.0004, PTS=12, FG2=6))
    # Its last byte came half a millisecond later. The state has no code that is zero.
    first_gap = gap(0.0009, 1)
    state = (update({"stats": [{"tid": "1", "pid": "7", "totalStats": {"PTS": 10}}], "details": []}, 8.1),)
    score.feed_all([first_gap, sideline.live.Recovered(first_gap, state, later(8))])
    (row,) = score.table().to_dicts()
    assert (row["PTS"], row["FG2"]) == (10, None)


@pytest.mark.parametrize("item", [{"type": "stats", "data": {"team_id": 1, "player_id": 7, "stats": {"PTS": 2}}}, '{"type":"stats"}', b"{}", None, 5])
def test_what_is_no_item_of_a_stream_is_refused(item: object) -> None:
    score = sideline.LiveBoxScore()
    with pytest.raises(TypeError, match=rf"feed takes an item of a stream .* not {type(item).__name__}: pass the item itself"):
        score.feed(item)
    with pytest.raises(TypeError, match="feed takes an item of a stream"):
        score.feed_all([snapshot(2), item])
    assert score.table().num_rows == 3


def test_a_notice_of_a_class_of_your_own_is_that_of_its_base() -> None:
    class LoggedGap(sideline.live.Gap):
        pass

    class Note(sideline.live.Notice):
        pass

    score = score_of(stats(1, 7, PTS=12))
    assert not score.feed(Note())
    assert not score.feed(sideline.live.Notice())
    assert not score.stale
    score.feed(LoggedGap(later(1), later(2), "reset"))
    assert score.stale


LINE: dict[str, Any] = {"team_id": 1, "player_id": 7, "version": 3, "stats": {"PTS": 2}}


@pytest.mark.parametrize("envelope", [{}, {"source": "stats", "seq": 4}, {"type": "message", "source": "stats"}, {"type": "stats"}])
def test_a_stats_message_is_read_in_any_envelope(envelope: dict[str, Any]) -> None:
    message = update({**envelope, "data": LINE})
    assert [(row["player_id"], row["PTS"]) for row in score_of(message).table().to_dicts()] == [(7, 2)]
    text = json.dumps({**envelope, "data": LINE | {"stats": {"PTS": "many"}}})
    assert [problem.path for problem in score_of(update(json.loads(text))).problems] == ["$.data.stats.PTS"]


@pytest.mark.parametrize(
    "message",
    [
        {"type": "details", "data": LINE},
        {"data": {name: value for name, value in LINE.items() if name != "version"}},
        {"data": {name: value for name, value in LINE.items() if name != "team_id"}},
        {"data": LINE | {"stats": [2]}},
        LINE,
    ],
)
def test_what_may_be_the_increments_of_an_event_is_no_stats_message(message: dict[str, Any]) -> None:
    score = score_of(update(message))
    assert (score.table().num_rows, score.unreadable) == (0, 0)


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"id": 1, "player_stats": [{"id": 7, "stats": {"PTS": 2}}]}, ".player_stats[0].stats.PTS"),
        ([{"id": 1, "player_stats": [{"id": 7, "stats": {"PTS": 2}}]}], "[0].player_stats[0].stats.PTS"),
        ({"teams": [{"id": 1, "player_stats": [{"id": 7, "stats": {"PTS": 2}}]}]}, ".teams[0].player_stats[0].stats.PTS"),
        ({"stats": [{"pid": "7", "tid": "1", "totalStats": {"PTS": 2}}]}, ".stats[0].totalStats.PTS"),
    ],
)
def test_a_state_in_an_envelope_is_read_as_one_without(document: Any, path: str) -> None:
    for place, message in (("$", document), ("$.data", {"source": "broadcastsummary", "data": document})):
        assert [(row["player_id"], row["PTS"]) for row in score_of(update(message)).table().to_dicts()] == [(7, 2)]
        text = json.dumps(message).replace('"PTS": 2', '"PTS": "many"')
        assert [problem.path for problem in score_of(update(json.loads(text))).problems] == [place + path]


def test_a_repeated_value_is_no_change() -> None:
    score = sideline.LiveBoxScore()
    assert score.feed(stats(1, 7, 1, PTS=2))
    assert not score.feed(stats(1, 7, 2, PTS=2))
    assert (score.updated_at, score.ignored) == (later(1), 1)
    assert score.feed(stats(1, 7, 3, PTS=2, AST=1)), "a code is new"
    assert score.feed(stats(1, 7, 4, PTS=None))


def test_a_connection_that_was_lost_before_the_clock_was_set_back_is_stale() -> None:
    at = datetime.now(UTC) + timedelta(hours=1)
    assert score_of(sideline.live.Disconnected(at, "reset", None, 0, None)).stale


@pytest.mark.parametrize("place", ["firstname", "lastname", "name", "code"])
def test_the_names_and_codes_of_a_service_take_a_bounded_memory(place: str) -> None:
    score = score_of(snapshot(10))
    for player in range(1, 31):
        text = f"{player:02}" + "x" * (1 << 20)
        names = {place: text} if place.endswith("name") else {}
        values = {text: 1} if place == "code" else {"PTS": player}
        line = {"id": player, "player_details": names, "stats": values}
        score.feed(update({"teams": [{"id": 100 + player, "name": text if place == "name" else "T", "player_stats": [line]}]}))
    size = len(json.dumps(score.table().to_dicts())) if place != "code" else sum(map(len, score.table().column_names))
    assert 1 << 20 < size < 8 << 20
    assert score.unreadable >= 26 and all(len(problem.path + problem.reason) < 1000 for problem in score.problems)
    assert score.feed(stats(1, 7, 1, PTS=12)), "a row without a new name or code needs no room"


def test_teams_that_change_with_each_message_leave_no_names_behind() -> None:
    score = score_of(snapshot(10))
    tracemalloc.start()
    try:
        for team in range(2_000):
            score.feed(update({"home_team_id": team, "teams": [{"id": team, "name": f"{team:060}"}]}))
        assert tracemalloc.get_traced_memory()[0] < 100_000
    finally:
        tracemalloc.stop()
    assert score.home.name == f"{1_999:060}"


def whole(seconds: float, **lines: int | None) -> sideline.Update:
    """A snapshot of one team with these lines: `p7` is that of player 7, with its points and no version."""
    rows = [{"id": int(name[1:]), "stats": {"PTS": points}} for name, points in lines.items()]
    return update({"teams": [{"id": 1, "name": "Home", "player_stats": rows}]}, seconds)


def points_of(*items: object) -> dict[int, float | None]:
    return {row["player_id"]: row["PTS"] for row in score_of(*items).table().to_dicts()}


def test_what_two_snapshots_leave_out_is_unknown_and_after_one_the_score_is_stale() -> None:
    first = whole(1, p0=14, p7=10, p8=4, p9=0)
    later_one, later_two = whole(2, p0=12, p7=12), whole(3, p0=12, p7=12)
    assert (points_of(first, later_one), score_of(first, later_one).stale) == ({0: 12, 7: 12, 8: 4, 9: 0}, True)
    assert (points_of(first, later_one, later_two), score_of(first, later_one, later_two).stale) == ({0: 12, 7: 12, 8: None, 9: 0}, False)
    assert [row["player_id"] for row in score_of(first, later_one, later_two).leaders("PTS").to_dicts()] == [7, 9]
    back = whole(3, p0=18, p7=12, p8=6)
    assert (points_of(first, later_one, back), score_of(first, later_one, back).stale) == ({0: 18, 7: 12, 8: 6, 9: 0}, False)
    without_total = [whole(second, p7=12, p8=4) for second in (2, 3)]
    assert score_of(first, without_total[0]).stale
    assert (points_of(first, *without_total), score_of(first, *without_total).stale) == ({0: None, 7: 12, 8: 4, 9: 0}, False)


def test_a_snapshot_that_does_not_tell_leaves_lines_as_they_are() -> None:
    first = whole(1, p0=14, p7=10, p8=4, p9=0)
    other_team = update({"teams": [{"id": 2, "player_stats": [{"id": 21, "stats": {"PTS": 3}}]}]}, 2)
    assert points_of(first, other_team, other_team)[8] == 4
    unreadable = update({"teams": [{"id": 1, "player_stats": [{"id": 7, "stats": {"PTS": 12}}, {"id": "?", "stats": {"PTS": 4}}]}]}, 2)
    assert points_of(first, unreadable, unreadable)[8] == 4, "its line may be the unreadable one"
    lines = [[(7, 5, 10)], [(7, 6, 12), (8, 1, 2)], [(7, 5, 10)], [(7, 5, 10)]]
    documents = [{"teams": [{"id": 1, "player_stats": [{"id": p, "version": v, "stats": {"PTS": n}} for p, v, n in rows]}]} for rows in lines]
    assert points_of(*map(update, documents)) == {7: 12, 8: 2}, "an old one, repeated to a new connection"
    totals = [whole(1, p7=10), stats(1, 0, 1.5, PTS=10), whole(2, p7=10), whole(3, p7=10)]
    assert points_of(*totals)[0] == 10, "messages have it, and no snapshot"


def test_a_snapshot_of_two_teams_tells_of_a_third_that_it_leaves_out() -> None:
    """As of a team whose id has changed."""

    def both(first_team: int, seconds: float) -> sideline.Update:
        lines = {first_team: {"id": 7, "stats": {"PTS": 10}}, 2: {"id": 21, "stats": {"PTS": 3}}}
        return update({"teams": [{"id": team, "player_stats": [line]} for team, line in lines.items()]}, seconds)

    items = [both(1, 1), both(9, 2), both(9, 3)]
    assert [score_of(*items[:count]).stale for count in (1, 2, 3)] == [False, True, False]
    points = {(row["team_id"], row["player_id"]): row["PTS"] for row in score_of(*items).table().to_dicts()}
    assert points == {(1, 7): None, (2, 21): 3, (9, 7): 10}


def test_while_a_gap_is_open_only_what_closes_it_leaves_a_player_out() -> None:
    before = whole(0.5, p0=14, p7=10, p8=4, p9=0)
    partial = whole(3, p0=16, p7=12)
    assert points_of(before, gap(1, 2), partial, partial) == {0: 16, 7: 12, 8: 4, 9: 0}
    assert score_of(before, gap(1, 2), partial, partial).stale
    closed = sideline.live.Recovered(gap(1, 2), (whole(30, p7=12),), later(29))
    assert points_of(before, gap(1, 2), partial, closed) == {0: None, 7: 12, 8: None, 9: 0}, "zeros may be left out, and a total is never an old one"


def change(version: int, seconds: float, **values: float) -> sideline.Update:
    """A stats message of player 7 with a version."""
    data = {"occurred_at": 1000 + version, "team_id": 1, "player_id": 7, "version": version, "stats": values}
    return update({"type": "stats", "data": data}, seconds)


def test_a_late_message_brings_the_codes_of_which_there_is_nothing_newer() -> None:
    messages = [change(4, 0, PTS=2, AST=0), change(5, 0.1, PTS=4, FG=2), change(6, 0.2, AST=1), change(7, 0.3, PTS=3, FG=1), change(7, 0.3, REB=1)]
    for order in itertools.permutations(messages):
        score = score_of(*order, *order[:2])
        (row,) = score.table().to_dicts()
        assert (row["PTS"], row["FG"], row["AST"], row["REB"], row["version"]) == (3, 1, 1, 1, 7), order
        assert score.ignored >= 2


def test_a_whole_line_is_the_newest_of_every_code_that_it_leaves_out() -> None:
    def line(version: int, seconds: float, **values: float) -> sideline.Update:
        return update({"teams": [{"id": 1, "player_stats": [{"id": 7, "version": version, "stats": values}]}]}, seconds)

    def values(*items: object) -> tuple[Any, ...]:
        (row,) = score_of(*items).table().to_dicts()
        return row["PTS"], row["AST"], row["FG"]

    assert values(line(6, 1, PTS=4), change(5, 1.1, AST=1, PTS=2)) == (4, None, None)
    assert values(line(6, 1, PTS=4), line(5, 1.1, AST=1, PTS=2)) == (4, None, None)
    assert values(change(7, 1, AST=1), line(6, 1.1, PTS=4, AST=0), change(5, 1.2, FG=2)) == (4, 1, None)
    assert values(change(4, 1, PTS=2), change(7, 1, AST=1), line(6, 1.1, FG=1)) == (None, 1, 1)
    assert values(change(8, 1, AST=1), line(6, 1.1, PTS=4), change(7, 1.2, FG=2)) == (4, 1, 2)
    restart = change(900, 1, PTS=40), change(901, 1, AST=9), line(1, 30, PTS=41, AST=9), change(2, 30.1, AST=10)
    assert values(*restart) == (41, 10, None)
