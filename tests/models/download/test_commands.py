"""``localspec pairs pull`` and ``localspec pairs check``, over the real client and a Hub on loopback."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

import pytest

from localspec.base.errors import DownloadError, ModelFileError, NotFoundError, PairMismatchError, UsageError
from localspec.base.paths import user_paths
from localspec.gguf import read_header
from localspec.models.pairs import load_catalogue
from localspec.models.pairs.hub_cache import cached_files, hub_cache
from localspec.models.pairs.proofs import proofs_file, read_proofs
from localspec.models.pairs.unfinished import PART_SUFFIX
from tests.cli.conftest import Localspec
from tests.gguf_files import TOKENS, Tensor, model, write
from tests.hub import HubServer, Refuse, Repo, WrongBytes
from tests.hub.server import COMMIT
from tests.models.download.support import BIG, SMALL

TARGET = model(tensors=[Tensor("token_embd.weight", (64, 1000))])
DRAFT = model()
OTHER = model(tokens=(*TOKENS[:9], "zzz", *TOKENS[10:]))


def catalogue(**more: str) -> None:
    extra = {"target": "", "draft": ""} | more
    text = f"""
[[pairs]]
id = "mine"
title = "Mine"
[pairs.target]
repo = "{BIG}"
file = "big-Q4_K_M.gguf"
{extra["target"]}
[pairs.draft]
repo = "{SMALL}"
file = "small-Q8_0.gguf"
{extra["draft"]}
"""
    write(user_paths().config / "pairs.toml", text.encode())


@pytest.fixture(autouse=True)
def _pair(server: HubServer) -> None:
    server.add(BIG, "big-Q4_K_M.gguf", TARGET)
    server.add(SMALL, "small-Q8_0.gguf", DRAFT)
    catalogue()


def test_pull_brings_a_pair_that_can_then_be_used(localspec: Localspec, server: HubServer) -> None:
    done = localspec("pairs", "pull", "mine")
    assert (done.code, done.out) == (0, "mine is here: localspec --pair mine\n"), done.err
    files = load_catalogue().find("mine").files()
    assert files.target.read_bytes() == TARGET
    assert files.draft is not None
    assert files.draft.read_bytes() == DRAFT


def test_a_finished_pull_is_written_down_as_verified(localspec: Localspec) -> None:
    assert "verified   no" in localspec("pairs", "info", "mine").out
    pins = {name: f'sha256 = "{sha256(data).hexdigest()}"' for name, data in (("target", TARGET), ("draft", DRAFT))}
    catalogue(**pins)
    assert "verified   by its download: size and sha256 are pinned" in localspec("pairs", "info", "mine").out
    catalogue(target=pins["target"])
    assert "verified   no" in localspec("pairs", "info", "mine").out, "of the draft nothing is known"
    localspec("pairs", "pull", "mine")

    out = localspec("pairs", "info", "mine").out
    assert "verified   no" not in out
    for data in (TARGET, DRAFT):
        assert f"sha256 {sha256(data).hexdigest()[:12]}..., {len(data):,} bytes, vocabulary " in out
    record = json.loads(localspec("pairs", "info", "mine", "--json").out)
    assert record["verified"]
    fingerprint = read_header(load_catalogue().find("mine").files().target).fingerprint
    for file, data in zip(record["files"], (TARGET, DRAFT), strict=True):
        assert (file["sha256"], file["fingerprint"]) == (sha256(data).hexdigest(), fingerprint)
        assert (file["revision"], file["size_bytes"]) == (COMMIT, len(data))


def test_a_pull_that_fails_verifies_only_what_is_complete(localspec: Localspec, server: HubServer) -> None:
    localspec("pairs", "pull", "mine")
    proofs = read_proofs()
    assert set(proofs) == {f"{BIG}/big-Q4_K_M.gguf", f"{SMALL}/small-Q8_0.gguf"}
    proofs_file().unlink()
    server.repos[BIG].gated = True
    shutil.rmtree(hub_cache())
    assert localspec("pairs", "pull", "mine").code == DownloadError.exit_code
    assert read_proofs() == {}


def test_a_split_model_is_verified_when_all_its_parts_are(server: HubServer, localspec: Localspec) -> None:
    for number in (1, 2):
        server.add(BIG, f"big-{number:05}-of-00002.gguf", TARGET if number == 1 else bytes(1000))
    path = user_paths().config / "pairs.toml"
    path.write_text(path.read_text().replace("big-Q4_K_M.gguf", "big-00001-of-00002.gguf"))
    assert localspec("pairs", "pull", "mine").code == 0
    proof = load_catalogue().find("mine").target.proof
    assert proof is not None
    assert (proof.sha256, proof.size_bytes) == (None, len(TARGET) + 1000)
    kept = {label: proof for label, proof in read_proofs().items() if "00002-of" not in label}
    proofs_file().write_text(json.dumps({label: asdict(proof) for label, proof in kept.items()}))
    assert load_catalogue().find("mine").target.proof is None


PROOF = '{"revision": "r", "sha256": null, "size_bytes": "9", "fingerprint": null, "on": "2026-11-22"}'


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"a": 1}', '{"a": {"b": 2}}', "\ufeff", "[" * 5000, f'{{"{BIG}/big-Q4_K_M.gguf": {PROOF}}}'],
)
def test_proofs_that_cannot_be_read_are_none(localspec: Localspec, text: str) -> None:
    write(proofs_file(), text.encode())
    assert read_proofs() == {}
    assert localspec("pairs", "pull", "mine").code == 0
    assert len(read_proofs()) == 2


def test_a_disk_that_refuses_a_proof_refuses_no_pull(localspec: Localspec) -> None:
    write(user_paths().data, b"a file where a folder should be")
    assert localspec("pairs", "pull", "mine").code == 0
    assert not load_catalogue().find("mine").verified


def test_pull_of_what_is_here_asks_nobody(localspec: Localspec, server: HubServer) -> None:
    localspec("pairs", "pull", "mine")
    server.requests.clear()
    done = localspec("pairs", "pull", "mine")
    assert done.code == 0
    assert "nothing to fetch" in done.err
    assert server.requests == []


def test_pull_refuses_a_mismatch_before_anything_large_is_fetched(localspec: Localspec, server: HubServer) -> None:
    server.add(SMALL, "small-Q8_0.gguf", OTHER)
    done = localspec("pairs", "pull", "mine")
    assert done.code == PairMismatchError.exit_code
    assert "token 9 is 'abc' in the target and 'zzz' in the draft" in done.err.replace('"', "'")
    assert cached_files(BIG, "big-Q4_K_M.gguf") == []


def test_a_byte_that_is_wrong_on_the_way_condemns_no_pair(localspec: Localspec, server: HubServer) -> None:
    """Nothing proves a header before its file is whole; a refusal by it is asked for once more."""
    server.faults = [WrongBytes(TARGET.index(TOKENS[9].encode()))]
    done = localspec("pairs", "pull", "mine")
    assert done.code == 0, done.err
    assert load_catalogue().find("mine").files().target.read_bytes() == TARGET


def test_pull_as_json_is_one_object_a_line(localspec: Localspec) -> None:
    done = localspec("pairs", "pull", "mine", "--json")
    events = [json.loads(line) for line in done.out.splitlines()]
    assert [event["event"] for event in events if event["event"] != "progress"] == [
        "plan",
        "fetched",
        "fetched",
        "done",
    ]
    assert {file["file"] for file in events[0]["missing"]} == {f"{BIG}/big-Q4_K_M.gguf", f"{SMALL}/small-Q8_0.gguf"}
    progress = [event for event in events if event["event"] == "progress"]
    assert progress[-1]["done_bytes"] == progress[-1]["total_bytes"] == len(TARGET) + len(DRAFT)
    assert done.err == ""


@pytest.mark.parametrize("fact", ["size_bytes = 17", f'sha256 = "{"0" * 64}"'])
def test_pull_refuses_another_file_than_the_catalogue_means(localspec: Localspec, fact: str) -> None:
    catalogue(target=fact)
    done = localspec("pairs", "pull", "mine")
    assert done.code == DownloadError.exit_code
    assert "is not the catalogued file" in done.err


def test_pull_tells_of_a_renamed_repository(localspec: Localspec, server: HubServer) -> None:
    server.repos["Owner/New-GGUF"] = server.repos[BIG]
    server.repos[BIG] = Repo(moved_to="Owner/New-GGUF")
    done = localspec("pairs", "pull", "mine")
    assert done.code == 0, done.err
    assert f"{BIG} is now called Owner/New-GGUF" in done.err
    assert load_catalogue().find("mine").files()


@pytest.mark.parametrize(
    ("arguments", "code"), [(["nope"], NotFoundError.exit_code), ([], 2), (["mine", "nope"], NotFoundError.exit_code)]
)
def test_pull_of_a_pair_that_there_is_not(
    localspec: Localspec, server: HubServer, arguments: list[str], code: int
) -> None:
    assert localspec("pairs", "pull", *arguments).code == code
    assert server.requests == []


def test_pull_stopped_from_the_keyboard_keeps_what_has_arrived(
    localspec: Localspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> Iterator[object]:
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr("localspec.models.download.pull.fetch", interrupted)
    done = localspec("pairs", "pull", "mine")
    assert done.code == 130
    assert "What has arrived is kept" in done.err


def test_pull_that_is_asked_to_end_says_a_sentence(localspec: Localspec, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGTERM, as from a service manager or a machine that shuts down."""
    before = signal.getsignal(signal.SIGTERM)

    def terminated(*_: object) -> Iterator[object]:
        signal.raise_signal(signal.SIGTERM)
        yield from ()

    monkeypatch.setattr("localspec.models.download.pull.fetch", terminated)
    done = localspec("pairs", "pull", "mine")
    assert done.code == 143
    assert "What has arrived is kept" in done.err
    assert signal.getsignal(signal.SIGTERM) is before


def part_of(data: bytes, held: bytes) -> Path:
    """The partial file of the target that an interrupted download has left."""
    name = f"{sha256(data).hexdigest()}{PART_SUFFIX}"
    return write(hub_cache() / f"models--{BIG.replace('/', '--')}" / "blobs" / name, held)


def test_a_header_that_the_part_holds_is_not_fetched_again(localspec: Localspec, server: HubServer) -> None:
    part_of(TARGET, TARGET[:-5])
    assert localspec("pairs", "pull", "mine").code == 0
    assert load_catalogue().find("mine").files().target.read_bytes() == TARGET
    asked = [path for method, path, _ in server.requests if method == "GET" and path.startswith("/cdn/")]
    assert asked.count(f"/cdn/{BIG}/big-Q4_K_M.gguf") == 1, "for the rest of it"
    assert server.sent_bytes == 5 + 2 * len(DRAFT), "the draft's header, and the draft"


def test_a_header_goes_on_where_the_part_ends(localspec: Localspec, server: HubServer) -> None:
    part_of(TARGET, TARGET[:10])
    assert localspec("pairs", "pull", "mine").code == 0
    assert {headers["range"] for headers in server.byte_requests() if "range" in headers} >= {
        f"bytes=10-{len(TARGET) - 1}",
        "bytes=10-",
    }


@pytest.mark.parametrize("held", [b"no GGUF at all", OTHER[:-5]], ids=["no model", "another vocabulary"])
def test_a_part_that_is_wrong_condemns_no_pair(localspec: Localspec, held: bytes) -> None:
    part_of(TARGET, held)
    done = localspec("pairs", "pull", "mine")
    assert done.code == 0, done.err
    assert load_catalogue().find("mine").files().target.read_bytes() == TARGET


# Check


def test_check_of_files_here_and_on_the_hub(localspec: Localspec, tmp_path: Path, server: HubServer) -> None:
    here = write(tmp_path / "here.gguf", TARGET)
    done = localspec("pairs", "check", here, f"{SMALL}:Q8_0")
    assert done.code == 0, done.err
    drafts, calls = done.out.splitlines()
    assert drafts == "small-Q8_0.gguf can draft for here.gguf."
    assert calls.startswith("here.gguf calls tools: by a description")
    assert localspec("pairs", "check", f"{BIG}:big-Q4_K_M.gguf", here).code == 0


def test_check_names_the_first_token_that_differs(localspec: Localspec, tmp_path: Path) -> None:
    other = write(tmp_path / "other.gguf", OTHER)
    done = localspec("pairs", "check", f"{BIG}:Q4_K_M", other, "--json")
    assert done.code == PairMismatchError.exit_code
    verdict = json.loads(done.out)
    assert (verdict["fits"], verdict["token_id"]) == (False, 9)
    assert verdict["draft"]["file"] == "other.gguf"


def test_check_of_repositories_with_one_model(localspec: Localspec, server: HubServer) -> None:
    """First of their headers on the Hub, then of their files in its cache."""
    assert localspec("pairs", "check", BIG, SMALL).out.startswith("small-Q8_0.gguf can draft for big-Q4_K_M.gguf.\n")
    localspec("pairs", "pull", "mine")
    server.requests.clear()
    assert localspec("pairs", "check", BIG, SMALL).code == 0
    assert server.requests == []


def test_a_path_that_is_mistyped_is_no_repository(localspec: Localspec, server: HubServer) -> None:
    assert localspec("pairs", "check", "models/x.gguf", "models/x.gguf").code == NotFoundError.exit_code
    assert server.requests == []


@pytest.mark.parametrize("reference", ["{here}", "Owner/Twins:Q8_0"])
@pytest.mark.parametrize(
    "command",
    [
        ("check", "{twins}", "{big}"),
        ("check", "{big}", "{twins}"),
        ("add", "--target", "{twins}", "--alone"),
        ("add", "--target", "{big}", "--draft", "{twins}"),
    ],
)
def test_a_vocabulary_that_llama_cpp_would_die_of_is_refused(
    localspec: Localspec, tmp_path: Path, server: HubServer, command: tuple[str, ...], reference: str
) -> None:
    """A file here and one of which only the header is fetched; nothing is written down."""
    data = model(tokens=(*TOKENS[:9], TOKENS[5], *TOKENS[10:]))
    server.add("Owner/Twins", "twins-Q8_0.gguf", data)
    twins = reference.format(here=write(tmp_path / "twins.gguf", data))
    before = (user_paths().config / "pairs.toml").read_text()
    done = localspec("pairs", *(each.format(twins=twins, big=f"{BIG}:Q4_K_M") for each in command))

    assert done.code == ModelFileError.exit_code
    assert "its tokens 5 and 9 are both 'a'" in done.err
    assert (user_paths().config / "pairs.toml").read_text() == before


@pytest.mark.parametrize("name", ["nowhere.gguf", f"{BIG}:Q2_K", "Owner/Nothing:Q4_0", "Owner/Nothing"])
def test_check_of_what_is_not_there(localspec: Localspec, name: str) -> None:
    done = localspec("pairs", "check", name, name)
    assert done.code == NotFoundError.exit_code
    assert "Traceback" not in done.err


def test_a_hub_that_hiccups_is_asked_again(
    localspec: Localspec, server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localspec.models.download.context.DownloadContext.pause", lambda self, seconds: None)
    server.api_faults = [Refuse(503), Refuse(502)]
    assert localspec("pairs", "check", f"{BIG}:Q4_K_M", f"{SMALL}:Q8_0").code == 0


# Add


def test_a_pair_of_the_hub_is_proved_by_its_headers_and_then_pulled(localspec: Localspec, server: HubServer) -> None:
    """By a file's name or a quantisation; nothing but headers is fetched before ``pull``."""
    large = server.add("Owner/Large", "large-Q4_K_M.gguf", model(), size_bytes=5 * 10**9)
    done = localspec("pairs", "add", "--target", "Owner/Large:Q4_K_M", "--draft", f"{SMALL}:small-Q8_0.gguf")

    assert done.code == 0, done.err
    assert done.out.endswith("Fetch it: localspec pairs pull large-q4_k_m\n")
    assert server.sent_bytes < 16 * 10**6
    pair = load_catalogue().find("large-q4_k_m")
    assert (pair.target.sha256, pair.target.size_bytes) == (large.sha256, 5 * 10**9)
    assert pair.target.revision == server.repos["Owner/Large"].commit

    server.add("Owner/Large", "large-Q4_K_M.gguf", TARGET)
    assert localspec("pairs", "pull", "large-q4_k_m").code == DownloadError.exit_code, "another file than was added"


def test_a_pair_of_the_hub_is_added_pulled_and_used(localspec: Localspec) -> None:
    added = localspec("pairs", "add", "--target", f"{BIG}:Q4_K_M", "--draft", f"{SMALL}:Q8_0", "--id", "own")
    assert added.code == UsageError.exit_code, "these files are the pair 'mine' already"
    assert localspec("pairs", "add", "--target", f"{BIG}:Q4_K_M", "--alone", "--id", "own").code == 0
    assert localspec("pairs", "pull", "own").code == 0
    assert load_catalogue().find("own").files().target.read_bytes() == TARGET


def test_a_pair_of_the_hub_that_does_not_fit_is_not_written_down(localspec: Localspec, server: HubServer) -> None:
    server.add("Owner/Other", "other-Q8_0.gguf", OTHER)
    before = (user_paths().config / "pairs.toml").read_text()
    done = localspec("pairs", "add", "--target", f"{BIG}:Q4_K_M", "--draft", "Owner/Other:Q8_0")

    assert done.code == PairMismatchError.exit_code
    assert "token 9" in done.err
    assert (user_paths().config / "pairs.toml").read_text() == before


def test_drafts_are_suggested_for_a_target_on_the_hub(localspec: Localspec, tmp_path: Path, server: HubServer) -> None:
    localspec("pairs", "pull", "mine")
    server.add("Owner/Large", "large-Q4_K_M.gguf", model(), size_bytes=10 * len(DRAFT))
    done = localspec("pairs", "add", "--target", "Owner/Large:Q4_K_M")

    assert done.code == 0, done.err
    assert f"{SMALL}:small-Q8_0.gguf" in done.out


def test_a_malformed_proof_costs_no_other(localspec: Localspec) -> None:
    """Neither when the record is read, nor when it is next written."""
    good = PROOF.replace('"9"', "9")
    write(proofs_file(), f'{{"a/b": {PROOF}, "c/d": {good}, "e/f": null}}'.encode())
    assert read_proofs().keys() == {"c/d"}
    assert localspec("pairs", "pull", "mine").code == 0
    assert read_proofs().keys() == {"c/d", f"{BIG}/big-Q4_K_M.gguf", f"{SMALL}/small-Q8_0.gguf"}
