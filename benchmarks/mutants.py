"""Mutants: small mistakes put into modules of safety, leases, streams and planning, and the tests that notice them.

    python -m benchmarks.mutants                     # every mutant of every subject, for hours
    python -m benchmarks.mutants --most 10 --seed 7  # ten mutants of each subject, chosen at random
    python -m benchmarks.mutants guard feed          # the subjects whose paths contain one of these words

A mutant that no test notices survives, and is printed with its change: either it does the same as the original, or a
test is missing. Cosmic Ray makes the mutants, in a copy of the source, so that the checkout stays as it is.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parent.parent
SUBJECTS: Final = {
    "resilience/backoff.py": "tests/resilience",
    "resilience/circuit_breaker.py": "tests/resilience",
    "resilience/rate_limiter.py": "tests/resilience",
    "stores/lease_heartbeat.py": "tests/stores/test_lease_heartbeat.py",
    "serve/api/serving/guard.py": "tests/serve/api/test_guard.py",
    "secret_pieces.py": "tests/serve/test_held_text.py tests/test_secrets.py",
    "planning/forced.py": "tests/planning/test_planner.py",
    "planning/greedy.py": "tests/planning/test_planner.py tests/planning/test_anytime.py",
}
"""Tests by the module that they have to hold."""
OPERATORS: Final = (
    *("AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
    *("NumberReplacer", "ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ExceptionReplacer"),
    *("ZeroIterationForLoop", "ReplaceUnaryOperator_Delete_Not", "ReplaceBinaryOperator_Add_Sub"),
    *("ReplaceBinaryOperator_Sub_Add", "ReplaceBinaryOperator_Mul_Div"),
    *("ReplaceComparisonOperator_Eq_NotEq", "ReplaceComparisonOperator_NotEq_Eq"),
    *("ReplaceComparisonOperator_Lt_LtE", "ReplaceComparisonOperator_LtE_Lt"),
    *("ReplaceComparisonOperator_Gt_GtE", "ReplaceComparisonOperator_GtE_Gt"),
    *("ReplaceComparisonOperator_Is_IsNot", "ReplaceComparisonOperator_IsNot_Is"),
)
"""Operators whose mutants look like mistakes that people make; others mostly break annotations."""
_SECONDS: Final = 120
_PYTEST: Final = ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly")


class Mutant(NamedTuple):
    """Module with one mistake in it."""

    text: str
    change: str


def create_mutants(path: Path) -> Iterator[Mutant]:
    """Yield the mutants of a module."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    text = path.read_text("utf-8")
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        count = sum(len(list(operator.mutation_positions(node))) for node in ast_nodes(get_ast(text)))
        for occurrence in range(count):
            if (mutated := mutate_code(text, operator, occurrence)) not in (None, text):
                lines = unified_diff(text.splitlines(), mutated.splitlines(), lineterm="", n=0)
                yield Mutant(mutated, "\n".join(line for line in lines if line[:2] not in ("--", "++", "@@")))


def is_noticed(path: Path, mutant: Mutant, tests: str, source: Path) -> bool:
    """Return whether the tests fail with a mutant in place of its module; a test that hangs has noticed it."""
    original = path.read_text("utf-8")
    path.write_text(mutant.text, "utf-8")
    try:
        return not pass_tests(tests, source)
    finally:
        path.write_text(original, "utf-8")


def pass_tests(tests: str, source: Path) -> bool:
    """Return whether tests pass with a copy of the source."""
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *_PYTEST, *tests.split()]
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def examine(subject: str, source: Path, most: int | None, chooser: random.Random) -> tuple[int, list[Mutant]]:
    """Return how many mutants of a module were tried, and the survivors.

    Raises:
        RuntimeError: when the tests fail without a mistake.
    """
    path, tests = source / "tactician" / subject, SUBJECTS[subject]
    if not pass_tests(tests, source):
        raise RuntimeError(f"{tests} fails without a mutant: mend it first")
    mutants = list(create_mutants(path))
    if most is not None and most < len(mutants):
        mutants = chooser.sample(mutants, most)
    return len(mutants), [mutant for mutant in mutants if not is_noticed(path, mutant, tests, source)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the survivors of each subject, and the share of mutants that tests notice."""
    parser = argparse.ArgumentParser(description="Mutation testing of the modules that must not fail.")
    parser.add_argument("words", nargs="*", help="words in the paths of the subjects; all subjects by default")
    parser.add_argument("--most", type=int, help="mutants of each subject, chosen at random; all by default")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    chosen = [path for path in SUBJECTS if not options.words or any(word in path for word in options.words)]
    tried = survived = 0
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder)
        shutil.copytree(ROOT / "src", source, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        for subject in chosen:
            count, survivors = examine(subject, source, options.most, random.Random(options.seed))
            tried, survived = tried + count, survived + len(survivors)
            print(f"{subject}: tests notice {count - len(survivors)} of {count} mutants", flush=True)
            for mutant in survivors:
                print(mutant.change, flush=True)
    print(f"Tests notice {tried - survived} of {tried} mutants.")


if __name__ == "__main__":
    main()
