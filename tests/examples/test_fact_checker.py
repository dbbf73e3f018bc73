"""The fact checker: two models check at once, and what they say is reconciled."""

import pytest

from examples.fact_checker import Assertions, FactCheck, FactChecker, FactChecks, Verdict, reconcile
from tactician import Platform
from tactician.testing import ScriptedModel

CLAIMS = Assertions(claims=["The Moon is made of cheese", "Water boils at 100 degrees"])


def check(*answers: bool) -> FactCheck:
    return FactCheck(verdicts=[Verdict(claim=c, is_true=a) for c, a in zip(CLAIMS.claims, answers, strict=True)])


async def test_what_all_models_say_is_agreed_and_the_rest_is_disputed() -> None:
    model = ScriptedModel(CLAIMS, check(False, True), check(True, True))
    platform = Platform(models=model).register(FactChecker())
    found = await platform.invoke(FactChecks, "The Moon is made of cheese, and water boils at 100 degrees.")
    assert found.agreed == [Verdict(claim="Water boils at 100 degrees", is_true=True)]
    assert found.disputed == ["The Moon is made of cheese"]
    assert str(found) == "true: Water boils at 100 degrees\ndisputed: The Moon is made of cheese"
    assert [call.options.temperature for call in model.calls] == [None, 0.3, 0.0]
    model.assert_exhausted()


def test_a_claim_that_nobody_checked_is_disputed() -> None:
    assert reconcile([FactCheck(verdicts=[])], CLAIMS).disputed == CLAIMS.claims


@pytest.mark.embedded
async def test_it_runs_on_the_embedded_model() -> None:
    found = await Platform().register(FactChecker()).invoke(FactChecks, "Paris is in France. Fish can fly.")
    assert isinstance(found, FactChecks)
