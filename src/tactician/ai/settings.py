"""Settings of a call to a model, with a fluent interface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Self

from tactician.ai.prompt_parts import Example
from tactician.frozen import frozen
from tactician.guardrails.callables import GuardrailLike
from tactician.guardrails.decorators import as_output_guardrail
from tactician.llm import Image, LanguageModel, LlmOptions
from tactician.llm.model_sources import ModelSource, as_model_source
from tactician.loop.policy import DEFAULT_POLICY, TurnPolicy
from tactician.prompts import LlmReference, PromptContributor
from tactician.prompts.contributor_adapters import ContributorLike, as_contributor, check_reference, split_references
from tactician.runs import RunContext, Runnable
from tactician.tools import RunnableTool, ToolObject, as_tool, require_declared_tools, select_tools
from tactician.tools.provider import ToolProvider
from tactician.tools.selection import NameFilter, NamingStrategy
from tactician.tools.toolbox import ToolLike, split_providers


@frozen
class AiSettings:
    """Settings of a call to a model. Every `with_...` returns a changed copy."""

    context: RunContext = field(repr=False)
    options: LlmOptions = field(default_factory=LlmOptions)
    policy: TurnPolicy = DEFAULT_POLICY
    _system: tuple[str, ...] = ()
    _tools: tuple[ToolLike, ...] = ()
    _images: tuple[Image, ...] = ()
    _examples: tuple[Example, ...] = ()
    _groups: tuple[str | ToolProvider, ...] = ()
    _contributors: tuple[PromptContributor, ...] = ()
    _template: str | Path | None = None
    _has_generated_example: bool = False
    _models: ModelSource | None = field(default=None, repr=False)

    def with_llm(self, llm: str | LlmOptions | LanguageModel) -> Self:
        """Use another model, other hyperparameters, or both."""
        if not isinstance(llm, str | LlmOptions):
            return replace(self, options=replace(self.options, model=None, role=None), _models=as_model_source(llm))
        options = LlmOptions(model=llm) if isinstance(llm, str) else llm
        models = self._models if options.requested_model is None else None
        return replace(self, options=options.with_defaults(self.options), _models=models)

    def with_llm_by_role(self, role: str) -> Self:
        """Use the model that `[models.roles]` in `tactician.toml` names for the role."""
        return self.with_llm(LlmOptions(role=role))

    def with_system_prompt(self, prompt: str) -> Self:
        """Add instructions; several calls add a paragraph each."""
        return replace(self, _system=(*self._system, prompt))

    def with_tools(self, *tools: ToolLike | LlmReference) -> Self:
        """Add tools, plain typed functions, or references with their tools, for the model.

        Raises:
            DeclarationError: when an object is none of these.
        """
        plain, references = split_references(tools)
        listed, providers = split_providers(plain)
        added = replace(self, _tools=(*self._tools, *map(as_tool, listed)), _groups=(*self._groups, *providers))
        return added.with_references(*references) if references else added

    def with_tool_object(
        self, owner: object, *, only: NameFilter | None = None, named: NamingStrategy | None = None
    ) -> Self:
        """Add the methods of an object that are declared with `@tool`.

        Args:
            owner: the object, or a `ToolObject`.
            only: filter on the names of the methods: a function or patterns; all by default.
            named: other names for them: a function or a prefix; their own by default.

        Raises:
            DeclarationError: when no tool is left, or a name is not valid or is used twice.
        """
        tools = owner if isinstance(owner, ToolObject) else require_declared_tools(owner)
        return self.with_tools(*select_tools(tools, only=only, named=named))

    def with_tool_group(self, group: str | ToolProvider) -> Self:
        """Add the tools of a group; a name is resolved on the platform when the model is called."""
        return self.with_tool_groups(group)

    def with_tool_groups(self, *groups: str | ToolProvider) -> Self:
        """Add the tools of several groups."""
        return replace(self, _groups=(*self._groups, *groups))

    def with_subagents(self, *agents: Runnable) -> Self:
        """Add agents, or any Runnables, as tools."""
        return self.with_tools(*(RunnableTool(agent) for agent in agents))

    def with_prompt_contributor(self, contributor: ContributorLike) -> Self:
        """Add the instructions of an object, such as a `Persona`, or of a function."""
        return self.with_prompt_contributors(contributor)

    def with_prompt_contributors(self, *contributors: ContributorLike) -> Self:
        """Add the instructions of several objects and functions, in order.

        Raises:
            DeclarationError: when an object is not a prompt contributor.
        """
        return replace(self, _contributors=(*self._contributors, *map(as_contributor, contributors)))

    def with_reference(self, reference: LlmReference) -> Self:
        """Add knowledge to look up: the model gets its description, and may use its tools."""
        return self.with_references(reference)

    def with_references(self, *references: LlmReference) -> Self:
        """Add several references.

        Raises:
            DeclarationError: when an object is not a reference.
        """
        return self.with_prompt_contributors(*map(check_reference, references))

    def with_template(self, template: str | Path) -> Self:
        """Render the prompt from a Jinja template, whose variables then take the place of a prompt.

        For `respond`, the template is the system prompt.

        Args:
            template: its name in the folder of templates, such as `stories/brief`; or, as a `Path`, a file.
        """
        return replace(self, _template=template)

    def with_image(self, image: Image) -> Self:
        """Add an image to the prompt; several calls add up."""
        return self.with_images(image)

    def with_images(self, *images: Image) -> Self:
        """Add several images to the prompt."""
        return replace(self, _images=(*self._images, *images))

    def with_example(self, description: str, value: object) -> Self:
        """Add an example of the output, which the model sees as JSON."""
        return self.with_examples({description: value})

    def with_examples(self, examples: Mapping[str, object]) -> Self:
        """Add several examples of the output, by their descriptions."""
        return replace(self, _examples=(*self._examples, *examples.items()))

    def with_generated_example(self, enabled: bool = True) -> Self:
        """Add a generated example of the form of the output, unless there is another example."""
        return replace(self, _has_generated_example=enabled)

    def with_output_guardrails(self, *guardrails: GuardrailLike) -> Self:
        """Add checks of the answer. After a rejection with a reason, the model answers again.

        Raises:
            DeclarationError: when a guardrail is not declared correctly.
        """
        guards = self.policy.guards
        more = (*guards.output, *map(as_output_guardrail, guardrails))
        return replace(self, policy=replace(self.policy, guards=replace(guards, output=more)))

    def with_max_attempts(self, attempts: int) -> Self:
        """Set the number of attempts at a valid object; as many as `tactician.toml` says by default."""
        return replace(self, policy=replace(self.policy, max_attempts=attempts))
