"""Whatever state the file is in: it opens, or a sentence says why not, and nothing is overwritten."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from localspec.base.errors import EngineError, StoreError
from localspec.runtime.images import image_block, keep_image
from localspec.runtime.messages import ToolCall
from localspec.store import Store, database_file, opening, salvage, sqlite_errors
from localspec.store.opening import back_up, open_file
from localspec.store.schema import MIGRATIONS
from tests.store.support import ABOUT, FakeTime, converse, open_store
from tests.tiny_projectors import write_png

CLOCK = FakeTime().now


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search for rows of a damaged file ends sooner: no test has many."""
    monkeypatch.setattr(salvage, "_GAP_N", 1000)


def test_only_the_owner_can_read_it(path: Path) -> None:
    """The folder 0700, and the file with all that lies beside it 0600."""
    store = open_store(path)
    thread = converse(store, ("Hello", "Yes."))
    thread.begin_reply(thread.reply(thread.path[-1].id).parts[0].about)  # type: ignore[union-attr]
    modes = {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert (stat.S_IMODE(path.parent.stat().st_mode), modes) == (0o700, {0o600})
    store.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def at_version(path: Path, version: int) -> None:
    """A database with a conversation, as the first ``version`` migrations left it."""
    open_file(path, CLOCK, 0, MIGRATIONS[:version]).connection.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "INSERT INTO conversation (id, title, created, updated, leaf) VALUES ('c', 'Old', 1, 2, 'm')"
        )
        connection.execute(
            "INSERT INTO message (id, conversation, role, content, created) VALUES ('m', 'c', 'user', 'Old words', 1)"
        )
        connection.commit()


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
def test_an_older_database_is_copied_and_brought_up_to_date(path: Path, version: int) -> None:
    """From every earlier version, with all that is in it; the copy is what was."""
    at_version(path, version)
    store = open_store(path)
    assert [each.heading.title for each in store.conversations()] == ["Old"]
    assert [node.content for node in store.open_conversation("c").path] == ["Old words"]
    assert [hit.message for hit in store.search("words")] == ["m"]
    store.close()
    copy = path.with_name(f"history-before-v{len(MIGRATIONS)}.db")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (version,)
        assert connection.execute("SELECT content FROM message").fetchall() == [("Old words",)]


def test_images_that_messages_name_outlive_a_start(tmp_path: Path) -> None:
    """Of a person and of a tool, whatever stands before them; those that no message names any more do not."""
    asked, seen, left = (keep_image(write_png(tmp_path / f"{n}.png", seed=n).read_bytes()) for n in range(3))
    store = open_store(database_file())
    thread = store.begin()
    thread.ask(f"Look:\n{image_block('a.png', asked)}What is this?")
    thread.add_result(ToolCall("1", "look", "{}"), image_block("b.png", seen))
    thread.ask(f"No reference is this: sha256:{left.sha256}")
    store.close()
    for image in (asked, seen, left):
        os.utime(image.path, (1, 1))
    open_store(database_file()).close()
    assert [image.path.exists() for image in (asked, seen, left)] == [True, True, False]


def test_images_outlive_the_damage_of_what_names_them(tmp_path: Path) -> None:
    """As long as the damaged file is there, from which messages may be recovered."""
    image = keep_image(write_png(tmp_path / "a.png").read_bytes())
    os.utime(image.path, (1, 1))
    database_file().parent.mkdir(parents=True, exist_ok=True)
    database_file().write_bytes(b"this is no database at all, " * 100)
    open_store(database_file()).close()
    open_store(database_file()).close()
    assert image.path.exists()


def test_the_copy_is_what_was_though_another_program_migrates_meanwhile(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two that start at once after an update, the second finds nothing to do."""
    at_version(path, 1)
    look, versions, others = opening.version_of, list[int](), list[Store]()

    def looked(connection: sqlite3.Connection) -> int:
        versions.append(look(connection))
        if versions == [1, 1]:  # when the file is opened, and when its migration begins
            others.append(open_store(path, first_id=500))
            return 1
        return versions[-1]

    monkeypatch.setattr(opening, "version_of", looked)
    store = open_store(path)
    with closing(sqlite3.connect(path.with_name(f"history-before-v{len(MIGRATIONS)}.db"))) as copy:
        assert copy.execute("PRAGMA user_version").fetchone() == (1,)
    for each in (*others, store):
        assert [listed.heading.title for listed in each.conversations()] == ["Old"]
        each.close()


def test_a_step_that_fails_changes_nothing(path: Path) -> None:
    """The database stays at its version, and the next start tries again."""

    def broken(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM message")
        connection.execute("no statement")

    at_version(path, 1)
    with pytest.raises(StoreError):
        open_file(path, CLOCK, 0, [MIGRATIONS[0], broken])
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT content FROM message").fetchall() == [("Old words",)]
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)


def test_a_copy_that_fails_stops_the_step(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No migration without a copy."""
    at_version(path, 1)
    path.with_name(f"history-before-v{len(MIGRATIONS)}.db.part").mkdir()
    with pytest.raises(StoreError, match="cannot be copied"):
        open_store(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)


def test_a_newer_database_is_read_and_not_touched(path: Path) -> None:
    """It is told, and what is said is kept in memory."""
    store = open_store(path)
    thread = converse(store, ("Hello", "Yes."))
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    newer = open_store(path)
    assert newer.read_only
    assert not newer.stores
    assert "newer LocalSpec" in newer.notice
    again = newer.open_conversation(thread.id)
    again.ask("And now?")
    assert [node.content for node in again.path] == ["Hello", "Yes. ", "And now?"]
    assert again.trouble is not None
    assert newer.search("hello") != []
    with pytest.raises(StoreError, match="newer"):
        newer.rename(thread.id, "Other")
    newer.close()
    assert path.read_bytes() == before


def test_a_migration_that_was_rolled_back_fails_with_its_own_error(path: Path) -> None:
    """SQLite ends a transaction itself where the disk is full."""

    def full(connection: sqlite3.Connection) -> None:
        connection.execute("ROLLBACK")
        raise sqlite3.OperationalError("the disk is full")

    with pytest.raises(StoreError, match="the disk is full"):
        open_file(path, CLOCK, 0, (full,))


@pytest.mark.parametrize("kind", ["text", "cut short", "scribbled over", "no longer UTF-8"])
def test_a_damaged_database_is_set_aside_whole(path: Path, kind: str) -> None:
    """Under a name that is told; a new one is begun."""
    store = open_store(path)
    converse(store, ("Hello", "Yes."))
    store.close()
    damaged = {
        "text": b"this is no database at all, " * 100,
        "cut short": path.read_bytes()[:5000],
        "scribbled over": path.read_bytes()[:100] + b"\xaa" * 4000 + path.read_bytes()[4100:],
        "no longer UTF-8": path.read_bytes().replace(b"CREATE TABLE chunk", b"CREATE T\xaaBLE chunk"),
    }[kind]
    path.write_bytes(damaged)
    path.with_name("history.db-wal").write_bytes(b"the journal")
    again = open_store(path)
    (aside,) = path.parent.glob("history-damaged-20261121T*.db")
    assert str(aside) in again.notice
    assert aside.read_bytes() == damaged
    assert aside.with_name(f"{aside.name}-wal").read_bytes() == b"the journal"
    assert again.stores
    assert again.conversations() == []
    converse(again, ("Hello again", "Yes."))
    again.close()
    path.write_bytes(damaged)
    third = open_store(path)
    assert len(list(path.parent.glob("history-damaged-*.db"))) == 2, "the first is not overwritten"
    third.close()


def _scribbled(path: Path, *texts: bytes) -> bytes:
    """The database with every page scribbled over that has one of the texts."""
    data = bytearray(path.read_bytes())
    for start in range(4096, len(data), 4096):
        if any(text in data[start : start + 4096] for text in texts):
            data[start : start + 4096] = b"\xaa" * 4096
    return bytes(data)


def _grown(path: Path) -> None:
    """Sixty conversations, of which none shares a page with the one ten further."""
    store = open_store(path)
    for n in range(60):
        converse(store, (f"Question {n:02}: " + "why " * 200, f"Reply {n:02}: " + "so " * 200), ("And now?", "Later."))
    store.close()


@pytest.mark.parametrize("gone", [(20, 20), (0, 0), (0, 59), (59, 59), (20, 40)], ids=str)
def test_what_can_be_read_of_a_damaged_database_is_kept(path: Path, gone: tuple[int, int]) -> None:
    """Wherever it is damaged; with figures and search, and the shown path complete as far as there are messages."""
    _grown(path)
    damaged = _scribbled(path, *(f"{kind} {n:02}: ".encode() for n in gone for kind in ("Question", "Reply")))
    path.write_bytes(damaged)
    path.with_name("history.db-damaged").touch()
    again = open_store(path, first_id=5000)
    (aside,) = path.parent.glob("history-damaged-*.db")
    assert aside.read_bytes() == damaged
    kept = again.conversations()
    assert f"what could still be read: {len(kept)} conversations with" in again.notice
    texts = [node.content for each in kept for node in again.open_conversation(each.heading.id).path]
    for n in range(60):
        for kind in ("Question", "Reply"):
            hurt = any(abs(n - each) < 10 for each in gone)
            assert hurt or any(text.startswith(f"{kind} {n:02}: ") for text in texts)
    assert len(list(again.runs())) > 60
    assert again.search("why")
    thread = converse(again, ("Hello", "Yes."))
    again.close()
    third = open_store(path)
    assert (third.notice, third.document(thread.id).heading.title) == ("", "Hello")
    assert not list(path.parent.glob("*.part"))
    third.close()


def test_a_program_killed_while_it_recovers_leaves_the_damaged_database(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is, for the next start to recover."""
    _grown(path)
    damaged = _scribbled(path, b"Question 20: ", b"Reply 20: ")
    path.write_bytes(damaged)
    path.with_name("history.db-damaged").touch()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(opening, "salvage", killed)
        with pytest.raises(KeyboardInterrupt):
            open_store(path)
    assert path.read_bytes() == damaged
    again = open_store(path)
    assert "what could still be read: " in again.notice
    again.close()


def test_a_damaged_database_is_set_aside_by_one_program_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another that met the damage too finds the new file, and leaves it where it is."""
    path.parent.mkdir()
    path.write_bytes(b"this is no database at all, " * 100)
    lock, others = opening._creation_lock, list[Store]()

    @contextmanager
    def late(place: Path) -> Iterator[None]:
        monkeypatch.setattr(opening, "_creation_lock", lock)
        others.append(open_store(path, first_id=500))
        with lock(place):
            yield

    monkeypatch.setattr(opening, "_creation_lock", late)
    store = open_store(path)
    assert "renamed to" in others[0].notice
    assert store.notice == ""
    converse(others[0], ("Hello", "Yes."))
    assert len(store.conversations()) == 1
    assert len(list(path.parent.glob("history-damaged-*.db"))) == 1
    for each in (*others, store):
        each.close()


def test_damage_that_is_met_later_is_looked_into_at_the_next_start(path: Path) -> None:
    """While it is open, a sentence; then it is set aside."""
    store = open_store(path)
    for n in range(60):
        converse(store, (f"Hello {n} " * 200, "Yes."))
    store.close()
    data = bytearray(path.read_bytes())
    page = len(data) // 4096 // 2
    for number in range(page, page + 60):
        data[number * 4096 : number * 4096 + 64] = b"\xaa" * 64
    path.write_bytes(data)
    store = open_store(path)
    assert store.notice == ""
    with pytest.raises(StoreError, match="damaged"):
        [*map(store.document, [each.heading.id for each in store.conversations()])]
    store.close()
    again = open_store(path)
    assert "renamed to" in again.notice
    again.close()


def test_a_damage_that_was_none_is_forgotten(path: Path) -> None:
    """The file is examined, found whole, and used."""
    store = open_store(path)
    converse(store, ("Hello", "Yes."))
    store.close()
    marker = path.with_name("history.db-damaged")
    marker.touch()
    again = open_store(path)
    assert (again.notice, len(again.conversations()), marker.exists()) == ("", 1, False)
    again.close()


def not_in_wal_mode(path: Path) -> None:
    """An up-to-date database without the mode, as a copy by sqlite3's .dump is."""
    open_store(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")


def test_one_that_is_held_for_a_moment_is_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another program writes, SQLite refuses to change the mode at once, however long it was told to wait."""
    not_in_wal_mode(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        looks: list[str] = []

        def let_go() -> None:
            looks.append("held")
            if len(looks) == 3:
                other.execute("ROLLBACK")

        monkeypatch.setattr(opening, "_pause", let_go, raising=False)
        store = open_store(path, busy_s=60)
    assert looks == ["held"] * 3
    assert store.stores
    store.close()


def test_many_that_begin_at_once_all_store(tmp_path: Path) -> None:
    """In one file that is not there yet; nobody is told of an empty file that was another's beginning."""
    for number in range(10):
        begin = partial(open_store, tmp_path / str(number) / "history.db", busy_s=60)
        with ThreadPoolExecutor(4) as pool:
            stores = [each.result() for each in [pool.submit(begin, first_id=n) for n in range(0, 400, 100)]]
        assert [(store.stores, store.notice) for store in stores] == [(True, "")] * 4
        for store in stores:
            converse(store, ("Hello", "Yes."))
        assert len(stores[0].conversations()) == 4
        for store in stores:
            store.close()


@pytest.mark.parametrize("copies", [(), ("history-before-v2.db",)])
def test_an_empty_file_is_begun_in_and_told(path: Path, copies: tuple[str, ...]) -> None:
    """It may once have held conversations: what may be a copy is named, and nothing of it touched."""
    path.parent.mkdir()
    path.touch()
    for copy in copies:
        path.with_name(copy).write_bytes(b"a copy")
    store = open_store(path)
    assert f"{path} was empty" in store.notice
    assert ("There is no backup" in store.notice) == (not copies)
    assert all(str(path.with_name(copy)) in store.notice for copy in copies)
    converse(store, ("Hello", "Yes."))
    store.close()
    again = open_store(path)
    assert (again.notice, len(again.conversations())) == ("", 1)
    again.close()
    assert {each.name for each in path.parent.iterdir()} == {"history.db", *copies}


def test_an_empty_file_beside_a_journal_is_set_aside_with_it(path: Path) -> None:
    """SQLite would throw the journal away, in which all may still be."""
    store = open_store(path)
    converse(store, ("Hello", "Yes."))
    journal = path.with_name("history.db-wal").read_bytes()
    assert journal
    store.close()
    path.write_bytes(b"")
    path.with_name("history.db-wal").write_bytes(journal)
    again = open_store(path)
    assert "was damaged. It was renamed" in again.notice
    (aside,) = path.parent.glob("history-damaged-*.db-wal")
    assert aside.read_bytes() == journal
    again.close()


def test_nothing_is_left_of_one_that_could_not_be_begun(path: Path) -> None:
    """No empty file for the next start to wonder about."""

    def full(_: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    path.parent.mkdir()
    path.with_name("history.db-wal").mkdir()  # WAL mode cannot be begun
    with pytest.raises(StoreError):
        open_file(path, CLOCK, 0, [full])
    assert not path.exists()


def test_one_that_is_held_for_long_is_told(path: Path) -> None:
    """And the app goes on in memory."""
    open_store(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="in use by another program"):
            open_store(path)
        store = Store.open_or_memory(path, busy_s=0)
        assert not store.stores
        assert "not stored" in store.notice
        thread = converse(store, ("Hello", "Yes."))
        assert thread.trouble is None
        assert len(store.search("hello")) == 1
        store.close()


def test_a_place_where_nothing_can_be_made_is_told(tmp_path: Path) -> None:
    """A file where the folder should be."""
    (tmp_path / "data").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be stored in"):
        open_store(tmp_path / "data" / "history.db")
    assert not Store.open_or_memory(tmp_path / "data" / "history.db").stores


def test_one_that_is_moved_away_while_it_is_open_is_told(path: Path) -> None:
    """By what needs to open it once more; what is open can still be exported."""
    store = open_store(path)
    thread = converse(store, ("Hello", "Yes."))
    path.rename(path.with_name("elsewhere.db"))
    for read in (lambda: list(store.search("hello")), lambda: list(store.runs())):
        with pytest.raises(StoreError, match=r"no longer exists\. Put it back"):
            read()
    assert [message.node.content for message in thread.document().messages] == ["Hello", "Yes. "]
    path.with_name("elsewhere.db").rename(path)
    assert len(store.search("hello")) == 1
    store.close()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@contextmanager
def without_rights() -> Iterator[None]:
    """Permissions mean nothing to root, so that somebody else looks."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.parametrize("killed", [False, True])
def test_one_that_may_not_be_written_is_shown(open_folder: Path, killed: bool) -> None:
    """To a user without the rights; also when a program was killed that wrote it."""
    path = open_folder / "history.db"
    store = open_store(path)
    converse(store, ("Hello", "Yes, certainly."))
    if killed:
        path = open_folder / "copy" / "history.db"
        path.parent.mkdir()
        for suffix in ("", "-wal", "-shm"):
            shutil.copy(open_folder / f"history.db{suffix}", path.with_name(path.name + suffix))
    store.close()
    for file in path.parent.iterdir():
        if file.is_file():
            file.chmod(0o444)
    path.parent.chmod(0o555)
    with without_rights():
        shown = open_store(path)
        thread = shown.open_conversation(shown.conversations()[0].heading.id)
        assert [node.content for node in thread.path] == ["Hello", "Yes, certainly. "]
        assert len(shown.search("hello")) == 1
        thread.ask("More?")
        shown.close()
    assert shown.read_only
    assert "permission denied" in shown.notice
    assert thread.trouble is not None
    assert "nothing new is stored" in thread.trouble.message
    path.parent.chmod(0o755)


REFUSALS = {
    errno.ENOSPC: "no room left on the disk. ",
    errno.EDQUOT: "quota",
    errno.EROFS: "read-only",
    errno.EIO: "error",
}


@pytest.mark.parametrize("code", REFUSALS)
@pytest.mark.parametrize("killed", [False, True])
def test_where_nothing_can_be_written_what_is_there_is_shown(
    path: Path, monkeypatch: pytest.MonkeyPatch, code: int, killed: bool
) -> None:
    """And why nothing is stored, which SQLite does not tell; what a killed program had written is seen as well."""
    store = open_store(path)
    converse(store, ("Hello", "Yes, certainly."))
    here = path
    if killed:
        here = path.parent / "copy" / "history.db"
        here.parent.mkdir()
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", f"{here}{suffix}")
    store.close()
    here.with_name("history.db-shm").symlink_to("no/where")  # as little can be made there as on a full disk
    monkeypatch.setattr(sqlite_errors, "refusal_in", lambda _: OSError(code, os.strerror(code)))
    shown = open_store(here)
    assert shown.read_only
    assert REFUSALS[code] in shown.notice
    (summary,) = shown.conversations()
    thread = shown.open_conversation(summary.heading.id)
    assert [node.content for node in thread.path] == ["Hello", "Yes, certainly. "]
    thread.begin_reply(ABOUT, under=thread.path[0].id).fail(EngineError("It stopped.", "Ask again."))
    shown.close()
    assert {each.name for each in here.parent.iterdir()} <= {"history.db", "history.db-wal", "history.db-shm", "copy"}


def test_a_writer_whose_file_cannot_be_taken_away_ends_all_the_same(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk may have become read-only meanwhile; the next that opens the file takes it away."""
    thread = converse(store, ("Hello", "Yes."))

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        patch.setattr(os, "unlink", refuse)
        store.close()
    assert thread.trouble is None
    assert list(path.parent.glob("*-writer-*"))
    again = open_store(path)
    thread = again.open_conversation(thread.id)
    thread.begin_reply(ABOUT, under=thread.path[0].id)
    third = open_store(path)
    assert len(list(path.parent.glob("*-writer-*"))) == 1
    third.close()
    again.close()


def test_a_copy_replaces_an_older_one_only_when_it_is_whole(path: Path) -> None:
    """A copy that fails leaves the older one."""
    store = open_store(path)
    copy = path.with_name("copy.db")
    copy.write_bytes(b"older")
    store._database.connection.close()
    with closing(sqlite3.connect(path)) as connection:
        back_up(connection, copy)
    assert copy.read_bytes().startswith(b"SQLite format 3")
