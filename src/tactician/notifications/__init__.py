"""Notifications of other programs: signed, sent to addresses that were checked, and again when they fail."""

from tactician.notifications.signatures import create_webhook_secret, sign_webhook
from tactician.notifications.webhooks import (
    NotificationError,
    UnsafeAddressError,
    Webhook,
    WebhookSender,
    check_webhook_address,
    send_once,
)

__all__ = [
    "NotificationError",
    "UnsafeAddressError",
    "Webhook",
    "WebhookSender",
    "check_webhook_address",
    "create_webhook_secret",
    "send_once",
    "sign_webhook",
]
