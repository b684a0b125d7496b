"""The scoreboard of a watched game: from the items of its stream to a view, without a connection."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from needs import library

import sideline
from sideline import court
from sideline.live import StreamStats
from sideline.live._court_svg import half_court
from sideline.live._scoreboard import MAX_NOTICES, MAX_PLAYERS, MAX_PLAYS, MAX_SHOTS, GameView, Scoreboard
from sideline.live._terminal import render

rich = library("rich.console")

AT = datetime(2027, 3, 1, 12, 0, 5, tzinfo=UTC)
STATS = StreamStats(updates=3, bytes=90, reconnects=0, gaps=0, open_gaps=0, recovered=0, repeats=0, dropped=0, unreadable=0, buffer_bytes=0, lag=0.0)
HOME, AWAY = 1, 2


def update(message: Any, seq: int | None = None) -> sideline.Update:
    item: sideline.Update = getattr(sideline.Update, "_restore")(  # noqa: B009
        None, "", message if isinstance(message, str) else json.dumps(message), None, seq, None, AT - datetime(1970, 1, 1, tzinfo=UTC)
    )
    return item


def stats(team: int, player: int, version: int, values: dict[str, float], classification: str = "TWO_POINT_MAKE", at: int = 1) -> sideline.Update:
    data = {"occurred_at": at, "team_id": team, "player_id": player, "stats": values, "classification": classification, "version": version}
    return update({"type": "stats", "data": data}, seq=version)


def shot(team: int, player: int, at: int, **more: Any) -> sideline.Update:
    fields = {"is_make": True, "is_3point": False, "hoop_player_x": 100.0, "hoop_player_y": 2000.0, "period": "H1", "game_clock": "10:00.0"}
    return update({"type": "shots", "data": {"team_id": team, "player_id": player, "occurred_at": at, **fields, **more}}, seq=at)


def summary(home: str = "Home", away: str = "Away", **more: Any) -> sideline.Update:
    player = {"id": 11, "player_details": {"id": 11, "firstname": "Ada", "lastname": "Lane", "profile_image_link": ""}, "version": 1, "stats": {"PTS": 2}}
    teams = [{"id": team, "name": name, "player_stats": [player] if team == HOME else []} for team, name in ((HOME, home), (AWAY, away))]
    return update({"home_team_id": HOME, "away_team_id": AWAY, "period": "H1", "game_clock": "12:30.0", "teams": teams, **more})


def board(*items: object) -> Scoreboard:
    live_board = Scoreboard("live g1", sideline.LiveBoxScore())
    for item in items:
        live_board.add(item)
    return live_board


def view(*items: object) -> GameView:
    return board(*items).view("connected", STATS)


def test_before_the_first_item_there_is_a_view() -> None:
    seen = view()
    assert (seen["title"], seen["state"], seen["updates"], seen["teams"], seen["clock"]) == ("live g1", "connected", 3, [], None)


def test_teams_names_and_scores_are_those_of_the_box_score_and_corrections_replace_them() -> None:
    items = [summary(), stats(HOME, 0, 5, {"PTS": 8}), stats(HOME, 11, 5, {"PTS": 8, "FG": 4, "FGA": 6}), stats(AWAY, 0, 6, {"PTS": 6})]
    home, away = view(*items)["teams"]
    assert (home["name"], home["side"], home["score"], away["name"], away["score"]) == ("Home", "home", 8, "Away", 6)
    columns = view(*items)["columns"]
    [row] = home["rows"]
    assert row["name"] == "Ada Lane"
    assert dict(zip(columns, row["values"], strict=True))["FG"] == "4–6"
    corrected = view(*items, stats(HOME, 0, 7, {"PTS": 6}, "DELETED_TWO_POINT_MAKE"), stats(HOME, 0, 5, {"PTS": 99}))
    assert corrected["teams"][0]["score"] == 6


def test_players_of_a_roster_have_its_names_in_rows_plays_and_shots() -> None:
    roster = {"id": HOME, "name": "Home", "players": [{"id": 12, "first_name": "Bea", "last_name": "Moss", "jersey_number_str": "4"}]}
    score = sideline.LiveBoxScore()
    score.seed(sideline.Payload.from_bytes("roster", json.dumps(roster).encode()))
    scoreboard = Scoreboard("live g1", score)
    for item in (summary(), stats(HOME, 12, 5, {"PTS": 2}), shot(HOME, 12, 2), stats(AWAY, 21, 6, {"PTS": 3})):
        scoreboard.add(item)
    game_view = scoreboard.view("connected", STATS)
    assert [row["name"] for team in game_view["teams"] for row in team["rows"]] == ["Ada Lane", "Bea Moss", "player 21"]
    assert any(play["text"].startswith("Bea Moss: ") for play in game_view["plays"])
    assert game_view["shots"][0]["text"].startswith("Bea Moss, ")


@pytest.mark.parametrize(
    ("message", "scores"),
    [
        ({"home_team_id": HOME, "away_team_id": "2", "home_score": 3, "away_score": 5}, [3, 5]),
        ({"homeTeamScore": {"teamId": "1", "value": 5}, "awayTeamScore": {"teamId": "2", "value": 3}, "gameClock": "00:10:00"}, [5, 3]),
        ({"home_team_id": HOME, "away_team_id": AWAY}, [None, None]),
    ],
)
def test_sides_and_scores_of_a_message_count_where_the_box_score_has_none(message: dict[str, Any], scores: list[int | None]) -> None:
    seen = view(update(message))
    assert [(team["name"], team["side"]) for team in seen["teams"]] == [("team 1", "home"), ("team 2", "away")]
    assert [team["score"] for team in seen["teams"]] == scores
    assert view(update(message), stats(AWAY, 0, 9, {"PTS": 40}))["teams"][1]["score"] == 40


def test_the_clock_is_the_newest_and_never_that_of_a_repeated_message() -> None:
    def clock(at: int, text: str | None, period: str = "H1", seq: int | None = None) -> sideline.Update:
        return update({"source": "clock", "data": {"occurred_at": at, "period": period, "game_clock": text}}, seq)

    assert view(clock(5, "10:00.0"), clock(9, "09:00.0"), clock(7, "09:30.0"))["clock"] == "9:00"
    assert view(clock(5, "16:3.1"))["clock"] == "16:03"
    assert view(clock(5, "10:00.0"), clock(9, None))["clock"] is None
    seen = view(clock(5, "10:00.0", "H2"), clock(9, "19:00.0", "H1", seq=3))
    assert (seen["period"], seen["clock"]) == ("H2", "10:00")
    assert view(clock(5, "1", "Q1", seq=1))["period"] == "Q1"


def test_the_period_is_that_of_the_newest_numbered_message_where_no_other_has_one() -> None:
    def marker(at: int | None, period: str, seq: int) -> sideline.Update:
        return update({"source": "marker", "data": {"marker": "PERIOD_STARTED", "period": period, "occurred_at": at}}, seq)

    assert view(marker(5, "Q1", 1), marker(9, "Q2", 2))["period"] == "Q2"
    assert view(marker(5, "Q1", 1), marker(9, "Q2", 2), marker(5, "Q1", 1))["period"] == "Q2", "repeated"
    assert view(marker(None, "Q2", 2), marker(None, "Q1", 1))["period"] == "Q2", "it may be a repeated one"


def test_a_game_that_ended_says_so() -> None:
    marker = update({"type": "marker", "data": {"marker": "GAME_ENDED", "period": "H2", "occurred_at": 9}}, seq=4)
    seen = view(marker, marker)
    assert seen["is_over"]
    assert seen["plays"] == [{"at": "H2", "team": "", "text": "game ended"}]


def test_a_game_that_goes_on_is_not_over() -> None:
    def marker(name: str, at: int | None, seq: int) -> sideline.Update:
        return update({"type": "marker", "data": {"marker": name, "occurred_at": at}}, seq=seq)

    end, overtime = marker("GAME_ENDED", 9, 4), marker("PERIOD_STARTED", 12, 5)
    assert not view(end, overtime)["is_over"]
    assert view(end, overtime, marker("GAME_ENDED", 30, 6))["is_over"]
    for message in (marker("PERIOD_STARTED", 5, 2), marker("PERIOD_STARTED", None, 2), marker("PERIOD_ENDED", 12, 5), marker("LINEUP", 12, 5)):
        assert view(end, message)["is_over"]


def test_a_shot_is_where_the_hoops_frame_has_it() -> None:
    seen = view(summary(), shot(HOME, 11, 5), shot(HOME, 11, 5), shot(AWAY, 21, 6, is_make=False, is_3point=True))
    assert [(point["team"], point["x"], point["y"], point["made"]) for point in seen["shots"]] == [(0, 100.0, 2000.0, True), (1, 100.0, 2000.0, False)]
    assert [point["text"] for point in seen["shots"]] == ["Ada Lane, 2 points, made, H1 10:00", "player 21, 3 points, missed, H1 10:00"]


def test_a_position_on_the_court_is_moved_to_the_hoops_frame() -> None:
    positions = {"player_x": 3117.0, "player_y": 7899.0, "hoop_x": -44.0, "hoop_y": 12783.0}
    [point] = view(summary(), shot(HOME, 11, 5, hoop_player_x=None, **positions))["shots"]
    assert (point["x"], point["y"]) == court.transform(3117.0, 7899.0, court.COURT, court.HOOP, hoop=(-44.0, 12783.0))
    for fields in (
        {"hoop_player_x": None},
        {"hoop_player_x": "1"},
        {"hoop_player_y": 1e9},
        {"is_make": None},
        {"hoop_player_x": None, **positions, "hoop_y": 0},
    ):
        assert view(summary(), shot(HOME, 11, 5, **fields))["shots"] == []


def test_a_shot_with_an_endless_clock_has_none() -> None:
    [row] = view(summary(), shot(HOME, 11, 5, game_clock="9" * 310))["shots"]
    assert row["text"] == "Ada Lane, 2 points, made, H1"


def test_shots_of_a_whole_document_are_shown() -> None:
    shots = [{"is_make": True, "is_3point": True, "hoop_player_x": x, "hoop_player_y": 7000} for x in (1, 2)]
    document = {"teams": [{"id": HOME, "player_stats": [], "player_shots": [{"id": 11, "shots": shots}]}]}
    assert [point["x"] for point in view(summary(), update(document), update(document))["shots"]] == [1, 2]


def test_a_shot_that_a_later_document_lacks_is_not_shown() -> None:
    def document(*times: int, **team: Any) -> sideline.Update:
        shots = [{"is_make": True, "hoop_player_x": at, "hoop_player_y": 7000, "occurred_at": at} for at in times]
        return update({"teams": [{"id": HOME, "player_shots": [{"id": 11, "shots": shots}], **team}]})

    def times_of(*items: object) -> list[float]:
        return [point["x"] for point in view(summary(), *items)["shots"]]

    assert times_of(document(1, 2, 3), document(1, 3)) == [1, 3]
    assert times_of(document(1, 2), document()) == []
    assert times_of(document(1, 2), document(player_shots=None), document(3, id=AWAY)) == [1, 2, 3], "nothing is said of them"
    assert times_of(document(1, 2), shot(HOME, 11, 3), document(1)) == [100, 1], "a document may be older than a message"
    assert times_of(document(1, 2), shot(HOME, 11, 2), document(1)) == [1]
    gap = sideline.live.Gap(AT, AT + timedelta(seconds=3), "reset")
    response = sideline.live.Recovering(gap, (document(1, 4),), ("stats",), AT)
    assert times_of(document(1, 2, 3), response) == [1, 2, 3, 4], "a response may be older than the document before it"


def test_shots_of_a_recovered_state_are_shown() -> None:
    recovered_shots = [
        {"t": 5, "tid": "1", "pid": "11", "st": "MISS", "is3": False, "hsx": 100, "hsy": 2000, "prd": "H1", "gc": "10:00.0"},
        {"t": 6, "tid": "2", "pid": "21", "st": "MAKE", "is3": True, "hsx": None, "hsy": None, "px": 1, "py": 5000, "hx": 0, "hy": 12725},
        {"t": 7, "tid": "2", "pid": "21", "st": "BLOCKED", "is3": True, "hsx": 1, "hsy": 1},
    ]
    state = update({"stats": [{"tid": "1", "pid": "11", "totalStats": {"PTS": 2}}], "details": [], "shots": recovered_shots})
    gap = sideline.live.Gap(AT, AT + timedelta(seconds=3), "reset")
    seen = view(summary(), stats(AWAY, 21, 5, {"PTS": 3}), shot(HOME, 11, 5), gap, sideline.live.Recovered(gap, (state,), AT))
    assert [point["text"] for point in seen["shots"]] == ["Ada Lane, 2 points, missed, H1 10:00", "player 21, 3 points, made"]
    assert [(point["team"], point["y"]) for point in seen["shots"]] == [(0, 2000), (1, 7725)]


def test_a_play_has_the_clock_of_its_shot_and_repeats_are_left_out() -> None:
    items = [summary(), shot(HOME, 11, 5), stats(HOME, 11, 8, {"PTS": 2}, at=5), stats(HOME, 0, 8, {"PTS": 2}, at=5), stats(HOME, 11, 9, {}, "STEAL", at=7)]
    plays = [{"at": "H1", "team": "Home", "text": "Ada Lane: steal"}, {"at": "H1 10:00", "team": "Home", "text": "Ada Lane: made two-pointer"}]
    assert view(*items, *items, stats(HOME, 11, 10, {"DIST": 2.0}, "DISTANCE"))["plays"] == plays


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("THREE_POINT_MISS", "missed three-pointer"),
        ("DELETED_FREE_THROW_MAKE", "made free throw deleted"),
        ("UPDATED_TWO_POINT_MAKE_TO_MISS", "two-pointer corrected from made to missed"),
        ("OFFENSIVE_REBOUND", "offensive rebound"),
        ("TWO_POINT_MAKE_X", "two point make x"),
    ],
)
def test_a_play_is_described_in_words(code: str, words: str) -> None:
    assert view(summary(), stats(HOME, 11, 8, {"PTS": 2}, code))["plays"][0]["text"] == f"Ada Lane: {words}"


def test_a_recovered_state_counts_and_an_item_of_an_unknown_class_is_a_notice() -> None:
    gap = sideline.live.Gap(AT, AT + timedelta(seconds=3), "reset")
    recovering = sideline.live.Recovering(gap, (stats(HOME, 0, 9, {"PTS": 21}),), ("stats", "plays"), AT + timedelta(seconds=3))
    recovered = sideline.live.Recovered(gap, (stats(HOME, 0, 10, {"PTS": 23}),), AT + timedelta(seconds=9))
    seen = view(summary(), gap, recovering, object())
    assert [notice["kind"] for notice in seen["notices"]] == ["object", "recovering", "gap"]
    assert [notice["text"] for notice in seen["notices"][1:]] == [
        "12:00:05Z to 12:00:08Z: recovering, without stats, plays",
        "12:00:05Z to 12:00:08Z: messages may be missing (reset)",
    ]
    assert (seen["teams"][0]["score"], seen["stale"]) == (21, True)
    seen = view(summary(), gap, recovering, recovered)
    assert [notice["kind"] for notice in seen["notices"]] == ["recovered", "recovering", "closed"], "a closed gap is not red"
    assert seen["notices"][0]["text"] == "12:00:05Z to 12:00:08Z: recovered"
    assert (seen["teams"][0]["score"], seen["stale"]) == (23, False)


def test_another_sports_box_score_has_its_own_columns() -> None:
    seen = view(stats(HOME, 11, 1, {"RUSH_YARDS": 12, "TACKLES": 3}), stats(HOME, 0, 1, {"TEAM_SCORE": 7, "RUSH_YARDS": 40}))
    assert seen["columns"] == ["RUSH_YARDS", "TACKLES"]
    assert (seen["teams"][0]["score"], seen["teams"][0]["rows"][0]["values"]) == (7, ["12", "3"])


def test_rows_that_the_view_leaves_out_are_counted() -> None:
    players = [{"id": number, "stats": {"PTS": 1}} for number in range(1, MAX_PLAYERS + 3)]
    crowd = update({"teams": [{"id": HOME, "player_stats": players}, {"id": AWAY, "player_stats": players[:2]}]})
    other_team = stats(0, 11, 1, {"PTS": 2})
    for items in ([other_team, crowd], [crowd, other_team]):
        seen = view(*items)
        assert [team["name"] for team in seen["teams"]] == ["team 1", "team 2"], "a row of another team hides neither"
        assert [len(team["rows"]) for team in seen["teams"]] == [MAX_PLAYERS, 2]
        assert seen["left_out"] == 3
        assert "3 rows left out" in render_text(seen, 120)
    seen = view(summary(), other_team, stats(AWAY, 21, 1, {"PTS": 2}))
    assert ([team["side"] for team in seen["teams"]], seen["left_out"]) == (["home", "away"], 1)
    assert view(summary())["left_out"] == 0


def test_whatever_is_received_the_view_is_bounded() -> None:
    live_board = board(summary("H" * 10_000, "\x1b[31m\u202eAway"))
    for number in range(MAX_SHOTS + 50):
        live_board.add(shot(HOME, 11, number))
        live_board.add(stats(HOME, 11, number, {}, "STEAL\x00" * 1000, at=number))
        live_board.add(sideline.live.Disconnected(AT, "reset" * 1000, None, number, None))
    seen = live_board.view("waiting", STATS, "x" * 10_000)
    assert (len(seen["shots"]), len(seen["plays"]), len(seen["notices"])) == (MAX_SHOTS, MAX_PLAYS, MAX_NOTICES)
    assert seen["shots"][-1]["text"].startswith("Ada Lane")
    assert seen["teams"][1]["name"] == "\\x1b[31m\\u202eAway"
    texts = [seen["error"], seen["teams"][0]["name"], *(play["text"] for play in seen["plays"]), *(notice["text"] for notice in seen["notices"])]
    assert max(len(text or "") for text in texts) <= 300
    assert all((text or "").isprintable() for text in texts)


NAMES = st.sampled_from(
    [
        "type",
        "data",
        "teams",
        "id",
        "player_stats",
        "player_shots",
        "shots",
        "stats",
        "team_id",
        "player_id",
        "occurred_at",
        "version",
        "classification",
        "marker",
        "period",
        "game_clock",
        "gameClock",
        "home_team_id",
        "away_team_id",
        "home_score",
        "homeTeamScore",
        "teamId",
        "value",
        "is_make",
        "hoop_player_x",
        "hoop_player_y",
        "player_x",
        "player_y",
        "hoop_x",
        "hoop_y",
        "name",
        "PTS",
    ]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.sampled_from([1, 2, 11, "1", "GAME_ENDED", "stats", "9" * 310]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.dictionaries(NAMES, VALUES, max_size=8), st.none() | st.integers(0, 9)), max_size=5))
def test_any_message_leaves_a_view_that_is_json(messages: list[tuple[dict[str, Any], int | None]]) -> None:
    seen = view(summary(), *(update(message, seq) for message, seq in messages), update("no JSON"), update([1]))
    assert json.loads(json.dumps(seen, allow_nan=False)) == seen


def render_text(seen: GameView, width: int) -> str:
    out = StringIO()
    rich.Console(file=out, width=width).print(render(seen, width))
    return out.getvalue()


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_terminal_shows_it_and_reads_no_markup(width: int) -> None:
    gap = sideline.live.Gap(AT, AT + timedelta(seconds=3), "reset")
    text = render_text(view(gap, summary("[red]Home[/red]"), shot(HOME, 11, 5), stats(HOME, 11, 8, {"PTS": 2}, at=5)), width)
    assert text.startswith("[red]Home[/red] –   Away –")
    assert "".join(text.split()).count("[red]Home[/red]") == (3 if width > 40 else 2), "the score, the box score, the play"
    assert "12:30" in text
    assert ("messages may be missing (reset)" if width > 40 else "messages may be…") in text
    assert "made two-pointer" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= width
    assert render_text(view(), width).startswith("live g1")


def terminal_text(seen: GameView, height: int | None = None) -> str:
    """The view as a terminal of 80 columns shows it, with escape sequences."""
    out = StringIO()
    rich.Console(file=out, width=80, force_terminal=True, color_system="standard").print(render(seen, 80, height))
    return out.getvalue()


def test_a_gap_is_red_while_it_is_open_and_only_then() -> None:
    all_closed, one_open = (replace(STATS, gaps=7, open_gaps=count) for count in (0, 1))
    red = "\x1b[1;31m"
    text = terminal_text(board(summary()).view("connected", all_closed))
    assert "7 gaps, all closed" in text
    assert red not in text
    assert f"{red} · 7 gaps, 1 open" in terminal_text(board(summary()).view("connected", one_open))


def test_a_gap_that_nothing_closes_is_not_called_closed() -> None:
    gaps = [sideline.live.Gap(AT, AT + timedelta(seconds=3), reason, is_final=reason != "reset") for reason in ("reset", "not recovered: refused")]
    text = terminal_text(board(summary(), *gaps).view("connected", replace(STATS, gaps=1)))
    assert "1 gap" in text
    assert "closed" not in text
    assert "values may be missing" in text


def test_unreadable_rows_and_doubts_are_said_beside_the_rows() -> None:
    scoreboard = board(summary(), stats(HOME, 11, 2, {"PTS": "x"}))  # type: ignore[dict-item]
    scoreboard.add(sideline.live.Gap(AT, AT + timedelta(seconds=3), "reset"))
    text = render_text(scoreboard.view("connected", STATS), 120)
    assert "values may be missing" in text
    assert "1 row unreadable" in text


@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 16), (50, 24)])
def test_a_low_terminal_says_how_many_players_are_left_out(width: int, height: int) -> None:
    names = {"id": 1, "player_details": {"id": 1, "firstname": "Ada", "lastname": "Lane"}, "version": 1, "stats": {"PTS": 2}}
    teams = [{"id": team, "name": f"Team {team}", "player_stats": [names | {"id": n} for n in range(15)]} for team in (HOME, AWAY)]
    scoreboard = board(summary(teams=teams), *(sideline.live.Connected(AT) for _ in range(9)), *(stats(HOME, n, 9, {}, "STEAL", at=n) for n in range(1, 9)))
    scoreboard.add(sideline.live.Gap(AT, AT + timedelta(seconds=3), "reset"))
    scoreboard.add(stats(HOME, 1, 10, {"PTS": "x"}))  # type: ignore[dict-item]
    seen = scoreboard.view("connected", replace(STATS, gaps=7, open_gaps=1))
    text = StringIO()
    rich.Console(file=text, width=width).print(render(seen, width, height))
    lines = text.getvalue().splitlines()
    assert len(lines) <= height
    visible_players = text.getvalue().count("Ada Lane") - sum("steal" in line for line in lines)
    left_out = 28 - visible_players
    assert left_out > 0
    assert any(line.startswith(f"{left_out} players left out") for line in lines)
    assert "left out" not in render_text(seen, width), "all of them where the height is free"


def test_the_drawn_court_has_the_dimensions_of_the_rules() -> None:
    court_view = half_court(court.COLLEGE_MEN)
    assert court_view["box"] == "-7920 -13025.4 15840 14925.6"
    assert f"A{court.COLLEGE_MEN.arc:g} {court.COLLEGE_MEN.arc:g} 0 0 0 {court.COLLEGE_MEN.corner:g}" in court_view["lines"]
    assert half_court(court.INTERNATIONAL) != court_view


def test_only_what_is_wrong_is_red_in_a_terminal_and_both_tables_have_the_same_columns() -> None:
    items = [summary(), stats(HOME, 11, 5, {"PTS": 28, "FG": 11, "FGA": 24}), stats(AWAY, 21, 6, {"PTS": 3, "FG": 1, "FGA": 2}), stats(AWAY, 0, 7, {"PTS": 3})]
    for state, style in (("connected", "green"), ("closed", "dim"), ("reconnecting", "bold red")):
        status: Any = list(getattr(render(board(*items).view(state, STATS), 80), "renderables"))[1]  # noqa: B009
        assert (status.plain[: len(state)], str(status.spans[0].style), status.spans[0].end) == (state, style, len(state))
        assert not status.style and {str(span.style) for span in status.spans[1:]} == {"dim"}
    console = rich.Console(width=80, file=StringIO())
    console.print(render(view(*items), 80))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    heads = [line for line in lines if line.startswith("Player")]
    assert len(heads) == 2 and heads[0].rstrip() == heads[1].rstrip()
