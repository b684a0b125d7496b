"""Sixty questions to `sideline mcp` over a season of the second service, whose answers are known from the season itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from assistants import Assistant, Reply, assistant
from service import EMPTY, Service

import sideline

pytestmark = [pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning"), pytest.mark.timeout(300)]

NOW = "2027-03-01T12:00:00Z"
TABLES: Any = ("teams", "players", "games", "sessions", "box_score", "stat_events", "possessions", "shots")
Rows = list[dict[str, Any]]

STATS = {"player_stats", "box_score"}
POSSESSIONS = {"possessions", "possession_events", "possession_players"}


@dataclass(frozen=True)
class Question:
    """A case, the call that answers it, and what is known."""

    text: str
    tool: str
    arguments: dict[str, Any]
    expected: Any
    read: Callable[[Rows], Any]
    doubts: dict[str, str] = field(default_factory=dict)
    """The verdict on each game that the answer touches and that is not available."""
    refusal: str | None = None
    """For a question without an answer in the data, or with an ambiguous name: what the error says."""
    matches: tuple[int, ...] = ()
    """For an ambiguous name: the ids that the error lists. The question is then put with the first."""
    has_answer: bool = True


class Truth:
    """The season as the service knows it, without what the sync could not read."""

    def __init__(self, service: Service) -> None:
        self.rows = service.truth()
        self.games = [event.id for event in sorted(service.season.games, key=lambda event: event.tipoff)]
        self.sessions = {event.id: [session.id for session in event.sessions] for event in service.season.games}
        self.hole_sessions: dict[str, set[str]] = {}

    def of(self, table: str, *games: str, **values: Any) -> Rows:
        """The stored rows of games, or of all games and practices."""
        return [
            row
            for row in self.rows[table]
            if (not games or row["game_id"] in games)
            and row.get("session_id") not in self.hole_sessions.get(table, ())
            and all(row[name] == value for name, value in values.items())
        ]


@pytest.fixture(scope="module")
def season(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Assistant, Truth]]:
    """A season in which shots of game 0 are missing, stats of game 1 failed, possessions of game 2 are forbidden, shots of game 3 are incomplete.

    Game 13 is within the correction window, game 14 has not begun.
    """
    folder = tmp_path_factory.mktemp("assistant")
    with Service(seed=11, now=NOW, teams=6, players=8, games=14, days=60, sessions=(2, 2), possessions=8, practices=1) as service:
        truth = Truth(service)
        shots, stats, possessions, incomplete = (truth.sessions[truth.games[number]][1] for number in range(4))
        service.faults.add("shots", path=shots, status=404)
        service.faults.add("stats", path=stats, status=500)
        service.faults.add("possessions", path=possessions, status=403)
        service.faults.add("shots", path=incomplete, change=EMPTY)
        truth.hole_sessions = {"shots": {shots, incomplete}, "box_score": {stats}, "possessions": {possessions}}
        with sideline.Client(**service.client_options(), max_retries=0) as client:
            archive = sideline.Archive(folder / "season", client)
            archive.sync(start="2026-12-01", end="2027-03-10", tables=TABLES, on_error="keep", progress=False)
    with assistant(folder / "season", folder / "state") as server:
        yield server, truth


def count_makes(rows: Rows) -> int:
    return sum(row["is_make"] for row in rows)


def value(rows: Rows) -> Any:
    """The only value of a query."""
    [row] = rows
    [only] = row.values()
    return only


def points_of(team: int) -> Callable[[Rows], float]:
    return lambda rows: sum(row["PTS"] or 0 for row in rows if row["team_id"] == team and row["is_team_total"])


def best(rows: Rows) -> float:
    return max(row["PTS"] or 0 for row in rows if not row["is_team_total"])


def best_of(rows: Rows) -> float:
    points: dict[int, float] = {}
    for row in rows:
        if not row["is_team_total"]:
            points[row["player_id"]] = points.get(row["player_id"], 0) + (row["PTS"] or 0)
    return max(points.values())


def questions(truth: Truth) -> list[Question]:
    """The sixty."""
    games = truth.games
    schedule = {row["game_id"]: row for row in truth.rows["games"]}
    of_shots = {games[0]: "missing", games[3]: "degraded", games[13]: "provisional"}
    of_stats = {games[1]: "missing", games[13]: "provisional"}
    of_games = {games[13]: "provisional", games[14]: "pending"}
    of_possessions = {games[2]: "forbidden", games[13]: "provisional"}
    all_questions: list[Question] = []

    def add(text: str, tool: str, arguments: dict[str, Any], expected: Any, read: Callable[[Rows], Any], **more: Any) -> None:
        all_questions.append(Question(text, tool, arguments, expected, read, **more))

    def only(doubts: dict[str, str], *ids: str) -> dict[str, str]:
        return {game: doubts[game] for game in ids if game in doubts}

    def games_of(team: int) -> list[str]:
        return [game for game, row in schedule.items() if team in (row["home_team_id"], row["away_team_id"])]

    # Box scores: eleven.
    for number in (4, 5, 6, 7, 13, 1):
        game = games[number]
        team = schedule[game]["home_team_id"]
        expected = points_of(team)(truth.of("box_score", game))
        add(f"How many points did team {team} score in {game}?", "box_score", {"game": game}, expected, points_of(team), doubts=only(of_stats, game))
    for number in (5, 8, 9, 13, 1):
        game = games[number]
        expected = best_of(truth.of("box_score", game))
        add(f"How many points did the best scorer of {game} have?", "box_score", {"game": game}, expected, best, doubts=only(of_stats, game))
    # Shots: four.
    for number in (4, 10, 0, 13):
        game = games[number]
        add(f"How many shots went in in {game}?", "shots", {"game": game}, count_makes(truth.of("shots", game)), count_makes, doubts=only(of_shots, game))
    # Schedule: five.
    for team in (11, 13, 15):
        own_games = games_of(team)
        add(f"How many games does team {team} have?", "games", {"team": team}, len(own_games), len, doubts=only(of_games, *own_games))
    for number in (4, 7):
        day = schedule[games[number]]["tipoff_at"].date()
        expected = sum(row["tipoff_at"].date() == day for row in schedule.values())
        add(f"How many games were on {day}?", "games", {"date": f"{day}"}, expected, len)
    # Status: four.
    for number, tables, doubt in ((0, {"shots"}, "missing"), (1, STATS, "missing"), (2, POSSESSIONS, "forbidden"), (6, set(), "")):
        add(
            f"Which tables of {games[number]} are not final?",
            "status",
            {"game": games[number]},
            tables,
            lambda rows: {row["table"] for row in rows if row["status"] in ("missing", "forbidden", "degraded", "late")},
            doubts={games[number]: doubt} if doubt else {},
        )
    # Ambiguous names: ten.
    team_ids = tuple(row["team_id"] for row in truth.rows["teams"])
    for name, team in (("Rovers", 11), ("rov", 13), ("R", 17)):
        own_games = games_of(team)
        add(
            f"How many games do the {name} have?",
            "games",
            {"team": name},
            len(own_games),
            len,
            doubts=only(of_games, *own_games),
            matches=(team, *(other for other in team_ids if other != team)),
            refusal="is the name of 6 teams",
        )
    for first, last, name in (
        ("", "Hall", "Hall"),
        ("", "Adams", "adams"),
        ("", "Moore", "MOORE"),
        ("", "García", "garcia"),
        ("", "Díaz", "Diaz"),
        ("Ana", "Moore", "Ana Moore"),
        ("José", "Adams", "jose adams"),
    ):
        ids = tuple(row["player_id"] for row in truth.rows["players"] if row["last_name"] == last and row["first_name"].startswith(first))
        expected = sum(row["player_id"] == ids[0] for row in truth.of("shots", *games))
        add(
            f"How many shots did {name} take?",
            "shots",
            {"player": name},
            expected,
            len,
            doubts=of_shots,
            matches=ids,
            refusal=f"is the name of {len(ids)} players",
        )
    # Without an answer in the data: ten, six of them without SQL.
    idle = next(
        row["player_id"] for row in truth.rows["players"] if row["team_id"] not in (schedule[games[4]]["home_team_id"], schedule[games[4]]["away_team_id"])
    )
    add("Which games are on 2027-01-01?", "games", {"date": "2027-01-01"}, [], list, has_answer=False)
    add("Which shots did this player take in that game?", "shots", {"game": games[4], "player": idle}, [], list, has_answer=False)
    add("What is the box score of the next game?", "box_score", {"game": games[14]}, [], list, doubts={games[14]: "pending"}, has_answer=False)
    add("What is the box score of the final of 1998?", "box_score", {"game": "final-1998"}, None, list, refusal="the archive has no game", has_answer=False)
    add("Which shots did Zebra take?", "shots", {"player": "Zebra"}, None, list, refusal="the archive has no player named", has_answer=False)
    add("Where are the clips of this game?", "clips", {"game": games[4]}, None, list, refusal="SIDELINE_USERNAME", has_answer=False)

    def query(text: str, sql: str, expected: Any, read: Callable[[Rows], Any] = value, **more: Any) -> None:
        add(text, "query", {"sql": sql}, expected, read, **more)

    query("What does Ana Moore earn?", "select salary from players", None, refusal="salary", has_answer=False)
    query("Who ran fastest?", "select max(speed) from locations", None, refusal="--allow tracking", has_answer=False)
    query("Which plays had a ball screen?", "from ball_screens", [], list, has_answer=False)
    query("Who played in an unknown game?", "from box_score where game_id = 'final-1998'", [], list, has_answer=False)
    # One game, by SQL: six.
    game = games[4]
    own_games = truth.of("possessions", game)
    query("How many possessions had the game?", f"select count(*) from possessions where game_id = '{game}'", len(own_games))
    query("How many passes?", f"select sum(passes) from possessions where game_id = '{game}'", sum(row["passes"] for row in own_games))
    paint = sum(bool(row["paint_touch"]) for row in own_games)
    query("How many paint touches?", f"select count(*) from possessions p where p.game_id = '{game}' and paint_touch", paint)
    events = [row for row in truth.of("stat_events", game) if row["stat"] == "AST" and not row["is_team_total"]]
    sql = f"select count(*) from stat_events e join sessions s using (session_id) where e.game_id = '{game}' and s.game_id = '{game}' and stat = 'AST' and not is_team_total"
    query("How many assists?", sql, len(events))
    longest = max(row["distance_cm"] for row in truth.of("shots", game))
    query("How long was the longest shot?", f"select max(distance_cm) from (select * from shots where game_id in ('{game}'))", longest)
    expected = {row["team_name"] for row in truth.of("box_score", game)}
    query("Who played?", f"select distinct team_name from box_score where '{game}' = game_id", expected, lambda rows: {row["team_name"] for row in rows})
    # Several games: four.
    query("How many shots went in?", "select count(*) filter (is_make) from shots", count_makes(truth.of("shots")), doubts=of_shots)
    expected = sum(row["PTS"] or 0 for row in truth.of("box_score") if row["is_team_total"])
    query("How many points were scored?", "select sum(PTS) from box_score where is_team_total", expected, doubts=of_stats)
    query("How many possessions?", "select count(*) from possessions", len(truth.of("possessions")), doubts=of_possessions)
    pair = (games[0], games[5])
    sql = f"select count(*) from shots where game_id in ('{pair[0]}', '{pair[1]}')"
    query("How many shots in these two games?", sql, len(truth.of("shots", *pair)), doubts=only(of_shots, *pair))
    # Games that are not available: three.
    for number, table, doubts in ((2, "possessions", of_possessions), (3, "shots", of_shots), (13, "shots", of_shots)):
        sql = f"select count(*) from {table} where game_id = '{games[number]}'"
        query(f"How many {table} in {games[number]}?", sql, len(truth.of(table, games[number])), doubts=only(doubts, games[number]))
    # Without games: three.
    query("How many teams are there?", "select count(*) from teams", len(truth.rows["teams"]))
    guards = sum(row["position"] == "G" for row in truth.rows["players"])
    query("How many guards are there?", "select count(*) from players where position = 'G'", guards)
    expected = {row["last_name"] for row in truth.rows["players"] if (row["team_id"], row["jersey_number"]) == (11, 28)}
    sql = "select last_name from players where team_id = 11 and jersey_number = 28"
    query("Who wears 28 in team 11?", sql, expected, lambda rows: {row["last_name"] for row in rows})
    return all_questions


def check(case: Question, reply: Reply) -> None:
    assert not reply.is_error, reply.text
    assert case.read(reply.rows) == case.expected
    assert reply.doubts == case.doubts
    assert reply.text.startswith("Warning: ") == bool(case.doubts), reply.text
    assert all(f"{game}: {verdict}: " in reply.text for game, verdict in case.doubts.items()), reply.text
    assert (reply.content["synced_at"] is not None) == bool(reply.verdicts)


@pytest.mark.parametrize("number", range(60))
def test_a_question_has_its_known_answer(number: int, season: tuple[Assistant, Truth]) -> None:
    server, truth = season
    case = questions(truth)[number]
    reply = server.call(case.tool, **case.arguments)
    if case.refusal is None:
        check(case, reply)
        return
    assert reply.is_error, case.text
    assert case.refusal in reply.text
    if case.matches:
        assert all(f"(id {number})" in reply.text for number in case.matches)
        assert reply.text.count("(id ") == len(case.matches)
        [name] = case.arguments
        check(case, server.call(case.tool, **{name: case.matches[0]}))


def test_the_questions_are_those_of_the_contract(season: tuple[Assistant, Truth]) -> None:
    cases = questions(season[1])
    assert len(cases) == 60
    assert sum(bool(case.doubts) for case in cases) >= 20
    assert sum(not case.has_answer for case in cases) == 10
    assert sum(bool(case.matches) for case in cases) == 10
    assert sum(case.tool != "query" for case in cases) == 40
