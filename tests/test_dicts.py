"""`to_dict` accepts and returns the same as Python's json; its cache is bounded and has no other effect."""

from __future__ import annotations

import gc
import json
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import sideline

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read(body: bytes) -> Any:
    return sideline.Payload.from_bytes("get", body).to_dict()


def result_text(body: bytes, reader: Callable[[bytes], Any]) -> str:
    """The result of a reader: `repr` shows types, the order of keys, and exact floats."""
    try:
        return repr(reader(body))
    except (ValueError, RecursionError, sideline.DecodeError):
        return "no JSON"


def by_python(body: bytes) -> Any:
    """Python's json without its extensions to JSON: constants, lone surrogates, invalid UTF-8."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    value = json.loads(body.removeprefix(BYTE_ORDER_MARK).decode(), parse_constant=refuse)
    json.dumps(value, ensure_ascii=False).encode()
    return value


READ = [
    *("null", "true", "false", '""', "0", "-0", "-0.0", "0.0", "12", "-7", "1e2", "1E+2", "1e-2", "0e1", "12.50", "[]", "{}", " [ ] ", "\t{\r\n}\n"),
    *("9223372036854775807", "-9223372036854775808", "9223372036854775808", "-9223372036854775809", "123456789012345678901234567890"),
    *("999999999999999", "1000000000000000", "123456789012345.5", "1234567.123456789", "0.1234567890123456789", "9007199254740993.0"),
    *("1.7976931348623157e308", "5e-324", "2.2250738585072011e-308", "1e400", "-1e400", "1e-400", "0." + "0" * 400 + "1", "1" * 4300, "-" + "1" * 4300),
    *("1" * 4300 + ".5", "0." + "1" * 5000, '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\u00e9\\u20AC\\ud83c\\udfc0"', '"\x7f é € 🏀"'),
    *(
        '{"a":1,"a":2,"b":3,"a":4}',
        '{"a":1,"\\u0061":2}',
        '{"":0," ":1}',
        '{"k" : 1 , "k"\t:\n2 }',
        '{"a":{"a":{"a":[{"a":1},{"a":2}]}}}',
        '{"clé":"été","ключ":["значение"]}',
    ),
    *("[" * 201 + "]" * 201, "[" * 200 + "1" + "]" * 200, '{"a":' * 200 + "1" + "}" * 200, "[1,[2,[3,[]],4],5]", "[null,true,false]"),
]


@pytest.mark.parametrize("text", READ, ids=lambda text: text[:30])
def test_a_body_is_read_as_python_reads_it(text: str) -> None:
    for body in (text.encode(), BYTE_ORDER_MARK + text.encode()):
        assert result_text(body, read) == result_text(body, by_python) != "no JSON"


EARLY = "the body ends early (truncated?)"

INVALID_BODIES = [
    (b"", EARLY, "$", 0),
    (b'{"a"', EARLY, "$.a", 4),
    (b'{"a":1,}', "expected a key in quotes, found '}'", "$.a", 7),
    (b"[1,]", "expected a value, found ']'", "$[1]", 3),
    (b'{"a" 1}', "expected ':' after a key, found a number", "$.a", 5),
    (b"{a:1}", "expected a key in quotes, found 'a'", "$", 1),
    (b'{"t": [{}, {"id": nul}]}', "expected a value, found 'n'", "$.t[1].id", 18),
    (b'{"teams": tru}', "expected a value, found 't'", "$.teams", 10),
    (b"NaN", "expected a value, found 'N'", "$", 0),
    (b"-Infinity", "not a number that JSON knows", "$", 1),
    (b"01", "not a number that JSON knows", "$", 1),
    (b"5.", EARLY, "$", 2),
    (b"1 2", "expected the end of the body, found a number", "$", 2),
    (b"[1 2]", "expected ',' or ']', found a number", "$[0]", 3),
    (b'{"a":1 "b":2}', "expected ',' or '}', found a string", "$.a", 7),
    (b'"a\nb"', "a control character in a string", "$", 2),
    (b'"\\x"', "an escape in a string that JSON does not know", "$", 1),
    (b'["\\ud800"]', "half of a surrogate pair in a string", "$[0]", 2),
    (b'["\xff"]', "the body is not UTF-8", "$[0]", 2),
    (b'["a long text with \xed\xa0\x80 in it"]', "the body is not UTF-8", "$[0]", 19),
    (b'{"\xc0\x80": 1}', "the body is not UTF-8", "$", 2),
    (BYTE_ORDER_MARK + b"[x]", "expected a value, found 'x'", "$[0]", 4),
    (b"[" * 100_000, EARLY, "$" + "[0]" * 32 + "…", 100_000),
]

BEYOND_LIMITS = [
    (b"1" * 4301, "the number is out of range", "$", 0),
    (b"[" * 202 + b"]" * 202, "arrays and objects are nested more than 200 deep", "$" + "[0]" * 32 + "…", 201),
    (b'{"a":' * 1000 + b"1" + b"}" * 1000, "arrays and objects are nested more than 200 deep", "$" + ".a" * 32 + "…", 1005),
]


@pytest.mark.parametrize(("body", "message", "path", "offset"), INVALID_BODIES + BEYOND_LIMITS, ids=lambda value: repr(value)[:20])
def test_invalid_json_is_reported_with_its_position(body: bytes, message: str, path: str, offset: int) -> None:
    with pytest.raises(sideline.DecodeError) as excinfo:
        read(body)
    assert str(excinfo.value) == f"{message} at {path} (byte {offset}). {excinfo.value.advice}"
    assert (excinfo.value.path, excinfo.value.offset) == (path, offset)


@pytest.mark.parametrize(("body", "message", "path", "offset"), INVALID_BODIES, ids=lambda value: repr(value)[:20])
def test_tables_and_the_schema_check_report_the_same(body: bytes, message: str, path: str, offset: int) -> None:
    payload = sideline.Payload.from_bytes("teams", body)
    for read_body in (payload.to_dict, payload.table, payload.unknown_fields):
        with pytest.raises(sideline.DecodeError) as excinfo:
            read_body()
        assert str(excinfo.value) == f"{message} at {path} (byte {offset}). {excinfo.value.advice}"


TEXTS = st.text(st.sampled_from('ab"\\/\n\x00é€🏀'), max_size=45) | st.text(max_size=80)
NUMBERS = st.integers() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
# Few keys, much alike: what was guessed is often nearly right.
KEYS = st.sampled_from(["a", "ab", "abc", "a" * 16, "a" * 17, "b" + "a" * 16, "x" * 38, "x" * 39, "x" * 37 + "y", "é", '"', "a:", 'a"']) | TEXTS
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS, lambda inner: st.lists(inner, max_size=8) | st.dictionaries(KEYS, inner, max_size=12), max_leaves=60
)
WRITINGS = st.fixed_dictionaries(
    {"ensure_ascii": st.booleans(), "separators": st.sampled_from([None, (",", ":"), (" , ", " : ")]), "indent": st.sampled_from([None, 1, 9])}
)


@settings(max_examples=150, deadline=None)
@given(VALUES, WRITINGS)
def test_json_written_by_python_is_read_unchanged(value: Any, writing: dict[str, Any]) -> None:
    assert repr(read(json.dumps(value, **writing).encode())) == repr(value)


@settings(max_examples=400, deadline=None)
@given(VALUES, WRITINGS, st.lists(st.tuples(st.integers(0, 10**6), st.binary(max_size=2) | st.sampled_from([*b'{}[]",:\\ 01.eE-'])), min_size=1, max_size=3))
def test_a_damaged_body_is_read_or_refused_as_python_does(value: Any, writing: dict[str, Any], damage: list[tuple[int, Any]]) -> None:
    body = bytearray(json.dumps(value, **writing).encode())
    for place, bytes_ in damage:
        place %= len(body) + 1
        body[place : place + 1] = bytes([bytes_]) if isinstance(bytes_, int) else bytes_
    assert result_text(bytes(body), read) == result_text(bytes(body), by_python)


def test_texts_of_each_length_and_kind_are_read() -> None:
    for length in range(140):
        for letter in "aé€🏀":
            for character in ("", '"', "\\", "\n", "é", "🏀"):
                text = letter * length + character + "tail"
                for ascii_only in (True, False):
                    body = json.dumps([text, {text: text}], ensure_ascii=ascii_only).encode()
                    assert read(body) == [text, {text: text}]


def body_with_keys(count: int, name: str) -> bytes:
    return json.dumps([{f"{name}{at}": f"{name} {at}", "same": None} for at in range(count)]).encode()


def test_bodies_with_more_keys_than_are_kept_are_read_and_forgotten() -> None:
    for count in (10, 5000, 10, 1025):
        for name in ("k", "a key that is long to be kept in memory "):
            body = body_with_keys(count, name)
            assert read(body) == json.loads(body)
    read(body_with_keys(3000, "warm"))
    before = sys.getallocatedblocks()
    for at in range(60):
        read(body_with_keys(300, f"{at} "))
    # As many short texts and keys are kept as there is room for, not 36,000.
    assert sys.getallocatedblocks() - before < 4000


def test_a_refused_body_leaves_nothing_behind() -> None:
    bodies = [body for body, *_ in INVALID_BODIES if len(body) < 5000]
    bodies += [b'[null, {"a": [null, 1.5, "x", "a text that is not short", {"b": null}]}, ' + end for end in (b"", b"]", b'"\xff"]', b'{"a": 1')]
    payloads = [sideline.Payload.from_bytes("get", body) for body in bodies]

    def refuse_all() -> None:
        for payload in payloads:
            with pytest.raises(sideline.DecodeError):
                payload.to_dict()

    def growth() -> tuple[int, int]:
        gc.collect()
        nones, blocks = sys.getrefcount(None), sys.getallocatedblocks()
        for _ in range(10_000 // len(payloads)):
            refuse_all()
        gc.collect()
        return abs(sys.getrefcount(None) - nones), sys.getallocatedblocks() - blocks

    refuse_all()
    # What other threads of the process allocate meanwhile is in one of them; a leak is in each.
    nones, blocks = map(min, zip(*(growth() for _ in range(3)), strict=True))
    assert nones < 50
    assert blocks < 200


@pytest.fixture
def restless() -> Iterator[None]:
    """The garbage collector runs at nearly every allocation."""
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    yield
    gc.set_threshold(*before)
    gc.callbacks.clear()


@pytest.mark.skipif(bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="a free-threaded Python starts no collection for so few objects")
def test_a_body_can_be_read_while_another_is(restless: None) -> None:
    inner, outer = body_with_keys(30, "in"), body_with_keys(30, "out")
    bodies = []

    def collecting(phase: str, info: dict[str, int]) -> None:
        gc.callbacks.remove(collecting)
        bodies.append(read(inner))
        gc.callbacks.append(collecting)

    gc.callbacks.append(collecting)
    assert [read(outer) for _ in range(5)] == [json.loads(outer)] * 5
    gc.callbacks.clear()
    assert bodies
    assert all(body == json.loads(inner) for body in bodies)


def test_threads_read_beside_each_other() -> None:
    bodies = [body_with_keys(400, name) for name in "abcdefgh"]
    different: list[int] = []

    def work(at: int) -> None:
        expected = json.loads(bodies[at])
        different.extend(at for _ in range(20) if read(bodies[at]) != expected)

    threads = [threading.Thread(target=work, args=(at,)) for at in range(len(bodies))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert different == []


def test_a_long_number_is_read_whatever_pythons_limit_is() -> None:
    number = 7**4000
    limit = sys.get_int_max_str_digits()
    body = f"[{number}, -{number}]".encode()
    sys.set_int_max_str_digits(640)
    try:
        assert read(body) == [number, -number]
    finally:
        sys.set_int_max_str_digits(limit)


def test_each_object_is_the_callers_own() -> None:
    body = b'{"a": {"b": []}, "c": {"b": []}}'
    first = read(body)
    first["a"]["b"].append(1)
    first["a"]["new"] = 2
    assert first["c"] == {"b": []}
    assert read(body) == json.loads(body)
