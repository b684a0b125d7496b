"""The state machine of `test_faulty_service.py` while a game is played: its clock runs, lines are corrected, streams are open.

`HYPOTHESIS_EXAMPLES=500 pytest tests/test_faulty_game.py` is a longer run, of other examples.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import initialize, precondition, rule

import sideline
from soak import box_score
from test_faulty_service import EXAMPLES, FaultyService, World, make_the_threads

SPEEDS = (None, 60.0, 1200.0, 6000.0, 1e9)


class PlayedGame(FaultyService):
    """Another game, which has not started yet."""

    complete_streams: int = 0
    """The number of streams that delivered the whole game."""

    @initialize()
    def start(self) -> None:
        type(self).world = World()
        self.world.service.streams.heartbeat = 0.05
        self.game = self.world.service.games[-1]
        self.sides = [self.game["home_team_id"], self.game["away_team_id"]]
        self.players = [row["player_id"] for side in self.sides for row in self.world.truth.roster(side).table().to_dicts()[:5]]
        # The state of the game itself, without faults.
        self.is_played = False
        self.points = 0.0
        self.boxes: dict[int, tuple[sideline.LiveStream, sideline.LiveBoxScore]] = {}
        self.last: dict[int, float] = {}
        super().start()

    @rule(speed=st.sampled_from(SPEEDS))
    def play_on(self, speed: float | None) -> None:
        try:
            self.world.service.play(self.game["event_id"], speed)
        except ValueError as error:
            if not self.is_played or "the game is over" not in str(error):
                raise
        self.is_played = True

    @precondition(lambda self: self.is_played)
    @rule(player=st.integers(0, 9), stat=st.sampled_from(["AST", "BLK", "PTS", "DIST"]))
    def correct_the_game(self, player: int, stat: str) -> None:
        try:
            self.world.service.correct(self.game["event_id"], self.players[player], stat, +1)
        except ValueError as error:
            if "has no session yet" not in str(error):
                raise

    @precondition(lambda self: self.is_played)
    @rule(seconds=st.sampled_from([0.01, 0.1]))
    def time_passes(self, seconds: float) -> None:
        time.sleep(seconds)

    @precondition(lambda self: self.client is not None)
    @rule(index=st.integers(0, 5))
    def ask_about_the_game(self, index: int) -> None:
        game, client = self.game["event_id"], self.client
        assert client
        send_request = [
            lambda: client.game(game),
            lambda: client.team_game_stats(self.sides[0], game_id=game),
            lambda: client.broadcast_stats(game),
            lambda: client.game_shots(game),
            lambda: client.catch_up(game, ["stats", "shots"]),
            lambda: client.schedule("2027-03-01", "2027-03-31"),
        ][index]

        def check(payload: sideline.Payload, _: None) -> None:
            assert payload.status == 200
            try:
                for name in payload.tables:
                    payload.table(name)
            except sideline.DecodeError as error:
                self.is_allowed(error)
                return
            if index == 1:
                # Points never decrease: corrections only add here.
                points = sum(row["PTS"] or 0.0 for row in payload.table("box_score").to_dicts())
                assert points >= self.points
                self.points = points

        if not self.is_played:
            # The service has no data of it yet.
            self.possible_errors.add(sideline.NotFound)
        self.right_or_allowed(send_request, lambda: None, check)

    # Its streams.

    @precondition(lambda self: self.client is not None and len(self.streams) < 3)
    @rule(websocket=st.booleans())
    def follow_the_game(self, websocket: bool) -> None:
        options: dict[str, Any] = {"retry_wait": 0.01, "max_wait": 0.02, "silence_limit": 1.0}
        game, client = self.game["event_id"], self.client
        assert client
        stream = client.live(game, sources=["stats"], **options) if websocket else client.live_stats(game, **options)
        stream.__enter__()
        self.streams.append(stream)
        self.boxes[id(stream)] = stream, sideline.LiveBoxScore()

    @precondition(lambda self: self.streams)
    @rule(index=st.integers(0, 2))
    def read_all_that_is_there(self, index: int) -> None:
        self.read_a_stream(index, 5_000)

    def take(self, stream: sideline.LiveStream, item: sideline.Update | sideline.live.Notice) -> None:
        super().take(stream, item)
        entry = self.boxes.get(id(stream))
        if entry is None or entry[0] is not stream:
            return
        entry[1].feed(item)
        if isinstance(item, sideline.Update):
            last = self.last.get(id(stream), -1)
            now = item.seq if item.seq is not None else item.to_dict()["version"]
            # Messages have numbers of their own; of documents one may come again.
            assert now > last if item.seq is not None else now >= last
            self.last[id(stream)] = now

    def teardown(self) -> None:
        if self.is_played and self.client is not None and len(self.streams) < 3:
            # At least one stream begins under the last faults and must come to the truth.
            self.follow_the_game(websocket=bool(self.boxes))
        self.clear_the_faults()
        try:
            open_ones = [(stream, box) for stream, box in self.boxes.values() if stream in self.streams and stream.state != "closed"]
            if self.is_played and open_ones:
                self.all_come_to_the_same(open_ones)
            super().teardown()
        finally:
            self.world.close()

    def all_come_to_the_same(self, streams: list[tuple[sideline.LiveStream, sideline.LiveBoxScore]]) -> None:
        with contextlib.suppress(ValueError):
            self.world.service.play(self.game["event_id"], 1e9)
        service, until = self.world.service, time.monotonic() + 30
        with service.client() as client:
            while True:
                ended_streams = []
                for stream, box in streams:
                    try:
                        while (item := stream._core.next_within(0.1)) is not None:
                            self.take(stream, item)
                    except sideline.SidelineError as error:
                        # It had ended before the faults did.
                        self.is_allowed(error)
                        ended_streams.append((stream, box))
                streams = [stream for stream in streams if stream not in ended_streams]
                rest = box_score(*(client.team_game_stats(side, game_id=self.game["event_id"]).table("box_score") for side in self.sides))
                boxes = [box_score(box.table()) for _, box in streams]
                if all(box == rest for box in boxes):
                    PlayedGame.complete_streams += len(streams)
                    return
                assert time.monotonic() < until, [(s, s.state, s.stats) for s, _ in streams] + [
                    {key: (box.get(key), rest[key]) for key in rest if box.get(key) != rest[key]} for box in boxes
                ]


@pytest.mark.timeout(0 if EXAMPLES else 600)
@pytest.mark.parametrize("examples", [EXAMPLES or 25, pytest.param(80, marks=pytest.mark.extended)])
def test_a_game_that_is_played_through_faults_is_the_same_in_all_streams_and_responses(examples: int) -> None:
    with sideline.Simulator(seed=5, teams=4, games=8) as service:
        make_the_threads(service)
    PlayedGame.complete_streams = 0
    PlayedGame.TestCase.settings = settings(
        max_examples=examples,
        stateful_step_count=25,
        deadline=None,
        phases=(Phase.generate,),
        database=None,
        derandomize=not EXAMPLES,
        suppress_health_check=list(HealthCheck),
    )
    PlayedGame.TestCase().runTest()
    assert PlayedGame.complete_streams > 2, PlayedGame.complete_streams
