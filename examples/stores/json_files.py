"""A folder of JSON files, one for each object, that several programs may read and write at the same time.

    store.json            what the store says about itself
    Person/3f2a….json     an object of the entity Person, whose name there is 3f2a…
    .lock                 held shared by who reads and exclusively by who writes
    .journal/             what a transaction is about to put in place

and beside it, while it is being replaced as a whole, NAME.new and NAME.former.

Whoever reads the folder finds all of a transaction or nothing of it: its files are written into .journal first, then
commit.json there appears by one rename and says what goes where, and only then files are renamed into their places and
removed. A program that was killed in between, or met a full disk, leaves its commit.json, which the next one carries
out before all else: once that is on the disk the transaction is done, and nothing fails it any more.

Every file is written whole and renamed, so other programs (editors, scripts, git) see each object as it was or is.
This module knows nothing of Corestone.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

METADATA = "store.json"
LAST_VERSION = 2**31 - 1  # the next one is 1
# Names that are the same on every file system, and that lead nowhere else.
SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


class DamagedFileError(Exception):
    """A file is no object of this store."""


@dataclass(frozen=True)
class Entry:
    """An object as its file has it."""

    version: int
    values: Mapping[str, Any]
    links: Mapping[str, Any]  # by relationship "Entity/name", or a list of these


@dataclass(frozen=True)
class _Known:
    """A file as it was read: it is not read again while its signature is the same."""

    signature: tuple[int, ...]
    entry: Entry


class JSONFiles:
    """The files of a store. Any thread may use it, one at a time."""

    def __init__(self, folder: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self.folder = Path(folder)
        self.read_only = read_only
        self.files_read = 0
        self._known: dict[str, dict[str, _Known]] = {}
        self._turn = threading.RLock()
        self._depth = 0
        self._exclusively = False

    # -------- reading --------------------------------------------------------------------------------------

    def metadata(self) -> dict[str, Any] | None:
        """What store.json has; None for a store that is not there yet, which a folder without that file is."""
        with self.locked():
            return self._json(self.folder / METADATA)

    def entries(self, entity: str) -> dict[str, Entry]:
        """The objects of an entity by name, as they are now. Only files that changed are read."""
        with self.locked():
            before, now = self._known.get(entity, {}), {}
            folder = self.folder / entity
            with contextlib.suppress(FileNotFoundError), os.scandir(folder) as found:
                for file in found:
                    name, dot, kind = file.name.rpartition(".")
                    # Editors put files of their own beside those that they write.
                    if kind == "json" and dot and SAFE_NAME.fullmatch(name):
                        known = self._read(folder / file.name, before.get(name))
                        if known is not None:
                            now[name] = known
            self._known[entity] = now
            return {name: known.entry for name, known in now.items()}

    def some(self, entity: str, names: list[str]) -> dict[str, Entry]:
        """Those of the objects with these names that there are."""
        with self.locked():
            known = self._known.setdefault(entity, {})
            found = {}
            for name in filter(SAFE_NAME.fullmatch, names):  # others lead out of the folder
                now = self._read(self.folder / entity / f"{name}.json", known.get(name))
                if now is None:
                    known.pop(name, None)
                else:
                    known[name] = now
                    found[name] = now.entry
            return found

    def _read(self, file: Path, known: _Known | None) -> _Known | None:
        try:
            about = file.stat()
        except FileNotFoundError:
            return None
        signature = (about.st_ino, about.st_size, about.st_mtime_ns)
        if known is not None and known.signature == signature:
            return known
        read = self._json(file)
        if read is None:
            return None
        self.files_read += 1
        version, values, links = read.get("version", 1), read.get("values", {}), read.get("links", {})
        if not isinstance(values, dict) or not isinstance(links, dict):
            raise DamagedFileError(f'{file} has no "values" and "links" as the objects of this store have')
        if not isinstance(version, int) or isinstance(version, bool) or not 0 <= version <= LAST_VERSION:
            raise DamagedFileError(
                f'{file}: "version" is {version!r:.40}, and has to be a whole number from 0 to {LAST_VERSION}; write '
                "another one than it was, or leave it out"
            )
        is_changed = known is not None and (values, links) != (known.entry.values, known.entry.links)
        if known is not None and is_changed and version <= known.entry.version:
            # Somebody changed it by hand and did not count: it is a later version all the same.
            version = known.entry.version % LAST_VERSION + 1
        return _Known(signature, Entry(version, values, links))

    def _json(self, file: Path) -> dict[str, Any] | None:
        try:
            read = json.loads(file.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError as failure:
            raise DamagedFileError(f"{file} is no JSON: {failure}") from failure
        if not isinstance(read, dict):
            raise DamagedFileError(f"{file} has {type(read).__name__} where an object is expected")
        return read

    # -------- writing --------------------------------------------------------------------------------------

    def put_metadata(self, values: Mapping[str, Any]) -> None:
        self.commit({METADATA: values})

    def commit(self, files: Mapping[str, Mapping[str, Any] | None]) -> None:
        """Writes files, and removes those that are None, all or none of them; keys are "Person/3f2a….json"."""
        with self.locked(exclusively=True):
            journal = self.folder / ".journal"
            self._finish()  # under one lock there may be two, of which the first met a full disk
            shutil.rmtree(journal, ignore_errors=True)  # of one that never came to its commit
            journal.mkdir(exist_ok=True)
            steps: dict[str, str | None] = {}
            for number, (name, content) in enumerate(files.items()):
                steps[name] = None
                if content is not None:
                    steps[name] = f"{number}.json"
                    _write(journal / f"{number}.json", content)
            _write(journal / "commit.new", steps)
            _sync(journal)
            os.rename(journal / "commit.new", journal / "commit.json")
            try:
                _sync(journal)
            except BaseException:
                # Nobody has seen it yet, so it can be taken back: else the caller did what is called a failure.
                os.unlink(journal / "commit.json")
                raise
            # It is done. What is not in its place now, whoever holds the lock next puts there.
            with contextlib.suppress(OSError):
                self._finish()
                for name in files:
                    self._note(name)

    def _note(self, name: str) -> None:
        """Reads what was just written, so that it is not taken for somebody else's change."""
        entity, slash, file = name.partition("/")
        if slash:
            known = self._known.setdefault(entity, {})
            known.pop(file[: -len(".json")], None)
            now = self._read(self.folder / name, None)
            if now is not None:
                known[file[: -len(".json")]] = now

    def _finish(self) -> None:
        """Carries out a transaction whose commit.json is there. Doing it again is fine."""
        journal = self.folder / ".journal"
        steps = self._json(journal / "commit.json")
        if steps is None:
            return
        touched = {self.folder}
        for name, written in steps.items():
            place = self.folder / name
            place.parent.mkdir(exist_ok=True)
            touched.add(place.parent)
            with contextlib.suppress(FileNotFoundError):  # it was done before
                if written is None:
                    place.unlink()
                else:
                    os.rename(journal / written, place)
        for folder in touched:
            _sync(folder)
        os.unlink(journal / "commit.json")  # by itself: half of a journal would be carried out again
        shutil.rmtree(journal, ignore_errors=True)

    @contextlib.contextmanager
    def locked(self, exclusively: bool = False) -> Iterator[None]:
        """Holds the lock of the folder. Who is going to write says so when it begins to read."""
        with self._turn:
            if self._depth or (self.read_only and not (self.folder / ".lock").exists()):
                assert self._exclusively or not exclusively, "a lock that is shared with others cannot become one's own"
                self._depth += 1
                try:
                    yield
                finally:
                    self._depth -= 1
                return
            descriptor = self._lock(exclusively)
            self._depth, self._exclusively = 1, exclusively
            try:
                if (self.folder / ".journal" / "commit.json").exists():
                    if self.read_only:
                        raise DamagedFileError(
                            f"{self.folder}: a save was cut off; open it once for writing, to finish that"
                        )
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                    self._finish()
                yield
            finally:
                self._depth = 0
                os.close(descriptor)  # which unlocks

    def _lock(self, exclusively: bool) -> int:
        mode = os.O_RDONLY if self.read_only else os.O_RDWR | os.O_CREAT
        while True:
            try:
                descriptor = os.open(self.folder / ".lock", mode | os.O_CLOEXEC, 0o666)
            except FileNotFoundError:
                if self.folder.exists() or not recover_folder(self.folder):
                    raise
                continue  # it was being replaced
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX if exclusively else fcntl.LOCK_SH)
                with contextlib.suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(descriptor), os.stat(self.folder / ".lock")):
                        return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # the lock of a folder in whose place another one came meanwhile


# -------- folders as a whole ---------------------------------------------------------------------------------


def replace_folder(folder: Path, source: Path) -> None:
    """Puts a copy of a folder of objects in the place of another one, or where there is none yet.

    The former one lies beside it, as NAME.former, until the copy is in its place: recover_folder puts it back.
    """
    fresh, former = _beside(folder)
    with _taking_turns(folder.parent):
        shutil.rmtree(fresh, ignore_errors=True)
        with JSONFiles(source).locked():
            shutil.copytree(source, fresh, ignore=shutil.ignore_patterns(".lock", ".journal"))
        for place, _, files in os.walk(fresh):
            for file in files:
                _sync(Path(place, file), os.O_RDONLY)
            _sync(Path(place))
        _put_back(folder, former)
        if former.exists():
            if not (former / METADATA).exists():
                raise FileExistsError(f"{former} is in the way; give it another name")
            shutil.rmtree(former)  # somebody was stopped when the copy was in place
        if folder.exists():
            # Whoever saves now is done first, and who comes then finds the copy.
            with JSONFiles(folder).locked(exclusively=True):
                os.rename(folder, former)
                try:
                    os.rename(fresh, folder)
                except BaseException:
                    _put_back(folder, former)
                    raise
        else:
            os.rename(fresh, folder)
        _sync(folder.parent)
        shutil.rmtree(former, ignore_errors=True)


def recover_folder(folder: Path) -> bool:
    """Puts a folder back that is missing since somebody was stopped while replacing it; whether it is there."""
    _, former = _beside(folder)
    if not folder.exists() and former.exists():
        with _taking_turns(folder.parent):  # who replaces it now goes on to the end
            _put_back(folder, former)
    return folder.exists()


def remove_folder(folder: Path) -> None:
    """Removes a folder of objects, and what is left of one that it replaced."""
    fresh, former = _beside(folder)
    with _taking_turns(folder.parent), JSONFiles(folder).locked(exclusively=True):
        shutil.rmtree(fresh, ignore_errors=True)
        if (former / METADATA).exists():
            shutil.rmtree(former)
        shutil.rmtree(folder)


def _beside(folder: Path) -> tuple[Path, Path]:
    return folder.with_name(f"{folder.name}.new"), folder.with_name(f"{folder.name}.former")


def _put_back(folder: Path, former: Path) -> None:
    if not folder.exists() and (former / METADATA).exists():
        os.rename(former, folder)
        _sync(folder.parent)


@contextlib.contextmanager
def _taking_turns(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _write(file: Path, content: Any) -> None:
    with file.open("w", encoding="utf-8") as opened:
        json.dump(content, opened, ensure_ascii=False, allow_nan=False, indent=1, sort_keys=True)
        opened.write("\n")
        opened.flush()
        os.fsync(opened.fileno())


def _sync(folder: Path, mode: int = os.O_RDONLY | os.O_DIRECTORY) -> None:
    descriptor = os.open(folder, mode)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
