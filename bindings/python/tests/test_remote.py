"""Remote changes: writes of other processes to a store."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from conftest import Run

import corestone
from corestone import Container, InvalidArgumentError, Model, RemoteChange, StoreFile, main_queue

MODEL = {"Item": {"name": "string", "number": "int = 0", "box": "to-one Box? inverse items"},
         "Box": {"name": "string?", "items": "to-many Item inverse box"}}  # fmt: skip
OTHER = f"""
from corestone import Container, Model
with Container(Model({MODEL!r}), "items.store") as container:
    ctx = container.context()
"""


@pytest.fixture
def write(run_python: Run, tmp_path: Path) -> Callable[[str], None]:
    """Has another process do something with the store, and save."""

    def run(*lines: str) -> None:
        done = run_python(OTHER + "".join(f"    {line}\n" for line in (*lines, "ctx.save()")))
        assert done.returncode == 0, done.stderr

    return run


@pytest.fixture
def container(tmp_path: Path) -> Any:
    with Container(Model(MODEL), tmp_path / "items.store") as opened:
        yield opened


def wait(is_true: Callable[[], object], limit: float = 60.0) -> float:
    start = time.monotonic()
    while not is_true():
        assert time.monotonic() - start < limit
        time.sleep(0.002)
    return time.monotonic() - start


def test_context_merges_changes_of_another_process(container: Container, write: Callable[..., None]) -> None:
    ctx = container.context()
    a, b, c = (ctx.insert("Item", name=name) for name in "abc")
    ctx.save()
    assert ctx.automatically_merges_remote_changes is False
    ctx.automatically_merges_remote_changes = True
    assert ctx.automatically_merges_remote_changes is True
    b.number = 7
    write(
        "a, b, c = ctx.fetch('Item', sort=['name'])",
        "a.name, b.name = 'a2', 'b2'",
        "ctx.delete(c)",
        "ctx.insert('Item', name='d')",
    )

    def merged() -> bool:
        ctx.process_pending_changes()
        return bool(a.name == "a2")

    wait(merged)
    assert (b.name, b.number, b.has_changes) == ("b2", 7, True)
    assert c.is_deleted
    ctx.save()
    assert [item.name for item in ctx.fetch("Item", sort=["name"])] == ["a2", "b2", "d"]


def test_prefetched_values_are_reread_after_a_remote_change(container: Container, write: Callable[..., None]) -> None:
    main_queue.bind()
    ctx = container.main_context()
    box = ctx.insert("Box", name="box")
    for number in range(50):
        ctx.insert("Item", name=str(number), number=number, box=box)
    ctx.save()
    ctx.automatically_merges_remote_changes = True
    items = list(ctx.fetch("Item", sort=["number"]))
    assert [item.name for item in items] == [str(number) for number in range(50)]
    assert len(box.items) == 50
    write("for item in ctx.fetch('Item'): item.name += '!'", "ctx.insert('Item', name='x', box=ctx.first('Box'))")
    wait(lambda: main_queue.drain(0.05) and items[7].name == "7!")
    assert [item.name for item in items] == [f"{number}!" for number in range(50)]
    assert len(box.items) == 51
    ctx.close()


def test_observer_is_notified_of_remote_changes(
    container: Container, write: Callable[..., None], tmp_path: Path
) -> None:
    told: list[RemoteChange] = []
    threads = set()

    def hear(coordinator: corestone.Coordinator, changes: corestone.StoreChanges) -> None:
        assert coordinator is container.coordinator
        assert changes.remote is not None
        threads.add(threading.get_ident())
        told.append(changes.remote)

    with container.coordinator.observe("remote_change", hear):
        write("ctx.insert('Item', name='a')")
        wait(lambda: told)
        ctx = container.context()
        ctx.insert("Item", name="own")
        ctx.save()
        (tmp_path / "items.store").rename(tmp_path / "elsewhere.store")
        wait(lambda: len(told) == 2)
        (tmp_path / "elsewhere.store").rename(tmp_path / "items.store")
    change = told[0]
    assert change.store.path == change.path == container.path
    assert change.store_identifier == container.store.identifier
    assert (change.transaction, change.is_own, change.file) == (None, False, StoreFile.WRITTEN)
    assert told[1].file is StoreFile.REMOVED
    assert threading.get_ident() not in threads
    write("ctx.insert('Item', name='b')")
    time.sleep(0.1)
    assert len(told) == 2


@pytest.mark.parametrize("type", ["XML", "Binary"])
def test_moving_a_store_is_not_a_remote_change(tmp_path: Path, type: str) -> None:
    told: list[RemoteChange | None] = []
    with Container(Model(MODEL), tmp_path / "a", type=type) as container:
        coordinator, store = container.coordinator, container.store
        with coordinator.observe("remote_change", lambda _, changes: told.append(changes.remote)):
            coordinator.set_store_path(store, tmp_path / "b")
            # A change in the folder triggers the watcher.
            (tmp_path / "b-other").touch()
            time.sleep(0.1)
            container.insert("Item", {"name": "a"})
            time.sleep(0.1)
            assert told == []
            (tmp_path / "b").unlink()
            wait(lambda: told)
            assert told[0] is not None
            assert (told[0].file, told[0].is_own) == (StoreFile.REMOVED, False)


def test_own_saves_are_posted_on_request(tmp_path: Path) -> None:
    told: list[Any] = []
    options: dict[str, Any] = {"history": True, "posts_own_changes": True, "watch_interval": 0.2}
    with Container(Model(MODEL), tmp_path / "items.store", **options) as container:
        token = container.coordinator.observe("remote_change", lambda _, changes: told.append(changes.remote))
        ctx = container.context()
        for number in (1, 2):
            ctx.insert("Item", name="own")
            ctx.save()
            assert (told[-1].is_own, told[-1].transaction, len(told)) == (True, number, number)
        token.cancel()
    with pytest.raises(InvalidArgumentError):
        Container(Model(MODEL), tmp_path / "items.store", watch_interval=-1)


@pytest.mark.parametrize("type", ["SQLite", "Binary"])
def test_deletion_only_save_is_an_own_change(tmp_path: Path, type: str) -> None:
    told: list[Any] = []
    with Container(Model(MODEL), tmp_path / "items.store", type=type, posts_own_changes=True) as container:
        ctx = container.context()
        item = ctx.insert("Item", name="own")
        ctx.save()
        with container.coordinator.observe("remote_change", lambda _, changes: told.append(changes.remote)):
            ctx.delete(item)
            ctx.save()
            assert [change.is_own for change in told] == [True]


def test_child_context_cannot_merge_remote_changes_automatically(container: Container) -> None:
    with pytest.raises(InvalidArgumentError, match="parent"):
        container.context().child().automatically_merges_remote_changes = True


def test_interpreter_may_exit_while_another_process_writes(run_python: Run, tmp_path: Path) -> None:
    program = (
        f"import corestone, subprocess, sys, time\nfrom corestone import Container, Model\nMODEL = {MODEL!r}\n"
        + """
container = Container(Model(MODEL), "items.store", sync="normal")
writer = subprocess.Popen([sys.executable, "-c", f'''
from corestone import Container, Model
container = Container(Model({MODEL!r}), "items.store", sync="normal")
ctx = container.context()
while True:
    ctx.insert("Item", name="x")
    ctx.save()
'''])
heard = []
token = container.coordinator.observe("remote_change", lambda *changes: heard.append(changes))
shown = container.background_context()
shown.automatically_merges_remote_changes = True
token2 = shown.observe("did_merge_object_ids", lambda *changes: heard.append(changes))
while len(heard) < 20:
    time.sleep(0.01)
import atexit
atexit.register(writer.kill)
print("end")
"""
    )
    for _ in range(3):
        done = run_python(program)
        assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", ""), sys.version
