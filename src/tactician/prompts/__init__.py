"""Prompts: templates of instructions, and their sources."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.prompts.contributors import CurrentDate as CurrentDate
    from tactician.prompts.contributors import KnowledgeCutoff as KnowledgeCutoff
    from tactician.prompts.contributors import Persona as Persona
    from tactician.prompts.contributors import Place as Place
    from tactician.prompts.contributors import PromptContributor as PromptContributor
    from tactician.prompts.contributors import RoleGoalBackstory as RoleGoalBackstory
    from tactician.prompts.folder import FolderPrompts as FolderPrompts
    from tactician.prompts.langfuse import LangfusePrompts as LangfusePrompts
    from tactician.prompts.providers import prompt_providers as prompt_providers
    from tactician.prompts.references import LlmReference as LlmReference
    from tactician.prompts.references import Reference as Reference
    from tactician.prompts.sources import InstructionFile as InstructionFile
    from tactician.prompts.sources import InstructionTemplate as InstructionTemplate
    from tactician.prompts.sources import ProvidedInstructions as ProvidedInstructions
    from tactician.prompts.templates import Templates as Templates
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.prompts.contributors": (
                "CurrentDate KnowledgeCutoff Persona Place PromptContributor RoleGoalBackstory"
            ),
            "tactician.prompts.folder": "FolderPrompts",
            "tactician.prompts.langfuse": "LangfusePrompts",
            "tactician.prompts.providers": "prompt_providers",
            "tactician.prompts.references": "LlmReference Reference",
            "tactician.prompts.sources": "InstructionFile InstructionTemplate ProvidedInstructions",
            "tactician.prompts.templates": "Templates",
        },
    )
