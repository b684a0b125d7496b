"""A mkdocs hook: the site also has each page as Markdown, and llms.txt lists them (https://llmstxt.org).

The page `archive/` is `archive/index.html.md`, with the declarations and docstrings in the place of each `:::` of the
reference. The line of a page in llms.txt is its row in README.md.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import griffe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.nav import Navigation

ROOT = Path(__file__).parent.parent
ROW = re.compile(r"^\| \[[^]]+\]\(([\w-]+\.md)\) \| (.+) \|$", re.M)
LINK = re.compile(r"\]\(([\w-]+\.(?:md|png))(#[\w-]+)?\)")
DIRECTIVE = re.compile(r"^::: (\S+)$", re.M)

_pages: dict[str, tuple[str, str]] = {}
"""The title and the address of each page, by the name of its source, in the order of the navigation."""


def on_nav(nav: Navigation, **_: Any) -> None:
    """Remember the pages."""
    _pages.clear()
    for page in nav.pages:
        _pages[page.file.src_uri] = (str(page.title), f"{page.file.dest_uri}.md")


def on_post_page(output: str, **_: Any) -> str:
    """Name the search, which the theme leaves without a name for screen readers."""
    return output.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'
    )


def on_post_build(*, config: MkDocsConfig) -> None:
    """Write the pages and the list of them."""
    site = Path(config.site_dir)
    package = griffe.load("sideline", search_paths=[ROOT / "python"], allow_inspection=False, resolve_aliases=True)
    for name, (_, address) in _pages.items():
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        text = DIRECTIVE.sub(lambda found: "\n\n".join(declared(package, found[1])), text)
        (site / address).write_text(relinked(text, posixpath.dirname(address)), encoding="utf-8")
    (site / "llms.txt").write_text(llms_txt(config), encoding="utf-8")


def relinked(text: str, folder: str) -> str:
    """Return a page whose links lead to the Markdown of other pages, and to pictures, from its folder in the site."""

    def link(found: re.Match[str]) -> str:
        address = _pages[found[1]][1] if found[1] in _pages else found[1]
        return f"]({posixpath.relpath(address, folder or '.')}{found[2] or ''})"

    return LINK.sub(link, text)


def llms_txt(config: MkDocsConfig) -> str:
    """Return the title, the description, and a line for each page."""
    about = {"index.md": "installation, a first table, the pages by reader"}
    about |= ROW.findall((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    lines = [f"- [{title}]({address}): {about[name]}" for name, (title, address) in _pages.items()]
    return "\n".join([f"# {config.site_name}", "", f"> {config.site_description}", "", "## Pages", "", *lines, ""])


def declared(package: griffe.Module, path: str) -> Iterator[str]:
    """Yield the signature and docstring of a name of the reference, and of its public members."""
    found = package[path.partition(".")[2]]
    yield from described(found.final_target if found.is_alias else found, path)


def described(of: griffe.Object, path: str) -> Iterator[str]:
    """Yield a heading, the signature and the docstring of an object, then those of its public members."""
    yield f"{'####' if of.is_function or of.is_attribute else '###'} {path}"
    if isinstance(of, griffe.Function):
        yield f"```python\n{of.signature(name=of.name)}\n```"
    if of.docstring:
        yield of.docstring.value
    if of.is_class or of.is_module:
        for name, member in of.all_members.items():
            if not name.startswith("_") and not member.is_alias and member.has_docstring:
                yield from described(member, f"{path}.{name}")
