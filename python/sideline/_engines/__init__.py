"""Plans, and what reads them: parts, lazy frames, Spark."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .lazy_frame import scan
    from .parts import bodies_schema, body_tables, rows_of_unit
    from .plan import Part, Plan, PlanUnit, ids, operation_of, schema
    from .planner import Selection, make_plan
    from .spark_source import SidelineDataSource
else:
    from .._lazy import open_door

    __getattr__ = open_door(
        __name__,
        {
            "lazy_frame": "scan",
            "parts": "bodies_schema body_tables rows_of_unit",
            "plan": "Part Plan PlanUnit ids operation_of schema",
            "planner": "Selection make_plan",
            "spark_source": "SidelineDataSource",
        },
    )
