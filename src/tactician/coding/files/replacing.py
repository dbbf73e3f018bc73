"""Replacement of text: exact, or with other white space where that is unique."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Final

from tactician.coding.files.text_file import count_lines, number_lines
from tactician.errors import ToolError
from tactician.frozen import frozen
from tactician.grammar import format_count

_PREFIX: Final = re.compile(r" {0,12}\d{1,9}\t")
_MAX_PLACES: Final = 20
_MAX_CLOSE: Final = 4_000
"""Lines up to which the closest passage is looked for."""
_SIMILAR: Final = 0.6
_AROUND: Final = 3


@frozen
class TextEdit:
    """Text after an edit.

    Attributes:
        text: the whole text.
        first: number of the first changed line, from 1.
        last: number of the last changed line.
        note: what the model should know about the edit; empty, when it was exact.
    """

    text: str
    first: int
    last: int
    note: str = ""

    def show(self) -> str:
        """Return the changed lines, and a few before and after them."""
        return number_lines(self.text, self.first - _AROUND, min(self.last, self.first + 60) + _AROUND)


def replace_text(text: str, old: str, new: str, *, every: bool = False) -> TextEdit:
    """Replace a passage.

    A passage that is not there as it is written is looked for with other white space at the ends of lines, with
    another indentation, and without the line numbers that `read_file` shows. It is replaced when that is unique.

    Args:
        text: the text of the file.
        old: the passage.
        new: what replaces it.
        every: replace all places instead of a single one.

    Raises:
        ToolError: when the passage is not there, or is there several times.
    """
    if not old:
        raise ToolError("old_text is empty. Copy the lines to replace, or create a file with write_file.")
    if old == new:
        raise ToolError("old_text and new_text are the same: nothing would change.")
    places = list(_find_places(text, old))
    if every and places:
        changed = text.replace(old, new)
        return TextEdit(changed, _line_at(text, places[0]), _line_at(changed, len(changed)))
    if len(places) > 1:
        lines = ", ".join(str(_line_at(text, place)) for place in places[:_MAX_PLACES])
        more = " and more" if len(places) > _MAX_PLACES else ""
        raise ToolError(
            f"old_text is there {format_count(len(places), 'time')}, at lines {lines}{more}. Add lines before or after "
            "it that make it unique, or set replace_all=true."
        )
    if places:
        return _splice(text, places[0], places[0] + len(old), new, "")
    return _replace_similar(text, old, new)


def replace_line_range(text: str, first: int, last: int, new: str) -> TextEdit:
    """Replace whole lines.

    Args:
        text: the text of the file.
        first: number of the first line, from 1; one more than the lines of the file, to add at the end.
        last: number of the last line; `first - 1`, to insert before `first`.
        new: the new lines.

    Raises:
        ToolError: when the file has no such lines.
    """
    total = count_lines(text)
    if not 1 <= first <= total + 1 or not first - 1 <= last <= total:
        raise ToolError(f"Lines {first} to {last} are not in the file, which has {format_count(total, 'line')}.")
    lines = text.split("\n")
    begin = len("\n".join(lines[: first - 1])) + (1 if first > 1 else 0)
    end = begin if last < first else len("\n".join(lines[:last])) + (1 if last < len(lines) else 0)
    if begin > len(text):  # after a last line without a line break
        begin = end = len(text)
        new = f"\n{new}"
    needs_break = new and not new.endswith("\n") and (end < len(text) or text[begin:end].endswith("\n"))
    return _splice(text, begin, end, f"{new}\n" if needs_break else new, "")


def _find_places(text: str, old: str) -> Iterator[int]:
    """Yield the places of a passage; those that overlap, too."""
    place = text.find(old)
    while place >= 0:
        yield place
        place = text.find(old, place + 1)


def _line_at(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _splice(text: str, begin: int, end: int, new: str, note: str) -> TextEdit:
    first = _line_at(text, begin)
    return TextEdit(text[:begin] + new + text[end:], first, first + new.rstrip("\n").count("\n"), note)


def _replace_similar(text: str, old: str, new: str) -> TextEdit:
    """Replace the only passage that differs from the one that is asked for in white space.

    Raises:
        ToolError: with the closest passage, when there is no such passage, or more than one.
    """
    old_lines, new_lines = _strip_numbers(old), _strip_numbers(new)
    lines = text.split("\n")
    sought = [line.strip() for line in old_lines]
    if not any(sought):
        raise ToolError("old_text has only white space, and is not there as it is written.")
    stripped = [line.strip() for line in lines]
    places = [n for n in range(len(lines) - len(sought) + 1) if stripped[n : n + len(sought)] == sought]
    if len(places) != 1:
        raise ToolError(_describe_missing(text, lines, old_lines, places))
    matched = lines[places[0] : places[0] + len(sought)]
    if (shift := _find_shift(old_lines, matched)) is None:
        raise ToolError(_describe_missing(text, lines, old_lines, places))
    kept = dict(zip(old_lines, matched, strict=True))  # lines that stay keep the white space of the file
    changed = [kept[line] if line in kept else _indent(line, shift) for line in new_lines]
    result = [*lines[: places[0]], *changed, *lines[places[0] + len(sought) :]]
    first = places[0] + 1
    note = "old_text was found with other white space, and replaced."
    return TextEdit("\n".join(result), first, first + len(changed) - 1, note)


def _strip_numbers(text: str) -> list[str]:
    """Return the lines of a passage, without the line numbers of `read_file` where all lines have some."""
    lines = text.removesuffix("\n").replace("\r\n", "\n").split("\n")
    if all(_PREFIX.match(line) for line in lines if line.strip()):
        return [_PREFIX.sub("", line, count=1) for line in lines]
    return lines


def _find_shift(old: list[str], matched: list[str]) -> tuple[str, str] | None:
    """Return the white space to take from the beginning of each line and to put there; `None`, when it is not the same.

    In most languages the indentation has a meaning, so that it may differ only for the passage as a whole.
    """
    pairs = [(_indentation(a), _indentation(b)) for a, b in zip(old, matched, strict=True) if a.strip()]
    first, second = pairs[0]
    if len(first) <= len(second) and second.endswith(first):
        shift = ("", second.removesuffix(first))
    elif first.endswith(second):
        shift = (first.removesuffix(second), "")
    else:
        return None
    take, put = shift
    return shift if all(f"{put}{a.removeprefix(take)}" == b for a, b in pairs) else None


def _indent(line: str, shift: tuple[str, str]) -> str:
    take, put = shift
    return f"{put}{line.removeprefix(take)}" if line.strip() else line


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _describe_missing(text: str, lines: list[str], old_lines: list[str], places: list[int]) -> str:
    if len(places) > 1:
        found = ", ".join(str(place + 1) for place in places[:_MAX_PLACES])
        return (
            f"old_text is not there as it is written. With other white space it is at lines {found}: copy one exactly."
        )
    closest = _find_closest(lines, old_lines)
    if closest is None:
        return "old_text is not in the file. Read the file again, and copy the lines to replace exactly."
    shown = number_lines(text, closest + 1, closest + len(old_lines))
    return f"old_text is not in the file. The closest lines are:\n{shown}\nCopy them exactly, without the numbers."


def _find_closest(lines: list[str], sought: list[str]) -> int | None:
    """Return the index of the line with which the most similar passage begins."""
    if len(lines) > _MAX_CLOSE or len(sought) > 100:
        return None
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(next(line.strip()[:200] for line in sought if line.strip()))
    offset = next(number for number, line in enumerate(sought) if line.strip())
    best, place = _SIMILAR, None
    for number, line in enumerate(lines):
        matcher.set_seq1(line.strip()[:200])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and (ratio := matcher.ratio()) > best:
            best, place = ratio, max(0, number - offset)
    return place
