"""Rehearses a release of the current commit on this machine: python .github/rehearse.py [PYTHON ..]

In a fresh clone, in the order of release.yml, with the scripts that it calls: builds the wheel and the source distribution, builds the
wheel again from the source distribution, with vendored crates, no network and in another folder, and compares the bytes; runs the tests
against the wheel with each Python (default: each python3.11 to python3.14 on the path, and python3.14t), for which a free-threaded one has
a wheel of its own; attests all files with a key made for it and
verifies them; publishes them to an index on loopback, and installs from there. Exit status 1: a step failed.

--built FOLDER takes the files of an earlier rehearsal, --once builds once, --pytest "ARGUMENTS" replaces what selects the tests.
"""

import argparse
import functools
import hashlib
import http.server
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYTHONS = [*(f"python3.{minor}" for minor in range(11, 15)), "python3.14t"]
TESTS = "-m 'not source and not extended' --numprocesses 2 --dist loadfile --no-loadscope-reorder"


def run(*command: "str | Path", **options: object) -> None:
    """Run a command; raise `CalledProcessError` if it fails."""
    subprocess.run([*map(str, command)], check=True, **options)  # type: ignore[call-overload]


class Steps:
    """Runs the steps one after another; each prints a line, and what came of it."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def step(self, name: str, action: Callable[[], object]) -> None:
        begin = time.monotonic()
        try:
            said = action()
        except (subprocess.CalledProcessError, AssertionError) as error:
            self.failed.append(name)
            said = f"FAILED: {error}"
        print(f"{name}: {said or 'done'} ({time.monotonic() - begin:.0f} s)", flush=True)


def finish(folder: Path) -> None:
    """What `make finish-wheels` does."""
    for script in ("clean_sbom", "shrink_wheels", "check_wheels"):
        run(sys.executable, ROOT / ".github" / f"{script}.py", folder)


def build(clone: Path, out: Path, free_threaded: list[str]) -> None:
    """Build the wheels and the source distribution of a fresh clone, as the release does."""
    run("git", "clone", "--quiet", "--local", ROOT, clone)
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    flags = f"--remap-path-prefix={cargo}/registry/src=crates --remap-path-prefix={clone}=sideline"
    env = {**os.environ, "RUSTFLAGS": flags, "CARGO_TARGET_DIR": str(clone / "target")}
    maturin = [sys.executable, "-m", "maturin"]
    pythons = [argument for python in (sys.executable, *free_threaded) for argument in ("-i", python)]
    run(
        *maturin,
        "build",
        "--release",
        "--locked",
        "--compression-level",
        "9",
        "--out",
        out,
        *pythons,
        cwd=clone,
        env=env,
    )
    run(*maturin, "sdist", "--out", out, cwd=clone, env=env)


def only(folder: Path, pattern: str) -> Path:
    [found] = folder.glob(pattern)
    return found


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def built_again(dist: Path, again: Path) -> str:
    """Build the wheel from the source distribution, offline, and compare it."""
    run(sys.executable, ROOT / ".github" / "build_offline.py", only(dist, "*.tar.gz"), again)
    finish(again)
    one, other = only(dist, "*-abi3-*.whl"), only(again, "*.whl")
    with zipfile.ZipFile(one) as first, zipfile.ZipFile(other) as second:
        names = sorted({*first.namelist(), *second.namelist()})
        same = first.namelist() == second.namelist()
        differing = [name for name in names if first.read(name) != second.read(name)] if same else names
    assert one.read_bytes() == other.read_bytes(), f"other bytes: {', '.join(differing) or 'the archive alone'}"
    return "the same bytes"


def bill(wheel: Path) -> str:
    """What the wheel's SBOM lists."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if "/sboms/" in name]
        content = json.loads(archive.read(name))
    assert content["components"], "no components"
    return f"{content['bomFormat']} {content['specVersion']}, {len(content['components'])} components"


def attest(files: list[Path], folder: Path) -> None:
    """Sign a statement of the digests of the files with a new key: what GitHub does with one of its own."""
    folder.mkdir()
    subject = [{"name": file.name, "digest": {"sha256": digest(file)}} for file in files]
    statement = {"_type": "https://in-toto.io/Statement/v1", "subject": subject}
    (folder / "statement.json").write_text(json.dumps(statement))
    run("openssl", "genpkey", "-algorithm", "ed25519", "-out", folder / "key.pem")
    run("openssl", "pkey", "-in", folder / "key.pem", "-pubout", "-out", folder / "public.pem")
    signed = ("-in", folder / "statement.json", "-out", folder / "signature")
    run("openssl", "pkeyutl", "-sign", "-rawin", "-inkey", folder / "key.pem", *signed)


def verified(files: list[Path], folder: Path) -> bool:
    """Whether the statement is signed, and has the digest of each file."""
    key = ("-pubin", "-inkey", folder / "public.pem", "-sigfile", folder / "signature")
    command = ["openssl", "pkeyutl", "-verify", "-rawin", *map(str, key), "-in", str(folder / "statement.json")]
    if subprocess.run(command, capture_output=True).returncode:
        return False
    listed = json.loads((folder / "statement.json").read_text())["subject"]
    return {(entry["name"], entry["digest"]["sha256"]) for entry in listed} == {
        (one.name, digest(one)) for one in files
    }


def attested(files: list[Path], folder: Path) -> str:
    attest(files, folder)
    assert verified(files, folder), "the attestation does not hold"
    other = folder / files[0].name
    other.write_bytes(files[0].read_bytes() + b"\0")
    assert not verified([other, *files[1:]], folder), "a changed file passes"
    text = (folder / "statement.json").read_text()
    (folder / "statement.json").write_text(text.replace(digest(files[0]), digest(other)))
    assert not verified([other, *files[1:]], folder), "a changed statement passes"
    return f"{len(files)} files hold; a changed file and a changed statement are refused"


@contextmanager
def index(files: list[Path], folder: Path) -> Iterator[str]:
    """Serve files as a package index on loopback."""
    project = folder / "simple" / "sideline"
    project.mkdir(parents=True)
    for file in files:
        shutil.copy2(file, project)
    links = "".join(f'<a href="{file.name}#sha256={digest(file)}">{file.name}</a>' for file in files)
    (project / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple/"
        server.shutdown()


def works(python: str) -> bool:
    """Whether there is a Python behind the name: pyenv has a script for each version that it knows."""
    return subprocess.run([python, "--version"], check=False, capture_output=True).returncode == 0


def is_free_threaded(python: str) -> bool:
    question = "import sysconfig; print(sysconfig.get_config_var('Py_GIL_DISABLED'))"
    return subprocess.run([python, "-c", question], check=True, capture_output=True, text=True).stdout.strip() == "1"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--built", type=Path)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--pytest", default=TESTS)
    parser.add_argument("pythons", nargs="*")
    options = parser.parse_args()
    pythons = options.pythons or [found for name in PYTHONS if (found := shutil.which(name)) and works(found)]
    steps = Steps()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        dist = folder / "dist"
        if options.built:
            shutil.copytree(options.built, dist)
        else:
            free_threaded = [python for python in pythons if is_free_threaded(python)]
            steps.step("build", lambda: build(folder / "clone", dist, free_threaded))
        steps.step("finish", lambda: finish(dist))
        for wheel in sorted(dist.glob("*.whl")):
            print(f"{wheel.name}: {wheel.stat().st_size:,} bytes, SHA-256 {digest(wheel)}", flush=True)
            steps.step("SBOM", functools.partial(bill, wheel))
        if not options.once:
            steps.step("build again, offline", lambda: built_again(dist, folder / "again"))
        script = ROOT / ".github" / "in_fresh_environment.py"
        for python in pythons:
            # deltalake, DuckDB and polars have no wheels for a free-threaded Python.
            lock = "test-everywhere" if is_free_threaded(python) else "development"
            tests = [ROOT / "tests" / f"lock-{lock}.txt", "python", "-m", "pytest", *shlex.split(options.pytest)]
            steps.step(f"tests, {Path(python).name}", functools.partial(run, python, script, dist, *tests))
        files = sorted(dist.iterdir())
        steps.step("attest and verify", lambda: attested(files, folder / "attested"))
        with index(files, folder / "index") as address:
            published = ROOT / ".github" / "check_published.py"
            env = {**os.environ, "PIP_INDEX_URL": address}
            for python in pythons:
                install = functools.partial(run, python, published, dist, env=env)
                steps.step(f"install from the index, {Path(python).name}", install)
    print(f"failed: {', '.join(steps.failed)}" if steps.failed else "every step passed")
    return int(bool(steps.failed))


if __name__ == "__main__":
    sys.exit(main())
