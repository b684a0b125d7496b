"""A clean season agrees with itself; each kind of contradiction is found, and by its own rule alone."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
from needs import library, needs
from service import EMPTY, Service, instant

import sideline
from sideline import metrics

pl = library("polars")
pa = library("pyarrow")

Body = Any
Bodies = dict[str, Body]
OPERATIONS = {"player_stats": "stats", "stat_events": "stats_details", "possessions": "possessions", "shots": "shots", "sessions": "game"}


TABLES = {
    "player_stats": ["player_stats"],
    "stat_events": ["stat_events"],
    "possessions": ["possessions", "possession_events"],
    "shots": ["shots"],
    "sessions": ["sessions", "location_windows"],
}


@pytest.fixture
def bodies(client: sideline.Client, game: dict[str, Any], session_id: str) -> Bodies:
    """Those of one half, to be altered."""
    payloads = {argument: getattr(client, operation)(session_id) for argument, operation in OPERATIONS.items() if argument != "sessions"}
    return {**{argument: payload.to_dict() for argument, payload in payloads.items()}, "sessions": json.loads(json.dumps(game))}


def read(bodies: Bodies, session_id: str) -> dict[str, sideline.Payload]:
    def payload(argument: str) -> sideline.Payload:
        about = {} if argument == "sessions" else {"session_id": session_id}
        return sideline.Payload.from_bytes(OPERATIONS[argument], json.dumps(bodies[argument]).encode(), **about)

    return {argument: payload(argument) for argument in bodies}


def violations(bodies: Bodies, session_id: str) -> list[dict[str, Any]]:
    return sideline.audit(**read(bodies, session_id)).to_dicts()


@needs("polars")
def test_flags_of_a_database_without_booleans_are_flags(client: sideline.Client, session_id: str) -> None:
    shots, details = client.shots(session_id).to_polars(), client.stats_details(session_id)
    rows = shots.with_columns(pl.col("is_make", "is_3point").cast(pl.Int8))
    assert {run.rule: run.violations for run in sideline.audit(shots=rows, stat_events=details).rules} == {
        run.rule: run.violations for run in sideline.audit(shots=shots, stat_events=details).rules
    }


@needs("polars")
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.extended) for seed in (2, 3))])
def test_a_clean_season_has_no_violation(seed: int) -> None:
    with sideline.Simulator(seed=seed, teams=4, games=12, now="2027-03-01T12:00:00Z") as service, service.client() as client:
        events = [client.team_events(team["id"], "2026-08-01", "2027-03-01", workouts_only=workouts) for team in service.teams for workouts in (False, True)]
        sessions = sorted({row["session_id"] for event in events for row in event.table("sessions").to_dicts()})
        payloads = {
            argument: [getattr(client, operation)(session) for session in sessions] for argument, operation in OPERATIONS.items() if argument != "sessions"
        }
        games = [game["event_id"] for game in service.games[:6]]
        of_games = {
            "shots": [client.game_shots(game) for game in games],
            "stat_events": [client.game_stats_details(game) for game in games],
        }
        assert len(sessions) > 100
        assert sideline.audit(**payloads, sessions=events).to_dicts() == []
        assert sideline.audit(**of_games).to_dicts() == []


def line(body: Body, *, total: bool, code: str, team: int = 0) -> dict[str, Any]:
    """A line of a box score, or of details, that has a code."""
    lines = body["teams"][team]["player_stats"]
    return next(line for line in lines if (line["id"] == 0) is total and line["stats"].get(code))


def an_event_of_another_value(bodies: Bodies) -> None:
    line(bodies["stat_events"], total=False, code="PTS")["stats"]["PTS"][0]["value"] += 1


def an_event_of_a_team_that_is_gone(bodies: Bodies) -> None:
    line(bodies["stat_events"], total=True, code="STL")["stats"]["STL"].pop()


def a_line_of_a_box_score_and_no_events(bodies: Bodies) -> None:
    body = bodies["stat_events"]["teams"][0]
    body["player_stats"] = [player for player in body["player_stats"] if player["id"] != 0]


def no_details_at_all(bodies: Bodies) -> None:
    del bodies["possessions"], bodies["shots"]
    bodies["stat_events"]["teams"] = []


def a_teams_total(bodies: Bodies) -> None:
    line(bodies["player_stats"], total=True, code="AST")["stats"]["AST"] += 1
    line(bodies["stat_events"], total=True, code="AST")["stats"]["AST"][0]["value"] += 1


def a_team_without_a_total(bodies: Bodies) -> None:
    del bodies["stat_events"]
    bodies["player_stats"]["teams"][1]["player_stats"].pop(0)


def a_line_twice(bodies: Bodies) -> None:
    lines = bodies["player_stats"]["teams"][0]["player_stats"]
    lines.append(lines[1])


def every_line_twice(bodies: Bodies) -> None:
    bodies["player_stats"]["teams"] *= 2


def a_shot_twice(bodies: Bodies) -> None:
    del bodies["stat_events"]
    bodies["shots"]["teams"][0]["player_shots"][0]["shots"] *= 2


def every_possession_twice(bodies: Bodies) -> None:
    del bodies["stat_events"]
    bodies["possessions"]["teams"] *= 2


def points(bodies: Bodies) -> None:
    for total in (False, True):
        line(bodies["player_stats"], total=total, code="PTS")["stats"]["PTS"] += 1
        line(bodies["stat_events"], total=total, code="PTS")["stats"]["PTS"][0]["value"] += 1


def stats_of(bodies: Bodies) -> list[dict[str, Any]]:
    return [stat for team in bodies["possessions"]["teams"] for possession in team["possessions"] for stat in possession["stats"]]


def an_event_of_a_possession_that_is_gone(bodies: Bodies) -> None:
    possession = next(possession for possession in bodies["possessions"]["teams"][0]["possessions"] if possession["stats"])
    possession["stats"].pop()


def an_event_of_another_player(bodies: Bodies) -> None:
    stat = next(stat for stat in stats_of(bodies) if stat["possession_type"] == "AST")
    stat["player_id"] += 1


def an_event_of_another_kind(bodies: Bodies) -> None:
    stat = next(stat for stat in stats_of(bodies) if "FGA3" in stat["details"])
    stat["details"][stat["details"].index("FGA3")] = "FGA2"


def a_documented_code_that_possessions_never_have(bodies: Bodies) -> None:
    for stat in stats_of(bodies):
        stat["details"] = [code for code in stat["details"] if code != "REB"]


def a_miss_that_was_a_make(bodies: Bodies) -> None:
    shooter = bodies["shots"]["teams"][0]["player_shots"][0]
    shooter["shots"][0]["is_make"] = not shooter["shots"][0]["is_make"]


def a_shot_that_is_gone(bodies: Bodies) -> None:
    bodies["shots"]["teams"][1]["player_shots"][0]["shots"].pop()


def four_players(bodies: Bodies) -> None:
    bodies["possessions"]["teams"][0]["possessions"][3]["player_ids"].pop()


def six_opponents(bodies: Bodies) -> None:
    bodies["possessions"]["teams"][0]["possessions"][3]["opposing_player_ids"].append(1)


def one_player_twice(bodies: Bodies) -> None:
    ids = bodies["possessions"]["teams"][1]["possessions"][0]["player_ids"]
    ids[0] = ids[1]


def one_player_on_both_sides(bodies: Bodies) -> None:
    possession = bodies["possessions"]["teams"][1]["possessions"][0]
    possession["player_ids"][0] = possession["opposing_player_ids"][0]


def nobody_on_court(bodies: Bodies) -> None:
    bodies["possessions"]["teams"][1]["possessions"][0]["player_ids"] = []


def a_clock_of_an_event(bodies: Bodies) -> None:
    occurrences = line(bodies["stat_events"], total=True, code="FGA")["stats"]["FGA"]
    occurrences[-1]["game_clock"] = "19:59.9"


def a_clock_of_a_possession(bodies: Bodies) -> None:
    bodies["possessions"]["teams"][0]["possessions"][5]["end_game_clock"] = "19:59.9"


def a_clock_of_an_event_of_a_possession(bodies: Bodies) -> None:
    stats_of(bodies)[-1]["game_clock"] = "19:59.9"


def a_clock_of_a_shot(bodies: Bodies) -> None:
    bodies["shots"]["teams"][0]["player_shots"][0]["shots"][-1]["game_clock"] = "19:59.9"


def window(bodies: Bodies, place: int, name: str, move: int) -> None:
    links = bodies["sessions"]["results"][0]["_locations"]
    links[place] = re.sub(rf"{name}=(\d+)", lambda match: f"{name}={int(match[1]) + move}", links[place])


def a_hole_between_windows(bodies: Bodies) -> None:
    window(bodies, 0, "to", -1)


def windows_that_overlap(bodies: Bodies) -> None:
    window(bodies, 1, "from", -1)


def a_window_twice(bodies: Bodies) -> None:
    bodies["sessions"]["results"][0]["_locations"].append(bodies["sessions"]["results"][0]["_locations"][0])


def windows_that_begin_late(bodies: Bodies) -> None:
    window(bodies, 0, "from", 1)


def windows_that_end_early(bodies: Bodies) -> None:
    window(bodies, 1, "to", -1)


def no_windows(bodies: Bodies) -> None:
    bodies["sessions"]["results"][0]["_locations"] = []


def a_shot_seen_from_elsewhere(bodies: Bodies) -> None:
    bodies["shots"]["teams"][0]["player_shots"][0]["shots"][0]["hoop_player_y"] += 2


def a_hoop_of_the_other_half(bodies: Bodies) -> None:
    bodies["shots"]["teams"][0]["player_shots"][0]["shots"][0]["hoop_y"] *= -1


CONTRADICTIONS: dict[Callable[[Bodies], None], tuple[str, int | None]] = {
    an_event_of_another_value: ("box_score_is_sum_of_events", 1),
    an_event_of_a_team_that_is_gone: ("box_score_is_sum_of_events", 1),
    a_line_of_a_box_score_and_no_events: ("box_score_is_sum_of_events", None),
    no_details_at_all: ("box_score_is_sum_of_events", 1),
    a_teams_total: ("team_is_sum_of_players", 1),
    a_team_without_a_total: ("team_is_sum_of_players", 1),
    a_line_twice: ("rows_occur_once", 1),
    every_line_twice: ("rows_occur_once", None),
    a_shot_twice: ("rows_occur_once", None),
    every_possession_twice: ("rows_occur_once", None),
    points: ("points_from_makes", 2),
    an_event_of_a_possession_that_is_gone: ("possessions_match_events", None),
    an_event_of_another_player: ("possessions_match_events", 2),
    an_event_of_another_kind: ("possessions_match_events", 2),
    a_documented_code_that_possessions_never_have: ("possessions_match_events", None),
    a_miss_that_was_a_make: ("shots_match_events", None),
    a_shot_that_is_gone: ("shots_match_events", None),
    four_players: ("five_a_side", 1),
    six_opponents: ("five_a_side", 1),
    one_player_twice: ("five_a_side", 1),
    one_player_on_both_sides: ("five_a_side", 1),
    nobody_on_court: ("five_a_side", 1),
    a_clock_of_an_event: ("clocks_never_rise", 1),
    a_clock_of_a_possession: ("clocks_never_rise", 1),
    a_clock_of_an_event_of_a_possession: ("clocks_never_rise", 1),
    a_clock_of_a_shot: ("clocks_never_rise", 1),
    a_hole_between_windows: ("windows_touch", 1),
    windows_that_overlap: ("windows_touch", 1),
    a_window_twice: ("windows_touch", 1),
    windows_that_begin_late: ("windows_cover", 1),
    windows_that_end_early: ("windows_cover", 1),
    no_windows: ("windows_cover", 1),
    a_shot_seen_from_elsewhere: ("shot_frames_agree", 1),
    a_hoop_of_the_other_half: ("shot_frames_agree", 1),
}


@needs("polars")
@pytest.mark.parametrize("alter", CONTRADICTIONS, ids=lambda alter: alter.__name__)
def test_a_contradiction_is_found_by_its_rule_alone(alter: Callable[[Bodies], None], bodies: Bodies, session_id: str) -> None:
    assert violations(bodies, session_id) == []
    alter(bodies)
    rule, count = CONTRADICTIONS[alter]
    rows = violations(bodies, session_id)
    assert {row["rule"] for row in rows} == {rule}, rows
    assert count in (None, len(rows)), rows
    assert {row["session_id"] for row in rows} == {session_id}
    assert not any("{" in row["message"] or row["expected"] is None for row in rows), rows


@needs("polars")
def test_a_row_says_who_what_and_how_much(bodies: Bodies, session_id: str) -> None:
    player = line(bodies["player_stats"], total=False, code="STL")
    steals = player["stats"]["STL"]
    player["stats"]["STL"] += 1
    team = bodies["player_stats"]["teams"][0]["id"]
    box, own_row = violations(bodies, session_id)
    assert own_row.items() >= {"rule": "team_is_sum_of_players", "team_id": team, "player_id": None, "game_id": None}.items()
    assert box == {
        "rule": "box_score_is_sum_of_events",
        "team_id": team,
        "game_id": None,
        "session_id": session_id,
        "player_id": player["id"],
        "expected": str(steals),
        "found": str(steals + 1),
        "message": f"player {player['id']}: STL is {steals + 1} in the box score, its stat events sum to {steals}",
    }


@needs("polars")
def test_stats_that_are_no_sums_are_not_added_up(bodies: Bodies, session_id: str) -> None:
    for team in bodies["player_stats"]["teams"]:
        for player in team["player_stats"]:
            for code in ("DIST", "TEAM_SCORE", "OPPOSING_TEAM_SCORE"):
                player["stats"][code] = 4711
    assert violations(bodies, session_id) == []


@needs("polars")
def test_a_missing_stat_code_counts_as_zero(bodies: Bodies, session_id: str) -> None:
    for team in bodies["player_stats"]["teams"]:
        for player in team["player_stats"]:
            player["stats"].setdefault("BLK", 0)
            player["stats"].setdefault("FT", 0)
    assert violations(bodies, session_id) == []


@needs("polars")
def test_two_pointers_are_derived_if_the_service_sends_none(bodies: Bodies, session_id: str) -> None:
    stats = {"player_stats": bodies["player_stats"]}
    for player in (player for team in stats["player_stats"]["teams"] for player in team["player_stats"]):
        player["stats"].pop("FG2", None)
    assert violations(stats, session_id) == []
    points({**stats, "stat_events": bodies["stat_events"]})
    assert {row["rule"] for row in violations(stats, session_id)} == {"points_from_makes"}
    for player in (player for team in stats["player_stats"]["teams"] for player in team["player_stats"]):
        player["stats"].pop("FG3", None)
    assert violations(stats, session_id) == [], "who knows what was a three"


@needs("polars")
def test_rounding_of_a_shot_is_no_violation(bodies: Bodies, session_id: str) -> None:
    bodies["shots"]["teams"][0]["player_shots"][0]["shots"][0]["hoop_player_x"] += 1
    assert violations(bodies, session_id) == []


@needs("polars")
@pytest.mark.parametrize("factor", [1_000, -1_000, 5_000])
def test_a_time_that_python_has_not_is_one_violation(factor: int, bodies: Bodies, session_id: str) -> None:
    """Such as one in microseconds, which no `datetime` holds."""
    event = line(bodies["stat_events"], total=False, code="FGA")["stats"]["FGA"][0]
    shot = bodies["shots"]["teams"][0]["player_shots"][0]["shots"][0]
    event["occurred_at"] *= factor
    shot["occurred_at"] *= factor
    rows = violations(bodies, session_id)
    assert [(row["rule"], "<out of range>" in row["message"]) for row in rows] == [("happens_inside_session", True)] * 2


@needs("polars")
def test_an_odd_time_says_nothing_about_a_game_that_is_played_now() -> None:
    with Service(seed=3, now="2026-03-01T12:00:00Z", games=2) as service, sideline.Client(**service.client_options()) as client:
        finished_game, live_game = service.season.games[:2]
        service.freeze(instant(live_game.end + 5 * 60_000))
        for operation in set(OPERATIONS.values()) - {"game"}:
            service.faults.add(operation, path=live_game.sessions[-1].id, change=EMPTY)
        sessions = [session.id for game in (finished_game, live_game) for session in game.sessions]

        def names_of_rules() -> list[tuple[str, str]]:
            tables = {argument: getattr(client, operation)(sessions) for argument, operation in OPERATIONS.items() if argument != "sessions"}
            rows = sideline.audit(**tables, sessions=[client.game(game.id) for game in (finished_game, live_game)]).to_dicts()
            return [(row["rule"], row["session_id"]) for row in rows]

        def a_year_later(body: Body) -> Body:
            line(body, total=False, code="FGA")["stats"]["FGA"][0]["occurred_at"] += 365 * 86_400_000
            return body

        assert names_of_rules() == []
        service.faults.add("stats_details", path=sessions[0], change=a_year_later)
        assert names_of_rules() == [("happens_inside_session", sessions[0])]


@needs("polars")
def test_a_correction_is_reported_where_it_has_not_arrived(session_id: str) -> None:
    with sideline.Simulator(seed=7, now="2027-03-01T12:00:00Z") as service, service.client() as client:
        game = service.games[0]["event_id"]
        session = client.game(game).table("sessions").to_dicts()[-1]["session_id"]
        scorer = next(row for row in client.stats(session).table("box_score").to_dicts() if row["player_id"] and row["STL"])
        service.correct(game, scorer["player_id"], "STL", 1)
        payloads = {argument: getattr(client, operation)(session) for argument, operation in OPERATIONS.items() if argument != "sessions"}
        rows = sideline.audit(**payloads).to_dicts()
        assert [(row["rule"], row["player_id"]) for row in rows] == [("possessions_match_events", scorer["player_id"])]


@needs("polars")
def test_every_kind_of_frame_says_the_same(bodies: Bodies, session_id: str) -> None:
    a_teams_total(bodies)
    four_players(bodies)
    a_hole_between_windows(bodies)
    a_clock_of_an_event_of_a_possession(bodies)
    payloads = read(bodies, session_id)
    rows = sideline.audit(**payloads).to_dicts()
    assert len(rows) == 4
    kinds: list[Callable[[sideline.Table], object]] = [
        lambda table: table,
        sideline.Table.to_polars,
        lambda table: table.to_polars().lazy(),
        sideline.Table.to_arrow,
        sideline.Table.to_pandas,
        # As Delta Lake stores them: no dictionaries, microseconds.
        lambda table: table.to_polars().with_columns(pl.col(pl.Categorical).cast(pl.String), pl.col(pl.Datetime).dt.cast_time_unit("us")),
    ]
    for kind in kinds:
        frames = {argument: [kind(payloads[argument].table(name)) for name in names] for argument, names in TABLES.items()}
        assert sideline.audit(**frames).to_dicts() == rows
    wide = sideline.audit(**{**payloads, "player_stats": payloads["player_stats"].table("box_score")})
    assert wide.to_dicts() == rows


@needs("polars")
@pytest.mark.parametrize("argument", TABLES)
def test_times_of_a_zone_are_the_same_times_and_those_of_none_are_refused(argument: str, bodies: Bodies, session_id: str) -> None:
    a_hole_between_windows(bodies)
    a_clock_of_an_event_of_a_possession(bodies)
    payloads = read(bodies, session_id)
    frames = {name: [payloads[name].to_polars(table) for table in tables] for name, tables in TABLES.items()}
    times = pl.col(pl.Datetime("ms", "UTC"))
    rows = sideline.audit(**frames).to_dicts()
    assert rows
    elsewhere = [part for frame in frames[argument] for part in (frame.head(3), frame.slice(3).with_columns(times.dt.convert_time_zone("America/Chicago")))]
    assert sideline.audit(**{**frames, argument: elsewhere}).to_dicts() == rows
    with_own_column = [frame.with_columns(loaded=pl.lit("2027-03-01").str.to_datetime()) for frame in frames[argument]]
    assert sideline.audit(**{**frames, argument: with_own_column}).to_dicts() == rows, "a column of the caller's own"
    if any(kind == pl.Datetime for frame in frames[argument] for kind in frame.schema.values()):
        naive = [frame.with_columns(times.dt.replace_time_zone(None)) for frame in frames[argument]]
        with pytest.raises(ValueError, match=rf"{argument}: the column \w+ has times without a zone: write .*replace_time_zone\('UTC'\)"):
            sideline.audit(**{**frames, argument: naive})


@needs("polars")
def test_a_session_is_audited_by_itself(client: sideline.Client, game: dict[str, Any]) -> None:
    first, second = (result["id"] for result in game["results"][:2])
    stats, details = [client.stats(first), client.stats(second)], [client.stats_details(first)]
    rows = sideline.audit(player_stats=stats, stat_events=details).to_dicts()
    assert [(row["session_id"], row["expected"], row["found"]) for row in rows] == [(second, "none", "a box score")]
    for table in ("box_score", "player_stats"):
        mixed = [stats[0], stats[1].table(table)]
        assert sideline.audit(player_stats=mixed, stat_events=details).to_dicts() == rows
    rows = sideline.audit(player_stats=stats[:1], stat_events=[*details, client.stats_details(second)]).to_dicts()
    assert [(row["session_id"], row["expected"], row["found"]) for row in rows] == [(second, "stat events", None)]


@needs("polars")
def test_the_result_is_the_declared_table(client: sideline.Client, session_id: str) -> None:
    table = sideline.audit(player_stats=client.stats(session_id))
    assert (table.name, table.num_rows) == ("violations", 0)
    assert pa.table(table).schema == pa.schema(sideline.SCHEMAS["violations"])


@needs("polars")
def test_an_impossible_audit_is_refused(client: sideline.Client, game: dict[str, Any], session_id: str) -> None:
    stats = client.stats(session_id)
    with pytest.raises(ValueError, match="nothing to audit"):
        sideline.audit()
    with pytest.raises(ValueError, match="stat_events needs a table stat_events; this response has player_stats, box_score"):
        sideline.audit(stat_events=stats)
    with pytest.raises(ValueError, match="stat_events is not a table stat_events"):
        sideline.audit(stat_events=client.shots(session_id).table())
    with pytest.raises(ValueError, match="player_stats is not a table player_stats or box_score"):
        sideline.audit(player_stats=client.stats_details(session_id).table())
    with pytest.raises(ValueError, match="for player_stats it lacks value"):
        sideline.audit(player_stats=stats.to_polars().drop("value"))
    with pytest.raises(TypeError, match="shots is a response, a Table, a frame, an Arrow table or a list of them, not dict"):
        sideline.audit(shots={})
    with pytest.raises(ValueError, match="shots is an empty list"):
        sideline.audit(shots=[])
    with pytest.raises(ValueError, match="of sessions and some of games"):
        sideline.audit(
            player_stats=client.team_game_stats(game["game_attributes"]["home_team_id"], game_id=game["id"]), stat_events=client.stats_details(session_id)
        )


def test_without_polars_it_says_what_to_install(client: sideline.Client, session_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stats = client.stats(session_id)
    monkeypatch.setitem(sys.modules, "polars", None)
    for measure in (lambda: sideline.audit(player_stats=stats), lambda: metrics.shooting(stats), metrics.true_shooting):
        with pytest.raises(ImportError, match=re.escape('pip install "sideline[polars]"')):
            measure()


def test_audit_is_one_public_name() -> None:
    from sideline import audit

    assert audit is sideline.audit
    assert callable(audit)
    assert repr(audit) == "<sideline.audit: 34 rules>"
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("sideline.audits")
