"""The simulated season, seen through HTTP: everything agrees with everything."""

from __future__ import annotations

import gc
import html
import math
import re
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

import sideline

NOW = "2026-11-20T20:30:00Z"
NOT_SUMS = {"DIST", "TEAM_SCORE", "OPPOSING_TEAM_SCORE"}
HOST = "https://api.shottracker.com"


@pytest.fixture(scope="module")
def season() -> Iterator[sideline.Simulator]:
    with sideline.Simulator(seed=11, teams=6, games=30, now=NOW) as service:
        yield service


@pytest.fixture(scope="module")
def client(season: sideline.Simulator) -> Iterator[sideline.Client]:
    with season.client() as client:
        yield client


@pytest.fixture(scope="module")
def games(season: sideline.Simulator, client: sideline.Client) -> list[dict[str, Any]]:
    """Finished games, and one that is going on where there is one."""
    events = {}
    for team in season.teams:
        for event in client.team_events(team["id"], season.games[0]["tipoff_at"] - 1, season.games[-1]["tipoff_at"] + 1, games_only=True)["events"]:
            events[event["id"]] = event
    return [e for e in events.values() if e["results"]]


def test_there_are_games_played_and_games_to_come(season: sideline.Simulator, games: list[dict[str, Any]]) -> None:
    assert len(season.games) == 30
    assert 15 <= len(games) < 30


def test_ids_in_schedule_events_and_links_are_the_same(season: sideline.Simulator, games: list[dict[str, Any]]) -> None:
    games_by_id = {g["event_id"]: g for g in season.games}
    for game in games:
        assert games_by_id[game["id"]]["_results"] == game["_self"] == f"{HOST}/v1/data/games/{game['id']}"


def test_every_link_resolves(client: sideline.Client, games: list[dict[str, Any]]) -> None:
    links = [games[0]["_self"], games[0]["totals"]["_stats_details"]]
    for session in games[0]["results"]:
        links += [v for k, v in session.items() if k.startswith("_") and isinstance(v, str)] + session["_locations"]
    links += [p["_locations"] for t in client.possessions(games[0]["results"][0]["id"])["teams"] for p in t["possessions"][:2]]
    for link in links:
        assert link.startswith(HOST)
        assert client.follow(link).status == 200, link


def test_session_windows_touch_and_cover(games: list[dict[str, Any]]) -> None:
    for game in games:
        edge = game["started_at"]
        for session in game["results"]:
            assert session["started_at"] == edge
            for link in session["_locations"]:
                query = parse_qs(urlsplit(link).query)
                start, end = int(query["from"][0]), int(query["to"][0])
                assert (start, query["id"]) == (edge, [session["id"]])
                assert 0 < end - start <= 30 * 60_000
                edge = end
            assert session["ended_at"] == edge
        assert game["ended_at"] == edge


def lines(payload: sideline.Payload) -> Iterator[tuple[int, int, dict[str, Any]]]:
    for team in payload["teams"]:
        for line in team["player_stats"]:
            yield team["id"], line["id"], line["stats"]


def test_box_score_is_the_sum_of_stat_events_possessions_and_shots(client: sideline.Client, games: list[dict[str, Any]]) -> None:
    for game in games[:6]:
        for session in game["results"]:
            box = {(t, p): {k: v for k, v in stats.items() if k not in NOT_SUMS and v} for t, p, stats in lines(client.stats(session["id"]))}
            sums = {
                (t, p): {k: sum(o["value"] for o in v) for k, v in stats.items() if k not in NOT_SUMS and v}
                for t, p, stats in lines(client.stats_details(session["id"]))
            }
            assert {k: v for k, v in box.items() if v} == {k: v for k, v in sums.items() if v}
            attempts: Counter[tuple[int, int]] = Counter()
            for team in client.possessions(session["id"])["teams"]:
                for possession in team["possessions"]:
                    assert len(set(possession["player_ids"])) == len(set(possession["opposing_player_ids"])) == 5
                    for event in possession["stats"]:
                        assert ("shot_attributes" in event) == (event["possession_type"] == "FGA")
                        if event["possession_type"] == "FGA":
                            attempts[team["id"], event["player_id"]] += 1
            shots: Counter[tuple[int, int]] = Counter()
            for team in client.shots(session["id"])["teams"]:
                for player in team["player_shots"]:
                    shots[team["id"], player["id"]] += len(player["shots"])
            expected = {k: v["FGA"] for k, v in box.items() if k[1] and v.get("FGA")}
            assert dict(attempts) == expected
            assert {k: n for k, n in shots.items() if n} == expected


def test_team_totals_are_the_sum_of_the_players(client: sideline.Client, games: list[dict[str, Any]]) -> None:
    for session in games[0]["results"]:
        totals: dict[int, Any] = {}
        sums: dict[int, Counter[str]] = defaultdict(Counter)
        for team, player, stats in lines(client.stats(session["id"])):
            if player == 0:
                totals[team] = stats
            else:
                sums[team].update({k: v for k, v in stats.items() if k not in NOT_SUMS})
        assert {t: {k: v for k, v in s.items() if k not in NOT_SUMS and v} for t, s in totals.items()} == {
            t: {k: v for k, v in s.items() if v} for t, s in sums.items()
        }


def test_no_finished_game_is_a_tie(season: sideline.Simulator, client: sideline.Client, games: list[dict[str, Any]]) -> None:
    finished_games = [g for g in games if g["ended_at"] < sideline_now()]
    assert len(finished_games) >= 15
    for game in finished_games:
        points: Counter[int] = Counter()
        for session in game["results"]:
            for team, player, stats in lines(client.stats(session["id"])):
                points[team] += stats.get("PTS", 0) if player == 0 else 0
        home, away = points.values()
        assert home != away


def sideline_now() -> int:
    from datetime import datetime

    return int(datetime.fromisoformat(NOW).timestamp() * 1000)


def test_shots_lie_in_the_documented_frames(client: sideline.Client, games: list[dict[str, Any]]) -> None:
    # Facts 7: chart = -sign(hoop_y) * (player - hoop), within 1 mm; distances in cm.
    seen = 0
    for game in games[:3]:
        for session in game["results"]:
            for shot in client.shots(session["id"]).table().to_dicts():
                s = math.copysign(1, shot["hoop_y"])
                assert shot["hoop_player_x"] == pytest.approx(-s * (shot["player_x"] - shot["hoop_x"]), abs=1)
                assert shot["hoop_player_y"] == pytest.approx(-s * (shot["player_y"] - shot["hoop_y"]), abs=1)
                assert abs(shot["player_x"]) <= 7620 and abs(shot["player_y"]) <= 14326
                assert shot["distance_cm"] == pytest.approx(math.hypot(shot["hoop_player_x"], shot["hoop_player_y"]) / 10)
                assert 1 <= shot["zone"] <= 14 and 1 <= shot["advanced_zone"] <= 23
                seen += 1
    assert seen > 200


def test_rosters_have_five_starters(season: sideline.Simulator, client: sideline.Client) -> None:
    for team in season.teams:
        assert sum(p["is_starter"] for p in client.roster(team["id"])["players"]) == 5


def test_the_same_seed_and_clock_give_the_same_bodies() -> None:
    def bodies(seed: int) -> list[bytes]:
        with sideline.Simulator(seed=seed, teams=4, games=12, now=NOW) as service, service.client() as client:
            session = client.game(service.games[0]["event_id"])["results"][0]["id"]
            return [client.teams().raw, client.possessions(session).raw, client.stats_details(session).raw, client.shots(session).raw]

    assert bodies(3) == bodies(3)
    assert bodies(3) != bodies(4)


def test_football_has_quarters() -> None:
    with sideline.Simulator(seed=3, sport="football", teams=4, games=12, now=NOW) as service, service.client() as client:
        game = client.game(service.games[0]["event_id"]).to_dict()
        assert [(r["type"], r["name"]) for r in game["results"]][:4] == [("FOOTBALL_GAME_QUARTER", f"Q{n}") for n in (1, 2, 3, 4)]
        assert client.schedule(1_600_000_000_000, 1_600_000_000_001).to_dict() == {"games": []}
        assert "type=FOOTBALL" in client.schedule(1_600_000_000_000, 1_600_000_000_001).url
        assert client.stats(game["results"][0]["id"]).status == 200


def rows(table: sideline.Table, *columns: str) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[column] for column in columns) for row in table.to_dicts())


def test_a_games_shots_are_those_of_its_sessions(client: sideline.Client, games: list[dict[str, Any]]) -> None:
    columns = ("session_id", "team_id", "player_id", "occurred_at", "is_make", "points", "zone", "player_x", "player_y", "hoop_player_x", "game_clock_s")
    for game in games[:4]:
        shots = client.game_shots(game["id"]).table()
        for shot in shots.to_dicts():
            assert shot["distance_cm"] == pytest.approx(math.hypot(shot["hoop_player_x"], shot["hoop_player_y"]) / 10)
        of_sessions: Counter[tuple[Any, ...]] = Counter()
        for session in game["results"]:
            of_sessions += rows(client.shots(session["id"]).table(), *columns)
        assert rows(shots, *columns) == of_sessions
        assert shots.num_rows > 60


def test_plays_add_up_to_the_box_score_and_the_points_to_the_score(client: sideline.Client, games: list[dict[str, Any]]) -> None:
    for game in games[:4]:
        sums: Counter[tuple[int, int, str]] = Counter()
        plays = client.play_by_play(game["id"])
        for play in plays.table().to_dicts():
            for code, value in dict(play["stats"]).items():
                sums[play["team_id"], play["player_id"], code] += value
        caught_up = client.catch_up(game["id"], "stats")
        box = {
            (line["team_id"], line["player_id"], line["stat"]): line["value"]
            for line in caught_up.table("player_stats").to_dicts()
            if not line["is_team_total"] and line["stat"] not in NOT_SUMS
        }
        assert dict(sums) == box
        for side in ("home", "away"):
            score = plays["gameTotals"][f"{side}TeamScore"]
            team = game["game_attributes"][f"{side}_team_id"]
            assert score == {"teamId": str(team), "value": sum(n for (t, _, code), n in sums.items() if (t, code) == (team, "PTS"))}


def test_ball_screens_are_those_that_possessions_count(client: sideline.Client, games: list[dict[str, Any]]) -> None:
    for game in games[:4]:
        screens: Counter[str] = Counter()
        for session in game["results"]:
            for possession in client.possessions(session["id"]).table().to_dicts():
                screens[session["id"]] += possession["ball_screens"]
        assert Counter(screen["session_id"] for screen in client.ball_screens(game["id"]).table().to_dicts()) == screens


def test_a_matchup_finds_the_games_of_both_teams(season: sideline.Simulator, client: sideline.Client) -> None:
    game = season.games[0]
    pair = {game["home_team_id"], game["away_team_id"]}
    expected = [g["event_id"] for g in season.games if {g["home_team_id"], g["away_team_id"]} == pair]
    references = [game["home_team_reference_id"], game["away_team_reference_id"]]
    for teams, reference in ((pair, "SHOTTRACKER"), (references, "SIM")):
        table = client.matchup(sorted(teams), 1_600_000_000_000, reference=reference, gender="MEN").table()
        assert [row["game_id"] for row in table.to_dicts()] == expected
    assert client.matchup(references, 1_600_000_000_000, reference="SIM", gender="WOMEN").table().num_rows == 0


def test_a_week_holds_games_of_one_season_type(season: sideline.Simulator, client: sideline.Client) -> None:
    counts: Counter[str] = Counter()
    for week in range(1, 31):
        for season_type in ("EXH", "PRE", "REG", "POST"):
            of_week = client.schedule(1_600_000_000_000, season.games[-1]["tipoff_at"] + 1, season_type=season_type, week=week)
            counts.update(game["event_id"] for game in of_week["games"])
    assert counts == Counter(game["event_id"] for game in season.games)


def test_workouts_are_kept_apart(season: sideline.Simulator, client: sideline.Client) -> None:
    for team in season.teams:
        span = (season.games[0]["tipoff_at"], season.games[-1]["tipoff_at"])
        workouts = client.team_events(team["id"], *span, workouts_only=True)["events"]
        assert workouts and all(event["is_practice_event"] for event in workouts)
        others = {event["id"] for event in client.team_events(team["id"], *span)["events"]}
        assert others.isdisjoint(event["id"] for event in workouts)


def test_a_broadcast_roster_is_the_roster(season: sideline.Simulator, client: sideline.Client) -> None:
    columns = ("player_id", "first_name", "last_name", "jersey", "position", "sensor")
    for team in season.teams:
        broadcast_roster, other = client.broadcast_roster(team["id"]).table("players"), client.roster(team["id"]).table("players")
        shared = [column for column in columns if column in broadcast_roster.column_names]
        assert len(shared) >= 5
        assert rows(broadcast_roster, *shared) == rows(other, *shared)


def test_a_notebook_sees_what_it_serves_and_no_secret() -> None:
    with sideline.Simulator(seed=7, teams=4, games=8, now=NOW) as small, small.client() as client:
        client.teams()
        page = html.unescape(small._repr_html_())
    assert all(f">{text}<" in page for text in ("serving", "4", "8", small.base_url, small.websocket_url))
    assert re.search(r"requests answered</th><td[^>]*>1<", page)
    days = [datetime.fromtimestamp(small.games[place]["tipoff_at"] / 1000, UTC).date() for place in (0, -1)]
    assert f">{days[0]} to {days[1]}<" in page
    assert ">closed<" in small._repr_html_()
    assert small.secret not in page
    assert small.api_key not in page


@pytest.mark.parametrize("name", ["seed", "teams", "games", "port", "location_rate"])
def test_a_number_of_the_wrong_size_or_type_is_named(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} is out of range: -1$"):
        sideline.Simulator(**{name: -1})
    for size in (2**63, -(2**80)):
        with pytest.raises(ValueError, match=f"^{name} is a whole number; this one exceeds 64 bits$"):
            sideline.Simulator(**{name: size})
    with pytest.raises(TypeError, match=f"^{name} is a whole number; 'str' object"):
        sideline.Simulator(**{name: "7"})


@pytest.mark.parametrize(
    ("option", "error_text"),
    [
        ({"location_rate": 100}, "location_rate is a number of frames a second"),
        ({"noise_m": 2.5}, "noise_m is a standard deviation from 0 to 2 m, not 2.5"),
        ({"noise_m": float("nan")}, "noise_m is a standard deviation from 0 to 2 m, not NaN"),
        ({"dropout": -0.1}, "dropout is a share from 0 to 1, not -0.1"),
        ({"clock_offset_s": 61.0}, "clock_offset_s is a time from -60 to 60 s, not 61"),
        ({"wrong_defenders": 1.5}, "wrong_defenders is a share from 0 to 1, not 1.5"),
    ],
)
def test_an_option_out_of_its_range_is_refused_with_the_range(option: dict[str, Any], error_text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(error_text)}"):
        sideline.Simulator(games=2, **option)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda service, game: service.play(game, "60"), "speed is a number such as 60.0, or None"),
        (lambda service, game: service.correct(game, "7", "AST", 1), "player_id is a whole number"),
        (lambda service, game: service.correct(game, 7, 3, 1), 'stat is a code such as "AST"'),
        (lambda service, game: service.correct(game, 7, "AST", 0.5), "delta is a whole number"),
    ],
)
def test_an_argument_of_another_type_is_named(call: Callable[[sideline.Simulator, str], None], message: str, service: sideline.Simulator) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(message)}"):
        call(service, service.games[-1]["event_id"])


def test_imperfect_sensors_are_options() -> None:
    def minute(**options: Any) -> list[dict[str, Any]]:
        with sideline.Simulator(seed=7, teams=4, games=8, now="2027-03-01T12:00:00Z", **options) as service, service.client() as client:
            session = client.game(service.games[0]["event_id"])["results"][0]
            rows: list[dict[str, Any]] = client.locations(session["id"], session["started_at"], session["started_at"] + 60_000).table().to_dicts()
            return rows

    exact, lossy, noisy, with_bench = minute(), minute(dropout=0.3), minute(noise_m=0.5), minute(bench_tags=True)
    assert len(exact) == 11 * 121
    assert 0.6 * len(exact) < len(lossy) < 0.8 * len(exact)
    assert 400 < sum(abs(row["x"] - other["x"]) for row, other in zip(exact, noisy, strict=True)) / len(exact) * 1.25 < 600
    assert len(with_bench) > 2 * len(exact)


def test_who_is_substituted_walks_between_seat_and_court() -> None:
    options: dict[str, Any] = {"seed": 5, "teams": 4, "games": 6, "now": "2027-03-01T12:00:00Z"}
    with sideline.Simulator(**options, location_rate=25, bench_tags=True) as service, service.client() as client:
        session = client.game(service.games[0]["event_id"]).table("sessions").to_dicts()[0]
        start, end = session["started_at"], session["started_at"] + timedelta(minutes=12)
        rows = client.locations(session["session_id"], start, end).table().to_dicts()
        possessions = [row for row in client.possessions(session["session_id"]).table().to_dicts() if row["end_timestamp"] < end]
    places: dict[int, dict[datetime, tuple[float, float]]] = defaultdict(dict)
    for row in rows:
        if row["type"] == "PLAYER":
            places[row["player_id"]][row["t"]] = row["x"], row["y"]
    for player_id, at in places.items():
        fastest = max(math.dist(at[before], at[after]) / 40 for before, after in pairwise(sorted(at)))
        assert fastest <= 9, (player_id, fastest)
    seats = 0
    for row in possessions:
        middle = row["start_timestamp"] + (row["end_timestamp"] - row["start_timestamp"]) / 2
        t = start + (middle - start) // timedelta(milliseconds=40) * timedelta(milliseconds=40)
        seats += sum(places[player_id][t][0] > 8000 for player_id in places.keys() - {*row["player_ids"], *row["opposing_player_ids"]})
    assert seats >= 0.97 * len(possessions) * (len(places) - 10)


def test_the_service_runs_as_long_as_one_of_its_clients() -> None:
    service = sideline.Simulator(seed=7, teams=4, games=8)
    alive, client = weakref.ref(service), service.client()
    frame = client.season("2026-27").scan("shots").head(1)
    del service, client
    gc.collect()
    assert frame.collect().height == 1
    del frame
    gc.collect()
    assert alive() is None


def test_the_sessions_of_a_game_add_up_to_the_game(client: sideline.Client, games: list[dict[str, Any]]) -> None:
    """A live box score that is recovered from the sessions relies on it, in every code."""
    scores = {"TEAM_SCORE", "OPPOSING_TEAM_SCORE"}
    for game in games[:6]:
        sums: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
        for session in game["results"]:
            for team, player, stats in lines(client.stats(session["id"])):
                sums[team, player].update({k: v for k, v in stats.items() if k not in scores})
        totals = client.team_game_stats(game["game_attributes"]["home_team_id"], game_id=game["id"])
        assert totals["player_stats"]
        for line in totals["player_stats"]:
            expected = {k: v for k, v in line["stats"].items() if k not in scores and v}
            assert +sums[totals["id"], line["id"]] == expected
