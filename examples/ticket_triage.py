"""Support tickets are dealt with: at each step, whatever is worth most is done. No model is needed.

Run it with `tactician run examples/ticket_triage.py "The shop is down, nobody can log in with their password"`, or a
ticket about a bug, or a question.
"""

from dataclasses import dataclass

from pydantic import BaseModel

from tactician import PlannedAgent, Planner, UserInput, achieves_goal, action, component, state
from tactician.agents import combine_specs


class Ticket(BaseModel):
    text: str

    def mentions(self, *words: str) -> bool:
        return any(word in self.text.lower() for word in words)


class Warned(BaseModel):
    """Somebody was told about a ticket."""

    who: str


class ResolvedTicket(BaseModel):
    resolution: str
    handled_by: str

    def __str__(self) -> str:
        return f"{self.resolution} ({self.handled_by})"


@state
@dataclass(frozen=True)
class Category:
    """What kind of ticket it is: what can be done about it is what the kind declares."""

    ticket: Ticket


@dataclass(frozen=True)
class Critical(Category):
    @action(value=0.9, cost=0.2)
    def page_engineer(self) -> Warned:
        """Wakes somebody up: dear, and still worth more than anything else."""
        return Warned(who="the engineer on call")

    @action(value=0.6)
    def update_status_page(self) -> None:
        """Tells all customers."""

    @achieves_goal("The ticket is escalated")
    @action(value=0.5)
    def escalate(self, warned: Warned) -> ResolvedTicket:
        """Hands it over."""
        return ResolvedTicket(resolution=f"Escalated to {warned.who}", handled_by="critical response")

    @action(value=0.3)
    def send_survey(self) -> None:
        """Asks how it was: worth so little that the ticket is closed before."""


@dataclass(frozen=True)
class Bug(Category):
    @achieves_goal("The bug is logged")
    @action
    def log_bug(self) -> ResolvedTicket:
        """Opens an issue."""
        return ResolvedTicket(resolution="Logged in the issue tracker", handled_by="engineering")


@dataclass(frozen=True)
class Question(Category):
    @achieves_goal("The question is answered")
    @action
    def answer(self) -> ResolvedTicket:
        """Sends what is known."""
        return ResolvedTicket(resolution="Answered with links to the handbook", handled_by="support")


@component
class Triage:
    """Finds out what kind of ticket it is."""

    @action
    def read(self, user_input: UserInput) -> Ticket:
        """Makes a ticket of what somebody wrote."""
        return Ticket(text=user_input.content)

    @action(value=0.5)
    def sort(self, ticket: Ticket) -> Critical | Bug | Question:
        """Decides by a few words."""
        if ticket.mentions("down", "outage"):
            return Critical(ticket)
        return Bug(ticket) if ticket.mentions("bug", "crash") else Question(ticket)


@component
class Security:
    """What another team contributes: the triage knows nothing of it."""

    @action(trigger=Ticket, pre=["expr: 'password' in ticket.text"], value=0.9)
    def warn_security(self, ticket: Ticket) -> Warned:
        """Reacts to a new ticket before anybody else does."""
        return Warned(who="the security team")


agent = PlannedAgent.of(
    combine_specs(
        [Triage(), Security()], name="Tickets", description="Deals with support tickets", planner=Planner.UTILITY
    )
)
