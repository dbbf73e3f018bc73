"""People and programs that use a platform over a network: tokens, roles, rights, and the file that lists them."""

from tactician.people.people_file import load_people
from tactician.people.person import ALL_RIGHTS, LOCAL, Person, Right
from tactician.people.tokens import Tokens, check_token

__all__ = [
    "ALL_RIGHTS",
    "LOCAL",
    "Person",
    "Right",
    "Tokens",
    "check_token",
    "load_people",
]
