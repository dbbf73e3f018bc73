"""Processes in the checkpoints of a fork: they are others than those that they were forked from."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tactician.events import new_id
from tactician.process.progress import is_process, read_origin, read_state, save_origin
from tactician.process.state import ProcessStatus
from tactician.runs import Checkpoint

_FAILURES: Final = frozenset({ProcessStatus.FAILED, ProcessStatus.TERMINATED, ProcessStatus.KILLED})


def renew_processes(tree: Checkpoint, run_id: str) -> None:
    """Give the processes in the checkpoints of a fork ids of their own, and let those continue that had ended.

    A process inside another run that reached its goal stays as it is: the run around it has its result.

    Args:
        tree: the checkpoints.
        run_id: id of the fork.

    Raises:
        StoredStateError: when a process cannot be read.
    """
    for checkpoint in tree.walk():
        if is_process(checkpoint.data):
            is_outermost = checkpoint is tree
            origin = replace(read_origin(checkpoint.data), id=run_id if is_outermost else new_id())
            checkpoint.set(origin=save_origin(origin))
            _reopen(checkpoint, is_outermost=is_outermost)


def _reopen(checkpoint: Checkpoint, *, is_outermost: bool) -> None:
    state = read_state(checkpoint.data)
    if state["status"] in _FAILURES or (is_outermost and state["status"].is_terminal):
        checkpoint.set(state={**state, "status": ProcessStatus.RUNNING, "failure": None, "goal": None})
