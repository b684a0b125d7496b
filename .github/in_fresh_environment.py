"""Runs a command beside an installed wheel: python .github/in_fresh_environment.py WHEELS LOCK COMMAND ..

WHEELS is a wheel or a folder with one for this platform, LOCK the file of hashed requirements to install beside it. The command
runs with the environment's programs, in a copy of the repository without what is compiled or packed, and finds no Rust: what passes
there was not compiled again, and imports nothing of the source tree.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
LEFT_OUT = (
    "python",
    "src",
    "crates",
    "Cargo.toml",
    "Cargo.lock",
    "target",
    "__pycache__",
    ".*_cache",
    ".venv",
    ".git",
)
COMPILERS = ("cargo", "rustc", "rustup", "maturin")


def without_compilers(path: str) -> str:
    """Return a search path without the folders that hold a program of Rust."""
    return os.pathsep.join(
        folder for folder in path.split(os.pathsep) if not any(shutil.which(name, path=folder) for name in COMPILERS)
    )


def main() -> int:
    wheels, lock, *command = sys.argv[1:]
    given = Path(wheels).resolve()
    with tempfile.TemporaryDirectory() as name:
        # Windows and macOS have a second name for their folder of temporary files.
        folder = Path(name).resolve()
        venv.create(folder / "env", with_pip=True)
        programs = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
        pip = [programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run(
            [*pip, "--only-binary", ":all:", "--no-deps", "--require-hashes", "--requirement", lock], check=True
        )
        found = [given] if given.is_file() else ["--no-index", "--find-links", given, "sideline"]
        subprocess.run([*pip, "--no-deps", *found], check=True)
        tree = folder / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT))
        path = f"{programs}{os.pathsep}{without_compilers(os.environ['PATH'])}"
        env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CARGO", "RUST"))}
        # `which` looks for the program on the path of this process.
        program = shutil.which(command[0], path=path) or command[0]
        return subprocess.run([program, *command[1:]], cwd=tree, env={**env, "PATH": path}).returncode


if __name__ == "__main__":
    sys.exit(main())
