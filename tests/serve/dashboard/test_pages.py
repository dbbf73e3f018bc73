"""The dashboard's files, and what browsers are told about them."""

from __future__ import annotations

import re

from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from tactician.serve import Person, app
from tests.serve.api.serving import create_platform, served

ANNA = "anna-has-a-secret"


class TestThePage:
    async def test_it_loads_only_what_is_beside_it(self) -> None:
        async with served(create_platform()) as client:
            page = await client.get("/ui/")
            addresses = re.findall(r'(?:src|href)="([^"]+)"', page.text)
            parts = [await client.get(f"/ui/{address}") for address in addresses]

        assert len(addresses) >= 3
        assert all(address.startswith("./") for address in addresses)
        assert [part.status_code for part in parts] == [200] * len(addresses)

    async def test_browsers_run_no_script_that_is_not_a_file_of_it(self) -> None:
        async with served(create_platform()) as client:
            page = await client.get("/ui/")

        policy = page.headers["content-security-policy"]
        assert policy.startswith("default-src 'self';")
        assert "unsafe" not in policy
        assert "require-trusted-types-for 'script'" in policy
        assert page.headers["cache-control"] == "no-cache"
        assert page.headers["x-content-type-options"] == "nosniff"
        assert "<style" not in page.text
        assert re.search(r"<script(?![^>]*\bsrc=)", page.text) is None

    async def test_an_address_without_a_slash_leads_to_it(self) -> None:
        async with served(create_platform()) as client:
            answer = await client.get("/ui")

        assert (answer.status_code, answer.headers["location"]) == (307, "/ui/")

    async def test_a_file_that_is_not_there(self) -> None:
        async with served(create_platform()) as client:
            found = [(await client.get(f"/ui/{name}")).status_code for name in ("nothing.js", "..%2f__init__.py")]

        assert found == [404, 404]


class TestWhoMaySeeIt:
    async def test_the_files_need_no_token_but_data_do(self) -> None:
        async with served(create_platform(), people={ANNA: Person("Anna")}) as client:
            page, data = await client.get("/ui/"), await client.get("/api/runs")

        assert (page.status_code, data.status_code) == (200, 401)

    async def test_only_the_files_are_open(self) -> None:
        async with served(create_platform(), people={ANNA: Person("Anna")}) as client:
            found = [(await client.get(path)).status_code for path in ("/uix", "/api/runs/livez", "/api/agents/ui/")]

        assert found == [401, 401, 401]

    def test_within_another_application(self) -> None:
        inner = app(create_platform(), people={ANNA: Person("Anna")})
        with TestClient(Starlette(routes=[Mount("/agents", inner)])) as client:
            moved = client.get("/agents/ui", follow_redirects=False)
            page, data = client.get("/agents/ui/"), client.get("/agents/api/runs")

        assert moved.headers["location"] == "/agents/ui/"
        assert (page.status_code, data.status_code) == (200, 401)
