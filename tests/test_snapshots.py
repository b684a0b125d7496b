"""Messages of a stream as Python objects: they depend only on the message's own text, not on earlier messages."""

from __future__ import annotations

import copy
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import sideline
from streams import HEAD, server

TEAM = {"id": 46, "name": "Kansas Wheat", "player_stats": [{"id": 461, "stats": {"FGA": 3, "FG": 1}, "note": None}]}
SNAPSHOT: dict[str, Any] = {"game_clock": "12:30.0", "version": 5, "teams": [TEAM, {**TEAM, "id": 47}], "over": False}


@contextmanager
def updates_of(texts: list[str]) -> Iterator[list[sideline.Update]]:
    """The messages of a stream that sends these texts, which contain no line ends."""

    def send(to: socket.socket) -> None:
        to.sendall(HEAD + b"".join(b"data: " + text.encode() + b"\n\n" for text in texts))
        to.recv(1)

    with server([send]) as service, service.client() as client, client.live_stats("g1", notices=False) as stream:
        yield [item for _, item in zip(texts, stream, strict=False) if isinstance(item, sideline.Update)]


def is_equal(first: object, other: object) -> bool:
    """Equal, and of the same types: 1 is not 1.0, and the order of keys counts."""
    return repr(first) == repr(other)


def read(text: str) -> object:
    """The objects of a text on its own: a payload has no earlier message to compare it with."""
    try:
        return sideline.Payload.from_bytes("get", text.encode()).to_dict()
    except sideline.DecodeError as error:
        return str(error)


def given_of(update: sideline.Update) -> object:
    try:
        return update.to_dict()
    except sideline.DecodeError as error:
        return str(error)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["", "\\", '"', "é", "\U0001f3c0", "x" * 40]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def places(document: Any) -> list[tuple[Any, Any]]:
    """Each container in a document, with each of its keys or indices."""
    keys: Any = list(document) if isinstance(document, dict) else range(len(document)) if isinstance(document, list) else ()
    return [place for key in keys for place in ((document, key), *places(document[key]))]


@st.composite
def histories(draw: st.DrawFn) -> list[str]:
    """A document that changes from one text to the next: values anywhere; keys that appear, disappear and are duplicated."""
    document = copy.deepcopy(SNAPSHOT)
    texts = []
    for _ in range(draw(st.integers(2, 12))):
        for _ in range(draw(st.integers(0, 3))):
            if not (choices := places(document)):
                break
            within, key = draw(st.sampled_from(choices))
            match draw(st.sampled_from(["set", "set", "set", "remove", "add"])):
                case "set":
                    within[key] = draw(VALUES)
                case "remove":
                    del within[key]
                case _ if isinstance(within, dict):
                    # Anywhere among the others, and perhaps in place of one of them.
                    members = list(within.items())
                    members.insert(draw(st.integers(0, len(members))), (draw(st.text(max_size=3)), draw(VALUES)))
                    within.clear()
                    within.update(members)
                case _:
                    within.append(draw(VALUES))
        tight = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,", " : ")]))
        text = json.dumps(document, separators=tight, ensure_ascii=draw(st.booleans()))
        if draw(st.integers(0, 9)) == 0:
            # Remove a byte, or insert one that is not JSON.
            at = draw(st.integers(0, len(text) - 1))
            text = text[:at] + draw(st.sampled_from(["", "\ufeff", "0", '"', "}", "]", ",", " "])) + text[at + 1 :]
        elif draw(st.integers(0, 9)) == 0:
            text = text.replace('"version"', '"over"', 1)
        texts.append(text)
    return texts


def spoil(document: Any) -> None:
    """Changes all that can be changed in it."""
    for within, key in places(document):
        within[key] = "spoilt"
    if isinstance(document, dict):
        document["spoilt"] = document
    elif isinstance(document, list):
        document.append(document)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(histories())
def test_a_message_returns_what_its_own_text_says_whatever_is_done_to_others(texts: list[str]) -> None:
    with updates_of(texts) as updates:
        assert [update.text for update in updates] == texts
        for update in updates:
            for _ in range(2):
                document = given_of(update)
                assert is_equal(document, read(update.text)), update.text
                with suppress(ValueError):
                    independent = json.loads(update.text)
                    # Python's strings may hold half a character, which is no Unicode.
                    json.dumps(independent, ensure_ascii=False).encode()
                    assert is_equal(document, independent), update.text
                spoil(document)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a":1}', '{"a":12}'),
        ('{"a":12}', '{"a":1}'),
        ('{"a":1}', '{"a":1.5}'),
        ('{"a":1}', '{"a":-0}'),
        ('{"a":1}', '{"a":007}'),
        ('{"a":1}', '{"a":- 1}'),
        ('{"a":1}', '{"a":1234567890123456789012345}'),
        ('{"a":1}', '{"a":999999999999999999}'),
        ('{"a":1}', '{"a":9999999999999999999}'),
        ('{"a":1}', '{"a":-9999999999999999999}'),
        ('{"a":1}', '{"a":1e5}'),
        ('{"a":1}', '{"a":"\\ud83c"}'),
        ('{"a":1}', '{"a":\ufeff2}'),
        ('{"a":1}', '{"a":NaN}'),
        ('{"a":1}', '{"a":2}}'),
        ('{"a":1}', '{"a":2} '),
        ('{"a":1}', '{"a":2'),
        ('{"a":1}', '{"a":2]'),
        ('{"a":1,"a":2}', '{"a":3,"a":2}'),
        ('{"a":1,"b":2}', '{"a":1,"a":2}'),
        ('{"a":"x"}', '{"a":"x\\u00e9\\""}'),
        ('{"a":"x"}', '{"a":"x\ty"}'),
        ('{"a":"x"}', '{"a":"\\ud83c"}'),
        ('{"a":{}}', '{"a":[]}'),
        ('{"a":[]}', '{"a":[1]}'),
        ('{"a":[1,2]}', '{"a":[1,2,3]}'),
        ('{"a":[1,2]}', '{"a":[1]}'),
        ('{"a":{"b":1}}', '{"a":{"b":1,"c":2}}'),
        ('{"a":{"b":1}}', '{"a":{"b":1}x}'),
        # Keys that are new: before the others, between them, behind them.
        ('{"b":1,"d":2}', '{"a":0,"b":1,"d":2}'),
        ('{"b":1,"d":2}', '{"b":1,"c":{"x":[7]},"d":2}'),
        ('{"b":1,"d":2}', '{"b":1,"d":2,"e":[]}'),
        ('{"b":1,"d":2}', '{"_":0,"a":0,"b":10,"b1":0,"c":0,"d":20,"e":0,"f":0}'),
        ('{"x":1,"b":1,"d":[2]}', '{"x":100,"b":1,"c":0,"d":[3],"e":0}'),
        ('{"b":1,"d":2}', '{ "a" : 0 , "b":1,"d":2}'),
        ('{"b":1,"d":2}', '{"b":1 , "c" : 0,"d":2}'),
        ('[{"b":1},{"b":2},3]', '[{"a":{"y":1},"b":1},{"b":2,"c":1},4]'),
        ('{"a":{"b":{}}}', '{"a":{"b":{"c":1}}}'),
        ('{"a":{}}', '{"a":{"b":1,"c":1}}'),
        ('{"b":1,"d":2}', '{"b":1,"\u0063":0,"d":2}'),
        ('{"b":1,"d":2}', '{"b":1,"é🏀":0,"d":2}'),
        ('{"b":1,"d":2}', '{"b":1,"d":0,"d":2}'),
        ('{"b":1,"d":2}', '{"b":1,"c":0,"c":1,"d":2}'),
        ('{"b":1,"d":2}', '{"d":1,"b":1,"d":2}'),
        ('{"b":1,"d":2}', '{"c":1,"d":2}'),
        ('{"b":1,"d":2}', '{"b":1,"c":0"d":2}'),
        ('{"b":1,"d":2}', '{"b":1"c":0,"d":2}'),
        ('{"b":1,"d":2}', '{"b":1,"c"0,"d":2}'),
        ('{"b":1,"d":2}', '{"b":1,c:0,"d":2}'),
        ('{"b":1,"d":2}', '{"b":1,"c":,"d":2}'),
        ('{"b":1,"d":2}', '{"b":1,,"d":2}'),
        ('{"b":1,"d":2}', '{,"b":1,"d":2}'),
        ('{"b":1,"d":2}', '["a":0,"b":1,"d":2}'),
        ('{"b":1,"d":2}', '{"a":0 "b":1,"d":2}'),
        ('{"b":1,"d":2}', '{"a":"x""b":1,"d":2}'),
        ('{"b":1,"d":2}', '{"b":1,"d":2,}'),
        ('{"b":1,"d":2}', '{"b":1,"d":2,"e":0'),
        ('{"b":1,"d":2}', '{"b":1,"d":2,"e":0]'),
        ('{"a":{}}', '{"a":{"b":1,}}'),
        ("{}", '["a":1}'),
        ("[1,2]", '[1,"b":0,2]'),
        # What differs in a part, and behind it.
        ('{"a":{"b":1},"c":2}', '{"a":{"b":10},"c":2}'),
        ('{"a":{"b":1},"c":2}', '{"a":{"b":10},"c":3}'),
        ('{"a":{"b":1},"c":2}', '{"a":{"b":10},"c":30}'),
        ('{"a":{"b":1},"c":2}', '{"a":{"b":10},"c":2,"d":3}'),
        ('{"a":{"b":1},"c":2}', '{"a":{"b":1,"x":1},"y":0,"c":2}'),
        ('{"a":{"b":{"c":1}},"d":{"e":[1,2]},"f":3}', '{"a":{"b":{"c":100}},"d":{"e":[1,20]},"f":3}'),
        ('{"a":{"b":{"c":1}},"d":{"e":[1,2]},"f":3}', '{"a":{"b":{"c":1}},"d":{"e":[1,2,3]},"f":30}'),
        ('{"a":{"b":1},"c":2}', '{"a":{"b":1]},"c":2}'),
        ('{"a":{"b":1},"c":2}', '{"a":{"b":2},"c":2}}'),
        # And elements.
        ("[]", '[1,[2],{"a":3}]'),
        ("[1,2]", '[1,2,[3],{"a":4}]'),
        ("[[1],2]", "[[1,10],2,3,4]"),
        ("[1,2]", "[0,1,2]"),
        ("[1,2]", "[1 ,9,2]"),
        ("[[1],[2]]", "[[1] ,[9],[2]]"),
        ("[1,2]", "[1,2,]"),
        ("[1,2]", "[1,2 3]"),
        ("[1,2]", "[1,2,,3]"),
        ("[1,2]", "[1,2,3}"),
        ("[1,2]", "[1,2,3"),
        ("[]", "[1 2]"),
        ("[]", "[,1]"),
        ("[]", "{1]"),
        ("[]", '{"a":1}'),
        ("{}", '{"a":1,"b":{"c":2},"c":3}'),
        ("{}", '{"a":1,"a":3}'),
        ('{"a":{"b":1}}', '{"a":null}'),
        ('{"a":null}', '{"a":{"b":{"c":[1,{"d":2}]}}}'),
        ("[1,2]", "[1,3]"),
        ("1", "2"),
        ('{"a":1}', '{"a":' + "[" * 150 + "]" * 150 + "}"),
        ('{"a":' * 10 + "1" + "}" * 10, '{"a":' * 10 + "[" * 195 + "]" * 195 + "}" * 10),
    ],
)
def test_an_update_is_read_the_same_after_any_other(before: str, after: str) -> None:
    with updates_of([before, after, before, after, before]) as updates:
        for update in updates:
            assert is_equal(given_of(update), read(update.text)), update.text


NUMBERS = [sign + digits[:count] for sign in ("", "-") for digits in ("9876543210123456789", "0987654321") for count in range(20)]


@pytest.mark.parametrize("behind", ["}", " }", ',"b":"much more than sixteen bytes"}', ".5}", "e2}", "x}", ""])
def test_a_number_of_any_length(behind: str) -> None:
    texts = ['{"a":1}', *(f'{{"a":{number}{behind}' for number in NUMBERS)]
    with updates_of(texts) as updates:
        for update in updates:
            assert is_equal(given_of(update), read(update.text)), update.text


SNAPSHOTS = [json.dumps(SNAPSHOT | {"version": version}) for version in range(5)]


@pytest.mark.parametrize(
    "texts",
    [
        [*SNAPSHOTS, SNAPSHOTS[-1]],
        # New parts: in place of another value, under a new key, at the end of a list.
        ['{"a":1,"b":2}', '{"a":{"c":1},"b":2}', '{"a":{"c":1},"b":3}'],
        ['{"a":1}', '{"a":1,"b":{"c":1}}', '{"a":2,"b":{"c":1}}'],
        ['{"b":1}', '{"a":[1],"b":1}', '{"a":[1],"b":2}'],
        ["[1,2]", "[1,[2]]", "[2,[2]]"],
        ["[1]", '[1,{"a":1}]', '[2,{"a":1}]'],
    ],
)
def test_changing_a_dict_changes_no_other(texts: list[str]) -> None:
    with updates_of(texts) as updates:
        for update in updates:
            document = update.to_dict()
            assert is_equal(document, json.loads(update.text))
            for within, key in places(document):
                if isinstance(within[key], dict):
                    within[key]["changed"] = 1
                elif isinstance(within[key], list):
                    within[key].append("changed")
                else:
                    within[key] = "changed"
            assert is_equal(update.to_dict(), json.loads(update.text))


def test_the_text_of_an_update_survives_the_reuse_of_buffers() -> None:
    texts = [json.dumps({"n": n, "x": chr(97 + n % 26) * (n * 7919 % 3000)}) for n in range(3000)]
    kept_updates: list[sideline.Update] = []

    def send(to: socket.socket) -> None:
        for at in range(0, len(texts), 50):
            to.sendall((HEAD if at == 0 else b"") + b"".join(b"data: %s\n\n" % text.encode() for text in texts[at : at + 50]))
        to.recv(1)

    with server([send]) as service, service.client() as client, client.live_stats("g1", notices=False) as stream:
        for text, item in zip(texts, stream, strict=False):
            assert isinstance(item, sideline.Update)
            assert item.text == text
            if len(text) % 3 == 0:
                kept_updates.append(item)
    assert [update.text for update in kept_updates] == [text for text in texts if len(text) % 3 == 0]


def test_updates_may_be_read_in_any_order_and_from_several_threads() -> None:
    from concurrent.futures import ThreadPoolExecutor

    texts = [json.dumps(SNAPSHOT | {"version": version, "x": [version] * (version % 3)}) for version in range(50)]
    with updates_of(texts) as updates, ThreadPoolExecutor(4) as pool:
        expected = [json.loads(text) for text in texts] * 20
        updates_again = updates[::-1] * 10 + updates * 10
        expected = expected[: len(texts) * 10][::-1] + expected[len(texts) * 10 :]
        assert list(pool.map(sideline.Update.to_dict, updates_again)) == expected
