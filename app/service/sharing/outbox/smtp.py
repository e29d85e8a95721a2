"""E-mail through the operator's SMTP server, by TLS wherever the server offers it."""

from __future__ import annotations

import smtplib
import ssl
from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

from app.service.resources import MailServer

ATTEMPT_SECONDS = 10.0
LOOPBACK = ("localhost", "127.0.0.1", "::1")
ACCEPTED, UNAVAILABLE = 250, 421
PERMANENT = 500
"""The first status after which a server wants no further attempt (RFC 5321)."""


def send_email(server: MailServer, to: str, subject: str, text: str) -> tuple[int | None, str]:
    """Send one message; return the status of SMTP, if any, and a note without the server's words."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = server.sender, to, subject
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(text)
    parts = urlsplit(server.url)
    host, secure = parts.hostname or "", parts.scheme == "smtps"
    context = ssl.create_default_context()
    try:
        with (
            smtplib.SMTP_SSL(host, parts.port or 465, timeout=ATTEMPT_SECONDS, context=context)
            if secure
            else smtplib.SMTP(host, parts.port or 25, timeout=ATTEMPT_SECONDS)
        ) as connection:
            connection.ehlo()
            if not secure and connection.has_extn("starttls"):
                connection.starttls(context=context)
                secure = True
            if parts.username:
                if not secure and host not in LOOPBACK:
                    return None, "not sent: the server offers no encryption for the password"
                connection.login(unquote(parts.username), unquote(parts.password or ""))
            connection.send_message(message)
    except smtplib.SMTPResponseException as refused:
        return refused.smtp_code, f"status {refused.smtp_code}"
    except smtplib.SMTPRecipientsRefused as refused:
        status = next(iter(refused.recipients.values()))[0]
        return status, f"status {status}"
    except (OSError, smtplib.SMTPException) as failure:
        return None, f"no answer ({type(failure).__name__})"
    return ACCEPTED, f"status {ACCEPTED}"
