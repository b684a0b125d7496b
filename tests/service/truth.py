"""What every table must hold, as plain Python values computed from the season's objects: never from a body, never by the client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .bodies import IMAGES, PLAYER_IMAGES, TEAM_IMAGES, Links, logo, portrait, session_name, session_type
from .features import Features
from .game_family import action_id, classification, primary_code
from .lines import Line, court_players, lines, samples, shots, team_ids
from .season import Event, Player, Season, Session, Team, instant

Row = dict[str, Any]

# The fixed columns; other codes of the data are columns of their own.
BOX = ("FG", "FGA", "FG2", "FGA2", "FG3", "FGA3", "FT", "FTA", "PTS", "AST", "TO", "STL", "BLK", "REB", "OFFENSIVE_REB", "DEFENSIVE_REB", "FL", "DIST")

TEAM_COLUMNS = ("name", "gender", "conference_name", "league_name", "sport", "reference_id")


def seconds(clock: str) -> float:
    """The seconds of a clock string of this service: `minutes:seconds.tenths` or `seconds.tenths`."""
    minutes, _, rest = clock.rpartition(":")
    return round(int(minutes or 0) * 60 + float(rest), 3)


class Truth:
    """Rows of the current season."""

    def __init__(self, season: Season, links: Links, features: Features) -> None:
        self.season, self.links, self.features = season, links, features

    def tables(
        self,
        *,
        session_ids: Collection[str] | None = None,
        game_ids: Collection[str] | None = None,
        team_ids: Collection[int] | None = None,
        request_team_id: int | None = None,
        names: Collection[str] | None = None,
    ) -> dict[str, list[Row]]:
        """Every table of an archive of the whole season, or of a part of it.

        `session_ids`, `game_ids` (ids of games and practices) and `team_ids` narrow the rows, `names` the tables: the locations are more rows than all
        others. The column `team_id` of `events` and `sessions` is the
        team of a practice and null for a game; with `request_team_id` it is that team, as in the payload of that team's events.
        """
        with self.season.lock:
            season = self.season
            teams = [team for team in season.reorder(season.teams, "teams") if team_ids is None or team.id in team_ids]
            wanted_teams = {team.id for team in teams}
            games = [
                game
                for game in season.reorder(season.games, "schedule")
                if game.is_scheduled and (game_ids is None or game.id in game_ids) and (team_ids is None or wanted_teams & set(game.team_ids))
            ]
            events = [
                event
                for event in season.reorder(season.played, "events")
                if event.is_listed and (game_ids is None or event.id in game_ids) and (team_ids is None or wanted_teams & set(event.team_ids))
            ]
            sessions = [(event, session) for event in events for session in event.sessions if session_ids is None or session.id in session_ids]
            players = [(team, player) for team in teams for player in season.reorder(season.roster(team.id), f"roster {team.id}")]
            tables: dict[str, list[Row]] = {
                "teams": [{"team_id": team.id, **{name: getattr(team, name) for name in TEAM_COLUMNS}} for team in teams],
                "players": [self._player(team, player) for team, player in players],
                "special_services": [
                    {"team_id": team.id, "player_id": player.id, "type": kind, "value": value} for team, player in players for kind, value in player.services
                ],
                "team": [self._team(team) for team in teams],
                "games": [self._game(game) for game in games],
                "events": [self._event(event, request_team_id) for event in events],
                "sessions": [self._session(event, session, request_team_id) for event, session in sessions],
                "location_windows": [row for event, session in sessions for row in self._windows(event, session)],
            }
            of_session = {
                "player_stats": self._player_stats,
                "box_score": self._box_score,
                "stat_events": self._stat_events,
                "possessions": self._possessions,
                "possession_events": self._possession_events,
                "possession_players": self._possession_players,
                "shots": self._shots,
                "locations": self._locations,
            }
            of_session = {name: rows for name, rows in of_session.items() if names is None or name in names}
            tables |= {name: [row for event, session in sessions for row in rows(event, session)] for name, rows in of_session.items()}
            if self.features.play_by_play:
                tables["play_by_play"] = [row for event, session in sessions if event.is_game for row in self._play_by_play(event, session)]
            if self.features.ball_screens:
                tables["ball_screens"] = []
            return {name: rows for name, rows in tables.items() if names is None or name in names}

    def game(self, event_id: str) -> dict[str, list[Row]]:
        """The rows of a game's own resources: `stat_events` of its details, `shots` of its shots."""
        with self.season.lock:
            event = self.season.event(event_id)
            if event is None:
                raise LookupError(f"no event {event_id}")
            stat_events = [
                {**row, "session_id": None, "version": max(session.revision for session in event.sessions)}
                if row["is_team_total"]
                else {**row, "session_id": None, "version": max(session.revisions.get(row["player_id"], 1) for session in event.sessions)}
                for session in event.sessions
                for row in self._stat_events(event, session)
            ]
            rows = [{**row, "defender_ids": []} for session in event.sessions for row in self._shots(event, session)]
            return {"stat_events": stat_events, "shots": rows}

    # Teams

    def _team(self, team: Team) -> Row:
        images = {name: f"{IMAGES}/teams/{team.id}/{name}.png" for name in TEAM_IMAGES}
        return {"team_id": team.id, **{name: getattr(team, name) for name in TEAM_COLUMNS}, "logo_image_link": logo(team.id), **images}

    def _player(self, team: Team, player: Player) -> Row:
        return {
            "team_id": team.id,
            "player_id": player.id,
            "first_name": player.first_name,
            "last_name": player.last_name,
            "display_name": player.display_name,
            "jersey_number": player.jersey_number,
            "jersey_number_str": str(player.jersey_number),
            "position": player.position,
            "is_active": player.team_id == team.id,
            "is_starter": player.id % 100 < 5,
            "is_scout": False,
            "reference_id": f"p-{player.id}",
            "sensor": player.sensor,
            "profile_image_link": portrait(player.id),
            **{name: f"{IMAGES}/players/{player.id}/{name}.png" for name in PLAYER_IMAGES},
        }

    # Schedule and events

    def _sides(self, event: Event) -> Row:
        if not event.is_game:
            return dict.fromkeys(("home_team_id", "home_team_name", "away_team_id", "away_team_name"))
        names = {"home_team_name": self.season.team_name(event.home_id), "away_team_name": self.season.team_name(event.away_id)}
        return {"home_team_id": event.home_id, "away_team_id": event.away_id, **names}

    def _game(self, game: Event) -> Row:
        home, away = self.season.team(game.home_id), self.season.team(game.away_id)
        return {
            "game_id": game.id,
            "tipoff_at": instant(game.tipoff),
            "status": game.status,
            "type": self.season.sport,
            "gender": home.gender if home else "MEN",
            **self._sides(game),
            "home_team_reference_id": home.reference_id if home else "",
            "away_team_reference_id": away.reference_id if away else "",
            "officials_team_id": 0,
            "facility_name": game.facility_name,
            "court_name": "Main court",
            "location_id": f"{game.court_id}@{game.facility_id}",
            "court_id": game.court_id,
            "facility_id": game.facility_id,
            "tournament": game.tournament,
            "reference_id": f"g-{game.id[:8]}",
            "fan_engagement_enabled": False,
            "source": "SCHEDULE",
            "results_link": self.links.game(game.id),
        }

    def _event(self, event: Event, request_team_id: int | None) -> Row:
        return {
            "team_id": request_team_id if request_team_id is not None else None if event.is_game else event.home_id,
            "event_id": event.id,
            "game_id": event.id if event.is_game else None,
            "name": event.name,
            "source": "TRACKING",
            "is_practice_event": not event.is_game,
            "is_game_event": event.is_game,
            "started_at": instant(event.start),
            "ended_at": instant(event.end),
            "game_type": event.game_type if event.is_game else None,
            **self._sides(event),
            "self_link": self.links.game(event.id) if event.is_game else None,
            "stats_details_link": self.links.game_details(event.id) if event.is_game else None,
        }

    def _session(self, event: Event, session: Session, request_team_id: int | None) -> Row:
        links = self.links
        return {
            "team_id": request_team_id if request_team_id is not None else None if event.is_game else event.home_id,
            "event_id": event.id,
            "game_id": event.id if event.is_game else None,
            "session_id": session.id,
            "position": next(index for index, other in enumerate(event.sessions) if other is session),
            "name": session_name(session, self.features),
            "type": session_type(event, session, self.features),
            "started_at": instant(session.start),
            "ended_at": instant(session.end),
            "stats_link": links.of_session(session.id, "stats"),
            "stats_details_link": links.of_session(session.id, "stats/details"),
            "shots_link": links.of_session(session.id, "shots"),
            "possessions_link": links.of_session(session.id, "possessions") if self.features.possessions_link else None,
        }

    def _windows(self, event: Event, session: Session) -> Iterator[Row]:
        for start, end in session.windows():
            keys = {"event_id": event.id, "game_id": event.id if event.is_game else None, "session_id": session.id}
            yield {**keys, "start": instant(start), "end": instant(end), "link": self.links.locations(session.id, start, end)}

    # Sessions

    @staticmethod
    def _keys(event: Event, session: Session) -> Row:
        return {"session_id": session.id, "game_id": event.id if event.is_game else None}

    def _lines(self, event: Event, session: Session) -> Iterator[tuple[Row, Line]]:
        for team_id in team_ids(self.season, [session]):
            for line in lines(self.season, [session], team_id):
                player = self.season.player(line.player_id) if line.player_id else None
                yield (
                    {
                        **self._keys(event, session),
                        "team_id": team_id,
                        "team_name": self.season.team_name(team_id),
                        "player_id": line.player_id,
                        "first_name": player.first_name if player else None,
                        "last_name": player.last_name if player else None,
                        "is_team_total": player is None,
                        "version": line.version,
                    },
                    line,
                )

    def _player_stats(self, event: Event, session: Session) -> Iterator[Row]:
        for keys, line in self._lines(event, session):
            for stat, value in line.totals.items():
                yield {**keys, "games_played": None, "stat": stat, "value": float(value)}

    def _box_score(self, event: Event, session: Session) -> Iterator[Row]:
        for keys, line in self._lines(event, session):
            totals = line.totals
            columns = {code: float(totals[code]) if code in totals else None for code in (*BOX, *sorted(totals.keys() - set(BOX)))}
            yield {**keys, "games_played": None, **columns}

    def _stat_events(self, event: Event, session: Session) -> Iterator[Row]:
        for keys, line in self._lines(event, session):
            for stat, occurrences in line.by_stat.items():
                for occurrence in occurrences:
                    action = occurrence.action
                    sign = 1 if action.hoop[1] > 0 else -1
                    yield {
                        **keys,
                        "stat": stat,
                        "occurred_at": instant(action.at),
                        "value": float(occurrence.value),
                        **self._clocks(session, action.at),
                        "period": session.name,
                        **{axis: float(value) for axis, value in zip("xyz", action.position, strict=True)},
                        "hoop_to_event_x": float(-sign * (action.position[0] - action.hoop[0])),
                        "hoop_to_event_y": float(-sign * (action.position[1] - action.hoop[1])),
                    }

    @staticmethod
    def _clocks(session: Session, at: int, prefix: str = "") -> Row:
        game, shot = session.game_clock(at), session.shot_clock(at)
        clocks = {f"{prefix}game_clock": game, f"{prefix}game_clock_s": seconds(game)}
        return clocks if prefix else {**clocks, "shot_clock": shot, "shot_clock_s": seconds(shot)}

    def _possessions(self, event: Event, session: Session) -> Iterator[Row]:
        for team_id in team_ids(self.season, [session]):
            for number, possession in enumerate(session.of_team(team_id)):
                yield {
                    **self._keys(event, session),
                    "team_id": team_id,
                    "team_name": self.season.team_name(team_id),
                    "possession": number,
                    "start_timestamp": instant(possession.start),
                    "end_timestamp": instant(possession.end),
                    **self._clocks(session, possession.start, "start_"),
                    **self._clocks(session, possession.end, "end_"),
                    "period": session.name,
                    "player_ids": list(possession.player_ids),
                    "opposing_player_ids": list(possession.opposing_player_ids),
                    "lineup_id": "-".join(map(str, sorted(possession.player_ids))),
                    "opposing_lineup_id": "-".join(map(str, sorted(possession.opposing_player_ids))),
                    **possession.attributes,
                    "locations_link": self.links.locations(session.id, possession.start, possession.end),
                }

    def _possession_events(self, event: Event, session: Session) -> Iterator[Row]:
        for team_id in team_ids(self.season, [session]):
            for number, possession in enumerate(session.of_team(team_id)):
                for position, action in enumerate(possession.actions):
                    shot = action.shot
                    yield {
                        **self._keys(event, session),
                        "team_id": team_id,
                        "possession": number,
                        "position": position,
                        "timestamp": instant(action.at),
                        "possession_type": action.type,
                        "details": action.details,
                        "player_id": action.player_id,
                        **self._clocks(session, action.at),
                        "shot_distance_cm": shot.distance_cm if shot else None,
                        **{axis: float(shot.player[index]) if shot else None for index, axis in enumerate("xyz")},
                        "zone": shot.zone if shot else None,
                        "advanced_zone": shot.advanced_zone if shot else None,
                        "is_3point": shot.is_3point if shot else None,
                    }

    def _possession_players(self, event: Event, session: Session) -> Iterator[Row]:
        for team_id in team_ids(self.season, [session]):
            for player_id in court_players(self.season, session, team_id):
                player = self.season.player(player_id)
                names = {"first_name": player.first_name, "last_name": player.last_name, "profile_image_link": portrait(player_id)}
                yield {**self._keys(event, session), "team_id": team_id, "player_id": player_id, **names}

    def _shots(self, event: Event, session: Session) -> Iterator[Row]:
        for team_id in team_ids(self.season, [session]):
            for action, shot in shots(session, team_id):
                yield {
                    **self._keys(event, session),
                    "team_id": team_id,
                    "player_id": action.player_id,
                    "occurred_at": instant(action.at),
                    "is_make": shot.is_make,
                    "is_3point": shot.is_3point,
                    "points": shot.points,
                    "zone": shot.zone,
                    "advanced_zone": shot.advanced_zone,
                    **{f"player_{axis}": float(value) for axis, value in zip("xyz", shot.player, strict=True)},
                    **{f"hoop_{axis}": float(value) for axis, value in zip("xyz", shot.hoop, strict=True)},
                    "hoop_player_x": float(shot.to_hoop[0]),
                    "hoop_player_y": float(shot.to_hoop[1]),
                    "distance_cm": shot.distance_cm,
                    "status": "RECORDED",
                    **self._clocks(session, action.at),
                    "period": session.name,
                    "attributes": [shot.attribute],
                    "defender_ids": None,
                }

    def _play_by_play(self, event: Event, session: Session) -> Iterator[Row]:
        for team_id, action in session.actions():
            sign = 1 if action.hoop[1] > 0 else -1
            yield {
                **self._keys(event, session),
                "event_id": action_id(session, action),
                "type": "ACTUAL",
                "timestamp": instant(action.at),
                "team_id": team_id,
                "session_type": "GAME_ROUND",
                **dict.fromkeys(("practice_id", "practice_definition_id", "drill_definition_id", "clip_id")),
                "stats": {code: float(value) for code, value in action.increments.items()},
                "corrected": False,
                "facility_id": event.facility_id,
                "court_id": event.court_id,
                **self._clocks(session, action.at),
                "period": session.name,
                **{f"player_{axis}": float(value) for axis, value in zip("xyz", action.position, strict=True)},
                "hoop_to_event_x": float(-sign * (action.position[0] - action.hoop[0])),
                "hoop_to_event_y": float(-sign * (action.position[1] - action.hoop[1])),
                "classification": classification(action),
                "description": f"{action.player_id} {classification(action).lower()}",
                "base_stats": action.type,
                "actual_stats": primary_code(action),
                "act": "PLAYER",
                "player_id": action.player_id,
            }

    def _locations(self, event: Event, session: Session) -> Iterator[Row]:
        for batch in samples(self.season, session, session.start, session.end):
            for sample in batch:
                yield {
                    **self._keys(event, session),
                    "t": instant(sample.t),
                    "type": "PLAYER",
                    "team_id": sample.team_id,
                    "player_id": sample.player_id,
                    "tag": sample.tag,
                    "x": float(sample.x),
                    "y": float(sample.y),
                    "z": float(sample.z),
                    "speed": sample.speed,
                    **self._clocks(session, sample.t),
                }


@dataclass
class Differences:
    """What a table lacks of the truth, and what it has beyond it."""

    missing: list[Row]
    extra: list[Row]

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra)


def canonical(row: Row, columns: Collection[str] | None = None) -> str:
    """A row as text; `columns` narrows it. Floats agree to a millionth, and instants whatever their time zone is called.

    A column that the row lacks is null: `box_score` has columns for the codes of its data.
    """
    names = sorted(row if columns is None else columns)
    return repr([(name, value if type(value) in _PLAIN else _plain(value)) for name in names if (value := row.get(name)) is not None])


_PLAIN = {bool, int, str}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, dict) or (isinstance(value, list) and value and isinstance(value[0], tuple)):
        # A map, as a dict or as Arrow's pairs.
        return sorted(dict(value).items())
    return round(value, 6) if type(value) is float else value


def differences(actual: list[Row], truth: list[Row], *, columns: Collection[str] | None = None) -> Differences:
    """Compares tables row for row, whatever their order. A column that only one of them has counts where it is not null."""
    keys = [canonical(row, columns) for row in actual]
    left = Counter(keys)
    missing, extra = [], []
    for row in truth:
        key = canonical(row, columns)
        if left[key]:
            left[key] -= 1
        else:
            missing.append(row)
    for row, key in zip(actual, keys, strict=True):
        if left[key]:
            left[key] -= 1
            extra.append(row)
    return Differences(missing, extra)
