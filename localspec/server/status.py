"""The state of the server: a page for browsers, its figures as JSON, and metrics. None of it holds a text."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from importlib.resources import files
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from localspec import __version__
from localspec.insight.metrics.registry import CONTENT_TYPE

_INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)


def routes(figures: Callable[[], Mapping[str, Any]], metrics: Callable[[], str]) -> list[Route]:
    """``figures`` gives the state of the service, ``metrics`` OpenMetrics text."""
    page = files("localspec.server").joinpath("status.html").read_text(encoding="utf-8")
    headers = {
        "Content-Security-Policy": _policy(page),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-cache",
    }

    async def status_page(request: Request) -> Response:
        return HTMLResponse(page, headers=headers)

    async def status(request: Request) -> Response:
        return JSONResponse({"version": __version__, **figures()}, headers={"Cache-Control": "no-store"})

    async def scrape(request: Request) -> Response:
        return Response(metrics(), headers={"Content-Type": CONTENT_TYPE})

    return [Route("/", status_page), Route("/localspec/v1/status", status), Route("/metrics", scrape)]


def _policy(page: str) -> str:
    """A Content-Security-Policy under which the page's own script and style run, and nothing else does."""
    own = {kind: base64.b64encode(sha256(text.encode()).digest()).decode() for kind, text in _INLINE.findall(page)}
    return (
        f"default-src 'none'; script-src 'sha256-{own['script']}'; style-src 'sha256-{own['style']}'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
