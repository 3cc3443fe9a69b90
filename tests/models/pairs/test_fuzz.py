"""Files that others write: Ollama's manifests, and the catalogue with any change in it."""

from __future__ import annotations

import json
import re
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from localspec.base.errors import ConfigError
from localspec.base.paths import shipped
from localspec.models.pairs.scan import find_files, scan
from localspec.models.pairs.schema import read_pairs
from tests.gguf_files import write

CATALOGUE = shipped("models.toml").read_text(encoding="utf-8")
TEXTS = st.text(st.sampled_from("../a:-\\\0é\udcff\n"), max_size=5)
DIGESTS = st.sampled_from(["sha256:" + "0" * 64, "sha256-" + "f" * 64, "sha256:" + "0" * 63, "sha256:" + "../" * 22])
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | TEXTS | DIGESTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["layers", "mediaType", "digest", "size"]), inner, max_size=4)
    ),
    max_leaves=10,
)
LAYERS = st.fixed_dictionaries(
    {"mediaType": st.just("application/vnd.ollama.image.model") | JSON, "digest": DIGESTS | JSON}
)
MANIFESTS = (
    st.lists(LAYERS | JSON, max_size=3).map(lambda layers: json.dumps({"layers": layers}).encode())
    | JSON.map(lambda value: json.dumps(value).encode())
    | st.binary(max_size=60)
    | st.sampled_from([b"[" * 5_000, b'{"layers": ' + b"9" * 5000 + b"}", b"\xef\xbb\xbf{}"])
)
NAMES_A_BLOB = b'{"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:%s"}]}' % (b"0" * 64)


@given(manifest=MANIFESTS)
@example(manifest=NAMES_A_BLOB)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=150)
def test_any_manifest_leads_to_a_blob_or_nowhere(tmp_path: Path, manifest: bytes) -> None:
    models = tmp_path / ".ollama" / "models"
    write(models / "manifests/registry.ollama.ai/library/x/y", manifest)
    found = list(find_files((), {"HOME": str(tmp_path)}))

    assert found or manifest != NAMES_A_BLOB
    assert all(each.path.parent == models / "blobs" for each in found)
    assert all(re.fullmatch("sha256-[0-9a-f]{64}", each.path.name) for each in found)
    assert all(model.problem for model in scan(found).models), "there is no blob"


@given(
    at=st.integers(0, len(CATALOGUE)),
    gone=st.integers(0, 8) | st.integers(0, 400),
    text=st.text(st.sampled_from("[]{}=\"'#\n\r\t .,_-0aé\\\x00\ud800"), max_size=6),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
def test_any_change_of_the_catalogue_is_understood_or_complained_about(
    tmp_path: Path, at: int, gone: int, text: str
) -> None:
    changed = CATALOGUE[:at] + text + CATALOGUE[at + gone :]
    path = write(tmp_path / "models.toml", changed.encode(errors="surrogatepass"))
    said, hint = f"{path}, line 1", "none needed"
    try:
        read_pairs(path, locate=lambda file: tmp_path / file, shipped=True)
    except ConfigError as error:
        said, hint = error.message, error.hint
    assert said.startswith(str(path))
    assert re.search(r"line \d+|at end of document|not UTF-8|not valid TOML", said), said
    assert hint
