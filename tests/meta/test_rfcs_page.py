"""tests/rfcs.md: each row has an answer, and each answer its proof: tests that exist, pages that say why."""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from hoodoo.kernel import kernel
from hoodoo.kernel.options import _known, known_to_hudi
from hoodoo.kernel.resolve import declared_options
from hoodoo.model.writer_keys import WRITER_KEYS

REPO = Path(__file__).parents[2]
TEXT = (REPO / "tests/rfcs.md").read_text("utf-8")
ROW = re.compile(r"^\| (.+?) \| ([^|]+) \| (.*) \|$")
PROOF = re.compile(r"`((?:core|plugins|contrib|tests)/[\w/.-]+\.py)(?:::(\w+))?`")
LINK = re.compile(r"\]\([^)]+\)")
ANSWERS = ("yes", "other way", "refused", "no effect", "not yet")
# What Hudi made of the four RFCs is told by these options.
FAMILIES = (
    "hoodie.populate.meta.fields", "hoodie.recordkey.", "hoodie.write.complex.keygen.", "hoodie.keygen.",
    "hoodie.datasource.write.keygenerator.", "hoodie.datasource.write.row.writer.", "hoodie.table.keygenerator.",
    "record.level.index.", "hoodie.metadata.", "hoodie.record.index.", "hoodie.hfile.", "hoodie.expression.index.",
    "hoodie.index.type", "hoodie.index.name", "hoodie.index.bucket.engine", "hoodie.bucket.index.min.",
    "hoodie.bucket.index.max.", "hoodie.bucket.index.split.", "hoodie.bucket.index.merge.",
    "hoodie.bucket.index.partition.", "hoodie.clustering.", "hoodie.datasource.clustering.",
    "hoodie.layout.optimize.", "hoodie.table.services.incremental.",
)  # fmt: skip
RUNS = "org.apache.hudi.client.clustering."
# Of Hudi 1.2 and older releases: family, package, class.
CLASSES = [
    *(
        ("clustering_plan", "plan.strategy.", f"{name}ClusteringPlanStrategy")
        for name in (
            "SparkSizeBased", "JavaSizeBased", "FlinkSizeBased", "SparkRecentDays", "JavaRecentDays",
            "FlinkRecentDays", "SparkSelectedPartitions", "FlinkSelectedPartitions", "SparkStreamCopy",
            "FlinkSkipSingleFile", "SparkConsistentBucket", "FlinkConsistentBucket",
        )
    ),
    ("clustering_plan", "plan.strategy.", "FlinkSizeBasedClusteringPlanStrategyRecently"),
    ("clustering_plan", "plan.strategy.", "SparkSingleFileSortPlanStrategy"),
    *(
        ("clustering", "run.strategy.", f"{name}ExecutionStrategy")
        for name in (
            "SparkSortAndSize", "SingleSparkJobSortAndSize", "JavaSortAndSize", "SparkSingleFileSort",
            "SparkBinaryCopyClustering", "SparkStreamCopyClustering", "SparkConsistentBucketClustering",
            "SingleSparkJobConsistentHashing", "SparkExternalFileClustering", "MultipleSparkJob",
            "SingleSparkJob", "Java",
        )
    ),
    *(
        ("clustering_updates", "update.strategy.", f"Spark{name}UpdateStrategy")
        for name in ("Reject", "Allow", "ConsistentBucketDuplicate")
    ),
]  # fmt: skip


def promises() -> list[tuple[str, str, str]]:
    """Promise, answer and proof of all tables behind the one that explains the answers."""
    text = TEXT.split("\n## ", 1)[1]
    found = [m.groups() for m in map(ROW.match, text.splitlines()) if m]
    return [(p, a, proof) for p, a, proof in found if p != "promise" and set(p) != {"-"}]


@cache
def functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return frozenset(n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))


def test_every_row_has_one_of_the_answers() -> None:
    assert len(promises()) > 150
    lines = [line for line in TEXT.split("\n## ", 1)[1].splitlines() if line.startswith("| ")]
    assert len(lines) - len(promises()) == TEXT.count("| promise | answer |")
    assert not [promise for promise, answer, _ in promises() if answer not in ANSWERS]


def test_every_test_named_exists() -> None:
    wrong = [
        f"{path}::{name}"
        for path, name in PROOF.findall(TEXT)
        if not (REPO / path).exists() or (name and name not in functions(REPO / path))
    ]
    assert not wrong


def test_a_proof_is_one_test_and_not_a_file_of_many() -> None:
    wrong = [p for p, name in PROOF.findall(TEXT) if not name and not p.startswith("tests/bench/")]
    assert not wrong


def test_what_works_names_a_test_or_a_page() -> None:
    """What is measured stands on a page. What is missing says in words what it is."""
    bare = [
        promise
        for promise, answer, proof in promises()
        if answer in ("yes", "other way") and not PROOF.search(proof) and not LINK.search(proof)
    ]
    assert not bare
    said = ("refused", "no effect", "not yet")
    assert not [p for p, a, proof in promises() if a in said and len(proof) < 20]


def test_all_four_are_there() -> None:
    for number in ("21", "08", "19", "84"):
        assert f"\n## RFC-{number}: " in TEXT


def named(promise: str) -> list[str]:
    """The options in a promise, as patterns. ``.count`` behind ``hoodie.a.enable`` is ``hoodie.a.count``, or ``hoodie.count``."""
    found: list[str] = []
    stem: list[str] = []
    for text in re.findall(r"`([^`]+)`", promise):
        if text.startswith("."):
            found += [".".join(stem[:at]) + text for at in range(1, len(stem))]
        elif re.fullmatch(r"[a-z]+(\.[\w*]+)+", text):
            stem = text.split(".")
            found.append(text)
    return found


def test_options_are_read_out_of_a_promise() -> None:
    assert named("`a.b.c`, `.d` = `X`") == ["a.b.c", "a.d", "a.b.d"]
    assert named("`a.b.*`: `Name` of it, `.e`") == ["a.b.*", "a.e", "a.b.e"]


def options_of_hudi() -> list[str]:
    return sorted(key for key in known_to_hudi() if key.startswith(FAMILIES))


def answers(key: str) -> set[str]:
    return {
        answer
        for promise, answer, _ in promises()
        if any(fnmatchcase(key, pattern) for pattern in named(promise))
    }


def test_each_option_of_hudi_has_a_row() -> None:
    """Works, or is refused, or is warned of with a reason; and the page says which."""
    kernel()
    honoured = {name for option in declared_options(using=kernel()) for name in option.names}
    honoured |= WRITER_KEYS.keys()
    keys = options_of_hudi()
    assert len(keys) > 150
    assert [key for key in keys if not answers(key)] == []
    works = {"yes", "other way"}
    assert [
        key for key in keys if key in honoured and not answers(key) & (works | {"refused"})
    ] == []
    idle = [key for key in keys if key not in honoured]
    assert [key for key in idle if not answers(key) & {"no effect", "refused"}] == []
    assert [key for key in idle if not _known()[key]] == []


def test_the_warning_of_each_option_without_effect_has_its_reason() -> None:
    said = {key: why for key, why in _known().items() if why}
    assert len(said) > 90
    assert [key for key, why in said.items() if len(why.split()) < 3] == []


def test_each_class_of_hudi_is_offered_or_refused_on_the_page() -> None:
    for family, package, name in CLASSES:
        found = {a for promise, a, _ in promises() if f"`{name}`" in promise}
        offered = kernel().find(family, f"{RUNS}{package}{name}") is not None
        assert found == ({"yes"} if offered else {"refused"}), name
