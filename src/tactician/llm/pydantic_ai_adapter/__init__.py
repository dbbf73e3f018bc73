"""Models of pydantic-ai as Tactician's own, for the long tail of providers."""

from tactician.llm.pydantic_ai_adapter.model import PydanticAiModel

__all__ = ["PydanticAiModel"]
