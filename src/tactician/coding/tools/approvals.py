"""Questions to people who approve what a coding agent wants to do, with the change as they read it."""

from __future__ import annotations

from collections.abc import Mapping

from tactician.coding.session import compare
from tactician.llm import ToolCall


def describe_change(call: ToolCall) -> str | None:
    """Return the question for a call that changes a file or runs a command; `None` for any other call."""
    try:
        arguments = call.parse_arguments()
    except ValueError:
        return None
    texts = {name: value for name, value in arguments.items() if isinstance(value, str)}
    match call.name:
        case "edit_file" if {"path", "old_text", "new_text"} <= texts.keys():
            everywhere = " at all places" if arguments.get("replace_all") else ""
            return f"May {texts['path']} be changed{everywhere}?\n{_compare(texts)}"
        case "write_file" if {"path", "content"} <= texts.keys():
            return f"May {texts['path']} be written?\n{compare(texts['path'], '', texts['content'])}"
        case "replace_lines" if {"path", "new_text"} <= texts.keys():
            lines = f"{arguments.get('first_line')} to {arguments.get('last_line')}"
            return f"May lines {lines} of {texts['path']} be replaced by this?\n{texts['new_text']}"
        case "apply_patch" if "patch" in texts:
            return f"May this patch be applied?\n{texts['patch']}"
        case "shell" if "command" in texts:
            return f"May this command run, in {texts.get('folder', '.')}?\n{texts['command']}"
    return None


def _compare(texts: Mapping[str, str]) -> str:
    return compare(texts["path"], texts["old_text"], texts["new_text"])
