"""Parameters of users' functions that belong to the run, such as its context: no model and no caller passes them."""

from __future__ import annotations

from typing import Protocol, TypeVar, get_args, runtime_checkable

from tactician.runs.context.context import RunContext

T_co = TypeVar("T_co", covariant=True)


@runtime_checkable
class RunParameter(Protocol[T_co]):
    """Class whose objects the framework passes to functions that ask for them by annotation."""

    @classmethod
    def __from_run__(cls, run: RunContext) -> T_co:
        """Return the object that belongs to a run.

        Raises:
            ConfigurationError: when the run has none.
        """
        ...


def find_run_parameter(hint: object) -> RunParameter[object] | None:
    """Return the class that an annotation names, alone or with `None`, if the framework passes its objects."""
    kinds = [hint, *get_args(hint)]
    return next((kind for kind in kinds if isinstance(kind, type) and isinstance(kind, RunParameter)), None)
