"""Rehearses a release of the current commit on this machine: python .github/rehearse.py [--once] [PYTHON ..]

Builds the wheel and the source distribution as the release does, twice and in different folders, compares the wheels byte
by byte, serves them from a local package index, and installs and tries the wheel in an empty environment of each Python
(default: each python3.11 to python3.14 on the path). Exit status 1: something failed.
"""

import argparse
import functools
import hashlib
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYTHONS = [f"python3.{minor}" for minor in range(11, 15)]


def run(*command: "str | Path", **options: object) -> str:
    """Run a command; return what it prints."""
    done = subprocess.run([*map(str, command)], check=True, stdout=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload]
    return str(done.stdout)


def build(folder: Path, out: Path) -> Path:
    """Build the committed files in a folder; return the wheel."""
    folder.mkdir(parents=True)
    archive = folder.parent / "source.tar"
    run("git", "archive", "--output", archive, "HEAD", cwd=ROOT)
    run("tar", "--extract", "--file", archive, "--directory", folder)
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    flags = f"--remap-path-prefix={cargo}/registry/src=crates --remap-path-prefix={folder}=sideline"
    env = {**os.environ, "RUSTFLAGS": flags, "CARGO_TARGET_DIR": str(folder / "target")}
    maturin = [sys.executable, "-m", "maturin"]
    run(*maturin, "build", "--release", "--locked", "--compression-level", "9", "--out", out, cwd=folder, env=env)
    run(*maturin, "sdist", "--out", out, cwd=folder, env=env)
    run(sys.executable, ROOT / ".github" / "clean_sbom.py", out)
    run(sys.executable, ROOT / ".github" / "shrink_wheels.py", out)
    run(sys.executable, ROOT / ".github" / "check_wheels.py", out)
    shutil.rmtree(folder)
    return next(out.glob("*.whl"))


def runs(python: str) -> bool:
    """Whether there is a Python behind the name: pyenv has a script for each version that it knows."""
    return subprocess.run([python, "--version"], check=False, capture_output=True).returncode == 0


def differences(one: Path, other: Path) -> list[str]:
    """Return the names of the files that differ between two wheels."""
    with zipfile.ZipFile(one) as first, zipfile.ZipFile(other) as second:
        names = sorted({*first.namelist(), *second.namelist()})
        if first.namelist() != second.namelist():
            return names
        return [name for name in names if first.read(name) != second.read(name)]


@contextmanager
def index(files: list[Path], folder: Path) -> Iterator[str]:
    """Serve files as a package index on loopback."""
    project = folder / "simple" / "sideline"
    project.mkdir(parents=True)
    for file in files:
        shutil.copy2(file, project)
    links = "".join(f'<a href="{file.name}">{file.name}</a>' for file in files)
    (project / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple/"
        server.shutdown()


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--once", action="store_true", help="build once, and compare nothing")
    arguments.add_argument("pythons", nargs="*")
    options = arguments.parse_args()
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["package"]["version"]
    pythons: list[str] = options.pythons or [found for name in PYTHONS if (found := shutil.which(name)) and runs(found)]
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build(folder / "one" / "sideline", folder / "dist")
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes, SHA-256 {hashlib.sha256(wheel.read_bytes()).hexdigest()}")
        if not options.once:
            other = build(folder / "another-folder" / "of-sideline", folder / "dist-again")
            equal = wheel.read_bytes() == other.read_bytes()
            differing = (
                ""
                if equal
                else f"; these files differ: {', '.join(differences(wheel, other)) or 'none, but the archive'}"
            )
            print(f"built again in another folder: {'the same bytes' if equal else 'other bytes'}{differing}")
            failures += not equal
        with index(sorted((folder / "dist").iterdir()), folder / "index") as address:
            for python in pythons:
                env = folder / f"env-{Path(python).name}"
                run(python, "-m", "venv", env)
                installed = env / "bin" / "python"
                pip: list[str | Path] = [
                    installed,
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                    "--index-url",
                    address,
                ]
                try:
                    run(*pip, f"sideline=={version}", cwd=folder)
                    print(
                        f"{run(installed, '--version').strip()}: {run(installed, ROOT / '.github' / 'smoke.py', cwd=folder).strip()}"
                    )
                    run(env / "bin" / "sideline", "--help", cwd=folder)
                except subprocess.CalledProcessError as error:
                    print(f"{python}: {error}")
                    failures += 1
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
