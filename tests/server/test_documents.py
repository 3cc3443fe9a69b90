"""Documents in requests, in the forms of every API that has them."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import httpx2
import pytest

from localspec.base.errors import InputError
from localspec.chat.compose.attachment import Attachment
from localspec.chat.compose.file_reading import read_attachment
from localspec.server import documents
from localspec.server.app import make_app
from localspec.server.documents import document_from_base64
from localspec.server.failures import InvalidFieldError
from localspec.store.file_blocks import TextFile
from tests.chat.papers.documents import pdf
from tests.server.fakes import FakeService, said
from tests.tiny_projectors import write_png


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


TWO_PAGES = encoded(pdf(["The rain in Spain", "stays mainly in the plain."]))
SOURCE = {"type": "base64", "media_type": "application/pdf", "data": TWO_PAGES}
FILE = {"filename": "rain.pdf", "file_data": f"data:application/pdf;base64,{TWO_PAGES}"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": [{"type": "file", "file": FILE}]}]}),
        ("/v1/responses", {"input": [{"role": "user", "content": [{"type": "input_file", **FILE}]}]}),
        (
            "/v1/responses",
            {"input": [{"type": "function_call_output", "call_id": "a", "output": [{"type": "input_file", **FILE}]}]},
        ),
        (
            "/v1/messages",
            {"messages": [{"role": "user", "content": [{"type": "document", "title": "rain.pdf", "source": SOURCE}]}]},
        ),
    ],
)
async def test_a_pdf_is_read_as_text(path: str, body: dict[str, Any]) -> None:
    service = FakeService([said("Yes.")])
    transport = httpx2.ASGITransport(make_app(service))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answer = await client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    prompt = service.asked[0].prompt
    assert isinstance(prompt, tuple)
    assert "File: rain.pdf\n```pdf\n" in prompt[-1].content
    assert "The rain in Spain" in prompt[-1].content
    assert "stays mainly in the plain." in prompt[-1].content


async def test_a_document_is_read_once_however_often_a_conversation_repeats_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The latest are kept, by what is in them and by their names."""
    read_n = 0

    def counted(path: Path, name: str, n_ctx: int, cancelled: Callable[[], bool]) -> Attachment:
        nonlocal read_n
        read_n += 1
        return read_attachment(path, name, n_ctx, cancelled)

    monkeypatch.setattr(documents, "read_attachment", counted)
    monkeypatch.setattr(documents, "_latest", {})
    first = await document_from_base64(encoded(b"Rain."), "a.txt", "file")
    assert first == "File: a.txt\n```txt\nRain.\n```\n"
    assert await document_from_base64(encoded(b"Rain."), "a.txt", "file") == first
    assert read_n == 1
    assert await document_from_base64(encoded(b"Rain."), "b.txt", "file") != first
    for number in range(20):
        await document_from_base64(encoded(b"Rain, %d." % number), "", "file")
    assert await document_from_base64(encoded(b"Rain."), "a.txt", "file") == first
    assert read_n == 23


async def test_reading_ends_when_nobody_waits_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a beginning that was read till then is not kept as the whole."""
    begun, ended = Event(), Event()

    def slow(path: Path, name: str, n_ctx: int, cancelled: Callable[[], bool]) -> Attachment:
        begun.set()
        while not cancelled():
            pass
        ended.set()
        return Attachment(name, (TextFile(name, "The beginning"),))

    kept: dict[bytes, str] = {}
    monkeypatch.setattr(documents, "read_attachment", slow)
    monkeypatch.setattr(documents, "_latest", kept)
    reading = asyncio.create_task(document_from_base64(encoded(b"Rain."), "a.txt", "file"))
    await asyncio.to_thread(begun.wait)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    await asyncio.to_thread(ended.wait)
    assert "The beginning" in documents._block(b"Rain.", "a.txt", lambda: True)
    assert not kept


async def test_what_is_no_document_is_refused_with_the_field(tmp_path: Path) -> None:
    picture = write_png(tmp_path / "cat.png", 8).read_bytes()
    for content, why in ((picture, "is an image"), (b"\0\1\2", "is not text"), (pdf([""]), "no text")):
        with pytest.raises(InvalidFieldError, match=why) as caught:
            await document_from_base64(encoded(content), "x", "file_data")
        assert caught.value.param == "file_data"
    with pytest.raises(InvalidFieldError, match="no base64"):
        await document_from_base64("?", "x", "file_data")


async def test_a_refusal_names_no_folder_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> Attachment:
        raise InputError("Reading a PDF needs pypdf.", "Install it: /home/me/bin/pip install pypdf")

    monkeypatch.setattr(documents, "read_attachment", refused)
    with pytest.raises(InvalidFieldError) as caught:
        await document_from_base64(TWO_PAGES, "other.pdf", "file")
    assert caught.value.hint == "Install it: pip install pypdf"


async def test_a_name_is_one_line_and_chooses_no_place() -> None:
    block = await document_from_base64(encoded(b"Rain."), "../../etc\n\x1b[2Jpasswd", "file")
    head, *_ = block.split("\n")
    assert head.startswith("File: ../../etc")
    assert head.endswith("passwd")
    assert head.isprintable()
