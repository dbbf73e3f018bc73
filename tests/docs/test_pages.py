"""Every page leads somewhere: links resolve, each page has a next step, and every word of the code is documented."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT, list_pages

_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_VARIABLE = re.compile(r'"(TACTICIAN_[A-Z_]+|LLM_INSTANCES|ENABLED_PROVIDERS|[A-Z]+_API_KEY|LANGFUSE_[A-Z_]+)"')
READ_ON = [page for page in list_pages() if page.parent.name != "decisions" and page.parent != ROOT]


def prose_of(page: Path) -> str:
    return _FENCE.sub("", page.read_text("utf-8"))


def anchors_of(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", prose_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", list_pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for target in _LINK.findall(prose_of(page)):
        if target.startswith(("https://", "http://")):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), f"{target}: there is no such file"
        assert not anchor or anchor in anchors_of(file), f"{target}: there is no such heading"


@pytest.mark.parametrize("page", READ_ON, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_has_a_next_step(page: Path) -> None:
    assert page == DOCS / "index.md" or "**Next:**" in page.read_text("utf-8")


def test_every_environment_variable_is_documented() -> None:
    sources = "\n".join(file.read_text("utf-8") for file in (ROOT / "src").rglob("*.py"))
    documented = (DOCS / "reference" / "environment.md").read_text("utf-8")
    assert [name for name in sorted(set(_VARIABLE.findall(sources))) if name.rstrip("_") not in documented] == []


def test_the_tables_of_the_reference_are_complete() -> None:
    from docs._ext.reference_tables import TABLES

    tables = {name: "\n".join(write()) for name, write in TABLES.items()}

    assert "`ModelConnectionError` (`tactician.errors`)" in tables["errors"]
    assert "`ActionCompleted`" in tables["events"]
    assert "`agent_cutoff`" in tables["settings"]
    assert "`TACTICIAN_PLATFORM_RANKING_ATTEMPTS`" in tables["settings"]
    assert "`TACTICIAN_ROUTER_DEADLINE`" in tables["settings"]
    assert "`tactician blueprint check`" in tables["commands"]
    assert "`maxTurns`" in tables["blueprint-fields"]
