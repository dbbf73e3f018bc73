"""Pictures among the results of tools."""

from __future__ import annotations

from dataclasses import replace

from tactician.errors import ToolError
from tactician.llm import Image, check_images
from tactician.tools.output import ToolOutput
from tactician.tools.tool import as_text


def find_pictures(result: object) -> ToolOutput | None:
    """Return a result with pictures for the model: an `Image`, a list with images, or a `ToolOutput`.

    Raises:
        ToolError: when a picture is not valid or too large, or there are too many.
    """
    shown = _read(result)
    try:
        return shown if shown is None else replace(shown, images=check_images(shown.images))
    except ValueError as error:
        raise ToolError(f"the tool gave pictures that cannot be shown: {error}") from error


def _read(result: object) -> ToolOutput | None:
    if isinstance(result, ToolOutput):
        return result
    parts = result if isinstance(result, list | tuple) else (result,)
    images = tuple(part for part in parts if isinstance(part, Image))
    if not images:
        return None
    texts = [as_text(part) for part in parts if not isinstance(part, Image)]
    return ToolOutput("\n".join(texts) or f"{len(images)} picture{'' if len(images) == 1 else 's'}", images)
