"""Runs one query of an assistant in a process of its own: `python -m sideline._companions.query_worker`.

Standard input has the query and its limits as a line of JSON and stays open: the process ends with it. The last line
of standard output is the result as JSON.
"""

import json
import os
import sys
from threading import Thread
from typing import Any

MAX_RESULT_BYTES = 4_000_000

_BASE_BYTES = 4 << 30
"""Addresses that the libraries reserve beside the memory of DuckDB."""
_BYTES_BY_PROCESSOR = 128 << 20
_SECONDS_TO_START = 20


def main() -> None:
    """Read the query, write its result, and end."""
    request = json.loads(sys.stdin.buffer.readline())
    Thread(target=_end_with_input, daemon=True).start()
    _limit(request["timeout"])
    # No query needs numpy's threads of linear algebra, which take processor time while they wait.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    sys.meta_path.insert(0, _WithoutPandas())
    from ..errors import SidelineError

    try:
        text = json.dumps(_run(request))
    except MemoryError:
        text = json.dumps({"error": f"the query needs more memory than {request['memory_limit']}: select less"})
    except (SidelineError, OSError, ValueError) as error:
        text = json.dumps({"error": str(error)})
    print(f"\n{text}", flush=True)  # noqa: T201 - its output is its result
    os._exit(0)


class _WithoutPandas:
    """Refuses to import pandas. DuckDB imports it to see whether a table is a pandas frame; that takes longer than
    most queries."""

    def find_spec(self, name: str, *_: object) -> None:
        """Raise for pandas; for another module the next finder is asked."""
        if name == "pandas":
            raise ModuleNotFoundError(name, name=name)


def _end_with_input() -> None:
    """End the process when the server has ended or does not wait any more."""
    while os.read(0, 1024):
        pass
    os._exit(1)


def _limit(timeout: float) -> None:
    """Limit addresses and processor time, and forbid to write files."""
    if sys.platform == "win32":
        return
    import resource

    os.nice(10)
    processors = os.cpu_count() or 1
    seconds = int((timeout + _SECONDS_TO_START) * processors)
    limits = {
        resource.RLIMIT_AS: _BASE_BYTES + _BYTES_BY_PROCESSOR * processors,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: 0,
    }
    for limit, value in limits.items():
        _, hard_limit = resource.getrlimit(limit)
        value = value if hard_limit == resource.RLIM_INFINITY else min(value, hard_limit)
        resource.setrlimit(limit, (value, value))


def _run(request: dict[str, Any]) -> dict[str, Any]:
    from .._client import store_of, table_from_arrow
    from ..archive import POSITION_TABLES, Archive, scope_of, select
    from ..errors import QueryError
    from .replies import NOT_SERVED, plain_row

    query, positions = request["query"], request["positions"]
    scope = scope_of(query)
    limits = (request["max_rows"], request["timeout"], request["memory_limit"])
    try:
        result = select(store_of(Archive(request["root"])), query, *limits, positions=positions)
    except QueryError as error:
        if not positions and (tables := sorted(scope.keys() & POSITION_TABLES)):
            raise QueryError(f"{error}\n{', '.join(tables)}: {NOT_SERVED}") from None
        raise
    rows = []
    size = 0
    for row in table_from_arrow("query", result.slice(0, request["limit"])).to_dicts():
        rows.append(plain_row(row))
        size += len(json.dumps(rows[-1]))
        if size > MAX_RESULT_BYTES:
            raise ValueError(f"the rows have more than {MAX_RESULT_BYTES:,} bytes: select fewer columns or rows")
    games = {table: None if ids is None else sorted(ids) for table, ids in scope.items()}
    notes = [] if positions or "raw" not in scope else [f"raw is without the bodies of locations: {NOT_SERVED}."]
    return {"rows": rows, "total": result.num_rows, "scope": games, "notes": notes}


if __name__ == "__main__":
    main()
