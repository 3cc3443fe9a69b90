"""The search of the Hub and the page of a repository, over the real client and a Hub on loopback."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import llama_cpp
import pytest

from localspec.base.errors import DownloadError, LocalSpecError, NotFoundError
from localspec.base.machine import MachineMemory
from localspec.models.discovery.page import ModelPage, read_page
from localspec.models.discovery.runnable import WRITERS, obstacle
from localspec.models.discovery.search import LOOKED_AT_N, HubModel, HubQuery, search
from localspec.models.download.model_header import resolve
from localspec.models.fit import Room
from localspec.models.pairs import Pair, load_catalogue
from localspec.models.pairs.expectation import Expectation
from tests.cli.conftest import Localspec
from tests.hub import Answer, HubServer, Page, Refuse, Repo, Stall
from tests.models.download.support import World
from tests.models.pairs.support import BIG, model_bytes
from tests.tiny_models import write_tiny
from tests.tiny_projectors import write_projector

GB = 10**9
LAPTOP = Room(MachineMemory(16 * GB, 10 * GB))
SERVER = Room(MachineMemory(256 * GB, 200 * GB), device_bytes=80 * GB)


def about(downloads: int = 0, **more: Any) -> dict[str, Any]:
    """A description as the Hub's API gives it."""
    gguf = {"total": 8_190_735_360, "architecture": "qwen3", "context_length": 40960}
    tags = ["gguf", "license:apache-2.0", "base_model:Qwen/Qwen3-8B", "base_model:quantized:Qwen/Qwen3-8B"]
    return {
        "downloads": downloads,
        "likes": 7,
        "lastModified": "2026-11-20T10:00:00.000Z",
        "tags": tags,
        "gguf": gguf,
    } | more


def many(server: HubServer, n: int) -> None:
    for number in range(n):
        server.repos[f"Owner/Qwen3-{number:04}-GGUF"] = Repo(about=about(number))


def names(world: World, most: int | None = None, **query: Any) -> list[str]:
    return [model.name for model in islice(search(world.hub, HubQuery(**query)), most)]


# Search


def test_a_model_is_described_as_the_hub_describes_it(server: HubServer, world: World) -> None:
    server.repos["Qwen/Qwen3-8B-GGUF"] = Repo(about=about(1234), gated=True)
    assert list(search(world.hub, HubQuery(text="qwen3 8b"))) == [
        HubModel(
            name="Qwen/Qwen3-8B-GGUF",
            downloads=1234,
            likes=7,
            updated="2026-11-20",
            licence="apache-2.0",
            gated=True,
            parameters=8_190_735_360,
            architecture="qwen3",
            context_length=40960,
            bases=("Qwen/Qwen3-8B",),
        )
    ]


def test_filters_and_orders_are_the_hubs_own(server: HubServer, world: World) -> None:
    small = {"total": 600_000_000}
    server.repos["A/Qwen3-old"] = Repo(about=about(5, lastModified="2025-01-01T00:00:00.000Z"))
    server.repos["B/Qwen3-new"] = Repo(about=about(3, tags=["gguf", "license:mit"], gguf=small))
    server.repos["B/Llama"] = Repo(about=about(9, gguf=None))
    assert names(world) == ["B/Llama", "A/Qwen3-old", "B/Qwen3-new"]
    assert names(world, text="QWEN3", sort="updated") == ["B/Qwen3-new", "A/Qwen3-old"]
    assert names(world, author="B") == ["B/Llama", "B/Qwen3-new"]
    assert names(world, licence="MIT") == ["B/Qwen3-new"]
    assert names(world, most_parameters=1e9) == ["B/Qwen3-new"], "one that gives no size may be of any"


def test_a_thousand_models_are_asked_for_page_by_page(server: HubServer, world: World) -> None:
    """The first results are here after one request, and no page is asked for that nobody reads."""
    many(server, 1000)
    assert names(world, 3) == ["Owner/Qwen3-0999-GGUF", "Owner/Qwen3-0998-GGUF", "Owner/Qwen3-0997-GGUF"]
    assert len(server.requests) == 1
    assert len(names(world)) == 1000


def test_small_models_are_looked_for_among_the_first_ones_alone(
    server: HubServer, world: World, localspec: Localspec
) -> None:
    """The Hub cannot leave large ones out, and has too many to be asked for all of them."""
    many(server, LOOKED_AT_N)
    server.repos["Owner/Small"] = Repo(about=about(LOOKED_AT_N, gguf={"total": 5}))
    server.repos["Owner/Last"] = Repo(about=about(0, gguf={"total": 5}))
    assert names(world, most_parameters=9) == ["Owner/Small"]
    assert len(names(world)) == LOOKED_AT_N + 2
    assert "None of the first 1,000" in localspec("pairs", "search", "--up-to", "4").out


HOSTILE: Sequence[Any] = (
    {"id": "Owner/../../etc"},
    {"id": "Owner/Evil\x1b]0;title\x07"},
    {"id": "Owner/Evil\u202efugg"},
    {"id": "Owner/" + "x" * 5000},
    {"id": "https://elsewhere/x"},
    {"id": 17},
    {"siblings": [{"rfilename": 5}]},
    "text",
    None,
    {"id": "Owner/Good", "downloads": "many", "likes": 10**400, "tags": [5, "license:\x1b[31mred" + "y" * 900],
     "gguf": {"total": -1, "architecture": ["x"], "context_length": True}, "lastModified": "2026-11-20T10:00:00Z"},
)  # fmt: skip


def test_hostile_entries_are_left_out_and_hostile_fields_are_unknown(server: HubServer, world: World) -> None:
    server.api_body = json.dumps(HOSTILE).encode()
    (model,) = search(world.hub, HubQuery())
    assert (model.name, model.downloads, model.likes, model.parameters) == ("Owner/Good", None, None, None)
    assert (model.architecture, model.context_length, model.updated) == (None, None, "2026-11-20")
    assert model.licence is not None
    assert model.licence.isprintable()
    assert len(model.licence) <= 80


def test_the_next_page_is_asked_of_the_hub_alone(server: HubServer, world: World) -> None:
    """Another host would get the token with the request."""
    many(server, 5)
    server.page_n = 2
    for elsewhere in ("http://localhost:9", "http://["):
        server.next_at = elsewhere
        assert len(names(world)) == 2
    server.next_at = ""
    assert len(names(world)) == 5


FAULTS = [
    (Refuse(429, retry_after="30"), "too many requests", "in 30 seconds"),
    (Refuse(503), "cannot answer now", "later"),
    (Stall(0), "does not answer", "connection"),
    (Page(), "does not answer like the Hub", "sign-in"),
    (Answer(b'{"error": 1}'), "does not answer like the Hub", "HF_ENDPOINT"),
    (Answer(b"[" * 100_000), "does not answer like the Hub", "HF_ENDPOINT"),
    (Answer(b" " * 2**24 + b"[]"), "does not answer like the Hub", "HF_ENDPOINT"),
]


@pytest.mark.parametrize(("fault", "message", "hint"), FAULTS, ids=lambda each: str(each)[:20])
def test_a_hub_that_refuses_is_a_sentence_after_one_request(
    server: HubServer, world: World, fault: Any, message: str, hint: str
) -> None:
    server.api_faults = [fault]
    with pytest.raises(LocalSpecError) as caught:
        names(world)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert len(server.requests) == 1


def test_offline_and_a_wrong_token_are_sentences(
    server: HubServer, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "bad")
    server.repos["A/B"] = Repo(about=about())
    with pytest.raises(DownloadError, match="does not accept the token"):
        names(world)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DownloadError, match="The Hub is not searched, because HF_HUB_OFFLINE is set"):
        names(world)


# A repository's page

REPO = "Owner/Qwen3-8B-GGUF"
SIZES = {"Q2_K": 3.28, "Q4_K_M": 5.03, "UD-Q5_K_XL": 5.8, "Q6_K": 6.73, "Q8_0": 8.71, "BF16": 16.4}


@pytest.fixture
def repository(server: HubServer) -> HubServer:
    for label, size in SIZES.items():
        server.add(REPO, f"Qwen3-8B-{label}.gguf", BIG, size_bytes=int(size * GB), about=about(99))
    server.add(REPO, "mmproj-F16.gguf", BIG)
    server.add(REPO, "README.md", b"")
    return server


def page_of(world: World, room: Room = LAPTOP, name: str = REPO) -> ModelPage:
    return read_page(name, world.context(), room)


def test_a_page_lists_quantisations_with_size_and_fit_and_names_the_best(repository: HubServer, world: World) -> None:
    page = page_of(world)
    assert [each.label for each in page.quantisations] == list(SIZES)
    assert [each.described.fit.word for each in page.quantisations if each.described.fit] == ["fits"] * 4 + [
        "tight",
        "too big",
    ]
    assert page.best is not None
    assert page.best.label == "UD-Q5_K_XL"
    assert "at most 6 GB where it is read from a PC's RAM" in page.because
    assert page.others == ("mmproj-F16.gguf",)
    assert page.model.context_length == 40960
    fast = page_of(world, SERVER).best
    assert fast is not None
    assert fast.label == "Q6_K"
    assert page_of(world, Room(MachineMemory(2 * GB, GB))).best is None
    assert repository.sent_bytes == 0, "nothing of a model is fetched"


@pytest.mark.parametrize(
    ("per_gb", "label", "why"),
    [(100, "Q6_K", "is fast enough here"), (45, "Q4_K_M", "is fast enough here"), (1, "Q2_K", "the fastest here")],
)
def test_on_a_measured_machine_a_page_names_the_best_that_people_can_read_along_with(
    repository: HubServer, world: World, per_gb: float, label: str, why: str
) -> None:
    def expect(pair: Pair) -> Expectation:
        return Expectation(per_gb / ((pair.target.size_bytes or 0) / GB))

    page = read_page(REPO, world.context(), LAPTOP, expect)
    assert page.best is not None
    assert page.best.described.speed is not None
    assert (page.best.label, why in page.because) == (label, True)


def test_the_parts_of_a_split_model_are_one(server: HubServer, world: World) -> None:
    for number in (1, 2, 3):
        server.add(REPO, f"Q4_K_M/Big-Q4_K_M-{number:05}-of-00003.gguf", BIG, size_bytes=2 * GB, about=about())
    (one,) = page_of(world).quantisations
    assert (one.label, one.files_n, one.described.size_bytes) == ("Q4_K_M", 3, 6 * GB)


def test_hostile_file_names_are_left_out(server: HubServer, world: World) -> None:
    for file in ("../../x-Q4_0.gguf", "/etc/x-Q4_0.gguf", "a\\b-Q4_0.gguf", "good-Q4_0.gguf"):
        server.add(REPO, file, BIG, about=about())
    assert [each.file for each in page_of(world).quantisations] == ["good-Q4_0.gguf"]


def test_pages_that_there_are_not(server: HubServer, world: World) -> None:
    server.add("Owner/Empty", "README.md", b"", about=about())
    with pytest.raises(NotFoundError, match="has no model"):
        page_of(world, name="Owner/Empty")
    with pytest.raises(NotFoundError, match="There is no repository"):
        page_of(world, name="Owner/None")


# The commands


def test_search_lists_and_show_describes(repository: HubServer, localspec: Localspec) -> None:
    done = localspec("pairs", "search", "qwen3", "8b", "--licence", "apache-2.0")
    assert done.code == 0, done.err
    assert done.out.splitlines()[1].split()[:2] == [REPO, "8.19B"]
    assert json.loads(localspec("pairs", "search", "qwen3", "--json").out)[0]["name"] == REPO
    assert "Fewer words" in localspec("pairs", "search", "nothing").out
    assert localspec("pairs", "search", "--up-to", "nan").code == 2
    assert localspec("pairs", "search", "--up-to", "7B", "--json").out.strip() == "[]"

    done = localspec("pairs", "show", REPO)
    assert done.code == 0, done.err
    for text in ("apache-2.0", "40,960 tokens", "Q4_K_M", "5.03 GB", "mmproj-F16.gguf", f"pairs pull {REPO}:"):
        assert text in done.out
    record = json.loads(localspec("pairs", "show", REPO, "--json").out)
    assert [each["label"] for each in record["quantisations"]] == list(SIZES)
    assert localspec("pairs", "show", "nothing").code == 2


def test_what_cannot_run_is_listed_when_it_is_asked_for(repository: HubServer, localspec: Localspec) -> None:
    """A head, and what llama.cpp does not know. Embedders, and models of which nothing is known, are always listed."""
    for name, architecture in {"head": "eagle3", "odd": "unheard\x1b[2J", "plain": "", "find": "nomic-bert"}.items():
        gguf = {"total": 1_000_000} | ({"architecture": architecture} if architecture else {})
        repository.repos[f"Owner/Qwen3-{name}"] = Repo(about=about(gguf=gguf))
    out = localspec("pairs", "search", "qwen3").out
    assert "2 that cannot run here are hidden; --all lists them." in out
    listed = {line.split()[0] for line in out.splitlines() if line.startswith("Owner/")}
    assert listed == {REPO, "Owner/Qwen3-plain", "Owner/Qwen3-find"}
    out = localspec("pairs", "search", "qwen3", "--all").out
    assert "Owner/Qwen3-head cannot run: it is an EAGLE-3 head, which drafts for the model" in out
    assert "does not know the architecture unheard\u241b[2J." in out
    records = json.loads(localspec("pairs", "search", "qwen3", "--json").out)
    assert sum(bool(each["obstacle"]) for each in records) == 2


def test_llama_cpp_knows_what_is_said_to_run() -> None:
    """Each architecture is named in the library that is installed; and what the catalogue has is among them."""
    library = Path(llama_cpp.__file__).parent / "lib"
    names = next(path for path in library.iterdir() if path.name.startswith(("libllama.", "llama."))).read_bytes()
    assert [each for each in WRITERS if each.encode() + b"\0" not in names] == []
    models = [model for pair in load_catalogue().pairs for model in (pair.target, pair.draft) if model is not None]
    assert {obstacle(model.architecture) for model in models} == {""}


def test_hostile_names_do_not_reach_the_terminal(server: HubServer, localspec: Localspec) -> None:
    server.add(REPO, "Evil\x1b[31m\u202e-Q4_0.gguf", BIG, about=about(tags=["license:\x1b]0;x\x07"]))
    out = localspec("pairs", "show", REPO).out + localspec("pairs", "search", "qwen3").out
    assert "Q4_0" in out
    assert not set(out) & set("\x1b\x07\u202e")


def test_the_command_that_is_shown_can_be_run_as_it_is(server: HubServer, localspec: Localspec) -> None:
    """A name may have a space."""
    server.add("Owner/Solo-GGUF", "my solo.gguf", BIG, about=about())
    shown = localspec("pairs", "show", "Owner/Solo-GGUF").out
    command = shown.rpartition("`localspec ")[2].partition("`")[0]

    assert localspec(*shlex.split(command)).code == 0


def test_a_model_of_the_hub_is_pulled_by_its_name(server: HubServer, localspec: Localspec) -> None:
    """It becomes a pair of its own, once."""
    server.add("Owner/Solo-GGUF", "solo-Q4_0.gguf", BIG, about=about())
    for _ in range(2):
        done = localspec("pairs", "pull", "owner/none")
        assert done.code == NotFoundError.exit_code
        done = localspec("pairs", "pull", "Owner/Solo-GGUF:Q4_0")
        assert (done.code, done.out) == (0, "solo-q4_0 is here: localspec --pair solo-q4_0\n"), done.err
    pair = load_catalogue().find("solo-q4_0")
    assert pair.draft is None
    assert pair.files().target.read_bytes() == BIG


@pytest.mark.parametrize(
    "link",
    [
        "https://huggingface.co/Owner/Name-GGUF",
        "https://huggingface.co/Owner/Name-GGUF/tree/main",
        "https://huggingface.co/Owner/Name-GGUF/blob/main/sub/a%20b-Q4_0.gguf",
        "https://huggingface.co/Owner/Name-GGUF/resolve/main/sub/a%20b-Q4_0.gguf?download=true",
        "hf.co/Owner/Name-GGUF:Q4_0",
    ],
)
def test_a_link_names_what_it_leads_to(server: HubServer, world: World, link: str) -> None:
    """As it is copied from a browser, or from a command of Ollama."""
    server.add("Owner/Name-GGUF", "sub/a b-Q4_0.gguf", model_bytes())
    found = resolve(link, world.context()).model
    assert (found.repo, found.file) == ("Owner/Name-GGUF", "sub/a b-Q4_0.gguf")


def test_a_name_in_small_letters_is_written_as_the_hub_writes_it(server: HubServer, world: World) -> None:
    """The Hub takes it, and the cache would have every file twice."""
    server.add("Owner/Name-GGUF", "x-Q4_0.gguf", model_bytes())
    server.repos["owner/name-gguf"] = Repo(moved_to="Owner/Name-GGUF")
    assert resolve("owner/name-gguf:q4_0", world.context()).model.repo == "Owner/Name-GGUF"


def test_a_projector_comes_along(server: HubServer, localspec: Localspec, tmp_path: Path) -> None:
    """The smallest that fits the model and is named as its own."""
    repo, target = "Owner/Tiny-VL-GGUF", write_tiny(tmp_path / "t.gguf", "llama")
    server.add(repo, "Tiny-VL-Q4_0.gguf", target.read_bytes(), about=about())
    own = write_projector(tmp_path / "p.gguf").read_bytes()
    server.add(repo, "mmproj-F16.gguf", own)
    server.add(repo, "mmproj-F32.gguf", own + bytes(64))
    server.add(repo, "mmproj-other-F16.gguf", b"")
    for _ in range(2):
        done = localspec("pairs", "pull", f"{repo}:Q4_0")
        assert done.code == 0, done.err
    (pair,) = [pair for pair in load_catalogue().pairs if pair.target.repo == repo]
    files = pair.files()
    assert files.projector is not None
    assert files.projector.read_bytes() == own
    listed = localspec("pairs", "info", pair.id).out
    assert "mmproj-F16.gguf" in listed
    done = localspec("pairs", "add", "--target", target, "--projector", tmp_path / "p.gguf", "--alone", "--id", "own")
    assert done.code == 0, done.err
    assert load_catalogue().find("own").files().projector == tmp_path / "p.gguf"


def test_gated_models_say_where_their_terms_are(server: HubServer, localspec: Localspec) -> None:
    server.add(REPO, "x-Q4_0.gguf", BIG, about=about(), gated=True)
    assert f"accept its terms at {server.endpoint}/{REPO}" in localspec("pairs", "show", REPO).out
    done = localspec("pairs", "pull", f"{REPO}:Q4_0")
    assert done.code == DownloadError.exit_code
    assert "is gated" in done.err
