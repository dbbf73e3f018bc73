"""How runs stand and end: status, result, errors, budget, and what a run waits for."""
