"""What is known of models: which parameters they take, which they refuse, and how they want things said.

A fact is a value of `Features` or `Dialect` for the models whose name matches a pattern. All facts that match hold;
where two differ, the pattern with more letters wins. Users add theirs in `tactician.toml`, and these always win:

    [[models.facts]]
    match = "my-model*"
    provider = "azure-openai"            # optional: only there; or the id of an instance
    reasoning_effort = ["low", "high"]   # or true, or false
    temperature = false
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

from tactician.errors import ConfigurationError, in_lines
from tactician.llm.known_models import KNOWN
from tactician.llm.model import Features
from tactician.llm.wire import Dialect

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_FEATURES = frozenset(one.name for one in fields(Features))
_DIALECT = frozenset(one.name for one in fields(Dialect))


@dataclass(frozen=True, slots=True)
class Fact:
    """What holds for the models whose name matches.

    Attributes:
        match: a pattern with `*`, in any case; it has to match the whole name.
        values: fields of `Features` and `Dialect`, by name.
        providers: the providers, or ids of instances, where it holds; everywhere, when empty.
    """

    match: str
    values: Mapping[str, object] = field(default_factory=dict)
    providers: frozenset[str] = frozenset()

    def holds(self, provider: str, model: str, instance: str = "") -> bool:
        """Whether it is about this model."""
        at_home = not self.providers or provider in self.providers or instance in self.providers
        return at_home and fnmatchcase(model.lower(), self.match.lower())

    @property
    def precision(self) -> int:
        """How many letters the pattern has."""
        return len(self.match) - self.match.count("*")


_BUILT_IN = tuple(
    Fact(match, values, frozenset(providers)) for providers, rows in KNOWN.items() for match, values in rows.items()
)


class FactTable:
    """Facts, those of a user before those that are built in."""

    def __init__(self, own: Iterable[Fact] = ()) -> None:
        """The table with a user's `own` facts.

        Raises:
            ConfigurationError: with every mistake in them.
        """
        self._own = _checked(own)

    def values(self, provider: str, model: str, instance: str = "") -> dict[str, object]:
        """All that is known of a model at a provider, by the name of the field."""
        merged: dict[str, object] = {}
        for facts in (_BUILT_IN, self._own):
            for fact in sorted(facts, key=lambda one: one.precision):
                if fact.holds(provider, model, instance):
                    merged.update(fact.values)
        return merged

    def resolve(
        self, provider: str, model: str, features: Features, dialect: Dialect, instance: str = ""
    ) -> tuple[Features, Dialect]:
        """The features and the dialect of a model, where the given ones are those of its provider."""
        values: Mapping[str, Any] = self.values(provider, model, instance)
        spoken = replace(dialect, **{name: values[name] for name in _DIALECT & values.keys()})
        known = replace(features, **{name: values[name] for name in _FEATURES & values.keys()})
        return replace(known, temperature=spoken.temperature), spoken


def facts_from(tables: Sequence[Mapping[str, object]]) -> FactTable:
    """The table with the facts of `[[models.facts]]`.

    Raises:
        ConfigurationError: with every mistake in them.
    """
    return FactTable(map(_fact, tables)) if tables else KNOWN_FACTS


def _fact(table: Mapping[str, object]) -> Fact:
    provider = table.get("provider")
    values = {name: value for name, value in table.items() if name not in ("match", "provider")}
    return Fact(str(table.get("match") or ""), values, frozenset({str(provider)}) if provider else frozenset())


def _checked(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    problems: list[str] = []
    checked = tuple(
        replace(fact, values=_values(fact, f"fact {place} ({fact.match or 'without match'})", problems))
        for place, fact in enumerate(facts, 1)
    )
    if problems:
        raise ConfigurationError(f"The facts about models are not valid:{in_lines(problems)}")
    return checked


def _values(fact: Fact, place: str, problems: list[str]) -> dict[str, object]:
    values: dict[str, object] = {}
    if not fact.match:
        problems.append(f'{place}: match: name the models, as in match = "my-model*"')
    for name, value in fact.values.items():
        if name not in _FEATURES | _DIALECT:
            problems.append(
                f"{place}: {name}: there is no such fact; known are {', '.join(sorted(_FEATURES | _DIALECT))}"
            )
            continue
        try:
            values[name] = _adapter(name).validate_python(value)
        except ValueError as error:
            problems.append(f"{place}: {name}: {_reason(error)}")
    return values


def _reason(error: ValueError) -> str:
    from pydantic import ValidationError

    return error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)


@cache
def _adapter(name: str) -> TypeAdapter[object]:
    from pydantic import TypeAdapter

    hints = {**get_type_hints(Features), **get_type_hints(Dialect)}
    return TypeAdapter(hints[name])


KNOWN_FACTS = FactTable()
"""Only the facts that are built in."""
