"""A mkdocstrings extension: adapts docstrings to Markdown and Google style."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*\n?(?:^.+\n?)*", re.M)
SEVERAL = re.compile(r"^( +)(\w+(?:, \w+)+):( .*(?:\n\1 +.*)*)", re.M)


class Docstrings(griffe.Extension):
    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        rewrite(pkg)


def rewrite(of: griffe.Object) -> None:
    for member in of.members.values():
        if not member.is_alias:
            rewrite(member)
    if of.docstring:
        # Markdown reads `>>>` as quotations.
        text = EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", of.docstring.value)
        # A line for several parameters is split.
        of.docstring.value = SEVERAL.sub(
            lambda found: "\n".join(f"{found[1]}{name}:{found[3]}" for name in found[2].split(", ")), text
        )
