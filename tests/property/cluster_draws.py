"""Hypothesis strategies for clusterings between other steps, as plain data."""

from __future__ import annotations

from attrs import frozen
from hypothesis import strategies as st

CLUSTER, PLAN_OR_RUN, CANCEL = "cluster", "plan or run a clustering", "cancel a clustering"
PLANNERS = ("size", "key_range", "commit_time", "overlap", "random")
ORDERS = ("linear", "zorder", "hilbert", "combine")


@frozen
class Cluster:
    """``columns``: which of those that can be sorted. ``room``: how large files may become, from just
    larger than those that there are on. ``logs``: file groups with log files, too."""

    kind: str
    planner: str = "size"
    order: str = "linear"
    columns: tuple[int, ...] = (0,)
    room: int = 0
    logs: bool = False
    reopen: bool = False


_KINDS = st.sampled_from([CLUSTER] * 3 + [PLAN_OR_RUN] * 4 + [CANCEL])


def clusterings() -> st.SearchStrategy[Cluster]:
    columns = st.lists(st.integers(0, 30), min_size=1, max_size=3, unique=True).map(tuple)
    return st.builds(
        Cluster, _KINDS, st.sampled_from(PLANNERS), st.sampled_from(ORDERS), columns,
        st.integers(0, 3), st.booleans(), st.booleans(),
    )  # fmt: skip
