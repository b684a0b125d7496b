"""`sideline mcp` by the official client over real pipes: tools, resources, limits, personal data, the record of calls, endless queries."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from assistants import COMMAND, Assistant, anyio, assistant, reply_of
from needs import environment_without, library, needs

import sideline

pytestmark = [pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning"), pytest.mark.timeout(180)]

NOW = "2027-03-01T12:00:00Z"
ENDLESS = "select count(*) from range(100000000000) a, range(1000) b"
TOOLS = ["tables", "describe", "games", "status", "box_score", "shots", "query", "clips", "report"]
PERSONAL = ["locations", "tracking_loads", "tracking_defenders", "tracking_sources"]
on_linux = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads /proc")


@pytest.fixture(scope="module")
def service() -> Iterator[sideline.Simulator]:
    with sideline.Simulator(seed=7, teams=4, games=8, now=NOW) as service:
        yield service


@pytest.fixture(scope="module")
def games(service: sideline.Simulator) -> list[str]:
    return [game["event_id"] for game in service.games[:2]]


@pytest.fixture(scope="module")
def root(service: sideline.Simulator, games: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("archives") / "season"
    with service.client() as client:
        archive = sideline.Archive(root, client)
        archive.sync(start="2026-10-01", end="2027-03-02", tables=("teams", "players", "games", "shots", "box_score"), progress=False)
        archive.sync(game_ids=games, progress=False)
        archive.sync(game_ids=games[:1], tables=("locations", "shots", "possessions", "stat_events"), progress=False)
    return root


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def server(root: Path, state: Path) -> Iterator[Assistant]:
    with assistant(root, state) as server:
        yield server


def calls(state: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (state / "sideline" / "mcp-log.jsonl").read_text(encoding="utf-8").splitlines()]


# Tools and resources


def test_every_tool_declares_its_arguments_and_its_answer(server: Assistant) -> None:
    tools = server.portal.call(server.client.list_tools).tools
    assert [tool.name for tool in tools] == TOOLS
    for tool in tools:
        assert tool.description
        assert tool.annotations.read_only_hint
        assert "max_text" in tool.input_schema["properties"]
        assert tool.input_schema["additionalProperties"] is False
        assert set(tool.output_schema["properties"]) == {"rows", "verdicts", "synced_at", "truncated"}
        assert all("description" in argument for argument in tool.input_schema["properties"].values())


def test_a_misspelt_argument_is_refused(server: Assistant) -> None:
    reply = server.call("games", teem="Comets")
    assert reply.is_error
    assert "teem" in reply.text


def test_resources_are_the_schemas_and_pages_of_the_documentation(server: Assistant) -> None:
    resources = {str(resource.uri): resource for resource in server.portal.call(server.client.list_resources).resources}
    tables = {uri.rpartition("/")[2] for uri in resources if uri.startswith("sideline://tables/")}
    assert tables == {row["table"] for row in server.call("tables").rows}
    for table in tables & sideline.SCHEMAS.keys():
        columns = json.loads(server.read(f"sideline://tables/{table}"))
        expected = [{"column": column.name, "type": column.type, "unit": column.unit, "description": column.description} for column in sideline.SCHEMAS[table]]
        assert columns == expected == server.call("describe", table=table, max_text=100_000).rows
    pages = [uri for uri in resources if uri.startswith("sideline://docs/")]
    assert len(pages) == 4
    docs = Path(__file__).parent.parent / "docs"
    for uri in pages if docs.exists() else ():
        assert server.read(uri) == (docs / f"{uri.rpartition('/')[2]}.md").read_text(encoding="utf-8")


def test_a_box_score_is_that_of_the_client(server: Assistant, service: sideline.Simulator, games: list[str]) -> None:
    with service.client() as client:
        expected = {row["player_id"]: row["PTS"] for row in client.box_score(games[0]).to_dicts() if not row["is_team_total"]}
    rows = server.call("box_score", game=games[0]).rows
    assert {row["player_id"]: row["PTS"] for row in rows if not row["is_team_total"]} == expected


@needs("matplotlib", "numpy", extra="plot")
def test_shots_have_names_and_a_picture(server: Assistant, games: list[str]) -> None:
    reply = server.call("shots", game=games[0], picture=True)
    assert all(row["team_name"] and row["player_name"] for row in reply.rows)
    [picture] = reply.pictures
    assert base64.b64decode(picture).startswith(b"\x89PNG")
    player = reply.rows[0]["player_id"]
    assert {row["player_id"] for row in server.call("shots", game=games[0], player=str(player)).rows} == {player}
    assert server.call("shots", game=games[0]).pictures == []


def test_clips_request_the_videos_from_the_service(root: Path, state: Path, service: sideline.Simulator, server: Assistant, games: list[str]) -> None:
    with assistant(root, state, env=service.environ) as connected:
        reply = connected.call("clips", game=games[0])
        assert not reply.is_error, reply.text
        assert any(row["video"] for row in reply.rows)
        player = next(row["player_ids"][0] for row in reply.rows if row["player_ids"])
        assert all(row["player_ids"] == [player] for row in connected.call("clips", game=games[0], player=player).rows)
    assert "SIDELINE_USERNAME" in server.call("clips", game=games[0]).text


def test_a_report_has_the_facts_of_the_archive(server: Assistant, root: Path) -> None:
    info = sideline.Archive(root).info()
    facts = {(row["section"], row["name"]): row["value"] for row in server.call("report").rows}
    assert facts["archive", "games"] == info.games
    assert facts["rows", "shots"] == info.rows["shots"]
    assert ("rows", "locations") not in facts


def test_status_lists_the_worst_first_and_since_a_time(server: Assistant) -> None:
    order = list(sideline.archive.SEVERITY)
    rows = server.call("status").rows
    assert [order.index(row["status"]) for row in rows] == sorted(order.index(row["status"]) for row in rows)
    assert server.call("status", since="2090-01-01").rows == []
    assert server.call("status", since="soon").is_error


# What an answer says about itself


def test_a_text_is_as_long_as_allowed_and_says_what_it_lacks(server: Assistant, games: list[str]) -> None:
    for tool, arguments in (("status", {}), ("shots", {"game": games[0]}), ("report", {}), ("describe", {"table": "shots"})):
        complete_reply = server.call(tool, **arguments, max_text=1_000_000)
        assert "more rows" not in complete_reply.text
        for length in (256, 500, 2000):
            reply = server.call(tool, **arguments, max_text=length)
            assert reply.content == complete_reply.content
            assert len(reply.text.encode()) <= length
            assert reply.text.splitlines()[0] == complete_reply.text.splitlines()[0]
            _, _, table = reply.text.partition("\n" + ",".join(reply.rows[0]) + "\n")
            count = len(table.splitlines()) - ("more rows: raise max_text" in table)
            assert count == len(reply.rows) or reply.text.endswith(f"\n{len(reply.rows) - count} more rows: raise max_text, or select less")
    assert server.call("tables", max_text=100).is_error


def test_rows_that_a_limit_leaves_out_are_counted(server: Assistant, root: Path) -> None:
    shots = sideline.Archive(root).scan("shots").collect()
    reply = server.call("query", sql="from shots", limit=3)
    assert (len(reply.rows), reply.content["truncated"]) == (3, shots.height - 3)
    assert f"{shots.height - 3} more left out by the limit" in reply.text
    in_games = shots.drop_nulls("game_id").height
    reply = server.call("shots")
    assert (len(reply.rows), reply.content["truncated"]) == (200, in_games - 200)


def test_values_of_every_type_are_json(server: Assistant) -> None:
    sql = "select timestamptz '2026-11-01 10:00:00+00' as at, 'x'::blob as raw, 'nan'::double as nan, [1, 2] as list, null as nothing, 1.5 as number, 'a\nb' as text"
    [row] = server.call("query", sql=sql).rows
    assert row == {"at": "2026-11-01T10:00:00.000+00:00", "raw": "eA==", "nan": "nan", "list": [1, 2], "nothing": None, "number": 1.5, "text": "a\nb"}


def test_an_answer_tells_which_tables_no_game_has(server: Assistant) -> None:
    assert "The archive has no game nowhere." in server.call("query", sql="from shots where game_id = 'nowhere'").text


@pytest.mark.parametrize("table", ["raw", "_raw", "coverage", "corrections"])
def test_an_answer_over_the_records_of_an_archive_has_the_verdicts_of_its_games(server: Assistant, games: list[str], table: str) -> None:
    of_all = server.call("query", sql=f"select count(*) as n from {table}")
    assert of_all.verdicts == server.call("report").verdicts
    of_one = server.call("query", sql=f"select count(*) as n from {table} where game_id = '{games[0]}'")
    assert of_one.verdicts == {games[0]: of_all.verdicts[games[0]]}


@pytest.mark.parametrize("date", ["2027-02-30", "yesterday", ""])
def test_a_day_that_is_none_is_refused_with_its_form(server: Assistant, date: str) -> None:
    reply = server.call("games", date=date)
    assert reply.is_error and f"date is {date!r}; write a day as YYYY-MM-DD" in reply.text


def test_a_new_sync_changes_the_verdicts_of_a_running_server(service: sideline.Simulator, games: list[str], tmp_path: Path) -> None:
    with service.client() as client:
        archive = sideline.Archive(tmp_path / "season", client)
        archive.sync(game_ids=games[:1], tables=("shots", "sessions"), progress=False)
        with assistant(tmp_path / "season", tmp_path, "--no-log") as server:
            assert games[1] not in server.call("query", sql="from shots").verdicts
            archive.sync(game_ids=games[1:], tables=("shots", "sessions"), progress=False)
            assert games[1] in server.call("query", sql="from shots").verdicts


def test_games_of_a_season_ahead_of_the_machine_have_their_verdicts(tmp_path: Path) -> None:
    ahead = datetime.now(UTC) + timedelta(days=500)
    with sideline.Simulator(seed=7, teams=4, games=8, now=ahead) as service, service.client() as client:
        archive = sideline.Archive(tmp_path / "season", client)
        archive.sync(start=ahead - timedelta(days=240), end=ahead + timedelta(days=1), tables=("shots", "games"), progress=False)
        game = archive.scan("shots").select("game_id").drop_nulls().first().collect().item()
    with assistant(tmp_path / "season", tmp_path, "--no-log") as server:
        assert game in server.call("query", sql="from shots").verdicts


# Personal data


def test_positions_are_not_served(server: Assistant) -> None:
    assert not {row["table"] for row in server.call("tables").rows} & {*PERSONAL}
    for table in PERSONAL:
        for reply in (server.call("describe", table=table), server.call("query", sql=f"from {table}"), server.call("query", sql=f"from _{table}")):
            assert reply.is_error
            assert "--allow tracking" in reply.text
    for table in ("raw", "_raw"):
        reply = server.call("query", sql=f"select distinct operation from {table}")
        assert {row["operation"] for row in reply.rows} >= {"shots", "stats"}
        assert "locations" not in {row["operation"] for row in reply.rows}
        assert "raw is without the bodies of locations" in reply.text


def test_positions_are_served_if_they_are_allowed(root: Path, tmp_path: Path) -> None:
    with assistant(root, tmp_path, "--allow", "tracking") as server:
        assert {row["table"] for row in server.call("tables").rows} >= {*PERSONAL}
        for table in ("locations", "tracking_loads"):
            assert server.call("query", sql=f"select count(*) as n from {table}").rows[0]["n"] > 0
        operations = server.call("query", sql="select distinct operation from raw").rows
        assert {"operation": "locations"} in operations


# The record of calls


def test_each_call_is_recorded(server: Assistant, state: Path, games: list[str]) -> None:
    verdict = server.call("query", sql=f"from shots where game_id = '{games[0]}'", limit=5).verdicts[games[0]]
    server.call("box_score", game="nowhere")
    query, failure = calls(state)[-2:]
    assert query["tool"] == "query"
    assert query["arguments"]["sql"].startswith("from shots")
    assert (query["tables"], query["rows"], query["verdicts"], query["error"]) == (["shots"], 5, {verdict: 1}, None)
    assert "no game" in failure["error"]
    path = state / "sideline" / "mcp-log.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 or sys.platform == "win32"


def test_a_call_that_cannot_be_recorded_says_why_it_has_no_answer(root: Path, tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    with assistant(root, tmp_path / "state") as server:
        for arguments in ({}, {"team": "nobody"}):
            reply = server.call("games", **arguments)
            assert reply.is_error
            assert f"cannot be recorded, so it has no answer: [Errno 20] Not a directory: '{tmp_path}/state/sideline'; --no-log" in reply.text


def test_no_call_is_recorded_with_no_log(root: Path, tmp_path: Path) -> None:
    with assistant(root, tmp_path, "--no-log") as server:
        assert not server.call("games").is_error
    assert not list(tmp_path.iterdir())


# Queries in processes of their own


def is_worker(number: int) -> bool:
    """Return whether a query runs in the process."""
    try:
        return b"sideline._companions.query_worker" in Path(f"/proc/{number}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def workers() -> set[int]:
    """The processes of queries that descend from this process: tests beside it have some too."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])

    def descends(number: int) -> bool:
        return number == os.getpid() or (number in parents and descends(parents[number]))

    return {number for number in parents if is_worker(number) and descends(number)}


def wait_for(condition: Any, seconds: float = 30.0) -> Any:
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
    return value


@on_linux
def test_an_endless_query_stops_neither_other_calls_nor_the_server(root: Path, tmp_path: Path) -> None:
    with assistant(root, tmp_path, env={"SIDELINE_SECRET": "not-for-queries"}) as server:

        async def scenario() -> tuple[set[int], list[float]]:
            durations = []
            async with anyio.create_task_group() as group:
                group.start_soon(server.client.call_tool, "query", {"sql": ENDLESS})
                group.start_soon(server.client.call_tool, "query", {"sql": ENDLESS})
                while len(processes := workers()) < 2:
                    await anyio.sleep(0.05)
                for number in processes:
                    assert b"not-for-queries" not in Path(f"/proc/{number}/environ").read_bytes()
                for _ in range(3):
                    began = time.monotonic()
                    assert not reply_of(await server.client.call_tool("games", {})).is_error
                    durations.append(time.monotonic() - began)
                group.cancel_scope.cancel()
            return processes, durations

        processes, durations = server.portal.call(scenario)
        assert len(processes) == 2
        assert max(durations) < 20
        # A cancelled call ends its process, and leaves its turn to the next.
        wait_for(lambda: not any(map(is_worker, processes)))
        assert [call["error"] for call in calls(tmp_path) if call["tool"] == "query"].count(None) == 0
        assert server.call("query", sql="select 1 as one").rows == [{"one": 1}]


@on_linux
def test_a_query_does_not_outlive_its_server(root: Path, tmp_path: Path) -> None:
    import mcp_types

    process = subprocess.Popen(
        [*COMMAND, str(root), "--no-log"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    )
    with process:
        assert process.stdin is not None
        client = {"name": "test", "version": "1"}
        version = mcp_types.LATEST_PROTOCOL_VERSION if "LATEST_PROTOCOL_VERSION" in dir(mcp_types) else "2025-06-18"
        initialize = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
        for message in (
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "query", "arguments": {"sql": ENDLESS}}},
        ):
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
        [worker] = wait_for(workers)
        assert b"SIDELINE" not in Path(f"/proc/{worker}/environ").read_bytes()
        process.send_signal(signal.SIGKILL)
        wait_for(lambda: not is_worker(worker))


@pytest.mark.parametrize(
    ("sql", "limits", "message"),
    [
        (ENDLESS, {"timeout": 0.5}, "took longer than 0.5 s: select less"),
        ("from range(1000000000)", {}, "more than 1,000,000 rows: select fewer"),
        ("select list(range) from range(100000000)", {"memory_limit": "50MB"}, "more memory than 50MB: select less"),
        ("select repeat('x', 5000000) as x", {}, "more than 4,000,000 bytes"),
    ],
)
def test_a_limit_of_a_query_is_an_error(sql: str, limits: dict[str, Any], message: str, root: Path) -> None:
    queries = library("sideline._companions.queries")

    async def run() -> None:
        await queries.Queries(str(root), positions=False, limits=queries.QueryLimits(**limits)).query(sql, 200)

    with pytest.raises(sideline.QueryError, match=message) as error:
        anyio.run(run)
    assert "raise" not in str(error.value)


@on_linux
def test_the_process_of_a_query_has_limits_of_the_system(root: Path) -> None:
    import resource

    queries = library("sideline._companions.queries")
    limits = {}

    async def run() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(queries.Queries(str(root), positions=False).query, ENDLESS, 1)
            while not (numbers := workers()):
                await anyio.sleep(0.05)
            [worker] = numbers
            while resource.prlimit(worker, resource.RLIMIT_FSIZE) != (0, 0):
                await anyio.sleep(0.05)
            limits.update({name: resource.prlimit(worker, name)[1] for name in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_CORE)})
            group.cancel_scope.cancel()

    anyio.run(run)
    assert limits[resource.RLIMIT_CORE] == 0
    assert 0 < limits[resource.RLIMIT_AS] < 1 << 40
    assert 0 < limits[resource.RLIMIT_CPU] < 1 << 20


@needs("pandas")
def test_a_query_does_not_load_pandas(root: Path) -> None:
    """DuckDB would load it for each table, which takes longer than most queries."""
    limits = library("sideline._companions.queries").QueryLimits()
    query = {"query": "select max(occurred_at) as last from shots", "root": str(root), "limit": 1, "positions": False, **vars(limits)}
    command = [sys.executable, "-X", "importtime", "-m", "sideline._companions.query_worker"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout and process.stderr
        # It ends with its input.
        process.stdin.write(json.dumps(query) + "\n")
        process.stdin.flush()
        modules = {line.rpartition("|")[2].strip() for line in process.stderr}
        assert json.loads(process.stdout.read())["rows"][0]["last"]
    assert "duckdb._version" in modules and "pandas._libs" not in modules


def test_a_query_writes_no_bytecode(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries that an installer did not compile are not compiled by a query, which changes no file."""
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "bytecode"))
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    queries = library("sideline._companions.queries").Queries(str(root), positions=False)
    assert anyio.run(queries.query, "select count(*) as shots from shots", 1).rows[0]["shots"] > 0
    assert [*tmp_path.iterdir()] == []


# The command


def run_command(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, env={**os.environ, **(env or {})}, timeout=60, check=False
    )


def test_a_missing_archive_and_wrong_options_end_the_command(tmp_path: Path) -> None:
    result = run_command(str(tmp_path / "nothing"))
    assert (result.returncode, result.stdout) == (1, "")
    assert "holds no archive" in result.stderr
    result = run_command(str(tmp_path), "--allow", "everything")
    assert result.returncode == 2
    assert "tracking" in result.stderr


def test_the_command_names_the_extra_that_it_needs(tmp_path: Path) -> None:
    result = run_command(str(tmp_path), env=environment_without("mcp"))
    assert result.returncode == 1
    assert "pip install 'sideline[mcp]'" in result.stderr.replace('"', "'")


@pytest.mark.source
def test_the_settings_of_the_documentation_start_a_server(root: Path, tmp_path: Path) -> None:
    page = (Path(__file__).parent.parent / "docs" / "assistant.md").read_text(encoding="utf-8")
    for text in re.findall(r"^```json\n(.*?)^```", page, re.S | re.M):
        [settings] = json.loads(text)["mcpServers"].values()
        assert settings["command"] == "sideline"
        *options, path = settings["args"]
        assert path == "/home/analyst/season-2026"
        command = [str(Path(sys.executable).with_name("sideline")), *options]
        with assistant(root, tmp_path, command=command) as server:
            assert len(server.portal.call(server.client.list_tools).tools) == len(TOOLS)
            assert server.call("games").rows


def test_the_server_ends_with_its_input(root: Path) -> None:
    result = run_command(str(root), "--no-log")
    assert (result.returncode, result.stdout) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell closes the input")
def test_an_input_that_was_closed_before_the_start_has_ended(root: Path) -> None:
    command = ["sh", "-c", 'exec "$@" <&-', "sh", *COMMAND, str(root), "--no-log"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_games_of_an_archive_that_was_synced_by_id_are_listed(service: sideline.Simulator, games: list[str], tmp_path: Path) -> None:
    with service.client() as client:
        sideline.Archive(tmp_path / "by-id", client).sync(game_ids=games[:1], progress=False)
    with assistant(tmp_path / "by-id", tmp_path) as server:
        [row] = server.call("games").rows
    assert (row["game_id"], row["status"]) == (games[0], None)
    assert row["tipoff_at"] is not None
