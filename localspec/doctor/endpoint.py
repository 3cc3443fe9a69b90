"""The finding on the network: the Hub answers, or the reason why it does not."""

from __future__ import annotations

import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Mapping

from localspec.doctor.finding import NOTE, OK, Finding

_TIMEOUT_S = 3.0
_TRUE = {"1", "on", "yes", "true"}
_LATER = "Everything on this machine works without it; pairs cannot be downloaded."

_CERTIFICATE = "Behind a proxy that decrypts connections, set SSL_CERT_FILE to its certificate; else check the clock."


def look_at_endpoint(environ: Mapping[str, str] = os.environ, timeout_s: float = _TIMEOUT_S) -> Finding:
    address = (environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
    if environ.get("HF_HUB_OFFLINE", "").lower() in _TRUE:
        return Finding("network", NOTE, f"HF_HUB_OFFLINE is set: {address} is not contacted.", _LATER)
    if not address.startswith(("https://", "http://")):
        return Finding("network", NOTE, f"HF_ENDPOINT is not an address: {address}.", "It must begin with https://.")
    try:
        request = urllib.request.Request(address, method="HEAD")  # noqa: S310 -- the scheme was checked
        with urllib.request.urlopen(request, timeout=timeout_s):  # noqa: S310
            pass
    except urllib.error.HTTPError:
        pass  # any status is an answer
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = str(getattr(error, "reason", None) or error) or type(error).__name__
        hint = _CERTIFICATE if "CERTIFICATE_VERIFY_FAILED" in reason else _LATER
        return Finding("network", NOTE, f"{address} does not answer: {reason}.", hint)
    return Finding("network", OK, f"{address} answers.")
