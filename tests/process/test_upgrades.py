"""What older versions have saved: snapshots of the framework's, and objects of users' types."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tactician import (
    Platform,
    ProcessOptions,
    ProcessStatus,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    planned_agent,
)
from tactician.errors import DeclarationError, StoredStateError
from tactician.process import AgentProcess, formerly, upgrades
from tactician.runs import RunRecord, RunStore
from tactician.stores import MemoryStore, StoredDocument
from tactician.testing import ScriptedModel

OLD = Path(__file__).parent / "stored" / "version_1.json"


@dataclass
class Order:
    number: int
    cents: int
    currency: str


@upgrades(Order, from_version=1)
def in_cents(order: dict[str, Any]) -> dict[str, Any]:
    return {"number": order["number"], "cents": round(order["euros"] * 100), "currency": "EUR"}


@upgrades(Order, from_version=2)
def numbered(order: dict[str, Any]) -> dict[str, Any]:
    return {**order, "number": int(order["number"].removeprefix("A-"))}


@formerly("acme.invoices.Invoice", "acme.Bill")
@dataclass
class Bill:
    total: int


@dataclass
class Sale:
    text: str


class Shop:
    class Till: ...


Alias = Sale  # for those who still write the old name


@planned_agent(description="sells")
class Seller:
    @action
    def take(self, wish: UserInput) -> Order:
        return Order(1, 100, "EUR")

    @achieves_goal("sold")
    @action
    async def sell(self, order: Order, bill: Bill | None) -> Sale:
        buyer = await ask_human(str, "To whom?")
        return Sale(f"{order.number} for {order.cents} {order.currency} to {buyer}, {bill}")


async def stored(snapshot: dict[str, Any]) -> Platform:
    """A platform with a store that holds the snapshot, under the id `old`."""
    store = MemoryStore()
    await RunStore(store).save(RunRecord("old", "Seller", snapshot["status"], json.dumps(snapshot), 0, "process", None))
    return Platform(ScriptedModel(), store=store).register(Seller())


def old() -> dict[str, Any]:
    snapshot: dict[str, Any] = json.loads(OLD.read_text())
    return snapshot


async def restored(snapshot: dict[str, Any]) -> AgentProcess:
    return await (await stored(snapshot)).process("old")


class TestSnapshots:
    async def test_one_of_version_1_goes_on(self) -> None:
        platform = await stored(old())
        process = await platform.process("old")
        assert (process.status, process.pending[0].prompt) == (ProcessStatus.WAITING, "To whom?")
        (run,) = process.history
        assert (run.action, run.attempts, run.children) == ("take", 2, ())
        process = await platform.respond("old", "sell/asked", "Ada")
        assert process.result == Sale("7 for 1250 EUR to Ada, None")

    async def test_what_it_had_used_still_counts(self) -> None:
        snapshot = old()
        snapshot["options"]["limits"]["actions"] = 1
        del snapshot["waiting"]["sell"]
        snapshot["status"] = "not started"
        process = await restored(snapshot)
        await process.run()
        assert (process.status, process.failure) == (ProcessStatus.TERMINATED, "the budget of 1 actions is used up")

    async def test_its_context_is_a_memory_now(self) -> None:
        snapshot = old()
        snapshot["options"]["context_id"] = "ada"
        assert (await restored(snapshot)).options.memory_id == "ada"

    async def test_it_is_saved_in_the_present_version(self) -> None:
        saved = json.loads((await restored(old())).snapshot())
        assert saved["version"] == 2
        assert saved["actions"] == 1

    async def test_a_newer_one_is_refused(self) -> None:
        with pytest.raises(
            StoredStateError,
            match=r"cannot be read: it has version 99, and this program knows versions up to 2: a newer",
        ):
            await restored({**old(), "version": 99})

    @pytest.mark.parametrize("version", [None, "1", 0, -1, True, 1.0])
    async def test_one_without_a_version_is_refused(self, version: object) -> None:
        with pytest.raises(StoredStateError, match=f"cannot be read: {version!r} is no version"):
            await restored({**old(), "version": version})

    async def test_one_that_is_not_what_its_version_says_is_refused(self) -> None:
        broken = old()
        del broken["history"]
        with pytest.raises(StoredStateError, match=r"could not be upgraded from version 1: KeyError: 'history'"):
            await restored(broken)

    async def test_what_is_no_snapshot_is_refused(self) -> None:
        store = MemoryStore()
        await RunStore(store).save(RunRecord("old", "Seller", "waiting", "[]", 0, "process", None))
        with pytest.raises(StoredStateError, match="The snapshot of the process cannot be read"):
            await Platform(ScriptedModel(), store=store).register(Seller()).process("old")


def with_order(version: int | None, value: object) -> dict[str, Any]:
    snapshot = old()
    snapshot["objects"] = [{"type": f"{__name__}.Order", "value": value, "binding": "it", "hidden": False}]
    if version is not None:
        snapshot["objects"][0]["version"] = version
    return snapshot


class TestTypes:
    async def test_objects_are_upgraded_step_by_step(self) -> None:
        first = await restored(with_order(None, {"number": "A-7", "euros": 12.5}))
        assert first.last(Order) == Order(7, 1250, "EUR")
        second = await restored(with_order(2, {"number": "A-7", "cents": 5, "currency": "USD"}))
        assert second.last(Order) == Order(7, 5, "USD")

    async def test_those_of_the_present_version_stay_as_they_are(self) -> None:
        again = json.loads((await restored(old())).snapshot())
        saved = next(one for one in again["objects"] if one["type"].endswith("Order"))
        assert (saved["version"], saved["value"]) == (3, {"number": 7, "cents": 1250, "currency": "EUR"})
        assert (await restored(again)).last(Order) == Order(7, 1250, "EUR")

    async def test_those_of_a_newer_version_are_refused(self) -> None:
        with pytest.raises(StoredStateError, match=r"test_upgrades.Order has version 4, .* up to 3: a newer program"):
            await restored(with_order(4, {}))

    async def test_an_upgrade_that_fails_says_which(self) -> None:
        with pytest.raises(StoredStateError, match=r"Order could not be upgraded from version 1: KeyError: 'euros'"):
            await restored(with_order(1, {"number": "A-7"}))

    async def test_what_was_no_json_object_cannot_be_upgraded(self) -> None:
        with pytest.raises(StoredStateError, match="Order was saved as no JSON object, and cannot be upgraded"):
            await restored(with_order(1, "A-7"))

    async def test_a_version_without_an_upgrade_is_refused(self) -> None:
        with pytest.raises(StoredStateError, match="Order has version 0, and nothing upgrades version 0"):
            await restored(with_order(0, {}))

    @pytest.mark.parametrize("name", ["acme.invoices.Invoice", "acme.Bill", f"{__name__}.Bill"])
    async def test_a_class_that_was_renamed_is_found_by_its_former_names(self, name: str) -> None:
        snapshot = old()
        snapshot["objects"].append({"type": name, "value": {"total": 5}, "binding": "it", "hidden": False})
        process = await restored(snapshot)
        assert process.last(Bill) == Bill(5)
        assert f'"{__name__}.Bill"' in process.snapshot(), "it is saved under its name of now"

    async def test_a_name_that_nobody_knows_is_refused_with_what_to_do(self) -> None:
        snapshot = old()
        snapshot["objects"].append({"type": "acme.Invoice", "value": {}, "binding": "it", "hidden": False})
        with pytest.raises(StoredStateError, match=r"'acme.Invoice', which the agent does not know.*@formerly"):
            await restored(snapshot)

    async def test_memories_are_upgraded_too(self) -> None:
        store = MemoryStore()
        kept = [one for one in old()["objects"] if one["type"].endswith("Order")]
        await store.save(StoredDocument(collection="memories", id="ada", body=json.dumps(kept)))
        platform = Platform(ScriptedModel(), store=store).register(Seller())
        process = await platform.start("Seller", options=ProcessOptions(memory_id="ada"))
        assert process.last(Order) == Order(7, 1250, "EUR")

    def test_a_version_has_one_upgrade(self) -> None:
        with pytest.raises(DeclarationError, match=r"(?s)Order.*from_version=1.*: another function has this number"):
            upgrades(Order, from_version=1)(in_cents)
        with pytest.raises(DeclarationError, match=r"(?s)Order.*from_version=0.*: versions count from 1"):
            upgrades(Order, from_version=0)(in_cents)
        with pytest.raises(DeclarationError, match=r"from_version='1'\): versions count from 1; write from_version=3"):
            upgrades(Order, from_version="1")(in_cents)  # type: ignore[arg-type]  # on purpose

    def test_upgrades_have_no_gap(self) -> None:
        with pytest.raises(DeclarationError, match=r"from_version=4\): nothing upgrades version 3; declare that one"):
            upgrades(Order, from_version=4)(in_cents)

    def test_what_is_no_class_has_no_upgrades(self) -> None:
        with pytest.raises(DeclarationError, match="'Order' is no class; write the class itself"):
            upgrades("Order", from_version=1)  # type: ignore[arg-type]  # on purpose

    def test_what_is_no_upgrade_is_told_with_all_that_is_wrong(self) -> None:
        async def upgrade() -> dict[str, Any]:
            return {}

        with pytest.raises(DeclarationError) as raised:
            upgrades(Order, from_version=1)(upgrade)  # type: ignore[type-var]  # on purpose
        place = "@upgrades(from_version=1): "
        assert raised.value.problems == (
            f"{place}another function has this number; write from_version=3",
            f"{place}upgrade is async, and nothing waits for it; write a plain function",
            f"{place}the function has to take what was saved; "
            "write `def upgrade(saved: dict[str, Any]) -> dict[str, Any]`",
        )

    @pytest.mark.parametrize(
        ("names", "told"),
        [
            ((), ["@formerly(): write the name"]),
            (("", 3), ["@formerly(''): that is no name", "@formerly(3): that is no name"]),
            (("NoModule",), ["@formerly('NoModule'): that is no name"]),
            ((f"{__name__}.Order",), [f"@formerly('{__name__}.Order'): another class has this name now"]),
            ((f"{__name__}.Shop.Till",), [f"@formerly('{__name__}.Shop.Till'): another class has this name now"]),
            ((f"{__name__}.Sale",), [f"@formerly('{__name__}.Sale'): that is its name now"]),
        ],
    )
    def test_former_names_that_cannot_be(self, names: tuple[str, ...], told: list[str]) -> None:
        with pytest.raises(DeclarationError) as raised:
            formerly(*names)(Sale)
        for problem, beginning in zip(raised.value.problems, told, strict=True):
            assert problem.startswith(beginning)

    @pytest.mark.parametrize("name", [f"{__name__}.Gone", f"{__name__}.Alias", "__main__.Sale", "gone.Sale"])
    def test_former_names_that_may_be(self, name: str) -> None:
        class Fresh: ...

        assert formerly(name)(Fresh) is Fresh

    async def test_upgrades_of_a_base_class_are_not_those_of_a_subclass(self) -> None:
        @dataclass
        class Basket:
            size: int

        @dataclass
        class Large(Basket): ...

        upgrades(Basket, from_version=1)(lambda saved: {"size": saved["count"]})

        @planned_agent(description="packs")
        class Packer:
            @achieves_goal("packed")
            @action
            def pack(self, basket: Basket) -> str:
                return f"{basket.size}"

        platform = Platform(ScriptedModel(), store=MemoryStore()).register(Packer())
        process = await platform.start("Packer", Large(3))
        assert json.loads(process.snapshot())["objects"][0].get("version") is None
        assert (await platform.process(process.id)).last(Large) == Large(3)
