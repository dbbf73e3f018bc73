"""Single typed calls to a model."""

from tactician.ai.ai import Ai
from tactician.ai.prompt_parts import attach_images

__all__ = ["Ai", "attach_images"]
