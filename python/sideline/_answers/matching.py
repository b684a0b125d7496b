"""`sideline.crosswalk`: matches players with another source."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from .._lazy import pl
from .._rows import did_you_mean, has_tables
from .frames import frame_of
from .kinds import Source, keeps_kind
from .names import Name, grade, keys, parse

MIN_CONFIDENCE = 0.9
"""The least confidence of a match. Below it, only candidates are listed."""

_DOUBTS: Mapping[str, float] = {
    "name": 0.015,
    "word order": 0.05,
    "suffix": 0.04,
    "nickname": 0.12,
    "part of the name": 0.15,
    "initial": 0.3,
    "similar name": 0.4,
}
"""The doubt: the probability that two rows of one league whose names agree in this way are two people."""

_NAMESAKE_DOUBT = 0.12
"""The doubt added for each namesake that the league, or the team if it agrees, is likely to have."""

_SINGLE_WORD_FACTOR = 2.0
"""The doubt of a name of one word is this many times as large."""

_DOUBT_FACTORS: Mapping[tuple[str, bool], float] = {
    ("team", True): 0.25,
    ("team", False): 4.0,
    ("jersey", True): 0.3,
    ("jersey", False): 1.5,
    ("birth_date", True): 0.02,
}
"""How agreement and difference change the doubt. Another birth date means another person."""

_JERSEY_FACTOR_WITHOUT_TEAM = 0.6
"""Without the team a jersey number says less, because a league has many of each."""

_MIN_DOUBT_RATIO = 3.0
"""A match is clear if every other candidate has at least this many times its doubt."""


@dataclass
class _Person:
    """A player or a row of the other source, with everything that distinguishes people."""

    names: list[Name]
    teams: set[object] = field(default_factory=set)
    jerseys: set[object] = field(default_factory=set)
    birth_dates: set[object] = field(default_factory=set)

    @property
    def keys(self) -> set[object]:
        """Return keys of which equal people share one. Similar names need an equal team or birth date."""
        name_keys: set[object] = {key for name in self.names for key in keys(name)}
        places = {("team", team) for team in self.teams} | {("day", day) for day in self.birth_dates}
        return name_keys | {(name.words[0], place) for name in self.names for place in places}

    @property
    def key(self) -> object:
        """Return a key that is equal for rows of one person."""
        names = frozenset((name.spellings, name.suffix) for name in self.names)
        return names, frozenset(self.teams), frozenset(self.jerseys), frozenset(self.birth_dates)


@dataclass(frozen=True)
class _Match:
    doubt: float
    method: str


@keeps_kind
def crosswalk(
    players: Source,
    other: Source,
    *,
    name: str | Sequence[str] = "name",
    team: str | None = None,
    jersey: str | None = None,
    birth_date: str | None = None,
) -> "pl.DataFrame":
    """Match the service's players with the rows of another source, by name and other facts that both sides have.

    The result, of the kind of `players` (a frame of pandas or polars, else a `Table`), has a row for each row of
    `other`, in order, and then one for each unmatched player: `player_id`, the columns of `other` (with the prefix
    `other_` if the name is `player_id`, `method`, `confidence` or `candidates`), `method`, `confidence` and
    `candidates`. `method` says what agrees, as in "name+team+jersey", and what differs, as in "name-team". It is
    "ambiguous" if several people fit, and "unmatched" if nobody does; then `player_id` is null, and `candidates` has
    the possible ids. A match has a `confidence` of at least 0.9, and no player matches two different rows.

    Parameters:
        players: one or several rosters, a table `players` (also of an archive), or a frame with `player_id` and
            `first_name` and `last_name`, `display_name` or `name`. A player may have several rows.
        other: a frame, an Arrow table or a `Table`.
        name: the column of `other` with the names, "Last, First" or "First Last"; or two: given and family name.
        team: the column of `other` with teams, as `team_id` or as names; for names the players need a column
            `team_name`, which rosters have.
        jersey: the column of `other` with jersey numbers.
        birth_date: the column of `other` with dates; the players need it under this name, or as `birth_date`.

    Requires polars and pyarrow. Raises `ValueError` for a missing column. See the documentation: Answers,
    for the confidence.


    >>> import polars
    >>> roster = client.roster(team_id)
    >>> first = roster.to_polars("players").row(0, named=True)
    >>> other = polars.DataFrame({"name": [f"{first['last_name']}, {first['first_name']}", "Nobody Known"]})
    >>> found = sideline.crosswalk(roster, other).to_polars().head(2)
    >>> found["player_id"].to_list() == [first["player_id"], None], found["method"].to_list()
    (True, ['name', 'unmatched'])
    """
    rows = frame_of("other", other)
    columns = _Columns([name] if isinstance(name, str) else list(name), team, jersey, birth_date)
    columns.check(rows)
    known_players = _players(players)
    are_ids = team is not None and _are_ids(rows[team])
    ids, people = _people(known_players, birth_date, are_team_ids=are_ids, needs_team=team is not None)
    decisions = _decide(people, columns.people(rows, are_team_ids=are_ids))
    new_names = {column: f"other_{column}" for column in rows.columns if column in ("player_id", *_RESULT_COLUMNS)}
    for column, name in new_names.items():
        if name in rows.columns:
            raise ValueError(f"other has columns {column} and {name}, which the result would both name {name}")
    rows = rows.rename(new_names)
    kind = known_players["player_id"].dtype
    matches = pl.concat([rows, _matches(decisions, ids, kind)], how="horizontal")
    complete_frame = pl.concat([matches, _unmatched_players(decisions, ids, kind)], how="diagonal")
    return complete_frame.select("player_id", *rows.columns, *_RESULT_COLUMNS)


_RESULT_COLUMNS = ("method", "confidence", "candidates")

_Decision = tuple[int | None, str, float | None, list[int]]
"""The player, the method, the confidence, and the candidates without a player."""


@dataclass(frozen=True)
class _Columns:
    """The columns of the other source that distinguish people."""

    names: list[str]
    team: str | None
    jersey: str | None
    birth_date: str | None

    def check(self, rows: "pl.DataFrame") -> None:
        arguments = {"team": self.team, "jersey": self.jersey, "birth_date": self.birth_date}
        for argument, column in (*(("name", name) for name in self.names), *arguments.items()):
            if column is not None and column not in rows.columns:
                hint = did_you_mean(column, rows.columns)
                raise ValueError(
                    f"other has no column {column!r} for {argument}; it has {', '.join(rows.columns)}{hint}"
                )
        if not self.names:
            raise ValueError("name must be the column of other with the names, or a list of several")

    def people(self, rows: "pl.DataFrame", *, are_team_ids: bool) -> list[_Person]:
        """Return the person of each row."""
        optional = (self.team, self.jersey, self.birth_date)
        return [
            _Person(
                _parse_names([" ".join(str(row[column]) for column in self.names if row[column] is not None)]),
                _values(row[self.team] if self.team else None, _team_id if are_team_ids else _plain),
                _values(row[self.jersey] if self.jersey else None, _jersey),
                _values(row[self.birth_date] if self.birth_date else None, _day),
            )
            for row in rows.select(*dict.fromkeys([*self.names, *filter(None, optional)])).to_dicts()
        ]


def _matches(decisions: Sequence[_Decision], ids: Sequence[Any], kind: Any) -> "pl.DataFrame":
    """Return the decision for each row, with `ids` of the players."""
    columns = {
        "player_id": [None if player is None else ids[player] for player, *_ in decisions],
        "method": [method for _, method, _, _ in decisions],
        "confidence": [confidence for _, _, confidence, _ in decisions],
        "candidates": [[ids[player] for player in candidates] for *_, candidates in decisions],
    }
    schema = {"player_id": kind, "method": pl.String, "confidence": pl.Float64, "candidates": pl.List(kind)}
    return pl.DataFrame(columns, schema)


def _unmatched_players(decisions: Sequence[_Decision], ids: Sequence[Any], kind: Any) -> "pl.DataFrame":
    """Return the id and method of each player without a row."""
    taken_players = {player for player, *_ in decisions if player is not None}
    listed_players = {
        candidate for _, method, _, candidates in decisions if method == "ambiguous" for candidate in candidates
    }
    left = [player for player in range(len(ids)) if player not in taken_players]
    methods = ["ambiguous" if player in listed_players else "unmatched" for player in left]
    columns = {"player_id": [ids[player] for player in left], "method": methods}
    return pl.DataFrame(columns, {"player_id": kind, "method": pl.String})


def _decide(people: Sequence[_Person], others: Sequence[_Person]) -> list[_Decision]:
    """Decide for each row of `others`."""
    counts = _NameCounts.of(people, others)
    index: dict[object, list[int]] = {}
    for number, person in enumerate(people):
        for key in person.keys:
            index.setdefault(key, []).append(number)
    # Equal rows are the same person.
    groups: dict[object, list[int]] = {}
    for row, person in enumerate(others):
        groups.setdefault(person.key, []).append(row)
    claims: dict[int, dict[int, _Match]] = {}
    """The candidates, by the first row of each group."""
    for first, *_ in groups.values():
        near = set().union(*(index.get(key, ()) for key in others[first].keys))
        comparisons = ((player, _compare(people[player], others[first], counts)) for player in sorted(near))
        claims[first] = {player: match for player, match in comparisons if match is not None}
    rivals: dict[int, list[float]] = {}
    for candidates in claims.values():
        for player, match in candidates.items():
            rivals.setdefault(player, []).append(match.doubt)
    decisions: dict[int, _Decision] = {}
    for group in groups.values():
        decisions |= dict.fromkeys(group, _verdict(claims[group[0]], rivals))
    return [decisions[row] for row in range(len(others))]


def _verdict(candidates: Mapping[int, _Match], rivals: Mapping[int, Sequence[float]]) -> _Decision:
    """Decide between the candidates of a person; `rivals` are the doubts of all who may be the same player."""
    ordered_players = sorted(candidates, key=lambda player: candidates[player].doubt)
    if not ordered_players:
        return None, "unmatched", None, []
    best = candidates[ordered_players[0]]
    seconds = [candidates[player].doubt for player in ordered_players[1:]]
    others_claims = sorted(rivals[ordered_players[0]])
    others_claims.remove(best.doubt)
    is_good = 1 - best.doubt >= MIN_CONFIDENCE
    is_clear = all(doubt >= _MIN_DOUBT_RATIO * best.doubt for doubt in (*seconds, *others_claims))
    is_beaten = bool(others_claims) and others_claims[0] * _MIN_DOUBT_RATIO <= best.doubt
    if is_good and is_clear:
        return ordered_players[0], best.method, round(1 - best.doubt, 4), []
    return None, "ambiguous" if is_good and not is_beaten else "unmatched", None, ordered_players


@dataclass(frozen=True)
class _NameCounts:
    """How common names are: the number of people with each word, on both sides together."""

    first: Counter[str]
    family: Counter[str]
    people: int
    teams: int

    @classmethod
    def of(cls, *sides: Sequence[_Person]) -> "_NameCounts":
        # Count several rows of one person once.
        distinct = [person for side in sides for person in {person.key: person for person in side}.values()]
        first_names = Counter(word for person in distinct for word in {name.words[0] for name in person.names})
        family = Counter(
            word
            for person in distinct
            for word in {word for person_name in person.names for word in person_name.words[1:]}
        )
        teams = {team for person in distinct for team in person.teams}
        return cls(first_names, family, len(distinct), max(1, len(teams)))

    def namesakes(self, *names: Name) -> float:
        """Return the expected number of namesakes, if given and family names are independent."""
        # Both sides count the person, so the league has half as many.
        expected = 0.0
        for name in names:
            first = self.first[name.words[0]] / 2 - 1
            family = min((self.family[word] for word in name.words[1:]), default=0) / 2 - 1
            expected = max(expected, max(first, 0.0) * max(family, 0.0) / (self.people / 2))
        return expected


def _compare(player: _Person, other: _Person, counts: _NameCounts) -> _Match | None:
    """Return the doubt whether the two are one person, or `None` if they are not."""
    evidence = [
        (kind, bool(own_values & other_values))
        for kind, own_values, other_values in (
            ("team", player.teams, other.teams),
            ("jersey", player.jerseys, other.jerseys),
            ("birth_date", player.birth_dates, other.birth_dates),
        )
        if own_values and other_values and not (kind == "team" and _is_unclear(own_values, other_values))
    ]
    if ("birth_date", False) in evidence:
        return None
    # With neither, similar names are never enough for a match, and comparing them is slow.
    with_similar = ("team", True) in evidence or ("birth_date", True) in evidence
    best: tuple[float, str] | None = None
    for own_name in player.names:
        for other_name in other.names:
            agreement = grade(own_name, other_name, with_similar=with_similar)
            if agreement is None:
                continue
            doubt = _DOUBTS[agreement] * (_SINGLE_WORD_FACTOR if len(own_name.words) == 1 else 1.0)
            doubt += (
                _NAMESAKE_DOUBT
                * counts.namesakes(own_name, other_name)
                / (counts.teams if ("team", True) in evidence else 1)
            )
            if best is None or doubt < best[0]:
                best = doubt, agreement
    if best is None:
        return None
    doubt, method = best
    for kind, agrees in evidence:
        is_alone = kind == "jersey" and agrees and ("team", True) not in evidence
        doubt *= _JERSEY_FACTOR_WITHOUT_TEAM if is_alone else _DOUBT_FACTORS[kind, agrees]
        method += f"{'+' if agrees else '-'}{kind}"
    return _Match(min(doubt, 1.0), method)


def _is_unclear(values: set[object], other: set[object]) -> bool:
    """Return whether no name is equal, but one is part of another: "Mariners" may be "Elkhorn Mariners"."""
    names, other_names = ([value for value in side if isinstance(value, str)] for side in (values, other))
    return not values & other and any(name in longer or longer in name for name in names for longer in other_names)


def _players(players: object) -> "pl.DataFrame":
    """Return the players, with `team_name` if the same responses have it."""
    if isinstance(players, list | tuple) and players:
        return pl.concat([_players(part) for part in players], how="diagonal_relaxed")
    if has_tables(players) and "players" in players.tables:
        frame = frame_of("players", players.table("players"))
        if "team" in players.tables:
            teams = frame_of("players", players.table("team"))
            frame = frame.join(teams.select("team_id", team_name="name").unique("team_id"), on="team_id", how="left")
        return frame
    frame = frame_of("players", players)
    if "player_id" not in frame.columns:
        raise ValueError(f"players has no column player_id; it has {', '.join(frame.columns)}")
    return frame


def _people(
    known_players: "pl.DataFrame", birth_date: str | None, *, are_team_ids: bool, needs_team: bool
) -> tuple[list[Any], list[_Person]]:
    columns = set(known_players.columns)
    if not columns & {"last_name", "display_name", "name"}:
        raise ValueError("players has no names: add first_name and last_name, display_name or name")
    team = "team_id" if are_team_ids else "team_name"
    if needs_team and team not in columns:
        instead = "pass the rosters, or a column team_name" if team == "team_name" else "add a column team_id"
        raise ValueError(f"team of other cannot be compared: players has no {team}; {instead}")
    born = next((name for name in (birth_date, "birth_date") if name in columns), None) if birth_date else None
    if birth_date and born is None:
        raise ValueError(
            f"birth_date cannot be compared: players has no column {birth_date!r}; join it on, or leave it out"
        )
    people: dict[Any, _Person] = {}
    for row in known_players.to_dicts():
        person = people.setdefault(row["player_id"], _Person([]))
        full_name = " ".join(row.get(part) or "" for part in ("first_name", "last_name"))
        for name in _parse_names([full_name, row.get("display_name"), row.get("name")]):
            if name not in person.names:
                person.names.append(name)
        person.teams |= _values(row.get(team), _team_id if are_team_ids else _plain)
        number = row.get("jersey_number_str")
        person.jerseys |= _values(row.get("jersey_number") if number is None else number, _jersey)
        person.birth_dates |= _values(row.get(born) if born else None, _day)
    return list(people), list(people.values())


def _parse_names(texts: "Sequence[str | None]") -> list[Name]:
    return [name for text in texts if text and (name := parse(text)) is not None]


def _values(value: object, read: Any) -> set[object]:
    parsed_value = None if value is None else read(value)
    return set() if parsed_value is None else {parsed_value}


def _are_ids(column: "pl.Series") -> bool:
    texts = [str(value) for value in column.drop_nulls().to_list()]
    return bool(texts) and all(text.isascii() and text.removesuffix(".0").isdigit() for text in texts)


def _team_id(value: object) -> int | None:
    text = str(value).removesuffix(".0")
    return int(text) if text.isdigit() else None


def _plain(value: object) -> str | None:
    name = parse(str(value).replace(",", " "))
    return min(name.spellings) + (name.suffix or "") if name else None


def _jersey(value: object) -> str | None:
    """Return a jersey number as text: 0 and 00 differ."""
    text = str(value).strip().lstrip("#").removesuffix(".0")
    return text or None


def _day(value: object) -> str | None:
    if isinstance(value, date | datetime):
        return value.isoformat()[:10]
    if not (text := str(value).strip()[:10]):
        return None
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError(f"birth_date {text!r} is not a date: write it as 2004-02-29, or use a date column") from None
