"""The `sideline` command."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from needs import PLOT, library, needs

import sideline
from sideline.archive import PROBLEMS, SEVERITY
from sideline.cli import command_parser, main
from sideline.cli._exits import Exit

parquet = library("pyarrow.parquet")

COMMAND = [sys.executable, "-W", "error", "-m", "sideline"]
COMMANDS = [
    "demo",
    "simulate",
    "sync",
    "status",
    "report",
    "export",
    "verify",
    "compact",
    "vacuum",
    "mcp",
    "doctor",
    "capture",
    "live",
    "record",
    "replay",
    "completion",
]
TABLES = ["games", "sessions", "box_score", "stat_events", "possessions", "shots"]


def status_of(*arguments: str) -> int:
    """The exit status of the command, also where its parser ends it."""
    try:
        return main(arguments)
    except SystemExit as error:
        return int(error.code or 0)


def test_a_folder_that_cannot_be_made_is_reported_before_the_walk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes").write_text("my notes")
    assert main(["demo", "--out", str(tmp_path / "notes")]) == 1
    out, errors = capsys.readouterr()
    assert out == "" and str(tmp_path / "notes") in errors and errors.count("\n") == 1


@pytest.mark.parametrize("empty", ["", " ", ","])
def test_an_empty_list_is_refused(empty: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [(command._option_string_actions[option], name, option) for name, command in walk_commands(command_parser()) for option in command.options]
    lists = [(name, option) for action, name, option in options if type(action).__name__ == "_ExtendAction"]
    assert len(lists) > 4
    for name, option in lists:
        assert status_of(name, str(tmp_path), option, empty) == 2
        assert f"argument {option}: no " in (text := capsys.readouterr().err) and "name one, or leave the option out" in text


def test_no_game_or_table_is_no_sync_of_nothing(client: sideline.Client, tmp_path: Path) -> None:
    archive = sideline.Archive(tmp_path / "season", client)
    for ids in ("", " ", [], ["g", ""], set()):
        with pytest.raises(ValueError, match="game_ids has no game, or an empty id"):
            archive.sync(game_ids=ids)
    for team_ids in ("", [], [""]):
        with pytest.raises(ValueError, match="team_ids"):
            archive.sync(team_ids=team_ids, start="2026-11-01", end="2026-11-02")
    with pytest.raises(ValueError, match="tables has no table"):
        archive.sync(game_ids=["g"], tables=[])
    with pytest.raises(ValueError, match="tables has no table"):
        archive.export(tmp_path / "x.duckdb", [])
    for name in ("game_ids", "session_ids"):
        with pytest.raises(ValueError, match=f"{name} has an empty id"):
            client.plan("shots", **{name: ""})  # type: ignore[arg-type]
    assert not (tmp_path / "season").exists()


@needs(*PLOT, extra="plot")
def test_the_demo_prints_its_tables_and_writes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--seed", "3", "--out", str(tmp_path / "out")]) == 0
    text = capsys.readouterr().out
    written = {name: parquet.read_table(tmp_path / "out" / f"{name}.parquet") for name in TABLES}
    pictures = {"shots.png", "loads.png", "three.gif"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {f"{name}.parquet" for name in TABLES} | pictures
    for name in pictures:
        assert (tmp_path / "out" / name).stat().st_size > 20_000
        assert str(tmp_path / "out" / name) in text.rpartition("Open first:")[2]
    assert 'Simulator(seed=3, now="2027-03-01T12:00:00Z")' in text, "what to try next is of the same season"
    for name, table in written.items():
        assert table.num_rows > 0
        assert f"\n{name}: {table.num_rows} rows" in text
        assert table.column_names[: len(sideline.SCHEMAS[name])] == sideline.SCHEMAS[name].names
    points = {row["team_id"]: 0 for row in written["box_score"].to_pylist()}
    for row in written["box_score"].to_pylist():
        points[row["team_id"]] += (row["PTS"] or 0) if row["is_team_total"] else 0
    assert len(set(points.values())) == 2
    field_goals = sum(shot["points"] for shot in written["shots"].to_pylist())
    free_throws = sum(row["FT"] or 0 for row in written["box_score"].to_pylist() if row["is_team_total"])
    assert sum(points.values()) == field_goals + free_throws


def test_simulate_prints_what_to_export_and_ends_at_ctrl_c() -> None:
    with subprocess.Popen(
        [*COMMAND, "simulate", "--seed", "7", "--teams", "4", "--games", "8"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout
        assert running.stdout.readline().startswith("#")
        lines = [running.stdout.readline().removeprefix("export ").strip().partition("=") for _ in range(7)]
        environment = {name: value for name, _, value in lines}
        script = "import sideline; print(len(sideline.Client().teams()['teams']))"
        run = subprocess.run([sys.executable, "-c", script], env={**os.environ, **environment}, capture_output=True, text=True, timeout=30)
        assert (run.stdout, run.stderr) == ("4\n", "")
        running.send_signal(signal.SIGINT)
        out, errors = running.communicate(timeout=10)
        assert (running.returncode, out, errors) == (0, "", "")


@pytest.mark.parametrize("clock", [[], ["--now", "2027-03-01T12:00:00Z"], ["--now", "2031-03-01T12:00:00Z"]], ids=["real", "frozen", "far"])
def test_simulate_plays_the_next_game_for_a_live_stream(clock: list[str]) -> None:
    command = [*COMMAND, "simulate", "--seed", "7", "--teams", "4", "--games", "8", *clock, "--play", "--speed", "600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout
        assert running.stderr
        assert running.stdout.readline().startswith("#")
        lines = [running.stdout.readline().removeprefix("export ").strip().partition("=") for _ in range(7)]
        playing = running.stderr.readline()
        assert playing.startswith("# Playing ")
        game = playing.split("--game-id ")[1].strip()
        env = {**os.environ, **{name: value for name, _, value in lines}}
        with subprocess.Popen([*COMMAND, "live", "--game-id", game, "--json"], stdout=subprocess.PIPE, text=True, env=env) as live:
            assert live.stdout
            sources = {json.loads(live.stdout.readline())["source"] for _ in range(5)}
            live.send_signal(signal.SIGINT)
            live.communicate(timeout=20)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=10)
    assert sources <= {"marker", "shots", "stats", "details", "clock", "possessions"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--games", "0", "--play"], "the season has no game to play"),
        (["--speed", "60"], "--speed needs --play"),
        (["--from", "capture", "--seed", "5"], "--seed is of a season, and --from serves a capture"),
        (["--from", "capture", "--location-rate", "10"], "--location-rate is of a season, and --from serves a capture"),
    ],
)
def test_simulate_refuses_what_it_cannot_play(arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of("simulate", *arguments) == 2
    assert problem in capsys.readouterr().err


def test_a_replay_has_one_pace(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of("replay", "game.journal", "--fast", "--speed", "60") == 2
    assert "not allowed with argument --fast" in capsys.readouterr().err


def test_help_says_what_each_command_does_what_each_option_means_and_where_credentials_come_from(capsys: pytest.CaptureFixture[str]) -> None:
    def help_of(*arguments: str) -> str:
        with pytest.raises(SystemExit) as excinfo:
            main(arguments)
        assert excinfo.value.code == 0
        return capsys.readouterr().out

    help_text = " ".join(help_of("--help").split())
    for word in ("SIDELINE_USERNAME", "SIDELINE_SECRET", "SIDELINE_API_KEY", "sideline doctor", *COMMANDS):
        assert word in help_text
    for command in COMMANDS:
        text = help_of(command, "--help")
        about = text.split("\n\n")[1]
        assert len(about.split()) > 8, command
    assert "Exit status" in help_of("doctor", "--help")
    [commands] = [action for action in command_parser()._actions if isinstance(action, argparse._SubParsersAction)]
    assert set(commands.choices) == set(COMMANDS)
    assert [(name, action.dest) for name, parser in commands.choices.items() for action in parser._actions if not action.help] == []


def test_the_module_and_the_script_are_the_same_command() -> None:
    script = Path(sys.executable).with_name("sideline")
    texts = [subprocess.run([*command, "--help"], capture_output=True, text=True, timeout=30) for command in (COMMAND, [str(script)])]
    assert texts[0].stdout == texts[1].stdout != ""
    run = subprocess.run(COMMAND, capture_output=True, text=True, timeout=30)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "sideline: the following arguments are required: COMMAND; see sideline --help\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--port", "70000"], "port"),
        (["--now", "2027-03-01T12:00"], "time zone"),
        (["--teams", "0"], "teams"),
        (["--location-rate", "3"], "location_rate"),
        (["--now", "soon"], "soon"),
        (["--seed", "9" * 20], "it must be from 0 to"),
    ],
)
def test_invalid_options_are_refused_in_one_line(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of("simulate", *options) == 2
    text = capsys.readouterr().err
    assert text.startswith("sideline")
    assert message in text
    assert text.count("\n") == 1


def test_an_empty_id_is_reported_by_its_own_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option, name in (("--game-id", "game_id"), ("--schedule-id", "schedule_id")):
        assert main(["record", option, "", str(tmp_path / "game.journal")]) == 2
        assert capsys.readouterr().err.startswith(f'sideline: {name} "" is not an id')


def test_exit_statuses_are_those_of_the_table_in_the_docs() -> None:
    page = (Path(__file__).parent.parent / "docs" / "command.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", page, re.M)
    assert [(int(number), name) for number, name in rows] == [(status.value, status.name) for status in Exit]
    help_text = " ".join(command_parser().format_help().split())
    assert re.findall(r"(\d+) ", help_text.partition("Exit status: ")[2]) == [str(status.value) for status in Exit]


def test_the_page_has_every_command_and_which_have_json() -> None:
    page = (Path(__file__).parent.parent / "docs" / "command.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `sideline ([a-z ]+)` \| .+ \| (.*)\|$", page, re.M)
    commands_of_page = [(name, bool(json_column)) for name, json_column in rows]
    assert commands_of_page == [(name, "--json" in command._option_string_actions) for name, command in walk_commands(command_parser())]


def test_each_module_of_a_command_is_registered() -> None:
    folder = Path(sideline.cli.__file__).parent
    modules = {path.stem for path in folder.glob("*.py") if "def add(commands" in path.read_text(encoding="utf-8")}
    known_modules = {command.get_default("run").__module__.rpartition(".")[2] for _, command in walk_commands(command_parser())}
    assert modules == known_modules


def test_each_verdict_is_where_verdicts_are_listed() -> None:
    assert set(SEVERITY) <= set(re.findall(r"\w+", sideline.Archive.status.__doc__ or ""))
    engineer = (Path(__file__).parent.parent / "docs" / "engineer.md").read_text(encoding="utf-8")
    [sentence] = re.findall(r"`sideline status` exits with 3[^.]*\.", engineer)
    [command] = [command for name, command in walk_commands(command_parser()) if name == "status"]
    for text in (sentence, command.description or ""):
        assert set(SEVERITY) & set(re.findall(r"\w+", text)) == PROBLEMS, text


def walk_commands(parser: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Each command of a parser that has no commands of its own."""
    below = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield name, parser
    for commands in below:
        for word, command in commands.items():
            yield from walk_commands(command, f"{name} {word}".strip())


def test_the_doctor_and_the_simulator_speak_json(service: sideline.Simulator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name, value in service.environ.items():
        monkeypatch.setenv(name, value)
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is True
    assert {"name", "state", "found", "advice"} == set(report["checks"][0])
    assert service.secret not in str(report)
    monkeypatch.setenv("SIDELINE_SECRET", "wrong")
    assert main(["doctor", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["ok"] is False
    with subprocess.Popen([*COMMAND, "simulate", "--teams", "4", "--games", "8", "--json"], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        assert json.loads(running.stdout.readline()).keys() == service.environ.keys()
        running.send_signal(signal.SIGINT)
        assert running.wait(10) == 0


@pytest.fixture(scope="module")
def journal(service: sideline.Simulator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("journal") / "game.journal"
    with service.client() as client, client.live_stats(service.games[0]["event_id"]).record(path) as stream:
        next(item for item in stream if isinstance(item, sideline.Update))
    return path


def test_a_journal_is_replayed_as_lines_or_as_json(journal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = list(sideline.replay(journal, None))
    assert main(["replay", str(journal), "--fast", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["kind"] for line in lines] == [type(item).__name__.lower() for item in expected]
    updates = [(line, item) for line, item in zip(lines, expected, strict=True) if isinstance(item, sideline.Update)]
    assert updates
    for line, item in updates:
        assert (line["data"], line["event"], line["id"], line["received_at"]) == (item.text, item.event, item.id, item.received_at.isoformat())
    assert main(["replay", str(journal), "--speed", "1000000"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(expected)
    (tmp_path / "none").write_text("no journal")
    assert main(["replay", str(tmp_path / "none")]) == 1
    assert capsys.readouterr().err.startswith("sideline: ")


def complete(line: str) -> set[str]:
    """The completions that bash offers at the end of a line."""
    words = line.split(" ")
    code = f"""
eval "$({sys.executable} -m sideline completion bash)"
COMP_WORDS=({" ".join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}
_shtab_sideline; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sideline ", {*COMMANDS}),
        ("sideline re", {"record", "replay", "report"}),
        ("sideline doctor --en", {"--environment"}),
        ("sideline replay --", {"--speed", "--max-pause", "--fast", "--json", "--help"}),
        ("sideline sync a-folder --tea", {"--teams"}),
    ],
)
def test_bash_completes_commands_and_options(line: str, words: set[str]) -> None:
    assert complete(line) == words


@needs("shtab")
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_scripts_of_other_shells_have_every_command_and_option(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    for word in (*COMMANDS, "correction-window", "schedule-id"):
        assert word in text


def test_a_closed_standard_output_is_no_error() -> None:
    ran = subprocess.run([*COMMAND, "completion", "bash"], stderr=subprocess.PIPE, text=True, preexec_fn=lambda: os.close(1), timeout=30)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("encoding", ["ascii", "ascii:surrogateescape", "latin-1"])
def test_an_output_without_a_character_gets_its_escape(encoding: str, tmp_path: Path) -> None:
    """Names have every script, and a standard output of Windows or of another locale does not."""
    name = "\u017dak \U0001f600.txt"
    (tmp_path / "manifest.json").write_text('{"format": 1, "tables": {}}')
    (tmp_path / name).touch()

    def output(*arguments: str) -> str:
        env = {**os.environ, "PYTHONIOENCODING": encoding, "SIDELINE_USERNAME": name, "SIDELINE_BASE_URL": "http://127.0.0.1:9"}
        done = subprocess.run([*COMMAND, *arguments], env=env, capture_output=True, timeout=60)
        assert (done.returncode, done.stderr) == (1, b"")
        return done.stdout.decode("ascii")

    assert output("verify", str(tmp_path)) == "\\u017dak \\ud83d\\ude00.txt: additional\n"
    checks = json.loads(output("doctor", "--json"))["checks"]
    assert f"{name} from SIDELINE_USERNAME" in [check["found"] for check in checks]


@pytest.mark.parametrize(
    ("error", "text"), [(MemoryError("DuckDB has no memory for a statement"), "DuckDB has no memory for a statement"), (MemoryError(), "no memory")]
)
def test_a_command_without_memory_ends_with_1_and_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: MemoryError, text: str
) -> None:
    def verify(_: object) -> None:
        raise error

    monkeypatch.setattr("sideline.archive.verify", verify)
    assert main(["verify", "season"]) == 1
    assert capsys.readouterr().err == f"sideline: {text}\n"
