"""Tools that change files."""

from __future__ import annotations

from typing import Final

from tactician.coding.events import FileChanged
from tactician.coding.files.patches import FilePatch, apply_hunks, parse_patch
from tactician.coding.files.replacing import TextEdit, replace_line_range, replace_text
from tactician.coding.files.text_file import count_lines
from tactician.coding.session import CodingSession, FileEdit, refuse_broken
from tactician.errors import ToolError
from tactician.grammar import format_count
from tactician.runs import RunContext
from tactician.runs.context.threads import in_thread
from tactician.tools import tool

_MAX_PATCHED: Final = 50


def _report(edit: FileEdit, context: RunContext) -> None:
    context.emit(FileChanged, file=edit.path, kind=edit.kind, diff=edit.diff)


@tool
async def edit_file(
    session: CodingSession, context: RunContext, path: str, old_text: str, new_text: str, replace_all: bool = False
) -> str:
    """Replace a passage of a file. The passage must be there exactly once.

    Args:
        session: the session of the run
        context: the context of the run
        path: path of the file, relative to the workspace
        old_text: the passage, copied exactly, with white space, and without line numbers
        new_text: what replaces it
        replace_all: replace all places
    """
    made: list[TextEdit] = []

    def change(text: str) -> str:
        made.append(replace_text(text, old_text, new_text, every=replace_all))
        return made[-1].text

    edit = await in_thread(session.edit, path, change)
    _report(edit, context)
    note = f" {made[-1].note}" if made[-1].note else ""
    return f"Changed {path}.{note}\n{made[-1].show()}"


@tool
async def replace_lines(
    session: CodingSession, context: RunContext, path: str, first_line: int, last_line: int, new_text: str
) -> str:
    """Replace whole lines of a file that you have read. Line numbers change with each edit: read again after one.

    Args:
        session: the session of the run
        context: the context of the run
        path: path of the file, relative to the workspace
        first_line: number of the first line to replace, from 1
        last_line: number of the last line to replace; first_line - 1 to insert lines before first_line
        new_text: the new lines; nothing, to remove them
    """
    made: list[TextEdit] = []

    def change(text: str) -> str:
        made.append(replace_line_range(text, first_line, last_line, new_text))
        return made[-1].text

    edit = await in_thread(lambda: session.edit(path, change, needs_reading=True))
    _report(edit, context)
    return f"Changed {path}.\n{made[-1].show()}"


@tool
async def write_file(session: CodingSession, context: RunContext, path: str, content: str) -> str:
    """Write a whole text file, with the folders that lead to it. Change a file that exists with edit_file.

    Args:
        session: the session of the run
        context: the context of the run
        path: path of the file, relative to the workspace
        content: the whole text
    """
    edit = await in_thread(session.write, path, content)
    _report(edit, context)
    return (
        f"{'Created' if edit.kind == 'added' else 'Replaced'} {path} with {format_count(count_lines(content), 'line')}."
    )


@tool
async def apply_patch(session: CodingSession, context: RunContext, patch: str) -> str:
    """Apply a patch in the unified format to one or more files: all of it, or nothing.

    Args:
        session: the session of the run
        context: the context of the run
        patch: lines "--- a/path", "+++ b/path", "@@ -1,3 +1,3 @@", and lines that begin with " ", "-" or "+";
            "/dev/null" stands for a file that is not there before or after
    """
    edits = await in_thread(_apply, session, parse_patch(patch))
    for edit in edits:
        _report(edit, context)
    return "\n".join(f"{edit.kind.capitalize()} {edit.path}." for edit in edits)


def _apply(session: CodingSession, patches: list[FilePatch]) -> list[FileEdit]:
    """Apply patches once all of them are known to apply."""
    if len(patches) > _MAX_PATCHED:
        raise ToolError(f"The patch has more than {_MAX_PATCHED} files: split it.")
    planned = [(patch, _plan(session, patch)) for patch in patches]
    edits: list[FileEdit] = []
    for patch, text in planned:
        if text is None:
            edits.append(session.remove(str(patch.old_path)))
        elif patch.old_path is None:
            edits.append(session.write(str(patch.new_path), text))
        else:
            edits.append(session.edit(patch.old_path, lambda _, text=text: text))  # type: ignore[misc]
    return edits


def _plan(session: CodingSession, patch: FilePatch) -> str | None:
    """Return the text of a file after a patch; `None`, when the patch deletes it.

    Raises:
        ToolError: when the patch does not apply.
    """
    if patch.old_path is None:
        text = "\n".join(line for hunk in patch.hunks for line in hunk.new)
        return text if text.endswith("\n") else f"{text}\n"
    before = session.read(patch.old_path).text
    if patch.new_path is None:
        return None
    if patch.new_path != patch.old_path:
        raise ToolError(f"The patch renames {patch.old_path}: delete the file, and add the new one.")
    after = apply_hunks(before, patch)
    refuse_broken(patch.old_path, before, after)
    return after
