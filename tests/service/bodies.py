"""JSON bodies of a season, by sections 2.1 to 2.8; shots, locations and the game family have their only documented shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .features import Features
from .lines import Line, Occurrence, court_players, lines, samples, shots, team_ids
from .season import Action, Event, Player, Possession, Season, Session, Team

Json = dict[str, Any]

TEAM_IMAGES: tuple[str, ...] = ("logo_small_light", "logo_small_dark", "logo_small_light_transparent", "logo_small_dark_transparent")
TEAM_IMAGES += ("logo_light", "logo_dark", "logo_light_transparent", "logo_dark_transparent")
PLAYER_IMAGES: tuple[str, ...] = ("image_light", "image_dark", "image_light_transparent", "image_dark_transparent")
PLAYER_IMAGES += ("headshot_light", "headshot_dark", "headshot_transparent", "image_profile")
IMAGES = "https://images.example.test"


def logo(team_id: int) -> str:
    return f"{IMAGES}/teams/{team_id}/logo.png"


def portrait(player_id: int) -> str:
    return f"{IMAGES}/players/{player_id}.png"


class Links:
    """Absolute links to other resources."""

    def __init__(self, base: str) -> None:
        self.base = base

    def game(self, event_id: str) -> str:
        return f"{self.base}/v1/data/games/{event_id}"

    def game_details(self, event_id: str) -> str:
        return f"{self.base}/v1/data/stats/games/{event_id}/stats/details"

    def of_session(self, session_id: str, resource: str) -> str:
        return f"{self.base}/v1/data/stats/{session_id}/{resource}"

    def locations(self, session_id: str, start: int, end: int) -> str:
        return f"{self.base}/v1/data/sensors/locations?id={session_id}&from={start}&to={end}"


def session_name(session: Session, features: Features) -> str | None:
    return None if features.game_round else session.name


def session_type(event: Event, session: Session, features: Features) -> str:
    return "GAME_ROUND" if features.game_round and event.is_game and not session.type.startswith("FOOTBALL") else session.type


class Bodies:
    """Builds each body from the current season."""

    def __init__(self, season: Season, links: Links, features: Features) -> None:
        self.season, self.links, self.features = season, links, features

    # Teams

    def _team(self, team: Team) -> Json:
        names = ("id", "name", "gender", "conference_name", "league_name", "sport", "reference_id")
        return {name: getattr(team, name) for name in names}

    def teams(self) -> Json:
        return {"teams": [self._team(team) for team in self.season.reorder(self.season.teams, "teams")]}

    def roster(self, team: Team, at: int | None) -> Json:
        """The current players, or those at a time; departed ones are not active."""
        players = self.season.reorder(self.season.roster(team.id, at), f"roster {team.id}")
        images = {name: f"{IMAGES}/teams/{team.id}/{name}.png" for name in TEAM_IMAGES}
        body = self._team(team) | {"logo_image_link": logo(team.id), "team_images": images}
        return body | {"players": [self._player(player, team.id) for player in players]}

    def _player(self, player: Player, team_id: int) -> Json:
        return {
            "id": player.id,
            "first_name": player.first_name,
            "last_name": player.last_name,
            "jersey_number": player.jersey_number,
            "jersey_number_str": str(player.jersey_number),
            "position": player.position,
            "profile_image_link": portrait(player.id),
            "display_name": player.display_name,
            "is_active": player.team_id == team_id,
            "special_services": [{"type": kind, "value": value} for kind, value in player.services],
            "reference_id": f"p-{player.id}",
            "sensor": player.sensor,
            "is_starter": player.id % 100 < 5,
            "is_scout": False,
            "team_player_images": {name: f"{IMAGES}/players/{player.id}/{name}.png" for name in PLAYER_IMAGES},
        }

    # Schedule and events

    def schedule(self, keep: Callable[[Event], bool]) -> Json:
        games = [game for game in self.season.reorder(self.season.games, "schedule") if game.is_scheduled and keep(game)]
        return {"games": [self.schedule_entry(game) for game in games]}

    def schedule_entry(self, game: Event) -> Json:
        season = self.season
        home, away = season.team(game.home_id), season.team(game.away_id)
        return {
            "event_id": game.id,
            "facility_name": game.facility_name,
            "court_name": "Main court",
            "location_id": f"{game.court_id}@{game.facility_id}",
            "tournament": game.tournament,
            "tipoff_at": game.tipoff,
            "gender": home.gender if home else "MEN",
            "status": game.status,
            "type": season.sport,
            "home_team_id": game.home_id,
            "away_team_id": game.away_id,
            "home_team_name": season.team_name(game.home_id),
            "away_team_name": season.team_name(game.away_id),
            "home_team_reference_id": home.reference_id if home else "",
            "away_team_reference_id": away.reference_id if away else "",
            "officials_team_id": 0,
            "_results": self.links.game(game.id),
            "reference_id": f"g-{game.id[:8]}",
            "fan_engagement_enabled": False,
            "source": "SCHEDULE",
        }

    def events(self, events: Iterable[Event]) -> Any:
        """The body of Search Team Events, with the root that is switched on."""
        bodies = [self.event(event) for event in self.season.reorder(events, "events")]
        if self.features.events_root == "object":
            return {"events": bodies}
        return bodies[0] if self.features.events_root == "single" and len(bodies) == 1 else bodies

    def event(self, event: Event) -> Json:
        body: Json = {
            "id": event.id,
            "name": event.name,
            "results": [self._result(event, session) for session in event.sessions],
            "source": "TRACKING",
            "is_practice_event": not event.is_game,
            "is_game_event": event.is_game,
            "started_at": event.start,
            "ended_at": event.end,
        }
        if event.is_game:
            attributes = {"home_team_id": event.home_id, "home_team_name": self.season.team_name(event.home_id)}
            attributes |= {"away_team_id": event.away_id, "away_team_name": self.season.team_name(event.away_id)}
            body |= {"game_type": event.game_type, "_self": self.links.game(event.id), "game_attributes": attributes}
            body["totals"] = {"_stats_details": self.links.game_details(event.id)}
        return body

    def _result(self, event: Event, session: Session) -> Json:
        links, features = self.links, self.features
        body = {
            "id": session.id,
            "name": session_name(session, features),
            "type": session_type(event, session, features),
            "started_at": session.start,
            "ended_at": session.end,
            "_stats": links.of_session(session.id, "stats"),
            "_stats_details": links.of_session(session.id, "stats/details"),
            "_shots": links.of_session(session.id, "shots"),
            "_locations": [links.locations(session.id, *window) for window in session.windows()],
        }
        if features.possessions_link:
            body["_possessions"] = links.of_session(session.id, "possessions")
        if features.possessions_summary_link:
            body["_possessions_summary"] = links.of_session(session.id, "possessions/summary")
        return body

    # Statistics

    def _details_of(self, player_id: int) -> Json | None:
        if player_id == 0:
            return None
        player = self.season.player(player_id)
        return {"id": player.id, "firstname": player.first_name, "lastname": player.last_name, "profile_image_link": portrait(player.id)}

    def _stats(self, sessions: list[Session], stats: Callable[[Line], Json]) -> Json:
        def line(entry: Line) -> Json:
            return {"id": entry.player_id, "player_details": self._details_of(entry.player_id), "version": entry.version, "stats": stats(entry)}

        return {
            "teams": [
                {
                    "id": team_id,
                    "name": self.season.team_name(team_id),
                    "logo_image_link": logo(team_id),
                    "player_stats": [line(entry) for entry in lines(self.season, sessions, team_id)],
                }
                for team_id in team_ids(self.season, sessions)
            ]
        }

    def stats(self, session: Session) -> Json:
        return self._stats([session], lambda line: line.totals)

    def game_stats(self, event: Event) -> Json:
        """The same over all sessions of a game."""
        return self._stats(event.sessions, lambda line: line.totals)

    def stats_details(self, sessions: list[Session]) -> Json:
        """Of one session, or of all sessions of a game."""
        return self._stats(
            sessions, lambda line: {stat: [self._occurrence(occurrence) for occurrence in occurrences] for stat, occurrences in line.by_stat.items()}
        )

    def _occurrence(self, occurrence: Occurrence) -> Json:
        action, session = occurrence.action, occurrence.session
        x, y, z = action.position
        sign = 1 if action.hoop[1] > 0 else -1
        return {
            "occurred_at": action.at,
            "value": occurrence.value,
            "game_clock": session.game_clock(action.at),
            "shot_clock": session.shot_clock(action.at),
            "period": session.name,
            "x": x,
            "y": y,
            "z": z,
            "hoop_to_event_x": -sign * (x - action.hoop[0]),
            "hoop_to_event_y": -sign * (y - action.hoop[1]),
        }

    def team_game_stats(self, team: Team, events: list[Event]) -> Json:
        """Sums over the games in which the team took part."""
        sessions = [session for event in events for session in event.sessions]
        games = {
            player: sum(any(player in possession.player_ids for session in event.sessions for possession in session.of_team(team.id)) for event in events)
            for player in {line.player_id for line in lines(self.season, sessions, team.id)}
        }
        rows = [
            {
                "id": line.player_id,
                "player_details": self._details_of(line.player_id),
                "version": line.version,
                "games_played": games[line.player_id] if line.player_id else len(events),
                "stats": line.totals,
            }
            for line in lines(self.season, sessions, team.id)
        ]
        return {"id": team.id, "name": team.name, "logo_image_link": logo(team.id), "player_stats": rows if events else []}

    def possessions(self, session: Session) -> Json:
        return {
            "teams": [
                {
                    "id": team_id,
                    "name": self.season.team_name(team_id),
                    "team_player_details": [self._court_player(player) for player in court_players(self.season, session, team_id)],
                    "possessions": [self._possession(session, possession) for possession in session.of_team(team_id)],
                }
                for team_id in team_ids(self.season, [session])
            ]
        }

    def _court_player(self, player_id: int) -> Json:
        player = self.season.player(player_id)
        return {"id": player.id, "first_name": player.first_name, "last_name": player.last_name, "profile_image_link": portrait(player.id)}

    def _possession(self, session: Session, possession: Possession) -> Json:
        return {
            "_locations": self.links.locations(session.id, possession.start, possession.end),
            "start_timestamp": possession.start,
            "end_timestamp": possession.end,
            "start_game_clock": session.game_clock(possession.start),
            "end_game_clock": session.game_clock(possession.end),
            "period": session.name,
            "player_ids": possession.player_ids,
            "opposing_player_ids": possession.opposing_player_ids,
            "stats": [self._possession_stat(session, action) for action in possession.actions],
            "possession_attributes": possession.attributes,
        }

    def _possession_stat(self, session: Session, action: Action) -> Json:
        body: Json = {"timestamp": action.at, "possession_type": action.type, "details": action.details, "player_id": action.player_id}
        body |= {"game_clock": session.game_clock(action.at), "shot_clock": session.shot_clock(action.at)}
        if action.shot is not None:
            x, y, z = action.shot.player
            body["shot_attributes"] = {
                "shot_distance_cm": action.shot.distance_cm,
                "x": x,
                "y": y,
                "z": z,
                "zone": action.shot.zone,
                "advanced_zone": action.shot.advanced_zone,
                "is_3point": action.shot.is_3point,
            }
        return body

    def shots(self, session: Session) -> Json:
        teams = []
        for team_id in team_ids(self.season, [session]):
            by_player: dict[int, list[Json]] = {}
            for action, _ in shots(session, team_id):
                by_player.setdefault(action.player_id, []).append(self._shot(session, action))
            players = [{"id": player, "player_details": self._details_of(player), "shots": rows} for player, rows in by_player.items()]
            team = {"id": team_id, "name": self.season.team_name(team_id), "logo_image_link": logo(team_id)}
            teams.append(team | {"player_shots": self.season.reorder(players, f"shots of {team_id}")})
        return {"teams": teams}

    def _shot(self, session: Session, action: Action) -> Json:
        shot = action.shot
        assert shot is not None
        return {
            "occurred_at": action.at,
            "is_make": shot.is_make,
            "is_3point": shot.is_3point,
            "zone": shot.zone,
            "advanced_zone": shot.advanced_zone,
            **{f"player_{axis}": value for axis, value in zip("xyz", shot.player, strict=True)},
            **{f"hoop_{axis}": value for axis, value in zip("xyz", shot.hoop, strict=True)},
            "hoop_player_x": shot.to_hoop[0],
            "hoop_player_y": shot.to_hoop[1],
            "status": "RECORDED",
            "game_clock": session.game_clock(action.at),
            "shot_clock": session.shot_clock(action.at),
            "period": session.name,
            "attributes": [shot.attribute],
        }

    def locations(self, session: Session, start: int, end: int) -> list[Json]:
        return [
            {
                "locations": [
                    {
                        "t": sample.t,
                        "x": sample.x,
                        "y": sample.y,
                        "z": sample.z,
                        "type": "PLAYER",
                        "sid": session.id,
                        "tag": sample.tag,
                        "tid": sample.team_id,
                        "pid": sample.player_id,
                        "speed": sample.speed,
                        "gc": session.game_clock(sample.t),
                        "sc": session.shot_clock(sample.t),
                    }
                    for sample in batch
                ]
            }
            for batch in samples(self.season, session, start, end)
        ]

    def game_events(self, event: Event) -> Json:
        """The fields of Full Game Events are not documented: any object."""
        return {"event_id": event.id, "events": [{"at": action.at, "team_id": team} for session in event.sessions for team, action in session.actions()]}
