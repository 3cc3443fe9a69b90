"""The catalogue: what ships, what the user adds, where the files lie, and what is said when something is wrong."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Callable
from pathlib import Path, PosixPath

import pytest

from localspec.base.errors import ConfigError, NotFoundError
from localspec.base.paths import shipped, user_paths
from localspec.gguf import read_header
from localspec.models.compatibility import judge_match
from localspec.models.pairs import BUILTIN_ID, ModelFile, Pair, describe, load_catalogue
from localspec.models.pairs.hub_cache import hub_cache
from localspec.models.pairs.schema import read_pairs
from localspec.models.pairs.state import FileState
from tests.gguf_files import write

MINE = """\
# mine
[[pairs]]
id = "mine"
title = "My own"

[pairs.target]
file = "big.gguf"

[[pairs]]
id = "hub"
title = "From the Hub"

[pairs.target]
repo = "Owner/Name-GGUF"
file = "big.gguf"
size_bytes = 3

[pairs.draft]
repo = "Owner/Small-GGUF"
file = "sub/small.gguf"
"""


def own_pairs(text: str) -> Path:
    return write(user_paths().config / "pairs.toml", text.encode())


def cached(repo: str, file: str, data: bytes, commit: str = "c0ffee") -> Path:
    return write(hub_cache() / f"models--{repo.replace('/', '--')}" / "snapshots" / commit / file, data)


def hub_pair() -> Pair:
    own_pairs(MINE)
    return load_catalogue().find("hub")


# What ships


def test_the_tour_is_first_and_there() -> None:
    pair = load_catalogue().pairs[0]

    assert pair.id == BUILTIN_ID
    assert pair.tour
    assert pair.pace_tokens_per_second == 60
    assert pair.sampling.temperature is not None
    assert pair.licence == "MIT"
    assert pair.target.path == shipped("assets/builtin-target.gguf")
    assert pair.draft is not None
    assert pair.draft.path == shipped("assets/builtin-draft.gguf")


def test_the_tour_can_be_opened_at_once() -> None:
    """Its files are here, whole, small and made for each other; the draft is much the smaller."""
    files = load_catalogue().find(BUILTIN_ID).files()
    assert files.draft is not None
    target, draft = read_header(files.target), read_header(files.draft)

    verdict = judge_match(target, draft)

    assert (verdict.reason, verdict.warnings) == ("", ())
    assert target.size_bytes <= 24_000_000
    assert draft.size_bytes <= 2_500_000
    assert target.fingerprint == draft.fingerprint
    assert target.chat_template
    assert target.vocabulary.eot_id is not None


def test_only_the_tour_is_a_tour() -> None:
    assert [pair.id for pair in load_catalogue().pairs if pair.tour or pair.pace_tokens_per_second] == [BUILTIN_ID]


def test_what_is_said_about_one_file_is_the_same_everywhere() -> None:
    """A draft shared by several pairs has one size, one checksum and one revision."""
    known: dict[str, object] = {}
    for model in (model for pair in load_catalogue().pairs for model in pair.models):
        assert known.setdefault(model.label, model) == model


def test_every_field_of_the_schema_is_described_at_the_top_of_models_toml() -> None:
    text = shipped("models.toml").read_text(encoding="utf-8")
    head = "\n".join(line for line in text.partition("\n[[pairs]]")[0].splitlines())
    fields = set(re.findall(r"^([a-z_]\w*) = ", text, flags=re.MULTILINE))

    assert fields
    for field in fields:
        assert re.search(rf"\b{field}\b", head), field


# Finding


@pytest.mark.parametrize(
    ("asked", "hint"), [("qwen3-8", "Did you mean qwen3-8b"), ("BUILTIN", "builtin?"), ("?", "localspec pairs list")]
)
def test_an_unknown_id_names_those_that_come_close(asked: str, hint: str) -> None:
    with pytest.raises(NotFoundError, match=re.escape(repr(asked))) as caught:
        load_catalogue().find(asked)

    assert hint in caught.value.hint


# The user's own


def test_the_users_own_pairs_come_after_the_shipped_ones() -> None:
    before = [pair.id for pair in load_catalogue().pairs]
    own_pairs(MINE)

    assert [pair.id for pair in load_catalogue().pairs] == [*before, "mine", "hub"]


def test_a_pair_of_the_users_takes_the_place_of_a_shipped_one() -> None:
    before = [pair.id for pair in load_catalogue().pairs]
    own_pairs(MINE.replace('"mine"', '"qwen3-8b"'))
    catalogue = load_catalogue()

    assert [pair.id for pair in catalogue.pairs] == [*before, "hub"]
    assert catalogue.find("qwen3-8b").title == "My own"


def test_a_path_is_taken_from_the_folder_of_the_users_file(tmp_path: Path) -> None:
    """Unless it is absolute, or from the home folder."""
    for written, path in [
        ("big.gguf", user_paths().config / "big.gguf"),
        (str(tmp_path / "big.gguf"), tmp_path / "big.gguf"),
        ("~/big.gguf", Path.home() / "big.gguf"),
    ]:
        own_pairs(MINE.replace('"big.gguf"', json.dumps(written), 1))

        assert load_catalogue().find("mine").target.path == path


# Files


def test_files_on_disk_are_where_the_pair_says() -> None:
    own_pairs(MINE)
    path = write(user_paths().config / "big.gguf", b"abc")

    files = load_catalogue().find("mine").files()

    assert (files.target, files.draft) == (path, None)


def test_a_missing_file_of_ones_own_is_named() -> None:
    own_pairs(MINE)

    with pytest.raises(NotFoundError, match=re.escape(str(user_paths().config / "big.gguf"))) as caught:
        load_catalogue().find("mine").files()

    assert "pairs.toml" in caught.value.hint


def test_files_of_the_hub_are_found_in_its_cache() -> None:
    pair = hub_pair()
    target = cached("Owner/Name-GGUF", "big.gguf", b"abc")
    draft = cached("Owner/Small-GGUF", "sub/small.gguf", b"a", commit="0")

    assert (pair.files().target, pair.files().draft) == (target, draft)


def test_a_missing_file_of_the_hub_says_how_to_get_it() -> None:
    pair = hub_pair()
    cached("Owner/Name-GGUF", "big.gguf", b"abc")

    with pytest.raises(NotFoundError, match=r"sub/small\.gguf is not on this machine") as caught:
        pair.files()

    assert caught.value.hint == "Run `localspec pairs pull hub`."


def test_a_copy_of_another_size_is_not_used() -> None:
    pair = hub_pair()
    cached("Owner/Name-GGUF", "big.gguf", b"ab", commit="1")

    with pytest.raises(NotFoundError, match="not of the right size"):
        pair.target.locate()

    whole = cached("Owner/Name-GGUF", "big.gguf", b"abc", commit="2")
    assert pair.target.locate() == whole


def test_a_link_to_a_blob_that_is_gone_is_no_copy() -> None:
    pair = hub_pair()
    path = cached("Owner/Name-GGUF", "big.gguf", b"abc")
    path.unlink()
    path.symlink_to("../../blobs/gone")

    with pytest.raises(NotFoundError, match="is not on this machine"):
        pair.target.locate()


def test_the_wanted_revision_comes_first_then_the_main_branch_then_the_newest() -> None:
    pair = hub_pair()
    copies = {commit: cached("Owner/Name-GGUF", "big.gguf", b"abc", commit) for commit in ("old", "main", "new", "it")}
    for age, commit in enumerate(["new", "old", "main", "it"]):
        os.utime(copies[commit].parent, (1_000_000 - age, 1_000_000 - age))

    assert pair.target.locate() == copies["new"]

    write(hub_cache() / "models--Owner--Name-GGUF" / "refs" / "main", b"main\n")
    assert pair.target.locate() == copies["main"]

    assert dataclasses.replace(pair.target, revision="it").locate() == copies["it"]


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"HF_HUB_CACHE": "/a", "HF_HOME": "/b", "XDG_CACHE_HOME": "/c"}, "/a"),
        ({"HUGGINGFACE_HUB_CACHE": "/a", "HF_HOME": "/b"}, "/a"),
        ({"HF_HOME": "/b", "XDG_CACHE_HOME": "/c"}, "/b/hub"),
        ({"HF_HOME": "~/b"}, "~/b/hub"),
        ({"HF_HOME": "", "XDG_CACHE_HOME": "/c"}, "/c/huggingface/hub"),
        ({}, "~/.cache/huggingface/hub"),
    ],
)
def test_the_cache_is_where_the_hubs_own_variables_put_it(environ: dict[str, str], folder: str) -> None:
    assert hub_cache(environ) == Path(folder).expanduser()


# In words


def test_a_description_says_what_is_there_and_what_is_not() -> None:
    pair = hub_pair()
    cached("Owner/Name-GGUF", "big.gguf", b"abc")

    description = describe(pair)

    assert description.target == "Owner/Name-GGUF/big.gguf"
    assert description.draft == "Owner/Small-GGUF/sub/small.gguf"
    assert description.size_bytes is None
    assert not description.available
    assert description.reason == "sub/small.gguf is not on this machine."
    assert "pairs pull hub" in description.hint
    assert not description.verified


def test_a_description_measures_what_it_finds() -> None:
    pair = hub_pair()
    cached("Owner/Name-GGUF", "big.gguf", b"abc")
    cached("Owner/Small-GGUF", "sub/small.gguf", b"ab")

    description = describe(pair)

    assert (description.available, description.reason, description.hint) == (True, "", "")
    assert description.size_bytes == 5


def test_every_description_is_json() -> None:
    own_pairs(MINE)
    for pair in load_catalogue().pairs:
        record = json.loads(json.dumps(dataclasses.asdict(describe(pair))))

        assert record["id"] == pair.id
        assert record["available"] is not bool(record["reason"])


# What is wrong with a file


def changed(before: str, after: str) -> Callable[[str], str]:
    assert before in MINE
    return lambda text: text.replace(before, after, 1)


def sampled(setting: str) -> Callable[[str], str]:
    return lambda text: f"{text}\n[pairs.sampling]\n{setting}\n"


@pytest.mark.parametrize(
    ("change", "line", "expected"),
    [
        (changed('title = "My own"', "title = "), 4, "Invalid value"),
        (changed('title = "My own"', "title = 3"), 4, "'title': it should be a text, not 3"),
        (changed('title = "My own"', 'title = " "'), 4, "'title': it should be a text"),
        (changed('title = "My own"\n', ""), 2, "'title': it is required"),
        (changed('"mine"', '"My pair"'), 3, "'id': it should have lower-case letters"),
        (changed('"hub"', '"mine"'), 10, "'id': the pair 'mine' is in the file twice"),
        (changed('title = "From', 'titel = "From'), 9, "'title': it is required"),
        (changed("size_bytes", "sise_bytes"), 16, "'sise_bytes': there is no such field; did you mean 'size_bytes'"),
        (changed("size_bytes = 3", 'size_bytes = "3"'), 16, "'size_bytes': it should be a whole number of at least 1"),
        (changed("size_bytes = 3", "size_bytes = 0"), 16, "'size_bytes': it should be a whole number of at least 1"),
        (changed("size_bytes = 3", "size_bytes = true"), 16, "a whole number of at least 1, not True"),
        (changed("size_bytes = 3", 'sha256 = "ABC"'), 16, "'sha256': it should have 64 hexadecimal digits"),
        (changed("size_bytes = 3", "verified = 1"), 16, "'verified': it should be true or false, not 1"),
        (changed("Owner/Small-GGUF", "Small-GGUF"), 19, "'repo': it should have the form owner/name"),
        (changed("sub/small.gguf", "../small.gguf"), 20, "'file': with 'repo' it should be a name within"),
        (changed('file = "sub/small.gguf"', "# none"), 18, "'file': it is required"),
        (changed('[pairs.target]\nfile = "big.gguf"', ""), 2, "'target': a pair needs a [pairs.target] table"),
        (changed('[pairs.target]\nfile = "big.gguf"', 'target = "big.gguf"'), 6, "'target': it should be a table"),
        (changed("# mine", "pears = 1"), 1, "'pears': there is no such field; did you mean 'pairs'"),
        (changed("# mine", "[other]\n[[pear]]"), 1, "'other': there is no such field"),
        (
            lambda text: text + "\n[pairs.sampling]\ntemperature = -1\n",
            23,
            "'temperature': it should be a number from 0",
        ),
        (
            changed('title = "My own"', 'title = "x"\ndrafter = "oracle"'),
            5,
            "'drafter': it should be one of draft,",
        ),
        (changed('title = "My own"', 'title = "x"\nspeedup_low = 2'), 5, "'speedup_low': it should come with a"),
        (changed('title = "My own"', 'title = "x"\nspeedup_high = 2'), 5, "'speedup_high': it should come with a"),
        (changed("size_bytes = 3", "cache_bytes_per_token = 0"), 16, "'cache_bytes_per_token': it should be a whole"),
        (changed("size_bytes = 3", 'fingerprint = "x"'), 16, "'fingerprint': it should have 64 hexadecimal digits"),
        (lambda text: text + "\n[pairs.sampling]\ntop_p = 1.5\n", 23, "'top_p': it should be a number from 0 to 1"),
        (lambda text: text + "\n[pairs.sampling]\ntop_k = 1.5\n", 23, "'top_k': it should be a whole number"),
        (lambda text: text + "\n[pairs.sampling]\nmin_p = nan\n", 23, "'min_p': it should be a number from 0 to 1"),
    ],
)
def test_a_mistake_is_shown_with_its_line_and_what_was_expected(
    change: Callable[[str], str], line: int, expected: str
) -> None:
    path = own_pairs(change(MINE))

    with pytest.raises(ConfigError) as caught:
        load_catalogue()

    assert str(path) in caught.value.message
    assert re.search(rf"\bline {line}\b", caught.value.message), caught.value.message
    assert expected in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("text", ["[pairs]\nid = 1\n", "pairs = 3\n", "pairs = [3]\n"])
def test_pairs_that_are_no_tables_are_refused(text: str) -> None:
    own_pairs(text)

    with pytest.raises(ConfigError, match=r"line 1, field 'pairs': pairs are written as \[\[pairs\]\]"):
        load_catalogue()


def test_a_file_that_is_no_text_or_no_file_is_refused() -> None:
    path = own_pairs(MINE)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_catalogue()

    path.unlink()
    path.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        load_catalogue()


def test_the_users_file_may_be_missing_but_the_shipped_one_may_not(tmp_path: Path) -> None:
    assert read_pairs(tmp_path / "none.toml", locate=shipped) == ()
    with pytest.raises(ConfigError, match="cannot be read"):
        read_pairs(tmp_path / "none.toml", locate=shipped, shipped=True)


def test_an_empty_file_adds_nothing() -> None:
    before = load_catalogue()
    own_pairs("")

    assert load_catalogue() == before


class _Going(PosixPath):
    """A file that is gone when its size is looked up."""

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        raise FileNotFoundError(self)


def test_a_file_that_goes_while_pairs_are_listed_takes_no_room(tmp_path: Path) -> None:
    path = _Going(write(tmp_path / "a.gguf", b"GGUF"))
    assert FileState(ModelFile(file=str(path), path=path), path, None).size_bytes == 0
