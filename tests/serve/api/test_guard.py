"""Who may call, from where, how often, and with how much."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.datastructures import Headers

from tactician.errors import ConfigurationError
from tactician.serve import Person, RequestLimits, app, load_people
from tactician.serve.api.serving.guard import Callers
from tactician.serve.problems import ApiError
from tests.serve.api.serving import create_platform, find, served, start

ANNA, BERT, CARL = "anna-has-a-secret", "bert-has-a-secret", "carl-has-a-secret"
PEOPLE = {
    ANNA: Person("Anna", frozenset({"editor"})),
    BERT: Person("Bert", rights=frozenset({"see"})),
    CARL: Person("Carl", rights=frozenset({"see", "start", "answer"})),
}


class TestTokens:
    @pytest.mark.parametrize("token", [None, "wrong-wrong-wrong-wrong", "ä" * 20])
    async def test_without_the_right_one_nobody_may_call(self, token: str | None) -> None:
        headers = {} if token is None else {b"Authorization": f"Bearer {token}".encode()}
        async with served(create_platform(), people=PEOPLE) as client:
            done = await client.get("/api/runs", headers=headers)

        assert (done.status_code, done.headers["www-authenticate"]) == (401, "Bearer")
        message = done.json()["error"]["message"]
        assert message.endswith("Send a valid token in the header `Authorization`, as `Bearer TOKEN`.")
        assert message.startswith("Nobody has this token.") == (token is not None)

    async def test_life_needs_none(self) -> None:
        async with served(create_platform(), people=PEOPLE) as client:
            assert (await client.get("/livez")).status_code == (await client.get("/readyz")).status_code == 200

    async def test_rights(self) -> None:
        async with served(create_platform(), people=PEOPLE, token=BERT) as client:
            assert (await client.get("/api/runs")).status_code == 200
            refused = await client.post("/api/agents/talker/runs", json={"input": "Hi"})
            gone = await client.delete("/api/runs/some")

        assert (refused.status_code, gone.status_code) == (403, 403)
        assert refused.json()["error"]["message"] == "This needs the right 'start'."

    async def test_whoever_answers_is_kept(self) -> None:
        async with served(create_platform(), people=PEOPLE, token=CARL) as client:
            run_id = await start(client, "shop", {"number": 7})
            await find(client, run_id, "waiting")
            seen = (await client.get("/api/waiting", headers={"Authorization": f"Bearer {BERT}"})).json()
            killed = await client.delete(f"/api/runs/{run_id}")

        assert [request["may_answer"] for request in seen["runs"][0]["pending"]] == [False]
        assert killed.json()["failure"] == "cancelled by Carl"

    def test_a_short_one_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="at least 16 characters"):
            app(create_platform(), people={"short": Person("Anna")})

    def test_a_person_does_not_show_a_token(self) -> None:
        assert ANNA not in repr(PEOPLE[ANNA])


class TestWithoutTokens:
    async def test_other_machines_may_not_call(self) -> None:
        async with served(create_platform(), caller="192.0.2.7") as client:
            assert (await client.get("/api/runs")).status_code == 403

    @pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80"])
    async def test_another_name_of_this_machine_is_refused(self, host: str) -> None:
        async with served(create_platform()) as client:
            assert (await client.get("/api/runs", headers={"Host": host})).status_code == 421

    @pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1", "[::1]:8000", "LOCALHOST"])
    async def test_names_of_this_machine(self, host: str) -> None:
        async with served(create_platform()) as client:
            assert (await client.get("/api/runs", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:81", "file://"])
async def test_pages_of_other_servers_may_not_call(origin: str) -> None:
    async with served(create_platform()) as client:
        refused = await client.post("/api/agents/talker/runs", json={"input": "x"}, headers={"Origin": origin})
        own = await client.get("/api/runs", headers={"Origin": "http://localhost"})

    assert (refused.status_code, own.status_code) == (403, 200)
    assert "access-control-allow-origin" not in own.headers


class TestLimits:
    async def test_a_long_body(self) -> None:
        async with served(create_platform(), limits=RequestLimits(body=100)) as client:
            long = await client.post("/api/agents/talker/runs", json={"input": "x" * 200})

            async def pieces() -> AsyncIterator[bytes]:
                for _ in range(10):
                    yield b"x" * 20

            unsaid = await client.post("/api/agents/talker/runs", content=pieces())

        assert (long.status_code, unsaid.status_code) == (413, 413)

    async def test_too_many_requests(self) -> None:
        async with served(create_platform(), limits=RequestLimits(rate=0.001, burst=3)) as client:
            statuses = [(await client.get("/api/agents")).status_code for _ in range(5)]

        assert statuses == [200, 200, 200, 429, 429]

    def test_a_silent_caller_saves_no_more_requests_than_a_burst(self) -> None:
        seconds = [0.0]
        callers = Callers(None, RequestLimits(rate=100, burst=3), lambda: seconds[0])

        def call() -> bool:
            try:
                callers.admit(Headers(), "127.0.0.1")
            except ApiError:
                return False
            return True

        call()
        seconds[0] += 3600

        assert [call() for _ in range(5)] == [True, True, True, False, False]

    @pytest.mark.parametrize("limits", [{"rate": 0}, {"burst": 0}, {"seconds": -1}, {"lease": 0}, {"body": 1.5}])
    def test_those_out_of_range_are_refused(self, limits: dict[str, int]) -> None:
        with pytest.raises(ConfigurationError, match=f"RequestLimits.{next(iter(limits))}"):
            RequestLimits(**limits)

    async def test_headers_of_safety(self) -> None:
        async with served(create_platform()) as client:
            done = await client.get("/api/agents")

        assert done.headers["x-content-type-options"] == "nosniff"


class TestFileOfPeople:
    def test_it_names_variables(self, tmp_path: Path) -> None:
        file = tmp_path / "people.yaml"
        file.write_text("people:\n- {name: Anna, token: '${ANNA}', roles: [editor], rights: [see, answer]}\n")

        people = load_people(file, {"ANNA": ANNA})

        assert people == {ANNA: Person("Anna", frozenset({"editor"}), frozenset({"see", "answer"}))}

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("people: [{name: Anna, token: '${NOBODY}'}]", "the variable NOBODY is not set"),
            ("people: [{name: Anna, tokn: x}]", "tokn"),
            ("people: []", "people"),
            ("people: [{name: A, token: same}, {name: B, token: same}]", "A and B have the same token"),
            ("people: [{name: A, token: t, rights: [fly]}]", "rights"),
        ],
    )
    def test_mistakes_are_told(self, tmp_path: Path, text: str, words: str) -> None:
        file = tmp_path / "people.yaml"
        file.write_text(text)

        with pytest.raises(ConfigurationError, match=words):
            load_people(file, {})
