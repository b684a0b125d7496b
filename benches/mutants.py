"""Mutation testing on a time budget: how many small changes of the code make a test fail.

`make mutants MINUTES=60` mutates a random sample of each area and writes benches/MUTANTS.md. Rust is mutated by
cargo-mutants, Python by mutmut. Both work on copies in target/mutants.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
WORK = ROOT / "target" / "mutants"
REPORT = ROOT / "benches" / "MUTANTS.md"

RUST = {
    "signer": (["src/signer.rs"], ["signer::", "transport::"]),
    "retries and rate": (
        [f"src/transport/{name}.rs" for name in ("retry", "limiter", "rate", "outage", "clock", "redirect")],
        ["transport::", "simulation::"],
    ),
    "reader": (["crates/reader/src/*.rs"], []),
    "tables": (["crates/tables/src/*.rs"], ["fetch::", "resource::", "tests::"]),
    "tracking": (["crates/tracking/src/*.rs"], ["tests::"]),
    "fetch": (["src/fetch/*.rs"], ["fetch::", "resource::"]),
    "live": (["src/live/*.rs"], ["live::", "simulation::"]),
}
"""The files of each area and the unit tests that are run against its mutants: all of them would take a minute for each."""

PYTHON = {
    "audits": (["_answers/audits/*"], ["test_audit.py", "test_audit_rules.py"]),
    "archive: status": (["archive/_status.py"], ["test_status.py"]),
    "archive: changes": (
        ["archive/_changes.py", "archive/_corrections.py"],
        ["test_archive_corrections.py", "test_archive_lakehouse.py"],
    ),
    "metrics": (["_answers/metrics/*", "metrics.py"], ["test_metrics.py", "test_metrics_players.py"]),
}
"""The files of each area and the tests that are run against its mutants."""

GENERATED = ["*/fuzz.rs", "*_tests.rs"]


@dataclass
class Score:
    """The result of one area."""

    area: str
    total: int = 0
    caught: int = 0
    survivors: list[str] = field(default_factory=list)

    @property
    def tried(self) -> int:
        return self.caught + len(self.survivors)

    def row(self) -> str:
        share = f"{self.caught / self.tried:.0%}" if self.tried else "–"
        return f"| {self.area} | {self.total} | {self.tried} | {self.caught} | {share} |"


def interrupted_after(seconds: float, command: list[str], cwd: Path, env: dict[str, str] | None = None) -> None:
    """Run a command, and end it as a person at the keyboard would if it takes longer."""
    with (WORK / "log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=cwd, env={**os.environ, **(env or {})}, start_new_session=True, stdout=log, stderr=log
        )
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def rust(area: str, files: list[str], tests: list[str], seconds: float) -> Score:
    """Mutate an area of the crate. Mutants that do not compile do not count; one that hangs is caught."""
    out = WORK / area.replace(" ", "-")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    chosen = [part for name in files for part in ("--file", name)] + [
        part for name in GENERATED for part in ("--exclude", name)
    ]
    folder = copied(WORK / "rust", tracked())
    # The end of the last area's time may have torn it.
    shutil.rmtree(WORK / "cargo" / "debug" / "incremental", ignore_errors=True)
    listed = subprocess.run(
        ["cargo", "mutants", "--list", "--json", *chosen], cwd=folder, check=True, capture_output=True, text=True
    )
    score = Score(area, total=len(json.loads(listed.stdout)))
    command = [
        "cargo",
        "mutants",
        # In a copy that stays, so that cargo compiles what changes from one mutant to the next.
        "--in-place",
        "--shuffle",
        "--output",
        str(out),
        # Else each mutant is built three times: for users, for its unit tests and for those in tests/.
        "--cargo-arg=--lib",
        "--cargo-arg=--locked",
        # The declarations of the client test the tables, and all of them the reader.
        "--test-package=sideline,sideline-reader,sideline-tables,sideline-tracking",
        "--timeout",
        "60",
    ]
    interrupted_after(
        seconds,
        [*command, *chosen, "--", "--", *tests],
        folder,
        {"CARGO_TARGET_DIR": str(WORK / "cargo"), "CARGO_PROFILE_DEV_DEBUG": "0", "SIDELINE_SEEDS": "20"},
    )
    outcomes = out / "mutants.out" / "outcomes.json"
    if not outcomes.exists():  # the time was over before the first mutant
        return score
    for outcome in json.loads(outcomes.read_text())["outcomes"]:
        if outcome["scenario"] == "Baseline":
            if outcome["summary"] != "Success":
                sys.exit(f"the tests fail without a mutant: {out}/mutants.out/log/baseline.log")
        elif outcome["summary"] in ("CaughtMutant", "Timeout"):
            score.caught += 1
        elif outcome["summary"] == "MissedMutant":
            score.survivors.append(outcome["scenario"]["Mutant"]["name"])
    return score


def tracked() -> dict[str, str]:
    """Return the files of the project, each with its own name."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    return {name: name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}


def copied(folder: Path, names: dict[str, str]) -> Path:
    """Copy files to other names in a folder. A file that is there as it is keeps its time."""
    for name, other in names.items():
        target = folder / other
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != (ROOT / name).read_bytes():
            shutil.copy(ROOT / name, target)
    return folder


def stage(patterns: list[str], tests: list[str]) -> Path:
    """Copy the project with the package under src/, where mutmut looks for it; Rust's src/ stays behind."""
    folder = WORK / "python"
    shutil.rmtree(folder, ignore_errors=True)
    extension = next((ROOT / "python" / "sideline").glob("_core*.so")).relative_to(ROOT)
    names = [name for name in (*tracked(), str(extension)) if not name.startswith("src/")]
    copied(
        folder, {name: f"src/{name.removeprefix('python/')}" if name.startswith("python/") else name for name in names}
    )
    settings = {
        "source_paths": ["src/"],
        "only_mutate": [f"src/sideline/{pattern}" for pattern in patterns],
        "also_copy": ["docs", "README.md", "notebooks", "examples", "tools"],
        "pytest_add_cli_args_test_selection": [f"tests/{name}" for name in tests],
        "process_isolation": "forkserver",
    }
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in settings.items())
    (folder / "pyproject.toml").write_text((folder / "pyproject.toml").read_text() + f"\n[tool.mutmut]\n{lines}\n")
    return folder


def results(folder: Path) -> dict[str, int | None]:
    """Return the exit status of each mutant's tests; `None`: not tried."""
    found: dict[str, int | None] = {}
    for meta in (folder / "mutants").rglob("*.meta"):
        found |= json.loads(meta.read_text())["exit_code_by_key"]
    return found


def changed_lines(name: str, folder: Path, env: dict[str, str]) -> str:
    """Return what a mutant of mutmut's changes."""
    command = [sys.executable, "-m", "mutmut", "show", name]
    shown = subprocess.run(
        command, cwd=folder, env={**os.environ, **env}, check=True, capture_output=True, text=True
    ).stdout
    lines = [line for line in shown.splitlines() if line.startswith(("-", "+")) and not line.startswith(("---", "+++"))]
    return " → ".join(line[1:].strip() for line in lines)


def python(area: str, patterns: list[str], tests: list[str], seconds: float, chance: random.Random) -> Score:
    """Mutate an area of the package. A mutant that no test reaches survives."""
    folder = stage(patterns, tests)
    until = time.monotonic() + seconds
    mutmut = [sys.executable, "-m", "mutmut", "run", "--max-children", "2"]
    env = {"PYTHONPATH": str(folder / "mutants" / "src")}
    # Writes the mutants and measures the tests; no mutant has this name.
    interrupted_after(seconds, [*mutmut, "no.such.mutant"], folder, env)
    names = sorted(results(folder))
    score = Score(area, total=len(names))
    chance.shuffle(names)
    while names and (left := until - time.monotonic()) > 0:
        sample, names = names[:40], names[40:]
        interrupted_after(left, [*mutmut, *sample], folder, env)
    for name, status in results(folder).items():
        if status in (0, 5, 33):  # passed; no test was selected; no test reaches it
            score.survivors.append(f"{name}: {changed_lines(name, folder, env)}")
        elif status is not None:
            score.caught += 1
    return score


def report(scores: list[Score], minutes: float) -> str:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()
    rows = "\n".join(score.row() for score in scores)
    survivors = "\n".join(f"- {score.area}: `{name}`" for score in scores for name in sorted(score.survivors))
    return (
        "# Mutation testing\n\n"
        f"`make mutants MINUTES={minutes:g}` at commit {commit}: a random sample of each area's mutants. Mutants that do not\n"
        "compile are not counted.\n\n"
        "| area | mutants | tried | caught | score |\n|---|---:|---:|---:|---:|\n"
        f"{rows}\n\n## Survivors\n\n{survivors or 'None.'}\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="for all areas together")
    parser.add_argument("--area", action="append", help="one of the areas; default: all")
    parser.add_argument("--seed", type=int, default=0, help="of Python's sample")
    options = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    areas = options.area or [*RUST, *PYTHON]
    if unknown := [area for area in areas if area not in (*RUST, *PYTHON)]:
        sys.exit(f"no area is named {unknown[0]!r}; there are {', '.join((*RUST, *PYTHON))}")
    seconds = options.minutes * 60 / len(areas)
    chance = random.Random(options.seed)
    scores = [
        rust(area, *RUST[area], seconds) if area in RUST else python(area, *PYTHON[area], seconds, chance)
        for area in areas
    ]
    REPORT.write_text(report(scores, options.minutes))
    print("\n".join(score.row() for score in scores))


if __name__ == "__main__":
    main()
