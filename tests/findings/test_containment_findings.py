"""Findings about memory, odd values, secrets, files and the supply chain: the desired behaviour, which today's code lacks."""

from __future__ import annotations

import csv
import gzip
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import independent
import pytest
import yaml
from live_fakes import Connection, fake, take
from service import Service

import sideline
from postgres_server import new_database
from sideline.cli import main

ROOT = Path(__file__).parents[2]
NOW = "2027-03-05T12:00:00+00:00"
SIZE: dict[str, Any] = {"teams": 2, "players": 6, "games": 1, "sessions": (1, 1), "possessions": 3, "practices": 0, "days": 8}
SPAN: dict[str, Any] = {"start": "2027-01-01", "end": "2027-06-01", "correction_window": None, "on_error": "keep", "progress": False}

pytestmark = [pytest.mark.timeout(60), pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning")]


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="limits and reads the memory of a child process as Linux does")


def run(script: str, *arguments: str, seconds: float = 40, **environment: str) -> subprocess.CompletedProcess[str]:
    """A child process that runs these lines."""
    command = [sys.executable, "-c", textwrap.dedent(script), *arguments]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=seconds, check=False)


@pytest.fixture(scope="module")
def league() -> Iterator[Service]:
    with Service(seed=5, now=NOW, **SIZE) as league:
        yield league


@contextmanager
def archive_in(folder: Path, league: Service) -> Iterator[sideline.Archive]:
    with sideline.Client(**league.client_options(), max_retries=0) as client:
        yield sideline.Archive(folder / "season", client)


# 1. Memory of a batch.

PEAK = """
import re
def peak():
    # In MB. `ru_maxrss` would include what the parent had.
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read()).group(1)) >> 10
"""
BATCH = """
import sys, sideline
with sideline.Client(username="a", secret="canary-secret", base_url=sys.argv[1], max_response_bytes=64 << 20, max_retries=0) as client:
    client.stats(["first"], on_error="keep", progress=False)
    before = peak()
    batch = client.stats([f"s{number}" for number in range(14)], on_error="keep", progress=False)
    print(batch.counts, peak() - before)
"""


@on_linux
def test_the_bodies_of_a_batch_stay_within_max_response_bytes() -> None:
    """24 MiB each, of which 25 kB are sent; 64 MiB are allowed for all bodies of a client."""
    small, large = b'{"teams": []}', gzip.compress(b'{"teams": []' + b" " * (24 << 20) + b"}", 6)

    def respond(request: independent.Asked) -> independent.Answer:
        return (200, {}, small) if "/first" in request.target else (200, {"content-encoding": "gzip"}, large)

    with independent.server(respond) as service:
        done = run(PEAK + BATCH, service.base_url)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) < 64 + 90


# 2. Odd values in an export.


def with_team_name(name: str) -> Callable[[Any], Any]:
    def change(body: Any) -> Any:
        body["teams"][0]["name"] = name
        return body

    return change


def with_player_name(name: str) -> Callable[[Any], Any]:
    def change(body: Any) -> Any:
        body["teams"][0]["player_stats"][1].setdefault("player_details", {})["firstname"] = name
        return body

    return change


def with_codes(*codes: str) -> Callable[[Any], Any]:
    def change(body: Any) -> Any:
        body["teams"][0]["player_stats"][1]["stats"].update(dict.fromkeys(codes, 1))
        return body

    return change


ODD_VALUES = {
    "NUL in a team's name": with_team_name("a\0b"),
    "NUL in a player's name": with_player_name("a\0b"),
    "empty code": with_codes(""),
    "ctid": with_codes("ctid"),
    "xmin": with_codes("xmin"),
    "rowid": with_codes("rowid"),
    "two codes with the same 63 bytes": with_codes("L" * 65 + "a", "L" * 65 + "b"),
}


@pytest.mark.parametrize(
    ("to", "case"),
    [(to, case) for to in ("duckdb", "postgresql") for case in ODD_VALUES],
)
def test_an_odd_value_never_ends_an_export(to: str, case: str, tmp_path: Path, league: Service, request: pytest.FixtureRequest) -> None:
    address = f"duckdb://{tmp_path}/season.duckdb" if to == "duckdb" else new_database(request.getfixturevalue("postgres"))
    fault = league.faults.add("stats", change=ODD_VALUES[case])
    try:
        with archive_in(tmp_path, league) as archive:
            assert archive.sync(**SPAN, tables=("box_score", "player_stats")).complete
    finally:
        league.faults.remove(fault)
    export = archive.export(address)
    rows = export.rows
    assert rows["box_score"] == archive.to_arrow("box_score").num_rows > 0
    assert rows["player_stats"] > 0
    is_held = case == "rowid" or (to == "duckdb" and case != "empty code")
    assert (export.problems == ()) == is_held, export.problems


# 3. The lock of an archive in a bucket.

SYNC = """
import sys
sys.modules["obstore"] = None  # without it a bucket has no leases
from sideline.cli import main
sys.exit(main(["sync", "s3://bucket/season", "--games", "g1"]))
"""


def sync_of_a_bucket(shared: Path, *prefix: str) -> subprocess.CompletedProcess[str]:
    """A sync that the bucket refuses, with this folder as the shared folder of temporary files."""
    with fake(rest=lambda _: (403, b"{}")) as refusing:
        names = {"AWS_ENDPOINT_URL": refusing.base_url, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "canary", "AWS_ALLOW_HTTP": "true"}
        names |= {"AWS_REGION": "us-east-1", "TMPDIR": str(shared), "SIDELINE_BASE_URL": refusing.base_url}
        names |= {"SIDELINE_USERNAME": "user", "SIDELINE_SECRET": "canary-secret", "HOME": str(shared)}
        environment = {name: value for name, value in os.environ.items() if name not in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME")}
        done = subprocess.run([*prefix, sys.executable, "-c", SYNC], env=environment | names, capture_output=True, text=True, timeout=40, check=False)
    assert done.returncode == 1, done.stdout
    return done


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder in which every user may create files."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o1777)
        yield Path(folder)


def locks_of(shared: Path) -> list[Path]:
    """What a sync leaves there, hidden folders of the user apart."""
    return [path for path in shared.iterdir() if not path.name.startswith(".") and path.name not in ("Library", "AppData")]


@pytest.mark.skipif(sys.platform == "win32", reason="each user of Windows has a folder of temporary files")
def test_the_lock_of_a_bucket_is_not_in_the_shared_temporary_folder(shared: Path) -> None:
    sync_of_a_bucket(shared)
    assert locks_of(shared) == []


@pytest.mark.skipif(sys.platform == "win32", reason="each user of Windows has a folder of temporary files")
def test_the_lock_of_a_bucket_follows_no_planted_link(shared: Path) -> None:
    sync_of_a_bucket(shared)
    victim = shared / ".victim"
    for lock in locks_of(shared):
        lock.unlink()
        lock.symlink_to(victim)
    sync_of_a_bucket(shared)
    assert not victim.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="each user of Windows has a folder of temporary files")
def test_a_second_user_syncs_the_same_bucket(shared: Path) -> None:
    sync_of_a_bucket(shared)
    for lock in locks_of(shared):
        # To its own user a file without permissions is like the file of another one, but for root's privileges.
        lock.chmod(0)
    done = sync_of_a_bucket(shared, *(["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []))
    assert "Permission denied" not in done.stderr
    assert "bucket" in done.stderr, "the bucket refused it"


# 4. Addresses in playlists.

BEGAN = datetime(2026, 11, 1, 20, tzinfo=UTC)
HARMFUL = [
    "file:///etc/passwd",
    "concat:/etc/passwd|/etc/hostname",
    "pipe:0",
    "#EXTVLCOPT:sub-file=/etc/passwd",
    "subfile,,start,0,end,0,,:/etc/passwd",
]


@pytest.mark.parametrize("suffix", ["m3u", "ffconcat"])
@pytest.mark.parametrize("address", HARMFUL)
def test_a_playlist_names_no_address_of_this_machine(address: str, suffix: str, tmp_path: Path) -> None:
    import polars as pl

    rows = pl.DataFrame({"occurred_at": [BEGAN + timedelta(seconds=10)], "session_id": ["S"]})
    video = {"hlsFile": address, "hlsVideoStartTimestamp": BEGAN.timestamp() * 1000, "hlsDuration": 100.0}
    path = tmp_path / f"clips.{suffix}"
    # A refusal would be as good as a row without a clip.
    with suppress(ValueError):
        sideline.clips(rows, [video]).to_playlist(path)
    assert address not in (path.read_text(encoding="utf-8") if path.exists() else "")


def test_nobody_is_told_to_run_ffmpeg_without_its_checks() -> None:
    assert "-safe 0" not in (sideline.Clips.to_playlist.__doc__ or "")


# 5. Tables in other programs.


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+cmd|x", "-cmd|x", "@SUM(1)", "\t=1+1", "\r=1+1"])
def test_a_csv_file_has_no_formula(name: str, tmp_path: Path) -> None:
    body = json.dumps({"teams": [{"id": 1, "name": name, "player_stats": [{"id": 7, "stats": {"PTS": -1.5}}]}]})
    sideline.Payload.from_bytes("stats", body.encode(), session_id="s").table("player_stats").to_csv(tmp_path / "rows.csv", formulas="escape")
    with (tmp_path / "rows.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["value"] for row in rows] == ["-1.5"]
    assert rows[0]["team_name"].lstrip("\t\r ")[0] not in "=+-@"


@pytest.mark.source
def test_the_page_of_limits_has_the_depth_of_dicts() -> None:
    with pytest.raises(sideline.DecodeError, match="more than 200 deep"):
        sideline.Payload.from_bytes("stats", b'{"teams": [], "x": ' + b"[" * 201 + b"]" * 201 + b"}").to_dict()
    section = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8").partition("## Tables and dicts")[2].partition("\n## ")[0]
    assert re.search(r"(?i)\|[^|\n]*(nest|depth|deep)[^|\n]*\|[^|\n]*\b200\b", section)


PRINTING = """
import json, sys, sideline
shot = {"occurred_at": int(sys.argv[1]), "value": 1}
body = json.dumps({"teams": [{"id": 1, "player_stats": [{"id": 7, "stats": {"PTS": [shot]}}]}]})
table = sideline.Payload.from_bytes("stats_details", body.encode(), session_id="s").table("stat_events")
print(table.num_rows, len(str(table.to_polars())) > 0)
"""


@pytest.mark.parametrize(
    "time",
    [
        253_402_300_800_000,
        -1_000_000_000_000_000,
        9 * 10**18,
        -9 * 10**18,
    ],
)
def test_a_table_with_any_time_can_be_printed_in_polars(time: int) -> None:
    done = run(PRINTING, str(time), RUST_BACKTRACE="0")
    assert done.stdout == "1 True\n", done.stderr


# 6. Weight of buffered items.


@pytest.mark.parametrize(
    "field",
    ["data", "id", "event"],
)
def test_max_buffer_bytes_counts_all_of_an_item(field: str) -> None:
    """A service sends 48 MB in items of 64 kB to a reader that takes none; 1 MB may wait, and 4 MiB may be read ahead."""
    is_sent = threading.Event()

    def stream(connection: Connection) -> None:
        connection.begin_events()
        line = field.encode() + b": " + b"x" * 65_536
        for number in range(750):
            connection.send(b"%s%d\n%s\n" % (line, number, b"" if field == "data" else b"data: 1\n"))
        is_sent.set()
        connection.hold()

    with fake(stream) as service, service.client() as client, client.live_stats("g1", max_buffer_bytes=1_000_000, recover="off") as live:
        is_sent.wait(1.5)
        read = live.stats.bytes
    assert 500_000 < read < 12_000_000


# 7. Out of memory.

LIMITS = """
import os, resource, signal, sys, sideline
line = b'{"id":%d,"stats":{"PTS":1,"AST":2,"REB":3}}'
body = b'{"teams":[{"id":1,"player_stats":[' + b",".join(line % number for number in range(200_000)) + b']}]}'
payload = sideline.Payload.from_bytes("stats", body, session_id="s")
table = payload.table("player_stats") if sys.argv[1] == "to_dicts" else None
calls = {
    "table": lambda: payload.table("player_stats"),
    "to_dict": lambda: payload.to_dict(),
    "to_dicts": lambda: table.to_dicts(),
    "from_bytes": lambda: sideline.Payload.from_bytes("stats", body, session_id="s"),
}
for margin in range(16):
    child = os.fork()
    if child == 0:
        signal.alarm(5)
        size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (margin << 19)
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
        try:
            calls[sys.argv[1]]()
        except MemoryError:
            pass
        except BaseException:
            os._exit(1)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@on_linux
@pytest.mark.parametrize("call", ["table", "to_dict", "to_dicts", "from_bytes"])
def test_out_of_memory_is_a_memory_error(call: str) -> None:
    """In processes that may have 0 to 8 MB more than they have; one alone could be lucky."""
    done = run(LIMITS, call, RUST_BACKTRACE="1")
    assert done.stdout.split() == ["0"] * 16, done.stderr[-500:]


@pytest.mark.parametrize("call", ["table", "to_dict"])
def test_max_memory_refuses_a_body_before_decoding(call: str) -> None:
    body = b'{"teams":[{"id":1,"player_stats":[' + b",".join(b'{"id":%d,"stats":{"PTS":1}}' % number for number in range(50_000)) + b"]}]}"
    options: dict[str, Any] = {"max_memory": 2 << 20}
    with fake(rest=lambda _: (200, body)) as service, service.client(**options) as client:
        payload = client.stats("s1")
        with pytest.raises(MemoryError):
            getattr(payload, call)()


# 8. Reports.


@pytest.fixture(scope="module")
def season(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive with a correction that came after the page `page.html` beside it."""
    folder = tmp_path_factory.mktemp("archive")
    with Service(seed=5, now=NOW, **SIZE) as league, archive_in(folder, league) as archive:
        archive.sync(**SPAN, tables=("box_score",))
        archive.report(folder / "page.html")
        assert league.change.correct_stat()
        assert archive.sync(**SPAN, tables=("box_score",)).corrections.num_rows
    return folder


@pytest.fixture
def page(season: Path, tmp_path: Path) -> Path:
    path = tmp_path / "page.html"
    path.write_bytes((season / "page.html").read_bytes())
    return path


REPORT = """
import resource, sys
sys.dont_write_bytecode = True  # Python would keep the half of a file that fits
from sideline.cli import main
limit = int(sys.argv.pop(1))
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
status = main(["report", *sys.argv[1:]])
sys.exit(status)
"""
WEIGHED_REPORT = """
import sys, sideline
archive = sideline.Archive(sys.argv[1])
archive.report()
before = peak()
archive.report(sys.argv[2])
print(peak() - before)
"""
on_posix = pytest.mark.skipif(sys.platform == "win32", reason="limits a child process as POSIX does")


def fail_to_report(season: Path, page: Path) -> None:
    """A disk that is full after 2 kB of the page."""
    done = run(REPORT, "2048", str(season / "season"), "-o", str(page))
    assert done.returncode == 1, done.stderr


@on_posix
def test_the_next_report_has_the_corrections_of_one_that_failed(season: Path, page: Path) -> None:
    fail_to_report(season, page)
    assert "Values that changed" in sideline.Archive(season / "season").report(page).html


@on_posix
def test_a_report_that_fails_leaves_the_last_one(season: Path, page: Path) -> None:
    before = page.read_bytes()
    fail_to_report(season, page)
    assert page.read_bytes() == before


@on_linux
def test_a_report_reads_only_the_head_of_the_file_that_it_replaces(season: Path, page: Path) -> None:
    with page.open("r+b") as file:
        file.truncate(150 << 20)
    done = run(PEAK + WEIGHED_REPORT, str(season / "season"), str(page))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 60


@on_linux
def test_a_report_can_be_piped_by_the_name_of_standard_output(season: Path) -> None:
    try:
        done = run(REPORT, "0", str(season / "season"), "-o", "/dev/stdout", seconds=10)
    except subprocess.TimeoutExpired:
        done = None
    assert done is not None
    assert "</html>" in done.stdout


def test_a_report_to_a_dash_is_printed(season: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(season / "season"), "-o", "-"]) == 0
    assert (list(tmp_path.iterdir()), "</html>" in capsys.readouterr().out) == ([], True)


# 9. Passwords of an export.


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://user:canary-one@127.0.0.1:9/db",
        "postgresql://user:canary-one%2Fcanary-two@127.0.0.1:9/db",
        "postgresql://user:canary-one/canary-two@127.0.0.1:9/db",
        "postgresql://user:canary-one@canary-two@127.0.0.1:9/db",
        "postgresql://user@127.0.0.1:9/db?password=canary-one%zz",
    ],
)
def test_no_error_of_an_export_shows_a_part_of_its_password(address: str, season: Path) -> None:
    try:
        sideline.Archive(season / "season").export(address)
    except (ConnectionError, ValueError) as error:
        text = "".join(traceback.format_exception(error)) + repr(vars(error))
    # The names of the files of a traceback may hold the test's own lines.
    assert "canary-" not in re.sub(r"(?m)^  File .*\n(    .*\n)*", "", text)


# 10. Release.


def workflows() -> dict[str, Any]:
    files = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))
    assert files
    return {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in files}


def steps(name: str | None = None) -> list[dict[str, Any]]:
    """The steps of all workflows, or of one."""
    return [step for file, workflow in workflows().items() if name in (None, file) for job in workflow["jobs"].values() for step in job.get("steps", ())]


def commands(name: str | None = None) -> str:
    return with_recipes("\n".join(str(step.get("run", "")) for step in steps(name)))


def with_recipes(text: str) -> str:
    """Commands, and after them the recipes of the targets that they make."""
    recipes = dict(re.findall(r"(?m)^([a-z-]+):.*\n((?:(?:\t|#|ifdef|else|endif).*\n)*)", (ROOT / "Makefile").read_text(encoding="utf-8")))
    settings = dict(re.findall(r"(?m)^([A-Z_]+)\s+:?= (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8")))
    targets = "\n".join(recipes[target] for target in re.findall(r"\bmake ([a-z-]+)", text))
    return text + "\n" + re.sub(r"\$\((PIP|LOCKED|MUSL|WHEEL_TESTS)\)", lambda match: settings[match[1]], targets)


@pytest.mark.source
def test_a_workflow_runs_miri() -> None:
    assert re.search(r"\bmiri\b", commands())


@pytest.mark.source
def test_a_workflow_runs_the_fuzz_targets() -> None:
    assert list((ROOT / "fuzz").rglob("*.rs"))
    assert re.search(r"\bfuzz\b", commands())


@pytest.mark.source
def test_the_tests_run_on_a_wheel_that_is_shipped() -> None:
    assert "pytest" in commands("release.yml")


@pytest.mark.source
def test_the_release_installs_only_packages_with_hashes() -> None:
    installs = [line for line in commands("release.yml").splitlines() if "pip install" in line and "dist" not in line]
    assert [line for line in installs if "--require-hashes" not in line] == []


@pytest.mark.source
def test_every_container_is_named_by_its_digest() -> None:
    text = commands("release.yml")
    images = re.findall(r"\bpython:[\w.-]+(?:@sha256:\w+)?", text)
    assert images
    assert [image for image in images if "@sha256:" not in image] == []


@pytest.mark.source
def test_a_container_that_tries_a_wheel_cannot_write_it() -> None:
    mounts = re.findall(r"--volume +\"?[^\s\"]+", commands("release.yml"))
    assert mounts
    assert [mount for mount in mounts if not mount.endswith(":ro")] == []


@pytest.mark.source
@pytest.mark.parametrize("name", ["ci.yml", "release.yml"])
def test_every_workflow_names_its_version_of_rust(name: str) -> None:
    used = [step["with"]["rust-toolchain"] for step in steps(name) if "rust-toolchain" in step.get("with", {})]
    used += re.findall(r"rustup toolchain install (\S+)", commands(name))
    assert [version for version in used if version in ("stable", "beta", "nightly")] == []


@pytest.mark.source
def test_the_release_names_its_version_of_maturin() -> None:
    builds = [step for step in steps("release.yml") if "maturin-action" in step.get("uses", "")]
    assert [step["with"].get("maturin-version") for step in builds if not re.fullmatch(r"v?\d+\.\d+\.\d+", step["with"].get("maturin-version", ""))] == []


@pytest.mark.source
def test_advisories_are_looked_up_on_a_schedule() -> None:
    # YAML reads the key `on` as true.
    names = [name for name, workflow in workflows().items() if "schedule" in (workflow.get("on") or workflow.get(True) or {})]
    assert re.search(r"cargo[ -]deny|cargo audit|advisories", "\n".join(commands(name) for name in names))


@pytest.mark.source
def test_advisories_that_cannot_be_looked_up_fail_in_ci() -> None:
    assert re.search(r"cargo deny check (?!--disable-fetch).*advisories", commands("daily.yml"))
    assert "SKIPPED" not in with_recipes("make advisories")


@pytest.mark.source
def test_an_updater_watches_the_dependencies() -> None:
    assert [name for name in (".github/dependabot.yml", "renovate.json", ".github/renovate.json") if (ROOT / name).exists()] != []


@pytest.mark.source
def test_python_dependencies_are_audited() -> None:
    assert re.search(r"pip-audit|osv-scanner|uv audit", commands())


@pytest.mark.source
def test_the_release_is_drafted_before_it_is_published() -> None:
    kinds = ["pypi" if "gh-action-pypi-publish" in step.get("uses", "") else "page" for step in steps("release.yml") if is_publication(step)]
    assert kinds[0] == "page"


@pytest.mark.source
def test_what_was_published_is_verified() -> None:
    jobs = workflows()["release.yml"]["jobs"]
    after = "\n".join(str(step.get("run", "")) for job in jobs.values() if "release" in job.get("needs", ()) for step in job["steps"])
    release = steps("release.yml")
    places = [index for index, step in enumerate(release) if "gh-action-pypi-publish" in step.get("uses", "")]
    after += "\n".join(str(step.get("run", "")) for step in release[places[-1] + 1 :])
    assert re.search(r"attestation verify|pypi-attestations|pip (download|install) .*sideline", with_recipes(after))


def is_publication(step: dict[str, Any]) -> bool:
    return "gh-action-pypi-publish" in step.get("uses", "") or "gh release create" in str(step.get("run", ""))


# 11. Terminals, connections, threads, file systems, time.

CONTROLS = "\u009b31m \u202e"


def test_replay_as_json_prints_no_raw_control_character(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "game.journal"

    def stream(connection: Connection) -> None:
        connection.begin_events()
        connection.send(f"data: {CONTROLS}\n\n".encode())
        connection.hold()

    with fake(stream) as service, service.client() as client:
        take(client.live_stats("g1").record(path), 5, lambda item: isinstance(item, sideline.Update))
    assert main(["replay", str(path), "--fast", "--json"]) == 0
    output = capsys.readouterr().out
    assert [json.loads(line)["data"] for line in output.splitlines() if '"update"' in line] == [CONTROLS]
    assert not set(CONTROLS[0] + CONTROLS[-1]) & set(output)


def test_slow_connections_do_not_block_the_live_page() -> None:
    with fake(Connection.hold) as service, service.client() as client, client.live_stats("g1") as live, live.serve() as page, ExitStack() as stack:
        port = int(page.url.rstrip("/").rpartition(":")[2])
        for _ in range(40):
            slow = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
            slow.sendall(b"GET / HT")
        time.sleep(0.3)
        status: int | None = None
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=3)) as browser, suppress(OSError), suppress(http.client.HTTPException):
            browser.request("GET", "/")
            status = browser.getresponse().status
    assert status == 200


WITHOUT_THREADS = """
import sideline
try:
    sideline.Client(username="user", secret="canary-secret", base_url="http://127.0.0.1:9", max_retries=0).teams()
except Exception as error:
    print(type(error).__name__, error)
"""


@on_linux
def test_a_machine_without_threads_is_no_internal_error() -> None:
    # No machine has room for the stack of such a thread.
    done = run(WITHOUT_THREADS, RUST_MIN_STACK=str(1 << 46), RUST_BACKTRACE="0")
    assert "thread" in done.stdout, done.stderr
    assert "InternalError" not in done.stdout


@on_linux
def test_a_sync_into_a_file_system_that_cannot_be_written_raises_an_os_error(league: Service) -> None:
    """/proc is never written to, by root either."""
    with sideline.Client(**league.client_options(), max_retries=0) as client:
        archive = sideline.Archive("/proc/self/season", client)
        error: Exception | None = None
        try:
            archive.sync(**SPAN, tables=("box_score",))
        except Exception as problem:  # noqa: BLE001 - of deltalake today
            error = problem
    assert isinstance(error, OSError)


def test_a_table_is_refused_as_fast_as_it_is_accepted() -> None:
    def seconds(player_id: str) -> float:
        keys = ",".join(f'"K{number}":1' for number in range(150_000))
        body = f'{{"teams":[{{"id":1,{keys},"player_stats":[{{"id":{player_id},"stats":{{"PTS":1}}}}]}}]}}'.encode()
        payload = sideline.Payload.from_bytes("stats", body, session_id="s")
        start = time.process_time()
        with suppress(sideline.DecodeError):
            payload.table("box_score")
        return time.process_time() - start

    # Of each pair both may have been interrupted.
    assert min(seconds('"x"') / seconds("7") for _ in range(9)) < 1.6
