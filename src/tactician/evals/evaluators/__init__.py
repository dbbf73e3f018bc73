"""Evaluators of runs: tools, plans, teams, documents, answers, costs and judges."""
