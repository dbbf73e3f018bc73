"""`{{variables}}` in a text."""

from __future__ import annotations

import pytest

from tactician.errors import MissingPromptVariable
from tactician.prompts.variables import find_variables, render_variables


def test_variables_are_found_once_in_their_order() -> None:
    assert find_variables("{{b}} and {{ a }} and {{b}}") == ("b", "a")


@pytest.mark.parametrize("text", ["{{1a}}", "{{user.name}}", "{{é}}", "{{a b}}", "{a}", "{{}}", "{{a-b}}", "{{naïve}}"])
def test_what_is_no_ascii_name_is_no_variable(text: str) -> None:
    assert find_variables(text) == ()
    assert render_variables(text, {}, agent_id="a") == text


@pytest.mark.parametrize("text", ["{{name}}", "{{ name }}", "{{\n name\t}}"])
def test_space_inside_the_braces_does_not_matter(text: str) -> None:
    assert render_variables(f"Hi {text}!", {"name": "Ada"}, agent_id="a") == "Hi Ada!"


def test_a_value_that_looks_like_a_variable_stays_as_it_is() -> None:
    assert render_variables("{{a}} {{b}}", {"a": "{{b}}", "b": r"\1"}, agent_id="a") == r"{{b}} \1"


def test_values_become_text() -> None:
    assert render_variables("{{n}} {{empty}}|", {"n": 0, "empty": ""}, agent_id="a") == "0 |"


@pytest.mark.parametrize("variables", [{"tone": "warm"}, {"tone": "warm", "name": None}])
def test_a_variable_without_a_value_is_an_error_that_says_which(variables: dict[str, object]) -> None:
    with pytest.raises(MissingPromptVariable) as caught:
        render_variables("{{tone}} {{name}}", variables, agent_id="greeter")
    error = caught.value
    assert (error.agent_id, error.variable, error.provided_keys) == ("greeter", "name", tuple(variables))
    assert str(error).startswith("greeter: the instructions need a value for {{name}}; pass variables={'name': ...}")
