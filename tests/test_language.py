"""The language of the package that ruff does not check: plain docstrings, functions as verbs, the field's words.

Packages that are not done yet are named in the allowances below, which only shrink: a package without offenders has to
leave them. tests/test_layers.py checks that no two classes share a name.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest

import tactician
from tests.docs.pages import list_pages

ROOT = Path(tactician.__file__).parent
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

QUESTIONS = {"What", "Whether", "How", "Who", "It"}
"""First words of docstrings that describe instead of saying."""
MOST_QUESTIONS = 0.01

# Verbs in the imperative that look like participles.
VERBS = {"bring", "cut", "embed", "exceed", "feed", "hold", "need", "proceed", "put", "read", "run", "seed", "set"}
IRREGULAR = {
    "begun", "bought", "brought", "built", "caught", "chosen", "done", "drawn", "found", "fed", "given", "gone",
    "got", "had", "held", "hidden", "kept", "known", "led", "left", "lost", "made", "meant", "met", "paid", "said",
    "seen", "sent", "shown", "sold", "spent", "spoken", "taken", "taught", "thought", "told", "tried", "wanted",
    "won", "written",
}  # fmt: skip
# Names of the public interface that stay.
CONTRACT = {
    "guardrails.result.passed",
    "guardrails.result.failed",
    "mcp.selection.ServerTools.named",
    "platform.supervision.SupervisorInvocation.returning",
    "tools.builtin.math_tools.MathTools.ceiling",
}
FRAMEWORKS = ("property", "validator", "serializer", "contextmanager", "workflow.", "overload")
"""Decorators of methods whose names are values, or names that another library sees."""

# Words that mean something only to those who chose them, by the word that the field uses.
IDIOMS = {
    "Followed": "ResolvedBlueprint",
    "Frame": "Checkpoint",
    "InstanceRecovered": "CircuitClosed",
    "InstanceRested": "CircuitOpened",
    "Later": "DeferredValue",
    "Lane": "DeploymentState",
    "Line": "WaitQueue",
    "Meter": "RateLimiter",
    "Paused": "Suspended",
    "RestPolicy": "CircuitBreakerPolicy",
    "StandIn": "LeaseHeartbeat",
    "StoreKeeper": "ProcessPersister",
    "Visit": "Attempt",
    "Watch": "DeadlineTimer",
    "announcing": "process_events",
    "assembled": "build",
    "assembling": "composed_agents",
    "bridge": "pydantic_ai_adapter",
    "gating": "feature_check",
    "go_on": "resume_run",
    "keeping": "persistence",
    "known_models": "model_profiles",
    "lane": "deployment_state",
    "leading": "supervised_agents",
    "led": "supervise",
    "mended": "repair_history",
    "mending": "repair_history",
    "nesting": "operation",
    "painter": "image_model",
    "reaching": "endpoint_resolver",
    "renewal": "late_classes",
    "renewed": "refresh",
    "rests": "circuit_breaker",
    "sending": "operation",
    "settle": "gather_or_suspend",
    "stand_in": "lease_heartbeat",
    "standing_in": "lease_heartbeat",
    "surroundings": "operation",
    "taken_from": "from_runnable",
    "telling": "log_sink",
    "tried_again": "retry",
    "usual": "defaults",
    "vectors": "embeddings",
    "visit": "attempt",
    "words": "formatting",
}

FILLERS = re.compile(r"\b(?:one|told|said|given|found|wanted)\b", re.IGNORECASE)
"""Words that stand for a noun or a verb of the field. Some uses are right, so only their share counts."""
MOST_FILLERS = 4 / 1000
"""Share of lines, as in the code bases that language.md compares."""

# How many offenders the packages have that are not done yet.
QUESTIONS_LEFT: dict[str, int] = {}
IDIOMS_LEFT: set[str] = set()


class Definition(NamedTuple):
    package: str
    path: str
    node: ast.Module | ast.ClassDef | Function

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]


@cache
def definitions() -> tuple[Definition, ...]:
    """Return all modules, classes and functions, except functions inside of functions."""

    def walk(package: str, path: str, node: ast.Module | ast.ClassDef) -> Iterator[Definition]:
        yield Definition(package, path, node)
        for child in node.body:
            if isinstance(child, ast.ClassDef):
                yield from walk(package, f"{path}.{child.name}", child)
            elif isinstance(child, Function):
                yield Definition(package, f"{path}.{child.name}", child)

    found: list[Definition] = []
    for file in sorted(ROOT.rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        path = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found += walk(parts[0], path, ast.parse(file.read_text(encoding="utf-8")))
    return tuple(found)


def count_by_package(offenders: list[Definition]) -> Counter[str]:
    return Counter(one.package for one in offenders)


def is_question(definition: Definition) -> bool:
    first = (ast.get_docstring(definition.node) or "").split(maxsplit=1)[:1]
    return bool(first) and first[0].rstrip(",.:;") in QUESTIONS


def is_participle(name: str) -> bool:
    looks_like_one = name in IRREGULAR or re.fullmatch(r"[a-z]+(ed|ing)", name) is not None
    return looks_like_one and name not in VERBS


def is_named_by_participle(definition: Definition) -> bool:
    node = definition.node
    assert isinstance(node, Function)
    decorators = " ".join(ast.unparse(one) for one in node.decorator_list)
    is_special = definition.name.startswith("__")
    is_value = any(one in decorators for one in FRAMEWORKS)
    return is_participle(definition.name.lstrip("_")) and not is_special and not is_value


def assert_within(offenders: list[Definition], share: float, among: list[Definition], left: dict[str, int]) -> None:
    """Check the share in the packages that are done, and the numbers in the others."""
    counts = count_by_package(offenders)
    names = {package: [one.path for one in offenders if one.package == package] for package in counts}
    grown = {package: names[package] for package, most in left.items() if counts[package] > most}
    assert grown == {}, "more than the allowance"
    assert [package for package in left if not counts[package]] == [], "done: remove them from the allowance"
    done = [one for one in among if one.package not in left]
    assert len([one for one in offenders if one.package not in left]) <= share * len(done), names


def test_docstrings_say_what_they_mean_at_once() -> None:
    documented = [one for one in definitions() if ast.get_docstring(one.node)]
    offenders = [one for one in documented if is_question(one)]
    assert_within(offenders, MOST_QUESTIONS, documented, QUESTIONS_LEFT)


def test_functions_are_named_by_verbs() -> None:
    functions = [one for one in definitions() if isinstance(one.node, Function)]
    assert [one.path for one in functions if is_named_by_participle(one) and one.path not in CONTRACT] == []


def test_no_public_name_is_an_idiom() -> None:
    used = {one.path: IDIOMS[one.name] for one in definitions() if one.name in IDIOMS}
    new = {path: word for path, word in used.items() if path not in IDIOMS_LEFT}
    assert new == {}, "the field has a word for it"
    assert used.keys() >= IDIOMS_LEFT, "gone: remove it from the allowance"


def test_sentences_name_what_they_are_about() -> None:
    counts, lines = Counter[str](), 0
    for file in ROOT.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        counts[file.relative_to(ROOT).parts[0]] += len(FILLERS.findall(text))
        lines += text.count("\n")
    assert counts.total() <= MOST_FILLERS * lines, counts.most_common(5)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('"""What this is."""', True),
        ('"""It, as JSON."""', True),
        ('"""Whether."""', True),
        ('"""Items of a list."""', False),
        ('"""Howl at the moon."""', False),
        ("x = 1", False),
    ],
)
def test_a_question_is_recognised(source: str, expected: bool) -> None:
    assert is_question(Definition("p", "p", ast.parse(source))) is expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def told(): ...", True),
        ("def announcing(): ...", True),
        ("async def finished(): ...", True),
        ("def run(): ...", False),
        ("def embed(): ...", False),
        ("def read_found(): ...", False),
        ("@property\ndef kept(self): ...", False),
        ("@field_validator('x')\ndef checked(cls): ...", False),
    ],
)
def test_a_participle_is_recognised(source: str, expected: bool) -> None:
    node = ast.parse(source).body[0]
    assert isinstance(node, Function)
    assert is_named_by_participle(Definition("p", node.name, node)) is expected


STUMBLES = re.compile(r"\b(?:[Ww]hoever|[Tt]here (?:is|are) none)\b")
"""Phrases that read as translated, in messages to people."""


def list_messages(source: str) -> list[str]:
    """Return the texts of a module that are not docstrings."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings]
    return [node.value for node in texts if isinstance(node.value, str)]


def test_messages_have_no_phrases_that_readers_stumble_over() -> None:
    messages = [text for file in ROOT.rglob("*.py") for text in list_messages(file.read_text(encoding="utf-8"))]
    assert len(messages) > 1000
    assert [text for text in messages if STUMBLES.search(text)] == []


# How many lines may have a phrase that reads as translated. The numbers only go down.
STUMBLES_IN_SOURCE = {r"whoever": 0, r"there (?:is|are) none": 0, r"those of": 5, r"that of": 5}
STUMBLES_IN_DOCS = {r"whoever": 0, r"there (?:is|are) none": 0, r"those of": 0, r"that of": 0}


def count_phrase(phrase: str, files: Iterable[Path]) -> int:
    """Return how many lines have a phrase."""
    pattern = re.compile(rf"\b{phrase}\b", re.IGNORECASE)
    return sum(len(pattern.findall(line)) > 0 for file in files for line in file.read_text("utf-8").splitlines())


@pytest.mark.parametrize(("phrase", "most"), STUMBLES_IN_SOURCE.items())
def test_the_source_has_fewer_and_fewer_phrases_that_readers_stumble_over(phrase: str, most: int) -> None:
    assert count_phrase(phrase, ROOT.rglob("*.py")) <= most, "name the noun; then lower the number"


@pytest.mark.parametrize(("phrase", "most"), STUMBLES_IN_DOCS.items())
def test_the_documentation_has_fewer_and_fewer_phrases_that_readers_stumble_over(phrase: str, most: int) -> None:
    pages = [page for page in list_pages() if page.parent.name != "decisions"]
    assert len(pages) > 50
    assert count_phrase(phrase, pages) <= most, "name the noun; then lower the number"


def test_a_message_is_told_from_a_docstring() -> None:
    assert list_messages('def f(x):\n    """Whoever."""\n    raise E(f"whoever {x}")') == ["whoever "]
