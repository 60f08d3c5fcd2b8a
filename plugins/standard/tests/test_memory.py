"""The limit of a process is found in its control groups, of version 1 and 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from hoodoo_standard.engine import memory

pytestmark = pytest.mark.sampled(4)

MIB = 1 << 20
MACHINE = 8192 * MIB


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_physical", lambda: MACHINE)


def put(root: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return str(root)


# What /proc/self/cgroup says, files below /sys/fs/cgroup, the limit in MiB.
CASES: dict[str, tuple[str, dict[str, str], int]] = {
    "version 2": ("0::/app\n", {"app/memory.max": f"{512 * MIB}\n"}, 512),
    "version 2, a group above": (
        "0::/pod/app\n",
        {"pod/memory.max": str(300 * MIB), "pod/app/memory.max": "max\n"},
        300,
    ),
    "version 2, the least": (
        "0::/pod/app\n",
        {"pod/memory.max": str(300 * MIB), "pod/app/memory.max": str(200 * MIB)},
        200,
    ),
    "version 2, as in a container": ("0::/\n", {"memory.max": str(700 * MIB)}, 700),
    "version 2, outside's name": (
        "0::/../../outside\n", {"memory.max": str(700 * MIB)}, 700,
    ),
    "version 2, no limit": ("0::/app\n", {"app/memory.max": "max\n"}, 8192),
    "version 1": (
        "9:cpu,cpuacct:/x\n5:memory:/app\n0::/\n",
        {"memory/app/memory.limit_in_bytes": str(400 * MIB), "memory.max": "max"},
        400,
    ),
    "version 1, as in a container": (
        "5:memory:/docker/abc\n", {"memory/memory.limit_in_bytes": str(600 * MIB)}, 600,
    ),
    "version 1, no limit": (
        "5:memory:/\n", {"memory/memory.limit_in_bytes": "9223372036854771712\n"}, 8192,
    ),
    "more than the machine has": ("0::/a\n", {"a/memory.max": str(2 * MACHINE)}, 8192),
    "nothing there": ("", {}, 8192),
    "nonsense": ("what\n0::/a\n", {"a/memory.max": "a lot"}, 8192),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_limits_of_groups(case: str, tmp_path: Path) -> None:
    said, files, wanted = CASES[case]
    root = put(tmp_path, {f"sys/fs/cgroup/{n}": text for n, text in files.items()})
    put(tmp_path, {"proc/self/cgroup": said})
    assert memory.available(root) == wanted * MIB


def test_without_such_files(tmp_path: Path) -> None:
    assert memory.available(str(tmp_path)) == MACHINE


def test_tasks_share_it(tmp_path: Path) -> None:
    root = put(tmp_path, {"proc/self/cgroup": "0::/", "sys/fs/cgroup/memory.max": str(1000 * MIB)})
    assert memory.default_memory(1, root) == 400 * MIB
    assert memory.default_memory(4, root) == 100 * MIB
    assert memory.default_memory(100, root) == 64 * MIB, "less is of no use"
    assert memory.default_memory(1, str(tmp_path / "none")) == 1024 * MIB, "nor is more"
