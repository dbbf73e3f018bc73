"""Every page leads somewhere: links resolve, each page has a next step, and every word of the code is documented."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT, list_pages

_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_VARIABLE = re.compile(r'"(TACTICIAN_[A-Z_]+|LLM_INSTANCES|ENABLED_PROVIDERS|[A-Z]+_API_KEY|LANGFUSE_[A-Z_]+)"')
READ_ON = [page for page in list_pages() if page.parent != ROOT]
IN_ORDER = (
    "index",
    "start/install",
    "start/tutorial",
    "concepts/index",
    "concepts/planning",
    "concepts/processes",
    "concepts/agents",
    "concepts/conversations",
    "concepts/models",
    "concepts/blueprints",
)
"""The pages for newcomers, in the order of the navigation."""

LONGEST_CODE = 132
"""Characters that fit beside the navigation at the font size of `site.css`."""

PLAIN_WORDS = {"run", "state"}
"""Terms of the glossary that are plain English too, so that their first use says nothing."""


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
def test_a_page_ends_with_a_next_step(page: Path) -> None:
    ending = re.split(r"\n{2,}", prose_of(page).strip())[-1]

    assert ending.startswith("**Next:**"), "the last paragraph begins with `**Next:**`"
    assert _LINK.search(ending), "the next step is a link"


def read_glossary() -> list[str]:
    return re.findall(r"^([\w ]+)\n  \S", (DOCS / "glossary.md").read_text("utf-8"), re.MULTILINE)


def find_first_use(term: str) -> tuple[str, str, str] | None:
    """Return the page with the first use of a term, the character before it, and the line."""
    for name in IN_ORDER:
        explained = re.sub(r"\{term\}`([^`<]+)[^`]*`", r"*\1*", prose_of(DOCS / f"{name}.md"))
        prose = re.sub(r"`[^`\n]*`|\[[^\]]*\]\([^)]*\)|^#+ .*$", "", explained, flags=re.MULTILINE)
        words = r"\s+".join(term.split())
        if found := re.search(rf"(?<![\w-]){words}s?(?![\w-])", prose):
            line = prose[prose.rfind("\n", 0, found.start()) + 1 :].partition("\n")[0]
            return name, prose[found.start() - 1 : found.start()], line
    return None


@pytest.mark.parametrize("term", read_glossary())
def test_a_term_is_explained_where_it_is_first_used(term: str) -> None:
    first = find_first_use(term)
    if first is None or term in PLAIN_WORDS:
        return
    page, before, line = first
    assert before == "*", (
        f"{page} uses {term!r} and neither explains it in italics nor links it to the glossary: {line}"
    )


def test_the_glossary_is_in_alphabetical_order() -> None:
    terms = read_glossary()
    assert len(terms) > 40
    assert terms == sorted(terms, key=str.casefold)


def test_the_architecture_names_modules_that_exist() -> None:
    named = re.findall(r"`([\w/]+\.py)`", (DOCS / "architecture.md").read_text("utf-8"))
    files = [file.as_posix() for folder in ("src", "tests") for file in (ROOT / folder).rglob("*.py")]
    assert named
    assert [name for name in named if not any(file.endswith(f"/{name}") for file in files)] == []


def test_the_architecture_has_a_row_for_each_package_and_root_module() -> None:
    """Each name in the first column of its tables is a path in the package, and none at the top is missing."""
    root = ROOT / "src" / "tactician"
    page = (DOCS / "architecture.md").read_text("utf-8")
    columns = re.findall(r"^\| ((?:`[\w/.]+`(?:, )?)+) \|", page, re.MULTILINE)
    rows = [name for column in columns for name in re.findall(r"`([\w/.]+)`", column)]
    gone = [name for name in rows if not (root / name).exists() and not (root / f"{name}.py").exists()]
    assert gone == [], "rows of docs/architecture.md about packages that do not exist"
    packages = {file.parent.name for file in root.glob("*/__init__.py")}
    modules = {file.stem for file in root.glob("*.py")} - {"__init__", "__main__"}
    assert sorted((packages | modules) - set(rows)) == [], "add a row to a table of docs/architecture.md"


@pytest.mark.parametrize("page", sorted((DOCS / "coming-from").glob("*.md")), ids=lambda page: page.name)
def test_programs_beside_each_other_fit_their_columns(page: Path) -> None:
    columns = re.findall(r"^::::\{side-by-side\}.*?^::::$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert columns or page.name == "index.md"
    assert [line for column in columns for line in column.splitlines() if len(line) > 64] == []


def test_every_extra_for_users_is_in_the_table_of_install() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    table, _, _ = (DOCS / "start" / "install.md").read_text("utf-8").partition("## Choose a model")
    rows = re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE)
    assert sorted(rows) == sorted(project["optional-dependencies"].keys() - {"dev", "docs"})


def test_no_command_installs_a_package_of_the_name_from_elsewhere() -> None:
    """The package is not on PyPI: who follows a command must not get what another person publishes there."""
    pages = [page for page in list_pages() if page.parent.name != "decisions"]
    files = [*pages, *(ROOT / "src").rglob("*.py")]
    assert [
        str(file) for file in files if re.search(r"pip install[^\n]*[\s\"']tactician\b", file.read_text("utf-8"))
    ] == []


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


@pytest.mark.parametrize(
    "page", [page for page in list_pages() if DOCS in page.parents], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_lines_of_code_fit_a_window_of_1440_pixels(page: Path) -> None:
    blocks = _FENCE.findall(page.read_text("utf-8"))
    assert [line for block in blocks for line in block.splitlines() if len(line) > LONGEST_CODE] == []
