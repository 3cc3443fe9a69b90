"""Pairs of one's own: checked, written beside what is there, and taken out again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localspec.base.errors import ConfigError, InputError, ModelFileError, NotFoundError, PairMismatchError, UsageError
from localspec.models.pairs import ModelFile, Pair, load_catalogue
from localspec.models.pairs.addition import add_pair, relatives, suggest_drafts
from localspec.models.pairs.collecting import remember_opened
from localspec.models.pairs.references import resolve_file
from localspec.models.pairs.scan import FOLDER, find_files, scan
from localspec.models.pairs.stores import Found
from localspec.models.pairs.user_pairs import append_pairs, own_file, own_pairs, remove_pair
from tests.builtin import HEADS, TARGET
from tests.gguf_files import INT64, Typed, model, write
from tests.models.pairs.support import BIG, OTHER_TOKENS, SMALL, in_hub, in_ollama, model_bytes, write_own

WRITTEN = """\
# My pairs.
# The first one.
[[pairs]]   # a comment
id = "first"
title = "First"

[pairs.target]
file = "first.gguf"  # kept as it is

# About the second.
[[ pairs ]]
id = "second"
title = "Second"

[pairs.target]
file = "second.gguf"
"""


@pytest.fixture
def big(tmp_path: Path) -> Path:
    return write(tmp_path / "Big Model-Q4_K_M.gguf", BIG)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write(tmp_path / "small.gguf", SMALL)


def plain(pair_id: str, file: str = "/x.gguf") -> Pair:
    return Pair(id=pair_id, title=pair_id, target=ModelFile(file=file, path=Path(file)))


# Adding


def test_the_revision_is_the_commit_wherever_the_cache_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder above may be called as one in the cache, as where a file system keeps snapshots."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "snapshots" / "daily"))
    in_hub("Owner/Name", "sub/x.gguf", SMALL, commit="f" * 40)

    assert resolve_file("Owner/Name:sub/x.gguf").model.revision == "f" * 40


def test_a_pair_is_written_down_and_found_again(big: Path, small: Path) -> None:
    pair, file = add_pair(resolve_file(str(big)), resolve_file(str(small)))

    assert (pair.id, file) == ("big-model-q4_k_m", own_file())
    files = load_catalogue().find(pair.id).files()
    assert (files.target, files.draft) == (big, small)
    assert load_catalogue().find(pair.id).licence == "mit"


@pytest.mark.parametrize(
    ("names", "files", "title"),
    [
        (("Big 8B", "Small 1B"), ("b.gguf", "s.gguf"), "Big 8B + Small 1B"),
        (("m", "m"), ("big-8b.gguf", "small-1b.gguf"), "big-8b + small-1b"),
        (("Model", "Model"), ("big-8b.gguf", "small-1b.gguf"), "big-8b + small-1b"),
        (("", "Small 1B"), ("big-8b.gguf", "small-1b.gguf"), "big-8b + small-1b"),
        (("", ""), ("big/model.gguf", "small/model.gguf"), "big/model + small/model"),
    ],
)
def test_a_pair_is_called_after_its_models(
    tmp_path: Path, names: tuple[str, str], files: tuple[str, str], title: str
) -> None:
    """By the names in their headers, or by their files where those say nothing or the same."""
    models = []
    for name, file in zip(names, files, strict=True):
        path = write(tmp_path / file, model(metadata={"general.name": name}))
        models.append(resolve_file(str(path)))
    assert add_pair(models[0], models[1])[0].title == title


def test_a_pair_of_a_file_whose_name_says_nothing_has_the_id_of_its_folder(tmp_path: Path) -> None:
    """Jan calls every file ``model.gguf``; one on the Hub has the id of its repository."""
    path = write(tmp_path / "Fam-8B" / "model.gguf", BIG)
    in_hub("Owner/Fam-1B-GGUF", "model.gguf", SMALL)
    pairs = [add_pair(resolve_file(name), None)[0] for name in (str(path), "Owner/Fam-1B-GGUF:model.gguf")]
    assert [pair.id for pair in pairs] == ["fam-8b", "fam-1b-gguf"]


def test_id_and_title_can_be_chosen(big: Path) -> None:
    add_pair(resolve_file(str(big)), None, pair_id="mine", title='Mine, "the best"\n')

    pair = load_catalogue().find("mine")
    assert (pair.title, pair.draft) == ('Mine, "the best"\n', None)


def test_what_is_there_stays_as_it_was_written(big: Path) -> None:
    write_own(WRITTEN)
    own_file().chmod(0o600)

    add_pair(resolve_file(str(big)), None)

    assert own_file().read_text().startswith(WRITTEN)
    assert own_file().stat().st_mode & 0o777 == 0o600
    assert [pair.id for pair in own_pairs()] == ["first", "second", "big-model-q4_k_m"]
    assert [path.name for path in own_file().parent.iterdir()] == ["pairs.toml"]


def test_a_file_without_a_last_line_end_is_continued_on_a_line_of_its_own(big: Path) -> None:
    write_own(WRITTEN.rstrip("\n"))

    add_pair(resolve_file(str(big)), None)

    assert len(own_pairs()) == 3


@given(st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
def test_any_text_comes_back_as_it_was(title: str) -> None:
    own_file().unlink(missing_ok=True)

    append_pairs(Pair(id="x", title=title, target=ModelFile(file="/a.gguf", path=Path("/a.gguf"))))

    assert own_pairs()[0].title == title


def test_a_name_that_is_no_text_is_refused() -> None:
    with pytest.raises(InputError, match="not UTF-8"):
        append_pairs(plain("x", "/\udcff.gguf"))
    assert not own_file().exists()


def test_an_id_that_is_taken_is_refused(big: Path) -> None:
    for taken in ("builtin", "qwen3-8b"):
        with pytest.raises(UsageError, match="There is a pair") as caught:
            add_pair(resolve_file(str(big)), None, pair_id=taken)
        assert "--id" in caught.value.hint
    with pytest.raises(UsageError, match="cannot be an id"):
        add_pair(resolve_file(str(big)), None, pair_id="My Pair")


def test_a_target_that_is_a_pair_without_a_draft_becomes_one_with_it(big: Path, small: Path) -> None:
    """As when its file was opened before: an id that nobody asked for is no reason to refuse."""
    remember_opened(big, None)

    assert add_pair(resolve_file(str(big)), resolve_file(str(small)))[0].id == "big-model-q4_k_m-2"


def test_a_link_to_nowhere_is_told_from_a_wrong_name(tmp_path: Path) -> None:
    (tmp_path / "x.gguf").symlink_to("gone")

    with pytest.raises(NotFoundError) as caught:
        resolve_file(str(tmp_path / "x.gguf"))
    assert "a link to a missing file" in caught.value.hint


def test_the_same_files_twice_are_refused(big: Path, small: Path) -> None:
    """Whatever the id: another would not help."""
    add_pair(resolve_file(str(big)), resolve_file(str(small)), pair_id="one")

    for pair_id in ("one", "two"):
        with pytest.raises(UsageError, match="are the pair 'one' already"):
            add_pair(resolve_file(str(big)), resolve_file(str(small)), pair_id=pair_id)
    add_pair(resolve_file(str(big)), None, pair_id="two")


def test_a_head_that_names_another_file_is_found_and_added_for_that_file_alone(tmp_path: Path) -> None:
    """As loading has it: the head would guess for a target that it was not made for."""
    head = write(tmp_path / "head.gguf", HEADS["eagle3"].read_bytes())
    for name, last, fits in (("own", TARGET.read_bytes()[-1:], True), ("other", b"?", False)):
        path = write(tmp_path / f"{name}.gguf", TARGET.read_bytes()[:-1] + last)
        target, found = resolve_file(str(path)), [Found(head, FOLDER, head.name), Found(path, FOLDER, path.name)]
        assert bool(suggest_drafts(target, found)) == bool(scan(found).pairs) == fits
    with pytest.raises(PairMismatchError, match="it was made for a file with the SHA-256"):
        add_pair(target, resolve_file(str(head)))


def test_a_file_that_cannot_be_read_is_not_written_over(big: Path) -> None:
    path = write_own("[[pairs]\n")

    with pytest.raises(ConfigError, match="not valid TOML"):
        add_pair(resolve_file(str(big)), None)

    assert path.read_text() == "[[pairs]\n"


def test_a_folder_that_cannot_be_written_is_told() -> None:
    write(own_file().parent.parent / "config", b"in the way")

    with pytest.raises(ConfigError, match=r"pairs\.toml cannot be"):
        append_pairs(plain("x"))


@pytest.mark.parametrize("said", [-84, 0, 2**40])
def test_a_context_that_cannot_be_is_told_by_the_name_of_the_file(tmp_path: Path, said: int) -> None:
    """Before anything is written; nothing else counts with such a number either."""
    data = model_bytes(metadata={"llama.context_length": Typed(INT64, said)})
    path = write(tmp_path / "odd.gguf", data)
    with pytest.raises(ModelFileError, match=rf"odd\.gguf is damaged: .* {said} tokens"):
        add_pair(resolve_file(str(path)), None)
    assert not own_file().exists()
    assert (resolve_file(str(path)).header.context_length is None) == (said <= 0)


def test_what_does_not_read_back_is_told_by_the_name_of_the_users_file(tmp_path: Path) -> None:
    """The file beside it, which is gone again, is not named."""
    pair = Pair(id="x", title="X", target=ModelFile(file="/a.gguf", path=Path("/a.gguf"), licence=" "))
    with pytest.raises(ConfigError) as caught:
        append_pairs(pair)
    assert caught.value.message.startswith(f"{own_file()}, as it would be, line ")
    assert list(own_file().parent.iterdir()) == []


# Naming files


def test_what_the_hub_has_is_named_by_repository_and_file_or_quantisation() -> None:
    path = in_hub("Owner/Name", "big-Q4_K_M.gguf", BIG)
    in_hub("Owner/Name", "big-Q8_0.gguf", SMALL)

    for name in ("Owner/Name:big-Q4_K_M.gguf", "Owner/Name:Q4_K_M", "owner/name:q4_k_m"):
        resolved = resolve_file(name)
        assert resolved.path == path
        assert (resolved.model.repo, resolved.model.file) == ("Owner/Name", "big-Q4_K_M.gguf")

    pair, _ = add_pair(resolve_file("Owner/Name:Q4_K_M"), None)
    assert load_catalogue().find(pair.id).files().target == path
    assert load_catalogue().find(pair.id).verified, "it has been seen under its name"


def test_a_name_that_two_files_have_is_asked_about() -> None:
    path = in_hub("Owner/Name", "one-Q4_K_M.gguf", BIG)
    assert resolve_file("owner/name").path == path
    in_hub("Owner/Name", "two-Q4_K_M.gguf", SMALL)

    with pytest.raises(UsageError, match=r"Owner/Name can be any of Owner/Name:one-Q4_K_M\.gguf, "):
        resolve_file("Owner/Name")
    with pytest.raises(UsageError, match=r"Owner/Name:one-Q4_K_M\.gguf, Owner/Name:two-Q4_K_M\.gguf"):
        resolve_file("Owner/Name:Q4_K_M")


def test_a_model_of_ollama_has_each_of_its_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several may stand for one file, and the file is named by a checksum, which no pair is called after."""
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path))
    unnamed = model_bytes(1000, metadata={"general.name": ""})
    for tag in ("1b", "latest"):
        blob = in_ollama(tmp_path, "llama3.2", tag, unnamed)
        resolved = resolve_file(f"llama3.2:{tag}")
        assert (resolved.path, resolved.model.repo, resolved.model.path) == (blob, None, blob)
        assert resolved.header.source == f"llama3.2:{tag}"
    pair, _ = add_pair(resolve_file("llama3.2:latest"), None)
    assert (pair.id, pair.title) == ("llama3.2-latest", "llama3.2:latest")


@pytest.mark.parametrize("name", ["none.gguf", "Owner/Name:x.gguf", "Owner/Name:Q4_K_M", "Owner/Name:.*", "", "\0"])
def test_what_is_not_here_is_told(name: str) -> None:
    with pytest.raises((NotFoundError, ModelFileError)):
        resolve_file(name)


# Suggestions


def test_drafts_are_suggested_with_their_reasons_the_best_first(big: Path, tmp_path: Path) -> None:
    for name, data in {
        "ok.gguf": model_bytes(900),
        "best.gguf": SMALL,
        "large.gguf": model_bytes(3000),
        "tiny.gguf": model_bytes(12),
        "stranger.gguf": model_bytes(400, tokens=OTHER_TOKENS),
        "broken.gguf": SMALL[:-10],
        "same.gguf": BIG,
    }.items():
        write(tmp_path / name, data)

    suggestions = suggest_drafts(resolve_file(str(big)), find_files((tmp_path,), {"HOME": str(tmp_path / "none")}))

    assert [each.path.name for each in suggestions] == ["best.gguf", "ok.gguf"]
    assert suggestions[0].reason.startswith("the same vocabulary, ")
    assert "%" in suggestions[0].reason


def test_relatives_are_known_by_their_family_or_vocabulary(tmp_path: Path) -> None:
    qwen = write(tmp_path / "qwen3-9b.gguf", BIG)

    assert {"qwen3-8b", "qwen3-14b"} <= {pair.id for pair in relatives(resolve_file(str(qwen)))}


def test_a_family_with_a_hyphen_in_its_name_has_relatives(tmp_path: Path) -> None:
    glm = write(tmp_path / "GLM-4.5-Base.gguf", BIG)

    assert "GLM-4.5" in {pair.family for pair in relatives(resolve_file(str(glm)))}


# Taking out


@pytest.mark.parametrize(("gone", "left"), [("first", "second"), ("second", "first")])
def test_a_table_is_taken_out_with_the_comments_in_it_and_no_others(gone: str, left: str) -> None:
    write_own(WRITTEN)

    remove_pair(gone)

    assert [pair.id for pair in own_pairs()] == [left]
    text = own_file().read_text()
    assert ("kept as it is" in text) == (left == "first")
    assert "# About the second." in text, "what stands above a table may be about more than it"
    assert text.startswith("# My pairs.\n")


def test_a_mark_of_utf_8_at_the_beginning_hides_no_table() -> None:
    """As some editors write one."""
    write_own("\ufeff" + WRITTEN.removeprefix("# My pairs.\n# The first one.\n"))

    remove_pair("first")

    assert [pair.id for pair in own_pairs()] == ["second"]


def test_what_another_app_has_taken_out_already_is_out() -> None:
    path = write_own(WRITTEN)

    remove_pair("third")

    assert path.read_text() == WRITTEN


def test_added_and_taken_out_leaves_what_was_there(big: Path) -> None:
    write_own(WRITTEN)

    pair, _ = add_pair(resolve_file(str(big)), None)
    remove_pair(pair.id)

    assert own_file().read_text().rstrip() == WRITTEN.rstrip()


@pytest.mark.parametrize(
    "text",
    [
        'pairs = [{id = "first", title = "x", target = {file = "x"}}]\n',
        WRITTEN.replace('title = "First"', 'title = """\n[[pairs]]\n"""'),
    ],
)
def test_what_is_not_changed_safely_is_not_changed(text: str) -> None:
    path = write_own(text)

    with pytest.raises(ConfigError, match="cannot be changed safely"):
        remove_pair("first")

    assert path.read_text() == text
