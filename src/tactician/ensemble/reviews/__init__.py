"""Reviews: gates at which people decide, and the reviewers of the program."""

from tactician.ensemble.reviews.console import ConsoleReviewer
from tactician.ensemble.reviews.consultation import PersonAnswer, PersonConsultation, Question
from tactician.ensemble.reviews.decision import ReviewDecision
from tactician.ensemble.reviews.events import ReviewDecided, ReviewRequested
from tactician.ensemble.reviews.gate import Gate, GateOutcome, GateTiming, TimedOut, find_gate
from tactician.ensemble.reviews.questions import AskPerson
from tactician.ensemble.reviews.review import OnTimeout, Review, ReviewPolicy, find_timeout_mistakes
from tactician.ensemble.reviews.reviewers import Reviewer, ask_reviewer
from tactician.ensemble.reviews.terminal import rest_while_asking

__all__ = [
    "Review",
    "ReviewPolicy",
    "OnTimeout",
    "ReviewDecision",
    "Reviewer",
    "ConsoleReviewer",
    "AskPerson",
    "PersonAnswer",
    "PersonConsultation",
    "Question",
    "ask_reviewer",
    "rest_while_asking",
    "Gate",
    "GateOutcome",
    "GateTiming",
    "TimedOut",
    "find_gate",
    "find_timeout_mistakes",
    "ReviewRequested",
    "ReviewDecided",
]
