"""Loggers of the package. Their records show no secrets, and command nothing on a terminal."""

from __future__ import annotations

import logging
from traceback import format_exception

from tactician.text import escape_controls


def get_logger(name: str) -> logging.Logger:
    """Return the logger of a module. All handlers get its records masked."""
    logger = logging.getLogger(name)
    logger.addFilter(mask_record)
    return logger


def mask_program_logs() -> None:
    """Mask what other libraries log in a program of ours, such as a server's tracebacks of its tasks."""
    for handler in (logging.lastResort, *logging.getLogger().handlers):
        if handler is not None:
            handler.addFilter(mask_record)
    logging.getLogger("uvicorn.error").addFilter(mask_record)


def mask_record(record: logging.LogRecord) -> bool:
    """Mask the secrets in the text and the traceback of a record, and let it pass: a filter of loggers and handlers.

    A record without secrets stays as it is, for handlers that read its arguments or its exception.
    """
    from tactician.secrets import mask_secrets

    try:
        text = record.getMessage()
    except Exception:  # the handler reports a wrong format
        return True
    if (safe := escape_controls(mask_secrets(text))) != text:
        record.msg, record.args = safe, None
    if record.exc_info and record.exc_info[1] is not None:
        text = "".join(format_exception(record.exc_info[1]))
        if (safe := escape_controls(mask_secrets(text))) != text:
            record.exc_info, record.exc_text = None, safe.rstrip()
    return True
