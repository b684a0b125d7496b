"""The result of an audit: the table `violations`, and the rules that were checked."""

import json
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from ..._client import table_from_arrow
from ..._core import Table, _own_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_MAX_WIDTH = 80
"""Characters of a line of the summary, as those of tables."""


class RuleRun(NamedTuple):
    """One rule in an audit.

    >>> next(run for run in sideline.audit(player_stats=client.stats(session_id)).rules if not run.is_run)
    RuleRun(rule='box_score_is_sum_of_events', is_run=False, tables=('player_stats',), missing=('stat_events',), rows=0, violations=0)
    """  # noqa: E501

    rule: str
    is_run: bool
    """False if a required table is missing."""
    tables: tuple[str, ...]
    """The tables of the rule that were passed."""
    missing: tuple[str, ...]
    """The missing tables; of tables joined by "or", one is enough. Empty if the rule ran."""
    rows: int
    """Number of rows that the rule read, in all its tables, including nulls; 0 if it did not run."""
    violations: int


class Violations(Table):
    """The table `violations`, with the rules that were checked.

    >>> violations = sideline.audit(player_stats=client.stats(session_id))
    >>> violations.num_rows, [run.rule for run in violations.rules if run.is_run][:3]
    (0, ['team_is_sum_of_players', 'rows_occur_once', 'points_from_makes'])
    """

    rules: tuple[RuleRun, ...]
    """One entry for each rule, in the order of `sideline.audit.rules()`."""

    def __new__(cls, table: Table, rules: "Iterable[RuleRun]") -> Self:
        self = super().__new__(cls, "violations", table)
        self.rules = tuple(rules)
        return self

    def __reduce__(self) -> "tuple[Any, ...]":
        return Violations, (table_from_arrow("violations", self), self.rules)

    def __repr__(self) -> str:
        ran = sum(run.is_run for run in self.rules)
        rows = "1 violation" if self.num_rows == 1 else f"{self.num_rows} violations"
        return f"<sideline.audit: {rows}, {ran} of {len(self.rules)} rules run>"

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *(fill(sentence, _MAX_WIDTH) for sentence in self._summary())])

    def _repr_html_(self) -> str:
        from ..._rows import notebook_html, table_part

        return notebook_html(table_part(self), {"notes": [" ".join(self._summary())]})

    def _summary(self) -> list[str]:
        ran = [run.rule for run in self.rules if run.is_run]
        missing = sorted({table for run in self.rules for table in run.missing})
        sentences = [f"{len(ran)} rules ran: {', '.join(ran) or 'none'}."]
        if missing:
            sentences.append(f"{len(self.rules) - len(ran)} did not, for want of {', '.join(missing)}.")
        return sentences


def table_of(rows: "Iterable[Mapping[str, Any]]") -> Table:
    """Return the table `violations` with these rows."""
    return _own_table("violations", json.dumps(list(rows)).encode())


def merge_violations(parts: "Iterable[Violations]") -> Violations:
    """Merge the violations of several audits, and add up the rows that each rule read."""
    parts = list(parts)
    runs: dict[str, RuleRun] = {}
    for run in (run for part in parts for run in part.rules):
        before = runs.get(run.rule)
        if before is None or (run.is_run and not before.is_run):
            runs[run.rule] = run
        elif run.is_run:
            violations = before.violations + run.violations
            runs[run.rule] = before._replace(rows=before.rows + run.rows, violations=violations)
    return Violations(table_of(row for part in parts for row in part.to_dicts()), runs.values())
