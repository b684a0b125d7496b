"""The operations, as type checkers see them: one id gives one thing, many give another."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any, Generic, TypeVar, overload
from uuid import UUID

from sideline._core import Table
from sideline._progress import ProgressOption
from sideline._timeout import Limit
from sideline.batch import Batch, OnError, Question

__all__ = ["Operations"]

T = TypeVar("T")
B = TypeVar("B")
Time = datetime | date | str | int
Id = int | str | UUID
Many = Iterable[Any] | Table
Ids = Id | Many
GameIds = Id | Iterable[Any]

class Operations(Generic[T, B]):
    def _call(self, operation: str, required: dict[str, Any], optional: dict[str, Any]) -> T: ...
    def _many(
        self, question: Question, on_error: OnError, progress: ProgressOption, before: Batch[Any] | None = None
    ) -> B: ...
    def _ask(
        self,
        operation: str,
        required: dict[str, Any],
        optional: dict[str, Any],
        on_error: OnError,
        progress: ProgressOption,
        timeout: Limit = None,
    ) -> T | B: ...
    def teams(self, *, timeout: Limit = None) -> T: ...
    @overload
    def roster(
        self, team_id: Id, *, game_id: str | None = None, reference: str | None = None, timeout: Limit = None
    ) -> T: ...
    @overload
    def roster(
        self,
        team_id: Many,
        *,
        game_id: str | None = None,
        reference: str | None = None,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> B: ...
    def schedule(
        self,
        start: Time,
        end: Time | None = None,
        *,
        sport: str | None = None,
        team_id: int | str | None = None,
        location_id: str | None = None,
        season_type: str | None = None,
        week: int | None = None,
        timeout: Limit = None,
    ) -> T: ...
    def matchup(
        self,
        team_ids: int | str | Iterable[int | str],
        start: Time,
        end: Time | None = None,
        *,
        reference: str,
        gender: str,
        timeout: Limit = None,
    ) -> T: ...
    @overload
    def team_events(
        self,
        team_id: Id,
        start: Time,
        end: Time,
        *,
        games_only: bool = False,
        workouts_only: bool = False,
        timeout: Limit = None,
    ) -> T: ...
    @overload
    def team_events(
        self,
        team_id: Many,
        start: Time,
        end: Time,
        *,
        games_only: bool = False,
        workouts_only: bool = False,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> B: ...
    @overload
    def team_game_stats(
        self,
        team_id: Id,
        *,
        game_id: str | None = None,
        start: Time | None = None,
        end: Time | None = None,
        timeout: Limit = None,
    ) -> T: ...
    @overload
    def team_game_stats(
        self,
        team_id: Many,
        *,
        game_id: str | None = None,
        start: Time | None = None,
        end: Time | None = None,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> B: ...
    @overload
    def game_events(self, game_id: Id, *, team_id: int | str | None = None, timeout: Limit = None) -> T: ...
    @overload
    def game_events(
        self,
        game_id: Many,
        *,
        team_id: int | str | None = None,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> B: ...
    @overload
    def game(self, game_id: Id, *, timeout: Limit = None) -> T: ...
    @overload
    def game(
        self, game_id: Many, *, on_error: OnError = "raise", progress: ProgressOption = None, timeout: Limit = None
    ) -> B: ...
    @overload
    def stats(self, session_id: Id, *, game_id: Id | None = None, timeout: Limit = None) -> T: ...
    @overload
    def stats(
        self,
        session_id: Many,
        *,
        game_id: GameIds | None = None,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> B: ...
    @overload
    def stats_details(self, session_id: Id, *, game_id: Id | None = None, timeout: Limit = None) -> T: ...
    @overload
    def stats_details(
        self,
        session_id: Many,
        *,
        game_id: GameIds | None = None,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> B: ...
    @overload
    def possessions(self, session_id: Id, *, game_id: Id | None = None, timeout: Limit = None) -> T: ...
    @overload
    def possessions(
        self,
        session_id: Many,
        *,
        game_id: GameIds | None = None,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> B: ...
    @overload
    def shots(self, session_id: Id, *, game_id: Id | None = None, timeout: Limit = None) -> T: ...
    @overload
    def shots(
        self,
        session_id: Many,
        *,
        game_id: GameIds | None = None,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> B: ...
    @overload
    def locations(
        self, session_id: Id, start: Time, end: Time, *, game_id: Id | None = None, timeout: Limit = None
    ) -> T: ...
    @overload
    def locations(
        self,
        session_id: Many,
        start: Time,
        end: Time,
        *,
        game_id: GameIds | None = None,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> B: ...
    @overload
    def game_stats_details(self, game_id: Id, *, timeout: Limit = None) -> T: ...
    @overload
    def game_stats_details(
        self, game_id: Many, *, on_error: OnError = "raise", progress: ProgressOption = None, timeout: Limit = None
    ) -> B: ...
    @overload
    def game_shots(self, game_id: Id, *, timeout: Limit = None) -> T: ...
    @overload
    def game_shots(
        self, game_id: Many, *, on_error: OnError = "raise", progress: ProgressOption = None, timeout: Limit = None
    ) -> B: ...
    @overload
    def play_by_play(self, game_id: Id, *, timeout: Limit = None) -> T: ...
    @overload
    def play_by_play(
        self, game_id: Many, *, on_error: OnError = "raise", progress: ProgressOption = None, timeout: Limit = None
    ) -> B: ...
    @overload
    def ball_screens(self, game_id: Id, *, timeout: Limit = None) -> T: ...
    @overload
    def ball_screens(
        self, game_id: Many, *, on_error: OnError = "raise", progress: ProgressOption = None, timeout: Limit = None
    ) -> B: ...
    @overload
    def videos(self, game_id: Id, *, timeout: Limit = None) -> T: ...
    @overload
    def videos(
        self, game_id: Many, *, on_error: OnError = "raise", progress: ProgressOption = None, timeout: Limit = None
    ) -> B: ...
    @overload
    def catch_up(
        self,
        game_id: Id,
        resources: str | Iterable[str] = ("stats", "details", "shots", "possessions"),
        *,
        timeout: Limit = None,
    ) -> T: ...
    @overload
    def catch_up(
        self,
        game_id: Many,
        resources: str | Iterable[str] = ("stats", "details", "shots", "possessions"),
        *,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> B: ...
    def follow(self, link: str, *, timeout: Limit = None) -> T: ...
    def get(self, path: str, params: Mapping[str, object] | None = None, *, timeout: Limit = None) -> T: ...
    def broadcast_schedule(
        self, start: Time | None = None, end: Time | None = None, *, mock: bool = False, timeout: Limit = None
    ) -> T: ...
    def broadcast_teams(self, *, timeout: Limit = None) -> T: ...
    @overload
    def broadcast_roster(self, team_id: Id, *, game_id: str | None = None, timeout: Limit = None) -> T: ...
    @overload
    def broadcast_roster(
        self,
        team_id: Many,
        *,
        game_id: str | None = None,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> B: ...
    @overload
    def broadcast_stats(self, schedule_id: Id, *, mock: bool = False, timeout: Limit = None) -> T: ...
    @overload
    def broadcast_stats(
        self,
        schedule_id: Many,
        *,
        mock: bool = False,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> B: ...
    @overload
    def broadcast_colors(self, schedule_id: Id, *, timeout: Limit = None) -> T: ...
    @overload
    def broadcast_colors(
        self, schedule_id: Many, *, on_error: OnError = "raise", progress: ProgressOption = None, timeout: Limit = None
    ) -> B: ...
    @overload
    def broadcast_locomotion(self, schedule_id: Id, team_id: Id, *, timeout: Limit = None) -> T: ...
    @overload
    def broadcast_locomotion(
        self,
        schedule_id: Many,
        team_id: Id,
        *,
        on_error: OnError = "raise",
        progress: ProgressOption = None,
        timeout: Limit = None,
    ) -> B: ...
