"""For mkdocstrings: docstrings as Markdown and Google's style want them, and those that the extension alone has."""

import re
from functools import reduce
from typing import Any

import griffe

from sideline import _core

EXAMPLE = re.compile(r"^>>> .*\n?(?:^.+\n?)*", re.M)
SEVERAL = re.compile(r"^( +)(\w+(?:, \w+)+):( .*(?:\n\1 +.*)*)", re.M)


class Docstrings(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.path.startswith("sideline._core.") and not obj.docstring:
            found = reduce(lambda of, name: getattr(of, name, None), obj.path.split(".")[2:], _core)
            if text := getattr(found, "__doc__", None):
                obj.docstring = griffe.Docstring(text, parent=obj)
        if obj.docstring:
            # Markdown would take `>>>` for quotations.
            text = EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", obj.docstring.value)
            # One line names several parameters: each gets its own.
            obj.docstring.value = SEVERAL.sub(
                lambda found: "\n".join(f"{found[1]}{name}:{found[3]}" for name in found[2].split(", ")), text
            )
