"""Files that several LocalSpecs change at once: nothing that any of them wrote is lost."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from localspec.base.errors import refused
from localspec.base.file_lock import file_lock, folder_lock, is_locked
from localspec.base.shared_file import new_private_file, replace_file, resolved, write_whole
from localspec.chat.compose.history import PromptHistory
from localspec.chat.compose.message import WrittenMessage
from localspec.chat.compose.unsent import UnsentMessages
from localspec.config import read_config, setting
from localspec.models.pairs.proofs import read_proofs
from localspec.models.pairs.user_pairs import own_file, own_pairs
from localspec.runtime.past_replies import PastReplies

ROUNDS = 20
WRITER = f"""
import sys
from pathlib import Path
from localspec.chat.compose.history import PromptHistory
from localspec.chat.compose.message import WrittenMessage
from localspec.config import setting
from localspec.config.file import write_value
from localspec.models.pairs.user_pairs import append_pairs, remove_pair
from localspec.models.pairs.pair import ModelFile, Pair, Proof
from localspec.models.pairs.proofs import add_proof
from localspec.runtime.past_replies import PastReplies

me, folder = int(sys.argv[1]), Path(sys.argv[2])
replies, history = PastReplies(folder, "key"), PromptHistory(folder / "sent.jsonl")
print("ready", flush=True)
sys.stdin.readline()
names = [f"{{me}}-{{n}}" for n in range({ROUNDS})]
for n, name in enumerate(names):
    add_proof(name, Proof(revision="r", sha256=None, size_bytes=n, fingerprint=None, on="2026-11-22"))
for n in range({ROUNDS}):
    write_value(setting(("top_k", "max_tokens")[me]), n + 1)
    replies.add([me, n])
for n, name in enumerate(names):
    append_pairs(Pair(id=name, title=name, target=ModelFile(file=f"/{{name}}", path=Path(f"/{{name}}"))))
    history.add(WrittenMessage(name))
    if n:
        remove_pair(names[n - 1])
"""


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path / "home"))


def test_two_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(me), tmp_path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for me in range(2)
    ]
    for writer in writers:
        assert writer.stdout
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin
        writer.stdin.write("go\n")
        writer.stdin.flush()
    ended = [writer.communicate() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0], ended

    everything = {(me, n) for me in range(2) for n in range(ROUNDS)}
    assert set(read_proofs()) == {f"{me}-{n}" for me, n in everything}
    assert {pair.id for pair in own_pairs()} == {f"{me}-{ROUNDS - 1}" for me in range(2)}
    assert {(me, n) for me, n in PastReplies(tmp_path, "key").load()} == everything
    assert {each.text for each in PromptHistory(tmp_path / "sent.jsonl").messages} == {
        f"{m}-{n}" for m, n in everything
    }
    values = read_config().values
    assert (values[setting("top_k").name], values[setting("max_tokens").name]) == (ROUNDS, ROUNDS)
    assert tomllib.loads(own_file().read_text())


def test_what_is_being_written_in_one_app_is_not_taken_away_by_another(tmp_path: Path) -> None:
    """The second has nothing in its line when it ends; the first left a text meanwhile."""
    first, second = UnsentMessages(tmp_path), UnsentMessages(tmp_path)
    second.load("")
    first.save("", WrittenMessage("half a thought"))
    second.save("", WrittenMessage(""))

    assert UnsentMessages(tmp_path).load("").text == "half a thought"
    first.save("", WrittenMessage(""))
    assert UnsentMessages(tmp_path).load("").blank


def test_what_was_left_can_be_taken_up_and_sent_by_the_next_app(tmp_path: Path) -> None:
    UnsentMessages(tmp_path).save("", WrittenMessage("half a thought"))
    following = UnsentMessages(tmp_path)
    assert following.load("").text == "half a thought"
    following.save("", WrittenMessage(""))

    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_one_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    real, link = tmp_path / "real.toml", tmp_path / "link.toml"
    real.write_bytes(b"before")
    real.chmod(0o640)
    link.symlink_to(real)
    replace_file(link, b"after")

    assert link.is_symlink()
    assert real.read_bytes() == b"after"
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_link_that_goes_while_it_is_followed_leads_to_its_own_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two questions of the standard library's; a list of files is no reason to fail."""
    link = tmp_path / "link"
    link.symlink_to("real")
    monkeypatch.setattr(os, "readlink", lambda path: (tmp_path / "gone").stat())
    assert resolved(link) == link


@pytest.mark.parametrize("writer", [lambda path: replace_file(path, b"new"), lambda path: write_whole(path, "new")])
def test_the_file_that_is_written_first_has_a_name_nobody_can_lay_a_link_under(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: Callable[[Path], None]
) -> None:
    """A link that is there by that name all the same is not followed, and nothing is written."""
    file, elsewhere = tmp_path / "file.txt", tmp_path / "elsewhere"
    names: list[str] = []
    make = os.open

    def noting(name: Path, flags: int, mode: int) -> int:
        names.append(name.name)
        return make(name, flags, mode)

    monkeypatch.setattr(os, "open", noting)
    writer(file)
    writer(file)
    assert len({*names}) == 2
    assert all(re.fullmatch(r"\.file-[0-9a-f]{16}\.txt", name) for name in names)

    monkeypatch.setattr(os, "urandom", bytes)
    (tmp_path / f".file-{'00' * 8}.txt").symlink_to(elsewhere)
    with pytest.raises(FileExistsError):
        writer(file)
    assert not elsewhere.exists()
    assert file.read_text() == "new"


def test_a_file_of_ones_own_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a power cut could leave the name without its text."""
    steps: list[str] = []
    rename = Path.replace

    def noting(path: Path, to: Path) -> Path:
        steps.append("named")
        return rename(path, to)

    monkeypatch.setattr(os, "fsync", lambda _: steps.append("on the disk"))
    monkeypatch.setattr(Path, "replace", noting)
    replace_file(tmp_path / "a", b"text")
    write_whole(tmp_path / "b", "text")
    assert steps == ["on the disk", "named"] * 2


def test_a_new_private_file_is_whole_or_not_there(tmp_path: Path) -> None:
    """By its name it is never seen unfinished; a name that is taken, be it by a link to nothing, stays as it is."""
    path, link = tmp_path / "export.md", tmp_path / "link.md"
    link.symlink_to("nothing")
    with new_private_file(path) as file:
        file.write("half")
        file.flush()
        assert not path.exists()
        file.write(" and half")
    assert path.read_text() == "half and half"
    assert path.stat().st_mode & 0o777 == 0o600
    for taken in (path, link):
        with pytest.raises(FileExistsError), new_private_file(taken):
            pytest.fail("nothing is written")
    with pytest.raises(TypeError), new_private_file(tmp_path / "other") as file:
        file.writelines(["half", None])  # type: ignore[list-item]
    assert {*tmp_path.iterdir()} == {path, link}


def test_a_name_that_is_taken_meanwhile_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also on a file system without hard links."""
    path = tmp_path / "export.md"

    def refuse(*_: object) -> None:
        raise PermissionError(1, "no links here")

    for link in (os.link, refuse):
        monkeypatch.setattr(os, "link", link)
        with pytest.raises(FileExistsError), new_private_file(path):
            path.write_text("another's")
        assert path.read_text() == "another's"
        path.unlink()
    with new_private_file(path) as file:
        file.write("ours")
    assert path.read_text() == "ours"
    assert list(tmp_path.iterdir()) == [path]


def test_a_private_file_is_its_owners_alone(tmp_path: Path) -> None:
    replace_file(tmp_path / "new" / "notes.json", b"x", private=True)

    assert (tmp_path / "new" / "notes.json").stat().st_mode & 0o777 == 0o600


def test_what_a_check_refuses_is_not_put_in_place_and_leaves_nothing(tmp_path: Path) -> None:
    def refuse(written: Path) -> None:
        raise ValueError(written.read_bytes())

    file = tmp_path / "file"
    file.write_bytes(b"before")
    with pytest.raises(ValueError, match="after"):
        replace_file(file, b"after", check=refuse)

    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"before"]


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="directory"), folder_lock(tmp_path / "file" / "folder" / "name"):
        pass


def test_a_lock_is_seen_and_dropped_with_its_holder(tmp_path: Path) -> None:
    """A second taker that does not wait is refused; a file that is not there is not locked, and not created to ask."""
    file = tmp_path / "name.lock"
    assert not is_locked(file)
    assert not file.exists()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    assert is_locked(file)
    with pytest.raises(BlockingIOError), file_lock(file, wait=False):
        pass
    holder.kill()
    holder.communicate()
    with file_lock(file, wait=False):
        assert is_locked(file)
    assert not is_locked(file)


HOLDER = """
import sys
from pathlib import Path
from localspec.base.errors import refused
from localspec.base.file_lock import file_lock
with file_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("write", [lambda path: replace_file(path, b"new"), lambda path: write_whole(path, "new")])
def test_temporary_files_of_killed_programs_are_deleted_by_the_next_write(
    tmp_path: Path, write: Callable[[Path], None]
) -> None:
    """But those of a write under way, of other files, links, and files that a person named stay."""
    file = tmp_path / "chat.md"
    digits = "0123456789abcdef"
    stale, fresh = tmp_path / f".chat-{digits}.md", tmp_path / f".chat-{digits[::-1]}.md"
    kept = {tmp_path / f".other-{digits}.md", tmp_path / f".chat-{digits}.txt", tmp_path / ".chat-notes.md"}
    link = tmp_path / f".chat-{'a' * 16}.md"
    for path in (stale, fresh, *kept):
        path.write_text("half")
    for path in (stale, *kept):
        os.utime(path, (0, 0))
    link.symlink_to(stale.name)
    os.utime(link, (0, 0), follow_symlinks=False)
    write(file)
    assert {*tmp_path.iterdir()} == {file, fresh, link, *kept}


@pytest.mark.parametrize(
    "name", [f"{'中' * 80}.md", f"a.{'b' * 250}", f"{'a' * 99}é.md"], ids=["wide", "suffix", "cut"]
)
def test_a_name_may_be_as_long_as_the_file_system_takes(tmp_path: Path, name: str) -> None:
    """The temporary file repeats a part of it, counted in bytes."""
    replace_file(tmp_path / name, b"new")
    with new_private_file(tmp_path / f"0{name[1:]}") as stream:
        stream.write("new")
    assert {path.name for path in tmp_path.iterdir()} == {name, f"0{name[1:]}"}


def test_a_refusal_ends_with_one_full_stop() -> None:
    """Python's own reasons have one of their own."""
    error = io.UnsupportedOperation("File or stream is not seekable.")
    said, hint = refused("The file cannot be written", error, "go on")
    assert (said, hint) == ("The file cannot be written: file or stream is not seekable.", "Go on.")
