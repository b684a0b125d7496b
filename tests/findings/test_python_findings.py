"""Findings about surface, types and habits of the Python package: the desired behaviour, which today's code lacks."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from data_seasons import SPAN, archive_in, client_of, new_service, played, sync
from needs import environment_without
from service import Service

import sideline
from sideline import metrics

pytestmark = [pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning"), pytest.mark.timeout(60)]

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "sideline"


@pytest.fixture(scope="module")
def league() -> Iterator[Service]:
    with new_service() as league:
        yield league


@pytest.fixture(scope="module")
def client(league: Service) -> Iterator[sideline.Client]:
    with client_of(league) as client:
        yield client


@pytest.fixture(scope="module")
def archive(league: Service, client: sideline.Client, tmp_path_factory: pytest.TempPathFactory) -> sideline.Archive:
    archive = archive_in(tmp_path_factory.mktemp("archives"), client)
    assert sync(archive, ("teams", "player_stats", "shots")).complete
    return archive


@pytest.fixture(scope="module")
def session(league: Service) -> str:
    return played(league)[0].sessions[0].id


# 2. Public modules.

MODULES = ("errors", "archive", "live", "journal", "simulator", "doctor", "batch", "cli", "court", "metrics", "plot", "spark", "typing")

_LOOK = """
import json, sys, sideline
found = []
for name in json.loads(sys.argv[1]):
    try:
        found += [name] if getattr(sideline, name).__name__ == f"sideline.{name}" else []
    except AttributeError:
        pass
    # The next one must not be found because this one loaded it.
    for loaded in [each for each in sys.modules if each.startswith("sideline.") and each != "sideline._core"]:
        sideline.__dict__.pop(loaded.partition(".")[2], None)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def attributes() -> list[str]:
    """The public modules that are attributes of a package of which nothing else is loaded."""
    done = subprocess.run([sys.executable, "-c", _LOOK, json.dumps(MODULES)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    names: list[str] = json.loads(done.stdout)
    return names


@pytest.mark.parametrize("name", MODULES)
def test_a_public_module_is_an_attribute_from_the_first_line(attributes: list[str], name: str) -> None:
    assert name in attributes


@pytest.mark.parametrize(("typed", "name"), [("sideline.Cl", "Client"), ("sideline.me", "metrics"), ("sideline.typing.Tab", "TableName")])
def test_static_completion_offers_the_public_names(typed: str, name: str) -> None:
    jedi = pytest.importorskip("jedi", reason="jedi is not installed (pip install ipykernel)")
    assert name in [completion.name for completion in jedi.Script(f"import sideline\n{typed}").complete()]


# 2 and 3. What a type checker says.

MISTAKES: dict[str, tuple[int, str]] = {
    "a name of the package": (2, "sideline.Archve"),
    "scan": (3, 'archive.scan("shot")'),
    "to_arrow": (3, 'archive.to_arrow("shot")'),
    "delta": (3, 'archive.delta("shot")'),
    "files": (3, 'archive.files("shot")'),
    "rebuild": (3, 'archive.rebuild("shot")'),
    "sync": (3, 'archive.sync(start="2026-11-01", tables=["shot"])'),
    "as_of": (3, 'archive.as_of("2026-11-01").scan("shot")'),
    "from_bytes": (3, 'sideline.Payload.from_bytes("statz", b"")'),
    "metrics": (3, "metrics.minutes(5)"),
    "audit": (3, "sideline.audit(player_stats=5)"),
    "clips": (3, "sideline.clips(5, 5)"),
    "moments": (3, "sideline.moments(5, 5)"),
    "plan": (3, 'client.plan("shot", start="2026-11-01")'),
}

USES: dict[str, str] = {
    "updates without notices": 'print([item.to_dict() for item in client.live_stats("1", notices=False)])',
    "the batch of an incomplete one": "print(incomplete_batch.batch.coverage)",
    "the report of an incomplete sync": "print(incomplete_sync.report.holes)",
    "the names of signatures": "from sideline.typing import ClientOptions, Ids, TableName, Time, Violations",
}

_PROGRAM = """import sideline
from sideline import metrics


def program(
    archive: sideline.Archive,
    client: sideline.Client,
    incomplete_batch: sideline.IncompleteBatch,
    incomplete_sync: sideline.IncompleteSync,
) -> None:
"""


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What mypy says about each line, by the line's name; empty if it accepts it."""
    folder = tmp_path_factory.mktemp("typed")
    lines = {**{name: code for name, (_, code) in MISTAKES.items()}, **USES}
    (folder / "program.py").write_text(_PROGRAM + "".join(f"    {code}\n" for code in lines.values()), encoding="utf-8")
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
    # That of test_typing.py, whose programs are as strict.
    cache = PACKAGE.parents[1] / ".mypy_cache" / "strict"
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={cache}", "program.py"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=220, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    first = _PROGRAM.count("\n") + 1
    messages = dict.fromkeys(lines, "")
    names = list(lines)
    head = []
    for number, text in re.findall(r"^program\.py:(\d+): error: (.*)$", done.stdout, re.M):
        if int(number) < first:
            head.append(text)
        else:
            messages[names[int(number) - first]] += text
    for name, exception in (("the batch of an incomplete one", "IncompleteBatch"), ("the report of an incomplete sync", "IncompleteSync")):
        messages[name] += "".join(text for text in head if exception in text)
    return messages


@pytest.mark.source
@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", MISTAKES)
def test_a_planted_mistake_is_refused(complaints: dict[str, str], name: str) -> None:
    assert complaints[name]


@pytest.mark.parametrize("name", ["ClientOptions", "Ids", "TableName", "Time", "Violations"])
def test_a_name_of_signatures_has_a_public_path(name: str) -> None:
    assert getattr(importlib.import_module("sideline.typing"), name)


@pytest.mark.source
@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", USES)
def test_a_correct_use_is_accepted(complaints: dict[str, str], name: str) -> None:
    assert complaints[name] == ""


# 4. One kind of rows, one name, one type of an argument.

KINDS: dict[str, Callable[[sideline.Client, sideline.Archive, str], Any]] = {
    "metrics of a payload": lambda client, archive, session: metrics.minutes(client.possessions(session)),
    "corrections": lambda client, archive, session: archive.corrections(),
    "audit": lambda client, archive, session: sideline.audit(player_stats=client.stats(session)),
    "sql": lambda client, archive, session: archive.sql("select 1 as one"),
}


@pytest.mark.parametrize("name", KINDS)
def test_eager_rows_are_a_table(client: sideline.Client, archive: sideline.Archive, session: str, name: str) -> None:
    assert isinstance(KINDS[name](client, archive, session), sideline.Table)


def test_an_argument_has_the_name_of_its_table(client: sideline.Client, session: str) -> None:
    result = sideline.audit(player_stats=client.stats(session), stat_events=client.stats_details(session))  # type: ignore[call-arg]
    assert result.num_rows == 0


DURATIONS: dict[str, Callable[[Service, sideline.Client, sideline.Archive, str], Any]] = {
    "Client(timeout=)": lambda league, client, archive, session: sideline.Client(**league.client_options(), timeout=timedelta(seconds=9)).close(),
    "call(timeout=)": lambda league, client, archive, session: client.teams(timeout=timedelta(seconds=9)),  # type: ignore[arg-type]
    "Timeout(connect=)": lambda league, client, archive, session: client.teams(timeout=sideline.Timeout(connect=timedelta(seconds=9))),  # type: ignore[arg-type]
    "live_stats(silence_limit=)": lambda league, client, archive, session: client.live_stats("1", silence_limit=timedelta(seconds=9)),  # type: ignore[arg-type]
    "sync(correction_window=)": lambda league, client, archive, session: sync(archive, ("teams",), correction_window=86_400.0),
    "status(correction_window=)": lambda league, client, archive, session: archive.status(correction_window=86_400.0),  # type: ignore[arg-type]
    "faults.add(delay=)": lambda league, client, archive, session: sideline.Simulator(teams=2, games=1).faults.add(delay=timedelta(seconds=1)),
    "streams.stall(seconds=)": lambda league, client, archive, session: sideline.Simulator(teams=2, games=1).streams.stall(seconds=timedelta(seconds=1)),
    "vacuum(retain=)": lambda league, client, archive, session: archive.vacuum(retain=86_400.0),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", DURATIONS)
def test_every_duration_accepts_seconds_and_timedelta(league: Service, client: sideline.Client, archive: sideline.Archive, session: str, name: str) -> None:
    DURATIONS[name](league, client, archive, session)


def test_moments_accept_a_timedelta(league: Service, client: sideline.Client, session: str) -> None:
    half = played(league)[0].sessions[0]
    locations = client.locations(session, half.start, half.end)
    expected = sideline.moments(client.shots(session), locations, before=2, after=1).num_rows
    assert sideline.moments(client.shots(session), locations, before=timedelta(seconds=2), after=timedelta(seconds=1)).num_rows == expected  # type: ignore[arg-type]


def test_every_list_of_names_accepts_one_name(client: sideline.Client, session: str) -> None:
    assert client.stats(session).table("box_score", columns="PTS").column_names == ["PTS"]  # type: ignore[call-overload]


def error_of(call: Callable[[], object]) -> BaseException | None:
    """The refusal of an argument, if the call refuses one."""
    try:
        call()
    except (TypeError, ValueError) as error:
        return error
    return None


def test_a_range_in_place_of_ids_works_or_the_error_says_what_to_write(archive: sideline.Archive) -> None:
    error = error_of(lambda: archive.sync(SPAN["start"], SPAN["end"], tables=["teams"]))
    assert error is None or isinstance(error, TypeError) or "start=" in str(error), str(error)


@pytest.mark.parametrize("name", ["shot_chart", "court"])
def test_a_plot_says_which_argument_was_meant(client: sideline.Client, session: str, name: str) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'sideline[plot]'").use("agg")
    call = (lambda: sideline.plot.shot_chart(client.shots(session), "hexbin")) if name == "shot_chart" else lambda: sideline.plot.court("football")  # type: ignore[arg-type]
    error = error_of(call)
    assert error is None or ("kind=" if name == "shot_chart" else "court=") in str(error)


# 5. The command.


def run(*arguments: str) -> int:
    from sideline import cli

    try:
        return int(cli.main(list(arguments)))
    except SystemExit as error:
        return int(error.code or 0)


@pytest.mark.parametrize("style", ["repeated", "with commas"])
def test_a_list_does_not_swallow_the_path(league: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, style: str) -> None:
    for name, value in league.environ.items():
        monkeypatch.setenv(name, value)
    first, second, *_ = (game.id for game in played(league))
    games = ["--games", first, "--games", second] if style == "repeated" else ["--games", f"{first},{second}"]
    assert run("sync", "--tables", "sessions", *games, str(tmp_path / "season")) == 0
    sessions = sideline.Archive(tmp_path / "season").scan("sessions").collect()
    assert set(sessions["game_id"]) == {first, second}


def test_an_error_of_a_list_does_not_blame_the_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("sync", "--teams", "1", "2", "season") == 2
    assert "invalid int value: 'season'" not in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "suggestion"), [(["sycn", "season"], "sync"), (["sync", "season", "--form", "2026-11-01"], "--from")])
def test_a_misspelt_word_of_the_command_gets_a_suggestion(arguments: list[str], suggestion: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == 2
    assert re.search(rf"did you mean [^?]*{suggestion}\b", capsys.readouterr().err)


COMMANDS = ("simulate", "sync", "status", "report", "vacuum", "doctor", "live")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_an_option_states_its_meaning(command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run(command, "--help") == 0
    assert re.findall(r"^ +(-\S+.*?) {2,}default: ", capsys.readouterr().out, re.M) == []


@pytest.mark.source
def test_completion_uses_no_private_part_of_argparse() -> None:
    reading = [path.name for path in PACKAGE.rglob("*.py") if re.search(r"\._actions\b|argparse\._|_SubParsersAction", path.read_text(encoding="utf-8"))]
    assert reading == []


# 8. Recipes of contributors.


def recipe(title: str) -> str:
    """The recipe of CONTRIBUTING.md with this heading; empty if it does not exist."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    match = re.search(rf"^### {title}.*?(?=^##|\Z)", text, re.M | re.S)
    return match.group() if match else ""


@pytest.mark.source
def test_the_recipe_of_a_field_names_the_arrays_length() -> None:
    assert re.search(r"\blength\b|number of columns", recipe("A field"))


@pytest.mark.source
def test_a_command_has_a_recipe() -> None:
    assert recipe("A command")


@pytest.mark.source
@pytest.mark.parametrize("page", ["answers.md", "trust.md"])
def test_the_pages_name_every_verdict(page: str) -> None:
    from sideline.archive._status import SEVERITY

    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert [verdict for verdict in SEVERITY if not re.search(rf"\b{verdict}\b", text)] == []


# 9. One way to build HTML, one look for a notebook.


@pytest.mark.source
def test_one_module_escapes_html() -> None:
    escaping = sorted(
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if re.search(r"^\s*(from html import|import html)", path.read_text(encoding="utf-8"), re.M)
    )
    assert len(escaping) <= 1, escaping


@pytest.mark.source
def test_one_module_detects_a_notebook() -> None:
    looking = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if "get_ipython" in path.read_text(encoding="utf-8"))
    assert len(looking) <= 1, looking


# 10. Frames of the caller's kind.

METRICS: dict[str, Callable[[Any, Any], Any]] = {
    "minutes": lambda box, possessions: metrics.minutes(possessions),
    "pace": lambda box, possessions: metrics.pace(possessions),
    "per_36": lambda box, possessions: metrics.per_36(box, possessions, stats=["FGA"]),
}


@pytest.mark.parametrize("name", ["minutes", "pace", "per_36"])
def test_a_metric_of_pandas_frames_is_a_pandas_frame(client: sideline.Client, session: str, name: str) -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas: pip install 'sideline[pandas]'")
    box, possessions = client.stats(session).to_pandas("box_score"), client.possessions(session).to_pandas("possessions")
    assert isinstance(METRICS[name](box, possessions), pandas.DataFrame)


@pytest.mark.parametrize(("name", "arguments"), [("moments", "shots and locations"), ("crosswalk", "rosters")])
def test_an_answer_of_pandas_frames_is_a_pandas_frame(league: Service, client: sideline.Client, session: str, name: str, arguments: str) -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas: pip install 'sideline[pandas]'")
    half, roster = played(league)[0].sessions[0], client.roster(played(league)[0].home_id).to_pandas()
    if name == "moments":
        result: Any = sideline.moments(client.shots(session).to_pandas(), client.locations(session, half.start, half.end).to_pandas())
    else:
        result = sideline.crosswalk(roster, roster.rename(columns={"display_name": "name"}))
    assert isinstance(result, pandas.DataFrame), arguments


_WITHOUT_POLARS = """
import sideline
from sideline import metrics
payload = sideline.Payload.from_bytes("possessions", b'{"teams": []}', session_id="s1")
for call in (lambda: metrics.minutes(payload), lambda: sideline.audit(possessions=payload), lambda: sideline.crosswalk(payload, payload),
             lambda: sideline.clips(payload, payload)):
    try:
        call()
        print("no error")
    except ImportError as error:
        print(error)
    except Exception as error:
        print("other", type(error).__name__)
"""


def test_a_function_that_needs_polars_says_what_to_install() -> None:
    command = [sys.executable, "-c", _WITHOUT_POLARS]
    done = subprocess.run(command, env=environment_without("polars"), capture_output=True, text=True, timeout=60, check=True)
    lines = done.stdout.splitlines()
    assert [line for line in lines if "No module named" in line] == []
    assert any('pip install "sideline[polars]"' in line for line in lines), lines
