"""Finds teams and players by name, and recognises game ids passed as session ids."""

import warnings
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from .._core import Payload, Table
from ..errors import IncompleteError, NotFound

if TYPE_CHECKING:
    from ..batch import BaseBatch
    from .types import Ids

LOOKUP_LIMITS = (None, None, 10.0)
"""Connect, read and total timeout of the request that finds out whether an id is a game's."""

_MAX_SESSION = timedelta(days=1)
"""One of a longer time has a wrong start or end."""

APOSTROPHES = "'`\u00b4\u2018\u2019\u02bb\u02bc"

_LETTERS = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "\u0131": "i", "ħ": "h", "ŋ": "n"}
_PLAIN = str.maketrans(_LETTERS | dict.fromkeys(APOSTROPHES, ""))
"""Letters that Unicode does not decompose into a plain letter and an accent, and apostrophes."""


def fold(text: str) -> str:
    """Return a text in lower case, without accents and apostrophes.

    >>> from sideline._client import fold
    >>> fold("Ǿrsted, O'Neal")
    'orsted, oneal'
    """
    import unicodedata  # a library of its own, which few programs need

    # Folded twice: decomposing may produce a letter that folds again. The acute accent alone decomposes into a blank.
    text = unicodedata.normalize("NFKD", text.translate(_PLAIN)).casefold()
    text = unicodedata.normalize("NFKD", text).casefold()
    return "".join(letter for letter in text if not unicodedata.combining(letter)).translate(_PLAIN)


def words(name: str) -> list[str]:
    """Return the words of a name in lower case, without accents and apostrophes.

    >>> from sideline._client.find import words
    >>> words("Nikola Jokić"), words("O'Neal-Smith")
    (['nikola', 'jokic'], ['oneal', 'smith'])
    """
    return "".join(letter if letter.isalnum() else " " for letter in fold(name)).split()


def check_name(name: str) -> None:
    """Raise if the name has no letter or digit."""
    if not isinstance(name, str):
        raise TypeError(f"name is a str, not {type(name).__name__}")
    if not words(name):
        raise ValueError(f"name is {name!r}; it must have a letter or a digit")


def is_named(wanted_name: str, *names: str | None) -> bool:
    """Return whether each wanted word begins a word of these names."""
    name_words = [word for name in names if name for word in words(name)]
    return all(any(word.startswith(prefix) for word in name_words) for prefix in words(wanted_name))


def _rows_named(table: Table, wanted_name: str, columns: tuple[str, ...]) -> Table:
    names = list(zip(*(table[column] for column in columns), strict=True))
    from .access import take_rows

    places = [place for place, row in enumerate(names) if is_named(wanted_name, *row)]
    if not places:
        from .._rows import did_you_mean

        if hint := did_you_mean(wanted_name, (" ".join(filter(None, row[:2])) for row in names)):
            warnings.warn(f"{table.name} has no row named {wanted_name!r}{hint}", stacklevel=4)
    return take_rows(table, places)


def teams_named(teams: Payload, name: str) -> Table:
    """Return the rows of `teams` with this name."""
    return _rows_named(teams.table("teams"), name, ("name",))


def players_named(rosters: "BaseBatch", name: str) -> Table:
    """Return the rows of `players` with this name, and their teams; raises if a readable roster is missing, or all."""
    if len(rosters) == 0 or any(
        status not in ("fetched", "empty", "forbidden") and count for status, count in rosters.counts.items()
    ):
        rosters.raise_if_incomplete()
    players = _rows_named(rosters.table("players"), name, ("first_name", "last_name", "display_name"))
    teams = rosters.table("team", columns=["team_id", "name"])
    team_names = dict(zip(teams["team_id"], teams["name"], strict=True))
    from .access import with_texts

    return with_texts(
        players, [("team_name", "Team name", [team_names.get(team_id) for team_id in players["team_id"]], False)]
    )


def as_list(ids: "Ids | Payload") -> Any:
    """Return ids as a list, even a single one."""
    # NumPy's array of no dimension is one value, though it has `__iter__`.
    is_list = hasattr(ids, "__iter__") and not isinstance(ids, str) and getattr(ids, "ndim", 1) != 0
    return ids if is_list or isinstance(ids, Table) else [ids]


def explain_game_id(error: "NotFound", operation: str, game_id: object, game: Payload) -> None:
    """Add a hint to an error if the service has a game with this id."""
    if not game.table("sessions").num_rows and not game.table("events").num_rows:
        return
    hint = (
        f"{game_id} is the id of a game, not of a session: client.{operation}(client.game({str(game_id)!r})) "
        "requests all of its sessions"
    )
    error.args = (f"{error}. {hint}",)
    advice = getattr(error, "advice", "")
    error.advice = f"{advice} {hint}".strip()


def tracked_spans(game: Payload) -> list[tuple[str, Any, Any]]:
    """Return each session of a game with the start and end of its positions.

    Raises `IncompleteError` for a session without them: its positions cannot be requested.
    """
    spans = dict[str, tuple[Any, Any]]()
    windows = game.table("location_windows").to_dicts()
    sessions = game.table("sessions").to_dicts()
    for row in [
        *windows,
        *({**session, "start": session["started_at"], "end": session["ended_at"]} for session in sessions),
    ]:
        start, end = row["start"], row["end"]
        # A time that no calendar has is a text.
        is_known = isinstance(start, datetime) and isinstance(end, datetime)
        if is_known and timedelta() < end - start <= _MAX_SESSION:
            first, last = spans.get(row["session_id"], (start, end))
            spans[row["session_id"]] = min(first, start), max(last, end)
    if timeless_ids := sorted({session["session_id"] for session in sessions} - spans.keys()):
        raise IncompleteError(
            f"{', '.join(timeless_ids)}: no start or no end within a day, so the positions cannot be requested. Build "
            "a sideline.Tracking of the other sessions, or request it again once the service has their times"
        )
    return [(session_id, start, end) for session_id, (start, end) in spans.items()]


def check_teams(errors: Mapping[int | str, Exception], box: Table) -> None:
    """Raise the error of a team without a row, unless the service has no box score of it."""
    present = set(map(str, box["team_id"]))
    for team, error in errors.items():
        if str(team) not in present and not isinstance(error, NotFound):
            raise error


def game_teams(game: Payload) -> list[int]:
    """Return the ids of the two teams of a game."""
    names = ("home_team_id", "away_team_id")
    return list(dict.fromkeys(row[name] for row in game.table("events").to_dicts() for name in names if row[name]))
