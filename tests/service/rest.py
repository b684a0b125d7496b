"""The REST and Broadcast operations: the response to each request."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from . import signature
from .bodies import Bodies, Json
from .game_family import GameFamily
from .messages import Request, Response
from .season import DAY, Event, Session, instant

if TYPE_CHECKING:
    from .server import Service

_ROUTES: tuple[tuple[str, str], ...] = (
    ("teams", r"/v1/data/teams"),
    ("team_events", r"/v1/data/teams/(?P<team_id>[^/,]+)/events"),
    ("team_game_stats", r"/v1/data/teams/(?P<team_id>[^/,]+)/players/game/stats"),
    ("roster", r"/v1/data/teams/(?P<team_id>[^/,]+)(?P<reference>,[^/]+)?"),
    ("schedule", r"/v1/data/schedule/games"),
    ("matchup", r"/v1/data/schedule/games/matchup"),
    ("subscription_token", r"/v1/data/schedule/games/(?P<event_id>[^/]+)/_subscribe"),
    ("game_events", r"/v1/data/games/(?P<event_id>[^/]+)/events"),
    ("game", r"/v1/data/games/(?P<event_id>[^/]+)"),
    ("game_stats_details", r"/v1/data/stats/games/(?P<event_id>[^/]+)/stats/details"),
    ("play_by_play", r"/v1/data/stats/games/(?P<event_id>[^/]+)/details"),
    ("ball_screens", r"/v1/data/stats/games/(?P<event_id>[^/]+)/ballscreens"),
    ("game_shots", r"/v1/data/stats/games/(?P<event_id>[^/]+)/shots"),
    ("catch_up", r"/v1/data/stats/games/(?P<event_id>[^/]+)/(?P<resources>[a-z,]+)"),
    ("stats", r"/v1/data/stats/(?P<id>[^/]+)/stats"),
    ("stats_details", r"/v1/data/stats/(?P<id>[^/]+)/stats/details"),
    ("possessions", r"/v1/data/stats/(?P<id>[^/]+)/possessions"),
    ("shots", r"/v1/data/stats/(?P<id>[^/]+)/shots"),
    ("locations", r"/v1/data/sensors/locations"),
    ("broadcast_schedule", r"/broadcast/v1/games/schedule"),
    ("broadcast_teams", r"/broadcast/v1/games/teams"),
    ("broadcast_roster", r"/broadcast/v1/games/teams/(?P<team_id>[^/]+)"),
    ("broadcast_stats", r"/broadcast/v1/stats"),
    ("live_stats", r"/broadcast/v1/stats/event-stream"),
    ("live", r"/live/v2/games"),
)
_PATTERNS = tuple((name, re.compile(pattern)) for name, pattern in _ROUTES)

OPTIONAL_OPERATIONS = {"matchup", "subscription_token", "play_by_play", "ball_screens", "game_shots", "catch_up", "broadcast_roster", "broadcast_stats"}
"""Operations that exist only where their feature is on."""

BROADCAST = {"broadcast_schedule", "broadcast_teams", "broadcast_roster", "broadcast_stats", "live_stats"}

_PRIVILEGES = {
    "roster": ("rosters", "Restricted resource"),
    "team_game_stats": ("stats", "No access to STATS data"),
    "stats": ("stats", "No access to STATS data"),
    "stats_details": ("stats", "No access to STATS data"),
    "possessions": ("stats", "No access to STATS data"),
    "shots": ("shots", "No access to SHOTS data"),
    "locations": ("locations", "No access to STATS data"),
    "game_events": ("games", "Access denied to resource"),
}

RULE_POSITIVE = "from and to must both be greater than 0"
RULE_ORDER = "from must be less than to"
RULE_RANGE = "the range may not exceed 8 months"


class Refused(Exception):
    """Ends an operation with an error body."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


def route(request: Request) -> None:
    """Finds the operation and the ids of the path."""
    for name, pattern in _PATTERNS:
        if match := pattern.fullmatch(request.path):
            request.operation = name
            request.ids = {key: value for key, value in match.groupdict().items() if value is not None}
            return


def months_later(at: int, months: int) -> int:
    """The same day and time so many calendar months later, at most the month's last day."""
    start = instant(at)
    month = start.month - 1 + months
    year, month = start.year + month // 12, month % 12 + 1
    for day in range(start.day, 27, -1):
        try:
            return round(start.replace(year=year, month=month, day=day).timestamp() * 1000)
        except ValueError:
            continue
    return round(start.replace(year=year, month=month).timestamp() * 1000)


def check_range(start: int | None, end: int | None) -> None:
    """The 422 rules of section 7; a message states those that are violated."""
    rules = []
    if start is None or end is None or start <= 0 or end <= 0:
        rules.append(RULE_POSITIVE)
    if start is not None and end is not None:
        if start >= end:
            rules.append(RULE_ORDER)
        limit = 253_402_300_799_000
        if 0 < start < limit - 300 * DAY and end > months_later(start, 8):
            rules.append(RULE_RANGE)
    if rules:
        raise Refused(422, " | ".join(rules))


class Rest:
    """Responds to every request that is no stream."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._cache: dict[tuple[str, str], bytes] = {}
        self._state: Any = None

    @property
    def bodies(self) -> Bodies:
        return Bodies(self.service.season, self.service.links, self.service.features)

    def respond(self, request: Request) -> Response:
        """The response without faults."""
        service = self.service
        name = request.operation
        if not name or (name in OPTIONAL_OPERATIONS and not getattr(service.features, name)):
            return Response.of({"message": "no Route matched with those values"}, 404)
        try:
            if name in BROADCAST:
                self.check_key(request)
            elif refusal := self._check_signature(request):
                return refusal
            if request.method != "GET":
                raise Refused(405, "Method not allowed")
            with service.season.lock:
                return self._cached_response(request)
        except Refused as refusal:
            return Response.of(self.error(refusal.status, refusal.message), refusal.status)

    def _cached_response(self, request: Request) -> Response:
        season = self.service.season
        state = (season.revision, season.order, season.now, vars(self.service.features).copy(), self.service.links.base)
        if state != self._state or len(self._cache) > 5000:
            self._state = state
            self._cache.clear()
        key = (request.operation, request.target)
        if key not in self._cache:
            operation: Callable[[Request], Any] = getattr(self, f"_{request.operation}")
            self._cache[key] = Response.of(operation(request)).body
        return Response(200, self._cache[key])

    def error(self, status: int, message: str) -> Json:
        """The body of section 7."""
        return {"status": status, "message": message, self.service.request_id_key: str(uuid.uuid4())}

    def check_key(self, request: Request) -> None:
        """The `apikey` of the Broadcast operations; the response to a wrong one is not documented."""
        key = request.first("apikey")
        if not key and self.service.features.api_key_header:
            key = request.headers.get("apikey", "")
        if key != self.service.api_key:
            raise Refused(401, "Invalid authentication credentials" if key else "No API key found in request")

    def _check_signature(self, request: Request) -> Response | None:
        service = self.service
        reason = signature.refusal(
            request.headers, request.method, request.target if service.signs_query else request.path, service.credentials, now=service.now(), skew=service.skew
        )
        if reason is not None:
            return Response.of({"message": reason}, service.signature_status)
        pairs = signature.parse(request.headers["authorization"]) or {}
        privileges = service.credentials[pairs["username"]].privileges
        privilege, message = _PRIVILEGES.get(request.operation, ("", ""))
        if privilege and privilege not in privileges:
            raise Refused(403, message)
        return None

    # What ids lead to

    def _known_session(self, request: Request) -> Session:
        pair = self.service.season.session(request.id or request.first("id"))
        if pair is None:
            raise Refused(404, "Invalid id")
        return pair[1]

    def _known_game(self, request: Request) -> Event:
        event = self.service.season.event(request.id)
        if event is None or not event.is_game or not event.sessions:
            raise Refused(404, "Invalid id")
        return event

    def _team_id(self, request: Request) -> int:
        try:
            return int(request.ids["team_id"])
        except ValueError:
            return -1

    # Operations

    def _teams(self, request: Request) -> Any:
        return self.bodies.teams()

    def _roster(self, request: Request) -> Any:
        season = self.service.season
        if "reference" in request.ids and not self.service.features.roster_reference_in_path:
            raise Refused(404, "Team not found")
        team = season.team(self._team_id(request))
        game_id = request.first("game_event_id")
        game = season.event(game_id) if game_id else None
        if game_id and (game is None or not game.is_game):
            raise Refused(404, "Game not found")
        if team is None or (game is not None and team.id not in game.team_ids):
            raise Refused(404, "Team not found in the game" if game_id else "Team not found")
        return self.bodies.roster(team, None if game is None else game.start)

    def _schedule(self, request: Request) -> Any:
        start, end = request.number("from"), request.number("to")
        if start is None:
            raise Refused(500, "General system error")
        end = start + DAY if end is None else end
        team = request.number("team_id")
        location = request.first("location_id")
        sport = request.first("type", "BASKETBALL")

        def keep(game: Event) -> bool:
            in_range = start <= game.tipoff <= end and sport == self.service.season.sport
            return in_range and (team is None or team in game.team_ids) and (not location or location == f"{game.court_id}@{game.facility_id}")

        return self.bodies.schedule(keep)

    def _matchup(self, request: Request) -> Any:
        start, end = request.number("from") or 0, request.number("to")
        requested_teams = set(request.query.get("team_id", []))
        season = self.service.season

        def keep(game: Event) -> bool:
            game_teams = {str(team) for team in game.team_ids} | {team.reference_id for team in season.teams if team.id in game.team_ids}
            return start <= game.tipoff and (end is None or game.tipoff <= end) and requested_teams <= game_teams

        return self.bodies.schedule(keep)

    def _team_events(self, request: Request) -> Any:
        start, end = request.number("from"), request.number("to")
        check_range(start, end)
        team = self._team_id(request)
        only_games = request.first("gamesonly").lower() == "true"
        return self.bodies.events(
            event
            for event in self.service.season.played
            if event.is_listed and team in event.team_ids and (start or 0) <= event.start <= (end or 0) and (event.is_game or not only_games)
        )

    def _team_game_stats(self, request: Request) -> Any:
        season = self.service.season
        game_id = request.first("event_id")
        start, end = request.number("from"), request.number("to")
        team = season.team(self._team_id(request))
        if not game_id:
            check_range(start, end)
        if team is None:
            raise Refused(500, "General system error")
        games = [event for event in season.games if event.sessions and team.id in event.team_ids]
        requested_games = [event for event in games if (event.id == game_id if game_id else (start or 0) <= event.start <= (end or 0))]
        return self.bodies.team_game_stats(team, requested_games)

    def _game_events(self, request: Request) -> Any:
        event = self.service.season.event(request.id)
        if event is None:
            raise Refused(403, "Access denied to resource")
        return self.bodies.game_events(event)

    def _game(self, request: Request) -> Any:
        return self.bodies.event(self._known_game(request))

    def _game_stats_details(self, request: Request) -> Any:
        return self.bodies.stats_details(self._known_game(request).sessions)

    def _stats(self, request: Request) -> Any:
        return self.bodies.stats(self._known_session(request))

    def _stats_details(self, request: Request) -> Any:
        return self.bodies.stats_details([self._known_session(request)])

    def _possessions(self, request: Request) -> Any:
        return self.bodies.possessions(self._known_session(request))

    def _shots(self, request: Request) -> Any:
        return self.bodies.shots(self._known_session(request))

    def _locations(self, request: Request) -> Any:
        session = self._known_session(request)
        start, end = request.number("from"), request.number("to")
        if start is None or end is None:
            raise Refused(400, "Valid from and to timestamps are required")
        if self.service.features.locations_limit and end - start > 30 * 60_000:
            raise Refused(400, "Locations must be requested in 30 min timeframes")
        return self.bodies.locations(session, start, end)

    @property
    def _family(self) -> GameFamily:
        return GameFamily(self.service.season)

    def _play_by_play(self, request: Request) -> Any:
        return self._family.play_by_play(self._known_game(request))

    def _ball_screens(self, request: Request) -> Any:
        return self._family.ball_screens(self._known_game(request))

    def _game_shots(self, request: Request) -> Any:
        return self._family.shots(self._known_game(request))

    def _catch_up(self, request: Request) -> Any:
        has_totals = self.service.features.catch_up_lines == "all"
        return self._family.catch_up(self._known_game(request), request.ids["resources"].split(","), has_totals=has_totals)

    def _subscription_token(self, request: Request) -> Any:
        event = self.service.season.event(request.id)
        if event is None:
            raise Refused(404, "Invalid id")
        return {"token": self.service.live.token_for(event.id)}

    # Broadcast: bodies are not documented, so they have the shapes of REST

    def _broadcast_schedule(self, request: Request) -> Any:
        start = request.number("from") or 0
        end = request.number("to")
        games = [self.bodies.schedule_entry(game) for game in self.service.season.games if start <= game.tipoff and (end is None or game.tipoff <= end)]
        return {"games": games}

    def _broadcast_teams(self, request: Request) -> Any:
        return self.bodies.teams()

    def _broadcast_roster(self, request: Request) -> Any:
        team = self.service.season.team(self._team_id(request))
        if team is None:
            raise Refused(404, "Team not found")
        players = [
            {"id": player.id, "first_name": player.first_name, "last_name": player.last_name, "jersey_number": player.jersey_number}
            | {"jersey_number_str": str(player.jersey_number), "position_abbr": player.position, "sensor": player.sensor, "special_services": []}
            for player in self.service.season.roster(team.id)
        ]
        return {"id": team.id, "name": team.name, "abbr": team.name[:3].upper(), "city": "", "state": "", "color_rgb": "0066CC", "players": players}

    def _broadcast_stats(self, request: Request) -> Any:
        event = self.service.season.event(request.first("schedule_id"))
        if event is None or not event.sessions:
            raise Refused(404, "Invalid id")
        return self.bodies.game_stats(event)


def http_date(now: float) -> str:
    """A Date header's value."""
    return datetime.fromtimestamp(now, UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
