"""Wakes tasks of an event loop when their results are ready."""

from typing import Any


def run_next_step(queue: Any) -> None:
    """Make the step of the waiting task here and not below a frame of Rust, where no thread may end."""
    last = queue.hand_over()
    if last is not None:
        step, context, wait = last
        context.run(step, wait)
