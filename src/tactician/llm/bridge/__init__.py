"""Models of other libraries as our own: for the long tail of providers."""

from tactician.llm.bridge.model import PydanticAiModel

__all__ = ["PydanticAiModel"]
