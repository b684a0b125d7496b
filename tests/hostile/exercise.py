"""One case: a peer, a client, and everything that the client can do with the peer's data. Failures raise `Violation`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import pickle
import re
import resource
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from archives import TABLES
from canaries import PACKAGE_FOLDER, forms
from wire import listener, read_head, saying

import sideline

from .grammar import Grammar

SECRETS = {"secret": "s3cret/canary+one=", "api key": "key/canary+two=", "token": "token-canary-three"}
FORMS = {name: forms(secret) for name, secret in SECRETS.items()}
HEADROOM = 1 << 30
"""Bytes that all cases together may take beyond what the libraries take: the largest body here is 16 MiB."""

MONTH: dict[str, Any] = {"start": "2023-11-01", "end": "2023-12-01"}
LIVE: dict[str, Any] = {"retry_wait": 0.001, "max_wait": 0.002, "silence_limit": 5.0, "max_event_bytes": 1 << 17, "give_up_on": [401, 403, 451]}
CONNECTIONS = 4
"""After so many connections a stream is refused for good."""

Ask = Callable[[Any], Any]
CALLS: dict[str, Ask] = {
    "teams": lambda c: c.teams(),
    "roster": lambda c: c.roster(46),
    "schedule": lambda c: c.schedule(**MONTH),
    "matchup": lambda c: c.matchup([46, 47], "2023-11-01", reference="SYNERGY", gender="MEN"),
    "team_events": lambda c: c.team_events(46, **MONTH),
    "team_game_stats": lambda c: c.team_game_stats(46, game_id="g"),
    "game_events": lambda c: c.game_events("g"),
    "game": lambda c: c.game("g"),
    "stats": lambda c: c.stats("s"),
    "stats_details": lambda c: c.stats_details("s"),
    "possessions": lambda c: c.possessions("s"),
    "shots": lambda c: c.shots("s"),
    "locations": lambda c: c.locations("s", 1_700_000_000_000, 1_700_000_060_000),
    "game_stats_details": lambda c: c.game_stats_details("g"),
    "game_shots": lambda c: c.game_shots("g"),
    "play_by_play": lambda c: c.play_by_play("g"),
    "ball_screens": lambda c: c.ball_screens("g"),
    "videos": lambda c: c.videos("g"),
    "catch_up": lambda c: c.catch_up("g"),
    "follow": lambda c: c.follow("/v1/data/stats/s/stats"),
    "get": lambda c: c.get("/v1/data/anything"),
    "broadcast_schedule": lambda c: c.broadcast_schedule(),
    "broadcast_teams": lambda c: c.broadcast_teams(),
    "broadcast_roster": lambda c: c.broadcast_roster(46),
    "broadcast_stats": lambda c: c.broadcast_stats("g"),
    "subscription_token": lambda c: c.subscription_token("g"),
}
BATCHES = ["roster", "game", "stats", "stats_details", "possessions", "shots", "game_shots", "play_by_play", "broadcast_roster", "team_events"]
"""Operations that also take many ids."""

PATHS = {
    r"/teams/[^/]+/events": "team_events", r"/teams/[^/]+$": "roster", r"/teams$": "teams", r"/schedule": "schedule", r"/games/": "game",
    r"/stats/games/[^/]+/shots": "game_shots", r"/stats/[^/]+/stats": "stats", r"/stats/[^/]+/details": "stats_details",
    r"/stats/[^/]+/shots": "shots", r"/possessions": "possessions", r"/locations": "locations",
}  # fmt: skip


class Violation(AssertionError):
    """The client did what no peer may make it do."""


class Texts:
    """All texts of a case. Of those that are data, only what a peer did not write into the body itself may be checked."""

    def __init__(self, checks_data: bool) -> None:
        self.checks_data = checks_data
        self.all: list[str | bytes] = []

    def say(self, *texts: str | bytes | None) -> None:
        self.all += [text for text in texts if text is not None]

    def data(self, *texts: str | bytes) -> None:
        if self.checks_data:
            self.all += texts

    def error(self, error: BaseException) -> None:
        self.say(str(error), repr(error), *(str(getattr(error, name, "")) for name in ("url", "message", "request_id", "rules", "headers", "advice")))
        if len(str(error).encode("utf-8", "replace")) >= 2_000:
            raise Violation(f"an error of {len(str(error))} characters: {str(error)[:200]}")
        if self.checks_data:
            self.say(pickle.dumps(error))
            trace = traceback.TracebackException.from_exception(error, capture_locals=True)
            self.say(*(repr(frame.locals) for frame in trace.stack if frame.filename.startswith(PACKAGE_FOLDER)))

    def check(self) -> None:
        output = "\n".join(text.decode("latin-1") if isinstance(text, bytes) else text for text in self.all).lower()
        for name, spellings in FORMS.items():
            for form in spellings:
                if (at := output.find(form)) >= 0:
                    raise Violation(f"the {name} is shown: {output[max(0, at - 200) : at + 200]!r}")


class Collect(logging.Handler):
    """Keeps what the package logs."""

    def __init__(self, texts: Texts) -> None:
        super().__init__(logging.DEBUG)
        self._texts = texts

    def emit(self, record: logging.LogRecord) -> None:
        self._texts.say(record.getMessage())


class Case:
    """A case by its seed and number; two runs of it are the same, but for the order of threads."""

    def __init__(self, seed: int, number: int) -> None:
        self.random = Random(f"{seed}/{number}")
        self.echoes = self.random.choice(["nowhere", "heads", "everywhere"])
        kinds = {self._call: 62, self._async_call: 6, self._batch: 10, self._events: 9, self._websocket: 9, self._archive: 4}
        [self.kind] = self.random.choices(list(kinds), list(kinds.values()))
        self.texts = Texts(self.echoes != "everywhere")
        self.operation = self.random.choice(list(CALLS))
        # Of a token that it was not given a client knows nothing.
        secrets = [secret for name, secret in SECRETS.items() if name != "token" or self.kind == self._websocket]
        self.grammar = Grammar(self.random, secrets, self.echoes)

    def __str__(self) -> str:
        return f"{self.kind.__name__.strip('_')} {self.operation}, secrets echoed {self.echoes}"

    def run(self) -> None:
        logger = logging.getLogger("sideline")
        collect = Collect(self.texts)
        logger.addHandler(collect)
        try:
            with warnings.catch_warnings(record=True) as records:
                warnings.simplefilter("always")
                self.kind()
            self.texts.say(*(str(record.message) for record in records if record.category.__module__.startswith("sideline")))
        finally:
            logger.removeHandler(collect)
        self.texts.check()

    # The peer and its client.

    @contextlib.contextmanager
    def _peer(self, respond: Callable[[bytes], bytes]) -> Iterator[dict[str, Any]]:
        """Answers each connection's first request. Yields a client's options."""

        def serve(connection: Any) -> None:
            head = read_head(connection)
            if head:
                rest = Replay(connection, head)
                saying(respond(head))(rest)

        with listener(serve) as host:
            base = f"http://127.0.0.1:{host.port}"
            yield {
                "username": "ann", "secret": SECRETS["secret"], "api_key": SECRETS["api key"], "base_url": base, "broadcast_base_url": base, "websocket_url": base.replace("http", "ws"),
                "max_retries": self.random.choice([0, 0, 1]), "strict": self.random.random() < 0.1, "timeout": sideline.Timeout(5, 5, 10),
            }  # fmt: skip

    def _good_or_odd(self, operation: str) -> bytes:
        return self.grammar.response(operation, is_good=self.random.random() < 0.6)

    @contextlib.contextmanager
    def _only_documented_errors(self, *, explore: bool = True) -> Iterator[None]:
        """Only errors of the package come out of it, and no defect of its own. An error's response is explored too."""
        try:
            yield
        except sideline.SidelineError as error:
            if type(error).__name__ == "InternalError":
                raise Violation(f"a defect of the package: {error}") from error
            self.texts.error(error)
            if explore and (payload := getattr(error, "payload", None)) is not None:
                self._payload(payload)

    # Kinds of cases.

    def _call(self) -> None:
        with self._peer(lambda head: self._good_or_odd(self.operation)) as options, sideline.Client(**options) as client:
            with self._only_documented_errors():
                self._result(CALLS[self.operation](client))
            self._table(client.drift())

    def _async_call(self) -> None:
        async def run() -> Any:
            async with sideline.AsyncClient(**options) as client:
                return await CALLS[self.operation](client)

        with self._peer(lambda head: self._good_or_odd(self.operation)) as options, self._only_documented_errors():
            self._result(asyncio.run(run()))

    def _batch(self) -> None:
        self.operation = self.random.choice(BATCHES)
        ids = list(range(1, 6)) if "team" in self.operation or "roster" in self.operation else [f"s{n}" for n in range(5)]
        more = MONTH if self.operation == "team_events" else {}
        with self._peer(lambda head: self._good_or_odd(self.operation)) as options, sideline.Client(**options) as client, self._only_documented_errors():
            batch = getattr(client, self.operation)(ids, on_error="keep", progress=False, **more)
            if sum(batch.counts.values()) != len(ids):
                raise Violation(f"{len(ids)} ids, but {batch.counts}")
            self.texts.say(repr(batch), str(batch), batch._repr_html_())
            self._table(batch.coverage, is_data=False)
            for error in batch.errors.values():
                self.texts.error(error)
            for payload in batch:
                self._payload(payload)
            for name in batch.tables:
                with self._only_documented_errors():
                    self._table(batch.table(name))
            self.texts.data(pickle.dumps(batch))
            if pickle.loads(pickle.dumps(batch)).counts != batch.counts:
                raise Violation("a batch is another one after its pickle")

    def _archive(self) -> None:
        import polars as pl

        def respond(head: bytes) -> bytes:
            path = head.split(b" ")[1].decode("latin-1")
            operation = next((name for pattern, name in PATHS.items() if re.search(pattern, path.partition("?")[0])), "teams")
            return self.grammar.pristine(operation) if self.random.random() < 0.6 else self._good_or_odd(operation)

        with tempfile.TemporaryDirectory() as folder, self._peer(respond) as options, sideline.Client(**options) as client:
            archive = sideline.Archive(Path(folder) / "season", client)
            for choice in ({"team_ids": [46], **MONTH}, {"game_ids": ["g"]}):
                with self._only_documented_errors():
                    report = archive.sync(**choice, on_error="keep", progress=False)
                    self.texts.say(repr(report), report._repr_html_())
                    self._table(report.coverage, is_data=False)
                    self._table(report.corrections)
            with contextlib.suppress(FileNotFoundError), self._only_documented_errors():
                self.texts.data(repr(archive.info()), archive.info()._repr_html_())
                for name in (*TABLES, "coverage", "corrections"):
                    frame: pl.DataFrame = archive.scan(name).collect()  # type: ignore[assignment]
                    self.texts.data(repr(frame))
                    if archive.to_arrow(name).num_rows != frame.height:
                        raise Violation(f"{name} has as many rows as its reader likes")
                self._table(archive.audit())

    def _events(self) -> None:
        self._stream(lambda head: self.grammar.event_stream(), lambda client: client.live_stats("g", **LIVE))

    def _websocket(self) -> None:
        def respond(head: bytes) -> bytes:
            key = re.search(rb"(?i)sec-websocket-key: *(\S+)", head)
            return self.grammar.websocket(key[1] if key else b"")

        self._stream(respond, lambda client: client.live("g", token=SECRETS["token"], **LIVE))

    def _stream(self, respond: Callable[[bytes], bytes], open_stream: Callable[[sideline.Client], sideline.LiveStream]) -> None:
        connections = 0

        def respond_once(head: bytes) -> bytes:
            nonlocal connections
            if b"_subscribe" in head:
                return self.grammar.response(None)
            connections += 1
            return respond(head) if connections <= CONNECTIONS else b"HTTP/1.1 451 No\r\nContent-Length: 2\r\n\r\n{}"

        score, count = sideline.LiveBoxScore(), 0
        with self._peer(respond_once) as options, sideline.Client(**options) as client, tempfile.TemporaryDirectory() as folder:
            journal = Path(folder) / "game.journal"
            with self._only_documented_errors(), open_stream(client).record(journal) as stream:
                self.texts.say(repr(stream), stream._repr_html_())
                for item in stream:
                    count += 1
                    self._item(item, score)
            with self._only_documented_errors():
                self._table(score.table())
            with self._only_documented_errors():
                replay_count = sum(1 for _ in sideline.replay(journal, speed=None))
                if replay_count != count:
                    raise Violation(f"{count} items were taken, and {replay_count} recorded")
                for table in sideline.replay(journal, speed=None).batches(table=self.random.choice(["live_items", "stat_updates"])):
                    self._table(table)

    # Exploring the results.

    def _item(self, item: Any, score: sideline.LiveBoxScore) -> None:
        if not isinstance(item, sideline.Update):
            self.texts.say(repr(item))
            return
        self.texts.data(repr(item), item.raw, item.text, pickle.dumps(item))
        with self._only_documented_errors():
            item.to_dict()
        with self._only_documented_errors():
            score.feed(item)

    def _result(self, result: Any) -> None:
        if isinstance(result, sideline.Payload):
            self._payload(result)
        else:
            self.texts.data(repr(result))

    def _payload(self, payload: sideline.Payload) -> None:
        html = payload._repr_html_()
        self.texts.data(html)
        # All but the first rows of its table, which are data.
        self.texts.say(re.sub(r"</thead><tbody>.*?</tbody>", "", html, flags=re.DOTALL))
        self.texts.say(repr(payload), payload.url, payload.request_id, repr(dict(payload.headers)))
        with self._only_documented_errors(explore=False):
            self.texts.say(*(payload.unknown_fields() if payload.tables else ()))
        copy = pickle.loads(pickle.dumps(payload))
        if copy.raw != payload.raw:
            raise Violation("a payload is another one after its pickle")
        self.texts.data(pickle.dumps(payload))
        with self._only_documented_errors(explore=False):
            payload.to_dict()
        for name in payload.tables:
            with self._only_documented_errors(explore=False):
                table = payload.table(name)
                if table.to_arrow().nbytes > (16 << 20) + 64 * len(payload.raw):
                    raise Violation(f"{name} takes {table.to_arrow().nbytes} bytes, of a body of {len(payload.raw)}")
                self._table(table)
                if self.random.random() < 0.1:
                    self._plot(name, table)

    def _table(self, table: sideline.Table, *, is_data: bool = True) -> None:
        texts = [str(table), repr(table), table._repr_html_(), repr(table.schema), table.schema._repr_html_()]
        for text in texts:
            if any((ord(letter) < 32 and letter != "\n") or 127 <= ord(letter) < 160 for letter in text):
                raise Violation(f"a table shows a control character: {text[:300]!r}")
        small = table.head(200)
        texts += [repr(small.to_dicts()), repr(small.to_polars()), repr(small.to_pandas())]
        if table.to_arrow().num_rows != table.num_rows or table.to_polars().height != table.num_rows:
            raise Violation(f"{table!r} has as many rows as its reader likes")
        if pickle.loads(pickle.dumps(table)).num_rows != table.num_rows:
            raise Violation(f"{table!r} is another one after its pickle")
        self.texts.say(*texts) if not is_data else self.texts.data(*texts)

    def _plot(self, name: str, table: sideline.Table) -> None:
        from matplotlib.figure import Figure

        draws = {"shots": sideline.plot.shot_chart, "possessions": sideline.plot.possession_timeline, "locations": sideline.plot.tracking}
        if name in draws:
            figure = Figure()
            draws[name](table, figure.subplots())
            figure.canvas.draw()


class Replay:
    """A connection whose first request has been read."""

    def __init__(self, connection: Any, head: bytes) -> None:
        self._connection, self._head = connection, head

    def recv(self, size: int) -> bytes:
        head, self._head = self._head, b""
        return head or bytes(self._connection.recv(size))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def resident() -> int:
    """The most memory that this process had so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def warm_up() -> None:
    """Loads the libraries, so that memory is measured without them."""
    for load in ("pandas", "polars", "pyarrow.parquet", "deltalake", "duckdb", "matplotlib.figure"):
        __import__(load)


def all_of(seed: int, numbers: Iterable[int]) -> Iterator[tuple[int, Case]]:
    for number in numbers:
        yield number, Case(seed, number)
