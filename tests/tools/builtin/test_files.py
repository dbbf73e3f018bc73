"""Files are read and written in a workspace, which no path leaves."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.errors import ConfigurationError, ToolError
from tactician.tools import Tool, read_file, write_file
from tests.tools.builtin.support import call, refuse

SECRET = "the secret outside"


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text(SECRET)
    inside = tmp_path / "workspace"
    (inside / "notes").mkdir(parents=True)
    (inside / "notes" / "frogs.txt").write_text("Frogs have no ears.")
    return inside


async def test_a_file_is_read(folder: Path) -> None:
    assert await call(read_file.within(folder), path="notes/frogs.txt") == "Frogs have no ears."
    assert await call(read_file.within(folder), path="./notes//frogs.txt") == "Frogs have no ears."


async def test_a_file_is_written_with_its_folders(folder: Path) -> None:
    told = await call(write_file.within(folder), path="new/deep/a.txt", content="Grüße")
    assert told == "Wrote 7 bytes to new/deep/a.txt."
    assert (folder / "new/deep/a.txt").read_text(encoding="utf-8") == "Grüße"


async def test_a_workspace_that_does_not_exist_is_made_by_the_first_file(tmp_path: Path) -> None:
    await call(write_file.within(tmp_path / "made" / "here"), path="a.txt", content="x")
    assert (tmp_path / "made/here/a.txt").read_text() == "x"


async def test_a_file_is_replaced_as_a_whole_and_keeps_its_permissions(folder: Path) -> None:
    script = folder / "run.sh"
    script.write_text("a long text that is replaced")
    script.chmod(0o750)
    reader = script.open()
    await call(write_file.within(folder), path="run.sh", content="short")
    assert script.read_text() == "short"
    assert stat.S_IMODE(script.stat().st_mode) == 0o750
    assert reader.read() == "a long text that is replaced"
    reader.close()
    assert list_names(folder) == ["notes", "run.sh"]


@pytest.mark.parametrize("tool", [read_file, write_file], ids=["read", "write"])
async def test_without_a_workspace_nothing_is_read_or_written(tool: Tool) -> None:
    more = {"content": "x"} if tool is write_file else {}
    with pytest.raises(ConfigurationError, match=r"has no workspace. Use (read|write)_file.within"):
        await call(tool, path="pyproject.toml", **more)


OUTSIDE = [
    "../secret.txt",
    "notes/../../secret.txt",
    "/etc/passwd",
    "notes/..",
    "..",
    "//etc/passwd",
    "./../secret.txt",
]


@pytest.mark.parametrize("path", OUTSIDE)
async def test_a_path_cannot_leave_the_workspace(path: str, folder: Path) -> None:
    for reason in (
        await refuse(read_file.within(folder), path=path),
        await refuse(write_file.within(folder), path=path, content="x"),
    ):
        assert "is not a path inside the workspace" in reason
        assert SECRET not in reason
    assert (folder.parent / "secret.txt").read_text() == SECRET


@pytest.mark.parametrize("path", ["", ".", "./", "a\0b", "\ud800", "x" * 1_001, "a/" * 51 + "b", "x" * 300])
async def test_a_path_that_no_system_takes_is_an_error(path: str, folder: Path) -> None:
    assert await refuse(read_file.within(folder), path=path)
    assert await refuse(write_file.within(folder), path=path, content="x")


async def test_links_are_not_followed(folder: Path) -> None:
    (folder / "file").symlink_to(folder.parent / "secret.txt")
    (folder / "up").symlink_to(folder.parent)
    (folder / "same").symlink_to("notes")
    (folder / "loop").symlink_to("loop")
    for path in ("file", "up/secret.txt", "same/frogs.txt", "loop", "loop/x"):
        assert "link" in await refuse(read_file.within(folder), path=path)
        assert "link" in await refuse(write_file.within(folder), path=path, content="x")
    assert (folder.parent / "secret.txt").read_text() == SECRET
    assert list_names(folder.parent) == ["secret.txt", "workspace"]


async def test_the_workspace_itself_may_be_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    assert await call(read_file.within(tmp_path / "link"), path="notes/frogs.txt") == "Frogs have no ears."


async def test_what_is_not_a_file_is_refused_at_once(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "socket"))
    for name in ("pipe", "socket"):
        assert await refuse(read_file.within(folder), path=name)
        assert "not a file" in await refuse(write_file.within(folder), path=name, content="x")
    listener.close()
    assert "is a folder, with: frogs.txt" in await refuse(read_file.within(folder), path="notes")
    assert "is a folder" in await refuse(write_file.within(folder), path="notes", content="x")
    assert await refuse(read_file.within(folder), path="notes/frogs.txt/x")
    assert await refuse(write_file.within(folder), path="notes/frogs.txt/x", content="x")


async def test_a_missing_file_is_an_error_with_a_suggestion(folder: Path) -> None:
    reason = await refuse(read_file.within(folder), path="notes/frog.txt")
    assert reason == "There is no 'notes/frog.txt' in the workspace. Did you mean 'frogs.txt'?"


async def test_a_workspace_that_is_not_there_is_an_error_of_the_program(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is not a folder that can be read"):
        await call(read_file.within(tmp_path / "nowhere"), path="a.txt")


async def test_a_long_file_is_read_in_parts_between_characters(folder: Path) -> None:
    text = "äöü€😀x" * 20
    (folder / "long.txt").write_text(text, encoding="utf-8")
    reader = read_file.within(folder, max_bytes=7)
    found, offset, rounds = "", 0, 0
    while True:
        part = await call(reader, path="long.txt", offset=offset)
        shown, mark, rest = part.partition("\n[")
        found += shown
        rounds += 1
        assert "\ufffd" not in shown
        if not mark:
            break
        offset = int(rest.partition("offset=")[2].rstrip("]"))
    assert found == text
    assert rounds > 30


async def test_an_offset_behind_the_end_gives_nothing(folder: Path) -> None:
    assert await call(read_file.within(folder), path="notes/frogs.txt", offset=10**30) == ""
    assert "must not be negative" in await refuse(read_file.within(folder), path="notes/frogs.txt", offset=-1)


async def test_a_file_that_is_not_text_is_refused(folder: Path) -> None:
    (folder / "image").write_bytes(b"\x89PNG\0\0")
    assert "not a text file" in await refuse(read_file.within(folder), path="image")


async def test_a_file_in_another_encoding_says_that_not_all_of_it_is_text(folder: Path) -> None:
    (folder / "old.txt").write_bytes("café".encode("latin-1"))
    told = await call(read_file.within(folder), path="old.txt")
    assert told == "caf\ufffd\n[not all of it is UTF-8: \ufffd stands for other bytes]"


@pytest.mark.parametrize("max_bytes", [0, 3, -1])
def test_a_file_could_not_be_read_on_with_fewer_bytes_than_a_character_has(max_bytes: int, folder: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"read_file\.max_bytes is .* from 4 up"):
        read_file.within(folder, max_bytes=max_bytes)


async def test_a_text_that_is_too_long_is_not_written(folder: Path) -> None:
    reason = await refuse(write_file.within(folder, max_bytes=10), path="a.txt", content="ä" * 6)
    assert reason == "The text has 12 bytes, and at most 10 can be written."
    assert not (folder / "a.txt").exists()


async def test_a_lone_surrogate_is_written_as_a_replacement_character(folder: Path) -> None:
    write_file.within(folder).write("a.txt", "a\ud800b")
    assert (folder / "a.txt").read_text(encoding="utf-8") == "a\ufffdb"


async def test_what_replaces_a_folder_by_a_link_meanwhile_leads_nowhere(folder: Path) -> None:
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "frogs.txt").write_text(SECRET)
    stop = threading.Event()

    def swap() -> None:
        notes, kept = folder / "notes", folder / "kept"
        while not stop.is_set():
            with suppress(OSError):
                notes.rename(kept)
                notes.symlink_to(outside)
            with suppress(OSError):
                notes.unlink()
            if kept.exists():
                shutil.rmtree(notes, ignore_errors=True)  # a file was written meanwhile
                with suppress(OSError):
                    kept.rename(notes)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        reached = 0
        for number in range(300):
            for tool, more in ((read_file, {}), (write_file, {"content": f"Frogs {number}"})):
                try:
                    told = await call(tool.within(folder), path="notes/frogs.txt", **more)
                except ToolError:
                    continue
                reached += 1
                assert SECRET not in told
    finally:
        stop.set()
        thread.join()
    assert reached
    assert (outside / "frogs.txt").read_text() == SECRET
    assert list_names(outside) == ["frogs.txt"]


_NAMES = st.sampled_from(
    ["..", ".", "notes", "frogs.txt", "up", "secret.txt", "", "workspace", "~", "a b", "..\\..", "%2e%2e"]
)


@given(st.lists(_NAMES, max_size=6).map("/".join))
async def test_no_path_of_names_leads_to_what_is_outside(tmp_path_factory: pytest.TempPathFactory, path: str) -> None:
    root = tmp_path_factory.mktemp("paths")
    inside = root / "workspace"
    (inside / "notes").mkdir(parents=True)
    (inside / "up").symlink_to(root)
    (root / "secret.txt").write_text(SECRET)
    with suppress(ToolError):
        assert SECRET not in await call(read_file.within(inside), path=path)
    with suppress(ToolError):
        await call(write_file.within(inside), path=path, content="x")
    assert (root / "secret.txt").read_text() == SECRET
    assert list_names(root) == ["secret.txt", "workspace"]
