"""Edits: exact, by lines and by patches; what is not clear is refused with what to do."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.coding.files.patches import apply_hunks, parse_patch
from tactician.coding.files.replacing import replace_line_range, replace_text
from tactician.coding.files.text_file import SourceText
from tactician.errors import ToolError
from tests.coding.support import hands, write
from tests.support.effort import examples

SOURCE = "import os\n\n\ndef add(a, b):\n    return a - b\n\n\ndef sub(a, b):\n    return a - b\n"
PIECES = st.sampled_from(["a", "b", "ab", "\n", "  ", "é", "aa", "}\n", "\t"])
TEXTS = st.lists(PIECES, max_size=12).map("".join)


@examples(100)
@given(TEXTS, TEXTS, TEXTS, st.booleans())
def test_an_edit_is_a_replacement_of_python_or_a_clear_refusal(text: str, old: str, new: str, every: bool) -> None:
    places = [n for n in range(len(text)) if text.startswith(old, n)]
    try:
        edit = replace_text(text, old, new, every=every)
    except ToolError:
        assert not old or old == new or len(places) != 1
        return
    if places:
        assert edit.text == (text.replace(old, new) if every else text.replace(old, new, 1))
        assert every or len(places) == 1
    else:
        assert edit.note, "what was not exact is said"


@examples(50)
@given(st.lists(st.sampled_from(["a", "b", ""]), min_size=1, max_size=6), st.integers(1, 7), st.integers(0, 7), TEXTS)
def test_lines_are_replaced_as_a_list_is(lines: list[str], first: int, last: int, new: str) -> None:
    text = "".join(f"{line}\n" for line in lines)
    whole = new if not new or new.endswith("\n") else f"{new}\n"
    if not (1 <= first <= len(lines) + 1 and first - 1 <= last <= len(lines)):
        with pytest.raises(ToolError, match="not in the file"):
            replace_line_range(text, first, last, new)
        return
    expected = "".join(f"{line}\n" for line in lines[: first - 1]) + whole
    expected += "".join(f"{line}\n" for line in lines[last:])
    assert replace_line_range(text, first, last, whole).text == expected


def test_a_text_that_overlaps_itself_is_not_unique() -> None:
    with pytest.raises(ToolError, match="2 times, at lines 1, 1"):
        replace_text("aaa", "aa", "b")


@pytest.mark.parametrize(
    ("old", "note"),
    [
        ("def sub(a, b):\n    return a - b", ""),
        ("def sub(a, b):   \n    return a - b\n", "white space"),
        ("     8\tdef sub(a, b):\n     9\t    return a - b", "white space"),
        ("  def sub(a, b):\n      return a - b", "white space"),
    ],
)
def test_what_models_get_wrong_is_found_where_it_is_unique(old: str, note: str) -> None:
    new = old.replace("a - b", "b - a")
    edit = replace_text(SOURCE, old, new)
    assert edit.text == SOURCE[: SOURCE.index("def sub")] + "def sub(a, b):\n    return b - a\n"
    assert note in edit.note


def test_other_indentation_within_a_passage_is_refused() -> None:
    with pytest.raises(ToolError, match="closest lines"):
        replace_text(SOURCE, "def sub(a, b):\n  return a - b", "x")


def test_a_passage_that_is_not_there_names_the_closest_lines() -> None:
    with pytest.raises(ToolError, match=r"     8\tdef sub\(a, b\):"):
        replace_text(SOURCE, "def sub(a, c):", "x")


def test_patches_find_their_context_and_not_their_line_numbers() -> None:
    patch = "--- a/m.py\n+++ b/m.py\n@@ -90,3 +90,3 @@\n def sub(a, b):\n-    return a - b\n+    return b - a\n"
    (file,) = parse_patch(patch)
    assert apply_hunks(SOURCE, file).endswith("def sub(a, b):\n    return b - a\n")
    (unclear,) = parse_patch("--- a/m.py\n+++ b/m.py\n@@ -1,1 +1,1 @@\n-    return a - b\n+    return 1\n")
    with pytest.raises(ToolError, match="one place"):
        apply_hunks(SOURCE, unclear)
    for wrong in ("", "hello", "--- a/x\nhello"):
        with pytest.raises(ToolError):
            parse_patch(wrong)


@examples(50)
@given(st.binary(max_size=30) | TEXTS.map(lambda text: text.replace("\n", "\r\n").encode()))
def test_a_text_file_is_written_back_as_it_was(content: bytes) -> None:
    try:
        file = SourceText.decode(content, "x")
    except ToolError:
        assert b"\0" in content or content.startswith((b"\xff\xfe", b"\xfe\xff"))
        return
    assert file.encode(file.text) == content


async def test_encodings_and_line_breaks_stay(tmp_path: Path) -> None:
    files = {
        "crlf.txt": b"one\r\ntwo\r\n",
        "none.txt": b"one\ntwo",
        "utf16.txt": "one\r\ntwo é".encode("utf-16"),
        "latin.txt": b"one \xe9\ntwo\n",
        "mixed.txt": b"one\r\ntwo\n",
    }
    with hands(write(tmp_path / "repo", files), tmp_path / "state") as agent:
        for name in files:
            assert (await agent.call("edit_file", path=name, old_text="two", new_text="2\n3")).startswith("Changed")
        contents = {name: (tmp_path / "repo" / name).read_bytes() for name in files}
    assert contents == {
        "crlf.txt": b"one\r\n2\r\n3\r\n",
        "none.txt": b"one\n2\n3",
        "utf16.txt": "one\r\n2\r\n3 é".encode("utf-16"),
        "latin.txt": b"one \xe9\n2\n3\n",
        "mixed.txt": b"one\r\n2\n3\n",
    }


async def test_an_edit_that_no_longer_parses_is_refused(tmp_path: Path) -> None:
    files = {"m.py": SOURCE, "a.json": "{}", "b.js": "function f() { return 1 }\n", "broken.py": "def (:\n"}
    with hands(write(tmp_path / "repo", files), tmp_path / "state") as agent:
        refused = await agent.call("edit_file", path="m.py", old_text="def add(a, b):", new_text="def add(a, b:")
        assert "would not parse" in refused
        assert "Line 4" in refused
        assert "would not parse" in await agent.call("write_file", path="new.json", content="{")
        assert "would not parse" in await agent.call("edit_file", path="b.js", old_text="1 }", new_text="1")
        mended = await agent.call("edit_file", path="broken.py", old_text="def (:", new_text="def (: pass")
        assert mended.startswith("Changed"), "a file that was broken is mended step by step"
    assert (tmp_path / "repo/m.py").read_text() == SOURCE
    assert not (tmp_path / "repo/new.json").exists()


async def test_what_others_change_meanwhile_is_noticed(tmp_path: Path) -> None:
    repo = write(tmp_path / "repo", {"m.txt": "one\ntwo\n"})
    with hands(repo, tmp_path / "state") as agent:
        numbers = {"path": "m.txt", "first_line": 2, "last_line": 2, "new_text": "2"}
        assert "has not been read yet" in await agent.call("replace_lines", **numbers)
        await agent.call("read_file", path="m.txt")
        (repo / "m.txt").write_text("zero\none\ntwo\n")
        assert "has changed since it was read" in await agent.call("replace_lines", **numbers)
        assert (await agent.call("replace_lines", **numbers)).startswith("Changed"), "the refusal was a look"
        (repo / "m.txt").write_text("new\n")
        assert "read it before" in await agent.call("write_file", path="m.txt", content="x")
    assert (repo / "m.txt").read_text() == "new\n"


async def test_a_patch_is_applied_as_a_whole_or_not(tmp_path: Path) -> None:
    repo = write(tmp_path / "repo", {"a.txt": "one\n", "b.txt": "two\n", "c.txt": "three\n"})
    good = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n--- /dev/null\n+++ b/sub/d.txt\n@@ -0,0 +1 @@\n+four\n"
    bad = good + "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-nothing\n+2\n"
    with hands(repo, tmp_path / "state") as agent:
        assert "does not apply" in await agent.call("apply_patch", patch=bad)
        assert (repo / "a.txt").read_text() == "one\n"
        removal = "--- a/c.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-three\n"
        assert await agent.call("apply_patch", patch=good + removal) == (
            "Modified a.txt.\nAdded sub/d.txt.\nDeleted c.txt."
        )
    assert (repo / "sub/d.txt").read_text() == "four\n"
    assert not (repo / "c.txt").exists()


async def test_paths_cannot_leave_the_workspace(tmp_path: Path) -> None:
    repo = write(tmp_path / "repo", {"a.txt": "one\n", ".git/config": "[core]\n", "a\nb.txt": "x"})
    (repo / "out").symlink_to("/etc/passwd")
    (repo / "folder").symlink_to("/etc")
    os.mkfifo(repo / "pipe")
    with hands(repo, tmp_path / "state") as agent:
        for path in ("/etc/passwd", "../x", "out", "folder/passwd", ".git/config", "sub/.GIT/hooks/x", "pipe", "a\0b"):
            for name, more in (("read_file", {}), ("write_file", {"content": "x"})):
                answer = await agent.call(name, path=path, **more)
                assert "root:" not in answer
                assert not answer.startswith(("Created", "Replaced")), (path, answer)
        assert "'a\\nb.txt'" in await agent.call("glob")
        assert "x" in await agent.call("read_file", path="a\nb.txt")


async def test_a_read_only_workspace_stays_as_it_is(tmp_path: Path) -> None:
    repo = write(tmp_path / "repo", {"a.txt": "one\n"})
    with hands(repo, tmp_path / "state", is_writable=False) as agent:
        assert "There is no tool 'edit_file'" in await agent.call(
            "edit_file", path="a.txt", old_text="one", new_text="2"
        )
        with pytest.raises(ToolError, match="read-only"):
            agent.session.write("b.txt", "x")
        assert "Read-only" in await agent.call("shell", command="echo x > a.txt")
    assert (repo / "a.txt").read_text() == "one\n"


async def test_approvals_are_asked_for_changes_only(tmp_path: Path) -> None:
    from tests.coding.support import Hands

    with hands(write(tmp_path / "repo", {}), tmp_path / "state") as agent:
        careful = Hands(agent.session, require_approval=True).tools
        asks = {tool.name: tool.traits.is_approval_needed(json.loads("{}")) for tool in careful}
        asking = {name for name, needs in asks.items() if needs}
        assert asking == {"edit_file", "replace_lines", "apply_patch", "write_file"}
        git = careful.find("git")
        assert git is not None
        assert [git.traits.is_approval_needed({"action": action}) for action in ("log", "commit")] == [False, True]
