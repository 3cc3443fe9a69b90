"""The kind of a file that is not GGUF though it should be, guessed from its first bytes."""

from __future__ import annotations


def guess(start: bytes) -> tuple[str, str]:
    """The end of the sentence "FILE is not a GGUF file...", and a hint."""
    other_format = "Look for a GGUF version of the model; such repositories usually end in -GGUF."
    failed = "The download went wrong; fetch the file again."
    text = start.lstrip().lower()
    if text.startswith((b"<!doctype html", b"<html")):
        return " but a web page", f"{failed} The site may have asked you to sign in."
    if text.startswith(b"version https://git-lfs"):
        return " but a git-lfs pointer to one", "Run `git lfs pull` where it was cloned, or download the file itself."
    if start.startswith(b"PK\x03\x04"):
        return " but a zip archive, perhaps a PyTorch checkpoint", other_format
    if start[8:9] == b"{" and start[5:8] == b"\0\0\0":
        return " but a safetensors file", other_format
    if start.startswith((b"lmgg", b"tjgg", b"fmgg", b"algg")):
        return " but its predecessor, GGML", other_format
    if text.startswith(b"{"):
        return " but JSON text", f"{failed} The server may have sent an error."
    if not start.strip(b"\0"):
        return ": it begins with zeros", failed
    return "", other_format
