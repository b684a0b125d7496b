"""The documentation is current, complete and builds; every Python block of it runs, each by itself."""

from __future__ import annotations

import html
import importlib
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from forks import Forks, forks
from needs import library, needs
from pages import BLOCKS, PAGES, Block

import sideline
from browser import CHROMIUM, browser
from sideline import cli

image = library("matplotlib.image")
ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def test_the_page_of_tables_is_current() -> None:
    module = runpy.run_path(str(DOCS / "make_tables.py"))
    assert module["PAGE"].read_text(encoding="utf-8") == module["page"](), "run python docs/make_tables.py"
    assert module["TRUST"].read_text(encoding="utf-8") == module["trust_page"](), "run python docs/make_tables.py"


def test_what_syncs_take_is_what_was_measured() -> None:
    module = runpy.run_path(str(DOCS / "make_growth.py"))
    assert module["PAGE"].read_text(encoding="utf-8") == module["page"](), "run python docs/make_growth.py"


@pytest.fixture(scope="module")
def process() -> Iterator[Forks]:
    with forks() as process:
        yield process


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.page.name}:{block.line}")
def test_python_blocks_of_the_documentation_run(block: Block, process: Forks, service: sideline.Simulator, tmp_path: Path) -> None:
    path = tmp_path / "test_block.py"
    path.write_text(block.code, encoding="utf-8")
    env = {**service.environ, "MPLBACKEND": "Agg", "MPLCONFIGDIR": str(tmp_path), "HOME": str(tmp_path)}
    done = process.run(path, env, is_pytest="def test_" in block.code)
    assert (done.status, done.stderr) == (0, ""), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("code", "status", "message"),
    [
        ("import sys; print('here'); sys.exit(7)", 7, "here"),
        ("import warnings; warnings.warn('old')", 1, "UserWarning: old"),
        ("raise KeyError('x')", 1, "KeyError: 'x'"),
        ("import sideline; import time; time.sleep(9)", 124, ""),
        ("import atexit; atexit.register(print, 'last')", 0, "last"),
        ("def test_one(): assert 1 == 2", 1, "assert 1 == 2"),
    ],
)
def test_a_fork_behaves_like_a_process_of_its_own(code: str, status: int, message: str, process: Forks, tmp_path: Path) -> None:
    path = tmp_path / "test_script.py"
    path.write_text(code, encoding="utf-8")
    done = process.run(path, os.environ, is_pytest="def test_" in code, timeout=5)
    assert done.status == status, done
    assert message in done.stdout + done.stderr
    assert process.run(path, {"NAME": "value"}, is_pytest="def test_" in code, timeout=5).status == status, "the next fork is clean"


SHELL = [
    (page.name, line.partition("#")[0].strip())
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]
    for code in re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)
    for line in code.splitlines()
]


@pytest.mark.parametrize(("page", "command"), SHELL)
def test_shell_lines_of_the_documentation_are_valid(page: str, command: str) -> None:
    words = shlex.split(command)
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    elif words[0] == "sideline":
        cli.command_parser().parse_args(words[1:])
    elif words[0] == "eval":
        cli.command_parser().parse_args(shlex.split(words[1].strip("$()"))[1:])
    elif words[0] == "export":
        names = {word.partition("=")[0] for word in words[1:]}
        assert names <= {line.partition("=")[0] for line in re.findall(r"SIDELINE_\w+", (DOCS / "index.md").read_text(encoding="utf-8"))}
    else:
        assert words[:2] == ["pip", "install"]
        extras = set(re.findall(r"\w+", words[2])) - {"sideline"}
        assert extras <= set(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"])


def test_there_is_no_code_that_nothing_runs() -> None:
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        languages_used = re.findall(r"^ *```(\w*)$", page.read_text(encoding="utf-8"), re.M)[::2]
        # tests/test_assistant.py starts the server of each JSON; the commands about a release need a published one; test_crates.py compares the picture.
        languages = {"assistant.md": {"json"}, "design.md": {"text"}, "releases.md": {"text"}}
        assert set(languages_used) <= {"python", "sh", *languages.get(page.name, ())}, page.name


def test_every_link_leads_somewhere() -> None:
    """The site's builder looks at the pages of docs/ alone."""
    for page in [*ROOT.glob("*.md"), *(page for folder in ("docs", "benches", "notebooks") for page in (ROOT / folder).glob("*.md"))]:
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
        for link in re.findall(r"\]\(([^)#\s]+)", text):
            assert link.startswith("https://") or (page.parent / link).exists(), f"{page.name}: {link}"


@needs("matplotlib", "pyarrow", extra="plot")
def test_the_pictures_of_the_plots_are_those_that_their_code_draws(tmp_path: Path) -> None:
    [block] = [block for block in BLOCKS if "shots.png" in block.code]
    subprocess.run(
        [sys.executable, "-c", block.code], cwd=tmp_path, env={**os.environ, "MPLBACKEND": "Agg", "MPLCONFIGDIR": str(tmp_path)}, check=True, timeout=60
    )
    for picture in tmp_path.glob("*.png"):
        stored_image, now = (image.imread(folder / picture.name) for folder in (DOCS, tmp_path))
        assert stored_image.shape == now.shape
        # Letters differ a little from machine to machine.
        assert (np.abs(stored_image - now).max(axis=2) > 0.3).mean() < 0.005, f"{picture.name}: look at it, and copy it to docs/"


def prose(text: str) -> str:
    """A page without code, without addresses of links, and without what a script writes to its end."""
    text = re.sub(r"^```.*?^```", "", text.partition("<!-- Generated")[0], flags=re.S | re.M)
    return re.sub(r"\]\([^)]*\)", "]", text)


def test_the_pages_beside_the_reference_can_be_read() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    reference = set(re.findall(r"\((\S+\.md)\)", index.partition("### Reference\n")[2].partition("\n### ")[0]))
    assert {"reference.md", "tables.md", "wire.md"} < reference
    words = {page.name: len(re.findall(r"\w[\w'.,/-]*", prose(page.read_text(encoding="utf-8")))) for page in DOCS.glob("*.md") if page.name not in reference}
    assert sum(words.values()) <= 20_000, words


def test_every_page_that_should_show_code_does() -> None:
    page_names = {block.page.name for block in BLOCKS}
    assert {page.name for page in PAGES} - page_names == {"design.md", "glossary.md", "reference.md", "releases.md", "tables.md", "versions.md"}


@pytest.mark.extended
@pytest.mark.source
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=170, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "site" / "reference" / "index.html").read_text(encoding="utf-8")
    text = html.unescape(re.sub(r"<[^>]+>", "", page))
    # What the extension's classes say stands beside the rest; examples are code.
    for documented_class in (sideline.Payload, sideline.Table, sideline.Update, sideline.LiveStream, sideline.Client):
        assert documented_class.__doc__
        assert documented_class.__doc__.split("`")[0].splitlines()[0] in text
    assert ">>> client.teams()" in text
    assert "<blockquote>" not in page
    assert page.index('id="sideline.Client.teams"') < page.index('id="sideline.Client.live"'), "requests come before streams"
    assert '<a href="../wire/#list-teams">' in page
    check_markdown_of(tmp_path / "site")
    if CHROMIUM is not None:
        check_colours_of(tmp_path)


def check_colours_of(folder: Path) -> None:
    """A reader who prefers dark colours has them at the first visit; links are more than a colour, and the search has a name."""
    with browser(folder / "profile") as tab:
        tab.prefer("dark")
        tab.resize(1280)
        tab.open((folder / "site" / "plots" / "index.html").as_uri())
        tab.wait("document.readyState === 'complete' && document.body.dataset.mdColorScheme === 'slate'")
        assert tab.run("getComputedStyle(document.querySelector('article p a:not(.headerlink)')).textDecorationLine") == "underline"
        assert tab.run("document.querySelector('[role=dialog]').ariaLabel") == "Search"


def check_markdown_of(site: Path) -> None:
    """Each page is there as Markdown, its links lead to others, and llms.txt lists all."""
    lines = (site / "llms.txt").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# sideline" and lines[2].startswith("> ")
    links = {match[1] for line in lines if (match := re.fullmatch(r"- \[[^]]+\]\((\S+)\): .+", line))}
    copies = {path.relative_to(site).as_posix() for path in site.rglob("*.html.md")}
    assert links == copies
    assert len(copies) == len(list(DOCS.glob("*.md")))
    for path in site.rglob("*.html.md"):
        assert path.with_suffix("").exists(), "it stands beside its page"
        text = path.read_text(encoding="utf-8")
        for link in re.findall(r"\]\((?!https://)([^)#\s]+\.(?:md|png))", text):
            assert (path.parent / link).exists(), f"{path}: {link}"
    reference = (site / "reference" / "index.html.md").read_text(encoding="utf-8")
    assert ":::" not in reference
    assert "#### sideline.Client.teams\n\n```python\nteams(*, timeout:" in reference


def pages_in(nav: list[Any]) -> Iterator[str]:
    for entry in nav:
        for page in entry.values():
            yield from [page] if isinstance(page, str) else pages_in(page)


def test_every_page_is_in_the_sites_navigation() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert sorted(pages_in(site["nav"])) == sorted(path.name for path in DOCS.glob("*.md"))


@pytest.mark.source
def test_every_page_that_the_package_cites_is_named_by_its_title_and_has_that_section() -> None:
    site = runpy.run_path(str(DOCS / "docstrings.py"))
    citations = set()
    for path in (ROOT / "python").rglob("*.py*"):
        if path.suffix not in (".py", ".pyi"):
            continue
        text = path.read_text(encoding="utf-8")
        # A wheel has no folder of that name.
        assert not re.findall(r"docs/[\w-]+\.md", text), path
        pages = site["PAGE"].findall(text)
        assert len(pages) == len(re.findall(r"documentation:\s", text)), f"{path} cites a page that the navigation does not name"
        citations.update(pages)
    assert ("The wire", "List teams") in citations
    for title, section in citations:
        page = site["PAGES"][" ".join(title.split())]
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        assert not section or f"# {' '.join(section.split())}\n" in text, f"docs/{page}.md has no section {section!r}"


def test_every_public_name_is_in_the_reference() -> None:
    documented_names = set(re.findall(r"^::: sideline\.(\w+)$", (DOCS / "reference.md").read_text(encoding="utf-8"), re.M))
    assert set(sideline.__all__) - {"__version__"} <= documented_names


@pytest.mark.parametrize("module", ["live", "metrics", "plot"])
def test_every_public_name_of_a_module_is_in_the_reference(module: str) -> None:
    names = {name for name in importlib.import_module(f"sideline.{module}").__all__ if not name.isupper()}
    reference = (DOCS / "reference.md").read_text(encoding="utf-8")
    documented_names = set(re.findall(r"^::: sideline\.(?:\w+\.)?(\w+)$", reference, re.M))
    assert names - documented_names == set()


def test_each_notice_is_where_notices_are_listed() -> None:
    live = importlib.import_module("sideline.live")
    names = {name for name in live.__all__ if issubclass(getattr(live, name), live.Notice)} - {"Notice"}
    items = (DOCS / "live.md").read_text(encoding="utf-8").partition("## Items\n")[2].partition("\n## ")[0]
    [entry] = re.findall(r"^\| notice \|.*", (DOCS / "glossary.md").read_text(encoding="utf-8"), re.M)
    assert names <= set(re.findall(r"^\| `(\w+)` \|", items, re.M))
    assert names == set(re.findall(r"`(\w+)`", entry))


@pytest.mark.parametrize(("module", "page"), [("metrics", "metrics.md"), ("plot", "plots.md")])
def test_every_function_of_a_module_is_in_the_table_of_its_page(module: str, page: str) -> None:
    functions = {name for name in importlib.import_module(f"sideline.{module}").__all__ if name.islower()}
    first_cells = re.findall(r"^\| (.+?) \|", (DOCS / page).read_text(encoding="utf-8"), re.M)
    assert functions - set(re.findall(r"`(\w+)`", " ".join(first_cells))) == set()
