"""One option: its declaration, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from attrs import field, frozen

from hoodoo.errors import ConfigError
from hoodoo.options.kinds import TEXT, BadValueError, Kind

if TYPE_CHECKING:  # an Option without a kind is one of Option[Any]
    from typing_extensions import TypeVar as _TypeVar

    T = _TypeVar("T", default=Any)
else:
    T = TypeVar("T")


@frozen
class Option(Generic[T]):
    """An option that core or a plugin reads, declared once.

    ``summary``: what it is for, a sentence. ``default``: text; None where nothing is said means
    something of its own. ``table_property``: it decides bytes on disk, so it is stored in
    ``hoodie.properties`` at creation and a differing writer option is refused. ``assumed``: a table
    that does not say has the default (False: other writers note it nowhere; the user says it).

    ``kind``: the type with its bounds (:mod:`hoodoo.options.kinds`); text where it isn't said.
    ``older``: names that Hudi had for it before; ``aliases``: other names that still are in use.
    Who says one of them says this option; two of them with different values are an error.

    >>> from hoodoo.options import Size
    >>> limit = Option("acme.limit", "Bytes of a file.", "1024", kind=Size(1), older=("acme.max",))
    >>> limit.read({"acme.max": "10 MB"}), limit.read({})
    (10485760, 1024)
    """

    key: str
    summary: str = ""
    default: str | None = None
    table_property: bool = False
    assumed: bool = True
    kind: Kind[T] = field(default=TEXT, kw_only=True)
    older: tuple[str, ...] = field(default=(), kw_only=True)
    aliases: tuple[str, ...] = field(default=(), kw_only=True)
    # The key and its other names; the first that is there counts.
    names: tuple[str, ...] = field(init=False, eq=False, repr=False)

    @names.default
    def _all_names(self) -> tuple[str, ...]:
        return (self.key, *self.aliases, *self.older)

    def read(self, options: Mapping[str, str]) -> T:
        """What ``options`` say, else the default. ConfigError for a text that is not of the type.
        For options without a default there is :meth:`given`."""
        found = self.given(options)
        return self.initial if found is None else found

    def given(self, options: Mapping[str, str]) -> T | None:
        """What ``options`` say; None where they do not."""
        return next((self.parse(options[n], n) for n in self.names if n in options), None)

    def each(self, options: Mapping[str, str]) -> list[tuple[str, T]]:
        """What each of its names says, where ``options`` have it; an empty text says nothing."""
        found = [(name, options[name]) for name in self.names if name in options]
        return [(name, self.parse(text, name)) for name, text in found if text.strip()]

    def is_in(self, options: Mapping[str, Any]) -> bool:
        """Whether ``options`` say anything of it."""
        return any(name in options for name in self.names)

    def stored(self, properties: Mapping[str, str]) -> T | None:
        """What the properties of a table say, read as Hudi reads them; None where they do not."""
        for name in self.names:
            text = properties.get(name)
            if text is None or (text == "" and self.kind != TEXT):
                continue
            try:
                return self.kind.stored(text)
            except BadValueError as error:
                raise ConfigError(
                    f"table property {name}",
                    f"{error.rule}, not {text!r}.",
                    "Correct it in hoodie.properties if the value is wrong. Otherwise this kind of "
                    "table is not supported.",
                ) from error
        return None

    def parse(self, text: str, name: str | None = None) -> T:
        """What ``text`` means. ConfigError for one that is not of the type."""
        try:
            return self.kind.parse(text)
        except BadValueError as error:
            raise self._refused(f"option {name or self.key}", text, error) from error

    def spell(self, value: T) -> str:
        """``value`` as the text of an option."""
        return self.kind.spell(value)

    @property
    def initial(self) -> T:
        """The default, parsed. LookupError where there is none."""
        if self.default is None:
            raise LookupError(f"option {self.key} has no default")
        return self.kind.parse(self.default)

    def _refused(self, what: str, text: str, error: BadValueError) -> ConfigError:
        near = f"Did you mean {error.nearest!r}? " if error.nearest else ""
        default = "" if self.default is None else f" to get its default, {self.default}"
        return ConfigError(
            what, f"{error.rule}, not {text!r}.", f"{near}Correct it, or leave it out{default}."
        )


class OptionSource(Protocol):
    """What is read from: a table's properties, and the options of a call
    (``hookspecs.Settings``)."""

    def value(self, option: Option[T]) -> T:
        """Return the value of ``option``, or its default. Raises ConfigError for a text that the
        option refuses."""

    def given(self, option: Option[T]) -> T | None:
        """Return the value of ``option`` if it is set, else None. Raises as :meth:`value`."""

    def get(self, key: str, default: str | None = None) -> str | None:
        """Return the text of ``key``, unchecked, or ``default``."""
