"""The fact checker: two models check at once, and what they say is reconciled."""

import pytest

from examples.fact_checker import Assertions, FactCheck, FactChecker, FactChecks, Verdict, reconcile
from tactician import Platform
from tactician.testing import ScriptedModel

CLAIMS = Assertions(claims=["The Moon is made of cheese", "Water boils at 100 degrees", "Fish can fly"])


def check(*answers: bool) -> FactCheck:
    return FactCheck(verdicts=[Verdict(number=n, is_true=answer) for n, answer in enumerate(answers, start=1)])


async def test_what_all_models_say_is_agreed_and_the_rest_is_disputed() -> None:
    twice = Assertions(claims=[*CLAIMS.claims, CLAIMS.claims[0]])
    model = ScriptedModel(twice, check(False, True, True), check(False, True, False))
    platform = Platform(models=model).register(FactChecker())
    found = await platform.invoke(FactChecks, "The Moon is made of cheese, water boils at 100 degrees, fish can fly.")
    assert found == FactChecks(
        true=["Water boils at 100 degrees"], false=["The Moon is made of cheese"], disputed=["Fish can fly"]
    )
    assert str(found) == "true: Water boils at 100 degrees\nfalse: The Moon is made of cheese\ndisputed: Fish can fly"
    assert "3. Fish can fly" in model.calls[1].prompt
    assert "4." not in model.calls[1].prompt
    assert [call.options.temperature for call in model.calls] == [None, 0.3, 0.0]
    model.assert_exhausted()


def test_a_claim_that_a_model_left_out_is_disputed() -> None:
    assert reconcile([check(True, True, True), check(True)], CLAIMS).disputed == CLAIMS.claims[1:]


@pytest.mark.embedded
async def test_it_runs_on_the_embedded_model() -> None:
    found = await Platform().register(FactChecker()).invoke(FactChecks, "Paris is in France. Fish can fly.")
    assert 1 <= len(found.true + found.false + found.disputed) <= 5
