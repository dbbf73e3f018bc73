"""Reviews: gates at which people decide, and the reviewers of the program."""

from tactician.ensemble.reviews.console import ConsoleReviewer
from tactician.ensemble.reviews.consultation import Question, Reviewer, ReviewerConsultation, call_reviewer, is_admitted
from tactician.ensemble.reviews.decision import ReviewDecision
from tactician.ensemble.reviews.events import ReviewDecided, ReviewRequested
from tactician.ensemble.reviews.gate import Gate, GateOutcome, TimedOut, find_gate
from tactician.ensemble.reviews.questions import AskPerson
from tactician.ensemble.reviews.review import Review, ReviewPolicy

__all__ = [
    "Review",
    "ReviewPolicy",
    "ReviewDecision",
    "Reviewer",
    "ConsoleReviewer",
    "AskPerson",
    "Question",
    "ReviewerConsultation",
    "call_reviewer",
    "is_admitted",
    "Gate",
    "GateOutcome",
    "TimedOut",
    "find_gate",
    "ReviewRequested",
    "ReviewDecided",
]
