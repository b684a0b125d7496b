"""The types in signatures: closed sets, ids, times, options, and results that no other module names.

from sideline.typing import Ids, TableName, Time

def load(client: sideline.Client, games: Ids, start: Time, table: TableName) -> sideline.Table: ...
"""

from ._answers import Audit, Rule, RuleRun, Violations
from ._client import (
    ArchiveTable,
    CatchUpResource,
    ClientOptions,
    Duration,
    Environment,
    GameIds,
    Id,
    Ids,
    Many,
    OnError,
    Operation,
    Overflow,
    ProgressOption,
    Recover,
    Sport,
    SyncTable,
    TableName,
    Time,
)

__all__ = [
    "ArchiveTable",
    "Audit",
    "CatchUpResource",
    "ClientOptions",
    "Duration",
    "Environment",
    "GameIds",
    "Id",
    "Ids",
    "Many",
    "OnError",
    "Operation",
    "Overflow",
    "ProgressOption",
    "Recover",
    "Rule",
    "RuleRun",
    "Sport",
    "SyncTable",
    "TableName",
    "Time",
    "Violations",
]
