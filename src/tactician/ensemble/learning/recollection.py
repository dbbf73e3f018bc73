"""Stores that an ensemble learns with, and what a task has read in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tactician.ensemble.learning.reflection import TaskReflection
from tactician.ensemble.learning.reflection_stores import ReflectionStore
from tactician.ensemble.learning.scoped_memory import ScopedMemory
from tactician.ensemble.learning.scopes import ScopeEntry
from tactician.frozen import frozen


@frozen
class LearningStores:
    """Stores of an ensemble for what outlives its runs.

    Attributes:
        memory: the memory with the scopes of the tasks.
        reflections: the store of reflections.
    """

    memory: ScopedMemory | None = None
    reflections: ReflectionStore | None = None


@frozen
class Recollection:
    """Entries and reflections of earlier runs that a task has read.

    Attributes:
        memory: entries by scope.
        reflections: reflections on the task, newest first.
    """

    memory: Mapping[str, tuple[ScopeEntry, ...]] = field(default_factory=dict)
    reflections: tuple[TaskReflection, ...] = ()
