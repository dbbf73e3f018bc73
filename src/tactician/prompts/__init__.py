"""Prompts: templates of instructions, and their sources."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.prompts.contributor_adapters import ContributionFunction as ContributionFunction
    from tactician.prompts.contributor_adapters import ContributorLike as ContributorLike
    from tactician.prompts.contributor_adapters import FunctionContributor as FunctionContributor
    from tactician.prompts.contributor_adapters import ObjectContributor as ObjectContributor
    from tactician.prompts.contributor_adapters import SupportsContribution as SupportsContribution
    from tactician.prompts.contributor_adapters import as_contributor as as_contributor
    from tactician.prompts.contributor_adapters import build_instructions as build_instructions
    from tactician.prompts.contributor_adapters import check_reference as check_reference
    from tactician.prompts.contributor_adapters import split_references as split_references
    from tactician.prompts.contributors import CurrentDate as CurrentDate
    from tactician.prompts.contributors import KnowledgeCutoff as KnowledgeCutoff
    from tactician.prompts.contributors import Persona as Persona
    from tactician.prompts.contributors import Place as Place
    from tactician.prompts.contributors import PromptContributor as PromptContributor
    from tactician.prompts.contributors import RoleGoalBackstory as RoleGoalBackstory
    from tactician.prompts.folder import FolderPrompts as FolderPrompts
    from tactician.prompts.langfuse import LangfusePrompts as LangfusePrompts
    from tactician.prompts.package_files import PackagePath as PackagePath
    from tactician.prompts.package_files import find_package_folders as find_package_folders
    from tactician.prompts.providers import PromptProvider as PromptProvider
    from tactician.prompts.providers import PromptProviders as PromptProviders
    from tactician.prompts.providers import prompt_providers as prompt_providers
    from tactician.prompts.references import LlmReference as LlmReference
    from tactician.prompts.references import Reference as Reference
    from tactician.prompts.sources import InstructionFile as InstructionFile
    from tactician.prompts.sources import InstructionSource as InstructionSource
    from tactician.prompts.sources import InstructionTemplate as InstructionTemplate
    from tactician.prompts.sources import ProvidedInstructions as ProvidedInstructions
    from tactician.prompts.templates import Templates as Templates
    from tactician.prompts.templates import load_default_templates as load_default_templates
    from tactician.prompts.templates import render_template as render_template
    from tactician.prompts.texts import find_text_file as find_text_file
    from tactician.prompts.texts import read_text_file as read_text_file
    from tactician.prompts.variables import find_variables as find_variables
    from tactician.prompts.variables import render_variables as render_variables
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.prompts.contributor_adapters": (
                "ContributionFunction ContributorLike FunctionContributor ObjectContributor SupportsContribution "
                "as_contributor build_instructions check_reference split_references"
            ),
            "tactician.prompts.contributors": (
                "CurrentDate KnowledgeCutoff Persona Place PromptContributor RoleGoalBackstory"
            ),
            "tactician.prompts.folder": "FolderPrompts",
            "tactician.prompts.langfuse": "LangfusePrompts",
            "tactician.prompts.package_files": "PackagePath find_package_folders",
            "tactician.prompts.providers": "PromptProvider PromptProviders prompt_providers",
            "tactician.prompts.references": "LlmReference Reference",
            "tactician.prompts.sources": "InstructionFile InstructionSource InstructionTemplate ProvidedInstructions",
            "tactician.prompts.templates": "Templates load_default_templates render_template",
            "tactician.prompts.texts": "find_text_file read_text_file",
            "tactician.prompts.variables": "find_variables render_variables",
        },
    )
