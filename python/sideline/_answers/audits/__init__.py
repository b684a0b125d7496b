"""`sideline.audit`: whether the tables of the same sessions agree with each other."""

from .catalogue import Rule
from .run import Audit, audit, check_rules
from .violations import RuleRun, Violations, merge_violations

__all__ = ["Audit", "Rule", "RuleRun", "Violations", "audit", "check_rules", "merge_violations"]
