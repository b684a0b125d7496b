"""`sideline.audit`: whether the tables of the same sessions agree with each other."""

from sideline._audit.catalogue import Rule
from sideline._audit.run import Audit, audit
from sideline._audit.violations import RuleRun, Violations

__all__ = ["Audit", "Rule", "RuleRun", "Violations", "audit"]
