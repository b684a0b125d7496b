"""Plans, and what reads them: parts, lazy frames, Spark."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .lazy_frame import scan as scan
    from .parts import bodies_schema as bodies_schema, body_tables as body_tables, rows_of_unit as rows_of_unit
    from .plan import (
        Part as Part,
        Plan as Plan,
        PlanUnit as PlanUnit,
        ids as ids,
        operation_of as operation_of,
        schema as schema,
    )
    from .planner import Selection as Selection, make_plan as make_plan
    from .spark_source import SidelineDataSource as SidelineDataSource
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
