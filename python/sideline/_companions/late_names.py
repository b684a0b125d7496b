"""The second pass over a capture: what a body kept before a later one showed it to be an id or a name is replaced.

It reads pseudonyms alone, so a resumed capture has it too: a value is a known id if its pseudonym is that of one. A
value that equals such a pseudonym stays, as nobody can tell it from one.
"""

import json
from collections.abc import Callable

from .capture_folder import Capture, CaptureFolder, raw_of, text_of
from .pseudonyms import Pseudonyms, is_digits, may_stay
from .wire_fields import KNOWN_KEYS, Kind


def replace_late(store: CaptureFolder, capture: Capture, pseudonyms: Pseudonyms) -> None:
    """Replace late ids and names in the bodies and streams of a capture."""
    late = _LatePseudonyms(pseudonyms.key)
    _change(store, capture, late.remember)
    _change(store, capture, late.body)


def _change(store: CaptureFolder, capture: Capture, change: Callable[[bytes], bytes]) -> None:
    for exchange in capture.exchanges:
        raw = store.body(exchange)
        if raw is not None and exchange.body is not None and (replacement := change(raw)) != raw:
            store.write_body(exchange.body.removeprefix("bodies/"), replacement)
    for stream in capture.streams:
        lines = store.lines(stream)
        before = json.dumps(lines)
        for line in lines:
            if "text" in line:
                line["text"] = text_of(change(raw_of(line["text"])))
        if json.dumps(lines) != before:
            store.write_lines(stream.file.removeprefix("streams/"), lines)


class _LatePseudonyms(Pseudonyms):
    """Pseudonyms for bodies that have them: its ids and names are pseudonyms, and what was replaced stays."""

    def remember(self, raw: bytes) -> bytes:
        self.learn(raw)
        return raw

    def is_id(self, text: str) -> bool:
        return text not in self.ids and self.text(text) in self.ids

    def is_name_word(self, word: str) -> bool:
        return word not in self.names and self.text(word).lower() in self.names

    def object_key(self, name: str) -> str:
        is_late = name not in KNOWN_KEYS and (self.is_name(name) or self.is_id(name))
        return self.text(name) if is_late else name

    def _token(self, field: str, is_key: bool, token: str) -> str:
        return super()._token(field, is_key, token) if token[0] == '"' or is_digits(token) else token

    def _digits(self, kind: Kind, digits: str) -> str:
        return digits if kind in ("id", "jersey") else super()._digits(kind, digits)

    def _string(self, kind: Kind, value: str) -> str:
        return self.text(value) if may_stay(kind, value) and self.is_name(value) else value

    def message(self, text: str) -> str:
        return text
