"""The services of one table: who leads, and one round of what is due."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import hoodoo
from attrs import define, field, frozen
from hoodoo.errors import HoodooError, HoodooWarning
from hoodoo.hookspecs.action import AfterWrite
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.log import get_logger
from hoodoo.storage.lock import Held
from hoodoo.table.handle import TableHandle
from hoodoo.table.table import Table
from hoodoo.timeline.timeline import Timeline

from hoodoo_serve import options

# The lock under which one process looks after a table. The actions are safe without it: it saves
# work.
LOCK_NAME = "services"
_log = get_logger(__name__)


@frozen
class Ran:
    """One service of a round: whether it has ``done`` something, or why it failed (``error``, a
    class, and the sentence ``why``); ``seconds``."""

    what: str
    done: bool
    seconds: float
    error: str = ""
    why: str = ""


@frozen
class Round:
    """What one look at a table came to. ``role``: ``leads``, ``stands by``, or ``failed`` where the
    table could not be opened or its options are wrong, ``why`` says it. ``ended``: seconds since
    1970. ``figures``: the report ``summary``, where it was asked for."""

    role: str
    ran: tuple[Ran, ...] = ()
    why: str = ""
    ended: float = field(factory=time.time)
    figures: Any = None

    @property
    def failed(self) -> tuple[str, ...]:
        """The sentences of what failed."""
        own = (self.why,) if self.role == "failed" else ()
        return (*own, *(ran.why for ran in self.ran if ran.error))


def without_async(given: Mapping[str, str]) -> dict[str, str]:
    """``given`` without the options that begin threads beside writers."""
    names = {name for option in options.ASYNC_OPTIONS for name in option.names}
    return {key: value for key, value in given.items() if key not in names}


def inline_clustering(given: Mapping[str, str]) -> dict[str, str]:
    """The options of a clustering after writes that do what those for one beside the writer ask
    for, if they do."""
    if not options.ASYNC_CLUSTERING.read(given):
        return {}
    return {
        "hoodie.clustering.inline": "true",
        "hoodie.clustering.inline.max.commits": str(options.ASYNC_CLUSTERING_EVERY.read(given)),
    }


def service_options(table_type: str, given: Mapping[str, str]) -> dict[str, str]:
    """The options with which services look at a table: what is asked of services beside writers
    (``hoodie.clustering.async.enabled``) is what they do themselves; log files are compacted unless
    ``hoodie.compact.inline=false`` is given."""
    found = {**inline_clustering(given), **given}
    if table_type == "MERGE_ON_READ":
        found.setdefault("hoodie.compact.inline", "true")
    return without_async(found)


@define
class TableServices:
    """Looks after the table at ``path``; used by one thread.

    ``lock``: a lock's name, or empty where no other process looks after it; it is kept between
    rounds where the table ``holds`` it, which costs a request every two seconds. ``measures``:
    whether rounds have figures. ``stopped`` is asked between two services."""

    path: str
    given: Mapping[str, str]
    engine: str | Engine | None = None
    lock: str = "conditional_put"
    holds: bool = True
    measures: bool = False
    stopped: Callable[[], bool] = lambda: False
    _measured: tuple[int, Any] = field(default=(0, None), init=False)
    _held: Held | None = field(default=None, init=False)

    def round(self) -> Round:
        """Look once, and do what is due. Nothing is raised: the answer says what failed, and the
        next look is a new one."""
        try:
            return self._look()
        except Exception as error:  # one table never ends the process that looks after others
            sentence = _sentence(error)
            _log.warning("services_failed", table=self.path, error=sentence)
            return Round("failed", why=sentence)
        finally:
            if not self.holds:
                self.close()

    def _look(self) -> Round:
        table = self._opened()
        if not self._leads(table.handle):
            return Round("stands by")
        ran = self._run(table, _due(table.handle))
        return Round("leads", ran, figures=self._figures(table) if self.measures else None)

    def close(self) -> None:
        """Let another process lead, at once; or in time, where the lock can't be released, as that
        of a table that was moved away."""
        held, self._held = self._held, None
        if held is not None:
            try:
                held.release()
            except Exception as error:  # the other tables are looked after
                _log.warning("release_failed", table=self.path, error=_sentence(error))

    def _figures(self, table: Table) -> Any:
        """The report, made again where the timeline has changed; None if it can't be made."""
        try:
            mark = hash(table.handle.load_timeline().instants)
            if mark != self._measured[0] or self._measured[1] is None:
                self._measured = mark, table.report("summary")
        except Exception as error:  # services and the other tables go on
            _log.warning("figures_failed", table=self.path, error=_sentence(error))
            return None
        return self._measured[1]

    def _opened(self) -> Table:
        given = dict(self.given)
        table = hoodoo.open(self.path, given)
        wanted = service_options(table.config.table_type, given)
        return table if wanted == given else hoodoo.open(self.path, wanted)

    def _leads(self, table: TableHandle) -> bool:
        if not self.lock:
            return True
        if self._held is not None and self._held.is_held():
            return True
        self._held = None
        renew = options.RENEW.read(table.options)
        validity = options.VALIDITY.read(table.options)
        # The lock's own options, as they are made for writers, wait for minutes.
        lease = {
            **table.options,
            "hoodie.write.lock.storage.renew.interval.secs": f"{renew:g}",
            "hoodie.write.lock.storage.validity.timeout.secs": f"{validity:g}",
        }
        lock = resolve("lock", self.lock, Settings(table.config, lease)).instance
        self._held = lock.acquire(table.storage, LOCK_NAME, 0.0)
        if self._held is not None:
            _log.info("services_lead", table=self.path, after_a_dead_one=self._held.from_dead)
        return self._held is not None

    def _run(self, table: Table, due: Sequence[AfterWrite]) -> tuple[Ran, ...]:
        found: list[Ran] = []
        timeline: Timeline | None = None  # loaded once for all that have nothing to do
        for service in due:
            if self.stopped() or not self._leads(table.handle):
                break
            began = time.monotonic()
            error: Exception | None = None
            done = False
            try:
                timeline = timeline or table.handle.timeline()
                done = service.run(timeline, self._engine(table))
            except Exception as failed:
                error = failed
            if done or error is not None:
                timeline = None
            ran = _ran(service.what, done, time.monotonic() - began, error)
            if done or error is not None:
                _log.info(
                    "service",
                    table=self.path,
                    what=ran.what,
                    seconds=round(ran.seconds, 3),
                    error=ran.error or None,
                )
            found.append(ran)
        return tuple(found)

    def _engine(self, table: Table) -> Callable[[], Engine]:
        return lambda: table.handle.engine(None, self.engine or table.handle.default_engine)


def _ran(what: str, done: bool, seconds: float, error: Exception | None) -> Ran:
    if error is None:
        return Ran(what, done, seconds)
    return Ran(what, done, seconds, type(error).__name__, f"{what}: {_sentence(error)}")


def _sentence(error: Exception) -> str:
    known = isinstance(error, HoodooError)
    return str(error) if known else f"{type(error).__name__}: {error}"


def _due(table: TableHandle) -> list[AfterWrite]:
    """What the policies say, the smallest order first; of one name only the first."""
    found: dict[str, AfterWrite] = {}
    with (
        warnings.catch_warnings()
    ):  # a table of others has options that writers are warned of, each round
        warnings.simplefilter("ignore", HoodooWarning)
        for name in options.POLICIES.read(table.options):
            policy: Any = resolve("service_policy", name, table.settings).instance
            for service in policy.services(table):
                found.setdefault(service.what, service)
    return sorted(found.values(), key=lambda service: service.order)
