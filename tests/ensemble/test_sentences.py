"""The list of sentences about ensembles: each names the tests that show it, and all of these exist."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

HERE = Path(__file__)
_ROW = re.compile(r"^\| (?!sentence)(?P<sentence>.+?) \| (?P<tests>.+) \|$", re.MULTILINE)
_TEST = re.compile(r"^ *(?:async )?def (test_\w+)\(", re.MULTILINE)


def read_rows() -> list[tuple[str, str, list[str]]]:
    """Return the sentences with their sections and the names of their tests."""
    sections = HERE.with_name("SENTENCES.md").read_text("utf-8").split("\n## ")[1:]
    return [
        (section.partition("\n")[0], row["sentence"], re.findall(r"`(\w+)`", row["tests"]))
        for section in sections
        for row in _ROW.finditer(section)
    ]


def find_tests() -> set[str]:
    """Return the names of all tests."""
    files = HERE.parents[1].rglob("test_*.py")
    return {name for file in files for name in _TEST.findall(file.read_text("utf-8"))}


def test_every_sentence_names_tests_that_exist() -> None:
    known, rows = find_tests(), read_rows()
    assert len(rows) > 100
    assert {sentence: tests for _, sentence, tests in rows if not tests or not known.issuperset(tests)} == {}


def test_no_sentence_stands_there_twice() -> None:
    counts = Counter((section, sentence) for section, sentence, _ in read_rows())
    assert [sentence for sentence, count in counts.items() if count > 1] == []
