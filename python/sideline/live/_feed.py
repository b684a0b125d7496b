"""A live game as JSON, CSV and XML, for graphics systems (documentation: On air)."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple
from xml.etree import ElementTree

from .._client import jersey_numbers_of
from ._box_score import LiveBoxScore
from ._situation import clock_text, player_text, short_text

_VERDICT_FIELDS = {
    "stale": "Whether values may be missing: a gap is open, the connection is lost, or the stream has just begun",
    "updated_at": "When the last message that changed a value was received; null before the first",
    "verdict": '"live", "stale" or "final"; "final" is said when the service says that the game is over',
}

SCORE_FIELDS = {
    "game_id": "Id of the game; null in a replay",
    "home_team_id": "Id of the home team",
    "home_team": "Name of the home team",
    "home_points": "Points of the home team",
    "away_team_id": "Id of the away team",
    "away_team": "Name of the away team",
    "away_points": "Points of the away team",
    "period": "Period, as the service names it",
    "clock": "Game clock as a scoreboard shows it",
    "clock_s": "Game clock in seconds",
    **_VERDICT_FIELDS,
}
"""The fields of `/score.json`, with their meaning."""

STAT_CODES = "(stat codes)"

FEED_FIELDS = {
    "game_id": "Id of the game; null in a replay",
    "team_id": "Id of the team",
    "team": "Name of the team",
    "player_id": "Id of the player; null for a team's total",
    "player": 'Name of the player; "Team total" for a team\'s total',
    "jersey": "Jersey number as text; null without a roster",
    STAT_CODES: "One field for each documented stat code of the sport's [box score](tables.md), in its order",
    **_VERDICT_FIELDS,
}
"""The fields of a row of the feeds, with their meaning."""


class Document(NamedTuple):
    """A response of the feed."""

    body: bytes
    media_type: str
    etag: str


def score_fields(score: LiveBoxScore, game_id: str | None, verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `/score.json`."""
    fields: dict[str, Any] = {"game_id": game_id}
    for place, side in (("home", score.home), ("away", score.away)):
        fields |= {f"{place}_team_id": side.team_id, f"{place}_team": side.name, f"{place}_points": side.points}
    clock = {"period": score.period, "clock": clock_text(score.clock), "clock_s": score.clock_s}
    return {**fields, **clock, **verdict}


def row_names(score: LiveBoxScore) -> list[str]:
    """Return the fields of a row, by an empty box score: the sport alone decides them."""
    codes = [name for name in score.table().column_names if name.isupper()]
    return [code for name in FEED_FIELDS for code in (codes if name == STAT_CODES else [name])]


def feed_rows(
    score: LiveBoxScore, game_id: str | None, names: Sequence[str], verdict: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return a row with these fields for each player and each team's total, the home team first."""
    jersey_numbers, home = jersey_numbers_of(score), score.home
    lines = sorted(score.table().to_dicts(), key=lambda line: bool(line["team_id"] != home.team_id))
    rows = [_row(line, game_id, jersey_numbers, verdict) for line in lines]
    return [{name: row[name] for name in names} for row in rows]


def _row(
    line: Mapping[str, Any],
    game_id: str | None,
    jersey_numbers: Mapping[int, str | None],
    verdict: Mapping[str, Any],
) -> dict[str, Any]:
    is_total, player_id = line["is_team_total"], line["player_id"]
    return {
        "game_id": game_id,
        "team_id": line["team_id"],
        "team": _text(line["team_name"]),
        "player_id": None if is_total else player_id,
        "player": "Team total" if is_total else player_text(line),
        "jersey": None if is_total else _text(jersey_numbers.get(player_id)),
        **{code: _count(value) for code, value in line.items() if code.isupper()},
        **verdict,
    }


def documents(score: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, Document]:
    """Return what each path of the feed sends; `names` are the fields of a row, which the CSV also has without rows."""
    return {
        "/score.json": _document(json.dumps(score).encode(), "application/json"),
        "/feed.json": _document(json.dumps(rows).encode(), "application/json"),
        "/feed.csv": _document(_csv(rows, names).encode(errors="replace"), "text/csv"),
        "/feed.xml": _document(_xml(score, rows), "application/xml"),
    }


def _document(body: bytes, media_type: str) -> Document:
    return Document(body, media_type, f'"{sha256(body).hexdigest()[:20]}"')


def _csv(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(names)
    writer.writerows([plain(row[name]) for name in names] for row in rows)
    return text.getvalue()


def _xml(score: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> bytes:
    root = ElementTree.Element("feed", {name: plain(score[name]) for name in ("stale", "updated_at", "verdict")})
    for row in rows:
        element = ElementTree.SubElement(root, "row")
        for name, value in row.items():
            ElementTree.SubElement(element, name).text = plain(value)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def _count(value: float | None) -> float | None:
    """Return a count as a whole number, which graphics systems show unchanged."""
    return int(value) if value is not None and value == int(value) else value


def plain(value: object) -> str:
    """Format a value where there is only text: null is empty."""
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, (bool, int, float)) else str(value)


def _text(value: str | None) -> str | None:
    return None if value is None else short_text(value)
