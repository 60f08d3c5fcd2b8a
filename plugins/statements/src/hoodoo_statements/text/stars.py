"""Stars: ``*`` has the columns of a table, and Hudi's own beside them only where they are named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp


def spelt_out(tree: Any, node: Any, columns: Sequence[str]) -> bool:
    """Put ``columns`` in the place of each star that stands for the table ``node``, and say whether
    no part of the query ``tree`` takes all columns of it any more."""
    if others_take_all(tree):
        return False
    select = node.parent_select
    if not isinstance(select, exp.Select) or not isinstance(node.parent, (exp.From, exp.Join)):
        return False
    alone = not (select.args.get("joins") or select.args.get("laterals"))
    if not alone:
        _by_table(select)
    called, stars = node.alias_or_name.lower(), []
    for one in select.expressions:
        star = one.this if isinstance(one, exp.Column) else one
        if not isinstance(star, exp.Star):
            continue
        if isinstance(one, exp.Column) and one.table.lower() != called:
            continue
        if any(star.args.values()) or not (alone or isinstance(one, exp.Column)):
            return False
        stars.append(one)
    for one in stars:
        before = {} if isinstance(one, exp.Star) else {**one.args}
        made = [
            exp.Column(**{**before, "this": exp.to_identifier(name, quoted=True)})
            for name in columns
        ]
        at = select.expressions.index(one)
        select.set("expressions", [*select.expressions[:at], *made, *select.expressions[at + 1 :]])
    return True


def _by_table(select: exp.Select) -> None:
    """Put ``a.*, b.*`` in the place of ``*``, where the two are the same."""
    joins = select.args.get("joins") or []
    tables = [(select.args.get("from_") or select.args.get("from")).this, *(j.this for j in joins)]
    names = [one.alias_or_name for one in tables]
    fewer = any(j.args.get("using") or j.method or j.kind in ("SEMI", "ANTI") for j in joins)
    if fewer or select.args.get("laterals") or len({"", *map(str.lower, names)}) <= len(names):
        return
    made: list[Any] = []
    for one in select.expressions:
        plain = isinstance(one, exp.Star) and not any(one.args.values())
        stars = (exp.column(exp.Star(), table=exp.to_identifier(n, quoted=True)) for n in names)
        made.extend(stars if plain else [one])
    select.set("expressions", made)


def takes_all(tree: Any) -> bool:
    """Whether ``tree`` uses columns that it does not name: those of ``*`` (but not of
    ``count(*)``), and others."""
    stars = (star for star in tree.find_all(exp.Star) if not isinstance(star.parent, exp.Func))
    return any(True for _ in stars) or others_take_all(tree)


def others_take_all(tree: Any) -> bool:
    """Whether a part of ``tree`` uses columns without a name and without ``*``: a natural join, a
    pivot (which gathers by them), a list of other names (which goes by their order), a whole
    row."""
    tables = list(tree.find_all(exp.Table))
    rows = {t.alias_or_name.lower() for t in tables}
    return (
        tree.find(exp.Pivot) is not None
        or any(j.method == "NATURAL" for j in tree.find_all(exp.Join))
        or any(t.alias_column_names for t in tables)
        or any(not c.table and c.name.lower() in rows for c in tree.find_all(exp.Column))
    )
