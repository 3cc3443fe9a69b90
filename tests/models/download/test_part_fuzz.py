"""Whatever lies on the disk as the part of a file and the note beside it, the download ends with the right bytes."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.models.download.support import BIG, World, noise

DATA = noise(3000)
PARTS = st.builds(
    lambda held, tail: DATA[:held] + tail,
    st.sampled_from([0, 1, 1500, 2999, 3000]),
    st.just(b"") | st.binary(max_size=40) | st.just(bytes(4000)),
)
TEXTS = st.text(st.sampled_from('"Wab/\r\n\0é€ \udcff'), max_size=6) | st.just('"an etag of another file"')
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("validator") | TEXTS, inner, max_size=3),
    max_leaves=6,
)
NOTES = (
    st.builds(lambda value: json.dumps({"validator": value}).encode(), JSON)
    | JSON.map(lambda value: json.dumps(value).encode())
    | st.binary(max_size=30)
    | st.just(b"[" * 5_000)
    | st.none()
)


@given(part=PARTS, note=NOTES)
@example(part=DATA + bytes(4000), note=None)
@example(part=bytes(1500), note=None)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
def test_any_part_and_any_note_end_with_the_right_bytes(world: World, part: bytes, note: bytes | None) -> None:
    world.server.add(BIG, "big.gguf", DATA)
    world.server.requests.clear()
    world.events.clear()
    layout = world.layout()
    layout.prepare()
    for path in (layout.snapshot, layout.blob):
        path.unlink(missing_ok=True)
    layout.part.write_bytes(part)
    layout.note.unlink(missing_ok=True)
    if note is not None:
        layout.note.write_bytes(note)
    (path,) = world.fetch()

    assert path.read_bytes() == DATA
    assert not layout.part.exists()
    assert not layout.note.exists()
    assert len(world.server.byte_requests()) <= 2, "once to go on, and once from the beginning"
