"""Notifications of other programs: signed, sent to addresses that were checked, and again when they fail."""
