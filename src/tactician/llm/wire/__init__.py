"""Wire formats: the encoding of requests and decoding of responses, as pure functions."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.llm.wire.dialect import Dialect as Dialect
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.llm.wire.dialect": "Dialect",
        },
    )
