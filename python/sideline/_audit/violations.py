"""What an audit returns: the table `violations`, and which rules were checked to make it."""

import json
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from sideline._access import table_from_arrow
from sideline._core import Table, _own_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class RuleRun(NamedTuple):
    """What an audit did with one rule.

    >>> next(run for run in sideline.audit(stats=client.stats(session_id)).rules_run if not run.is_run)
    RuleRun(rule='box_score_is_sum_of_events', is_run=False, tables=('player_stats',), missing=('stat_events',), rows=0, violations=0)
    """  # noqa: E501

    rule: str
    is_run: bool
    """False where a table that the rule needs was missing."""
    tables: tuple[str, ...]
    """The tables among those that the rule reads which the audit has."""
    missing: tuple[str, ...]
    """The tables that the rule still needs; of several joined by "or", one is enough. Empty where the rule ran."""
    rows: int
    """Rows that the rule read, in all its tables; 0 where it did not run. Nulls count too."""
    violations: int


class Violations(Table):
    """The table `violations`, together with the rules that were checked.

    >>> violations = sideline.audit(stats=client.stats(session_id))
    >>> violations.num_rows, [run.rule for run in violations.rules_run if run.is_run]
    (0, ['team_is_sum_of_players', 'points_from_makes'])
    """

    rules_run: tuple[RuleRun, ...]
    """One for each rule, in the order of `sideline.audit.rules()`: whether it ran, on what, or what was missing."""

    def __new__(cls, table: Table, rules_run: "Iterable[RuleRun]") -> Self:
        self = super().__new__(cls, "violations", table)
        self.rules_run = tuple(rules_run)
        return self

    def __reduce__(self) -> "tuple[Any, ...]":
        return Violations, (table_from_arrow("violations", self), self.rules_run)

    def __repr__(self) -> str:
        ran = sum(run.is_run for run in self.rules_run)
        rows = "1 violation" if self.num_rows == 1 else f"{self.num_rows} violations"
        return f"<sideline.audit: {rows}, {ran} of {len(self.rules_run)} rules run>"

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self._summary()}"

    def _repr_html_(self) -> str:
        from html import escape

        return f"{super()._repr_html_()}<div>{escape(self._summary())}</div>"

    def _summary(self) -> str:
        ran = [run.rule for run in self.rules_run if run.is_run]
        missing = sorted({table for run in self.rules_run for table in run.missing})
        text = f"{len(ran)} rules ran: {', '.join(ran) or 'none'}."
        if missing:
            text += f" {len(self.rules_run) - len(ran)} did not, for want of {', '.join(missing)}."
        return text


def table_of(rows: "Iterable[Mapping[str, Any]]") -> Table:
    """The table `violations` of these rows."""
    return _own_table("violations", json.dumps(list(rows)).encode())


def merge(parts: "Iterable[Violations]") -> Violations:
    """The violations of several audits as those of one: what each rule read is added up."""
    parts = list(parts)
    runs: dict[str, RuleRun] = {}
    for run in (run for part in parts for run in part.rules_run):
        before = runs.get(run.rule)
        if before is None or (run.is_run and not before.is_run):
            runs[run.rule] = run
        elif run.is_run:
            violations = before.violations + run.violations
            runs[run.rule] = before._replace(rows=before.rows + run.rows, violations=violations)
    return Violations(table_of(row for part in parts for row in part.to_dicts()), runs.values())
