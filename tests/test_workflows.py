"""Each job of CI calls a make target that a person calls, and that target installs all that the tests of the job import."""

from __future__ import annotations

import ast
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
TESTS = ROOT / "tests"
JOBS = {
    f"{path.stem}:{name}": job
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    for name, job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].items()
}
STEPS = [step for job in JOBS.values() for step in job.get("steps", [])]
RUST = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))["env"]["RUSTUP_TOOLCHAIN"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
GROUPS: dict[str, list[Any]] = PROJECT["dependency-groups"]
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")

pytestmark = pytest.mark.source


def normalize(requirement: str) -> str:
    """The name of a requirement: "moto[s3]>=5.2" is moto."""
    return re.split(r"[\[<>=!~; ]", requirement)[0].lower().replace("_", "-")


def packages(group: str, groups: dict[str, list[Any]]) -> set[str]:
    """The packages that a group requires, by their names."""
    names = set()
    for entry in groups[group]:
        names |= packages(entry["include-group"], groups) if isinstance(entry, dict) else {normalize(entry)}
    return names


def rules() -> dict[str, tuple[list[str], str]]:
    """The prerequisites and the recipe of each target of the Makefile."""
    rules_by_target: dict[str, tuple[list[str], str]] = {}
    target = ""
    for line in MAKEFILE.splitlines():
        head = re.match(r"((?:\$\(VENV\)/)?[\w.-]+):(?!=)\s*(.*)", line)
        if head and not line.startswith("."):
            target = head[1]
            rules_by_target[target] = (head[2].split(), "")
        elif line.startswith("\t") and target:
            rules_by_target[target] = (rules_by_target[target][0], f"{rules_by_target[target][1]}{line}\n")
    return rules_by_target


RULES = rules()


def recipe(target: str) -> str:
    """All that `make TARGET` runs: its prerequisites' recipes and its own, with those of the targets that it makes."""
    prerequisites, commands = RULES[target]
    inner = re.findall(r"\$\(MAKE\)(?: --jobs=\d+)?((?: (?:\$\(VENV\)/\.)?[a-z][a-z-]*)+)", commands)
    before = [name for name in prerequisites if name in RULES]
    return "".join(recipe(name) for name in [*before, *" ".join(inner).split()]) + commands


def commands(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job.get("steps", []) if "run" in step]


def targets(job: dict[str, Any]) -> list[str]:
    return [name for command in commands(job) for name in re.findall(r"\bmake ([a-z-]+)", command)]


def installed_packages(target: str, groups: dict[str, list[Any]]) -> set[str]:
    return set().union(*(packages(group, groups) for group in re.findall(r"(?:call locked,|tests/lock-)([\w-]+)", recipe(target))))


def imports(path: Path) -> Iterator[str]:
    """The top-level modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"library", "needs", "require"}:
            yield from (part.value.partition(".")[0] for part in node.args if isinstance(part, ast.Constant))


OWN_MODULES = {"sideline", "pyspark_sideline", "tests", *(path.stem for path in TESTS.rglob("*.py")), *(path.name for path in TESTS.iterdir() if path.is_dir())}
LATER = {"pyspark"}
"""Only `make test-all` installs it: without it the tests that need it are skipped."""


@cache
def imported_packages() -> set[str]:
    """The packages that the tests import."""
    modules = (
        {name for path in TESTS.rglob("*.py") for name in imports(path)}
        - OWN_MODULES
        - LATER
        - sys.stdlib_module_names
        - {"_xxsubinterpreters", "a_broken_library"}
    )
    distributions = packages_distributions()
    return {normalize(distributions[name][0]) if name in distributions else name for name in modules}


def lacking(target: str, groups: dict[str, list[Any]]) -> set[str]:
    """What tests import and `make TARGET` does not install."""
    return imported_packages() - installed_packages(target, groups)


WITH_TESTS = [name for name, job in JOBS.items() if any("$(PYTEST)" in recipe(target) for target in targets(job))]


def test_every_target_that_a_job_makes_exists() -> None:
    make_targets = {target for job in JOBS.values() for target in targets(job)}
    assert {"check", "msrv", "test", "site", "fuzz", "miri", "advisories", "test-wheel"} <= make_targets <= set(RULES)


WITHOUT_TARGET = {"release:draft", "release:show", "nightly:report", "daily:report"}
"""Jobs that speak to the project's page alone: there is no such page on a person's machine."""


def test_every_job_only_installs_tools_of_rust_and_makes_targets() -> None:
    allowed_line = re.compile(r"(rustup toolchain install|cargo install --locked|(SIDELINE_SEED=\S+ )?make) [^\n]+")
    run = [(name, line) for name, job in JOBS.items() if name not in WITHOUT_TARGET for command in commands(job) for line in command.strip().splitlines()]
    assert len(run) > 20
    assert [(name, line) for name, line in run if not allowed_line.fullmatch(line)] == []


def test_every_tool_of_a_job_is_named_by_its_version() -> None:
    text = "\n".join(command for job in JOBS.values() for command in commands(job))
    toolchains = re.findall(r"rustup toolchain install (\S+)", text)
    assert {version for version in toolchains if not version.startswith("nightly")} == {RUST}
    assert all(re.fullmatch(r"nightly-\d{4}-\d\d-\d\d", version) for version in set(toolchains) - {RUST})
    assert set(re.findall(r"NIGHTLY=(\S+)", text)) == set(toolchains) - {RUST}
    tools = [tool for line in re.findall(r"cargo install --locked (.+)", text) for tool in line.split()]
    assert {tool.partition("@")[0] for tool in tools} >= {"cargo-audit", "cargo-deny", "cargo-fuzz", "cargo-mutants"}
    assert [tool for tool in tools if not re.fullmatch(r"[a-z-]+@\d+\.\d+\.\d+", tool)] == []
    [builder] = {(step["with"]["rust-toolchain"], step["with"]["maturin-version"]) for step in STEPS if "maturin-action" in step.get("uses", "")}
    assert builder == (RUST, f"v{locked_versions('build')['maturin']}")


def locked_versions(group: str) -> dict[str, str]:
    """The version of each package of a lock, the one for the newest Python if there are several."""
    return dict(re.findall(r"(?m)^([\w.-]+)==([\w.]+)", (TESTS / f"lock-{group}.txt").read_text(encoding="utf-8")))


def locks() -> list[str]:
    return sorted(path.stem.removeprefix("lock-") for path in TESTS.glob("lock-*.txt"))


@pytest.mark.parametrize("group", locks())
def test_a_lock_has_each_package_of_its_group_and_a_hash_of_each(group: str) -> None:
    text = (TESTS / f"lock-{group}.txt").read_text(encoding="utf-8")
    assert packages(group, GROUPS) <= set(locked_versions(group))
    entries = re.split(r"(?m)^(?=[\w.-]+==)", text)[1:]
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []


def test_each_lock_is_renewed_and_audited_together() -> None:
    [lock_list] = re.findall(r"(?m)^LOCKS\s+:= (.+)", MAKEFILE)
    assert sorted(lock_list.split()) == locks()
    assert {"lock", "advisories"} <= {target for target, (_, commands) in RULES.items() if "for name in $(LOCKS)" in commands}


def test_a_package_that_an_audit_cannot_look_up_fails() -> None:
    """Without --strict, pip-audit passes over each package that its database does not answer for."""
    audits = re.findall(r"pip-audit [^\n]+", recipe("advisories"))
    assert [audit for audit in audits if "--strict" not in audit] == []
    assert audits


def test_what_a_release_installs_has_hashes() -> None:
    make_targets = {target for name, job in JOBS.items() if name.startswith("release:") for target in targets(job)}
    installs = [line for target in make_targets for line in recipe(target).splitlines() if re.search(r"\$\(PIP\)|pip install|call install", line)]
    assert {"finish-wheels", "sdist", "test-wheel"} <= make_targets
    assert [line for line in installs if "--require-hashes" not in line] == []
    assert re.search(r"(?m)^locked\s+= .*--require-hashes", MAKEFILE)
    assert "--require-hashes" in (ROOT / ".github" / "in_fresh_environment.py").read_text(encoding="utf-8")


@pytest.mark.extended
def test_the_tests_of_a_wheel_are_collected_without_the_source_tree(tmp_path: Path) -> None:
    """A file that is read while a module is imported stops all tests, those of the mark `source` or not."""
    left_out = runpy.run_path(str(ROOT / ".github" / "in_fresh_environment.py"))["LEFT_OUT"]
    tree = tmp_path / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*left_out))
    modules = [str(path.relative_to(ROOT)) for path in sorted(TESTS.rglob("test_*.py")) if "mark.source" in path.read_text(encoding="utf-8")]
    assert len(modules) > 15
    command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "-p", "no:cacheprovider", "-m", "not source", *modules]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


def test_a_container_of_a_target_has_a_digest_and_cannot_write() -> None:
    [image] = re.findall(r"(?m)^MUSL\s+:= (.+)", MAKEFILE)
    assert re.fullmatch(r"python:[\w.-]+@sha256:[0-9a-f]{64}", image)
    runs = re.findall(r"docker run (.+)", MAKEFILE)
    assert len(runs) == 2
    assert all(':ro"' in line and line.count("--volume") == 1 for line in runs)
    images = [row["container"] for row in JOBS["release:wheel"]["strategy"]["matrix"]["include"] if "linux" in row["target"]]
    assert len(images) == 4
    assert [image for image in images if not re.search(r"@sha256:[0-9a-f]{64}$", image)] == []


def test_every_wheel_is_tested_where_it_runs_before_anything_is_drafted() -> None:
    def rows(job: str) -> list[dict[str, str]]:
        return JOBS[f"release:{job}"]["strategy"]["matrix"]["include"]

    wheel_runners = {row["target"]: row["runner"] for row in rows("wheel")}
    for test_rows in ([*rows("test"), *rows("test-musl")], [*rows("installed"), *rows("installed-musl")]):
        assert {row["target"]: row["runner"] for row in test_rows} == wheel_runners
    free_threaded = {row["target"] for row in rows("wheel") if "python3.14t" in row.get("interpreters", "")}
    for job in ("test", "installed"):
        assert {row["target"] for row in rows(job) if row.get("python") == "3.14t"} == free_threaded
    pythons = {row["python"] for row in rows("test") if row["target"] == "x86_64-unknown-linux-gnu"}
    assert pythons == {*JOBS["ci:test"]["strategy"]["matrix"]["python"], "3.14t"}
    assert {row["libraries"] for row in rows("test")} <= set(locks())


def test_a_failure_of_a_schedule_opens_an_issue_with_the_seeds() -> None:
    for name in ("nightly", "daily"):
        jobs = {job.partition(":")[2]: JOBS[job] for job in JOBS if job.startswith(f"{name}:")}
        report = jobs.pop("report")
        assert set(report["needs"]) == set(jobs)
        assert report["permissions"] == {"issues": "write"}
        assert "failure()" in report["if"]
        [command] = commands(report)
        assert "gh issue create" in command
        assert "seed" in command
        make_commands = [command for job in jobs.values() for command in commands(job) if "make " in command]
        assert [command for command in make_commands if not command.strip().endswith("2>&1 | tee log.txt")] == []


def test_python_tests_run_in_ci_on_each_system() -> None:
    assert {"ci:check", "ci:test"} <= set(WITH_TESTS)
    matrix = JOBS["ci:test"]["strategy"]["matrix"]
    assert {matrix["runner"][0], *(row["runner"] for row in matrix["include"])} == {"ubuntu-24.04", "macos-15", "windows-2025"}


@pytest.mark.parametrize("name", WITH_TESTS)
def test_a_job_installs_what_its_tests_import(name: str) -> None:
    for target in targets(JOBS[name]):
        assert lacking(target, GROUPS) == set(), f"make {target}"


def test_the_site_has_its_builder() -> None:
    assert {"mkdocs-material", "mkdocstrings"} <= installed_packages("site", GROUPS)


@pytest.mark.parametrize("package", sorted({"obstore", "adbc-driver-postgresql", "polars", "matplotlib", "moto", "deltalake"}))
def test_a_missing_package_is_noticed(package: str) -> None:
    without = {**GROUPS, "test": [entry for entry in GROUPS["test"] if isinstance(entry, dict) or normalize(entry) != package]}
    assert lacking("test", without) == lacking("check", without) == {package}


def test_development_has_the_packages_of_all_extras_but_spark() -> None:
    required_packages = {normalize(requirement) for requirements in EXTRAS.values() for requirement in requirements}
    assert required_packages - packages("development", GROUPS) == {"pyspark"} == packages("spark", GROUPS)


def test_the_script_of_the_machine_and_the_readme_make_the_same_target() -> None:
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").rstrip().endswith("exec make test")
    assert "\nmake test " in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_of_tiers_is_current() -> None:
    page = runpy.run_path(str(ROOT / "tools" / "make_tiers.py"))["page"]()
    assert (TESTS / "TIERS.md").read_text(encoding="utf-8") == page, "run make tiers"
    rows = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `tests/")}
    assert re.search(r"\| \d+ \|  \|", rows["tests/test_court.py"]), "quick"
    assert re.search(r"\| \d+ \|  \|$", rows["tests/test_wire.py"]) and "|  | " in rows["tests/test_wire.py"], "not quick"
    assert not rows["tests/test_archive_kills.py"].endswith("|  |"), "some only in make test-all"
    assert "|  | " in rows["tests/loopback/websocket.rs"], "a program in a folder"


def test_the_slow_rust_tests_that_a_quick_check_leaves_out_exist() -> None:
    names = (ROOT / "Makefile").read_text(encoding="utf-8").partition("WHOLE := ")[2].partition("\n")[0].split()
    sources = [path.read_text(encoding="utf-8") for folder in ("src", "crates") for path in (ROOT / folder).rglob("*.rs")]
    tests = [name for source in sources for name in re.findall(r"#\[test\]\nfn (\w+)", source)]
    assert [name for name in names if sum(test.startswith(name) for test in tests) not in (1, 2)] == []


def test_a_demo_installs_nothing_for_development() -> None:
    """`maturin develop` installs a group of the name `dev` without being asked to, and without the lock."""
    assert "dev" not in GROUPS
    assert installed_packages("demo", GROUPS) == packages("build", GROUPS)
