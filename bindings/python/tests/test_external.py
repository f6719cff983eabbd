"""Large binary values, which are stored in files beside the store."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from corestone import (
    ConflictError,
    Container,
    Context,
    MergePolicy,
    Model,
    ObjectGoneError,
    Status,
    StoreError,
    UndoManager,
)

SIZE = 150_000


@pytest.fixture
def album() -> Model:
    return Model({"Photo": {"title": "string", "data": "binary? external", "thumbnail": "binary?"}})


@pytest.fixture
def container(album: Model, tmp_path: Path) -> Iterator[Container]:
    with Container(album, tmp_path / "album.sqlite") as container:
        ctx = container.context()
        for number in range(30):
            ctx.insert("Photo", title=f"photo {number}", data=bytes([number]) * SIZE, thumbnail=b"small")
        ctx.insert("Photo", title="none")
        ctx.save()
        yield container


@pytest.fixture
def ctx(container: Container) -> Context:
    return container.context()


def folder(tmp_path: Path) -> Path:
    return tmp_path / ".album_SUPPORT" / "_EXTERNAL_DATA"


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_fetch_does_not_read_external_files(ctx: Context, tmp_path: Path) -> None:
    shutil.move(folder(tmp_path), tmp_path / "hidden")
    photos = ctx.fetch("Photo", sort=["title"])
    assert [photo.title for photo in photos] == sorted([f"photo {number}" for number in range(30)] + ["none"])
    assert photos[0].data is None
    with pytest.raises(StoreError) as caught:
        _ = photos[1].data
    assert (caught.value.entity, caught.value.key) == ("Photo", "data")
    assert caught.value.object_uri == photos[1].id.uri
    assert caught.value.file
    assert folder(tmp_path) == Path(caught.value.file).parent
    with pytest.raises(StoreError):
        photos.column("data")
    with pytest.raises(StoreError):
        photos[1].committed_value("data")
    assert ctx.count("Photo", "data != nil") == 30
    shutil.move(tmp_path / "hidden", folder(tmp_path))
    assert photos[1].data == bytes(SIZE)
    assert photos.column("data")[1] == bytes(SIZE)
    assert photos[1].committed_value("data") == bytes(SIZE)


def test_support_folder_is_named_after_the_file_without_extension(album: Model, tmp_path: Path) -> None:
    with Container(album, tmp_path / "team.2024.sqlite") as container:
        ctx = container.context()
        ctx.insert("Photo", title="large", data=bytes(SIZE))
        ctx.save()
    assert len(list((tmp_path / ".team.2024_SUPPORT" / "_EXTERNAL_DATA").iterdir())) == 1


def test_external_values_read_in_turn_do_not_accumulate(ctx: Context) -> None:
    photos = ctx.fetch("Photo", sort=["title"])
    assert len(photos[1].data) == SIZE
    before = resident()
    for _ in range(10):
        assert sum(len(photo.data or b"") for photo in photos) == 30 * SIZE
    assert resident() - before < 10 * SIZE


def test_replaced_external_value_is_a_conflict_until_refresh(
    container: Container, ctx: Context, album: Model, tmp_path: Path
) -> None:
    photos = ctx.fetch("Photo", sort=["title"])
    assert photos[1].title == "photo 0"
    with Container(album, tmp_path / "album.sqlite") as other:
        elsewhere = other.context()
        for photo in elsewhere.fetch("Photo"):
            photo.data = b"new" * SIZE
        elsewhere.save()
    with pytest.raises(ConflictError, match="refresh") as caught:
        _ = photos[1].data
    assert (caught.value.entity, caught.value.key) == ("Photo", "data")
    ctx.refresh(photos[1])
    assert photos[1].data == b"new" * SIZE
    assert photos[2].data == b"new" * SIZE


def test_predicates_compare_external_values(ctx: Context) -> None:
    assert [photo.title for photo in ctx.fetch("Photo", "data == %@", bytes([7]) * SIZE)] == ["photo 7"]
    assert ctx.count("Photo", "data == nil") == 1


@pytest.mark.parametrize("policy", [MergePolicy.OBJECT_TRUMP, MergePolicy.OVERWRITE])
@pytest.mark.parametrize("is_same", [True, False], ids=["same", "other"])
def test_saving_a_deleted_object_again_needs_a_new_external_value(
    album: Model, container: Container, tmp_path: Path, policy: MergePolicy, is_same: bool
) -> None:
    """The external value was deleted with the row: a save needs a new value."""
    ctx = container.context()
    photo, second = ctx.fetch("Photo", "title IN {'photo 7', 'photo 8'}", sort="title")
    other = container if is_same else Container(album, tmp_path / "album.sqlite")
    elsewhere = other.context()
    for each in elsewhere.fetch("Photo", "title IN {'photo 7', 'photo 8'}"):
        elsewhere.delete(each)
    elsewhere.save()
    photo.title = "again"
    second.data = b"new" * SIZE
    ctx.merge_policy = policy
    with pytest.raises(ConflictError) as caught:
        ctx.save()
    error = caught.value
    assert (error.entity, error.key, error.object_uri) == ("Photo", "data", photo.id.uri)
    assert "set Photo.data" in str(error)
    fresh = container.context()
    assert fresh.count("Photo", "title IN {'again', 'photo 8'}") == 0
    photo.data = b"newer" * SIZE
    ctx.save()
    found = container.context().fetch("Photo", "title IN {'again', 'photo 8'}", sort="title")
    assert [(each.data, each.thumbnail) for each in found] == [(b"newer" * SIZE, b"small"), (b"new" * SIZE, b"small")]
    if not is_same:
        other.close()


def test_values_over_100_kilobytes_are_stored_in_files(album: Model, tmp_path: Path) -> None:
    with Container(album, tmp_path / "sizes.sqlite") as container:
        ctx = container.context()
        photo = ctx.insert("Photo", title="a")
        for size, is_file in ((102_400, False), (102_401, True), (102_402, True), (102_400, False), (0, False)):
            photo.data = bytes(size)
            photo.thumbnail = bytes(size)
            ctx.save()
            files = list((tmp_path / ".sizes_SUPPORT" / "_EXTERNAL_DATA").glob("*"))
            assert [file.stat().st_size for file in files] == [size] * is_file, size
            with container.context() as other:
                assert other.fetch("Photo")[0].data == bytes(size)


def test_saving_a_new_value_removes_the_former_file(ctx: Context, tmp_path: Path) -> None:
    def files() -> set[str]:
        return {path.name for path in folder(tmp_path).iterdir()}

    before = files()
    assert len(before) == 30
    photo = ctx.first("Photo", "title == 'photo 7'")
    photo.title = "renamed"
    ctx.save()
    assert files() == before
    photo.data = b"new" * SIZE
    ctx.save()
    after = files()
    assert (len(after), len(after & before)) == (30, 29)
    photo.data = None
    ctx.save()
    assert len(files()) == 29


def test_external_value_is_unavailable_when_the_row_was_deleted(container: Container, ctx: Context) -> None:
    photo = ctx.first("Photo", "title == 'photo 7'")
    assert photo.title == "photo 7"
    other = container.context()
    other.delete(other.get(photo.id))
    other.save()
    with pytest.raises(ObjectGoneError) as caught:
        _ = photo.data
    assert (caught.value.entity, caught.value.object_uri) == ("Photo", photo.id.uri)
    assert photo.title == "photo 7"


def test_missing_external_file_can_be_overwritten_with_a_new_value(
    container: Container, ctx: Context, tmp_path: Path
) -> None:
    shutil.move(folder(tmp_path), tmp_path / "hidden")
    photo = ctx.first("Photo", "title == 'photo 7'")
    with pytest.raises(StoreError) as caught:
        _ = photo.data
    assert caught.value.status == Status.STORE_IO
    assert (photo.title, photo.thumbnail) == ("photo 7", b"small")
    photo.data = b"new" * SIZE
    ctx.save()
    assert container.context().get(photo.id).data == b"new" * SIZE


def test_undo_of_a_saved_deletion_restores_external_values(container: Container, ctx: Context, tmp_path: Path) -> None:
    ctx.undo_manager = UndoManager()
    photo = ctx.first("Photo", "title == 'photo 7'")
    ctx.delete(photo)
    ctx.save()
    assert len(list(folder(tmp_path).iterdir())) == 29
    assert ctx.undo()
    assert photo.data == bytes([7]) * SIZE
    ctx.save()
    assert container.context().first("Photo", "title == 'photo 7'").data == bytes([7]) * SIZE
    assert len(list(folder(tmp_path).iterdir())) == 30
