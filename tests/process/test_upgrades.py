"""What other versions have saved: processes in another format, and objects of users' types."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
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
from tactician.runs import RunStatus
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore
from tactician.stores.document import StoredDocument
from tactician.testing import ScriptedModel
from tests.support.stored import Change, JsonStore, change_data, load_data, load_record, respond


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


def platform_over(store: MemoryStore) -> Platform:
    return Platform(ScriptedModel(), store=store).register(Seller())


async def waiting(store: MemoryStore, *objects: object) -> str:
    """The id of a process that waits, with an order among its objects."""
    process = await platform_over(store).start("Seller", Order(7, 1250, "EUR"), *objects)
    assert process.status is ProcessStatus.WAITING
    return process.id


async def restored(change: Change, *objects: object) -> AgentProcess:
    """A process that waits, in another program, after a change of what its store has."""
    store = JsonStore()
    process_id = await waiting(store, *objects)
    await change_data(store, process_id, change)
    return await platform_over(store).process(process_id)


def saved_object(data: dict[str, Any], name: str) -> dict[str, Any]:
    """What is saved of the object of a type, by the end of its name."""
    changes = (one["value"] for one in data["board"] if one["kind"] == "add")
    return next(value for value in changes if value["type"].endswith(f".{name}"))


async def save_with_format(store: JsonStore, process_id: str, version: int) -> None:
    """Change the version that the state of a process says it is in."""
    record = await load_record(store, process_id)
    assert record.body is not None
    body = json.dumps(
        json.loads(record.body if isinstance(record.body, str) else record.body.to_json()) | {"format": version}
    )
    await RunStore(store).save(replace(record, body=body))


class TestFormats:
    """The format of what is saved of a process."""

    @pytest.mark.parametrize("damage", [[{"what": "damage"}], {"what": "damage"}, "damage", 3])
    @pytest.mark.parametrize("part", ["origin", "state", "board", "history"])
    async def test_one_that_is_not_what_its_version_says_is_refused(self, part: str, damage: object) -> None:
        with pytest.raises(StoredStateError, match="cannot be read"):
            await restored(lambda data: data.update({part: damage}))

    @pytest.mark.parametrize("name", ["", "nothing"])
    @pytest.mark.parametrize("field", ["goal", "declined"])
    async def test_a_goal_or_an_action_that_there_is_not_is_refused(self, field: str, name: str) -> None:
        def damage(data: dict[str, Any]) -> None:
            data["state"][field] = name

        with pytest.raises(StoredStateError, match="names what Seller does not have"):
            await restored(damage)

    @pytest.mark.parametrize("body", ["", "[]", "{}", "null", "{"])
    async def test_what_is_no_state_of_a_run_is_refused(self, body: str) -> None:
        store = MemoryStore()
        record = RunRecord(run_id="old", name="Seller", status=RunStatus.WAITING, kind="process", body=body)
        await RunStore(store).save(record)
        with pytest.raises(StoredStateError, match="The state of the run cannot be read"):
            await platform_over(store).process("old")

    async def test_one_of_a_newer_program_is_refused_with_what_to_do(self) -> None:
        store = JsonStore()
        process_id = await waiting(store)
        await save_with_format(store, process_id, 99)
        with pytest.raises(StoredStateError, match=r"in version 99 .* knows version 1\. .* or upgrade\."):
            await platform_over(store).process(process_id)

    async def test_one_that_cannot_be_read_can_be_killed(self) -> None:
        store = JsonStore()
        process_id = await waiting(store)
        await save_with_format(store, process_id, 99)
        assert await platform_over(store).kill(process_id) is ProcessStatus.KILLED
        assert (await load_record(store, process_id)).status is ProcessStatus.KILLED


class TestTypes:
    async def test_objects_are_upgraded_step_by_step(self) -> None:
        def as_first(data: dict[str, Any]) -> None:
            saved = saved_object(data, "Order")
            saved["value"] = {"number": "A-7", "euros": 12.5}
            del saved["version"]

        def as_second(data: dict[str, Any]) -> None:
            saved_object(data, "Order").update(version=2, value={"number": "A-7", "cents": 5, "currency": "USD"})

        assert (await restored(as_first)).last(Order) == Order(7, 1250, "EUR")
        assert (await restored(as_second)).last(Order) == Order(7, 5, "USD")

    async def test_an_upgraded_object_is_there_for_actions(self) -> None:
        store = JsonStore()
        process_id = await waiting(store)
        old = {"version": 1, "value": {"number": "A-8", "euros": 12.5}}
        await change_data(store, process_id, lambda data: saved_object(data, "Order").update(old))
        platform = platform_over(store)
        done = await respond(platform, await platform.process(process_id), "Ada")
        assert done.result == Sale("8 for 1250 EUR to Ada, None")

    async def test_those_of_the_present_version_stay_as_they_are(self) -> None:
        store = JsonStore()
        process_id = await waiting(store)
        saved = saved_object(await load_data(store, process_id), "Order")
        assert (saved["version"], saved["value"]) == (3, {"number": 7, "cents": 1250, "currency": "EUR"})
        assert (await platform_over(store).process(process_id)).last(Order) == Order(7, 1250, "EUR")

    async def test_those_of_a_newer_version_are_refused(self) -> None:
        with pytest.raises(StoredStateError, match=r"test_upgrades.Order has version 4, .* up to 3: a newer program"):
            await restored(lambda data: saved_object(data, "Order").update(version=4, value={}))

    async def test_an_upgrade_that_fails_says_which(self) -> None:
        with pytest.raises(StoredStateError, match=r"Order could not be upgraded from version 1: KeyError: 'euros'"):
            await restored(lambda data: saved_object(data, "Order").update(version=1, value={"number": "A-7"}))

    async def test_what_was_no_json_object_cannot_be_upgraded(self) -> None:
        with pytest.raises(StoredStateError, match="Order was saved as no JSON object, and cannot be upgraded"):
            await restored(lambda data: saved_object(data, "Order").update(version=1, value="A-7"))

    async def test_a_version_without_an_upgrade_is_refused(self) -> None:
        with pytest.raises(StoredStateError, match="Order has version 0, and nothing upgrades version 0"):
            await restored(lambda data: saved_object(data, "Order").update(version=0, value={}))

    @pytest.mark.parametrize("name", ["acme.invoices.Invoice", "acme.Bill"])
    async def test_a_class_that_was_renamed_is_found_by_its_former_names(self, name: str) -> None:
        process = await restored(lambda data: saved_object(data, "Bill").update(type=name), Bill(5))
        assert process.last(Bill) == Bill(5)

    async def test_the_classes_of_tactician_are_found_by_their_former_names(self) -> None:
        process = await restored(
            lambda data: saved_object(data, "UserInput").update(type="tactician.process.blackboard.UserInput"),
            UserInput("a lamp"),
        )
        assert process.last(UserInput) == UserInput("a lamp")

    async def test_it_is_saved_under_its_name_of_now(self) -> None:
        store = JsonStore()
        process_id = await waiting(store, Bill(5))
        assert saved_object(await load_data(store, process_id), "Bill")["type"] == f"{__name__}.Bill"

    async def test_a_name_that_nobody_knows_is_refused_with_what_to_do(self) -> None:
        with pytest.raises(StoredStateError, match=r"'acme.Invoice', which the agent does not know.*@formerly"):
            await restored(lambda data: saved_object(data, "Bill").update(type="acme.Invoice"), Bill(5))

    async def test_memories_are_upgraded_too(self) -> None:
        store = MemoryStore()
        value = {"number": "A-7", "euros": 12.5}
        kept = [{"type": f"{__name__}.Order", "value": value, "binding": "it", "hidden": False}]
        await store.save(StoredDocument(collection="memories", id="ada", body=json.dumps(kept)))
        platform = platform_over(store)
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
        with pytest.raises(
            DeclarationError, match=r"from_version=4\): nothing upgrades version 3; declare that upgrade"
        ):
            upgrades(Order, from_version=4)(in_cents)

    def test_what_is_no_class_has_no_upgrades(self) -> None:
        with pytest.raises(DeclarationError, match="'Order' is not a class; write the class itself"):
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
            (("", 3), ["@formerly(''): that is not the name", "@formerly(3): that is not the name"]),
            (("NoModule",), ["@formerly('NoModule'): that is not the name"]),
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

        store = JsonStore()
        platform = Platform(ScriptedModel(), store=store).register(Packer())
        process = await platform.start("Packer", Large(3))
        assert saved_object(await load_data(store, process.id), "Large").get("version") is None
        assert (await platform.process(process.id)).last(Large) == Large(3)
