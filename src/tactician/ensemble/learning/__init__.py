"""Learning across runs: reflections on tasks, and memories in scopes."""

from tactician.ensemble.learning.analysis import ImprovementNotes, analyze
from tactician.ensemble.learning.meaning import Embedder
from tactician.ensemble.learning.outbox import AT_ONCE, LearningOutbox, Parcel
from tactician.ensemble.learning.recollection import LearningStores, Recollection
from tactician.ensemble.learning.reflection import (
    Improvement,
    Reflection,
    ReflectionInput,
    ReflectionStrategy,
    TaskReflection,
    apply_strategy,
)
from tactician.ensemble.learning.reflection_stores import (
    MemoryReflections,
    ReflectionLog,
    ReflectionStore,
    SqlReflections,
)
from tactician.ensemble.learning.scoped_memory import DEFAULT_RECALL, InProcessMemory, ScopedMemory, SqlMemory
from tactician.ensemble.learning.scopes import Scope, ScopeEntry, days
from tactician.ensemble.learning.sections import list_memory_sections, list_note_sections

__all__ = [
    "AT_ONCE",
    "LearningOutbox",
    "Parcel",
    "DEFAULT_RECALL",
    "Embedder",
    "Improvement",
    "ImprovementNotes",
    "InProcessMemory",
    "LearningStores",
    "MemoryReflections",
    "Recollection",
    "ReflectionLog",
    "Reflection",
    "ReflectionInput",
    "ReflectionStore",
    "ReflectionStrategy",
    "Scope",
    "ScopeEntry",
    "ScopedMemory",
    "SqlMemory",
    "SqlReflections",
    "TaskReflection",
    "analyze",
    "apply_strategy",
    "days",
    "list_memory_sections",
    "list_note_sections",
]
