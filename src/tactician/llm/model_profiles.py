"""Model profiles: the parameters that a model takes or refuses, and their spelling.

A profile has values of `Features` and `Dialect` for the models whose name matches a pattern. All matching profiles
apply; where two differ, the pattern with more letters wins. Users add theirs in `tactician.toml`, and these always win:

    [[models.profiles]]
    match = "my-model*"
    provider = "azure-openai"            # optional: only there; or the id of an instance
    reasoning_effort = ["low", "high"]   # or true, or false
    temperature = false
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, fields, replace
from fnmatch import fnmatchcase
from functools import cache
from operator import attrgetter
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from tactician.documents.models import list_mistakes
from tactician.documents.problems import Problems
from tactician.frozen import frozen
from tactician.llm.built_in_profiles import KNOWN
from tactician.llm.model import Features
from tactician.llm.wire import Dialect

_FEATURES = frozenset(field.name for field in fields(Features))
_DIALECT = frozenset(field.name for field in fields(Dialect))


@frozen
class ModelProfile:
    """Values for the models whose name matches.

    Attributes:
        match: a pattern with `*`, in any case, which must match the whole name.
        values: fields of `Features` and `Dialect`, by name.
        providers: the providers, or ids of instances, where the profile applies; everywhere if empty.
    """

    match: str
    values: Mapping[str, object] = field(default_factory=dict)
    providers: frozenset[str] = frozenset()

    def matches(self, provider: str, model: str, instance: str = "") -> bool:
        """Return whether the profile applies to this model."""
        at_home = not self.providers or provider in self.providers or instance in self.providers
        return at_home and fnmatchcase(model.lower(), self.match.lower())

    @property
    def precision(self) -> int:
        """Number of letters in the pattern."""
        return len(self.match) - self.match.count("*")


_BUILT_IN = tuple(
    ModelProfile(match, values, frozenset(providers))
    for providers, rows in KNOWN.items()
    for match, values in rows.items()
)


class ModelProfiles:
    """Profiles of models: the user's profiles before the built-in ones."""

    def __init__(self, own: Iterable[ModelProfile] = ()) -> None:
        """Check the user's `own` profiles.

        Raises:
            ConfigurationError: with every mistake in the profiles.
        """
        self._own = _check(own)

    def find_values(self, provider: str, model: str, instance: str = "") -> dict[str, object]:
        """Return all known values of a model at a provider, by the name of the field."""
        merged: dict[str, object] = {}
        for profiles in (_BUILT_IN, self._own):
            for profile in sorted(profiles, key=attrgetter("precision")):
                if profile.matches(provider, model, instance):
                    merged.update(profile.values)
        return merged

    def resolve(
        self, provider: str, model: str, features: Features, dialect: Dialect, instance: str = ""
    ) -> tuple[Features, Dialect]:
        """Return the features and the dialect of a model, which override its provider's."""
        values: Mapping[str, Any] = self.find_values(provider, model, instance)
        spoken = replace(dialect, **{name: values[name] for name in _DIALECT & values.keys()})
        known_features = replace(features, **{name: values[name] for name in _FEATURES & values.keys()})
        return replace(known_features, temperature=spoken.temperature), spoken


def parse_profiles(tables: Sequence[Mapping[str, object]]) -> ModelProfiles:
    """Return the profiles of `[[models.profiles]]`.

    Raises:
        ConfigurationError: with every mistake in the profiles.
    """
    return ModelProfiles(map(_profile, tables)) if tables else BUILT_IN_PROFILES


def _profile(table: Mapping[str, object]) -> ModelProfile:
    provider = table.get("provider")
    values = {name: value for name, value in table.items() if name not in ("match", "provider")}
    return ModelProfile(str(table.get("match") or ""), values, frozenset({str(provider)}) if provider else frozenset())


def _check(profiles: Iterable[ModelProfile]) -> tuple[ModelProfile, ...]:
    problems = Problems()
    checked = tuple(
        replace(profile, values=_values(profile, f"profile {place} ({profile.match or 'without match'})", problems))
        for place, profile in enumerate(profiles, 1)
    )
    problems.check("The model profiles are not valid")
    return checked


def _values(profile: ModelProfile, place: str, problems: Problems) -> dict[str, object]:
    values: dict[str, object] = {}
    if not profile.match:
        problems.add('name the models, as in match = "my-model*"', "match", file=place)
    for name, value in profile.values.items():
        if name not in _FEATURES | _DIALECT:
            field_names = ", ".join(sorted(_FEATURES | _DIALECT))
            problems.add(f"a profile has no such field; it has {field_names}", name, file=place)
            continue
        try:
            values[name] = _adapter(name).validate_python(value)
        except ValidationError as error:
            problems.add(next(iter(list_mistakes(error).values())), name, file=place)
    return values


@cache
def _adapter(name: str) -> TypeAdapter[object]:
    hints = {**get_type_hints(Features), **get_type_hints(Dialect)}
    return TypeAdapter(hints[name])


BUILT_IN_PROFILES = ModelProfiles()
"""Profiles without any of a user."""
