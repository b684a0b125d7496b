"""What the views of an archive must say: verdicts, exit statuses and the morning report.

Computed from the truth that a test knows, from its own reading of `coverage`, and from the words of the documentation (Trust, Answers, Command line):
nothing here is the client's code.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Collection, Iterable
from contextlib import redirect_stdout
from datetime import datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

from service import Row, Service
from service.messages import Request
from service.season import DAY, Event, instant
from trust import LACKING, PARENTS, Finding, Memory, describe

import sideline
from sideline.cli import main

WORST_FIRST = ("forbidden", "missing", "late", "degraded", "withdrawn", "pending", "provisional", "available")
ATTENTION = {"forbidden", "missing", "late", "degraded"}
"""The verdicts with which `sideline status` ends with 3."""
WINDOW = timedelta(days=7)
"""The correction window of every view."""
DELAY_UNTIL_OVER = timedelta(hours=3)
"""A game is over so long after its last session."""
OF_SESSIONS = {"stats", "stats_details", "possessions", "shots"}
"""The operations whose units have the id of a session."""
REFUSAL_STATUSES = {400, 403, 422, 500, 502, 503}
"""The statuses with which a response leaves a hole, whatever was known."""


class Page(HTMLParser):
    """A page: its tags, its headline, its tiles, and the text of each table's cells."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.captions: list[str] = []
        self.tiles: list[list[str]] = []
        self.lines: list[str] = []
        self.headline = ""
        self.feed(html)
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
            self.captions.append("")
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag == "dt":
            self.tiles.append(["", ""])
        if tag == "li":
            self.lines.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        tag = self.open[-1] if self.open else ""
        if tag in ("td", "th"):
            self.tables[-1][-1][-1] += data
        elif tag == "caption":
            self.captions[-1] += data
        elif "dl" in self.open and {"dt", "dd"} & {*self.open}:
            self.tiles[-1]["dd" in self.open] += data
        elif tag == "li":
            self.lines[-1] += data
        elif tag == "p" and self.tags[-1] == ("p", {"class": "headline"}):
            self.headline += data

    def table(self, caption: str) -> list[list[str]]:
        """The rows of a table without its head; none of a table that the page lacks."""
        return self.tables[self.captions.index(caption)][1:] if caption in self.captions else []

    def tile(self, name: str) -> str:
        [value] = [value.strip() for head, value in self.tiles if head == name]
        return value


def command(*arguments: str) -> tuple[int, str]:
    """The exit status of the `sideline` command, and what it prints."""
    with redirect_stdout(io.StringIO()) as out:
        return main(arguments), out.getvalue()


def refused_units(requests: Iterable[Request], sessions: Collection[str]) -> set[str]:
    """The units of sessions whose last request had a response that is no data."""
    last = {f"{request.operation}/{request.id}": request.status for request in requests if request.operation in OF_SESSIONS and request.id in sessions}
    return {unit for unit, status in last.items() if status in REFUSAL_STATUSES}


def worst(verdicts: Iterable[str]) -> str:
    return min(verdicts, key=WORST_FIRST.index)


def worst_by_game(rows: Iterable[Row]) -> dict[str, str]:
    """The verdict on each game: the worst of its tables'."""
    verdicts: dict[str, list[str]] = {}
    for row in rows:
        verdicts.setdefault(row["game_id"], []).append(row["status"])
    return {game: worst(of_tables) for game, of_tables in verdicts.items()}


class Views:
    """Each view of an archive of the season of a service, beside what it must say."""

    def __init__(self, root: Path, service: Service, memory: Memory) -> None:
        self.root, self.service, self.memory = str(root), service, memory
        self.archive = sideline.Archive(root)
        self.corrections = 0
        """Those until the last report."""

    def holes(self) -> list[Row]:
        return [row for row in self.archive.scan("coverage").collect().to_dicts() if row["status"] in LACKING]

    def verdicts(self) -> list[Row]:
        """Every verdict, from the command, whose exit status is that of the verdicts."""
        status, output = command("status", self.root, "--json")
        rows: list[Row] = json.loads(output)
        is_problem = any(row["status"] in ATTENTION for row in rows)
        assert status == (3 if is_problem else 0), f"the exit status {status} of {Counter(row['status'] for row in rows)}"
        assert all(row["reasons"] for row in rows if row["status"] != "available"), "a verdict without a reason"
        return rows

    def check_verdicts(self, rows: list[Row], holes: list[Row]) -> None:
        """No verdict is better than a hole."""
        by_table = {(row["game_id"], row["table"]): row for row in rows}
        for hole in holes:
            if hole["game_id"] is None or hole["status"] == "missing" or hole["unit"].startswith("event/"):
                # What was never there is pending for a time.
                continue
            for table in (table for table, operations in PARENTS.items() if hole["operation"] in operations):
                row = by_table.get((hole["game_id"], table), {"status": "missing", "reasons": []})
                is_interrupted = any("interrupted" in reason for reason in row["reasons"])
                expected = {"forbidden"} if hole["status"] == "forbidden" and not is_interrupted else ATTENTION
                assert row["status"] in expected, f"{table} is {row['status']} with a {hole['status']} unit: {hole['unit']}"

    def check_available(self, rows: list[Row], untrue: list[Finding], clock: datetime) -> None:
        """What is available is the truth; `untrue`: the differences from it; `clock`: the latest time of any clock."""
        by_table = {(row["game_id"], row["table"]): row["status"] for row in rows}
        available = {key for key, verdict in by_table.items() if verdict == "available"}
        false = [(table, kind, row) for table, kind, row in untrue if (self.memory.event(row), table) in available]
        assert not false, f"available, and not the truth:\n{describe(false)}"
        early = {game for game, _ in available if (event := self.service.season.event(game)) and clock < _over_at(event) + WINDOW}
        assert not early, f"available within the correction window: {early}"

    def check_verdicts_of_truth(self, rows: list[Row], clock: datetime) -> None:
        """Every verdict is that of the truth, once the archive equals it and the service was last asked at its present time."""
        season = self.service.season
        now = instant(season.now)
        games = {event.id: event for event in season.games}
        shot_at = {session.id for _, session in season.sessions() if any(action.shot for _, action in session.actions())}
        for row in rows:
            event, verdict, subject = games.get(row["game_id"]), row["status"], f"{row['table']} of {row['game_id']}: {row['reasons']}"
            if event is None or (row["table"] == "games" and not event.is_scheduled):
                # A list that never had it lacks it; one that had it has withdrawn it.
                assert verdict in ("withdrawn", "missing"), subject
                continue
            over_at = _over_at(event)
            is_of_shots = row["table"] == "shots" or all(reason.startswith("shots: ") for reason in row["reasons"])
            if verdict in ("degraded", "pending") and is_of_shots and any(session.id not in shot_at for session in event.sessions):
                # Far fewer rows than usual are in doubt, and so is what is computed from them; a session may truly have no shot.
                continue
            if over_at + DELAY_UNTIL_OVER > clock or not event.sessions:
                assert verdict == "pending" or (verdict == "late" and event.tipoff < season.now), f"{verdict} and not over: {subject}"
            elif over_at + DELAY_UNTIL_OVER > now:
                # A clock that was ahead said that it is over.
                assert verdict in ("pending", "provisional"), f"{verdict}: {subject}"
            else:
                assert verdict == ("available" if now >= over_at + WINDOW else "provisional"), f"{verdict}: {subject}"
        tables = {row["table"] for row in rows}
        expected = {(event.id, table) for event in season.games if event.sessions or event.is_scheduled for table in tables}
        lacking = expected - {(row["game_id"], row["table"]) for row in rows}
        assert not lacking, f"no verdict: {lacking}"

    def check_report(self, rows: list[Row], holes: list[Row]) -> Page:
        """The morning report says what the verdicts, the holes and the corrections say, and ends as they do."""
        before, self.corrections = self.corrections, self.archive.corrections().num_rows
        path = Path(self.root).with_name("report.html")
        status, _ = command("report", self.root, "-o", str(path))
        assert status == (3 if holes else 0), f"the exit status {status} of a report with holes: {len(holes)}"
        page = Page(path.read_text(encoding="utf-8"))
        of_games = worst_by_game(rows)
        counts, games = Counter(row["status"] for row in rows), Counter(of_games.values())
        problems = [row for row in rows if row["status"] in ATTENTION]
        table = {line[0]: [int(cell.replace(",", "")) for cell in line[1:3]] for line in page.table("Games by their worst verdict")}
        assert table == {verdict: [games[verdict], count] for verdict, count in counts.items()}
        assert page.tile("need attention") == f"{len(problems)} {'look' if problems else 'ok'}"
        assert page.tile("holes") == f"{len(holes)} {'look' if holes else 'ok'}"
        assert page.tile("new corrections") == f"{self.corrections - before:,}"
        lines = page.table("What needs attention")
        assert [line[1:3] for line in lines] == [[row["table"], row["status"]] for row in problems][: len(lines)]
        assert len(lines) == min(len(problems), 100)
        kinds = Counter(f"{hole['operation']} {hole['status']}" for hole in holes)
        assert dict(page.table("Holes by operation and status")) == {kind: str(count) for kind, count in kinds.items()}
        units = {line.split(" ", 1)[0] for line in page.lines}
        assert len(holes) > 100 or all(hole["unit"].split(" ", 1)[0] in units for hole in holes), "a hole that the page does not name"
        assert page.headline == _headline(games, len(holes)), (page.headline, games)
        for line in page.table("Scores and leaders"):
            assert line[2] in of_games.values()
        return page

    def check_sync(self, options: Iterable[str]) -> None:
        """The command's exit status and summary say what `coverage` says."""
        status, output = command("sync", self.root, *options, "--json")
        summary = json.loads(output)
        holes = {hole["unit"]: hole["status"] for hole in self.holes()}
        assert {hole["unit"]: hole["status"] for hole in summary["holes"]} == holes
        assert summary["complete"] == (not holes)
        assert status == (3 if holes else 4 if summary["unknown_fields"] else 0), f"the exit status {status} of a sync with holes: {holes}"

    def check_report_of_truth(self, page: Page, rows: list[Row], tables: Iterable[str]) -> None:
        """The scores, leaders and rows of the report are those of the season, once the archive equals it."""
        season = self.service.season
        truth = self.service.truth(names=(names := [*tables]))
        counts = dict(page.table("Rows of each table"))
        # `players` has those of the past too.
        differences = {name: count for name in names if name != "players" and (count := counts.get(name, "0")) != f"{len(truth[name]):,}"}
        assert not differences, differences
        last = max((session.start for event in season.games for session in event.sessions), default=0)
        night = [event for event in season.games if any(session.start > last - DAY for session in event.sessions)]
        verdicts = worst_by_game(rows)
        expected = []
        for event in sorted(night, key=lambda event: (event.tipoff if event.is_scheduled else event.start, event.id)):
            points: Counter[int] = Counter(dict.fromkeys(event.team_ids, 0))
            for session in event.sessions:
                for team, action in session.actions():
                    points[team] += round(action.increments.get("PTS", 0))
            score = f"{points[event.away_id]}–{points[event.home_id]}"
            is_over = _over_at(event) + DELAY_UNTIL_OVER <= instant(season.now)
            names = f"{season.team_name(event.away_id)} at {season.team_name(event.home_id)}"
            expected.append([names, score if is_over else f"{score}, not over", verdicts[event.id]])
        games = [line[:3] for line in page.table("Scores and leaders")]
        assert games == expected, f"scores: {games} are not {expected}"


def _over_at(event: Event) -> datetime:
    return instant(event.end if event.sessions else event.tipoff)


def _headline(games: Counter[str], holes: int) -> str:
    bad, total = sum(games[verdict] for verdict in ATTENTION), sum(games.values())
    if not total:
        return "No game is stored yet."
    if bad:
        return f"{bad} game{'s' * (bad > 1)} of {total} need{'s' * (bad == 1)} attention."
    if holes:
        return f"No game needs attention, but the archive has {holes} hole{'s' * (holes > 1)}."
    if games["pending"] or games["provisional"]:
        return "Nothing is missing. Some numbers may still change: see the verdicts."
    return "Every game is complete."
