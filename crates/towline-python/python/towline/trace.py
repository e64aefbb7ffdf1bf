"""Traces that ``towline train --trace`` has written."""

from __future__ import annotations

import json


def load_trace(path):
    """A trace as a table: a row for each step, a column for each fact, ready to plot.

    A pandas ``DataFrame`` if pandas is there, else a dictionary of lists.
    """
    with open(path, encoding="utf-8") as lines:
        return as_table([json.loads(line) for line in lines if line.strip()])


def as_table(steps: list[dict]):
    """Steps as a table, a column for each fact that one of them has."""
    names = list(dict.fromkeys(name for step in steps for name in step))
    columns = {name: [step.get(name) for step in steps] for name in names}
    try:
        import pandas
    except ImportError:
        return columns
    return pandas.DataFrame(columns)
