"""Published seasons and their verification, and files that are written whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from needs import library
from service import Service

import sideline
from sideline.archive import verify

parquet = library("pyarrow.parquet")

NOW = datetime(2027, 3, 5, 12, tzinfo=UTC)
SPAN: dict[str, Any] = {"start": "2027-01-01", "end": "2027-06-01", "on_error": "keep", "progress": False}

# All tables are compared, also those that no sync has requested.
MISSING_TABLES = pytest.mark.filterwarnings("ignore:.*no sync has requested them")
pytestmark = [pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning"), MISSING_TABLES]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sideline.Archive]:
    """An archive with a hole: one session has no shots."""
    with Service(seed=5, now=NOW, teams=2, games=2, sessions=(1, 1), possessions=2, practices=0, days=8) as league:
        with sideline.Client(**league.client_options(), max_retries=0) as client:
            league.faults.add("shots", path=f"/{league.season.games[0].sessions[0].id}/", status=500)
            archive = sideline.Archive(tmp_path_factory.mktemp("archives") / "season", client)
            archive.sync(**SPAN)
        yield archive


@pytest.fixture
def release(archive: sideline.Archive, tmp_path: Path) -> Path:
    archive.publish(tmp_path / "release")
    return tmp_path / "release"


def test_a_release_has_every_row_and_the_verdict_of_each_game(archive: sideline.Archive, release: Path) -> None:
    manifest = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    for name, table in manifest["tables"].items():
        (entry,) = table["files"]
        rows = parquet.read_table(release / entry["path"])
        assert entry["rows"] == rows.num_rows == archive.to_arrow(name).num_rows
        assert rows.column_names[: len(sideline.SCHEMAS[name].names)] == sideline.SCHEMAS[name].names
    assert manifest["tables"]["shots"]["files"][0]["rows"] > 0
    worst = {game["game_id"]: game["verdict"] for game in manifest["games"]}
    assert worst.keys() == set(archive.status()["game_id"])
    assert "missing" in worst.values(), "the game with the hole"
    assert any("shots" in reason for game in manifest["games"] for reason in game["reasons"])
    assert verify(release) == []


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda file: file.write_bytes(file.read_bytes()[:-1] + b"x"), "shots/part-0.parquet: changed"),
        (lambda file: file.write_bytes(b""), "shots/part-0.parquet: changed"),
        (lambda file: file.unlink(), "shots/part-0.parquet: missing"),
        (lambda file: (file.rename(file.with_name("other")), file.symlink_to("other")), "shots/part-0.parquet: missing"),
        (lambda file: file.with_name("more.parquet").touch(), "shots/more.parquet: additional"),
    ],
)
def test_what_differs_from_the_manifest_is_a_line_and_status_1(
    change: Callable[[Path], object], line: str, release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(release / "shots" / "part-0.parquet")
    assert line in verify(release)
    assert sideline.cli.main(["verify", str(release)]) == 1
    assert line in capsys.readouterr().out


@pytest.mark.parametrize(
    "manifest",
    [
        *("", "[]", '{"format": 2}', '{"format": 1}', '{"format": 1, "tables": {"a": {"files": [{}]}}}', "[" * 100_000),
        *(json.dumps({"format": 1, "tables": {"a": {"files": [{"path": "b", "bytes": size, "sha256": ""}]}}}) for size in ("many", 1e999)),
    ],
)
def test_a_manifest_that_is_none_is_refused(manifest: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(FileNotFoundError, match="it is not a published season"):
        verify(tmp_path)
    (tmp_path / "manifest.json").write_text(manifest, encoding="utf-8")
    with pytest.raises(ValueError, match="manifest"):
        verify(tmp_path)
    assert sideline.cli.main(["verify", str(tmp_path)]) == 1
    assert "manifest.json" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "a/../../b"])
def test_a_manifest_names_no_file_outside_its_folder(name: str, tmp_path: Path) -> None:
    files = [{"path": name, "bytes": 1, "sha256": ""}]
    (tmp_path / "manifest.json").write_text(json.dumps({"format": 1, "tables": {"a": {"files": files}}}), encoding="utf-8")
    with pytest.raises(ValueError, match="outside its folder"):
        verify(tmp_path)


def test_a_release_is_complete_or_absent(archive: sideline.Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    with pytest.raises(FileExistsError, match="not empty"):
        archive.publish(tmp_path / "taken")
    monkeypatch.setattr(json, "dumps", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        archive.publish(tmp_path / "release")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_release_that_cannot_be_written_names_its_own_folder(archive: sideline.Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, *_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(PermissionError, match="Permission denied: '.*/release'$"):
        archive.publish(tmp_path / "release")


def test_a_release_that_another_process_wrote_meanwhile_is_named(archive: sideline.Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dumps = json.dumps

    def publish_too(*arguments: Any, **options: Any) -> str:
        if "indent" in options:
            (tmp_path / "release").mkdir()
            (tmp_path / "release" / "manifest.json").touch()
        return dumps(*arguments, **options)

    monkeypatch.setattr(json, "dumps", publish_too)
    with pytest.raises(OSError, match=r"not empty: '[^']*/release'$"):
        archive.publish(tmp_path / "release")
    assert [path.name for path in tmp_path.iterdir()] == ["release"]


def test_a_killed_publish_is_removed_by_the_next_and_a_running_one_is_not(archive: sideline.Archive, tmp_path: Path) -> None:
    code = "import os, sys, time, sideline; sideline.archive._publish._games = lambda rows: (print(flush=True), time.sleep(60)); sideline.Archive(sys.argv[1]).publish(sys.argv[2])"
    arguments = [sys.executable, "-c", code, archive._store.root, str(tmp_path / "release")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as first:
        assert first.stdout
        first.stdout.readline()
        [remains] = tmp_path.iterdir()
        archive.publish(tmp_path / "release")
        assert sorted(tmp_path.iterdir()) == sorted([remains, tmp_path / "release"]), "it runs"
        first.kill()
    shutil.rmtree(tmp_path / "release")
    archive.publish(tmp_path / "release")
    assert list(tmp_path.iterdir()) == [tmp_path / "release"]


# Files.


def table() -> sideline.Table:
    body = json.dumps({"teams": [{"id": 1, "name": "=1+1", "player_stats": [{"id": 7, "stats": {"PTS": -1.5}}]}]})
    return sideline.Payload.from_bytes("stats", body.encode(), session_id="s").table("player_stats")


def clips() -> Any:
    return sideline.clips(sideline.Payload.from_bytes("shots", b'{"teams": []}', session_id="s"), [])


WRITERS: dict[str, Callable[[Path], None]] = {
    "csv": lambda path: table().to_csv(path),
    "parquet": lambda path: table().to_parquet(path),
    "playlist": lambda path: clips().to_playlist(path),
    "timeline": lambda path: clips().to_sportscode_xml(path),
    "report": sideline.archive.ArchiveReport("<style>").save,
}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither pipes in folders nor links for everybody")
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_only_regular_files_are_replaced(kind: str, write: Callable[[Path], None], tmp_path: Path) -> None:
    path, victim = tmp_path / "rows.csv", tmp_path / "victim"
    victim.write_text("before", encoding="utf-8")
    {"link": lambda: path.symlink_to(victim), "pipe": lambda: os.mkfifo(path), "folder": path.mkdir}[kind]()
    with pytest.raises(ValueError, match="not a regular file"):
        write(path)
    assert victim.read_text(encoding="utf-8") == "before"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["rows.csv", "victim"]


@pytest.fixture
def full_disk() -> Iterator[None]:
    """No file can have more than a few bytes, as on a full disk."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("full_disk")
@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_a_file_for_which_the_disk_has_no_room_is_named(write: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    with pytest.raises(OSError, match=r"^\[Errno \d+\] File too large: '.*/rows.csv'$") as error:
        write(path)
    assert error.value.filename == str(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("full_disk")
def test_a_release_for_which_the_disk_has_no_room_is_named(archive: sideline.Archive, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="File too large: '.*/release'"):
        archive.publish(tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


def test_a_release_for_whose_last_bytes_the_disk_has_no_room_is_named(archive: sideline.Archive, release: Path, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for size in {file.stat().st_size for file in release.rglob("*.parquet")}:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size - 100, hard))
        try:
            with pytest.raises(OSError, match="File too large: '.*/full'"):
                archive.publish(tmp_path / "full")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == [release]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("before", encoding="utf-8")
    path.chmod(0o640)
    table().to_csv(path)
    assert (path.stat().st_mode & 0o777, path.read_text(encoding="utf-8")[:10]) == (0o640, "session_id")


def test_a_dash_is_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    table().to_csv("-")
    assert "=1+1" in capsys.readouterr().out


@pytest.mark.parametrize("path", ["-", "/dev/stdout"])
def test_standard_output_gets_utf_8_as_files_do(path: str) -> None:
    code = "import sideline; print('before'); sideline.Payload.from_bytes('teams', b'{\"teams\": [{\"id\": 1, \"name\": \"\\xc5\\xbdak\"}]}').table(columns=['team_id', 'name'])"
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", f"{code}.to_csv({path!r}); print('after')"], env=env, capture_output=True, timeout=60)
    assert (done.stdout.decode(), done.stderr) == ("before\nteam_id,name\n1,\u017dak\nafter\n", b"")


def test_a_file_for_excel_has_a_mark_and_no_formulas(tmp_path: Path) -> None:
    table().to_csv(tmp_path / "plain.csv", formulas="escape")
    table().to_csv(tmp_path / "excel.csv", formulas="escape", bom=True)
    assert (tmp_path / "excel.csv").read_bytes() == b"\xef\xbb\xbf" + (tmp_path / "plain.csv").read_bytes()


def test_formulas_are_escaped_for_spreadsheets_only(tmp_path: Path) -> None:
    table().to_csv(tmp_path / "kept.csv")
    table().to_csv(tmp_path / "escaped.csv", formulas="escape")
    kept_text, escaped_text = ((tmp_path / name).read_text(encoding="utf-8") for name in ("kept.csv", "escaped.csv"))
    assert kept_text != escaped_text
    assert kept_text == escaped_text.replace("'=1+1", "=1+1")
    with pytest.raises(ValueError, match='formulas is .*; it must be "keep" or "escape"'):
        table().to_csv(tmp_path / "rows.csv", formulas="remove")  # type: ignore[arg-type]
