"""Sections of prompts with what earlier runs have left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from tactician.ensemble.learning.reflection import TaskReflection
from tactician.ensemble.learning.scopes import ScopeEntry
from tactician.runs import RunContext
from tactician.runs.context.part_settings import format_data

_MOST_NOTES: Final = 20_000
_INTRODUCTION: Final = (
    "Notes from earlier runs of this task, newest first. They make the task clearer, and do not replace it."
)


def list_memory_sections(memory: Mapping[str, Sequence[ScopeEntry]], context: RunContext) -> Iterator[str]:
    """Yield a section for each scope of a memory that has entries. Data in them has the format of the run."""
    for scope, entries in memory.items():
        if entries:
            texts = (_format_entry(entry, context) for entry in entries)
            yield f"## Memory: {scope}\n\n" + "\n\n---\n\n".join(texts)


def list_note_sections(reflections: Iterable[TaskReflection]) -> Iterator[str]:
    """Yield the section with the notes of reflections, newest first; nothing without notes.

    Equal notes stand there once. The newest notes of 20,000 characters are in the section, and no older ones.
    """
    if not (shown := _take_newest(reflections)):
        return
    parts = {
        "Refined Instructions": [reflection.refined_description for reflection in shown],
        "Output Guidance": [reflection.refined_expected_output for reflection in shown],
        "Observations": [note for reflection in shown for note in reflection.observations],
        "Suggestions": [note for reflection in shown for note in reflection.suggestions],
    }
    lists = {title: _format_list(notes) for title, notes in parts.items()}
    if any(lists.values()):
        texts = (f"### {title}\n\n{text}" for title, text in lists.items() if text)
        yield "\n\n".join(("## Task Improvement Notes (from prior executions)", _INTRODUCTION, *texts))


def _take_newest(reflections: Iterable[TaskReflection]) -> list[TaskReflection]:
    taken: list[TaskReflection] = []
    left = _MOST_NOTES
    for reflection in reflections:
        left -= sum(map(len, reflection.notes))
        if left < 0:
            break
        taken.append(reflection)
    return taken


def _format_entry(entry: ScopeEntry, context: RunContext) -> str:
    source = " ".join(entry.task_id.split()) or "Note"
    return f"### {source} ({entry.created_at:%Y-%m-%d %H:%M})\n\n{format_data(entry.content, context)}"


def _format_list(notes: Iterable[str]) -> str:
    """Return notes as a list, each once; the lines of a note stay together."""
    unique = dict.fromkeys(note.strip() for note in notes if note.strip())
    return "\n".join("- " + note.replace("\n", "\n  ") for note in unique)
