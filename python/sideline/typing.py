"""The types in signatures: closed sets, ids, times, options, and results that no other module names.

from sideline.typing import Ids, TableName, Time

def load(client: sideline.Client, games: Ids, start: Time, table: TableName) -> sideline.Table: ...
"""

from ._answers import Audit, Rule, RuleRun, Violations
from ._client import (
    CatchUpResource,
    ClientOptions,
    Environment,
    GameIds,
    Id,
    Ids,
    Many,
    OnError,
    Overflow,
    ProgressOption,
    Recover,
    Sport,
    TableName,
    Time,
)

__all__ = [
    "Audit",
    "CatchUpResource",
    "ClientOptions",
    "Environment",
    "GameIds",
    "Id",
    "Ids",
    "Many",
    "OnError",
    "Overflow",
    "ProgressOption",
    "Recover",
    "Rule",
    "RuleRun",
    "Sport",
    "TableName",
    "Time",
    "Violations",
]
