"""Single typed calls to a model."""

from tactician.ai.ai import Ai

__all__ = ["Ai"]
