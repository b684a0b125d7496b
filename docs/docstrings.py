"""A mkdocstrings extension: adapts docstrings to Markdown and Google style."""

import re
from pathlib import Path
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*\n?(?:^.+\n?)*", re.M)
SEVERAL = re.compile(r"^( +)(\w+(?:, \w+)+):( .*(?:\n\1 +.*)*)", re.M)
# The titles of pages, which help texts cite, in the navigation.
PAGES = dict(re.findall(r"- ([^:\n]+): ([\w-]+)\.md", (Path(__file__).parent.parent / "mkdocs.yml").read_text()))
TITLES = "|".join(re.sub(" ", r"\\s+", re.escape(title).replace("\\ ", " ")) for title in PAGES)
PAGE = re.compile(rf'documentation:\s+({TITLES})(?:,\s+"([^"]+)")?')


class Docstrings(griffe.Extension):
    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        rewrite(pkg)
        # Inherited members would come first: streams before the requests, which every user needs first.
        for module in ("_client.client", "_client.async_client"):
            for client in pkg[module].classes.values():
                for name, member in client.inherited_members.items():
                    client.set_member(name, griffe.Alias(name, member.final_target, parent=client))


def rewrite(of: griffe.Object) -> None:
    for member in of.members.values():
        if not member.is_alias:
            rewrite(member)
    if of.docstring:
        # Markdown reads `>>>` as quotations.
        text = EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", of.docstring.value)
        # A line for several parameters is split.
        text = SEVERAL.sub(
            lambda found: "\n".join(f"{found[1]}{name}:{found[3]}" for name in found[2].split(", ")), text
        )
        of.docstring.value = PAGE.sub(lambda found: f"documentation: {link(found[1], found[2])}", text)


def link(title: str, section: str | None) -> str:
    """Return a link from the reference to a page that a docstring cites."""
    name = " ".join(title.split())
    page = PAGES[name]
    if section is None:
        return f"[{name}]({page}.md)"
    section = " ".join(section.split())
    slug = re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", section.lower()).strip())
    return f"[{name}, {section}]({page}.md#{slug})"
