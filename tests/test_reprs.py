"""Reprs in text and in notebooks: kind, size, age and missing parts; no secret, no megabytes."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sideline

FRESH = r"\d\d\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC"


class Things:
    """Objects of each kind that has a repr, with much data in them."""

    def __init__(self, service: sideline.Simulator, client: sideline.Client, game: dict[str, Any], folder: Path) -> None:
        first = game["results"][0]
        self.secrets = {service.secret, service.api_key}
        self.simulator = service
        self.payload = client.locations(first["id"], first["started_at"], first["ended_at"])
        self.table = self.payload.table()
        self.batch = client.stats([*[result["id"] for result in game["results"][:2]], *(f"none-{number}" for number in range(300))], on_error="keep")
        self.archive = sideline.Archive(folder, client)
        service.faults.add("*/shots", status=403, times=1)
        self.archive.sync(game_ids=[game["id"]], progress=False, on_error="keep")
        service.faults.clear()
        self.stream = client.live_stats(service.games[0]["event_id"], notices=False)
        next(self.stream)


@pytest.fixture(scope="module")
def things(service: sideline.Simulator, client: sideline.Client, game: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    seen = Things(service, client, game, tmp_path_factory.mktemp("archive"))
    yield seen
    seen.stream.close()


def page(thing: Any) -> str:
    """The visible text."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", thing._repr_html_())).split())


@pytest.mark.parametrize(
    ("name", "text", "pattern"),
    [
        (
            "payload",
            r"<sideline.Payload locations; 200 http.*; \d{6,} bytes; 2 answers joined; tables: locations>",
            r"locations .* 200 .*fetched +FRESH.*bytes +\d+,\d+",
        ),
        (
            "table",
            r"<sideline.Table locations: \d{5,} rows, \d+ columns: session_id, game_id, t, .*>",
            r"locations *: \d+,\d+ rows, \d+ columns; the first 10 rows.* shown",
        ),
        (
            "batch",
            r"<sideline.Batch stats: 302 units, 2 fetched, 300 missing; tables: .*>",
            r"units +302 .*missing +300 .*last fetched +FRESH.*290 more missing units",
        ),
        ("archive", r"<sideline.Archive .+>", r"games +1 .*holes +1 .*last fetched +FRESH.*box_score +\d+.*shots/"),
        ("stream", r"<sideline.LiveStream live_stats \S+, connected, 1 updates, 0 gaps>", r"state +connected +updates +1 .*last received +FRESH.*gaps +0"),
        ("simulator", r"<sideline.Simulator basketball at http://127.0.0.1:\d+>", r"serving +teams +16 +games +240 .*requests answered +\d+"),
    ],
)
def test_a_repr_shows_kind_size_age_and_holes(things: Things, name: str, text: str, pattern: str) -> None:
    thing = getattr(things, name)
    assert re.fullmatch(text, repr(thing))
    assert re.search(pattern.replace("FRESH", FRESH), page(thing), re.S), page(thing)


@pytest.mark.parametrize("name", ["payload", "table", "batch", "archive", "stream", "simulator"])
@pytest.mark.parametrize("show", [repr, str, lambda thing: thing._repr_html_()], ids=["repr", "str", "html"])
def test_it_is_short_and_shows_no_secret(things: Things, name: str, show: Callable[[Any], str]) -> None:
    output = show(getattr(things, name))
    assert len(output) < 12_000
    assert not any(secret in output for secret in things.secrets)


@pytest.mark.parametrize("kind", [sideline.Client, sideline.AsyncClient, sideline.Simulator, sideline.Archive])
def test_a_traceback_can_show_what_was_not_built(kind: type) -> None:
    """Its arguments were wrong: pytest and notebooks show it beside the error."""
    assert repr(kind.__new__(kind)) == f"<sideline.{kind.__name__}, not built>"
