"""Pseudonyms: names, ids, jersey numbers, references and links are replaced consistently, by a key.

The mapping is injective, so that joins hold within one key. 0 stays 0, an id keeps its number of digits, a name its
length and its case. Numbers of the game, times and known codes stay; an unknown text is replaced.
"""

import hmac
import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from .permutation import Permutation
from .wire_fields import KNOWN_CODES, KNOWN_KEYS, MESSAGE_WORDS, PATH_WORDS, PERIOD, QUERY_CODES, VALUES, Kind, kind_of

MASK = "***"
"""Takes the place of a token."""

MIN_KEY_LENGTH = 16

_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_WORD = re.compile(rf"{_UUID}|[^\W_]+")
_IS_UUID = re.compile(_UUID)
_LINK = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S*")
_KEY = re.compile(r"_?[A-Za-z][A-Za-z0-9_]*")
_CODE = re.compile(r"[A-Z]+")
_NUMBER = re.compile(r"(-?)([0-9]+)((?:\.0*)?)")

_TOKEN = re.compile(
    r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|-?[0-9][0-9.eE+-]*|[{}\[\]:,]|[ \t\r\n]+|[^"{}\[\]:, \t\r\n]+', re.DOTALL
)
"""A token of JSON; a string may lack its end, as in a body that was cut."""

_LITERALS = frozenset(("true", "false", "null"))

_MAX_PERMUTED_LENGTH = 64
"""Longer words are replaced part by part."""

_SERVICE = "https://service.invalid"
_OTHER_LINK = "https://link.invalid"
_SERVICE_PATHS = ("/v1/", "/broadcast/", "/live/")


class Pseudonyms:
    """The pseudonyms of one key.

    >>> from sideline._companions import Pseudonyms
    >>> names = Pseudonyms(b"a key of at least 16 bytes")
    >>> names.number(0), len(str(names.number(4711))), names.text("Ann Lee") == "Ann Lee"
    (0, 4, False)
    """

    def __init__(self, key: str | bytes) -> None:
        material = key.encode() if isinstance(key, str) else key
        if not isinstance(material, bytes) or len(material) < MIN_KEY_LENGTH:
            raise ValueError(f"a key of pseudonyms is a str or bytes of at least {MIN_KEY_LENGTH} bytes")
        self.key = material
        self._permutation = Permutation(material)
        self._numbers: dict[tuple[int, str], int] = {}
        self._words: dict[str, str] = {}
        self._strings: dict[tuple[str, str], str] = {}
        self.ids: set[str] = set()
        """Ids of the bodies so far, as text: an unknown field with such a value is an id."""
        self.names: set[str] = set()
        """Words of the names so far, in lower case: an unknown code or key with one is replaced."""

    def fingerprint(self, text: str) -> str:
        """Return a digest of a text, which shows whether two are equal under the same key."""
        return hmac.digest(self.key, b"fingerprint/" + text.encode(), "sha256").hex()[:32]

    # Values

    def number(self, number: int, label: str = "id") -> int:
        """Return the pseudonym of an id: a number with as many digits."""
        if number < 0:
            return -self.number(-number, label)
        if number == 0:
            return 0
        if (number, label) not in self._numbers:
            low = 10 ** (len(str(number)) - 1)
            high = low * 10
            if low <= 2**63 - 1 < high:
                # A number of 64 bits stays one, also -2**63, whose digits no other negative one may have.
                ranges = ((low, 2**63), (2**63, 2**63 + 1), (2**63 + 1, high))
                low, high = next(bounds for bounds in ranges if number < bounds[1])
            self._numbers[number, label] = low + self._permutation.replace(number - low, high - low, label)
        return self._numbers[number, label]

    def text(self, text: str, label: str = "id") -> str:
        """Return a text with a pseudonym for each UUID, number and word; separators stay."""
        return _WORD.sub(lambda match: self._word(match[0], label), text)

    def message(self, text: str) -> str:
        """Return an error message, whose known words stay."""
        return _WORD.sub(lambda match: match[0] if match[0] in MESSAGE_WORDS else self._word(match[0], "id"), text)

    def link(self, link: str) -> str:
        """Return a link: one of the service keeps its path, with other ids; any other is replaced as a whole."""
        parts = urlsplit(link)
        if parts.path.startswith(_SERVICE_PATHS):
            query = urlencode(self.query(parse_qsl(parts.query, keep_blank_values=True)))
            return f"{_SERVICE if parts.scheme else ''}{self.path(parts.path)}{'?' if query else ''}{query}"
        ending = re.search(r"\.[a-z0-9]{2,4}\Z", parts.path)
        digest = hmac.digest(self.key, b"link/" + link.encode("utf-8", "surrogatepass"), "sha256").hex()[:32]
        return f"{_OTHER_LINK}/{digest}{ending[0] if ending else ''}"

    def path(self, path: str) -> str:
        """Return a path of the service with other ids."""
        segments = [[self._segment(part) for part in unquote(segment).split(",")] for segment in path.split("/")]
        return "/".join(quote(",".join(parts), safe=",@:") for parts in segments)

    def query(self, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the parameters of a query with other ids, without credentials."""
        return [
            (name, value if name in QUERY_CODES and re.fullmatch(r"[A-Za-z0-9_,-]*", value) else self.text(value))
            for name, value in pairs
            if name not in ("apikey", "token")
        ]

    def field(self, name: str, value: Any) -> Any:
        """Return the value of a field or column; a list has its elements replaced."""
        if isinstance(value, (list, tuple)):
            return [self.field(name, element) for element in value]
        kind = kind_of(name)
        if isinstance(value, str):
            return self._string(kind, value)
        if isinstance(value, int) and not isinstance(value, bool):
            if kind in ("id", "jersey"):
                return self.number(value, kind)
            if kind in ("text", "name") and self.is_id(str(value)):
                return self.number(value)
        return value

    def value_as_text(self, name: str, value: str) -> str:
        """Return the value of a field that is written as a text: a number of the game and a flag stay."""
        kind = kind_of(name)
        is_number = kind == "number" and _is_number(value)
        return value if is_number or value in _LITERALS else self._string(kind, value)

    def column(self, name: str, values: Sequence[Any]) -> list[Any]:
        """Return the values of a column of a table."""
        if name.endswith("lineup_id"):
            return [None if value is None else self._lineup(value) for value in values]
        if name == "unit":
            return [None if value is None else self.unit(value) for value in values]
        if name in ("error", "message"):
            return [None if value is None else self.message(value) for value in values]
        return [self.field(name, value) for value in values]

    def unit(self, unit: str) -> str:
        """Return the name of a unit of an archive: its operation stays."""
        operation, slash, id_ = unit.partition("/")
        return f"{operation}{slash}{self.text(id_)}"

    # Bodies

    def learn(self, raw: bytes) -> None:
        """Collect the ids and names of a body."""
        for field, is_key, token in _fields(_decode(raw)):
            kind = kind_of(field)
            if is_key or kind not in ("id", "name") or token[0] not in '"-0123456789':
                continue
            value = _string_of(token) if token[0] == '"' else token
            if kind == "name":
                if not PERIOD.fullmatch(value):
                    self.names.update(word.lower() for word in _WORD.findall(value) if len(word) > 1)
            elif value not in ("0", ""):
                self.ids.add(value)

    def body(self, raw: bytes, field: str = "") -> bytes:
        """Return a body of JSON; what is between its values stays byte for byte. Any other body is one text.

        `field` is the name of a field that the whole of it is the value of.
        """
        text = _decode(raw)
        if not text.lstrip("\ufeff \t\r\n").startswith(("{", "[", '"')):
            return _encode(self.text(text) if text.strip() not in _LITERALS and not _is_number(text) else text)
        return _encode("".join(self._token(name, is_key, token) for name, is_key, token in _fields(text, field)))

    def _token(self, field: str, is_key: bool, token: str) -> str:
        first = token[0]
        if first == '"':
            if is_key:
                name = _string_of(token)
                replacement = self.object_key(name)
                return token if replacement == name else _token_of(replacement, token)
            if (field, token) not in self._strings:
                self._strings[field, token] = self._json_string(field, token)
            return self._strings[field, token]
        if first in "{}[]:, \t\r\n" or token in _LITERALS:
            return token
        if match := _NUMBER.fullmatch(token):
            return match[1] + self._digits(kind_of(field), match[2]) + match[3]
        return token if _is_number(token) else self.text(token)

    def _digits(self, kind: Kind, digits: str) -> str:
        if kind == "jersey":
            return self._word(digits, "jersey")
        is_id = kind == "id" or (kind in ("text", "name") and self.is_id(digits))
        return self._word(digits, "id") if is_id else digits

    def _json_string(self, field: str, token: str) -> str:
        value = _string_of(token)
        is_message = field in ("message", "error")
        replacement = self.message(value) if is_message else self._string(kind_of(field), value)
        if replacement == value:
            return token
        written = _token_of(replacement, token)
        return written if _has_end(token) else written[:-1]

    def object_key(self, name: str) -> str:
        """Return the key of an object, which is replaced if it is an id, a name or a text."""
        if name in KNOWN_KEYS or (_KEY.fullmatch(name) and not self.is_name(name) and not self.is_id(name)):
            return name
        return self.link(name) if _LINK.fullmatch(name) else self.text(name)

    def _string(self, kind: Kind, value: str) -> str:
        if kind == "token":
            return MASK
        if _LINK.match(value) or value.startswith(_SERVICE_PATHS):
            return self.link(value)
        if (kind == "code" and value in KNOWN_CODES) or (kind in ("name", "code") and PERIOD.fullmatch(value)):
            return value
        if may_stay(kind, value) and not self.is_name(value):
            return value
        return self.text(value, "jersey" if kind == "jersey" else "id")

    def _segment(self, segment: str) -> str:
        return segment if segment in PATH_WORDS or _CODE.fullmatch(segment) else self.text(segment)

    def is_id(self, text: str) -> bool:
        """Return whether a text is a known id."""
        return text in self.ids

    def is_name(self, text: str) -> bool:
        """Return whether one of the words of a code or a key is known from a name."""
        return any(self.is_name_word(word.lower()) for word in _WORD.findall(text))

    def is_name_word(self, word: str) -> bool:
        """Return whether a word in lower case is known from a name."""
        return word in self.names

    def _lineup(self, lineup: str) -> str:
        numbers = [self.number(int(part)) for part in lineup.split("-") if part.isdecimal()]
        return "-".join(map(str, sorted(numbers))) if numbers else self.text(lineup)

    # Words

    def _word(self, word: str, label: str) -> str:
        if len(word) > _MAX_PERMUTED_LENGTH:
            parts = [word[at : at + _MAX_PERMUTED_LENGTH] for at in range(0, len(word), _MAX_PERMUTED_LENGTH)]
            return "".join(self._word(part, label) for part in parts)
        if word.isascii() and word.isdecimal():
            digits = word.lstrip("0")
            return word if not digits else word[: len(word) - len(digits)] + str(self.number(int(digits), label))
        if word not in self._words:
            self._words[word] = self._uuid(word) if _IS_UUID.fullmatch(word) else self._letters(word)
        return self._words[word]

    def _uuid(self, uuid: str) -> str:
        digits = uuid.replace("-", "").lower()
        # The digits of version and variant stay.
        free = int(digits[:12] + digits[13:16] + digits[17:], 16)
        if free == 0:
            return uuid
        replacement = f"{1 + self._permutation.replace(free - 1, 16**30 - 1, 'uuid'):030x}"
        replacement = replacement[:12] + digits[12] + replacement[12:15] + digits[16] + replacement[15:]
        replacement = "-".join(
            (replacement[:8], replacement[8:12], replacement[12:16], replacement[16:20], replacement[20:])
        )
        return replacement.upper() if uuid != uuid.lower() else replacement

    def _letters(self, word: str) -> str:
        """Replace each letter and digit by one of its alphabet: of its category, near it in Unicode."""
        alphabets = [_alphabet(ord(letter) // 128, unicodedata.category(letter)) for letter in word]
        number = 0
        size = 1
        for letter, alphabet in zip(word, alphabets, strict=True):
            number = number * len(alphabet) + alphabet.index(letter)
            size *= len(alphabet)
        label = f"word/{'/'.join(map(str, map(len, alphabets)))}"
        number = self._permutation.replace(number, size, label)
        letters = []
        for alphabet in reversed(alphabets):
            number, place = divmod(number, len(alphabet))
            letters.append(alphabet[place])
        return "".join(reversed(letters))


def may_stay(kind: Kind, value: str) -> bool:
    """Return whether an unknown text fits its field as a code, clock, color or time: it stays unless it has a name."""
    is_known = (kind == "code" and value in KNOWN_CODES) or PERIOD.fullmatch(value)
    return kind in VALUES and VALUES[kind].fullmatch(value) is not None and not is_known


def is_digits(token: str) -> bool:
    """Return whether a token of JSON is an integer, or a float that equals one."""
    return _NUMBER.fullmatch(token) is not None


@cache
def _alphabet(block: int, category: str) -> str:
    letters = map(chr, range(block * 128, block * 128 + 128))
    return "".join(letter for letter in letters if unicodedata.category(letter) == category)


def _fields(text: str, field: str = "") -> Iterable[tuple[str, bool, str]]:
    """Yield each token of a text of JSON with the name of its field, and whether it is a name itself."""
    stack: list[tuple[bool, str]] = []
    expects_key = False
    for token in _TOKEN.findall(text):
        first = token[0]
        is_key = False
        if first == '"':
            is_key = expects_key
            if is_key:
                field, expects_key = _string_of(token), False
        elif first in "{[":
            stack.append((first == "{", field))
            expects_key = first == "{"
        elif first in "}]":
            field = stack.pop()[1] if stack else ""
            expects_key = False
        elif first == ",":
            expects_key = bool(stack) and stack[-1][0]
        yield field, is_key, token


def _token_of(replacement: str, token: str) -> str:
    """Return a string of JSON in the place of another. What that one escapes may have no bytes of its own."""
    return json.dumps(replacement, ensure_ascii="\\u" in token)


def _has_end(token: str) -> bool:
    return len(token) > 1 and token.endswith('"') and not re.search(r"(?<!\\)(?:\\\\)*\\\"\Z", token)


@lru_cache(4096)
def _string_of(token: str) -> str:
    """Return the text of a string of JSON; one without its end has what is there."""
    try:
        value: str = json.loads(token, strict=False)
    except ValueError:
        return token.strip('"')
    return value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
