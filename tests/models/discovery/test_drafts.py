"""Drafts for a target, here and on the Hub; and the addition of files and folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from localspec.base.errors import DownloadError, ModelFileError, NotFoundError
from localspec.gguf.draft_heads import MTP
from localspec.models.discovery.drafts import find_drafts
from localspec.models.discovery.taking import take
from localspec.models.download.model_header import resolve
from localspec.models.pairs import load_catalogue
from localspec.models.pairs.collecting import remember_opened
from localspec.models.pairs.user_pairs import own_file, own_pairs
from localspec.models.token_work import work_of_size
from localspec.runtime.speed.expectation import expect_with
from localspec.runtime.speed.kernels import KernelSpeeds
from localspec.runtime.speed.speed_file import MachineSpeed
from tests.cli.conftest import Localspec
from tests.gguf_files import model, write
from tests.hub import HubServer, Refuse
from tests.models.download.support import World
from tests.models.pairs.support import BIG, OTHER_TOKENS, SMALL, in_ollama, model_bytes
from tests.tiny_heads import write_mtp_target

TARGET = "Maker/Fam-8B-GGUF:Fam-8B-Q4_0.gguf"


def put(server: HubServer, repo: str, file: str, data: bytes, parameters: int, **more: Any) -> None:
    server.add(repo, file, data, about={"downloads": 10, "gguf": {"total": parameters}} | more)


@pytest.fixture
def family(server: HubServer) -> HubServer:
    """A target of 32,000 parameters, a draft of the right vocabulary by two uploaders, and one of another."""
    put(server, "Maker/Fam-8B-GGUF", "Fam-8B-Q4_0.gguf", BIG, 32_000)
    put(server, "Maker/Fam-1B-GGUF", "Fam-1B-Q8_0.gguf", SMALL, 3_200)
    put(server, "Other/Fam-1B-GGUF", "Fam-1B-Q8_0.gguf", SMALL, 3_200, downloads=5)
    put(server, "Maker/Fam-0.5B-GGUF", "Fam-0.5B-F16.gguf", model_bytes(400, tokens=OTHER_TOKENS), 1_600)
    put(server, "Maker/Fam-70B-GGUF", "Fam-70B.gguf", BIG, 320_000)
    return server


def test_drafts_are_proved_by_their_headers_alone(family: HubServer, world: World) -> None:
    context = world.context()
    target = resolve(TARGET, context)
    family.requests.clear()
    found = sorted(find_drafts(target, context), key=lambda each: each.rank)
    assert [(each.name, each.fits) for each in found] == [
        ("Maker/Fam-1B-GGUF:Fam-1B-Q8_0.gguf", True),
        ("Maker/Fam-0.5B-GGUF:Fam-0.5B-F16.gguf", False),
    ]
    assert found[0].reason.startswith("the same vocabulary")
    assert "token 11" in found[1].reason
    assert all("range" in headers for headers in family.byte_requests())
    assert not list(world.cache.rglob("*.gguf")), "nothing is downloaded"


def test_a_model_in_parts_is_as_large_as_all_of_them(family: HubServer, world: World) -> None:
    """Of one on the Hub only the first header is read, and it may list a tenth of the weights."""
    repo = family.repos["Maker/Fam-8B-GGUF"]
    repo.files.clear()
    for n, rows in ((1, 400), (2, 3600)):
        data = model_bytes(rows, metadata={"split.count": 2, "split.no": n - 1})
        family.add("Maker/Fam-8B-GGUF", f"Fam-8B-Q4_0-0000{n}-of-00002.gguf", data)
    target = resolve("Maker/Fam-8B-GGUF", world.context())
    kernels = KernelSpeeds(byte_s={"F16": {1: 1e-9, 16: 2e-9}}, layer_s={1: 1e-9, 16: 2e-9})
    machine = MachineSpeed("this one", kernels)

    found = find_drafts(target, world.context(), lambda target, draft: expect_with(target, draft, machine))
    best = next(each for each in found if each.fits)

    assert best.name.startswith("Maker/Fam-1B-GGUF")
    assert best.expected is not None
    assert best.expected.plain_per_second < 1 / KernelSpeeds.round_s(kernels, work_of_size(9 * len(SMALL), "F16"))


def test_the_command_hides_what_cannot_run_until_it_is_asked_for(family: HubServer, localspec: Localspec) -> None:
    done = localspec("pairs", "draft", TARGET)
    assert done.code == 0, done.err
    assert "Fam-1B" in done.out
    assert "Fam-0.5B" not in done.out
    assert f"pairs add --target {TARGET} --draft Maker/Fam-1B-GGUF:Fam-1B-Q8_0.gguf" in done.out
    assert "refused" in localspec("pairs", "draft", TARGET, "--all").out
    assert [each["fits"] for each in json.loads(localspec("pairs", "draft", TARGET, "--all", "--json").out)] == [
        True,
        False,
    ]


def test_without_the_hub_drafts_on_this_machine_are_found(
    server: HubServer, localspec: Localspec, tmp_path: Path
) -> None:
    big = write(tmp_path / "big.gguf", BIG)
    server.api_faults = [Refuse(429, retry_after="400")]
    assert localspec("pairs", "draft", big).code == DownloadError.exit_code
    small = write(tmp_path / "small.gguf", SMALL)
    server.api_faults = [Refuse(429, retry_after="400")]
    done = localspec("pairs", "draft", big)
    assert done.code == 0
    assert str(small) in done.out
    assert "too many requests" in done.err
    assert localspec("pairs", "draft", small).code == NotFoundError.exit_code


def test_for_what_is_no_target_no_drafts_are_looked_for(
    server: HubServer, localspec: Localspec, tmp_path: Path
) -> None:
    head = write(tmp_path / "head.gguf", model(metadata={"general.architecture": "eagle3"}))
    for command in (("draft", head), ("add", "--target", head)):
        done = localspec("pairs", *command)
        assert done.code == ModelFileError.exit_code
        assert "head.gguf cannot be a target" in done.err
    assert server.requests == []


def test_what_is_here_and_cannot_draft_is_listed_with_its_reason(
    server: HubServer, localspec: Localspec, tmp_path: Path
) -> None:
    """The target itself is no draft that could be asked about."""
    big = write(tmp_path / "big.gguf", BIG)
    for name, data in {
        "small.gguf": SMALL,
        "large.gguf": model_bytes(2000),
        "tiny.gguf": model_bytes(12),
        "stranger.gguf": model_bytes(400, tokens=OTHER_TOKENS),
        "broken.gguf": SMALL[:-10],
        "empty.gguf": b"",
    }.items():
        write(tmp_path / name, data)
    listed = json.loads(localspec("pairs", "draft", big, "--all", "--json").out)
    reasons = {Path(each["name"]).name: each["reason"] for each in listed if not each["fits"]}
    assert reasons.keys() == {"large.gguf", "tiny.gguf", "stranger.gguf", "broken.gguf", "empty.gguf"}
    assert reasons["large.gguf"] == "50% of the target's size; a draft has 5% to 25% of it"
    assert reasons["tiny.gguf"].endswith("of the target's size; a draft has 5% to 25% of it")
    assert "token 11" in reasons["stranger.gguf"]
    assert [Path(each["name"]).name for each in listed if each["fits"]] == ["small.gguf"]


def test_two_programs_that_take_a_model_at_once_have_one_pair_of_it(server: HubServer, world: World) -> None:
    """The other one adds it after this one has looked, while the projector is judged."""
    for file, data in (("Fam-8B-Q4_0.gguf", BIG), ("mmproj.gguf", BIG)):
        server.add("Maker/Fam-8B-GGUF", file, data)
    others = []

    def meanwhile(sent_bytes: int) -> None:
        if "mmproj" in server.requests[-1][1]:
            server.on_bytes = None
            others.append(take(TARGET, world.context()))

    server.on_bytes = meanwhile
    pair = take(TARGET, world.context())

    assert [pair.id] == [other.id for other in others] == [own.id for own in own_pairs()]


# Files and folders


def test_a_folder_is_added_with_the_best_drafts_in_it(localspec: Localspec, tmp_path: Path) -> None:
    write(tmp_path / "models" / "big.gguf", BIG)
    write(tmp_path / "models" / "sub" / "small.gguf", SMALL)
    write(tmp_path / "models" / "broken.gguf", b"nothing")
    done = localspec("pairs", "add", tmp_path / "models")
    assert done.code == 0, done.err
    assert "Left out" in done.out
    pairs = {pair.id: pair for pair in load_catalogue().pairs}
    assert pairs["big"].title == "big + small"
    assert pairs["big"].files().draft == tmp_path / "models" / "sub" / "small.gguf"
    assert pairs["small"].draft is None, "alone, the suffix drafter speeds it up"
    before = own_file().read_bytes()
    assert localspec("pairs", "add", tmp_path / "models").code == NotFoundError.exit_code, "they are known"
    assert own_file().read_bytes() == before


def test_a_pair_of_files_whose_names_say_nothing_is_called_after_folder_or_header(
    localspec: Localspec, tmp_path: Path
) -> None:
    """Jan calls every file ``model.gguf``, and Ollama has checksums for names."""
    write(tmp_path / "models" / "Fam-8B" / "model.gguf", BIG)
    write(tmp_path / "models" / "Fam-1B" / "model.gguf", SMALL)
    done = localspec("pairs", "add", tmp_path / "models")
    assert done.code == 0, done.err
    assert {pair.id: pair.title for pair in own_pairs()} == {"fam-8b": "Fam-8B + Fam-1B", "fam-1b": "Fam-1B"}
    pair = remember_opened(in_ollama(tmp_path / "ollama", "fam", "8b", BIG), None)
    assert pair is not None
    assert (pair.id, pair.title) == ("test-model", "Test model")


def test_a_model_with_mtp_layers_drafts_for_itself_however_it_was_added(localspec: Localspec, tmp_path: Path) -> None:
    """By its folder, by its name, or as it was opened."""
    models = []
    for name in ("folder", "named", "opened"):
        (tmp_path / name).mkdir()
        models.append(write_mtp_target(tmp_path / name / f"{name}.gguf"))
    assert localspec("pairs", "add", tmp_path / "folder").code == 0
    assert localspec("pairs", "add", "--target", models[1]).code == 0
    remember_opened(models[2], None)
    assert {pair.id: pair.drafter for pair in own_pairs()} == dict.fromkeys(("folder", "named", "opened"), MTP)


def test_a_file_that_is_named_several_times_becomes_one_pair(localspec: Localspec, tmp_path: Path) -> None:
    """By itself, with its folder, and through a link beside it."""
    big = write(tmp_path / "models" / "big.gguf", BIG)
    big.with_name("link.gguf").symlink_to(big)
    done = localspec("pairs", "add", big, tmp_path / "models", big)
    assert done.code == 0, done.err
    assert [(pair.id, pair.target.path) for pair in own_pairs()] == [("big", big)]


def test_a_name_that_is_not_utf8_leaves_out_its_file_alone(localspec: Localspec, tmp_path: Path) -> None:
    """As no TOML file can have it; another draft takes the place of one."""
    write(tmp_path / "models" / "big.gguf", BIG)
    write(tmp_path / "models" / "small-\udcff.gguf", SMALL)
    write(tmp_path / "models" / "small.gguf", model_bytes(900))
    done = localspec("pairs", "add", tmp_path / "models")
    assert done.code == 0, done.err
    assert f"Left out {tmp_path / 'models'}/small-\ufffd.gguf. " in done.out
    assert {pair.id: pair.title for pair in own_pairs()} == {"big": "big + small", "small": "small"}


@pytest.mark.parametrize("arguments", [["/nowhere/x.gguf"], ["~nosuchuser/x"], [".", "--alone"], []])
def test_what_cannot_be_added_is_said(localspec: Localspec, arguments: list[str]) -> None:
    assert localspec("pairs", "add", *arguments).code in (2, NotFoundError.exit_code)


def test_files_that_were_opened_are_remembered_once_and_can_be_forgotten(localspec: Localspec, tmp_path: Path) -> None:
    big, small = write(tmp_path / "big.gguf", BIG), write(tmp_path / "small.gguf", SMALL)
    pair = remember_opened(big, small)
    assert pair is not None
    assert "Opened before" in localspec("pairs", "info", pair.id).out
    assert remember_opened(big, small) is None
    alone = remember_opened(big, None)
    assert alone is not None
    assert (alone.id, alone.draft) == ("big-2", None)
    assert localspec("pairs", "rm", pair.id, "--yes").code == 0
    assert big.exists()
    assert [each.id for each in own_pairs()] == ["big-2"]
