"""Models on this machine: every program's folder, broken files, groups, possible pairs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import pytest

from localspec.base.bounded_file import read_beginning
from localspec.base.errors import ModelFileError, NotFoundError
from localspec.gguf import read_header
from localspec.models.compatibility import check_target, judge_match
from localspec.models.pairs.collecting import collect
from localspec.models.pairs.embedder import find_embedders
from localspec.models.pairs.scan import find_files, scan
from localspec.models.pairs.split_files import is_later_part, parts_of, read_parts
from localspec.models.pairs.stores import STORES, Found
from tests.gguf_files import Plain, Tensor, model, write
from tests.models.pairs.support import BIG, OTHER_TOKENS, SMALL, in_hub, in_ollama, model_bytes
from tests.tiny_models import write_tiny


def environ_of(tmp_path: Path, **more: str) -> Mapping[str, str]:
    return {"HOME": str(tmp_path), "HF_HOME": os.environ["HF_HOME"], **more}


def names(environ: Mapping[str, str], *folders: Path) -> list[tuple[str, str]]:
    return [(found.store, found.name) for found in find_files(folders, environ)]


@pytest.mark.parametrize(
    ("store", "place"),
    [
        ("LM Studio", ".lmstudio/models/owner/name/x.gguf"),
        ("LM Studio", ".cache/lm-studio/models/owner/name/x.gguf"),
        ("llama.cpp", ".cache/llama.cpp/owner_name_x.gguf"),
        ("llama.cpp", "Library/Caches/llama.cpp/owner_name_x.gguf"),
        ("Jan", "jan/llamacpp/models/name/model.gguf"),
        ("Jan", ".local/share/Jan/data/llamacpp/models/name/model.gguf"),
        ("Jan", "Library/Application Support/Jan/data/llamacpp/models/name/model.gguf"),
        ("GPT4All", ".local/share/nomic.ai/GPT4All/x.gguf"),
        ("GPT4All", "Library/Application Support/nomic.ai/GPT4All/x.gguf"),
        ("GPT4All", ".cache/gpt4all/x.gguf"),
    ],
)
def test_each_program_is_looked_for_where_it_keeps_its_models(tmp_path: Path, store: str, place: str) -> None:
    path = write(tmp_path / place, SMALL)

    assert [(each.store, each.path) for each in find_files((), environ_of(tmp_path))] == [(store, path)]


@pytest.mark.parametrize(
    ("variable", "below"),
    [
        ("LLAMA_CACHE", "x.gguf"),
        ("XDG_CACHE_HOME", "llama.cpp/x.gguf"),
        ("XDG_DATA_HOME", "Jan/data/llamacpp/models/x.gguf"),
        ("XDG_DATA_HOME", "nomic.ai/GPT4All/x.gguf"),
    ],
)
def test_a_variable_moves_a_folder(tmp_path: Path, variable: str, below: str) -> None:
    path = write(tmp_path / "elsewhere" / below, SMALL)

    assert [f.path for f in find_files((), environ_of(tmp_path, **{variable: str(tmp_path / "elsewhere")}))] == [path]


def test_lm_studio_is_followed_to_the_home_and_to_the_folder_that_it_was_moved_to(tmp_path: Path) -> None:
    moved = write(tmp_path / "disk" / "lm" / "models" / "x.gguf", SMALL)
    chosen = write(tmp_path / "other" / "y.gguf", BIG)
    write(tmp_path / ".lmstudio-home-pointer", f"{tmp_path}/disk/lm\n".encode())
    write(tmp_path / "disk" / "lm" / "settings.json", json.dumps({"downloadsFolder": f"{tmp_path}/other"}).encode())

    assert [each.path for each in find_files((), environ_of(tmp_path))] == [moved, chosen]


@pytest.mark.parametrize("settings", [b"", b"{", b"[]", b"\xff", b'{"downloadsFolder": 3}', b'{"downloadsFolder": ""}'])
def test_settings_of_lm_studio_that_name_no_folder_are_passed_over(tmp_path: Path, settings: bytes) -> None:
    write(tmp_path / ".lmstudio" / "settings.json", settings)
    write(tmp_path / ".lmstudio-home-pointer", settings)

    assert names(environ_of(tmp_path)) == []


@pytest.mark.parametrize("variable", ["LLAMA_CACHE", "OLLAMA_MODELS"])
def test_a_folder_of_a_user_that_is_unknown_has_no_models(tmp_path: Path, variable: str) -> None:
    assert names(environ_of(tmp_path, **{variable: "~nosuchuser/x"})) == []


def test_a_user_without_a_home_has_no_models_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs as a number."""

    def unknown(uid: int) -> NoReturn:
        raise KeyError(uid)

    monkeypatch.setattr("pwd.getpwuid", unknown)
    monkeypatch.delenv("HOME")

    assert names({"HF_HOME": os.environ["HF_HOME"]}) == []


@pytest.mark.parametrize("variable", [None, "OLLAMA_MODELS"])
def test_ollamas_manifests_lead_to_its_blobs(tmp_path: Path, variable: str | None) -> None:
    models = tmp_path / ("elsewhere" if variable else ".ollama/models")
    blob = in_ollama(models, "llama3.2", "1b", SMALL)
    environ = environ_of(tmp_path, **({variable: str(models)} if variable else {}))

    assert [(each.name, each.path) for each in find_files((), environ)] == [("llama3.2:1b", blob)]


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"layers": 3}',
        b'{"layers": []}',
        b'{"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "../../etc/passwd"}]}',
        b"[" * 100_000,
    ],
)
def test_a_manifest_that_says_nothing_is_passed_over(tmp_path: Path, manifest: bytes) -> None:
    write(tmp_path / ".ollama/models/manifests/registry.ollama.ai/library/x/y", manifest)

    assert names(environ_of(tmp_path)) == []


def test_the_hubs_files_are_named_by_their_repository(tmp_path: Path) -> None:
    """Once, though two snapshots have them; a file without a blob is none."""
    in_hub("Owner/Name", "sub/x.gguf", SMALL)
    in_hub("Owner/Name", "sub/x.gguf", SMALL, commit="later")
    gone = in_hub("Owner/Gone", "y.gguf", BIG)
    gone.resolve().unlink()

    assert names(environ_of(tmp_path)) == [("Hub", "Owner/Name:sub/x.gguf")]


def test_a_file_that_two_programs_share_is_listed_once(tmp_path: Path) -> None:
    real = write(tmp_path / "models" / "x.gguf", SMALL)
    link = tmp_path / ".lmstudio/models/owner/name/x.gguf"
    link.parent.mkdir(parents=True)
    link.symlink_to(real)

    assert names(environ_of(tmp_path), tmp_path / "models") == [("LM Studio", "owner/name/x.gguf")]


def test_nothing_anywhere_is_nothing_found(tmp_path: Path) -> None:
    assert len(STORES) == 6
    assert names(environ_of(tmp_path), tmp_path / "none") == []


def test_a_folder_is_searched_a_few_levels_deep_and_links_are_followed_once(tmp_path: Path) -> None:
    """As to models that were moved to another disk; a link may also lead back, as Wine's do to the whole disk."""
    write(tmp_path / "m" / "a" / "b" / "x.GGUF", SMALL)
    write(tmp_path / "m" / "/".join("abcdefgh") / "deep.gguf", SMALL)
    write(tmp_path / "disk" / "owner" / "y.gguf", BIG)
    for name, place in {"above": "", "loop": "m", "moved": "disk", "twice": "disk"}.items():
        (tmp_path / "m" / name).symlink_to(tmp_path / place)

    assert names(environ_of(tmp_path), tmp_path / "m") == [("folder", "a/b/x.GGUF"), ("folder", "moved/owner/y.gguf")]


def test_files_beside_pairs_are_looked_at_once_however_many_pairs_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In search of an embedding model."""
    for n in range(3):
        write(tmp_path / "m" / f"{n}.gguf", model_bytes(100 + n))
    collect([tmp_path / "m"])
    looked_at = []

    def read(path: Path, most_bytes: int) -> bytes:
        looked_at.append(path.name)
        return read_beginning(path, most_bytes)

    monkeypatch.setattr("localspec.models.pairs.embedder.read_beginning", read)
    assert find_embedders(environ_of(tmp_path)) == []
    assert looked_at == ["0.gguf", "1.gguf", "2.gguf"]


# What is in them


def scanned(tmp_path: Path, files: Mapping[str, bytes]) -> tuple[Mapping[str, int | None], list[tuple[str, str]]]:
    """The groups of files, and the possible pairs, by names."""
    for name, data in files.items():
        write(tmp_path / "m" / name, data)
    found = scan(find_files((tmp_path / "m",), environ_of(tmp_path)))
    groups = {model.name: model.group for model in found.models}
    return groups, [(pair.target.name, pair.draft.name) for pair in found.pairs]


def test_models_of_one_vocabulary_are_one_group_and_right_sizes_make_pairs(tmp_path: Path) -> None:
    groups, pairs = scanned(
        tmp_path,
        {
            "big.gguf": BIG,
            "middle.gguf": model_bytes(2500),
            "small.gguf": SMALL,
            "stranger.gguf": model_bytes(400, tokens=OTHER_TOKENS),
        },
    )

    assert groups["big.gguf"] == groups["middle.gguf"] == groups["small.gguf"] != groups["stranger.gguf"]
    assert pairs == [("big.gguf", "small.gguf"), ("middle.gguf", "small.gguf")]


def test_vocabularies_that_differ_as_far_as_may_be_make_a_pair_too(tmp_path: Path) -> None:
    """As Qwen2.5's do; they are of two groups all the same."""
    longer = (*(f"t{i}" for i in range(8)), *(f"x{i}" for i in range(20)))
    groups, pairs = scanned(
        tmp_path, {"big.gguf": model_bytes(4000, tokens=longer), "small.gguf": model_bytes(400, tokens=longer[:-1])}
    )

    assert groups["big.gguf"] != groups["small.gguf"]
    assert pairs == [("big.gguf", "small.gguf")]


def test_the_best_draft_comes_first(tmp_path: Path) -> None:
    _, pairs = scanned(tmp_path, {"a.gguf": model_bytes(900), "b.gguf": model_bytes(430), "big.gguf": BIG})

    assert pairs == [("big.gguf", "b.gguf"), ("big.gguf", "a.gguf")]


def test_a_broken_file_is_listed_with_its_reason(tmp_path: Path) -> None:
    for name, data in {"cut.gguf": BIG[:-50], "text.gguf": b"hello", "clip.gguf": model_bytes(tokens=())}.items():
        write(tmp_path / "m" / name, data)
    os.mkfifo(tmp_path / "m" / "pipe.gguf")

    found = scan(find_files((tmp_path / "m",), environ_of(tmp_path)))

    problems = {model.name: model.problem for model in found.models}
    assert problems.keys() == {"cut.gguf", "text.gguf", "clip.gguf", "pipe.gguf"}
    assert "truncated" in problems["cut.gguf"]
    assert "no vocabulary" in problems["clip.gguf"]
    assert all(problems.values())


@pytest.mark.parametrize(
    ("pooling", "architecture", "kind"),
    [
        (1, "bert", "embedding model"),
        (3, "llama", "embedding model"),
        (4, "bert", "reranker"),
        (4, "llama", "reranker"),
        (0, "bert", "encoder"),
    ],
)
def test_a_model_that_writes_no_text_is_no_target_and_no_draft(
    tmp_path: Path, pooling: int, architecture: str, kind: str
) -> None:
    """Its vocabulary may be a chat model's, and its size that of a draft, as those of Qwen3's are."""
    metadata: dict[str, Plain] = {"general.architecture": architecture, f"{architecture}.pooling_type": pooling}
    files = {"big.gguf": BIG, "small.gguf": model_bytes(400, metadata=metadata)}
    groups, pairs = scanned(tmp_path, files)
    big, small = (read_header(tmp_path / "m" / name) for name in files)

    assert groups == {"big.gguf": 0, "small.gguf": None}
    assert pairs == []
    assert judge_match(big, small).reason.endswith(f"{kind}, which writes no text")
    with pytest.raises(ModelFileError, match=f"{kind}, which writes no text"):
        check_target(small)


@pytest.mark.parametrize("end", ["bos", "eos"])
def test_texts_that_begin_or_end_with_token_0_are_not_those_without_one(tmp_path: Path, end: str) -> None:
    """llama.cpp refuses the two as a pair."""
    added: dict[str, Plain] = {f"tokenizer.ggml.{end}_token_id": 0, f"tokenizer.ggml.add_{end}_token": True}
    files = {"big.gguf": model_bytes(4000, metadata=added), "small.gguf": SMALL}
    groups, pairs = scanned(tmp_path, files)

    assert groups == {"big.gguf": 0, "small.gguf": 1}
    assert pairs == []


def test_a_model_with_its_projector_in_one_file_is_listed_with_the_reason(tmp_path: Path) -> None:
    """Ollama keeps models that see so; llama.cpp refuses tensors that it does not know."""
    tensors = (Tensor("token_embd.weight", (8, 12)), Tensor("v.blk.0.attn_q.weight", (8, 8)))
    path = in_ollama(tmp_path / ".ollama" / "models", "gemma3", "4b", model(tensors=tensors))

    found = scan(find_files((), environ_of(tmp_path)))

    assert [(each.name, "in the same file" in each.problem) for each in found.models] == [("gemma3:4b", True)]
    header = read_header(path)
    with pytest.raises(ModelFileError, match="its projector is in the same file"):
        check_target(header)
    assert judge_match(header, header).reason.startswith("the target has its projector in the same file")


def test_a_model_in_parts_counts_as_one(tmp_path: Path) -> None:
    """Of its files only the first has metadata; a later one alone is no target."""
    (tmp_path / "m").mkdir()
    write_tiny(tmp_path / "m" / "x.gguf", "llama", part_tensors=20)
    first, second = sorted((tmp_path / "m").iterdir())

    found = scan(find_files((tmp_path / "m",), environ_of(tmp_path)))

    both_bytes = first.stat().st_size + second.stat().st_size
    assert [(m.name, m.size_bytes, m.problem) for m in found.models] == [(first.name, both_bytes, "")]
    with pytest.raises(ModelFileError, match="a later part of a split model"):
        check_target(read_header(second))


def test_a_model_in_parts_is_known_by_the_names_of_its_files(tmp_path: Path) -> None:
    """The others are not found from a first file of another name, by llama.cpp neither."""
    write_tiny(tmp_path / "x.gguf", "llama", part_tensors=20)
    first, second = sorted(tmp_path.iterdir())

    with pytest.raises(ModelFileError, match="a later part of a split model"):
        read_parts(second)
    second.rename(tmp_path / "second")
    with pytest.raises(NotFoundError, match=second.name) as caught:
        read_parts(first)
    assert caught.value.hint.startswith(f"It is a part of {first.name}")
    renamed = first.rename(tmp_path / "renamed.gguf")
    with pytest.raises(ModelFileError, match=r"renamed\.gguf is the first of 2 files") as refused:
        read_parts(renamed)
    assert "NAME-00001-of-00002.gguf" in refused.value.hint


def test_a_model_in_parts_may_have_a_name_in_capitals(tmp_path: Path) -> None:
    first, later = (tmp_path / f"X-0000{number}-OF-00002.GGUF" for number in (1, 2))

    assert parts_of(first) == [first, later]
    assert (is_later_part(first.name), is_later_part(later.name)) == (False, True)


def test_what_there_is_no_time_for_is_listed_as_not_read(tmp_path: Path) -> None:
    path = write(tmp_path / "x.gguf", SMALL)
    times = iter([0.0, 1.0, 100.0])

    found = scan([Found(path, "folder", "a"), Found(path, "folder", "b")], deadline_s=30, clock=lambda: next(times))

    assert [bool(model.problem) for model in found.models] == [False, True]
    assert "not read" in found.models[1].problem
