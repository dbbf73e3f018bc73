"""Shared memory: values that the nodes of a mesh have together, in a store that all of them share."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from types import MappingProxyType
from typing import Final, Literal, Protocol, get_args

from pydantic import JsonValue

from tactician.clock import Clock, pause
from tactician.ensemble import Scope
from tactician.ensemble.learning.scoped_memory import ScopedMemory
from tactician.errors import ConfigurationError, DocumentConflictError, LeaseLostError, StaleVersionError
from tactician.events.event import new_id
from tactician.frozen import frozen
from tactician.mesh.messages.message import MAX_BYTES
from tactician.resilience.backoff import compute_backoff
from tactician.stores import DocumentStore
from tactician.stores.document import Lease, StoredDocument
from tactician.suggestions import suggest_options

Consistency = Literal["eventual", "locked", "optimistic", "external"]
_VALUES: Final = "mesh-memory"
_LEASE: Final = 30.0
_RETRIES: Final = 20
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.5
_LEASES: ContextVar[Mapping[tuple[str, str], Lease]] = ContextVar("_LEASES", default=MappingProxyType({}))


@frozen
class SharedValue:
    """Value of a shared memory.

    Attributes:
        value: the value; `None` before the first write.
        version: number of its writes.
    """

    value: JsonValue
    version: int


class SharedBackend(Protocol):
    """Place of values outside of the mesh, such as a service of one's own, which decides how consistent they are."""

    async def read(self, name: str) -> SharedValue:
        """Return the value of a memory."""
        ...

    async def write(self, name: str, value: JsonValue, version: int | None) -> SharedValue:
        """Write a value, and return it with its version.

        Raises:
            StaleVersionError: when a version is named, and the value has another.
        """
        ...


@suggest_options
class SharedMemory:
    """Memory that the nodes of a mesh share.

    Args:
        store: the store, which all nodes share.
        realm: realm of the memory.
        name: its name.
        clock: the time.
        consistency: how writers keep out of each other's way. `"eventual"`: the last write counts. `"locked"`: a write
            has the lock, which `lock` holds for longer. `"optimistic"`: a write names the version that it replaces.
            `"external"`: the backend decides.
        backend: place of the values, in the case of `"external"`.
        program: id of the program, whose code inside of a lock does not wait for the lock.

    Raises:
        ConfigurationError: when the consistency is not valid, or has no backend.
    """

    def __init__(
        self,
        store: DocumentStore,
        realm: str,
        name: str,
        clock: Clock,
        consistency: Consistency = "eventual",
        backend: SharedBackend | None = None,
        program: str = "",
    ) -> None:
        if consistency not in get_args(Consistency):
            raise ConfigurationError(
                f"consistency is {consistency!r}; write 'eventual', 'locked', 'optimistic' or 'external'"
            )
        if (consistency == "external") != (backend is not None):
            raise ConfigurationError("An external memory, and no other, has a backend: consistency='external'")
        self.name = name
        self.consistency = consistency
        self._store = store
        self._key = f"{realm}/{name}"
        self._clock = clock
        self._backend = backend
        self._place = program, self._key

    def __repr__(self) -> str:
        return f"SharedMemory({self.name!r}, consistency={self.consistency!r})"

    async def read(self) -> SharedValue:
        """Return the value as it was written last.

        Raises:
            StoreError: when the store does not answer.
        """
        if self._backend is not None:
            return await self._backend.read(self.name)
        return _read(await self._store.load(_VALUES, self._key))

    async def write(self, value: JsonValue, *, version: int | None = None) -> SharedValue:
        """Write a value, and return it with its new version.

        Args:
            value: the value, of at most a million bytes of JSON.
            version: version that the write replaces; an optimistic memory needs it.

        Raises:
            StaleVersionError: when somebody else has written meanwhile.
            LeaseLostError: when the lock was lost.
            ConfigurationError: when an optimistic write names no version, or the value is too large.
            StoreError: when the store does not answer.
        """
        if self.consistency == "optimistic" and version is None:
            raise ConfigurationError(f"{self!r} needs the version that it replaces: write(value, version=read.version)")
        if self._backend is not None:
            return await self._backend.write(self.name, value, version)
        if self.consistency == "locked":
            async with self.lock():
                return await self._save(value, version, self._find_lease())
        return await self._save(value, version, None)

    async def update(self, change: Callable[[JsonValue], JsonValue]) -> SharedValue:
        """Replace the value by what a function makes of it, which is called again when somebody else was faster.

        Raises:
            StaleVersionError: when others were faster for twenty times.
            StoreError: when the store does not answer.
        """
        if self.consistency == "locked":
            async with self.lock():
                return await self.write(change((await self.read()).value))
        for attempt in range(1, _RETRIES + 1):
            current = await self.read()
            try:
                return await self.write(change(current.value), version=current.version)
            except StaleVersionError:
                if attempt == _RETRIES:
                    raise
            await self._clock.sleep(compute_backoff(attempt, base=_FIRST_PAUSE, factor=2, longest=_LONGEST_PAUSE))
        raise AssertionError

    @asynccontextmanager
    async def lock(self) -> AsyncIterator[None]:
        """Keep all other writers of a locked memory out inside an `async with` block.

        The lock is a lease in the store, which is renewed: when this program dies, it ends after half a minute. Inside
        the block, further locks of the same memory are free.

        Raises:
            ConfigurationError: when the memory is not locked.
            StoreError: when the store does not answer.
        """
        if self.consistency != "locked":
            raise ConfigurationError(f"{self!r} has no lock: mesh.memory({self.name!r}, consistency='locked')")
        if self._find_lease() is not None:
            yield
            return
        lease = await self._claim()
        renewing = asyncio.create_task(self._keep_lease(lease))
        token = _LEASES.set({**_LEASES.get(), self._place: lease})
        try:
            yield
        finally:
            _LEASES.reset(token)
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
            with suppress(LeaseLostError):
                await self._store.release(lease)

    def for_ensembles(self, *, keep_last: int = 1_000) -> ScopedMemory:
        """Return a memory of ensembles with a scope of this name, whose entries all nodes share.

        Args:
            keep_last: number of entries that are kept.
        """
        return ScopedMemory(self._store, {self.name: Scope(keep_last=keep_last)})

    def _find_lease(self) -> Lease | None:
        return _LEASES.get().get(self._place)

    async def _claim(self) -> Lease:
        """Wait for the lock."""
        owner = f"memory-{new_id()}"
        for attempt in range(1, 1_000_000_000):
            document = StoredDocument(collection=_VALUES, id=self._key, body="null")
            try:
                return (await self._store.add_and_claim(document, owner, _LEASE))[1]
            except DocumentConflictError:
                if (claimed := await self._store.claim(_VALUES, owner, _LEASE, id=self._key)) is not None:
                    return claimed[1]
            await self._clock.sleep(compute_backoff(attempt, base=_FIRST_PAUSE, factor=2, longest=_LONGEST_PAUSE))
        raise AssertionError

    async def _keep_lease(self, lease: Lease) -> None:
        """Renew the lock until it is lost; then the next write says so."""
        with suppress(LeaseLostError):
            while True:
                await pause(_LEASE / 3, self._clock)
                lease = await self._store.renew(lease, _LEASE)

    async def _save(self, value: JsonValue, version: int | None, lease: Lease | None) -> SharedValue:
        body = json.dumps(value)
        if len(body) > MAX_BYTES:
            raise ConfigurationError(f"The value of {self!r} has {len(body):,} bytes, and {MAX_BYTES:,} are allowed.")
        while True:
            stored = await self._store.load(_VALUES, self._key)
            if version is not None and version != (current := _read(stored).version):
                raise StaleVersionError(
                    f"The value of {self!r} has the version {current}, not {version}: read it again.", current
                )
            document = stored or StoredDocument(collection=_VALUES, id=self._key, body=body)
            try:
                return _read(await self._store.save(replace(document, body=body), lease))
            except DocumentConflictError:  # somebody was faster: look again
                continue


def _read(document: StoredDocument | None) -> SharedValue:
    return SharedValue(None, 0) if document is None else SharedValue(json.loads(document.text), document.version)
