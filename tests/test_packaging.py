"""The published artefacts: the wheel, the source distribution, their metadata, and the workflow that builds them."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest
import yaml

from sideline import _core

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "python" / "sideline"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
DIST_INFO = {
    *("METADATA", "WHEEL", "RECORD", "entry_points.txt", "sboms/sideline-extension.cyclonedx.json"),
    *("licenses/LICENSE", "licenses/THIRD-PARTY-LICENSES.txt"),
}
EXTENSION = re.compile(r"sideline/_core\.(abi3\.so|pyd)")

SOURCE = {
    *(".cargo", "PKG-INFO", "pyproject.toml", "Cargo.toml", "Cargo.lock", "Makefile", "clippy.toml", "rustfmt.toml", "mkdocs.yml"),
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"),
    *("CODE_OF_CONDUCT.md", "SECURITY.md", "THIRD-PARTY-LICENSES.txt", "about.hbs", "about.toml", "deny.toml"),
    *("src", "crates", "python", "tests", "docs", "examples", "notebooks", "benches", "tools"),
}
"""All that may lie at the top of a source distribution."""

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
LIBRARY_OF_THE_PROGRAM = {"notebook", "traces"}
"""Extras that no code of the package requires: it uses what a program has imported."""

BESIDE_ANOTHER = {"bucket", "export"}
"""Extras whose code requires `archive` first."""

USES = {
    "archive": "sideline.Archive('season').scan('shots')",
    "arrow": "teams.to_arrow()",
    "cli": "command('completion', 'bash')",
    "mcp": "command('mcp', 'season')",
    "pandas": "teams.to_pandas()",
    "plot": "import sideline.plot",
    "polars": "teams.to_polars()",
    "spark": "sideline.spark.read(None, None)",
}
"""Code that requires each extra."""

# The wheel is compiled where `maturin develop` was not run before.
pytestmark = [pytest.mark.timeout(600), pytest.mark.source]


def run(*command: str | Path, at: Path = ROOT, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(list(command), cwd=at, env=env, capture_output=True, text=True, timeout=580)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    # The profile of `maturin develop`, so that what it compiled is used again.
    run(sys.executable, "-m", "maturin", "build", "--locked", "--profile", "dev", "--out", out)
    [path] = out.iterdir()
    return path


@pytest.fixture(scope="module")
def light(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel with an empty extension, for what concerns the other files: to compress the real one takes seconds."""
    path = tmp_path_factory.mktemp("light") / wheel.name
    with zipfile.ZipFile(wheel) as original, zipfile.ZipFile(path, "w") as copy:
        for info in original.infolist():
            copy.writestr(info, b"" if EXTENSION.fullmatch(info.filename) else original.read(info))
    return path


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(archive.read(name).decode())


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source distribution, unpacked."""
    folder = tmp_path_factory.mktemp("sources")
    run(sys.executable, "-m", "maturin", "sdist", "--out", folder)
    [source_archive] = folder.glob("*.tar.gz")
    with tarfile.open(source_archive) as archive:
        archive.extractall(folder, filter="data")
    return folder / source_archive.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def built_by_pip(sources: Path, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that `pip install .` makes of the source distribution."""
    # Cargo tells a copy from the original by the times of its files alone. So it takes what was compiled of the original,
    # if the copy has each file that was compiled; and these are equal, or the fixture fails.
    assert wheel.exists()
    for name in sorted({*compiled_sources(), "Cargo.lock", "pyproject.toml"}):
        assert (sources / name).read_bytes() == (ROOT / name).read_bytes(), name
    assert manifest(sources) == manifest(ROOT)
    out = tmp_path_factory.mktemp("by-pip")
    # `--isolated`: no setting of this machine's pip says where else to look. What builds is taken from here.
    pip = ("-m", "pip", "wheel", "--isolated", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    run(sys.executable, *pip, "--config-settings", "build-args=--profile dev --locked", "--wheel-dir", out, sources, env=environment)
    [path] = out.iterdir()
    return path


def manifest(folder: Path) -> dict[str, Any]:
    """Cargo.toml without what a bare `cargo build` compiles: maturin leaves that out of a source distribution."""
    read = tomllib.loads((folder / "Cargo.toml").read_text(encoding="utf-8"))
    read["workspace"].pop("default-members", None)
    return read


def compiled_sources() -> set[str]:
    """Every file of this folder that the extension was compiled from, by the compiler's own list."""
    # make's syntax: the target, a colon, and the files, in which a blank is escaped.
    [dependency_file] = (TARGET / "debug").glob("*_core.d")
    paths = [Path(path.replace("\\ ", " ")) for path in re.split(r"(?<!\\) ", dependency_file.read_text(encoding="utf-8").strip())[1:]]
    assert len(paths) > 100
    return {path.relative_to(ROOT).as_posix() for path in paths}


@pytest.fixture(scope="module")
def strangers_python(built_by_pip: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a clean environment into which the sources were installed, and nothing else."""
    folder = tmp_path_factory.mktemp("stranger")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--isolated", "--no-index", "--disable-pip-version-check", built_by_pip)
    return python


def without_settings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}


@pytest.mark.extended
def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    extension = {name for name in names if EXTENSION.fullmatch(name)}
    about = {name for name in names if re.match(r"sideline-[^/]+\.dist-info/", name)}
    sources = {f"sideline/{path.relative_to(PACKAGE).as_posix()}" for kind in ("*.py", "*.pyi", "*.html", "*.md") for path in PACKAGE.rglob(kind)}
    assert len(extension) == 1
    assert {name.partition("/")[2] for name in about} == DIST_INFO
    # Spark finds its data sources by the names of top-level modules.
    assert names - extension - about == {*sources, "sideline/py.typed", "pyspark_sideline/__init__.py"}


@pytest.mark.extended
def test_pip_builds_the_same_wheel_from_the_source_distribution(built_by_pip: Path, wheel: Path) -> None:
    names = [set(zipfile.ZipFile(path).namelist()) for path in (built_by_pip, wheel)]
    assert names[0] == names[1]


@pytest.mark.extended
def test_the_source_distribution_holds_the_sources_and_nothing_else(sources: Path) -> None:
    source_names = {path.relative_to(sources).as_posix() for path in sources.rglob("*") if path.is_file()}
    assert {name.partition("/")[0] for name in source_names} <= SOURCE
    settings = {".cargo/config.toml"}
    assert settings <= source_names
    assert not [name for name in source_names - settings if re.search(r"(^|/)(\.|__pycache__/|target/)|\.(so|pyd|pyc|whl|gz|parquet|journal)$", name)]
    # All that compiles, and all that tests read.
    for part in ("src", "crates", "python", "tests", "docs", "examples", "benches"):
        kinds = {".rs", ".py", ".pyi", ".json", ".md", ".pem", ".typed"}
        names_here = {path.relative_to(ROOT).as_posix() for path in (ROOT / part).rglob("*") if path.suffix in kinds or path.name == "py.typed"}
        assert {name for name in names_here if not re.search(r"/\.", name)} <= source_names
    assert {"Cargo.lock", "Cargo.toml", "pyproject.toml", "README.md", "LICENSE", "PKG-INFO"} <= source_names
    run("cargo", "metadata", "--locked", "--offline", "--format-version=1", at=sources)


@pytest.mark.extended
def test_nothing_is_required_but_by_an_extra(metadata: Message) -> None:
    required = metadata.get_all("Requires-Dist", [])
    assert required
    assert [requirement for requirement in required if not re.search(r"extra == '\w+'$", requirement)] == []
    assert set(metadata.get_all("Provides-Extra", [])) == set(EXTRAS)


@pytest.mark.extended
def test_the_readme_runs_in_a_clean_installation(strangers_python: Path, tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.findall(r"```python\n(.*?)```", readme, re.S)[0]
    assert "box_score" in run(strangers_python, "-I", "-W", "error", "-c", first, at=tmp_path, env=without_settings())
    assert "lines of a box score" in run(strangers_python, "-I", ROOT / ".github" / "smoke.py", at=tmp_path, env=without_settings())
    freeze_lines = run(sys.executable, "-m", "pip", "--python", strangers_python, "list", "--isolated", "--format=freeze")
    assert [line.partition("==")[0] for line in freeze_lines.split()] == ["sideline"]


def test_code_that_requires_each_extra_is_known() -> None:
    assert set(EXTRAS) == {*USES, *LIBRARY_OF_THE_PROGRAM, *BESIDE_ANOTHER}


@pytest.mark.extended
@pytest.mark.parametrize("extra", sorted(USES))
def test_a_missing_extra_names_its_install_line(extra: str, strangers_python: Path, tmp_path: Path) -> None:
    program = f"""
import sys
import sideline

def command(*words):
    from sideline.cli import main

    sys.stderr = sys.stdout
    assert main(words) == 1

teams = sideline.Payload.from_bytes("teams", b'{{"teams": []}}')
try:
    {USES[extra]}
except ImportError as error:
    print(error)
"""
    output = run(strangers_python, "-I", "-c", program, at=tmp_path, env=without_settings())
    assert f'pip install "sideline[{extra}]"' in output


CHECK = ROOT / ".github" / "check_wheels.py"


@pytest.mark.parametrize("path", ["/root/one/lib.rs", "/home/ann/sideline/src/lib.rs", "/Users/ann/lib.rs", r"C:\Users\ann\lib.rs", ".cargo/registry"])
def test_a_wheel_that_reveals_where_it_was_built_is_found(path: str, tmp_path: Path) -> None:
    faults_in = runpy.run_path(str(CHECK))["faults_in"]
    with zipfile.ZipFile(tmp_path / "one.whl", "w") as archive:
        archive.writestr("sideline/_core.abi3.so", b"\x00panicked at crates/tokio-1/src/lib.rs /rustc/0a1b/library/core\x00")
    assert faults_in(tmp_path / "one.whl") == []
    with zipfile.ZipFile(tmp_path / "one.whl", "a") as archive:
        archive.writestr("sideline/more.so", b"\x7fELF" + path.encode() + b"\x00")
    [fault] = faults_in(tmp_path / "one.whl")
    assert "sideline/more.so" in fault


@pytest.mark.parametrize(("name", "limit"), [("one-abi3-manylinux_2_28_x86_64.whl", 4_300_000), ("one-abi3-macosx_11_0_arm64.whl", 4_700_000)])
def test_a_wheel_that_is_too_large_is_found(name: str, limit: int, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        archive.writestr("sideline/_core.abi3.so", bytes(limit - 100_000))
    subprocess.run([sys.executable, CHECK, tmp_path], check=True)
    with zipfile.ZipFile(tmp_path / name, "a") as archive:
        archive.writestr("sideline/more.so", bytes(100_000))
    done = subprocess.run([sys.executable, CHECK, tmp_path], check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert re.fullmatch(rf"{name}: {limit // 1000:,},\d{{3}} bytes, more than {limit:,}\n", done.stderr)


def test_the_extension_holds_no_table_of_time_zones() -> None:
    """`.cargo/config.toml` leaves it out, 0.2 MB of the wheel and half a millisecond of each import."""
    extension = Path(_core.__file__).read_bytes()
    assert b"America/Argentina/Ushuaia" not in extension
    assert b"UTC" in extension


@pytest.mark.extended
def test_no_file_of_the_package_but_the_extension_names_a_folder_of_the_builders(light: Path, tmp_path: Path) -> None:
    """The extension's own are mapped away by the release (`RUSTFLAGS`), which tries it: this one is of the dev profile."""
    shutil.copy(light, tmp_path)
    run(sys.executable, ROOT / ".github" / "clean_sbom.py", tmp_path)
    assert runpy.run_path(str(CHECK))["faults_in"](tmp_path / light.name) == []


WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))


def test_the_release_has_a_wheel_for_each_platform_made_on_its_own_kind() -> None:
    rows = WORKFLOW["jobs"]["wheel"]["strategy"]["matrix"]["include"]
    systems = ["unknown-linux-gnu", "unknown-linux-musl", "apple-darwin", "pc-windows-msvc"]
    assert sorted(row["target"] for row in rows) == sorted(f"{processor}-{system}" for processor in ("x86_64", "aarch64") for system in systems)
    for row in rows:
        # macOS runners are arm64 unless they say intel.
        runner = row["runner"]
        is_arm = "arm" in runner or (runner.startswith("macos") and "intel" not in runner)
        assert is_arm == row["target"].startswith("aarch64"), row
        assert ("manylinux" in row) == ("linux" in row["target"]), row
        assert row.get("manylinux", "").startswith("musllinux") == row["target"].endswith("musl"), row


def test_the_release_drafts_what_was_tested_and_shows_what_was_installed() -> None:
    jobs = WORKFLOW["jobs"]
    assert set(jobs["draft"]["needs"]) == {"ci", "wheel", "sdist", "test", "test-musl"}
    assert set(jobs["show"]["needs"]) == {"installed", "installed-musl", "attested"} == {name for name in jobs if jobs[name].get("needs") == "publish"}
    assert jobs["test"]["needs"] == jobs["test-musl"]["needs"] == "wheel"
    assert jobs["publish"]["needs"] == "draft"
    order = [str(step.get("run", "")) + step.get("uses", "") for step in jobs["draft"]["steps"]]
    places = [
        next(place for place, step in enumerate(order) if word in step) for word in ("gh release create", "attest-build-provenance", "attestation verify")
    ]
    assert places == sorted(places)
    assert "--draft" in order[places[0]]
    for name in ("wheel", "sdist"):
        steps = [str(step.get("run", "")) + step.get("uses", "") for step in jobs[name]["steps"]]
        last_step = next(place for place, step in enumerate(steps) if "finish-wheels" in step or "build-offline" in step)
        assert last_step < next(place for place, step in enumerate(steps) if "upload-artifact" in step)
    homes = ["/root", "/Users/runner", r"C:\Users\runneradmin"]
    homes_in_flags = re.findall(r"--remap-path-prefix=(\S+?)[/\\]\.cargo[/\\]registry[/\\]src=crates", WORKFLOW["env"]["RUSTFLAGS"])
    assert homes_in_flags == homes
    # YAML 1.1 reads `on` as true.
    assert WORKFLOW[True]["push"] == {"tags": ["v*"]}
    assert WORKFLOW["permissions"] == {"contents": "read"}


def test_every_action_is_pinned_to_a_commit() -> None:
    used = [name for path in (ROOT / ".github/workflows").glob("*.yml") for name in re.findall(r"uses: (\S+)", path.read_text())]
    assert len(used) > 10
    assert [name for name in used if not name.startswith("./") and not re.search(r"@[0-9a-f]{40}$", name)] == []


@pytest.mark.extended
def test_a_cleaned_sbom_lists_every_crate_and_depends_on_the_commit_alone(light: Path, tmp_path: Path) -> None:
    sboms = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        shutil.copy(light, folder)
        if folder.name == "two":
            # As another machine would have written it.
            rewritten = folder / light.name
            with zipfile.ZipFile(light) as source, zipfile.ZipFile(rewritten, "w") as target:
                for info in source.infolist():
                    content = source.read(info)
                    if "/sboms/" in info.filename:
                        content = content.replace(str(ROOT).encode(), b"/home/other")
                        # Of a folder with the package's name cargo gives no name, of any other it does.
                        other = b"#" if b"#sideline@" in content else b"#sideline@"
                        content = re.sub(rb"(path\+file://[^#\"]*)#(?:sideline@)?", rb"\1" + other, content)
                        content = re.sub(rb'"timestamp": ?"[^"]*"', b'"timestamp": "2020-01-01T00:00:00Z"', content)
                        content = re.sub(rb"urn:uuid:[0-9a-f-]{36}", b"urn:uuid:" + b"0" * 36, content)
                    target.writestr(info, content)
        run(sys.executable, ROOT / ".github/clean_sbom.py", folder)
        [wheel_path] = folder.iterdir()
        with zipfile.ZipFile(wheel_path) as archive:
            [name] = [name for name in archive.namelist() if "/sboms/" in name]
            sboms.append(archive.read(name))
            [record] = [name for name in archive.namelist() if name.endswith("/RECORD")]
            digests = {line.split(",")[0]: line.split(",")[1] for line in archive.read(record).decode().splitlines()}
            digest = base64.urlsafe_b64encode(hashlib.sha256(sboms[-1]).digest()).rstrip(b"=").decode()
            assert digests[name] == f"sha256={digest}"
    assert sboms[0] == sboms[1]
    assert str(ROOT).encode() not in sboms[0]
    listed_crates = {component["name"] for component in json.loads(sboms[0])["components"]}
    assert {"arrow-array", "hmac", "reqwest", "rustls", "tokio"} <= listed_crates


def test_the_licence_of_every_linked_crate_ships() -> None:
    targets = tomllib.loads((ROOT / "about.toml").read_text(encoding="utf-8"))["targets"]
    of_wheels = [word for target in targets for word in ("--target", target)]
    tree = run("cargo", "tree", "--locked", "--package", "sideline-extension", "--edges", "normal,no-proc-macro", *of_wheels, "--prefix", "none")
    linked_crates = {" ".join(line.split()[:2]).replace(" v", " ") for line in tree.splitlines() if line}
    assert {"arrow-array 59", "hmac 0", "reqwest 0", "rustls 0", "tokio 1"} <= {crate.partition(".")[0] for crate in linked_crates}
    text = (ROOT / "THIRD-PARTY-LICENSES.txt").read_text(encoding="utf-8")
    licensed_crates = {" ".join(line.split()[:2]) for line in text.splitlines() if line.startswith("  ")}
    missing = {crate for crate in linked_crates - licensed_crates if not crate.startswith("sideline")}
    assert not missing, f"stale: run make licences; it lacks {sorted(missing)}"
    assert "Copyright 2016 Eric Biggers" in text, "the C library inside libdeflate-sys"
