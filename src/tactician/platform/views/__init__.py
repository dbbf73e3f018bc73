"""Views of runs, for people, dashboards and other programs: runs, their steps, their events and their traces."""
