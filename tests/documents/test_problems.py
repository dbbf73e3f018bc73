"""Mistakes: all at once, each with its place, at most a hundred; and which name was meant."""

from __future__ import annotations

from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from tactician.documents.data import DocumentLimits, format_path
from tactician.documents.document import make_document, read_document
from tactician.documents.models import DocumentModel, validate_document
from tactician.documents.problems import Problems
from tactician.errors import AgentFileError, DocumentError, Problem
from tactician.suggestions import did_you_mean, find_closest, find_closest_spelling

TEXT = '{\n"a": 1,\n"b": [\n2,\n3]\n}'


class Tool(DocumentModel):
    name: str
    limit: Annotated[int, Field(gt=0)] | None = None


class Loose(DocumentModel, extra="ignore"):
    cutoff = 0.85
    refuses_misspelled = True
    retries: int = 0


class Team(DocumentModel):
    leader: str
    tools: Annotated[tuple[Tool, ...], Field(min_length=2)] = ()
    loose: Loose | None = None
    notes: dict[str, str] = Field(default_factory=dict)


class Nested(DocumentModel):
    label: str
    inner: tuple[Nested, ...] = ()


def mistakes(text: str) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        validate_document(read_document(text, "yaml"), Team.model_validate, "The team is wrong")
    assert str(caught.value).startswith("The team is wrong:\n  - ")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return [str(one) for one in caught.value.problems]


class TestCollector:
    def test_without_mistakes_nothing_is_raised(self) -> None:
        problems = Problems()
        problems.check("It is wrong")
        assert (bool(problems), list(problems), problems.left_out) == (False, [], 0)

    def test_each_has_its_place(self) -> None:
        problems = Problems(read_document(TEXT, "json"))
        problems.add("is one", "a")
        problems.add_all([(("b", 1), "is three"), ((), "is wrong")])
        problems.add("elsewhere", "x", document=make_document({}), file="other.json")
        assert [*problems] == [
            Problem("a", "is one", None, 2),
            Problem("b[1]", "is three", None, 5),
            Problem("", "is wrong", None, 1),
            Problem("x", "elsewhere", "other.json", None),
        ]
        with pytest.raises(AgentFileError) as caught:
            problems.check("They are wrong", AgentFileError)
        assert str(caught.value) == (
            "They are wrong:\n  - line 2: a: is one\n  - line 5: b[1]: is three\n  - line 1: is wrong\n"
            "  - other.json: x: elsewhere"
        )

    def test_one_is_kept_once(self) -> None:
        document = read_document(TEXT, "json")
        problems = Problems(document)
        for _ in range(300):
            problems.add("is one", "a")
        problems.add("is one", "a", document=read_document(TEXT, "json"))
        assert (len([*problems]), problems.left_out) == (2, 0)

    @given(st.integers(0, 300), st.integers(0, 300))
    def test_at_most_a_hundred_are_kept(self, own: int, others: int) -> None:
        problems, other = Problems(), Problems()
        problems.add_all(((number,), "wrong") for number in range(own))
        other.add_all(((number,), "wrong") for number in range(others))
        if other:
            with pytest.raises(DocumentError) as caught:
                other.check("It is wrong")
            problems.include(caught.value, "b.json")
        kept = [*problems]
        assert len(kept) == min(own + others, 100)
        assert len(kept) + problems.left_out == own + others
        assert [one.path for one in kept[: min(own, 100)]] == [f"[{number}]" for number in range(min(own, 100))]
        if problems:
            with pytest.raises(DocumentError) as caught:
                problems.check("They are wrong")
            assert (caught.value.problems, caught.value.left_out) == (tuple(kept), problems.left_out)
            more = [f"  - and {problems.left_out} more"] if problems.left_out else []
            assert str(caught.value).splitlines()[len(kept) + 1 :] == more

    def test_an_error_keeps_a_hundred_of_whatever_it_is_given(self) -> None:
        error = DocumentError("It is wrong", (Problem(str(number), "wrong") for number in range(1_500)), 5)
        assert (len(error.problems), error.left_out) == (100, 1_405)
        assert str(error).endswith("\n  - 99: wrong\n  - and 1,405 more")


class TestModels:
    def test_every_mistake_has_its_line_and_the_name_that_was_meant(self) -> None:
        text = "leadr: me\ntools:\n- nmae: x\n- name: y\n  limit: 0\n- 7\nloose: []\nnotes: [x]\nx: 1\n"
        assert mistakes(text) == [
            "line 1: leader: Field required",
            "line 3: tools[0].name: Field required",
            "line 3: tools[0].nmae: there is no such field; did you mean 'name'?",
            "line 5: tools[1].limit: Input should be greater than 0, got: 0",
            "line 6: tools[2]: Input should be a valid object",
            "line 7: loose: Input should be a valid object",
            "line 8: notes: Input should be a valid object",
            "line 1: leadr: there is no such field; did you mean 'leader'?",
            "line 9: x: there is no such field",
        ]

    def test_null_is_nothing(self) -> None:
        team = Team.model_validate({"leader": "me", "tools": None, "loose": {"retries": None}})
        assert team == Team(leader="me", loose=Loose())

    def test_a_list_is_too_short_unless_something_in_it_is_wrong(self) -> None:
        assert mistakes("leader: me\ntools:\n- name: x\n") == [
            "line 2: tools: Tuple should have at least 2 items after validation, not 1"
        ]
        assert mistakes("leader: me\ntools:\n- nam: x\n") == [
            "line 3: tools[0].name: Field required",
            "line 3: tools[0].nam: there is no such field; did you mean 'name'?",
        ]

    def test_what_is_passed_over_is_refused_only_when_it_looks_like_a_field(self) -> None:
        assert Loose.model_validate({"colour": 1, "retries": 2}) == Loose(retries=2)
        assert mistakes("leader: me\nloose:\n  a: 1\n  retrie: 1\n  retries: x\n") == [
            "line 4: loose.retrie: there is no such field; did you mean 'retries'?",
            "line 5: loose.retries: Input should be a valid integer, unable to parse string as an integer",
        ]

    def test_very_many_mistakes(self) -> None:
        data = {"leader": "me", "tools": [{f"nam{number}": 1 for number in range(50_000)}]}
        with pytest.raises(DocumentError) as caught:
            validate_document(make_document(data), Team.model_validate, "The team is wrong")
        assert (len(caught.value.problems), caught.value.left_out) == (100, 49_901)
        assert "did you mean 'name'" in caught.value.problems[1].message

    def test_very_many_mistakes_deep_inside(self) -> None:
        data: dict[str, object] = {"label": "x", "inner": [{"label": number} for number in range(50_000)]}
        for _ in range(100):
            data = {"labl": "x", "label": "x", "inner": [data]}
        limits = DocumentLimits(depth=300)
        with pytest.raises(DocumentError) as caught:
            validate_document(make_document(data, limits), Nested.model_validate, "It is wrong")
        assert (len(caught.value.problems), caught.value.left_out) == (100, 50_000)

    def test_very_long_names_are_cut(self) -> None:
        data = {"leader": "me", "x" * 900_000: 1, "notes": {"y" * 900_000: 1}}
        with pytest.raises(DocumentError) as caught:
            validate_document(make_document(data), Team.model_validate, "The team is wrong")
        assert len(caught.value.problems) == 2
        assert len(str(caught.value)) < 1_000
        problems = Problems()
        problems.add("z" * 1_000_000, file="z" * 1_000_000)
        assert len(str(problems.create_error("It is wrong"))) < 5_000

    def test_braces_in_names_are_only_braces(self) -> None:
        assert "there is no such field" in mistakes("leader: me\n'{x}{': 1\n")[0]

    def test_other_models_can_be_read_too(self) -> None:
        class Plain(BaseModel):
            number: int

        with pytest.raises(DocumentError, match=r"It is wrong:\n  - line 2: number: Input should be"):
            validate_document(read_document('{\n"number": []}', "json"), Plain.model_validate, "It is wrong")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("a", 0, "b"), "a[0].b"),
        ((1, 2), "[1][2]"),
        (("a.b", "", "c d", "[x]"), '"a.b".""."c d"."[x]"'),
    ],
)
def test_paths(path: tuple[str | int, ...], text: str) -> None:
    assert format_path(path) == text


class TestSuggestions:
    def test_the_most_similar_name_is_meant(self) -> None:
        assert did_you_mean("serch", ["search", "fetch"]) == " Did you mean 'search'?"
        assert did_you_mean("weather", ["search", "fetch"]) == ""
        assert find_closest("serch", ["search"], 0.95) is None

    def test_case_and_separators_do_not_count(self) -> None:
        assert find_closest_spelling("MAX-tokens", ["maxTokens", "max"]) == "maxTokens"
        assert find_closest("MAX-tokens", ["maxTokens"]) is None
        assert find_closest_spelling("x", ["maxTokens"]) is None

    @given(st.text(), st.lists(st.text()))
    def test_only_known_names_are_meant(self, name: str, known: list[str]) -> None:
        assert find_closest(name, known) in (None, *known)
        assert find_closest_spelling(name, known) in (None, *known)

    def test_a_very_long_name_means_nothing(self) -> None:
        assert did_you_mean("a" * 1_000_000, ["a" * 1_000_000]) == ""
