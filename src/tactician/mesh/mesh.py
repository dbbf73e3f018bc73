"""Mesh: what a program asks other programs for, and what it hears of them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from pydantic import JsonValue

from tactician.clock import wait_for_event
from tactician.errors import ConfigurationError
from tactician.events.event import new_id
from tactician.loggers import get_logger
from tactician.mesh.board import describe_directive
from tactician.mesh.calls.options import MeshCallOptions, check_time
from tactician.mesh.calls.remote_task import RemoteTaskRunnable
from tactician.mesh.calls.remote_tools import RemoteTools
from tactician.mesh.calls.requester import Requester
from tactician.mesh.calls.ticket import Ticket, submit_request
from tactician.mesh.connection import MeshConnection
from tactician.mesh.directives import Command, check_command, write_command
from tactician.mesh.messages.cards import list_targets
from tactician.mesh.messages.directives import DirectiveMessage, DirectiveReceipt
from tactician.mesh.messages.message import MAX_TEXT, Priority
from tactician.mesh.messages.requests import Delivery, MeshRequest
from tactician.mesh.queries import CapabilityQuery
from tactician.mesh.shared_memory import Consistency, SharedBackend, SharedMemory
from tactician.prompts.contributors import Directive
from tactician.runs import RunContext
from tactician.stores import MemoryStore
from tactician.suggestions import did_you_mean

_logger = get_logger(__name__)


class Mesh(MeshConnection):
    """Mesh of programs that offer their work to each other.

    It connects when it is first used. `async with Mesh(...) as mesh:` closes the connection at the end, as `aclose`
    does. For the arguments, see `MeshConnection`.
    """

    def task(self, name: str, *, on: str | None = None, description: str = "", **options: object) -> RemoteTaskRunnable:
        """Return a capability of another program as a Runnable.

        Args:
            name: name of the capability.
            on: name of the node; the soonest of those that offer it, by default.
            description: purpose of the task, for models that choose.
            **options: further fields of `MeshCallOptions`.

        Raises:
            ConfigurationError: when an option is not valid.
        """
        return RemoteTaskRunnable(self, name, MeshCallOptions.create(on=on, **options), description)

    def tool(self, name: str, *, on: str | None = None, **options: object) -> RemoteTools:
        """Return a capability of another program as a tool, which has the schema of its provider in each run.

        Args:
            name: name of the capability.
            on: name of the node; the soonest of those that offer it, by default.
            **options: further fields of `MeshCallOptions`.
        """
        return RemoteTools(self, CapabilityQuery(name=name), MeshCallOptions.create(on=on, **options))

    def catalog(
        self,
        *,
        tags: Collection[str] = (),
        any_tags: Collection[str] = (),
        kind: str | None = None,
        version: str | None = None,
        accepts: JsonValue = None,
        **options: object,
    ) -> RemoteTools:
        """Return all capabilities with these tags as tools, which are looked up anew for each run.

        Args:
            tags: tags that a capability must have, all of them.
            any_tags: tags of which a capability must have any.
            kind: `"task"` or `"tool"`; both by default.
            version: version of the capabilities; any by default.
            accepts: JSON object that their input schemas must take.
            **options: fields of `MeshCallOptions`.
        """
        query = CapabilityQuery(
            tags=frozenset(tags), any_tags=frozenset(any_tags), kind=kind, version=version, accepts=accepts
        )
        return RemoteTools(self, query, MeshCallOptions.create(version=version, **options))

    async def submit(
        self,
        name: str,
        input: object,
        *,
        on: str | None = None,
        deliver: Delivery | None = None,
        request_id: str | None = None,
        fresh: bool = False,
        priority: Priority = Priority.NORMAL,
        deadline: timedelta | None = None,
        **options: object,
    ) -> Ticket:
        """Ask for work without waiting for it, and return a ticket once the node has accepted.

        Args:
            name: name of the capability.
            input: text, or what has a JSON form.
            on: name of the node; the soonest of those that offer it, by default.
            deliver: the way of the reply; directly to this program, by default.
            request_id: id of the request: the same id is the same request, whose work is done once.
            fresh: true to do the work again for an id that was used before.
            priority: rank among the requests that wait.
            deadline: time from now by which the reply is needed.
            **options: `must_meet_deadline`, `version`, `accept_within`, `retries`, `breaker`, `choose`, `fallback` and
                `share` of `MeshCallOptions`. A fallback answers when no node accepts; its answer is the reply.

        Raises:
            ConfigurationError: when an option is not valid.
            RequestRejectedError: when the node refuses the request.
            MeshUnavailableError: when no node accepts it.
        """
        if waiting := sorted({"wait", "late", "patience", "max_age", "cache_key"} & options.keys()):
            raise ConfigurationError(f"{waiting[0]} is for callers who wait: use mesh.task(..., {waiting[0]}=...)")
        call = MeshCallOptions.create(on=on, priority=priority, deadline=deadline, **options)
        ends_at = None if deadline is None else self.clock.time() + deadline.total_seconds()
        context, requester = RunContext.find_current(), Requester(self)
        request = await requester.create_request(
            request_id or new_id(),
            name,
            input,
            context,
            delivery=deliver,
            priority=priority,
            deadline=ends_at,
            must_meet_deadline=call.must_meet_deadline or None,
            version=call.version,
            attempt=new_id() if fresh else None,
            reply_to=self.reply_queue,
        )
        return await submit_request(self, None, request, context, call, input)

    def memory(
        self, name: str, *, consistency: Consistency = "eventual", backend: SharedBackend | None = None
    ) -> SharedMemory:
        """Return a memory that the nodes of the realm share, in the store of the mesh.

        Args:
            name: name of the memory.
            consistency: how writers keep out of each other's way, see `SharedMemory`.
            backend: place of the values, in the case of `"external"`.

        Raises:
            ConfigurationError: when the mesh has no store, or the consistency is not valid.
        """
        if (store := self.values.store) is None and backend is None:
            raise ConfigurationError("A shared memory needs a store that all nodes share: Mesh(..., store=...)")
        kept = MemoryStore() if store is None else store
        return SharedMemory(kept, self.realm, name, self.clock, consistency, backend, self.instance)

    async def direct(
        self, target: str, directive: str | Command, *, by: str, ttl: timedelta | None = None
    ) -> Directive:
        """Give guidance to all work that starts from now on, or a command to nodes, also to nodes that come later.

        Args:
            target: name of a node, or `"capability:prepare-meal"`, `"tag:food"` or `"realm:downtown"`.
            directive: the guidance, which agents read under `## Active Directives`; or a command of
                `tactician.mesh.directives`.
            by: the person or rule that directs.
            ttl: time for which it holds; until it is withdrawn, by default.

        A warning is logged when the directive is for none of the nodes that are there.

        Raises:
            ConfigurationError: when the target, the text or the time is not valid, or the command makes no sense for
                the nodes that are there.
        """
        check_time("ttl", ttl)
        kind, separator, named = target.partition(":")
        if separator and (kind not in ("capability", "tag", "realm") or not named):
            raise ConfigurationError(f"{target!r} is no target: write a node, 'capability:x', 'tag:x' or 'realm:x'.")
        text = directive if isinstance(directive, str) else ""
        has_text = bool(text.strip()) or not isinstance(directive, str)
        if not has_text or len(text) > MAX_TEXT or (ttl is not None and ttl <= timedelta(0)):
            raise ConfigurationError(f"A directive has 1 to {MAX_TEXT:,} characters, and a ttl above 0.")
        command = None if isinstance(directive, str) else write_command(directive)
        if not isinstance(directive, str):
            await self._check_command(directive, target)
        now = self.clock.time()
        message = DirectiveMessage(
            id=new_id(),
            target=target,
            sender=by,
            text=text,
            command=command,
            created_at=now,
            expires_at=None if ttl is None else now + ttl.total_seconds(),
        )
        await self.publish_directive(message)
        self.spawn(self._warn_of_missing(target))
        return describe_directive(message)

    async def _warn_of_missing(self, target: str) -> None:
        """Log a warning when nodes are there, and a directive is for none of them."""
        if not (cards := self.directory.list_cards()):
            await self.directory.find(self.realm, "")
            cards = self.directory.list_cards()
        if cards and not any(card.is_reached(target) for card in cards):
            hint = did_you_mean(target, list_targets(cards))
            _logger.warning("No node answers to %r now; the directive is for nodes that come later.%s", target, hint)

    async def _check_command(self, command: Command, target: str) -> None:
        await self.open()
        cards = [card for card in self.directory.list_cards() if card.is_reached(target)]
        if cards:
            tiers = {tier for card in cards for tier in card.tiers}
            check_command(command, target, tiers, {each.name for card in cards for each in card.capabilities})
        else:  # for nodes that come later
            check_command(command, target, None, None)

    async def receipts(self, directive_id: str, *, wait: float = 1.0) -> list[DirectiveReceipt]:
        """Return which nodes have taken a directive, and which have refused it and why.

        Args:
            directive_id: id of the directive.
            wait: seconds to wait until all nodes that it is for have answered.
        """
        await self.open()
        ends_at = self.clock.monotonic() + wait
        while True:
            receipts = self.board.list_receipts(directive_id)
            message, left = self.board.find(directive_id), ends_at - self.clock.monotonic()
            cards = self.directory.list_cards()
            nodes = {card.node for card in cards if message is not None and card.is_reached(message.target)}
            has_all = bool(nodes) and nodes <= {receipt.node for receipt in receipts}
            if has_all or left <= 0:
                return receipts
            await wait_for_event(self.board.is_acknowledged, left, self.clock)

    async def withdraw(self, directive_id: str) -> bool:
        """Withdraw a directive; return whether it did hold."""
        await self.open()
        if (message := self.board.find(directive_id)) is None:
            return False
        # After the retention, no node is left that missed the withdrawal.
        forgotten_at = self.clock.time() + self.retention.total_seconds()
        expires_at = forgotten_at if message.expires_at is None else min(message.expires_at, forgotten_at)
        await self.publish_directive(message.model_copy(update={"is_withdrawn": True, "expires_at": expires_at}))
        return True

    async def directives(self, target: str | None = None) -> list[Directive]:
        """Return the directives that hold, oldest first.

        Args:
            target: what they are for, as `direct` has it; anything by default.
        """
        await self.open()
        return self.board.list_active(None if target is None else [target])

    def ticket(self, request_id: str, *, on: str, name: str = "") -> Ticket:
        """Return the ticket of a request that a program of this name has sent before.

        Args:
            request_id: id of the request.
            on: name of the node.
            name: name of the capability, for messages.
        """
        request = MeshRequest(id=request_id, sender=self.name, capability=name or "work")
        return Ticket(self, Requester(self).name_target(on), request)
