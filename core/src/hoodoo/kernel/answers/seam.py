"""The seam: whatever a plugin answers goes through here once, wherever it is asked.

:func:`checked` puts an object that looks like the plugin around it. Each member of the family's
Protocol calls the plugin's, and judges what comes by the rule that
:mod:`hoodoo.kernel.answers.declared` has for it; all other attributes are the plugin's own. It is
pickled, compared and hashed as the plugin is.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from types import FunctionType, ModuleType
from typing import Any

import pyarrow as pa
from attrs import Factory, frozen

from hoodoo.errors import PluginError
from hoodoo.hookspecs import deprecated
from hoodoo.kernel.answers.wrong import Who, Wrong, excuse, named_in, passes
from hoodoo.kernel.deprecations import old_names, warn_of_old

# ``rule(answer, ask, *arguments)`` returns the answer, perhaps with a seam of its own around it.
Rule = Callable[..., Any]
# ``prepare(ask, *arguments)`` returns the arguments that the plugin gets.
Prepare = Callable[..., tuple[tuple[Any, ...], dict[str, Any]]]


@frozen(eq=False)
class Kind:
    """The members of objects of one family, or of what its plugins make. ``again`` makes an object
    of the kind where it is unpickled, from the kind's name, the arguments of :func:`wrapped` and
    ``declared_at``. ``properties`` and ``methods``: rule of each; None: it answers nothing. An
    object may lack some of them: ``defaults`` stand for these. ``prepare``: of methods whose
    arguments are changed. ``says_missing``: methods that say by a FileNotFoundError that something
    is not there. ``travels``: workers need it. ``protocols``: what has the members, the one that
    all obey first. ``declared_at``: as of the family."""

    name: str
    again: Callable[..., Any]
    properties: dict[str, Rule | None] = Factory(dict)
    methods: dict[str, Rule | None] = Factory(dict)
    prepare: dict[str, Prepare] = Factory(dict)
    says_missing: frozenset[str] = frozenset()
    travels: bool = False
    defaults: dict[str, Any] = Factory(dict)
    protocols: tuple[type, ...] = ()
    declared_at: str = ""


class Ask:
    """One call: the plugin, who it is, and what the object that made it noted for its rules."""

    __slots__ = ("inner", "member", "terms", "who")

    def __init__(self, inner: Any, who: Who, terms: Any, member: str) -> None:
        self.inner, self.who, self.terms, self.member = inner, who, terms, member

    def of(self, member: str) -> Ask:
        """The same of another member of the plugin."""
        return Ask(self.inner, self.who, self.terms, member)


class Checked:
    """A plugin behind the seam."""

    __slots__ = ("__weakref__", "_checked_inner", "_checked_terms", "_checked_who")
    _checked_kind: Kind

    def __init__(self, inner: Any, who: Who, terms: Any) -> None:
        object.__setattr__(self, "_checked_inner", inner)
        object.__setattr__(self, "_checked_who", who)
        object.__setattr__(self, "_checked_terms", terms)

    def __getattr__(self, name: str) -> Any:
        # Pickle and copy look at an object without a state.
        if name.startswith(("__", "_checked_")):
            raise AttributeError(name)
        return getattr(self._checked_inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._checked_inner, name, value)

    @property  # type: ignore[misc]  # what isinstance looks at, after the type
    def __class__(self) -> type:
        return type(self._checked_inner)

    def __eq__(self, other: object) -> Any:
        mine, theirs = self._checked_inner, plain(other)
        return mine is theirs or mine == theirs

    def __hash__(self) -> int:
        return hash(self._checked_inner)

    def __repr__(self) -> str:
        return repr(self._checked_inner)

    def __enter__(self) -> Any:
        ask = Ask(self._checked_inner, self._checked_who, None, "__enter__")
        guarded(ask, lambda inner: inner.__enter__())
        return self

    def __exit__(self, *exc: Any) -> None:
        ask = Ask(self._checked_inner, self._checked_who, None, "__exit__")
        guarded(ask, lambda inner: inner.__exit__(*exc))

    def __reduce__(self) -> tuple[Any, ...]:
        may_travel(self._checked_inner, self._checked_who)
        kind = type(self)._checked_kind
        mine = (self._checked_inner, self._checked_who, self._checked_terms)
        return kind.again, (kind.name, *mine, kind.declared_at)


def blame(error: Exception, who: Who, member: str, says_missing: bool = False) -> None:
    """Raise a PluginError in place of ``error``, which ``member`` raised; nothing where the plugin
    may raise it."""
    if says_missing and isinstance(error, FileNotFoundError):
        excuse(error)
    if passes(error):
        return
    if isinstance(error, Wrong):
        raise who.broken(member, error.came, error.wanted) from error
    raise named_in(error) or who.raised(member, error) from error


def guarded(ask: Ask, work: Callable[..., Any], *args: Any) -> Any:
    """``work(plugin, ...)``; what it raises names the plugin."""
    try:
        return work(ask.inner, *args)
    except Exception as error:
        blame(error, ask.who, ask.member)
        raise


def judged(answer: Any, ask: Ask, rule: Rule, *args: Any) -> Any:
    """``answer`` if the ``rule`` accepts it. PluginError."""
    return guarded(ask, lambda _inner: rule(answer, ask, *args))


def iterated(found: Iterator[Any], ask: Ask, rule: Rule, *args: Any) -> Iterator[Any]:
    """The items of an iterator that a plugin answered, each judged when it comes."""
    rest = guarded(ask, lambda _inner: iter(found))
    try:
        while True:
            try:
                item = rule(next(rest), ask, *args)
            except StopIteration:
                return
            except Exception as error:
                blame(error, ask.who, ask.member)
                raise
            yield item
    finally:
        close = getattr(rest, "close", None)
        if close is not None:
            close()


def plain(obj: Any) -> Any:
    """The plugin itself."""
    return obj._checked_inner if isinstance(obj, Checked) else obj


def who_is(obj: Any) -> Who | None:
    """Who a checked object is; None for others."""
    found: Who | None = obj._checked_who if isinstance(obj, Checked) else None
    return found


def wrapped(kind: Kind, obj: Any, who: Who, terms: Any = None) -> Any:
    """``obj`` behind the seam of ``kind``. What is there already stays."""
    if isinstance(obj, Checked):
        return obj
    made: Any = type(obj)  # Any: mypy takes a class for no Hashable
    there, lacking, is_dynamic = _on_class(kind, made)
    own = lacking if is_dynamic else lacking.intersection(getattr(obj, "__dict__", ()))
    if own:
        there |= {(name, name) for name in own if not is_dynamic or _has(obj, name)}
    if deprecated.DEPRECATED:
        there |= _older(kind, obj, who, {name for name, _ in there})
    return _class(kind, there)(obj, who, terms)


# Pairs of names of members: the Protocol's, and what the object calls it.
Names = frozenset[tuple[str, str]]


@lru_cache(maxsize=512)
def _on_class(kind: Kind, made: type) -> tuple[Names, frozenset[str], bool]:
    """The members that objects of a class have, those that it lacks, and whether objects answer
    more names than can be seen (by a ``__getattr__``)."""
    names = frozenset((*kind.properties, *kind.methods))
    # The class and not the object: a property may compute, or fail before the object is in use.
    found = frozenset(name for name in names if hasattr(made, name))
    return frozenset((n, n) for n in found), names - found, hasattr(made, "__getattr__")


def _has(obj: Any, name: str) -> bool:
    if name in getattr(obj, "__dict__", ()):
        return True
    try:
        return hasattr(obj, name)
    except Exception:  # it is there, and fails
        return True


def _older(kind: Kind, obj: Any, who: Who, there: set[str]) -> Names:
    """The members that the object has under an old name."""
    found = set()
    for old, entry in old_names("member", kind.name).items():
        if entry.new not in there and _has(obj, old):
            found.add((entry.new, old))
            warn_of_old(entry, str(who))
    return frozenset(found)


@cache
def _class(kind: Kind, found: Names) -> type[Checked]:
    """The seam of objects that have the members ``found``."""
    there = dict(found)
    members: dict[str, Any] = {"__slots__": (), "_checked_kind": kind}
    for name, rule in kind.properties.items():
        if name in there:
            members[name] = property(_reader(there[name], rule))
    for name, rule in kind.methods.items():
        if name in there:
            prepare = kind.prepare.get(name)
            members[name] = _method(there[name], rule, prepare, name in kind.says_missing)
    for name, default in kind.defaults.items():
        if name not in there:
            make = _default_method if name in kind.methods else _default_value
            members[name] = make(default)
    return type(f"Checked_{kind.name}", (Checked,), members)


def _default_value(default: Any) -> property:
    return property(lambda self: default)


def _default_method(default: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return default(self._checked_inner, *args, **kwargs)

    return call


# One frame of the seam lies between who calls and the plugin: these two do all of it themselves.
def _reader(name: str, rule: Rule | None) -> Callable[[Any], Any]:
    def read(self: Any) -> Any:
        inner, who = self._checked_inner, self._checked_who
        try:
            answer = getattr(inner, name)
            if rule is None:
                return answer
            return rule(answer, Ask(inner, who, self._checked_terms, name))
        except Exception as error:
            blame(error, who, name)
            raise

    return read


def _method(
    name: str, rule: Rule | None, prepare: Prepare | None, says_missing: bool
) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        inner, who = self._checked_inner, self._checked_who
        ask = Ask(inner, who, self._checked_terms, name)
        try:
            if prepare is None:
                answer = getattr(inner, name)(*args, **kwargs)
            else:
                given, named_args = prepare(ask, *args, **kwargs)
                answer = getattr(inner, name)(*given, **named_args)
            return answer if rule is None else rule(answer, ask, *args, **kwargs)
        except Exception as error:
            blame(error, who, name, says_missing)
            raise

    call.__name__ = name
    return call


# --- what travels ---------------------------------------------------------------------------------
class _Enough(Exception):
    """So many bytes were pickled that the rest is taken for granted."""


class _Sink(io.RawIOBase):
    size = 0

    def write(self, data: Any) -> int:
        """Count the bytes of ``data``. Raises ``_Enough`` after a MiB."""
        self.size += (size := memoryview(data).nbytes)  # large arrays are buffers without len()
        if self.size > 1 << 20:
            raise _Enough
        return size


class _Probe(pickle.Pickler):
    """Does not look into classes and functions, which engines pickle by value if need be, nor into
    schemas."""

    def reducer_override(self, obj: Any) -> Any:
        """Put a small value in the place of a class, function, module or schema."""
        if isinstance(obj, type | FunctionType | ModuleType | pa.Schema):
            return len, ("",)
        return NotImplemented


def may_travel(obj: Any, who: Who) -> None:
    """PluginError if ``obj`` can't be pickled."""
    try:
        _Probe(_Sink(), protocol=5).dump(obj)
    except (_Enough, PluginError):
        pass
    except Exception as error:
        raise who.not_picklable(error) from error
