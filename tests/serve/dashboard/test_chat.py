"""People talk with agents in the browser."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Request, Route, expect

from tactician import Agent, OperationContext, Planner, UserMessage, action, planned_agent, tool
from tactician.llm import ToolCall
from tests.serve.dashboard.office import Office, TurnModel

if TYPE_CHECKING:
    from tests.serve.dashboard.conftest import OpenPage


@tool(needs_approval=True)
def refund(amount: int) -> str:
    """Pay an amount back."""
    return f"refunded {amount}"


@planned_agent(name="Concierge", description="Knows the hotel", planner=Planner.UTILITY)
class Concierge:
    @action(trigger=UserMessage, can_rerun=True)
    def answer(self, message: UserMessage, context: OperationContext) -> None:
        context.send(f"You said {message.text}.")


@pytest.fixture(autouse=True, scope="module")
def register_agents(office: Office) -> None:
    """Registers agents that chat, one of which asks for approval."""
    clerk = TurnModel("clerk", ToolCall("call", "refund", '{"amount": 5}'), "You get your money back.")
    office.platform.register(
        Agent("Greeter", model=TurnModel("voice", "Hello.", "Hello again.")),
        Agent("Clerk", model=clerk, tools=[refund]),
        Concierge(),
    )


def test_each_message_continues_the_conversation_also_after_a_reload(office: Office, open_page: OpenPage) -> None:
    page = open_page("agents/greeter?try=chat")
    log = page.get_by_role("log")
    page.get_by_role("textbox", name="Message").fill("Hi")
    page.keyboard.press("Enter")
    expect(log).to_contain_text("Hello.")
    page.reload()
    expect(log).to_contain_text("Hi")
    expect(log).to_contain_text("Hello.")
    page.get_by_role("textbox", name="Message").fill("Still here")
    page.keyboard.press("Enter")
    expect(log).to_contain_text("Hello again.")
    page.get_by_role("link", name="Open the run").click()
    expect(page.get_by_role("tree")).to_be_visible()
    page.go_back()
    expect(log).to_contain_text("Still here")
    expect(log).to_contain_text("Hello again.")


def test_there_is_a_list_of_conversations(office: Office, open_page: OpenPage) -> None:
    page = open_page("agents/greeter?try=chat")
    log = page.get_by_role("log")
    for text in ("The first", "The second"):
        page.get_by_role("textbox", name="Message").fill(text)
        page.keyboard.press("Enter")
        expect(log).to_contain_text("Hello.")
        page.get_by_text("Conversations", exact=False).first.click()
        expect(page.get_by_role("list", name="Conversations").get_by_role("link", name=text)).to_be_visible()
        page.get_by_role("link", name="New conversation").click()
        expect(log).not_to_contain_text("Hello.")
    page.get_by_text("Conversations", exact=False).first.click()
    page.get_by_role("link", name="The first").click()
    expect(log).to_contain_text("The first")
    expect(log).not_to_contain_text("The second")


def test_an_approval_is_given_in_the_chat_and_its_answer_comes(office: Office, open_page: OpenPage) -> None:
    page = open_page("agents/clerk?try=chat")
    log = page.get_by_role("log")
    page.get_by_role("textbox", name="Message").fill("My money, please")
    page.keyboard.press("Enter")
    expect(log.get_by_role("region", name="Question")).to_contain_text("refund")
    page.reload()  # the question stays
    log.get_by_role("button", name="Approve").click()
    expect(log).to_contain_text("You get your money back.")
    expect(log.get_by_role("region", name="Question")).to_have_count(0)


def test_an_approval_that_somebody_else_gives_leads_to_the_answer(office: Office, open_page: OpenPage) -> None:
    page = open_page("agents/clerk?try=chat")
    log = page.get_by_role("log")
    page.get_by_role("textbox", name="Message").fill("My money, please")
    page.keyboard.press("Enter")
    expect(log.get_by_role("region", name="Question")).to_contain_text("refund")
    (entry,) = office.call("GET", "/api/requests").json()["requests"]
    body = {"request": entry["request"]["id"], "response": True}
    assert office.call("POST", f"/api/runs/{entry['run_id']}/answers", body).status_code == 200
    expect(log).to_contain_text("You get your money back.")


def test_a_planned_agent_that_reacts_to_messages_has_a_chat_and_no_form_for_it(
    office: Office, open_page: OpenPage
) -> None:
    page = open_page("agents/concierge")
    expect(page.get_by_role("tab", name="Start a run")).to_have_count(0)
    page.get_by_role("textbox", name="Message").fill("hi")
    page.keyboard.press("Enter")
    expect(page.get_by_role("log")).to_contain_text("You said hi.")
    page.get_by_role("textbox", name="Message").fill("bye")
    page.keyboard.press("Enter")
    expect(page.get_by_role("log")).to_contain_text("You said bye.")


def test_an_answer_comes_although_the_connection_breaks(office: Office, open_page: OpenPage) -> None:
    page = open_page("agents/greeter?try=chat")
    tried: list[str] = []

    def break_twice(route: Route) -> None:
        tried.append(route.request.url)
        if len(tried) > 2:
            route.continue_()
        else:
            route.abort()

    page.route("**/messages", break_twice)
    page.get_by_role("textbox", name="Message").fill("Hi")
    page.keyboard.press("Enter")
    expect(page.get_by_role("log")).to_contain_text("Hello.")
    assert len(tried) == 3


def read_key(request: Request) -> str:
    return str(json.loads(request.post_data or "{}")["idempotency_key"])


def test_a_message_that_the_server_has_not_taken_comes_back_to_the_field(office: Office, open_page: OpenPage) -> None:
    page = open_page("agents/greeter?try=chat")
    keys: list[str] = []

    def refuse(route: Route) -> None:
        keys.append(read_key(route.request))
        route.fulfill(status=429, json={"error": {"type": "TooManyRequests", "message": "Too many requests."}})

    page.route("**/messages", refuse)
    field = page.get_by_role("textbox", name="Message")
    field.fill("Good morning")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Too many requests.")
    expect(field).to_have_value("Good morning")
    expect(page.get_by_role("log")).not_to_contain_text("Good morning")
    page.unroute("**/messages")
    with page.expect_request("**/messages") as sent:
        page.keyboard.press("Enter")
    assert read_key(sent.value) == keys[0]
    expect(page.get_by_role("log")).to_contain_text("Hello.")
    expect(page.get_by_role("log").locator(".role")).to_have_text(["user", "Greeter"])


def test_a_message_whose_run_failed_stays_and_leads_to_the_run(office: Office, open_page: OpenPage) -> None:
    page = open_page("agents/broken?try=chat")
    page.get_by_role("textbox", name="Message").fill("Hi")
    page.keyboard.press("Enter")
    expect(page.locator(".chat .problem")).not_to_be_empty()
    expect(page.get_by_role("log")).to_contain_text("Hi")
    expect(page.get_by_role("textbox", name="Message")).to_have_value("")
    page.get_by_role("link", name="Open the run").click()
    page.get_by_role("tab", name="Problems").click()
    expect(page.get_by_text("Broken failed", exact=True).first).to_be_visible()


def test_an_ensemble_has_a_field_for_each_value(office: Office, open_page: OpenPage) -> None:
    page = open_page("agents/newsroom")
    expect(page.get_by_role("tab", name="Chat")).to_have_count(0)
    page.get_by_label("Topic").fill("frogs")
    expect(page.locator(".field-hint")).to_have_count(0)  # "the topic" says nothing that the label does not say
    page.get_by_role("button", name="Start run").click()
    expect(page.locator(".page-head")).to_contain_text("waiting")
    run_id = page.url.rpartition("/")[2]
    assert office.wait_for(run_id, "waiting")["pending"][0]["prompt"].endswith("Frogs are nice.")
