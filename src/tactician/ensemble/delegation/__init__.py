"""Delegation: agents ask others, of the same ensemble, to do tasks for them."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.ensemble.values.delegation import allow as allow
    from tactician.ensemble.values.delegation import modify as modify
    from tactician.ensemble.values.delegation import reject as reject
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.ensemble.values.delegation": "allow modify reject",
        },
    )
