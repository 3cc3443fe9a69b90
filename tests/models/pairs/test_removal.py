"""The removal of a pair: files that go with it, files that stay, and leftovers."""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import scan_cache_dir

from localspec.base.errors import ConfigError, NotFoundError, UsageError
from localspec.models.pairs import load_catalogue
from localspec.models.pairs.hub_cache import hub_cache
from localspec.models.pairs.leftovers import UNFINISHED, UNUSED, find_leftovers
from localspec.models.pairs.removal import carry_out, plan_removal
from localspec.models.pairs.state import HERE, MISSING, NOT_HERE, PARTLY, disk_bytes, state_of
from localspec.models.pairs.unfinished import PART_SUFFIX
from localspec.models.pairs.user_pairs import own_file, own_pairs
from tests.gguf_files import write
from tests.models.pairs.support import hub_pair, in_hub, write_own

BIG_BYTES, SMALL_BYTES, OTHER_BYTES = b"b" * 100, b"s" * 10, b"o" * 50


def two_pairs() -> tuple[Path, Path, Path]:
    """Pairs ``one`` and ``two`` of one draft, all here."""
    write_own(hub_pair("one", "big.gguf", "small.gguf") + "\n" + hub_pair("two", "other.gguf", "small.gguf"))
    return (
        in_hub("Owner/Name", "big.gguf", BIG_BYTES),
        in_hub("Owner/Name", "small.gguf", SMALL_BYTES),
        in_hub("Owner/Name", "other.gguf", OTHER_BYTES),
    )


def here(*paths: Path) -> list[bool]:
    return [path.exists() for path in paths]


def test_a_draft_that_another_pair_uses_stays() -> None:
    big, small, other = two_pairs()
    blob = big.resolve()

    removal = plan_removal("one")
    assert here(big, small, other) == [True] * 3, "planning removes nothing"
    assert removal.freed_bytes == len(BIG_BYTES)
    assert removal.kept == ("small.gguf stays: the pair 'two' uses it.",)

    carry_out(removal)
    assert here(big, blob, small, other) == [False, False, True, True]
    assert [pair.id for pair in load_catalogue().pairs if pair.target.repo == "Owner/Name"] == ["two"]


@pytest.mark.parametrize("through_link", [False, True], ids=["its path", "a link"])
def test_a_file_that_another_pair_names_by_path_stays(tmp_path: Path, through_link: bool) -> None:
    """As a pair does that was made of a file in the Hub's cache, or of a link to one."""
    big = in_hub("Owner/Name", "big.gguf", BIG_BYTES)
    small = in_hub("Owner/Name", "small.gguf", SMALL_BYTES)
    path = big
    if through_link:
        path = tmp_path / "mine.gguf"
        path.symlink_to(big)
    own = f'[[pairs]]\nid = "mine"\ntitle = "Mine"\n[pairs.target]\nfile = "{path}"\n'
    write_own(hub_pair("one", "big.gguf", "small.gguf") + "\n" + own)

    removal = plan_removal("one")
    carry_out(removal)

    assert removal.kept == ("big.gguf stays: the pair 'mine' uses it.",)
    assert here(big, small) == [True, False]


def test_with_its_last_pair_the_draft_goes_too() -> None:
    big, small, other = two_pairs()

    carry_out(plan_removal("one"))
    removal = plan_removal("two")
    carry_out(removal)

    assert removal.freed_bytes == len(OTHER_BYTES) + len(SMALL_BYTES)
    assert here(big, small, other) == [False] * 3
    assert list(hub_cache().iterdir()) == [], "an empty repository goes"


def test_every_snapshots_copy_goes_but_no_other_file_of_the_repository() -> None:
    write_own(hub_pair("one", "big.gguf", "small.gguf"))
    first, second = (in_hub("Owner/Name", "big.gguf", BIG_BYTES, commit=commit) for commit in "ab")
    readme = in_hub("Owner/Name", "README.md", b"read me", commit="a")

    carry_out(plan_removal("one"))

    assert here(first, second, readme, readme.resolve()) == [False, False, True, True]
    assert not second.parent.exists(), "an empty snapshot goes"


def test_what_is_left_of_a_repository_is_no_corrupted_cache_to_other_programs() -> None:
    """No branch names a commit of which nothing is here; what is unfinished stays, and its folder."""
    write_own(hub_pair("one", "big.gguf", "small.gguf") + "\n" + hub_pair("two", "x.gguf", "y.gguf", repo="Owner/Two"))
    in_hub("Owner/Name", "big.gguf", BIG_BYTES, commit="a" * 40)
    in_hub("Owner/Name", "README.md", b"read me", commit="b" * 40)
    write(hub_cache() / "models--Owner--Name" / "refs" / "pr" / "1", b"a" * 40)
    in_hub("Owner/Two", "x.gguf", OTHER_BYTES, commit="c" * 40)
    part = write(hub_cache() / "models--Owner--Two" / "blobs" / f"etag{PART_SUFFIX}", b"half")

    carry_out(plan_removal("one"))
    carry_out(plan_removal("two"))

    found = scan_cache_dir(hub_cache())
    assert [str(warning) for warning in found.warnings if "Two" not in str(warning)] == []
    (repo,) = [repo for repo in found.repos if repo.repo_id == "Owner/Name"]
    assert repo.refs.keys() == {"main"}
    assert part.exists()
    assert not (hub_cache() / "models--Owner--Two" / "refs").exists()


def test_a_blob_that_another_name_points_to_stays() -> None:
    write_own(hub_pair("one", "big.gguf", "small.gguf"))
    in_hub("Owner/Name", "big.gguf", BIG_BYTES)
    alias = in_hub("Owner/Name", "alias.gguf", BIG_BYTES)

    removal = plan_removal("one")
    carry_out(removal)

    assert removal.freed_bytes == 0
    assert alias.exists()


def test_files_outside_the_cache_are_never_touched(tmp_path: Path) -> None:
    """Named by their path, or pointed to by a link in the cache."""
    mine = write(tmp_path / "mine.gguf", b"x")
    outside = write(tmp_path / "outside.gguf", b"y")
    write_own(hub_pair("one", "big.gguf", "small.gguf") + f'\n[[pairs]]\nid="p"\ntitle="p"\ntarget.file="{mine}"\n')
    link = hub_cache() / "models--Owner--Name" / "snapshots" / "a" / "big.gguf"
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)

    for pair_id in ("p", "one"):
        carry_out(plan_removal(pair_id))

    assert here(mine, outside) == [True, True]
    assert not link.is_symlink()
    assert not [pair for pair in load_catalogue().pairs if pair.id in ("p", "one")]


def test_of_a_shipped_pair_the_files_go_and_the_entry_stays() -> None:
    pair = load_catalogue().find("qwen2.5-7b")
    assert pair.target.repo
    path = in_hub(pair.target.repo, pair.target.file, BIG_BYTES)

    removal = plan_removal("qwen2.5-7b")
    carry_out(removal)

    assert not removal.table
    assert not path.exists()
    assert load_catalogue().find("qwen2.5-7b") == pair
    assert not own_file().exists()


def test_on_a_full_disk_the_files_make_room_for_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    big, _, _ = two_pairs()
    removal, blob, open_file = plan_removal("one"), big.resolve(), os.open

    def full(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
        if flags & os.O_CREAT and blob.exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return open_file(path, flags, *arguments, **options)

    monkeypatch.setattr(os, "open", full)
    carry_out(removal)

    assert not blob.exists()
    assert [pair.id for pair in own_pairs()] == ["two"]


def test_files_stay_where_the_table_cannot_be_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Because of how it is written, or of where."""
    files = two_pairs()
    text = own_file().read_text()
    own_file().write_text(text.replace('id = "one"', 'id = "one"\nnote = """\n[[pairs]]\n"""'))
    with pytest.raises(ConfigError, match="cannot be changed safely"):
        carry_out(plan_removal("one"))
    own_file().write_text(text)

    def read_only(**options: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(tempfile, "TemporaryFile", read_only)
    with pytest.raises(ConfigError, match="read-only"):
        carry_out(plan_removal("one"))
    assert here(*files) == [True] * 3
    assert [pair.id for pair in own_pairs()] == ["one", "two"]


def test_an_unfinished_download_of_it_is_told_of() -> None:
    write_own(hub_pair("one", "big.gguf", "small.gguf") + hub_pair("two", "x.gguf", "y.gguf", repo="Owner/Other"))
    write(hub_cache() / "models--Owner--Name" / "blobs" / ("a" * 64 + ".localspec.part"), b"half")

    assert "unfinished download from Owner/Name" in " ".join(plan_removal("one").kept)
    assert not plan_removal("two").kept


def test_what_cannot_be_removed_is_told() -> None:
    with pytest.raises(UsageError, match="is part of LocalSpec"):
        plan_removal("builtin")
    with pytest.raises(NotFoundError, match="There is nothing of 'qwen3-8b'"):
        plan_removal("qwen3-8b")
    with pytest.raises(NotFoundError, match="There is no pair"):
        plan_removal("none")


def test_a_file_of_two_pairs_is_counted_once() -> None:
    two_pairs()
    pairs = [load_catalogue().find(pair_id) for pair_id in ("one", "two")]

    assert disk_bytes(pairs) == len(BIG_BYTES) + len(SMALL_BYTES) + len(OTHER_BYTES)


# States


def test_the_state_of_a_pair() -> None:
    write_own(hub_pair("one", "big.gguf", "small.gguf"))
    states = []
    for file in (None, "big.gguf", "small.gguf"):
        if file:
            in_hub("Owner/Name", file, BIG_BYTES)
        states.append(state_of(load_catalogue().find("one")).state)

    assert states == [NOT_HERE, PARTLY, HERE]


def test_a_volume_that_is_gone_is_told_from_a_file_that_is() -> None:
    write_own('[[pairs]]\nid = "p"\ntitle = "p"\ntarget.file = "/media/none/x.gguf"\n')
    state = state_of(load_catalogue().find("p"))
    assert (state.state, "volume" in state.hint) == (MISSING, True)

    write_own('[[pairs]]\nid = "p"\ntitle = "p"\ntarget.file = "x.gguf"\n')
    state = state_of(load_catalogue().find("p"))
    assert (state.state, "volume" in state.hint) == (MISSING, False)


def test_a_pair_with_heads_needs_both_of_its_files() -> None:
    write_own(hub_pair("w", "big.gguf", "head.gguf").replace('title = "w"', 'title = "w"\ndrafter = "eagle3"'))
    big = in_hub("Owner/Name", "big.gguf", BIG_BYTES)
    assert state_of(load_catalogue().find("w")).state == PARTLY
    head = in_hub("Owner/Name", "head.gguf", SMALL_BYTES)

    files = load_catalogue().find("w").files()

    assert (files.target, files.draft) == (big, head)


def test_a_model_in_parts_is_here_when_all_its_parts_are() -> None:
    write_own(hub_pair("one", "big-00001-of-00002.gguf", "small.gguf"))
    in_hub("Owner/Name", "small.gguf", SMALL_BYTES)
    in_hub("Owner/Name", "big-00001-of-00002.gguf", BIG_BYTES)
    assert state_of(load_catalogue().find("one")).state == PARTLY

    in_hub("Owner/Name", "big-00002-of-00002.gguf", OTHER_BYTES)
    state = state_of(load_catalogue().find("one"))
    assert state.state == HERE
    assert state.files[0].size_bytes == len(BIG_BYTES) + len(OTHER_BYTES)

    removal = plan_removal("one")
    assert removal.freed_bytes == len(BIG_BYTES) + len(OTHER_BYTES) + len(SMALL_BYTES)


# Leftovers


def test_leftovers_are_what_no_name_points_to() -> None:
    in_hub("Owner/Name", "big.gguf", BIG_BYTES)
    blobs = hub_cache() / "models--Owner--Name" / "blobs"
    for name, data in {
        "a.1234.incomplete": b"x" * 5,
        "b.localspec.part": b"x" * 4,
        "b.localspec.json": b"x" * 2,
        "orphan": b"x" * 3,
    }.items():
        write(blobs / name, data)
    later = (blobs / "orphan").stat().st_mtime + 3600

    found = find_leftovers(now_s=later)

    assert [(each.path.name, each.kind, each.size_bytes, each.in_use) for each in found] == [
        ("a.1234.incomplete", UNFINISHED, 5, False),
        ("b.localspec.part", UNFINISHED, 4, False),
        ("orphan", UNUSED, 3, False),
        ("b.localspec.json", UNFINISHED, 2, False),
    ]
    assert [each.in_use for each in find_leftovers(now_s=later - 3599)] == [True] * 4


def test_a_download_that_is_locked_or_written_to_is_in_use_with_all_its_files() -> None:
    blobs = hub_cache() / "models--Owner--Name" / "blobs"
    part, note = (write(blobs / f"a.localspec.{ending}", b"x") for ending in ("part", "json"))
    written = part.stat().st_mtime
    os.utime(note, (written - 9999, written - 9999))
    assert [each.in_use for each in find_leftovers(now_s=written + 1)] == [True] * 2

    lock = write(hub_cache() / ".locks" / "models--Owner--Name" / "a.lock", b"")
    with lock.open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert [each.in_use for each in find_leftovers(now_s=written + 9999)] == [True] * 2
    assert [each.in_use for each in find_leftovers(now_s=written + 9999)] == [False] * 2


def test_a_cache_without_links_has_no_leftovers() -> None:
    write(hub_cache() / "models--Owner--Name" / "snapshots" / "a" / "x.gguf", b"x")

    assert find_leftovers() == []
    assert find_leftovers(hub_cache() / "none") == []
