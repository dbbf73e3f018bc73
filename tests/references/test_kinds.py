"""Web pages, folders, repositories, Python APIs and files of packages, as references."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tactician.errors import ConfigurationError, ToolError
from tactician.prompts import LlmReference
from tactician.references import GitRepository, LocalDirectory, PackageResource, PythonApi, TextFile, WebPage
from tactician.runs import RunContext
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tactician.tools import fetch_page
from tests.tools.builtin.support import Site, answers


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(dedent(text), encoding="utf-8")
    return file


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that must not be imported."""
    root = tmp_path / "site" / "acme_unloaded"
    write(root / "__init__.py", "raise RuntimeError('nobody imports it')\nfrom acme_unloaded.orders import Order\n")
    write(
        root / "orders.py",
        '''\
        class Order(dict):
            """Order of a customer.

            It has a number.
            """

            number: int
            _secret: str = "x"

            def cancel(self, reason: str = "") -> bool:
                """Cancel the order."""

            def _hide(self) -> None: ...

        async def find_order(number: int) -> Order | None:
            """Find an order by its number."""

        def _private() -> None: ...
        ''',
    )
    write(root / "_hidden.py", "def hidden(): ...")
    write(root / "broken.py", "def broken(:")
    write(root / "native.py", "def old(): ...")
    write(root / "native.pyi", "def fast(text: str) -> bytes: ...")
    write(root / "inner" / "__init__.py", "from ..orders import find_order as find")
    write(root / "texts" / "returns.md", "30 days.")
    monkeypatch.syspath_prepend(str(root.parent))
    return root


async def contribute(reference: LlmReference, clock: FakeClock | None = None) -> str:
    context = RunContext.over(ScriptedModel(), clock=clock or FakeClock())
    return await reference.contribute(context)


async def test_a_page_is_fetched_once_until_it_is_old() -> None:
    clock, fetcher = FakeClock(), fetch_page.allow_private()
    async with Site(answers("<h1>Frogs</h1>", content_type="text/html")) as site:
        page = WebPage(f"{site.url}/frogs", "All about frogs", fetcher=fetcher, max_age=60)
        text = await contribute(page, clock)
        assert "What it is: All about frogs" in text
        assert "<page>\n# Frogs\n</page>" in text
        clock.advance(59)
        await contribute(page, clock)
        assert len(site.requests) == 1
        clock.advance(1)
        await contribute(page, clock)
        assert len(site.requests) == 2


async def test_a_page_that_cannot_be_fetched_says_why() -> None:
    page = WebPage("http://127.0.0.1:9/x?key=1", "Inside")
    assert "The page is missing:" in (text := await contribute(page))
    assert "<page>" not in text
    assert page.name == "127.0.0.1/x"


@pytest.mark.parametrize("url", ["ftp://x/y", "https://a:b@x/y", "x"])
def test_an_address_that_is_not_of_the_web(url: str) -> None:
    with pytest.raises(ConfigurationError, match="begin it with https://"):
        WebPage(url, "x")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "handbook"
    write(root / "returns.md", "Send it back\nwithin 30 days.")
    write(root / "inner" / "pay.txt", "Pay with a card.")
    write(root / ".env", "KEY=secret")
    write(root / ".git" / "config", "secret")
    (root / "binary").write_bytes(b"\0pay")
    (root / "link").symlink_to(write(tmp_path / "outside", "pay outside"))
    return root


def test_a_folder_is_listed_read_and_searched(folder: Path) -> None:
    reference = LocalDirectory(folder, "What Acme promises").with_usage_notes("Search first.")

    assert reference.contribution().splitlines()[-1] == "Search first."
    assert reference.list_files().splitlines() == ["binary", "inner/pay.txt", "returns.md"]
    assert reference.list_files("inner") == "inner/pay.txt"
    assert reference.read_file("returns.md", 5) == "it back\nwithin 30 days."
    assert reference.search_files("PAY") == "inner/pay.txt:1: Pay with a card."
    assert reference.search_files("pay", "*.md") == "No line contains 'pay'."
    names = [tool.name for tool in reference.named_tools]
    assert names == ["handbook_list_files", "handbook_read_file", "handbook_search_files"]


@pytest.mark.parametrize(
    "path", [".env", ".git/config", "inner/../.env", "../outside", "link", "binary", "/etc/passwd"]
)
def test_nothing_else_is_read(folder: Path, path: str) -> None:
    with pytest.raises(ToolError):
        LocalDirectory(folder, "x").read_file(path)


def test_patterns_hide_files(folder: Path) -> None:
    reference = LocalDirectory(folder, "x", patterns=("*.md",))
    assert reference.list_files() == "returns.md"
    with pytest.raises(ToolError, match="not among the files"):
        reference.read_file("inner/pay.txt")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="not a folder that can be read"):
        LocalDirectory(tmp_path / "none", "x").list_files()


def test_a_repository_is_fetched_when_a_tool_needs_it(tmp_path: Path) -> None:
    root = tmp_path / "examples"
    write(root / "docs" / "agents.md", "Agents plan.")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(root)]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *arguments], check=True, env=environment)
    cache = tmp_path / "cache"
    reference = GitRepository(root.as_uri(), "Examples of agents", path="docs", schemes=("file",), cache=cache)

    assert reference.name == "examples"
    assert f"Repository: {root.as_uri()}" in reference.contribution()
    assert not cache.exists()
    assert reference.search_files("plan") == "agents.md:1: Agents plan."
    assert reference.list_files() == "agents.md"


def test_a_repository_that_cannot_be_fetched(tmp_path: Path) -> None:
    gone = GitRepository((tmp_path / "gone").as_uri(), "x", schemes=("file",), cache=tmp_path / "cache")
    with pytest.raises(ToolError, match="git fetch failed"):
        gone.list_files()
    with pytest.raises(ConfigurationError, match="the scheme must be https or ssh, not 'file'"):
        GitRepository("file:///etc", "x")


def test_an_api_is_read_without_importing_it(package: Path) -> None:
    api = PythonApi("Acme", "Orders", ["acme_unloaded"])

    described = api.describe_name("acme_unloaded.orders.Order")
    assert described == (
        "acme_unloaded.orders.Order\nclass Order(dict)\n\nOrder of a customer.\n\nIt has a number.\n\nnumber: int\n\n"
        "def cancel(self, reason: str='') -> bool\n    Cancel the order."
    )
    assert api.describe_name("acme_unloaded.Order") == described
    assert api.describe_name("acme_unloaded.Order.cancel").splitlines()[1].startswith("def cancel(self")
    assert "async def find_order(number: int) -> Order | None" in api.describe_name("acme_unloaded.inner.find")
    assert "def fast(text: str) -> bytes" in api.describe_name("acme_unloaded.native.fast")
    assert "acme_unloaded" not in sys.modules


def test_names_of_an_api_are_listed_and_found(package: Path) -> None:
    api = PythonApi("Acme", "Orders", ["acme_unloaded"])

    assert api.list_names("acme_unloaded.orders").splitlines() == [
        "acme_unloaded.orders.Order: Order of a customer.",
        "acme_unloaded.orders.find_order: Find an order by its number.",
    ]
    assert "hidden" not in api.list_names("acme_unloaded")
    assert api.find_names("cancel order").splitlines()[0] == "acme_unloaded.orders.Order.cancel: Cancel the order."
    for name in ("acme_unloaded.orders._private", "acme_unloaded.native.old", "os.system", "acme_unloaded.orders.Ordr"):
        with pytest.raises(ToolError, match="There is no"):
            api.describe_name(name)
    with pytest.raises(ToolError, match=r"There is no API in 'os'. Packages: acme_unloaded."):
        api.list_names("os")


@pytest.mark.parametrize("packages", [[], "acme_unloaded", ["nothing.here"], ["../x"], ["json.tool"]])
def test_packages_that_do_not_exist(packages: list[str], package: Path) -> None:
    with pytest.raises(ConfigurationError):
        PythonApi("x", "x", packages)


def test_the_api_of_this_package_finds_what_it_exports_late() -> None:
    api = PythonApi("Tactician", "The framework", ["tactician.agents"])
    assert "class Agent(BaseRunnable[T_co])" in api.describe_name("tactician.agents.Agent")
    assert "with_workers" in api.find_names("with workers")


def test_files_of_packages_and_beside_the_program(package: Path, tmp_path: Path) -> None:
    resource = PackageResource("Returns", "What comes back", "acme_unloaded", "texts/returns.md")
    assert resource.contribution() == "Reference: Returns\nWhat it is: What comes back\n30 days."
    with pytest.raises(ConfigurationError, match=r"has no file '\.\./\.\./x'"):
        PackageResource("Returns", "x", "acme_unloaded", "../../x")
    file = write(tmp_path / "a.md", "text")
    assert TextFile("A", "x", file).contribution().endswith("\ntext")
    with pytest.raises(ConfigurationError, match=r"'b\.md' cannot be read"):
        TextFile("A", "x", tmp_path / "b.md")
    assert "acme_unloaded" not in sys.modules


async def test_a_model_looks_something_up(scripted_model: ScriptedModel, folder: Path) -> None:
    scripted_model.script(ToolCall("handbook_search_files", text="30 days"), "30 days.")
    ai = scripted_model.ai().with_reference(LocalDirectory(folder, "What Acme promises"))
    assert await ai.generate_text("How long?") == "30 days."
    assert scripted_model.calls[1].messages[-1] != scripted_model.calls[0].messages[-1]
    assert "returns.md:2: within 30 days." in str(scripted_model.calls[1].messages[-1])
