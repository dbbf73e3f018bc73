"""Where a provider, or one of its models, differs from what its wire format says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """What an encoder has to know beside the request.

    Attributes:
        max_tokens: the name of the field that limits the answer.
        system_role: the role of a system message.
        refused_keywords: JSON schema keywords that the provider refuses in a schema for its answer.
        strict: whether to ask for strict adherence to schemas.
    """

    max_tokens: str = "max_tokens"
    system_role: str = "system"
    refused_keywords: frozenset[str] = frozenset()
    strict: bool = True


DEFAULT_DIALECT = Dialect()
