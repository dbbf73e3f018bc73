"""axe, which finds what keeps people with a disability from using a page."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from playwright.sync_api import Page

from tests.support.npm import find_npm_package

_PACKAGE: Final = "axe-core@4.14.1"
_SERIOUS: Final = frozenset({"serious", "critical"})


def find_serious_problems(page: Page, *rules: str) -> list[str]:
    """Return the serious problems of a page: the rule, and where it is broken. Without rules, all of them count."""
    script: Path = find_npm_package(_PACKAGE) / "axe.min.js"
    page.evaluate(script.read_text(encoding="utf-8"))
    chosen = {"runOnly": list(rules)} if rules else {}
    found = page.evaluate("async (chosen) => (await axe.run(chosen)).violations", chosen)
    return [
        f"{problem['id']} ({problem['help']}): {node['html'][:160]}"
        for problem in found
        if problem["impact"] in _SERIOUS
        for node in problem["nodes"]
    ]
