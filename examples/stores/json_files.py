"""A folder of JSON files, one for each object, that several programs may read and write at the same time.

    store.json            the metadata of the store
    Person/3f2a….json     an object of the entity Person, with the name 3f2a…
    .lock                 the lock file: shared for readers, exclusive for a writer
    .journal/             the files of a running transaction

While the folder is being replaced as a whole, NAME.new and NAME.former are next to it.

A reader sees either all of a transaction or nothing of it. The new files are first written into .journal. Then one
rename creates commit.json there, which lists the files and their destinations. Only then, files are moved to their
destinations and removed. If a program is killed in between, or the disk is full, commit.json remains, and the next
program completes the transaction before any other work. So a transaction is committed, and can no longer fail, when
commit.json is on the disk.

Every file is written completely and then renamed, so other programs (editors, scripts, git) see either the old or the
new version of each object. This module does not use Corestone.
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
LAST_VERSION = 2**31 - 1  # the next version is 1
# Names that are valid on every file system, and that cannot be paths to another folder.
SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


class DamagedFileError(Exception):
    """A file is not a valid object of this store."""


@dataclass(frozen=True)
class Entry:
    """The content of an object's file."""

    version: int
    values: Mapping[str, Any]
    links: Mapping[str, Any]  # by relationship: "Entity/name", or a list of these


@dataclass(frozen=True)
class _Known:
    """A file that was read. It is not read again while its signature is the same."""

    signature: tuple[int, ...]
    entry: Entry


class JSONFiles:
    """The files of a store. Any thread may use it; calls are serialised."""

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
        """Returns the content of store.json; None for a folder without that file, which is not a store yet."""
        with self.locked():
            return self._json(self.folder / METADATA)

    def entries(self, entity: str) -> dict[str, Entry]:
        """Returns the current objects of an entity by name. Only changed files are read."""
        with self.locked():
            before, now = self._known.get(entity, {}), {}
            folder = self.folder / entity
            with contextlib.suppress(FileNotFoundError), os.scandir(folder) as found:
                for file in found:
                    name, dot, kind = file.name.rpartition(".")
                    # Editors create other files next to the files that they write.
                    if kind == "json" and dot and SAFE_NAME.fullmatch(name):
                        known = self._read(folder / file.name, before.get(name))
                        if known is not None:
                            now[name] = known
            self._known[entity] = now
            return {name: known.entry for name, known in now.items()}

    def some(self, entity: str, names: list[str]) -> dict[str, Entry]:
        """Returns the existing objects with these names."""
        with self.locked():
            known = self._known.setdefault(entity, {})
            found = {}
            for name in filter(SAFE_NAME.fullmatch, names):  # other names could be paths to another folder
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
            raise DamagedFileError(f'{file}: "values" and "links" must be objects')
        if not isinstance(version, int) or isinstance(version, bool) or not 0 <= version <= LAST_VERSION:
            raise DamagedFileError(
                f'{file}: "version" is {version!r:.40}, but must be an integer from 0 to {LAST_VERSION}; correct it, '
                "or leave it out"
            )
        is_changed = known is not None and (values, links) != (known.entry.values, known.entry.links)
        if known is not None and is_changed and version <= known.entry.version:
            # The file was edited without a new version: it still counts as a later version.
            version = known.entry.version % LAST_VERSION + 1
        return _Known(signature, Entry(version, values, links))

    def _json(self, file: Path) -> dict[str, Any] | None:
        try:
            read = json.loads(file.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError as failure:
            raise DamagedFileError(f"{file} is not valid JSON: {failure}") from failure
        if not isinstance(read, dict):
            raise DamagedFileError(f"{file} must contain a JSON object, not a value of type {type(read).__name__}")
        return read

    # -------- writing --------------------------------------------------------------------------------------

    def put_metadata(self, values: Mapping[str, Any]) -> None:
        self.commit({METADATA: values})

    def commit(self, files: Mapping[str, Mapping[str, Any] | None]) -> None:
        """Writes the files in one transaction; the value None removes a file. Keys are "Person/3f2a….json"."""
        with self.locked(exclusively=True):
            journal = self.folder / ".journal"
            self._finish()  # a former transaction under the same lock may be incomplete because of a full disk
            shutil.rmtree(journal, ignore_errors=True)  # files of a transaction that was not committed
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
                # No other program has read commit.json yet, so the commit can be undone and the call can fail.
                os.unlink(journal / "commit.json")
                raise
            # The transaction is committed. If these steps fail, the next program that locks the folder completes them.
            with contextlib.suppress(OSError):
                self._finish()
                for name in files:
                    self._note(name)

    def _note(self, name: str) -> None:
        """Reads a file that was just written, so that it does not count as a change by another program."""
        entity, slash, file = name.partition("/")
        if slash:
            known = self._known.setdefault(entity, {})
            known.pop(file[: -len(".json")], None)
            now = self._read(self.folder / name, None)
            if now is not None:
                known[file[: -len(".json")]] = now

    def _finish(self) -> None:
        """Completes a committed transaction. Idempotent."""
        journal = self.folder / ".journal"
        steps = self._json(journal / "commit.json")
        if steps is None:
            return
        touched = {self.folder}
        for name, written in steps.items():
            place = self.folder / name
            place.parent.mkdir(exist_ok=True)
            touched.add(place.parent)
            with contextlib.suppress(FileNotFoundError):  # an earlier attempt has done this step
                if written is None:
                    place.unlink()
                else:
                    os.rename(journal / written, place)
        for folder in touched:
            _sync(folder)
        os.unlink(journal / "commit.json")  # first, so that an incomplete journal is never executed again
        shutil.rmtree(journal, ignore_errors=True)

    @contextlib.contextmanager
    def locked(self, exclusively: bool = False) -> Iterator[None]:
        """Holds the lock of the folder during a block. A caller that writes must lock exclusively before it reads."""
        with self._turn:
            if self._depth or (self.read_only and not (self.folder / ".lock").exists()):
                assert self._exclusively or not exclusively, "a shared lock cannot become exclusive"
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
                            f"{self.folder}: a save was interrupted; open the folder for writing once to complete it"
                        )
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                    self._finish()
                yield
            finally:
                self._depth = 0
                os.close(descriptor)  # releases the lock

    def _lock(self, exclusively: bool) -> int:
        mode = os.O_RDONLY if self.read_only else os.O_RDWR | os.O_CREAT
        while True:
            try:
                descriptor = os.open(self.folder / ".lock", mode | os.O_CLOEXEC, 0o666)
            except FileNotFoundError:
                if self.folder.exists() or not recover_folder(self.folder):
                    raise
                continue  # the folder was being replaced
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX if exclusively else fcntl.LOCK_SH)
                with contextlib.suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(descriptor), os.stat(self.folder / ".lock")):
                        return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # the folder was replaced meanwhile


# -------- folders as a whole ---------------------------------------------------------------------------------


def replace_folder(folder: Path, source: Path) -> None:
    """Replaces a folder of objects by a copy of another folder; the replaced folder may be missing.

    The former folder is NAME.former until the copy is in place. recover_folder restores it after an interruption.
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
                raise FileExistsError(f"{former} exists but is not a folder of objects; rename it")
            shutil.rmtree(former)  # a former replacement was interrupted after its copy was in place
        if folder.exists():
            # A running save finishes first; later calls use the copy.
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
    """Restores a folder that an interrupted replacement has moved. Returns whether the folder exists."""
    _, former = _beside(folder)
    if not folder.exists() and former.exists():
        with _taking_turns(folder.parent):  # a running replacement finishes first
            _put_back(folder, former)
    return folder.exists()


def remove_folder(folder: Path) -> None:
    """Removes a folder of objects, and the remains of interrupted replacements."""
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
