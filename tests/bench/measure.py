"""Time and memory of one call, and what a run says at the end."""

from __future__ import annotations

import json
import os
import statistics
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from attrs import asdict, define, field

from tests.bench.processor import ProcessorTime


@define
class Sampler:
    """Peak resident memory (MiB) of this process's descendants, by kind, seen four times a second."""

    peaks: dict[str, int] = field(factory=dict)
    _stop: threading.Event = field(factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Sampler:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        assert self._thread is not None
        self._thread.join()

    def _run(self) -> None:
        me = os.getpid()
        while not self._stop.wait(0.25):
            parents: dict[int, int] = {}
            known: dict[int, tuple[str, int]] = {}
            for entry in os.listdir("/proc"):
                if not entry.isdigit():
                    continue
                try:
                    text = Path(f"/proc/{entry}/status").read_text()
                except OSError:
                    continue
                values = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
                parents[int(entry)] = int(values["PPid"])
                size = int(values.get("VmRSS", "0 kB").split()[0]) >> 10
                known[int(entry)] = (values["Name"], size)
            for pid, (name, size) in known.items():
                kind = "driver" if pid == me else self._kind(pid, me, parents, name)
                if kind:
                    self.peaks[kind] = max(self.peaks.get(kind, 0), size)

    @staticmethod
    def _kind(pid: int, me: int, parents: dict[int, int], name: str) -> str | None:
        seen = pid
        while seen in parents and seen != me:
            seen = parents[seen]
        if seen != me:
            return None
        return "jvm" if name == "java" else "worker" if name.startswith("python") else None


@define
class Figure:
    """One measured call. ``goal`` is the largest ratio to ``against`` that is asked for, ``notes`` what
    else is known of it, in numbers."""

    name: str
    seconds: list[float]
    memory: dict[str, int]
    against: str = ""
    goal: float | None = None
    ratio: float | None = None
    notes: dict[str, float] = field(factory=dict)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds or [0.0])  # of writers none of whose writes landed

    def processor(self, seconds: list[float], beside: Figure | None) -> None:
        """Notes the median of the processor seconds of all runs, and its ratio to that of ``beside``."""
        self.notes["processor_s"] = mine = round(statistics.median(seconds), 2)
        if beside is not None and (theirs := beside.notes.get("processor_s")):
            self.notes["processor_ratio"] = round(mine / theirs, 2)


@define
class Report:
    """Collects figures, computes ratios, prints a table and writes JSON. The notes of what is timed have the processor
    time (this process and all below it) and its ratio to the other's: on a busy machine these say more than the clock."""

    figures: dict[str, Figure] = field(factory=dict)

    def time(
        self, name: str, runs: int, call: Callable[[int], Any], against: str = "", goal: float | None = None,
        prepare: Callable[[int], Any] | None = None,
    ) -> Figure:  # fmt: skip
        """Median of ``runs`` calls of ``call(run)``; ``prepare(run)`` is outside the clock."""
        figure = Figure(name, [], {}, against, goal)
        busy = []
        for run in range(runs):
            if prepare is not None:
                prepare(run)
            with Sampler() as sampler, ProcessorTime() as processor:
                begun = time.perf_counter()
                call(run)
                figure.seconds.append(round(time.perf_counter() - begun, 3))
            busy.append(processor.seconds)
            for kind, peak in sampler.peaks.items():
                figure.memory[kind] = max(figure.memory.get(kind, 0), peak)
        figure.processor(busy, self.figures.get(against))
        if against:
            figure.ratio = round(figure.median / self.figures[against].median, 2)
        self.figures[name] = figure
        print(self.line(figure), flush=True)
        return figure

    def in_turn(
        self,
        calls: dict[str, Callable[[int], Any]],
        runs: int,
        goal: float | None = None,
        without: Collection[str] = (),
    ) -> None:
        """Medians of ``runs`` calls of each, one after the other in every run; ratios to the first. Those
        ``without`` a goal are beside the others for comparison."""
        figures = {name: Figure(name, [], {}) for name in calls}
        busy: dict[str, list[float]] = {name: [] for name in calls}
        for run in range(runs):
            for name, call in calls.items():
                with ProcessorTime() as processor:
                    begun = time.perf_counter()
                    call(run)
                    figures[name].seconds.append(round(time.perf_counter() - begun, 3))
                busy[name].append(processor.seconds)
        first, *others = figures.values()
        first.processor(busy[first.name], None)
        for figure in others:
            figure.processor(busy[figure.name], first)
            figure.against, figure.goal = first.name, None if figure.name in without else goal
            figure.ratio = round(figure.median / first.median, 2)
        for figure in figures.values():
            self.add(figure)

    def add(self, figure: Figure) -> None:
        self.figures[figure.name] = figure
        print(self.line(figure), flush=True)

    @staticmethod
    def line(figure: Figure) -> str:
        scale, unit = (1000, "ms") if max(figure.seconds, default=0) < 1 else (1, "s ")
        low, mid, high = (
            scale * s
            for s in (min(figure.seconds or [0]), figure.median, max(figure.seconds or [0]))
        )
        text = f"{figure.name:<60}"
        if figure.seconds:
            text += f" {mid:8.2f} {unit} [{low:.2f}-{high:.2f}]"
        if figure.ratio is not None:
            goal = f" goal {figure.goal}" if figure.goal is not None else ""
            held = (
                "" if figure.goal is None else " ok" if figure.ratio <= figure.goal else " MISSED"
            )
            text += f"  {figure.ratio:5.2f} x {figure.against}{goal}{held}"
        if figure.memory:
            memory = " ".join(f"{kind} {size}" for kind, size in sorted(figure.memory.items()))
            text += f"  MiB: {memory}"
        if figure.notes:
            text += "  " + " ".join(f"{name} {value:g}" for name, value in figure.notes.items())
        return text

    def write(self, path: str) -> None:
        rows = {name: {**asdict(f), "median": f.median} for name, f in self.figures.items()}
        Path(path).write_text(json.dumps(rows, indent=1))
        print(f"written: {path}")
