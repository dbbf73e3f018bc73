"""Tools that look: windows of files, names, lines, symbols and the map of a repository."""

import shutil
from pathlib import Path

import pytest

from tactician.coding.files.listing import compile_pattern, list_files
from tactician.coding.search.grep import GrepRequest, search_files
from tactician.coding.trees.repository_map import draw_map
from tactician.errors import ToolError
from tactician.testing import FakeClock
from tests.coding.support import create_repository, hands, run_git, write

FILES = {
    "src/shop.py": "class Shop:\n    def total(self, items):\n        return sum(items)\n\n\n"
    "def open_shop():\n    return Shop()\n",
    "src/web.ts": "import { x } from './y'\nexport const render = (shop: Shop) => shop.total([])\nclass Page {}\n",
    "main.go": "package main\n\nfunc Total(a int) int { return a }\n\nfunc main() { Total(1) }\n",
    "lib.rs": "pub struct Cart;\nimpl Cart { pub fn total(&self) -> u8 { 1 } }\n",
    "A.java": "class A { int total() { return 1; } }\n",
    "a.c": "int total(int a) { return a; }\n",
    "a.rb": "class A\n  def total\n  end\nend\n",
    "a.php": "<?php class A { function total() { return 1; } }\n",
    "a.cs": "class A { int Total() { return 1; } }\n",
    ".gitignore": "*.log\n",
    "big.log": "total\n",
    "tests/test_shop.py": "from shop import open_shop\n\n\ndef test_total():\n    assert open_shop().total([1]) == 1\n",
}


async def test_files_are_shown_in_windows(tmp_path: Path) -> None:
    lines = "".join(f"line {n}\n" for n in range(1, 301))
    repo = write(tmp_path / "repo", {"a.txt": lines, "b.bin": b"\0\1", "long.txt": "x" * 2_000, "empty": ""})
    with hands(repo, tmp_path / "state") as agent:
        shown = await agent.call("read_file", path="a.txt", first_line=10, lines=2)
        assert shown == ("a.txt, lines 10 to 11 of 300 (read on with first_line=12)\n    10\tline 10\n    11\tline 11")
        assert "up to 300" in await agent.call("read_file", path="a.txt", first_line=301)
        assert "binary" in await agent.call("read_file", path="b.bin")
        assert "+1,500 characters" in await agent.call("read_file", path="long.txt")
        assert await agent.call("read_file", path="empty") == "empty is empty."
        assert "Did you mean 'a.txt'" in await agent.call("read_file", path="a.tx")


async def test_a_file_of_50_megabytes_is_read_in_parts(tmp_path: Path) -> None:
    repo = write(tmp_path / "repo", {})
    line = b"0123456789" * 9 + b"\n"
    with (repo / "big.txt").open("wb") as file:
        for _ in range(50):
            file.write(line * 11_000)
    with hands(repo, tmp_path / "state") as agent:
        shown = await agent.call("read_file", path="big.txt", first_line=400_000, lines=2)
        assert "400000\t0123456789" in shown
        assert shown.count("\n") == 2
        assert "up to 5,000,000 bytes" in await agent.call("edit_file", path="big.txt", old_text="0", new_text="1")


@pytest.mark.parametrize(
    ("pattern", "matching"),
    [
        ("*.py", ["src/shop.py", "tests/test_shop.py"]),
        ("src/*", ["src/shop.py", "src/web.ts"]),
        ("**/*.{py,ts}", ["src/shop.py", "src/web.ts", "tests/test_shop.py"]),
        ("test_*", ["tests/test_shop.py"]),
        ("a.[ch]", ["a.c"]),
        ("./src/**", ["src/shop.py", "src/web.ts"]),
        ("?.c*", ["a.c", "a.cs"]),
    ],
)
def test_patterns_are_those_of_shells(pattern: str, matching: list[str]) -> None:
    match = compile_pattern(pattern).fullmatch
    assert [path for path in sorted(FILES) if match(path)] == matching


def test_what_git_ignores_is_not_listed(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", FILES)
    write(repo, {"new.py": "", "node_modules/x.js": ""})
    (repo / "link.py").symlink_to("new.py")
    with hands(repo, tmp_path / "state") as agent:
        listed = agent.session.list_files()
    assert {"new.py", "src/shop.py"} <= set(listed)
    assert not {"big.log", "link.py"} & set(listed)
    assert "node_modules/x.js" not in list_files(repo), "without git, dependencies are left out"


async def test_lines_are_found_the_same_way_with_and_without_ripgrep(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.txt": "one\r\ntwo Total\r\n\r\n",
        "b.txt": b"total \xff\n",
        "c.bin": b"\0total",
        "d.txt": "total\né total".encode("utf-16"),
        "e/f.txt": "a.b\naxb\n",
    }
    repo, clock = write(tmp_path, files), FakeClock()
    paths = sorted(files)

    async def find(pattern: str, ripgrep: str, **options: bool) -> list[tuple[str, int, str]]:
        request = GrepRequest(pattern=pattern, **options)
        result = await search_files(request, repo, paths, clock, ripgrep=ripgrep)
        return [(line.path, line.number, line.text) for line in result.lines]

    found = await find("total", "", ignore_case=True)
    assert found == [
        ("a.txt", 2, "two Total"),
        ("b.txt", 1, "total \ufffd"),
        ("d.txt", 1, "total"),
        ("d.txt", 2, "é total"),
    ]
    assert await find(r"a\.b", "") == [("e/f.txt", 1, "a.b")]
    assert await find("two total$", "", ignore_case=True) == [("a.txt", 2, "two Total")]
    assert await find("^$", "") == [("a.txt", 3, "")]
    if ripgrep := shutil.which("rg"):
        for pattern in ("total", "T?otal$", "^$", r"a\.b", r"\w+ Total", "é", "[a-c]."):
            for ignore in (False, True):
                assert await find(pattern, ripgrep, ignore_case=ignore) == await find(pattern, "", ignore_case=ignore)
    with pytest.raises(ToolError, match="not a valid regular expression"):
        await find("(", "")


async def test_the_grep_tool_groups_lines_by_file(tmp_path: Path) -> None:
    with hands(create_repository(tmp_path / "repo", FILES), tmp_path / "state") as agent:
        assert await agent.call("grep", pattern="total", files="*.py") == (
            "3 lines in 2 files\nsrc/shop.py\n     2\t    def total(self, items):\n"
            "tests/test_shop.py\n     4\tdef test_total():\n     5\t    assert open_shop().total([1]) == 1"
        )
        assert "more: narrow" in await agent.call("grep", pattern="t", max_lines=1)
        assert "No line in 2 files matches 'nothing'" in await agent.call("grep", pattern="nothing", folder="src")
        assert "no file below 'none'" in await agent.call("grep", pattern="x", folder="none")


async def test_symbols_are_found_in_all_languages(tmp_path: Path) -> None:
    with hands(create_repository(tmp_path / "repo", FILES), tmp_path / "state") as agent:
        defined = await agent.call("symbols", name="total")
        files = {line.split(":")[0] for line in defined.split("\n")}
        assert files == {"src/shop.py", "lib.rs", "A.java", "a.c", "a.rb", "a.php"}
        assert await agent.call("symbols", name="Shop.total") == "src/shop.py:2-3: function def total(self, items)"
        assert "src/web.ts:2-2: function export const render" in await agent.call("symbols", name="render")
        used = await agent.call("symbols", name="open_shop", uses=True)
        assert used.split("\n") == [
            "tests/test_shop.py:1: from shop import open_shop",
            "tests/test_shop.py:5: assert open_shop().total([1]) == 1",
        ]
        assert "No definition of 'nothing'" in await agent.call("symbols", name="nothing")


def test_a_map_has_the_most_used_definitions_within_its_budget(tmp_path: Path) -> None:
    repo = create_repository(tmp_path, FILES)
    paths = list_files(repo)
    drawn = draw_map(repo, paths, tokens=60)
    assert "src/shop.py\n" in drawn
    assert len(drawn) <= 60 * 4
    assert draw_map(repo, paths, tokens=12, mentioned="Page is wrong").startswith("src/web.ts\n  3: class Page")
    (repo / "src/shop.py").write_text("def renamed():\n    pass\n")
    assert "renamed" in draw_map(repo, paths, tokens=1_000), "a file that changed is read again"


async def test_git_shows_the_history_and_runs_nothing(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", FILES)
    flag = tmp_path / "ran"
    run_git(repo, "config", "core.pager", f"touch {flag}")
    run_git(repo, "config", "core.fsmonitor", f"touch {flag}; false")
    run_git(repo, "config", "diff.external", f"touch {flag}")
    run_git(repo, "config", "diff.x.textconv", f"touch {flag}; cat")
    run_git(repo, "config", "filter.x.clean", f"touch {flag}; cat")
    run_git(repo, "config", "alias.status", f"!touch {flag}")
    flag.unlink(missing_ok=True)
    write(repo, {".gitattributes": "*.py diff=x filter=x\n", "a.c": "int x;\n", "src/shop.py": "x = 1\n"})
    with hands(repo, tmp_path / "state") as agent:
        assert " M a.c" in await agent.call("git", action="status")
        assert "+int x;" in await agent.call("git", action="diff")
        assert "first" in await agent.call("git", action="log")
        assert "Ada" in await agent.call("git", action="blame", paths=["lib.rs"])
        assert "not a commit" in await agent.call("git", action="show", revision="--output=x")
        assert "Only in a worktree" in await agent.call("git", action="commit", message="x")
    assert not flag.exists()
