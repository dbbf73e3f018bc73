"""Rules that runs keep: their meaning, what they refuse, and planning under them.

A rule speaks of the finite trace of a run, s0 a1 s1 ... an sn, of which only successful actions count.
"""

from tactician.planning.rules.rule import Event as Event
from tactician.planning.rules.rule import Rule as Rule
from tactician.planning.rules.rule import after as after
from tactician.planning.rules.rule import all_of as all_of
from tactician.planning.rules.rule import always as always
from tactician.planning.rules.rule import any_of as any_of
from tactician.planning.rules.rule import at_least as at_least
from tactician.planning.rules.rule import at_most as at_most
from tactician.planning.rules.rule import before as before
from tactician.planning.rules.rule import never as never
from tactician.planning.rules.rule import prefer as prefer
from tactician.planning.rules.rule import sometime as sometime
from tactician.planning.rules.rule import within as within
