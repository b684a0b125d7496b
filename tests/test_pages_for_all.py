"""Each page that sideline writes can be heard, used with a keyboard, and read in light and dark colours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from archives import season_clock
from needs import needs

import sideline
from browser import Tab, browser, needs_browser
from readable import barriers, focus_order
from sideline.live import LiveBoxScore

pytestmark = needs_browser


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("browser")) as tab:
        yield tab


def check(tab: Tab, *, is_scrolled: bool = True) -> None:
    """The page that is open, in light and dark, and with Tab alone."""
    for scheme in ("light", "dark"):
        tab.prefer(scheme)
        assert barriers(tab) == [], scheme
    focusable = tab.run("document.querySelectorAll('a[href], button, input, [tabindex=\"0\"]').length")
    assert (focusable > 0) == is_scrolled
    order = focus_order(tab, focusable)
    assert order == sorted(order), "Tab follows the document"
    assert all(is_seen for _, is_seen in order), "the focus is seen"


@needs("polars", "deltalake")
@pytest.mark.parametrize("width", [1280, 390])
def test_the_morning_report(league: sideline.Simulator, tab: Tab, tmp_path: Path, width: int) -> None:
    league.faults.add("*/shots", status=403, body={"error": "Forbidden"})
    with league.client() as client:
        archive = sideline.Archive(tmp_path / "season", client, clock=season_clock)
        archive.sync(start="2027-02-01", end="2027-03-02", on_error="keep", progress=False)
    league.faults.clear()
    archive.report(tmp_path / "report.html")
    tab.resize(width)
    tab.open((tmp_path / "report.html").as_uri())
    check(tab)


@pytest.mark.parametrize("width", [1280, 390])
def test_the_live_page_and_its_overlay(tab: Tab, width: int) -> None:
    with sideline.Simulator(seed=11, teams=4, games=8, now="2027-03-01T12:00:00Z") as service, service.client() as client:
        game_id = service.games[-1]["event_id"]
        service.play(game_id, speed=600)
        with client.live(game_id) as stream, stream.serve(LiveBoxScore(), feed=True) as page:
            tab.resize(width)
            tab.open(page.url)
            tab.wait("document.querySelectorAll('.made').length > 3 && document.querySelector('#notices').children.length > 0")
            check(tab)
            tab.open(f"{page.url}overlay")
            tab.wait("document.body.className.includes('shown')")
            check(tab, is_scrolled=False)


def test_the_overlay_shows_a_long_name_or_says_that_it_is_cut(tab: Tab) -> None:
    with sideline.Simulator(seed=11, teams=4, games=8, now="2027-03-01T12:00:00Z") as service, service.client() as client:
        game_id = service.games[-1]["event_id"]
        service.play(game_id, speed=600)
        with client.live(game_id) as stream, stream.serve(LiveBoxScore(), feed=True) as page:
            for width in (1280, 1920):
                tab.resize(width, width * 9 // 16)
                tab.open(f"{page.url}overlay?style=lower")
                tab.wait("document.body.className.includes('shown')")
                assert tab.run("[...document.querySelectorAll('.team')].filter(team => team.scrollWidth > team.clientWidth).length") == 0
            tab.run("clearTimeout(); document.querySelector('.team').textContent = 'A name of a team '.repeat(9)")
            assert tab.run("getComputedStyle(document.querySelector('.team')).textOverflow") == "ellipsis"
            assert tab.run("getComputedStyle(document.querySelector('.team')).display") == "block", "a flexible box has no ellipsis"


@pytest.mark.extended
def test_the_page_of_a_capture(league: sideline.Simulator, tab: Tab, tmp_path: Path) -> None:
    from sideline.cli import main

    with pytest.MonkeyPatch.context() as patch:
        for name, value in league.environ.items():
            patch.setenv(name, value)
        patch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        assert main(["capture", str(tmp_path / "capture"), "--live", "1", "--requests-per-second", "50"]) in (0, 3)
    tab.resize(1280)
    tab.open((tmp_path / "capture" / "capture.html").as_uri())
    check(tab)


def test_a_page_that_nobody_could_hear_is_found(tab: Tab, tmp_path: Path) -> None:
    body = """<p style="color:#999">pale</p><h2>A</h2><h4>B</h4><table><tr><th>x</th></tr></table>
        <ul role="log"><li>one</li></ul><button></button><a href="#" tabindex="2"><svg role="img"></svg></a>"""
    (tmp_path / "page.html").write_text(f"<!doctype html><title>t</title><body style='background:#fff'>{body}</body>", encoding="utf-8")
    tab.open((tmp_path / "page.html").as_uri())
    problems = json.dumps(barriers(tab))
    for problem in (
        "no language",
        "0 elements main",
        "0 elements h1",
        "skips to level 4",
        "without a caption",
        "without a scope",
        "comes first in the order of Tab",
        "outside of every landmark",
        "contrast 2.8",
        "a button without a name",
        "a link without a name",
        "an item outside of a list",
    ):
        assert problem in problems, problem
