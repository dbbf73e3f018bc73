"""Revisions: further attempts at a task, with what was wrong with the one before."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Revision:
    """Further attempt at a task, which a review or a guardrail asked for.

    Attributes:
        attempt: number of the attempt, from 2.
        feedback: what to do better.
        previous: the output of the attempt before, as text.
    """

    attempt: int
    feedback: str
    previous: str
