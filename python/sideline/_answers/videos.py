"""`sideline.clips`: plays in the videos of their games."""

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any, Self
from xml.etree import ElementTree

from .._client import Duration, as_seconds
from .._core import Table
from .._lazy import pl
from .._rows import replaced_file, replaced_path
from .frames import arrow_of, check_zone, frame_of, time_column
from .kinds import Source

NO_VIDEO, OUTSIDE, NO_TIME, OVERLAPPING = "no video", "outside the video", "no time", "overlapping"
SEVERAL_GAMES = "several games"
"""Values of `reason`. Only a row with "overlapping" has a clip."""

_ADDRESS = re.compile(r"https?://[^\s|]+", re.IGNORECASE)

_CONTROL = re.compile(r"[^\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow, or that a playlist reads as the end of a line."""

_START = "hls_video_start_timestamp"
_FIRST_START, _LAST_START = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (1990, 2101))
"""Seconds of the first and the last start of a video; another number is no time."""

_NUMBERS = ("hls_video_delay_ms", "hls_start_offset", "hls_duration")

_PLAYERS = ("player_id", "player_ids", "ball_handler_player_id", "screener_player_ids")


@dataclass(frozen=True)
class _Video:
    """A video file: the plays that it may show, and its times."""

    address: str
    game_ids: frozenset[str]
    session_ids: frozenset[str]
    zero: float
    """The time on the service's clock at position 0, in seconds of the epoch."""
    start: float
    end: float
    """The known positions of the file, in seconds."""

    def covers(self, row: Mapping[str, Any]) -> bool:
        """Return whether it is of the row's session, or of its game, if both are known."""
        for name, ids in (("session_id", self.session_ids), ("game_id", self.game_ids)):
            if ids and row.get(name) is not None:
                return _text(row[name]) in ids
        return True


class Clips(Table):
    """The table `clips`, with a row for each row of plays; `sideline.clips` returns it.

    >>> import polars
    >>> shots = client.shots(session_id).table()
    >>> first = shots.to_dicts()[0]["occurred_at"]
    >>> video = {"hls_file": ["https://v.test/game.m3u8"], "hls_video_start_timestamp": [first], "hls_duration": [60.0]}
    >>> found = sideline.clips(shots, polars.DataFrame(video))
    >>> found.to_sportscode_xml("shots.xml"), found.to_playlist("shots.ffconcat")
    (None, None)
    >>> len(found) == len(shots)
    True
    """

    def __new__(cls, table: object) -> Self:
        return super().__new__(cls, "clips", table)

    def __reduce__(self) -> "tuple[Any, ...]":
        return Clips, (self.to_arrow(),)

    def to_sportscode_xml(self, path: str | os.PathLike[str], video: str | None = None) -> None:
        """Write the clips of one video as a Sportscode timeline, which video analysis programs import.

        Each clip is an instance: its label is the code; team, players, period and game clock are its labels. Times are
        seconds of the video.

        Parameters:
            path: the file, which is replaced.
            video: the address of the video. Optional if all clips are of one video.

        Raises `ValueError` if the clips are of several videos and `video` is missing, or if none is of `video`.

        >>> sideline.clips(client.shots(session_id), []).to_sportscode_xml("none.xml")
        """
        videos = list(dict.fromkeys(row["video"] for row in self._clips()))
        if video is None and len(videos) > 1:
            raise ValueError(
                f"a timeline is of one video, but these clips are of {len(videos)}: pass video=, one of "
                f"{', '.join(map(_line, videos))}"
            )
        if video is not None and video not in videos:
            raise ValueError(f"no clip is of {_line(video)}; the videos are {', '.join(map(_line, videos)) or 'none'}")
        root = ElementTree.Element("file")
        instances = ElementTree.SubElement(root, "ALL_INSTANCES")
        for row in self._clips():
            if row["video"] not in (video, *videos[: video is None]):
                continue
            instance = ElementTree.SubElement(instances, "instance")
            parts = {"ID": row["row"] + 1, "start": row["start_s"], "end": row["end_s"], "code": row["label"]}
            for name, value in parts.items():
                ElementTree.SubElement(instance, name).text = _line(value)
            for group, value in _labels(row):
                label = ElementTree.SubElement(instance, "label")
                ElementTree.SubElement(label, "group").text = group
                ElementTree.SubElement(label, "text").text = _line(value)
        ElementTree.indent(root)
        with replaced_path(path) as temporary:
            ElementTree.ElementTree(root).write(temporary, encoding="utf-8", xml_declaration=True)

    def to_playlist(self, path: str | os.PathLike[str]) -> None:
        """Write the clips as a playlist: M3U for players, or by any other suffix a list for ffmpeg's concat demuxer.

        The clips are in the order of the rows. If a clip begins before the previous one ends, the common part is played
        once. M3U has each clip as a media fragment (`#t=`), with options for VLC; an m3u8 has the same form.
        ffmpeg's concat demuxer joins an ffconcat list into one video.

        Parameters:
            path: the file, which is replaced. The suffix `.m3u` or `.m3u8` selects M3U.

        Raises `ValueError` for a video whose address is not http or https: a player would open any file of this
        machine.

        >>> sideline.clips(client.shots(session_id), []).to_playlist("none.m3u8")
        """
        self._check_addresses()
        target = Path(path)
        is_m3u = target.suffix.lower() in (".m3u", ".m3u8")
        lines = ["#EXTM3U"] if is_m3u else ["ffconcat version 1.0"]
        for video, start, end, label in self._played_parts():
            if is_m3u:
                lines += [f"#EXTINF:{end - start:.3f},{label}", f"#EXTVLCOPT:start-time={start:.3f}"]
                lines += [f"#EXTVLCOPT:stop-time={end:.3f}", f"{video}#t={start:.3f},{end:.3f}"]
            else:
                quoted_path = video.replace("'", "'\\''")
                lines += [f"# {label}", f"file '{quoted_path}'", f"inpoint {start:.3f}", f"outpoint {end:.3f}"]
        with replaced_file(target) as file:
            file.write("\n".join([*lines, ""]))

    def _check_addresses(self) -> None:
        for video in dict.fromkeys(row["video"] for row in self._clips()):
            if not _ADDRESS.fullmatch(video):
                raise ValueError(
                    f"the address of a video is {_line(video)[:200]!r}, not http or https: no playlist names it"
                )

    def _clips(self) -> list[dict[str, Any]]:
        return [row for row in self.to_dicts() if row["video"] is not None]

    def _played_parts(self) -> "Iterator[tuple[str, float, float, str]]":
        """Yield address, start, end and label of the part of each clip that the previous one has not shown."""
        video, ended_at = None, 0.0
        for row in self._clips():
            start, end = row["start_s"], row["end_s"]
            if row["video"] == video and row["reason"] == OVERLAPPING and start < ended_at:
                start = ended_at
            if end > start:
                yield _line(row["video"]), start, end, _line(row["label"])
            video, ended_at = row["video"], max(end, ended_at if row["video"] == video else 0.0)


def clips(
    rows: Source,
    videos: Source,
    before: Duration = 5,
    after: Duration = 3,
    offset: Duration = 0,
) -> Clips:
    """Find the seconds of video that show shots, stat events, possessions or ball screens.

    The result has a row for each of `rows`, in order: `row` (its position, from 0), `game_id`, `session_id`, `video`,
    `start_s`, `end_s` (seconds of the video), `reason`, `label`, `team`, `player_ids`, `period`, `game_clock`. `reason`
    is null, or "overlapping" for a clip that shares seconds with that of an earlier row. A row without a clip has "no
    video" (of its session or game), "outside the video", "no time" or "several games": at its time there are videos of
    several, and its `game_id` is null. A clip is cut at the ends of its video.

    Parameters:
        rows: a payload, a `Table` or a frame. The time of a row is `occurred_at`, or `start_timestamp` or `timestamp`
            up to `end_timestamp`. A column `label` replaces the generated label.
        videos: a frame, or the list `videos` of a response as dicts, with the service's fields in snake or camel case:
            `hls_file`, the address; `hls_video_start_timestamp`, the time of the first picture; `hls_duration` and
            `hls_start_offset`, the available part of the file in seconds; `hls_video_delay_ms`, the delay of the
            picture behind the clock; and `game_id` and `session_id`. All but the first two are optional. Several rows
            of one file are combined.
        before, after: time around each row: seconds, or a `timedelta`.
        offset: time by which the picture lags behind the service's clock, in addition to the delay of the videos.

    The service does not document how the clocks of videos and sensors relate: see the documentation: Answers for the
    assumptions. Requires polars and pyarrow. Raises `ValueError` for a missing column, or times without a zone.


    >>> sideline.clips(client.shots(session_id), []).to_dicts()[0]["reason"]
    'no video'
    """
    before, after = as_seconds(before, "before"), as_seconds(after, "after")
    offset = as_seconds(offset, "offset")
    if not (before >= 0 and after >= 0):
        raise ValueError(f"before and after must be at least 0 seconds, not {before} and {after}")
    if offset != offset:
        raise ValueError("offset is nan; it must be a number of seconds")
    frame = frame_of("rows", rows)
    time = time_column(frame)
    check_zone("rows", "end_timestamp", frame.schema.get("end_timestamp"))
    label = _labeller(frame)
    files = _videos(videos, offset)
    shown_spans: dict[str, list[tuple[float, float]]] = {}
    found_rows = []
    for number, row in enumerate(_rows(frame)):
        video, start, end, reason = _place(row, row[time], row.get("end_timestamp"), files, before, after)
        if video is not None:
            reason = OVERLAPPING if _overlaps(shown_spans.setdefault(video, []), start, end) else None
        found_rows.append(
            {
                "row": number,
                **{name: _text(row.get(name)) for name in ("game_id", "session_id")},
                "video": video,
                "start_s": None if video is None else round(start, 3),
                "end_s": None if video is None else round(end, 3),
                "reason": reason,
                "label": label(row),
                "team": _text(row.get("team_name") or row.get("team_id")),
                "player_ids": _player_ids(row),
                "period": _text(row.get("period")),
                "game_clock": _text(row.get("game_clock") or row.get("start_game_clock")),
            }
        )
    return Clips(arrow_of(pl.DataFrame(found_rows, _schema())))


def _schema() -> dict[str, Any]:
    texts = ("game_id", "session_id", "video", "reason", "label", "team", "period", "game_clock")
    kinds = dict.fromkeys(texts, pl.String) | {"start_s": pl.Float64, "end_s": pl.Float64, "row": pl.Int64}
    order = ("row", *texts[:3], "start_s", "end_s", *texts[3:6], "player_ids", *texts[6:])
    return {name: kinds.get(name, pl.List(pl.Int64)) for name in order}


def _rows(frame: "pl.DataFrame") -> list[dict[str, Any]]:
    """Return the rows with times in epoch milliseconds: Python has no years beyond 9999."""
    times = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Datetime)]
    return frame.with_columns(pl.col(times).dt.epoch("ms")).to_dicts()


def _place(
    row: Mapping[str, Any],
    start: int | None,
    end: int | None,
    files: Sequence[_Video],
    before: float,
    after: float,
) -> tuple[str | None, float, float, str | None]:
    """Return the video that shows a row, with start and end, or the reason why none does."""
    if start is None:
        return None, 0.0, 0.0, NO_TIME
    of_row = [video for video in files if video.covers(row)]
    first, last = _seconds(start), _seconds(end if end is not None and end >= start else start)
    showing = [video for video in of_row if video.start <= first - video.zero <= video.end]
    if not showing:
        return None, 0.0, 0.0, OUTSIDE if of_row else NO_VIDEO
    if row.get("game_id") is None and len({video.game_ids for video in showing if video.game_ids}) > 1:
        return None, 0.0, 0.0, SEVERAL_GAMES
    video = showing[0]
    from_, to = first - video.zero - before, last - video.zero + after
    return video.address, max(from_, video.start), min(to, video.end), None


def _overlaps(shown_spans: list[tuple[float, float]], start: float, end: float) -> bool:
    """Return whether a clip overlaps the earlier ones, and add it to them; they are merged and in order."""
    first = bisect_left(shown_spans, start, key=itemgetter(1))
    last = bisect_right(shown_spans, end, key=itemgetter(0))
    overlapped_spans = shown_spans[first:last]
    shown_spans[first:last] = [
        (
            min([start, *(span_start for span_start, _ in overlapped_spans)]),
            max([end, *(span_end for _, span_end in overlapped_spans)]),
        )
    ]
    return any(span_start < end and start < span_end for span_start, span_end in overlapped_spans)


def _videos(source: object, offset: float) -> list[_Video]:
    """Return each file once, in the order of the list."""
    if isinstance(source, list | tuple) and all(isinstance(record, Mapping) for record in source):
        rows: list[dict[str, Any]] = [dict(record) for record in source]
    else:
        frame = frame_of("videos", source)
        for name, kind in frame.schema.items():
            if _column_name(name) == _START:
                check_zone("videos", name, kind)
        rows = _rows(frame)
    groups: dict[tuple[str, float], list[dict[str, Any]]] = {}
    for raw in rows:
        # NaN, which pandas writes for a missing value, does not equal itself.
        known_values = {name: value if value == value else None for name, value in raw.items()}
        row = {_column_name(name): value for name, value in known_values.items()}
        missing = [name for name in ("hls_file", _START) if name not in row]
        if missing:
            raise ValueError(f"videos has no column {' and '.join(missing)}; it has {', '.join(raw)}")
        if not row["hls_file"] or row[_START] is None:
            continue
        for name in _NUMBERS:
            row[name] = _number(name, row.get(name))
        start = row[_START]
        start = _seconds(start if isinstance(start, datetime) else _number(_START, start))
        if not _FIRST_START <= start < _LAST_START:
            continue
        zero = start - (row["hls_video_delay_ms"] or 0) / 1000 - offset
        groups.setdefault((row["hls_file"], zero), []).append(row)
    return [
        _Video(
            address,
            game_ids=frozenset(filter(None, (_text(row.get("game_id")) for row in group))),
            session_ids=frozenset(filter(None, (_text(row.get("session_id")) for row in group))),
            zero=zero,
            start=min(row["hls_start_offset"] or 0.0 for row in group),
            end=max(_end(row) for row in group),
        )
        for (address, zero), group in groups.items()
    ]


def _column_name(name: str) -> str:
    """Return the name that a column has for a name of the wire."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _end(row: Mapping[str, Any]) -> float:
    duration = row["hls_duration"]
    return float("inf") if duration is None else (row["hls_start_offset"] or 0.0) + float(duration)


def _number(name: str, value: Any) -> float | None:
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError):
        kind = "time or epoch milliseconds" if name.endswith("timestamp") else "number"
        raise ValueError(f"videos: {name} is {value!r}; it must be a {kind}") from None


def _seconds(time: Any) -> float:
    if isinstance(time, datetime):
        if time.tzinfo is None:
            advice = "write time.replace(tzinfo=timezone.utc) if it is UTC"
            raise ValueError(f"videos: {_START} is a time without a zone, {time}: {advice}")
        return time.timestamp()
    return float(time) / 1000


def _labeller(frame: "pl.DataFrame") -> Callable[[Mapping[str, Any]], str]:
    """Return the function that makes a row's label from the columns that the frame has."""
    columns = set(frame.columns)
    if "label" in columns:
        return lambda row: _text(row["label"]) or "play"
    if {"is_make", "is_3point"} <= columns:
        points, results = {True: "3PT", False: "2PT", None: "shot"}, {True: " make", False: " miss", None: ""}
        return lambda row: points[row["is_3point"]] + results[row["is_make"]]
    for name in ("stat", "possession_type", "actual_stats", "type"):
        if name in columns:
            return lambda row: (_text(row[name]) or "play").replace("_", " ")
    return lambda _: "possession" if "possession" in columns else "play"


def _labels(row: Mapping[str, Any]) -> "Iterator[tuple[str, object]]":
    for name in ("team", "period", "game_clock", "session_id"):
        if row[name] is not None:
            yield name, row[name]
    for player in row["player_ids"] or ():
        yield "player_id", player


def _player_ids(row: Mapping[str, Any]) -> list[int]:
    ids: dict[int, None] = {}
    for name in _PLAYERS:
        value = row.get(name)
        for player in value if isinstance(value, list) else [value]:
            # A team's total has no player.
            if player:
                ids[player] = None
    return list(ids)


def _text(value: object) -> str | None:
    # A join of pandas with missing rows makes floats of ids.
    written_value = int(value) if isinstance(value, float) and value.is_integer() else value
    return None if written_value is None else str(written_value)


def _line(value: object) -> str:
    """Format a value for one line of a file."""
    return _CONTROL.sub(" ", str(value))
