"""Serves an archive to an assistant, by the Model Context Protocol over standard input and output."""

import json
from base64 import b64encode
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from importlib.resources import files
from inspect import Parameter, isawaitable, signature
from typing import Annotated, Any

from anyio import to_thread
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resources import FunctionResource
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, ImageContent, TextContent, ToolAnnotations
from pydantic import Field

from .._client import store_of
from .._core import __version__
from ..archive import Archive
from ..errors import SidelineError
from .archived import ArchivedSeason, columns_of
from .calls import record_call
from .queries import Queries
from .replies import Answer, Result, structured_content, text_of
from .verdicts import Verdicts

PAGES = {
    "answers": "What the verdicts mean, and what the answers cannot know",
    "glossary": "The terms of the tables",
    "metrics": "Courts, coordinates and formulas",
    "trust": "What the archive believes, and what each status of a unit means",
}
"""The pages of the documentation that an assistant needs."""

_INSTRUCTIONS = (
    "A season of sports tracking data. Each answer has verdicts, the reliability of each game that it used: if its "
    "first line is a warning, repeat it to the user. If truncated is not 0, the rows are not all rows. Find ids with "
    "the tool games. For what no other tool answers, read the columns of a table with describe, then use query. "
    "Times are UTC. player_id 0 is the total of a team. Rows without game_id are of practices."
)

MAX_TEXT = Parameter(
    "max_text",
    Parameter.KEYWORD_ONLY,
    default=8192,
    annotation=Annotated[int, Field(ge=256, le=1_000_000, description="Bytes of the text of the answer")],
)
"""The argument of every tool."""

Tools = Callable[..., Result | Awaitable[Result]]


def serve(root: str, *, positions: bool, is_logged: bool) -> None:
    """Serve until standard input ends. Raises `FileNotFoundError` if there is no archive."""
    server(root, positions=positions, is_logged=is_logged).run("stdio")


def server(root: str, *, positions: bool, is_logged: bool) -> MCPServer:
    """Return the server of an archive."""
    archive = Archive(root)
    # A missing archive is an error now, not at the first call.
    archive.files("coverage")
    verdicts = Verdicts(archive)
    season = ArchivedSeason(archive, verdicts, positions=positions)
    calls = Calls(verdicts, is_logged=is_logged)
    queries = Queries(store_of(archive).root, positions=positions)
    of_games = (season.games, season.status, season.box_score, season.shots)
    functions = (season.tables, season.describe, *of_games, queries.query, season.clips, season.report)
    return MCPServer(
        "sideline",
        title="sideline",
        instructions=_INSTRUCTIONS,
        version=__version__,
        log_level="WARNING",
        tools=[_tool(function, calls) for function in functions],
        resources=[*_schemas(season), *_pages()],
    )


class Calls:
    """Turns what a tool read into its result, and keeps the record of the calls."""

    def __init__(self, verdicts: Verdicts, *, is_logged: bool) -> None:
        self._verdicts, self._is_logged = verdicts, is_logged

    async def run(self, tool: Tools, arguments: dict[str, Any]) -> CallToolResult:
        """Run a tool; an error of the arguments or of the archive becomes one that the assistant reads."""
        try:
            return await self._run(tool, arguments)
        except BaseException as error:  # also a cancelled call is recorded
            self._write(tool, arguments, error=str(error) or type(error).__name__)
            if isinstance(error, (SidelineError, ModuleNotFoundError, OSError, ValueError)):
                raise ToolError(str(error)) from error
            raise

    async def _run(self, tool: Tools, arguments: dict[str, Any]) -> CallToolResult:
        call = partial(tool, **{name: value for name, value in arguments.items() if name != MAX_TEXT.name})
        output = call() if tool.__name__ == "query" else await to_thread.run_sync(call)
        result: Result = await output if isawaitable(output) else output
        judgement = await to_thread.run_sync(self._verdicts.judge, result.scope)
        content = structured_content(result, judgement)
        text = text_of(content, judgement, result.notes, arguments[MAX_TEXT.name])
        parts: list[Any] = [TextContent(type="text", text=text)]
        if result.picture is not None:
            data = b64encode(result.picture).decode()
            parts.append(ImageContent(type="image", data=data, mime_type="image/png"))
        self._write(tool, arguments, tables=result.scope, rows=len(result.rows), verdicts=judgement.verdicts)
        return CallToolResult(content=parts, structured_content={**content})

    def _write(self, tool: Tools, arguments: dict[str, Any], **facts: Any) -> None:
        if not self._is_logged:
            return
        try:
            record_call(tool.__name__, arguments, **facts)
        except OSError as error:
            raise ToolError(
                f"the call cannot be recorded, so it has no answer: {error}; --no-log records none"
            ) from error


def _tool(function: Tools, calls: Calls) -> Tool:
    """Return a tool with the arguments of a function, which refuses any other."""

    @wraps(function)
    async def run(**arguments: Any) -> Any:
        return await calls.run(function, arguments)

    declaration = signature(function)
    run.__signature__ = declaration.replace(  # type: ignore[attr-defined]
        parameters=[*declaration.parameters.values(), MAX_TEXT],
        return_annotation=Annotated[CallToolResult, Answer],
    )
    tool = Tool.from_function(run, annotations=ToolAnnotations(read_only_hint=True))
    model = tool.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"
    model.model_rebuild(force=True)
    tool.parameters = model.model_json_schema(by_alias=True)
    return tool


def _schemas(season: ArchivedSeason) -> list[FunctionResource]:
    return [
        FunctionResource(
            uri=f"sideline://tables/{name}",
            name=name,
            description=f"Columns of the table {name}: types, units, meanings",
            mime_type="application/json",
            fn=partial(_json, name),
        )
        for name in season.table_names()
    ]


def _json(table: str) -> str:
    return json.dumps(columns_of(table), ensure_ascii=False)


def _pages() -> list[FunctionResource]:
    folder = files(__package__) / "pages"
    return [
        FunctionResource(
            uri=f"sideline://docs/{name}",
            name=name,
            description=description,
            mime_type="text/markdown",
            fn=partial((folder / f"{name}.md").read_text, encoding="utf-8"),
        )
        for name, description in PAGES.items()
    ]
