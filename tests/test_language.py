"""The language of the code: a lexicon of refused words whose counts only fall, and the descriptions of columns."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import sideline

HERE = Path(__file__).parent / "language"


def _load_counter() -> Any:
    spec = importlib.util.spec_from_file_location("language_count", HERE / "count.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for annotations
    spec.loader.exec_module(module)
    return module


counter = _load_counter()
LEXICON = counter.Lexicon.load()
SCHEMAS = {f"{sport}-{name}": schema for sport in ("basketball", "football") for name, schema in sideline.SCHEMAS.of_sport(sport).items()}

TYPE = re.compile(r"^\s*(?:pub(?:\([a-z ]+\))? )?(?:struct|enum|trait|union) (\w+)", re.MULTILINE)
CONSTANT = re.compile(r"\b(?:const|static) ([A-Z]\w*)\b")
VAGUE_CONSTANT = re.compile(r"MOST\w*|LONGEST\w*|SHORTEST\w*|FARTHEST\w*|DEEPEST\w*|SHORT|FEW|KEPT|SHOWN|NAMED|ENOUGH|NEAR|BEHIND|SOON|LONG|MANY|ROOM|TOLD")


# The counts.


@pytest.fixture(scope="module")
def changes() -> tuple[list[Any], list[Any]]:
    higher, lower = counter.compare(counter.load(), counter.count())
    return higher, lower


@pytest.mark.source
def test_no_file_has_more_refused_words_than_before(changes: tuple[list[Any], list[Any]]) -> None:
    higher, _ = changes
    lines = [f"{path}: {before} before, {current} now" for path, before, current in higher]
    assert not lines, "\n".join([*lines, "a better word for each: python tests/language/count.py PATH"])


@pytest.mark.source
def test_a_count_that_fell_is_stored(changes: tuple[list[Any], list[Any]]) -> None:
    _, lower = changes
    lines = [f"{path}: {before} stored, {current} now" for path, before, current in lower]
    assert not lines, "\n".join([*lines, "store them: python tests/language/count.py --write"])


def names_of(path: str, source: str) -> list[tuple[str, str]]:
    return [(hit.kind, hit.word) for hit in counter.hits(path, source, LEXICON)]


@pytest.mark.parametrize(
    ("source", "kind", "word"),
    [
        ("def told(): pass", "function", "told"),
        ("class A:\n    async def _told(self): pass", "function", "_told"),
        ("def run(given): pass", "value", "given"),
        ("run(lambda one: 1)", "value", "one"),
        ("found = 1", "value", "found"),
        ("for one in rows: pass", "value", "one"),
        ("rows = [1 for one in rows]", "value", "one"),
        ("if (found := f()): pass", "value", "found"),
        ("self.kept = 1", "value", "kept"),
        ("with f() as (found, _): pass", "value", "found"),
        ("try: pass\nexcept E as caught: pass", "value", "caught"),
        ("match x:\n    case [one, *theirs]: pass", "value", "theirs"),
        ("def renumbered(): pass", "function", "renumbered"),
        ("_MOST = 1", "constant", "_MOST"),
        ('def f():\n    """Return what came\n    from it."""', "phrase", "what came"),
        ("x = 1\n'''It is kept as it is.'''", "phrase", "as it is"),
        ("# The stream goes\n# on.", "phrase", "goes on"),
    ],
)
def test_a_refused_word_of_python_is_counted(source: str, kind: str, word: str) -> None:
    assert (kind, word) in names_of("x.py", source)


@pytest.mark.parametrize(
    ("source", "kind", "word"),
    [
        ("fn told() {}", "function", "told"),
        ("fn run<T: Into<(u8, u8)>>(x: u8, given: &str) {}", "value", "given"),
        ("let found = 1;", "value", "found"),
        ("let mut found: Vec<u8> = 1;", "value", "found"),
        ("let Some((_, found)) = f() else {};", "value", "found"),
        ("if let Ok(A { x: found, .. }) = f() {}", "value", "found"),
        ("for (place, one) in rows.iter().enumerate() {}", "value", "one"),
        ("rows.map(|one| 1)", "value", "one"),
        ("rows.fold(0, |sum, &one| sum)", "value", "one"),
        ("match x {\n    Some(found) if true => 1,\n}", "value", "found"),
        ("match x {\n    given => 1,\n}", "value", "given"),
        ("pub struct A<'a> {\n    pub(crate) kept: &'a str,\n}", "value", "kept"),
        ("struct A { x: u8, kept: u8 }", "value", "kept"),
        ("enum A {\n    B { kept: u8 },\n}", "value", "kept"),
        ("pub(crate) static MOST: u8 = 1;", "constant", "MOST"),
        ("mod answers;", "module", "answers"),
        ("/// What came\n/// from it.", "phrase", "What came"),
        ("let x = 'a'; // as it is", "phrase", "as it is"),
    ],
)
def test_a_refused_word_of_rust_is_counted(source: str, kind: str, word: str) -> None:
    assert (kind, word) in names_of("x.rs", source)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("x.py", "def test_what_was_asked_is_told(): pass"),
        ("x.py", "found_games = {'found': one.told(given=1)}  # a found game\nclass Given: pass\nMany = int"),
        ("x.py", "def read(seed, speed, expected, is_changed):\n    '''Return None, which is None.'''\n    x = 'what came'"),
        ("x.rs", 'fn read(seed: u8) { let expected = found(told::one, S { given: 1 }, "let found = 1;"); }'),
        ("x.rs", "fn a_test_says_what_was_told() { let x = a | given | b; f::<'a>(found.one()); }"),
        ("x.rs", "/* let found = 1; */ let row = if found == one { r#\"|one| \"# } else { 'x' };"),
    ],
)
def test_good_words_and_uses_are_not_counted(path: str, source: str) -> None:
    assert names_of(path, source) == []


def test_a_module_is_named_too() -> None:
    assert names_of("python/sideline/_looks.py", "") == [("module", "_looks")]


@pytest.fixture
def counts_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "counts.json"
    path.write_text(json.dumps({"rust": {"a.rs": 2}, "python": {}, "tests": {}}))
    monkeypatch.setattr(counter, "COUNTS", path)
    return path


@pytest.mark.parametrize("current", [{"a.rs": 3}, {"a.rs": 2, "new.rs": 1}, {"moved/a.rs": 2}], ids=["more", "a new file", "a moved file"])
def test_a_raised_count_is_refused(current: dict[str, int], counts_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    before = counts_file.read_text()
    monkeypatch.setattr(counter, "count", lambda: {"rust": current})
    assert counter.main(["--write"]) == 1
    assert counts_file.read_text() == before
    assert "before, " in capsys.readouterr().out
    assert counter.compare(counter.load(), counter.count())[0]
    assert counter.main(["--baseline"]) == 0
    assert json.loads(counts_file.read_text()) == {"rust": current}


@pytest.mark.parametrize("current", [{"a.rs": 1}, {}], ids=["less", "a deleted file"])
def test_a_lower_count_is_stored(current: dict[str, int], counts_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(counter, "count", lambda: {"rust": current})
    assert counter.compare(counter.load(), counter.count()) == ([], [("a.rs", 2, current.get("a.rs", 0))])
    assert counter.main(["--write"]) == 0
    assert json.loads(counts_file.read_text()) == {"rust": current}
    assert capsys.readouterr().out == f"rust {sum(current.values())}\n"


def test_the_lexicon_does_not_contradict_itself() -> None:
    content = tomllib.loads((HERE / "lexicon.toml").read_text(encoding="utf-8"))
    participles = content["participles"]
    words = {word for kind in content["words"].values() for word in kind}
    assert set(content["words"]) == {"any", *counter.KINDS}
    assert all(word.endswith("ed") for word in (*participles["nouns"], *participles["adjectives"]))
    for kind in counter.KINDS:
        assert not set(content["words"][kind]) & set(content["words"]["any"]), kind
        assert all(LEXICON.better(kind, name) is None for name in content["contract"]["names"])
    assert not words & {*participles["nouns"], *participles["adjectives"]}


# The columns. A noun phrase; a flag begins with "Whether".


def faults_of(description: str, type: str) -> list[str]:
    is_flag = type == "bool"
    checks = {
        "it is empty": not description,
        "it begins without a capital": not description[:1].isupper(),
        "it begins with a clause": re.match(r"(what|where|when|who|whom|whose|why|how|which|if|as|of|from|until|such)\b", description, re.I) is not None,
        'a flag begins with "Whether"': is_flag and not description.startswith("Whether "),
        'only a flag begins with "Whether"': not is_flag and description.startswith("Whether "),
        "it begins with an article": re.match(r"(a|an|the)\b", description, re.I) is not None,
        "it ends with a full stop": description.endswith("."),
        "it is longer than 120 characters": len(description) > 120,
        "it has a refused phrase": any(LEXICON.phrases(description)),
    }
    return [fault for fault, is_present in checks.items() if is_present]


@pytest.mark.parametrize("table", SCHEMAS)
def test_each_column_is_described_by_a_noun_phrase(table: str) -> None:
    faults = {field.name: faults_of(field.description or "", field.type) for field in SCHEMAS[table]}
    assert {name: of_column for name, of_column in faults.items() if of_column} == {}


@pytest.mark.parametrize(
    ("description", "type", "fault"),
    [
        ("", "string", "it is empty"),
        ("team name", "string", "it begins without a capital"),
        ("What was asked", "string", "it begins with a clause"),
        ("Such as Q1 or H1", "string", "it begins with a clause"),
        ("Is the player active", "bool", 'a flag begins with "Whether"'),
        ("Whether it is", "string", 'only a flag begins with "Whether"'),
        ("The team", "string", "it begins with an article"),
        ("Team name.", "string", "it ends with a full stop"),
        ("Name " * 25, "string", "it is longer than 120 characters"),
        ("Message as it came", "string", "it has a refused phrase"),
    ],
)
def test_a_bad_description_is_a_fault(description: str, type: str, fault: str) -> None:
    assert fault in faults_of(description, type)


@pytest.mark.parametrize("table", SCHEMAS)
def test_a_table_is_described_by_its_row(table: str) -> None:
    assert re.fullmatch(r"One row(: | for each ).+\.", SCHEMAS[table].description or "")


# The names of the crate.


def _rust_names(pattern: re.Pattern[str], paths: list[str]) -> dict[str, list[str]]:
    names = defaultdict(list)
    for path in paths:
        for name in pattern.findall((counter.ROOT / path).read_text(encoding="utf-8")):
            names[name].append(path)
    return names


@pytest.mark.source
def test_no_type_name_is_used_twice_in_a_crate() -> None:
    crates = defaultdict(list)
    for path in counter.files()["rust"]:
        crates["/".join(path.split("/")[:2]) if path.startswith("crates/") else "src"].append(path)
    assert len(crates["src"]) > 100
    for paths in crates.values():
        assert {name: used for name, used in _rust_names(TYPE, paths).items() if len(used) > 1} == {}


@pytest.mark.source
def test_constants_of_rust_name_their_quantity() -> None:
    names = _rust_names(CONSTANT, counter.files()["rust"])
    assert len(names) > 100
    assert {name: paths for name, paths in names.items() if VAGUE_CONSTANT.fullmatch(name)} == {}
