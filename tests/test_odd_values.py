"""Every kind of odd value in one season: what each costs in the archive and in a delivery, and that all else arrives in both."""

from __future__ import annotations

import json
import random
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from archives import sorted_rows
from needs import ARCHIVE, library, needs, require
from service import Service
from trust import describe, untrue

import sideline
from postgres_server import new_database
from sideline.archive._export_target import Address, open_target

require(*ARCHIVE, extra="archive")
pa = library("pyarrow")

pytestmark = [
    pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning", "ignore:.*no sync has requested them"),
    needs("adbc_driver_manager", "adbc_driver_postgresql", "duckdb"),
    pytest.mark.timeout(300),
]

NOW, LINKS = "2027-03-05T12:00:00Z", "https://service.invalid"
SPAN: dict[str, Any] = {"start": "2027-01-01", "end": "2027-06-01", "correction_window": None, "on_error": "keep", "progress": False}
TABLES: dict[str, tuple[str, ...]] = {
    "stats": ("player_stats", "box_score"),
    "stats_details": ("stat_events",),
    "possessions": ("possessions", "possession_events", "possession_players"),
    "shots": ("shots",),
    "teams": ("teams",),
    "roster": ("players", "special_services", "team"),
    "schedule": ("games",),
    "team_events": ("events", "sessions", "location_windows"),
}
LISTS = {"teams": ("teams", "id"), "schedule": ("games", "event_id"), "team_events": ("events", "id")}
"""Operations whose body is a list: its name, and the id of an entry."""

ARRIVES, NULL, VALUE, COLUMN, KEY, BODY = "it arrives", "a null in the archive", "a value", "a column", "the key", "the body"
"""What an odd value costs. A body that is not stored is a hole of the report, and a number that no column holds a field of its drift."""


@dataclass(frozen=True)
class Kind:
    """One odd value: its place in a body, or in the entry of a list, and its JSON text, of a value or (`+`) of a new key.

    `*` is the first element that has the rest of the place, and `@` the id of the entry.
    """

    operation: str
    place: str
    text: str
    costs: str = ARRIVES
    in_duckdb: str | None = None
    """What it costs there, if that is less than in PostgreSQL."""

    def cost(self, database: str) -> str:
        return self.in_duckdb if database == "duckdb" and self.in_duckdb is not None else self.costs


def name(text: str, *costs: str) -> Kind:
    return Kind("stats", "teams/0/name", text, *costs)


def code(text: str, *costs: str) -> Kind:
    return Kind("stats", "teams/0/player_stats/1/stats/+", text, *costs)


def number(text: str, *costs: str) -> Kind:
    return Kind("stats", "teams/0/player_stats/1/stats/FGA", text, *costs)


def player(text: str, *costs: str) -> Kind:
    return Kind("stats", "teams/0/player_stats/1/id", text, *costs)


def time(text: str, *costs: str) -> Kind:
    return Kind("stats_details", "teams/*/player_stats/*/stats/FGA/0/occurred_at", text, *costs)


def on_court(text: str, *costs: str) -> Kind:
    return Kind("possessions", "teams/*/possessions/0/player_ids", text, *costs)


def details(text: str, *costs: str) -> Kind:
    return Kind("possessions", "teams/*/possessions/*/stats/0/details", text, *costs)


SHOT = "teams/*/player_shots/0/shots/0"
MAX_CODE = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz", k=5_000))
"""Of 5 kB, which no compression shortens."""

KINDS: dict[str, Kind] = {
    # Texts
    "a NUL in a name": name(r'"a\u0000b"', VALUE, ARRIVES),
    "a NUL in a player's name": Kind("stats", "teams/0/player_stats/1/player_details/firstname", r'"\u0000"', VALUE, ARRIVES),
    "a NUL in a period": Kind("stats_details", "teams/*/player_stats/*/stats/FGA/0/period", r'"Q\u0000"', VALUE, ARRIVES),
    "the first half of a surrogate pair": name(r'"a\ud800b"', BODY),
    "the second half of a surrogate pair": name(r'"\udc00"', BODY),
    "bytes that are no UTF-8": name('"\udcff"', BODY),
    "an empty text": name('""'),
    "a text of 1 MB": Kind("stats", "teams/0/player_stats/1/player_details/lastname", json.dumps("x" * 1_000_000)),
    "emoji": name('"🏀👩🏽‍🚀🇨🇿"'),
    "combining characters": name('"e\u0301\u0323 Z\u0351\u036b"'),
    "text from right to left": name(r'"\u202e\u0645\u0643 \u05d0\u05d1\u202c"'),
    "quotes, a semicolon and a backslash": name(r'''"'; drop table player_stats; --\"\\"'''),
    "white space": name(r'" a\n\t\r\u000b\u2028 "'),
    "control characters": name(r'"\u0001\u001b[31m\u007f\u0085"'),
    "characters that are none": name(r'"\ufeff\uffff\ufffe"'),
    "text that is JSON": name(r'"{\"a\": [1, null]}"'),
    "the null of COPY": name(r'"\\N"'),
    "a backslash before u0000": name(r'"\\u0000"'),
    "a number for a text": name("5"),
    "1e400 for a text": name("1e400"),
    "a flag for a text": name("true", BODY),
    "an object for a text": name('{"a": 1}', BODY),
    "a list for a text": name('["a"]', BODY),
    "null for a text": name("null"),
    "500 nested lists": name("[" * 500 + "]" * 500, BODY),
    "a clock of four parts": Kind("stats_details", "teams/*/player_stats/*/stats/FGA/0/game_clock", '"99:99:99:99"'),
    "a clock of 1e308": Kind("stats_details", "teams/*/player_stats/*/stats/FGA/0/game_clock", "1e308"),
    # Codes
    "an empty code": code('""', COLUMN),
    "a blank code": code('" "'),
    "a reserved word": code('"select"'),
    "a code of 64 bytes": code(json.dumps("L" * 64), COLUMN, ARRIVES),
    "two codes with the same 63 bytes": code(f'"{"M" * 63}a": 1, "{"M" * 63}b"', COLUMN, ARRIVES),
    "a code of 32 letters and 64 bytes": code(f'"{"é" * 32}"', COLUMN, ARRIVES),
    "a code of 5 kB": code(json.dumps(MAX_CODE), COLUMN, ARRIVES),
    "two codes that differ in case": code('"odd": 1, "ODD"', BODY),
    "a code that differs from a column in case": code('"pts"', BODY),
    "codes that differ in case beyond ASCII": code('"É": 1, "é"', BODY),
    "a code composed and decomposed": code('"n\u0303": 1, "\u00f1"'),
    "a code that is a column": code('"team_id"'),
    "a code that is a column of the archive": code('"Month"', BODY),
    "a code that is a column of changes": code('"_change"', BODY),
    "a system column of PostgreSQL": code('"ctid"', COLUMN, ARRIVES),
    "a system column in capitals": code('"XMIN"', COLUMN, ARRIVES),
    "the row id of DuckDB": code('"rowid"'),
    "quotes and a semicolon in a code": code(r'''"a\"b'; drop table box_score; --"'''),
    "a newline in a code": code(r'"a\nb"', BODY),
    "a tab in a code": code(r'"a\tb"', BODY),
    "a NUL in a code": code(r'"a\u0000b"', BODY),
    "half of a surrogate pair in a code": code(r'"\ud800"', BODY),
    "an emoji as code": code('"🏀"'),
    "a code from right to left": code(r'"\u0645\u0643"'),
    "dots, brackets and backticks in codes": code('"a.b": 1, "a[0]": 1, "a{}": 1, "`a`": 1, "a/b=c": 1, "%41"'),
    "a code of digits": code('"7"'),
    "the same code twice": code('"TWICE": 1, "TWICE"'),
    # Numbers
    "a number beyond 64 bits": number("18446744073709551616"),
    "1e400": number("1e400", BODY),
    "-1e400": number("-1e400", BODY),
    "-0.0": number("-0.0"),
    "1e-400": number("1e-400"),
    "the least number": number("5e-324"),
    "the largest number": number("1.7976931348623157e308"),
    "a thousand digits": number("0." + "1" * 1_000),
    "a number as text": number('"12"'),
    "a number in blanks": number('" 12 "', BODY),
    "a flag for a number": number("true", BODY),
    "a word for a number": number('"many"', BODY),
    "NaN as text": number('"NaN"', BODY),
    "NaN": number("NaN", BODY),
    "null for a number": number("null"),
    "an object for a number": number("{}", BODY),
    "a list for a number": number("[1]", BODY),
    "null for stats": Kind("stats", "teams/0/player_stats/1/stats", "null"),
    "a list for stats": Kind("stats", "teams/0/player_stats/1/stats", "[]", BODY),
    "stats without codes": Kind("stats", "teams/0/player_stats/1/stats", "{}"),
    "a version of 1.5": Kind("stats", "teams/0/player_stats/1/version", "1.5", NULL),
    "a count of 1e30": Kind("possessions", "teams/*/possessions/0/possession_attributes/passes", "1e30", NULL),
    "a number for a flag": Kind("possessions", "teams/*/possessions/0/possession_attributes/half_court", "1"),
    "a word for a flag": Kind("possessions", "teams/*/possessions/0/possession_attributes/half_court", '"yes"', BODY),
    "a coordinate of 1e308": Kind("shots", f"{SHOT}/player_x", "1e308"),
    # Ids
    "an id as text": player('"461"'),
    "the largest id": player("9223372036854775807"),
    "a negative id": player("-1"),
    "an id beyond 64 bits": player("9223372036854775808", BODY),
    "an id of 1.5": player("1.5", BODY),
    "a flag as id": player("true", BODY),
    "null as id": player("null", BODY),
    "the same id twice": player("0", KEY, ARRIVES),
    "null in a key": Kind("shots", "teams/*/player_shots/0/id", "null", KEY, ARRIVES),
    "a team's id as text": Kind("teams", "id", '"@"'),
    "a team's id beyond 64 bits": Kind("teams", "id", "9223372036854775808", BODY),
    "a team without name": Kind("teams", "name", "null"),
    "a jersey number of 1e30": Kind("roster", "players/1/jersey_number", "1e30", NULL),
    "a session's id with a NUL": Kind("team_events", "results/0/id", r'"a\u0000b"', BODY),
    "a session's id with a quote": Kind("team_events", "results/0/id", '"a\'b"', BODY),
    # Times
    "the last millisecond of the year 0": time("-62135596800001", BODY),
    "the first millisecond of the year 1": time("-62135596800000"),
    "before 1970": time("-1"),
    "the time 0": time("0"),
    "the last millisecond of the year 9999": time("253402300799999"),
    "the first millisecond of the year 10000": time("253402300800000", BODY),
    "a time before the years of PostgreSQL": time("-300000000000000", BODY),
    "a time of 1e30": time("1e30", NULL),
    "a time of 1.5": time("1.5", NULL),
    "a time as a date": time('"2027-01-01T00:00:00Z"', BODY),
    "null for a time in a key": time("null", KEY, ARRIVES),
    "a game in the year 0": Kind("schedule", "tipoff_at", "-62135596800001", BODY),
    # Lists
    "an empty list": on_court("[]"),
    "null in a list": on_court("[1, null]"),
    "ids as text in a list": on_court('["1"]'),
    "a number for a list": on_court("1", BODY),
    "a list in a list": on_court("[[1]]", BODY),
    "an object for a list": on_court("{}", BODY),
    "a NUL in a list": details(r'["a\u0000b"]', VALUE, ARRIVES),
    "odd texts in a list": details(r'["\\u0000", "\"\n\\", "🏀", ""]'),
    "a text for a list": details('"FGA"', BODY),
    "an object for occurrences": Kind("stats_details", "teams/*/player_stats/*/stats/FGA", "{}", BODY),
    "no possessions": Kind("possessions", "teams/*/possessions", "[]"),
    "two links": Kind("possessions", "teams/*/possessions/0/_locations", '["a", "b"]'),
    "the largest id in a list": Kind("shots", f"{SHOT}/+", '"shotDefenders": [9223372036854775807, -1], "later"'),
    "an unknown field": Kind("shots", f"{SHOT}/+", r'"a\u0000\"": {"b": [1e400]}, "c"'),
    "a service that is null": Kind("roster", "players/0/special_services", r'[{"type": "\u0000", "value": null}]', VALUE, ARRIVES),
    "a place with a NUL": Kind("schedule", "facility_name", r'"\u0000"', VALUE, ARRIVES),
    "an event's name with a NUL": Kind("team_events", "name", r'"\u0000"', VALUE, ARRIVES),
}

SIZE: dict[str, Any] = {"teams": 6, "players": 6, "games": 66, "sessions": (2, 2), "possessions": 6, "practices": 1, "days": 60}


def holder(node: Any, way: Sequence[str]) -> Any:
    """The object with the last of the keys; `None` if there is no such place."""
    key, *rest = way
    if not rest:
        return node if isinstance(node, dict) and (key == "+" or key in node) else None
    children = dict(enumerate(node)) if isinstance(node, list) else node if isinstance(node, dict) else {}
    holders = (holder(child, rest) for name, child in children.items() if key in ("*", str(name)))
    return next((place for place in holders if place is not None), None)


def serve(service: Service, targets: Mapping[str, str]) -> None:
    """Put each kind into the body or entry of its target."""
    for operation in TABLES:
        kinds = {target: KINDS[name] for name, target in targets.items() if KINDS[name].operation == operation}

        def change(body: Any, operation: str = operation, kinds: Mapping[str, Kind] = kinds, target: str = "") -> Any:
            root, key = LISTS.get(operation, ("", ""))
            for entry in body[root] if root else [body]:
                if (id_ := str(entry[key]) if root else target) in kinds:
                    *_, last = way = kinds[id_].place.split("/")
                    place = holder(entry, way)
                    assert place is not None, kinds[id_]
                    place[f"+{id_}" if last == "+" else last] = 1 if last == "+" else f"@{id_}"
            return body

        def change_bytes(body: bytes, kinds: Mapping[str, Kind] = kinds) -> bytes:
            for target, kind in kinds.items():
                mark = json.dumps(("+" if kind.place.endswith("+") else "@") + target)
                body = body.replace(mark.encode(), kind.text.replace("@", target).encode(errors="surrogateescape"))
            return body

        if operation in LISTS:
            service.faults.add(operation, change=change, change_bytes=change_bytes)
        else:
            for target in kinds:
                service.faults.add(operation, path=rf"/{target}\b", change=partial(change, target=target), change_bytes=change_bytes)


@dataclass(frozen=True)
class OddSeason:
    """The archive of a season with every kind, and what its sync reported."""

    service: Service
    client: sideline.Client
    archive: sideline.Archive
    report: Any
    targets: dict[str, str]
    """The id of the session, team or game that has the kind."""
    folder: Path


@pytest.fixture(scope="module")
def season(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OddSeason]:
    folder = tmp_path_factory.mktemp("odd")
    with (
        Service(seed=5, now=NOW, link_base=LINKS, **SIZE) as service,
        sideline.Client(**service.client_options(), max_retries=0) as client,
    ):
        games, teams = iter(service.season.games), (str(team.id) for team in service.season.teams)
        targets = {name: next(teams) if KINDS[name].operation in ("teams", "roster") else next(games).id for name in KINDS if is_of_list(name)}
        sessions = (session.id for game in games for session in game.sessions)
        targets |= {name: next(sessions) for name in KINDS if not is_of_list(name)}
        serve(service, targets)
        archive = sideline.Archive(folder / "season", client)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sideline.SchemaDriftWarning)
            yield OddSeason(service, client, archive, archive.sync(**SPAN), targets, folder)


def is_of_list(name: str) -> bool:
    return KINDS[name].operation in (*LISTS, "roster")


def has(row: Mapping[str, Any], target: str) -> bool:
    """Whether a row is of a session, team or game."""
    return target in {str(row.get(key)) for key in ("session_id", "game_id", "event_id", "team_id")}


def test_a_value_costs_at_most_its_body_in_the_archive(season: OddSeason) -> None:
    names_of_holes = [(hole, {name for name, target in season.targets.items() if is_hole_of(season, hole, name, target)}) for hole in season.report.holes]
    assert [hole for hole, names in names_of_holes if not names or not hole["error"]] == []
    assert {name for _, names in names_of_holes for name in names} == {name for name, kind in KINDS.items() if kind.costs == BODY}
    nulls = {(row["operation"], row["path"].rpartition(".")[2]) for row in season.report.drift.to_dicts() if row["path"].endswith("(not a whole number)")}
    assert nulls == {(kind.operation, f"{kind.place.rpartition('/')[2]} (not a whole number)") for kind in KINDS.values() if kind.costs == NULL}


def is_hole_of(season: OddSeason, hole: Mapping[str, Any], name: str, target: str) -> bool:
    """Whether a hole is of the body or entry that has the kind; an entry of a list without its id has its position there."""
    if KINDS[name].operation == "teams":
        return bool(hole["unit"] == f"event/teams[{[str(team.id) for team in season.service.season.teams].index(target)}]")
    return target in (hole["session_id"], hole["game_id"])


def test_everything_else_is_in_the_archive(season: OddSeason) -> None:
    """By the season itself for bodies as they should be, and by the same bodies read without an archive for the others."""
    of_sessions = ("stats", "stats_details", "possessions", "shots")
    operations = {table: operation for operation in (*of_sessions, "schedule", "team_events") for table in TABLES[operation]}
    odd_places = {(operation, target) for name, target in season.targets.items() for operation in (TABLES if is_of_list(name) else [KINDS[name].operation])}

    def is_odd(table: str, row: Mapping[str, Any]) -> bool:
        return any(has(row, target) for operation, target in odd_places if operation == operations[table])

    untrue_rows = [(table, side, row) for table, side, row in untrue(season.archive, season.service, operations) if not is_odd(table, row)]
    assert not untrue_rows, describe(untrue_rows)
    holes = {hole["unit"] for hole in season.report.holes}
    for operation in of_sessions:
        ids = [target for name, target in season.targets.items() if KINDS[name].operation == operation and f"{operation}/{target}" not in holes]
        batch = getattr(season.client, operation)(ids, progress=False)
        for table in TABLES[operation]:
            rows, expected_rows = season.archive.to_arrow(table), batch.table(table).to_arrow()
            rows = rows.filter(pa.compute.is_in(rows["session_id"], pa.array(ids))).select(expected_rows.column_names)
            assert sorted_rows(rows, ["game_id"]) == sorted_rows(expected_rows, ["game_id"]), table


Rows = list[dict[str, Any]]


def tables_of(season: OddSeason, address: str) -> Iterator[tuple[str, Rows, Rows]]:
    """Each table with the archive's rows and those of a database, with JSON read."""
    with open_target(Address(address)) as target:
        for table in (*(table for tables in TABLES.values() for table in tables), "coverage"):
            rows = season.archive.to_arrow(table)
            nested = {column.name for column in rows.schema if pa.types.is_nested(column.type)}
            delivered_rows = target.read(f'select * from "{table}"').to_pylist()
            for row in delivered_rows:
                row |= {name: json.loads(row[name]) for name in nested if row[name] is not None}
            yield table, rows.to_pylist(), delivered_rows


@pytest.mark.parametrize("database", ["duckdb", "postgresql"])
def test_everything_else_is_delivered_and_what_is_not_is_named(season: OddSeason, database: str, request: pytest.FixtureRequest) -> None:
    address = f"duckdb://{season.folder}/season.duckdb" if database == "duckdb" else new_database(request.getfixturevalue("postgres"))
    problems = season.archive.export(address).problems
    costs: dict[str, str] = {}
    expected_problems: Counter[str] = Counter()
    for table, rows, delivered_rows in tables_of(season, address):
        columns = delivered_rows[0].keys()
        columns_left_out = [column for column in rows[0] if column not in columns]
        expected_problems.update(f"{table}: the column {column[:80]!r}" for column in columns_left_out)
        expected_rows = [{name: None if is_lost(value, database) else value for name, value in row.items() if name in columns} for row in rows]
        assert sorted(map(text_of, delivered_rows)) == sorted(map(text_of, expected_rows)), table
        for row in rows:
            lost_columns = [name for name, value in row.items() if is_lost(value, database)]
            expected_problems.update(f"{table}.{name}" for name in lost_columns)
            if cost := VALUE if lost_columns else COLUMN if any(row[name] is not None for name in columns_left_out) else "":
                costs |= {name: cost for name, target in season.targets.items() if has(row, target) and table in TABLES[KINDS[name].operation]}
    assert costs == {name: kind.cost(database) for name, kind in KINDS.items() if kind.cost(database) in (VALUE, COLUMN)}
    key_problems = [problem for problem in problems if "no primary key" in problem]
    assert Counter(dict(subject_of(problem) for problem in problems if problem not in key_problems)) == expected_problems
    tables_without_key = {"player_stats", "box_score", "stat_events", "shots"} if database == "postgresql" else set()
    assert {problem.partition(":")[0] for problem in key_problems} == tables_without_key


def is_lost(value: Any, database: str) -> bool:
    """PostgreSQL has no NUL in texts."""
    texts = value if isinstance(value, list) else [value]
    return database == "postgresql" and any(isinstance(text, str) and "\0" in text for text in texts)


def text_of(row: Mapping[str, Any]) -> str:
    """A row as text, with its columns in order and instants in one time zone; it tells -0.0 from 0.0."""
    return repr([(name, value.timestamp() if isinstance(value, datetime) else value) for name, value in sorted(row.items())])


def subject_of(problem: str) -> tuple[str, int]:
    """The column that a problem names, and how many values or columns it counts."""
    if column := re.match(r"(\w+: the column '.*') has ", problem):
        return column[1], 1
    value = re.fullmatch(r"(\w+\.\w+): (\d+) values? with a NUL, null in the target", problem)
    assert value is not None, problem
    return value[1], int(value[2])


@pytest.fixture
def league() -> Iterator[Service]:
    size = {**SIZE, "games": 4, "sessions": (1, 1), "days": 8}
    with Service(seed=5, now=NOW, link_base=LINKS, **size) as league:
        yield league


@pytest.fixture
def archive(league: Service, tmp_path: Path) -> Iterator[sideline.Archive]:
    with sideline.Client(**league.client_options(), max_retries=0) as client:
        yield sideline.Archive(tmp_path / "season", client)


def differing(archive: sideline.Archive, address: str, tables: Sequence[str]) -> list[str]:
    """The tables that have another number of rows in a database."""
    with open_target(Address(address)) as target:
        counts = {table: target.read(f"select count(*) as n from {table}")["n"].to_pylist()[0] for table in tables}
    return [table for table, count in counts.items() if count != archive.to_arrow(table).num_rows]


def test_codes_beyond_the_columns_of_a_table_of_postgresql_are_left_out_and_named(league: Service, archive: sideline.Archive, postgres: str) -> None:
    """Each body has about as many codes as it may have, together they have more, and a row has a number for each."""
    for first, (_, session) in enumerate(league.season.sessions()[:2]):
        codes = dict.fromkeys((f"C{first}_{code:03}" for code in range(950)), 1)

        def change(body: Any, codes: Mapping[str, int] = codes) -> Any:
            for team in body["teams"]:
                team["player_stats"] = team["player_stats"][:2]
            body["teams"][0]["player_stats"][0]["stats"] |= codes
            return body

        league.faults.add("stats", path=session.id, change=change)
    tables = ["player_stats", "box_score"]
    assert archive.sync(**SPAN, tables=tables).complete
    address = new_database(postgres)
    (problem,) = archive.export(address, tables).problems
    assert differing(archive, address, tables) == []
    with open_target(Address(address)) as target:
        columns = target.columns("box_score")
    assert len(columns) == 900
    assert {*re.findall(r"'(\w+)'", problem)} == {*archive.to_arrow("box_score").column_names} - {*columns}


def test_a_long_id_costs_indexes_and_keys(league: Service, archive: sideline.Archive, postgres: str) -> None:
    game, long_id, tables = league.season.games[0].id, "x" * 800, ["events", "shots"]
    league.faults.add("team_events", change=lambda body: json.loads(json.dumps(body).replace(f'"id": "{game}"', f'"id": "{long_id}"')))
    archive.sync(**SPAN, tables=tables)
    address = new_database(postgres)
    problems = archive.export(address, tables).problems
    assert long_id in archive.to_arrow("events")["event_id"].to_pylist()
    assert differing(archive, address, tables) == []
    assert "events: no primary key (event_id), because a value is too long for an index" in problems
    assert "events: no index on game_id, because a value is too long for one" in problems


def test_a_session_that_a_second_game_lists_later_is_delivered_twice(league: Service, archive: sideline.Archive, postgres: str) -> None:
    address, tables = new_database(postgres), ["events", "sessions", "location_windows"]
    archive.sync(**SPAN, tables=tables)
    assert archive.export(address, tables).problems == ()
    first, second = league.season.games[:2]
    second.sessions.append(first.sessions[0])
    league.change.correct_stat()
    archive.sync(**SPAN, tables=tables)
    assert archive.export(address, tables).problems == ()
    assert differing(archive, address, tables) == []
    assert archive.to_arrow("sessions").num_rows == len(league.season.sessions())
