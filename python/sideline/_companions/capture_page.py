"""The page of a capture, for people."""

from datetime import UTC, datetime
from typing import Any

from .._rows import cell, html, shorten
from .capture_folder import Capture

_MAX_LENGTH = 400
_MAX_COLUMNS = 12


def page(capture: Capture, report: dict[str, Any]) -> str:
    """Render the page."""
    at = datetime.fromtimestamp(capture.started_at / 1000, UTC)
    outcomes = [
        [exchange.step, exchange.outcome, exchange.status, exchange.elapsed_ms, exchange.size or None, exchange.finding]
        for exchange in capture.exchanges
    ]
    streams = [
        [stream.step, stream.outcome, f"{stream.seconds:g} s", stream.finding or stream.file]
        for stream in capture.streams
    ]
    unknown_fields = [[row["operation"], row["path"]] for row in report["unknown_fields"]]
    values = [[name, ", ".join(values)] for name, values in report["values"].items()]
    sections = [
        _section("What was unknown", [_table(["name", "question", "finding"], _unknowns(report))]),
        _section("Requests", [_table(["step", "outcome", "status", "ms", "bytes", "finding"], outcomes)]),
        _section("Streams", [_table(["stream", "outcome", "watched", "items"], streams)]),
        _section("Unknown fields", [_table(["operation", "path"], unknown_fields)]),
        _section("Values of open sets", [_table(["column", "values"], values)]),
        _section("Headers", [], [", ".join(report["headers"])]),
        _audit_section(report["audit"]),
        _section("First rows of each table", [_rows(name, table) for name, table in report["tables"].items()]),
    ]
    return html(
        "capture.html",
        title="Capture of a service",
        about=f"{at:%Y-%m-%d %H:%M} UTC, {capture.sport}, {capture.mode}, {capture.requests} requests in the last run",
        sections=sections,
    )


def _unknowns(report: dict[str, Any]) -> list[list[Any]]:
    return [[item["name"], item["question"], item["finding"]] for item in report["unknowns"]]


def _audit_section(audit: dict[str, Any]) -> dict[str, Any]:
    rules = [[rule["rule"], rule["rows"], rule["violations"]] for rule in audit["rules"] if rule["is_checked"]]
    violations = [[violation["rule"], violation["message"]] for violation in audit["violations"]]
    tables = [_table(["rule", "rows", "violations"], rules), _table(["rule", "message"], violations)]
    return _section("Audit", tables, [audit["finding"]] if audit["finding"] else [])


def _section(title: str, tables: list[dict[str, Any]], texts: list[str] | None = None) -> dict[str, Any]:
    return {"title": title, "tables": [table for table in tables if table["rows"]], "texts": texts or []}


def _table(names: list[str], rows: list[list[Any]], caption: str = "") -> dict[str, Any]:
    cells = [["" if value is None else shorten(cell(value), _MAX_LENGTH) for value in row] for row in rows]
    return {"caption": caption, "names": names, "rows": cells}


def _rows(name: str, table: dict[str, Any]) -> dict[str, Any]:
    first_rows = table["first_rows"]
    names = list(first_rows[0])[:_MAX_COLUMNS] if first_rows else []
    return _table(names, [[row[column] for column in names] for row in first_rows], f"{name}: {table['rows']} rows")
