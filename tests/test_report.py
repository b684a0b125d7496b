"""The morning report: it matches the archive, and the page needs no other file."""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from archives import Commit, Store, around_commits, pl, season_clock
from service import Service

import sideline
from sideline.archive import SEVERITY, ArchiveReport
from sideline.archive._html_report import MEANINGS, _heat, _table, last_report_time
from sideline.cli import main
from views import Page

DAYS = {"start": "2027-02-01", "end": "2027-03-02"}


@pytest.fixture(scope="module")
def archive_with_holes(league: sideline.Simulator, tmp_path_factory: pytest.TempPathFactory) -> sideline.Archive:
    """An archive of a month: shots are forbidden, one field is unknown."""
    league.faults.add("*/shots", status=403, body={"error": "Forbidden <b>", "requestId": "r-1"})
    league.faults.add("/v1/data/teams", body={"teams": [{**team, "mascot": 1, "<i>": 2} for team in league.teams]}, times=1)
    with league.client() as client:
        archive = sideline.Archive(tmp_path_factory.mktemp("season") / "season", client, clock=season_clock)
        with pytest.warns(sideline.SchemaDriftWarning):
            archive.sync(**DAYS, on_error="keep", progress=False)
    league.faults.clear()
    return archive


@pytest.fixture(scope="module")
def report(archive_with_holes: sideline.Archive) -> ArchiveReport:
    return archive_with_holes.report()


def test_the_page_says_what_the_archive_knows(archive_with_holes: sideline.Archive, report: ArchiveReport) -> None:
    page = Page(report.html)
    info = archive_with_holes.info()
    text = re.sub(r"<[^>]+>", " ", report.html)
    by_caption: dict[str, list[list[str]]] = {rows[0][0]: rows for rows in page.tables}
    coverage = archive_with_holes.scan("coverage").collect()
    assert len(info.holes) > 3
    assert re.search(rf"holes\s+{len(info.holes)}", text)
    assert dict(by_caption["status"][1:])["forbidden"] == str(len(info.holes))
    assert dict(by_caption["status"][1:])["requests sent for them"] == f"{coverage['attempts'].sum():,}"
    assert dict(by_caption["table"][1:])["box_score"] == f"{info.rows['box_score']:,}"
    assert ["shots forbidden", str(len(info.holes))] in by_caption["kind"]
    assert ["teams teams[].mascot", "4"] in by_caption["field"]
    assert "No rule is violated" in text or "rule" in by_caption
    heat = by_caption["team"]
    games = archive_with_holes.scan("games").collect().to_dicts()
    assert [row[0] for row in heat[1:]] == sorted({game[f"{side}_team_name"] for game in games for side in ("home", "away")})
    month = heat[0].index("2027-02")
    assert all(row[month] == "" or 50 < int(row[month].rstrip("%")) < 100 for row in heat[1:]), "each game lacks its shots"


def test_text_from_the_service_is_escaped_in_the_report(report: ArchiveReport) -> None:
    assert "<i>" not in report.html
    assert "teams[].&lt;i&gt;" in report.html


def test_the_page_loads_nothing_and_can_be_read_by_all(report: ArchiveReport) -> None:
    page = Page(report.html)
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object"}
    assert "url(" not in report.html and "@import" not in report.html
    assert not [value for _, attributes in page.tags for value in attributes.values() if "//" in (value or "")]
    assert ("html", {"lang": "en"}) in page.tags
    assert any(attributes.get("name") == "viewport" for tag, attributes in page.tags if tag == "meta")
    assert sum(tag == "table" for tag, _ in page.tags) == sum(tag == "caption" for tag, _ in page.tags) > 4
    assert all("scope" in attributes for tag, attributes in page.tags if tag == "th")
    assert [tag for tag, _ in page.tags if tag in ("h1", "h2")] == ["h1", *["h2"] * 9]


def test_an_incomplete_share_is_never_shown_as_100_percent() -> None:
    shares = [_heat(counts) for counts in ((1000, 1000), (999, 1000), (0, 7))]
    assert [(share["level"], share["percent"]) for share in shares if share] == [(4, "100%"), (3, "99%"), (0, "0%")]
    assert shares[1] == {"level": 3, "have": "999", "all": "1,000", "percent": "99%"}
    assert _heat(None) is None


def test_ids_are_shown_as_they_are_written() -> None:
    table = _table("Findings", ("rule", "player_id", "player", "team_id", "rows"), [("sums", 200142, 200143, None, 12345)])
    assert [cell["text"] for cell in table["rows"][0]] == ["sums", "200142", "200143", "", "12,345"]


def test_times_are_those_of_the_readers_zone(archive_with_holes: sideline.Archive, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    [game] = archive_with_holes.scan("games").sort("tipoff_at").tail(1).collect().to_dicts()
    fetched_at = archive_with_holes.info().fetched_at
    assert fetched_at is not None
    utc, honolulu = archive_with_holes.report().html, archive_with_holes.report(tz="Pacific/Honolulu").html
    assert f"{game['tipoff_at']:%Y-%m-%d %H:%M}</td>" in utc and "Times are those of UTC." in utc
    assert f"{game['tipoff_at'] - timedelta(hours=10):%Y-%m-%d %H:%M}</td>" in honolulu, "tip-off"
    assert f"{fetched_at - timedelta(hours=10):%Y-%m-%d %H:%M} HST" in honolulu
    assert "Times are those of Pacific/Honolulu." in html.unescape(honolulu)
    assert "UTC" not in re.sub(r"<[^>]*>", "", honolulu)
    fetched_table = {rows[0][1]: rows for rows in Page(honolulu).tables if len(rows[0]) > 1}["last fetched"]
    assert f"{fetched_at - timedelta(hours=10):%Y-%m-%d %H:%M:%S}" in [row[1] for row in fetched_table]
    monkeypatch.setenv("SIDELINE_TZ", "Pacific/Honolulu")
    without_time_of_report = re.compile(r"<p class=.made.>.*?</p>")
    assert without_time_of_report.sub("", archive_with_holes.report().html) == without_time_of_report.sub("", honolulu)
    assert main(["report", archive_with_holes._store.root, "-o", "-", "--tz", "Pacific/Apia"]) == 3
    assert "Times are those of Pacific/Apia." in html.unescape(capsys.readouterr().out)
    with pytest.raises(ValueError, match="tz is 'Moon'; it must be the name of a zone"):
        archive_with_holes.report(tz="Moon")
    monkeypatch.setenv("SIDELINE_TZ", "Moon")
    with pytest.raises(ValueError, match="SIDELINE_TZ is 'Moon'"):
        archive_with_holes.report()


def test_every_verdict_has_a_meaning() -> None:
    assert tuple(MEANINGS) == SEVERITY


def test_a_notebook_shows_the_page_without_its_frame(report: ArchiveReport) -> None:
    fragment = report._repr_html_()
    assert fragment.startswith("<style>") and fragment.endswith("</main>")
    assert "<body" not in fragment and "<h1>" in fragment
    assert re.fullmatch(r"<sideline.ArchiveReport [\d,]+ bytes>", repr(report))


SPAN: dict[str, Any] = {"start": "2027-01-01", "end": "2027-03-01", "progress": False, "correction_window": None}


@contextmanager
def archive_of_service(folder: Path) -> Iterator[tuple[Service, sideline.Archive]]:
    """The second service, whose true data a test knows, and an archive of it."""
    with (
        Service(seed=4, now="2027-02-10T12:00:00Z", teams=2, games=1, practices=0, upcoming=0) as service,
        sideline.Client(**service.client_options()) as client,
    ):
        archive = sideline.Archive(folder / "season", client)
        archive.sync(**SPAN)
        yield service, archive


def test_corrections_are_those_since_the_last_report(tmp_path: Path) -> None:
    with archive_of_service(tmp_path) as (service, archive):
        (tmp_path / "elsewhere").mkdir()
        out = tmp_path / "report.html"
        assert "There is no report before this one" in archive.report(out).html
        first = last_report_time(archive._store)
        assert first is not None and (datetime.now(UTC) - first).total_seconds() < 600
        service.change.correct_stat()
        archive.sync(**SPAN)
        assert archive.corrections(first).num_rows > 0
        (tmp_path / "folder").mkdir()
        with pytest.raises(ValueError, match="not a regular file"):
            archive.report(tmp_path / "folder")
        assert archive.report().html and last_report_time(archive._store) == first, "neither was written"
        second = archive.report(out).html
        assert "Corrections since the last report" in second
        assert f"new corrections</dt><dd>{archive.corrections(first).num_rows:,}" in second
        assert "new corrections</dt><dd>0" in archive.report(tmp_path / "elsewhere" / "report.html").html, "its path does not matter"
        assert f"new corrections</dt><dd>{archive.corrections().num_rows:,}" in archive.report(out, since="2020-01-01").html


def test_corrections_that_are_stored_while_a_report_is_made_are_in_the_next_one(tmp_path: Path) -> None:
    """The sync has seen them before the report, which cannot read them yet."""
    with archive_of_service(tmp_path) as (service, archive):
        out, pages = tmp_path / "report.html", []

        def report_first(store: Store, table: object, rows: object, commit: Commit) -> bool:
            if str(getattr(table, "table_uri", "")).rstrip("/").endswith("/corrections"):
                pages.append(sideline.Archive(tmp_path / "season").report(out).html)
            return commit()

        service.change.correct_stat()
        with around_commits(report_first):
            count = archive.sync(**SPAN).corrections.num_rows
        assert len(pages) == 1 and "new corrections</dt><dd>0" in pages[0]
        assert f"new corrections</dt><dd>{count:,}" in archive.report(out).html
        assert "new corrections</dt><dd>0" in archive.report(out).html


def test_the_headline_says_whether_games_or_other_data_are_lacking(tmp_path: Path) -> None:
    options = {"seed": 4, "teams": 2, "games": 1, "practices": 0, "upcoming": 0}
    with Service(now="2027-02-10T12:00:00Z", **options) as service, sideline.Client(**service.client_options(), max_retries=0) as client:
        archive = sideline.Archive(tmp_path / "season", client)
        headlines = []
        for operation in ("stats", "roster", None):
            service.faults.clear()
            if operation is not None:
                service.faults.add(operation, times=1, status=500, body={"status": 500, "message": "broken"})
            archive.sync(start="2027-01-01", end="2027-03-01", correction_window=None, on_error="keep", progress=False)
            headlines.append(Page(archive.report().html).headline)
    assert headlines[:2] == ["1 game of 1 needs attention.", "No game needs attention, but the archive has 1 hole."]
    assert headlines[2] in ("Every game is complete.", "Nothing is missing. Some numbers may still change: see the verdicts.")


def test_a_folder_without_an_archive(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sideline.Archive(tmp_path / "nothing").report()
    assert isinstance(ArchiveReport("<style>"), ArchiveReport)


def test_an_archive_without_teams_has_its_report(tmp_path: Path) -> None:
    with Service(teams=0, games=0, practices=0, upcoming=0) as service, sideline.Client(**service.client_options()) as client:
        archive = sideline.Archive(tmp_path / "season", client)
        assert archive.sync(**DAYS, progress=False).complete
    assert "</html>" in archive.report().html


def test_the_command_writes_it(archive_with_holes: sideline.Archive, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, info = tmp_path / "r.html", archive_with_holes.info()
    assert main(["report", archive_with_holes._store.root, "-o", str(out)]) == 3
    assert capsys.readouterr().out == f"{out}: {info.games} games, {len(info.holes)} holes\n"
    assert last_report_time(archive_with_holes._store) is not None
    assert main(["report", archive_with_holes._store.root, "-o", str(out), "--json"]) == 3
    report_facts = json.loads(capsys.readouterr().out)
    assert (report_facts["holes"], report_facts["games"], report_facts["report"]) == (len(info.holes), info.games, str(out))
    assert main(["report", str(tmp_path / "nothing")]) == 1
    assert "holds no archive" in capsys.readouterr().err
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", None)  # closed before the start
        assert main(["report", archive_with_holes._store.root, "-o", "-"]) == 3


def test_an_archive_that_cannot_be_written_to_still_has_its_report(
    archive_with_holes: sideline.Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(archive_with_holes._store, "replace", refuse)
    with pytest.warns(UserWarning, match="will not know of this one, .*: read-only"):
        archive_with_holes.report(tmp_path / "report.html")
    assert "</html>" in (tmp_path / "report.html").read_text(encoding="utf-8")


def last_night(archive: sideline.Archive) -> list[list[str]]:
    """The rows of "Scores and leaders"."""
    [rows] = [rows[1:] for rows in Page(archive.report().html).tables if rows[0][:2] == ["game", "score"]] or [[]]
    return rows


def with_points(points: object) -> Callable[[Any], Any]:
    """A change of a body that gives each line these points, or none."""

    def change(node: Any) -> Any:
        if isinstance(node, dict):
            if "PTS" in node:
                node["PTS"] = points
            for value in node.values():
                change(value)
        for value in node if isinstance(node, list) else ():
            change(value)
        return node

    return change


def without_totals(body: Any) -> Any:
    for team in body["teams"]:
        team["player_stats"] = [line for line in team["player_stats"] if line["id"]]
    return body


@pytest.mark.parametrize("fault", [{"status": 500}, {"change": without_totals}], ids=["a hole", "no totals"])
def test_the_points_of_a_game_are_not_those_of_a_part_of_its_sessions(fault: dict[str, Any], tmp_path: Path) -> None:
    with Service(seed=3, now="2027-03-01T12:00:00Z", sessions=(2, 2)) as service, sideline.Client(**service.client_options(), max_retries=0) as client:
        last = [game for game in service.season.games if game.sessions][-1]
        path = f"/{last.sessions[0].id}/stats$"
        rule = service.faults.add("stats", path=path, **fault)
        archive = sideline.Archive(tmp_path / "season", client)
        archive.sync(**DAYS, on_error="keep", progress=False)
        assert last_night(archive)[0][1] == "?–?"
        service.faults.remove(rule)
        archive.sync(**DAYS, on_error="keep", progress=False)
        [row] = last_night(archive)
        assert re.fullmatch(r"\d+–\d+", row[1])
        service.faults.add("stats", path=path, status=500)
        archive.sync(**DAYS, on_error="keep", progress=False)
        assert last_night(archive)[0][1] == row[1], "the body of the sync before"


@pytest.mark.parametrize(
    ("fault", "score"),
    [
        ({}, r"\d+–\d+"),
        ({"status": 404}, r"\?–\?"),
        ({"change": with_points(None)}, r"\?–\?"),
        ({"change": with_points(1e300)}, r"2e\+300–2e\+300"),
    ],
    ids=["whole", "missing", "without points", "too many points"],
)
def test_the_last_night_has_each_game_and_only_known_points(fault: dict[str, Any], score: str, tmp_path: Path) -> None:
    with Service(seed=3, now="2027-03-01T12:00:00Z", sessions=(2, 2)) as service, sideline.Client(**service.client_options()) as client:
        last = [game for game in service.season.games if game.sessions][-1]
        if fault:
            service.faults.add("stats", when=lambda request: any(session.id in request.target for session in last.sessions), **fault)
        archive = sideline.Archive(tmp_path / "season", client)
        archive.sync(**DAYS, on_error="keep", progress=False)
        [row] = last_night(archive)
        assert row[0] == f"{service.season.team_name(last.away_id)} at {service.season.team_name(last.home_id)}"
        assert re.fullmatch(score, row[1])


@pytest.mark.parametrize("is_by_id", [True, False])
def test_games_that_the_stored_schedule_lacks_are_in_the_last_night(is_by_id: bool, tmp_path: Path) -> None:
    with Service(seed=3, now="2027-03-01T12:00:00Z") as service, sideline.Client(**service.client_options()) as client:
        last = [game for game in service.season.games if game.sessions][-1]
        archive = sideline.Archive(tmp_path / "season", client)
        if is_by_id:
            archive.sync(game_ids=[last.id], progress=False)
        else:
            service.change.unlist_game(last.id)
            archive.sync(**DAYS, progress=False)
        of_game = (pl.col("game_id") == last.id) & pl.col("is_team_total")
        totals = archive.scan("box_score").filter(of_game).group_by("team_id").agg(pl.col("PTS").sum()).collect()
        [row] = last_night(archive)
        assert sorted(map(int, row[1].split("–"))) == sorted(totals["PTS"].cast(pl.Int64))
