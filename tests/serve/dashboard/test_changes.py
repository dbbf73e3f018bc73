"""A coding agent in the browser: its command and its change are approved, and shown as a patch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tactician.coding import CodingAgent, CommandPolicy
from tactician.testing import ScriptedModel, ToolCall
from tests.coding.support import create_repository
from tests.serve.dashboard.office import Office

if TYPE_CHECKING:
    from tests.serve.dashboard.conftest import OpenPage


@pytest.fixture
def coder(office: Office, tmp_path: Path) -> Path:
    folder = create_repository(tmp_path / "shop", {"shop.py": "def total(prices):\n    return sum(prices[1:])\n"})
    model = ScriptedModel(
        ToolCall("shell", command="echo checked > log.txt"),
        ToolCall("edit_file", path="shop.py", old_text="prices[1:]", new_text="prices"),
        "Removed the slice.",
    )
    agent = CodingAgent(
        "Coder", model=model, workspace=folder, commands=CommandPolicy(mode="ask"), require_approval=True
    )
    office.platform.register(agent)
    return folder


def test_a_person_approves_a_command_and_a_change_and_sees_the_patch(
    office: Office, coder: Path, open_page: OpenPage
) -> None:
    run_id = office.start_run("coder", "The total is too low")
    office.wait_for(run_id, "waiting")
    page = open_page(f"waiting?run={run_id}")
    request = page.get_by_role("region", name="Request")
    expect(request.get_by_text("May this command run, in .?")).to_be_visible()
    expect(request.get_by_text("echo checked > log.txt").first).to_be_visible()
    page.get_by_role("button", name="Approve").first.click()
    expect(request.get_by_text("May shop.py be changed?")).to_be_visible()
    expect(request.get_by_text("+prices").first).to_be_visible()
    page.get_by_role("button", name="Approve").first.click()
    office.wait_for(run_id, "completed")
    assert (coder / "log.txt").read_text() == "checked\n"

    page = open_page(f"runs/{run_id}")
    page.get_by_role("tab", name="Changes").click()
    patch = page.get_by_label("Changes of shop.py")
    expect(patch.locator(".patch-removed")).to_have_text("-    return sum(prices[1:])\n")
    expect(patch.locator(".patch-added")).to_have_text("+    return sum(prices)\n")
