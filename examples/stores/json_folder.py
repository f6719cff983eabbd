"""A store in a folder of JSON files, one for each object: the type "JSONFolder".

    import json_folder                       # registers the type
    Container(model, "people", type="JSONFolder")

Users can read and edit the files, and commit them to version control. The next fetch reads files again that a user or
another program changed. A save that is based on their former content finds a conflict, as with any other store. Several
processes may use one folder. json_files.py implements locks, atomic writes and recovery; this module converts
Corestone's rows to such files and back.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from corestone import (
    Entity,
    Fetched,
    FetchRequest,
    IncrementalStore,
    IncrementalStoreNode,
    RowID,
    SaveChangesRequest,
    StoreError,
    StoreOpening,
    register_store_type,
)
from json_files import METADATA, Entry, JSONFiles, recover_folder, remove_folder, replace_folder
from json_values import (
    from_json_date,
    keeps_members,
    link,
    linked,
    links_from_json,
    links_to_json,
    root,
    to_json_date,
    values_from_json,
    values_to_json,
    with_subentities,
)

TYPE = "JSONFolder"


@register_store_type(TYPE)
class JSONFolder(IncrementalStore):
    """The store of a folder. References are file names without extension, random names for new objects."""

    unique_constraints = True

    def __init__(self, opening: StoreOpening) -> None:
        super().__init__(opening)
        # The unique constraints: the entity and its attributes.
        self.unique = [
            (self.model[entity["name"]], keys)
            for entity in self.model.describe()["entities"]
            for keys in entity["uniqueConstraints"]
        ]
        self.files = JSONFiles(folder_at(opening.path), read_only=opening.is_read_only)

    # -------- opening --------------------------------------------------------------------------------------

    def load_metadata(self) -> Mapping[str, Any]:
        folder = self.files.folder
        recover_folder(folder)
        known = stored_metadata(self.files)
        if known is not None:
            return known
        if self.opening.must_exist or self.is_read_only:
            raise FileNotFoundError(f"{folder} is not a folder of objects")
        if folder.is_file() and folder.stat().st_size == 0:
            folder.unlink()  # an empty file is a new store
        if folder.exists() and not self._is_begun(folder):
            raise FileExistsError(f"{folder} is not a folder of objects: it does not contain {METADATA}")
        folder.mkdir(parents=True, exist_ok=True)
        with self.files.locked(exclusively=True):
            known = stored_metadata(self.files)  # another program may create the store at the same time
            if known is None:
                self.files.commit({METADATA: plain(self.opening.metadata)})
            return known or self.opening.metadata

    def _is_begun(self, folder: Path) -> bool:
        """Whether a folder contains only files that the interrupted creation of a store leaves."""
        return {each.name for each in folder.iterdir()} <= {".lock", ".journal", METADATA}

    def move(self, path: str) -> None:
        self.files = JSONFiles(folder_at(path), read_only=self.is_read_only)

    # -------- reading --------------------------------------------------------------------------------------

    def execute_fetch(self, request: FetchRequest) -> Fetched | int:
        entities = with_subentities(request.entity) if request.include_subentities else [request.entity]
        found = {entity: self.files.entries(entity.name) for entity in entities}
        if request.result_type == "count" and request.predicate is None and not request.limit and not request.offset:
            return sum(map(len, found.values()))
        # All rows are in memory, so Corestone can evaluate the predicate and the order.
        return Fetched(self._node(entity, name, entry) for entity in found for name, entry in found[entity].items())

    def new_values(self, ids: Sequence[RowID]) -> Iterator[IncrementalStoreNode]:
        for (_, name), (entity, entry) in self._found(ids).items():
            yield self._node(entity, name, entry)

    def new_values_for_relationship(self, relationship: str, ids: Sequence[RowID]) -> list[Any]:
        description = ids[0].entity.properties[relationship]
        found = self._found(ids)
        said = {name: entry.links.get(relationship) for (_, name), (_, entry) in found.items()}  # of one entity tree
        where = f"{self.files.folder}: {relationship}"
        if not description.is_to_many:
            targets = [said.get(str(each.reference)) for each in ids]
            return [None if target is None else linked(self, target, where) for target in targets]
        inverse = self.inverse(description)
        owners: dict[str, list[str]] = {str(each.reference): list(said.get(str(each.reference)) or ()) for each in ids}
        if inverse is not None and not inverse.is_to_many:
            self._add_owned(self.destination(description), inverse.name, owners)
        return [[linked(self, member, where) for member in owners[str(each.reference)]] for each in ids]

    def _add_owned(self, destination: Entity, inverse: str, owners: dict[str, list[str]]) -> None:
        """Adds the members whose own rows refer to an owner, in the order of the owner's list if it has one."""
        owned: dict[str, set[str]] = {owner: set() for owner in owners}
        for entity in with_subentities(destination):
            for name, entry in self.files.entries(entity.name).items():
                owner = str(entry.links.get(inverse) or "").partition("/")[2]
                if owner in owned:
                    owned[owner].add(f"{entity.name}/{name}")
        for owner, members in owned.items():
            kept = [member for member in owners[owner] if member in members]
            owners[owner] = kept + sorted(members.difference(kept))

    def _found(self, ids: Iterable[RowID]) -> dict[tuple[str, str], tuple[Entity, Entry]]:
        """Returns the rows of IDs by their keys. The entity of an ID may be a superentity of the row's own entity."""
        wanted: dict[Entity, list[str]] = {}
        for each in ids:
            wanted.setdefault(each.entity, []).append(str(each.reference))
        found: dict[tuple[str, str], tuple[Entity, Entry]] = {}
        with self.files.locked():
            for entity, names in wanted.items():
                tree = root(entity).name
                for own in with_subentities(entity):
                    left = [name for name in names if (tree, name) not in found]
                    some = self.files.some(own.name, left)
                    found.update({(tree, name): (own, entry) for name, entry in some.items()})
        return found

    def _node(self, entity: Entity, name: str, entry: Entry) -> IncrementalStoreNode:
        where = f"{self.files.folder}/{entity.name}/{name}.json"
        values = values_from_json(entity.properties.values(), entry.values, where)
        values.update(links_from_json(self, entity, entry.links, where))
        return IncrementalStoreNode(self.row_id(entity, name), values, entry.version)

    # -------- saving ---------------------------------------------------------------------------------------

    def obtain_permanent_ids(self, objects: Sequence[IncrementalStoreNode]) -> list[str]:
        return [uuid4().hex for _ in objects]

    def save(self, request: SaveChangesRequest) -> None:
        with self.files.locked(exclusively=True):
            self._refuse_another_store()
            if self._has_conflicts(request):
                return
            files: dict[str, Mapping[str, Any] | None] = {}
            for node in (*request.inserted_objects, *request.updated_objects):
                files[file_name(node.object_id)] = self._content(node)
            for change in request.member_changes:
                owner = change.owner.entity.properties[change.relationship]
                if not keeps_members(owner, self.inverse(owner)):
                    continue
                content = files.get(file_name(change.owner)) or self._as_it_is(change.owner)
                if content is not None:
                    files[file_name(change.owner)] = content
                    if change.is_ordered:
                        members = list(map(link, change.members))
                    else:
                        gone = set(map(link, change.removed))
                        kept = [
                            member for member in content["links"].get(change.relationship, ()) if member not in gone
                        ]
                        members = list(dict.fromkeys([*kept, *map(link, change.added)]))
                    content["links"][change.relationship] = members
            for node in request.deleted_objects:
                files[file_name(node.object_id)] = None
            taken = self._taken(files)
            for node in (*request.inserted_objects, *request.updated_objects):
                if file_name(node.object_id) in taken:
                    request.add_conflict(node, "unique")
            if request.metadata is not None:
                files[METADATA] = plain(request.metadata)
            if files and not taken:
                self.files.commit(files)

    def _refuse_another_store(self) -> None:
        """Raises StoreError if the folder was replaced by a copy of another store."""
        known = stored_metadata(self.files) or {}
        if known.get("NSStoreUUID") != self.identifier:
            raise StoreError(
                f"{self.files.folder} contains another store now ({known.get('NSStoreUUID')}, not {self.identifier}); "
                "remove the store from its coordinator and open the folder again",
                file=str(self.files.folder),
            )

    def _has_conflicts(self, request: SaveChangesRequest) -> bool:
        """Whether rows on which the save is based were changed or removed. Reports each as a conflict."""
        based = [(node, node.old_version) for node in request.updated_objects]
        based += [(node, node.version) for node in (*request.deleted_objects, *request.locked_objects)]
        found = self._found([node.object_id for node, _ in based])
        stale = []
        for node, version in based:
            there = found.get(key_of(node.object_id))
            if there is None or there[1].version != version:
                stale.append(node)
        for node in stale:
            request.add_conflict(node)
        return bool(stale)

    def _taken(self, files: Mapping[str, Mapping[str, Any] | None]) -> set[str]:
        """Returns the names of files to be written that have the same values of a unique constraint as another file."""
        taken: set[str] = set()
        for entity, keys in self.unique:
            values: dict[str, Mapping[str, Any]] = {}
            for own in with_subentities(entity):
                values.update((f"{own.name}/{name}.json", e.values) for name, e in self.files.entries(own.name).items())
                written = {name: said for name, said in files.items() if name.startswith(f"{own.name}/")}
                values.update((name, said["values"]) for name, said in written.items() if said is not None)
                for name, said in written.items():
                    if said is None:
                        values.pop(name, None)
            owners: dict[str, list[str]] = {}
            for name, said in values.items():
                if all(said.get(key) is not None for key in keys):  # missing values are not equal to each other
                    owners.setdefault(json.dumps([said[key] for key in keys]), []).append(name)
            taken.update(name for names in owners.values() if len(names) > 1 for name in names if name in files)
        return taken

    def _content(self, node: IncrementalStoreNode) -> dict[str, Any]:
        assert isinstance(node.object_id, RowID)
        entity = node.object_id.entity
        before = self.files.some(entity.name, [str(node.reference)]).get(str(node.reference))
        # The members stay the same here; request.member_changes has their changes.
        links = {name: said for name, said in before.links.items() if isinstance(said, list)} if before else {}
        return {
            "version": node.version,
            "values": values_to_json(entity.properties.values(), node.values),
            "links": {**links, **links_to_json(entity, node.values)},
        }

    def _as_it_is(self, row: RowID) -> dict[str, Any] | None:
        entry = self.files.some(row.entity.name, [str(row.reference)]).get(str(row.reference))
        if entry is None:
            return None
        return {"version": entry.version, "values": dict(entry.values), "links": dict(entry.links)}

    # -------- stores that are not open ---------------------------------------------------------------------

    @classmethod
    def metadata_for_store(cls, path: str) -> dict[str, Any]:
        recover_folder(folder_at(path))
        known = stored_metadata(JSONFiles(folder_at(path), read_only=True))
        if known is None:
            raise FileNotFoundError(f"{path} is not a folder of objects")
        return known

    @classmethod
    def set_metadata_for_store(cls, path: str, values: Mapping[str, Any]) -> None:
        cls.metadata_for_store(path)
        JSONFiles(folder_at(path)).commit({METADATA: plain(values)})

    @classmethod
    def destroy_store(cls, path: str) -> None:
        cls.metadata_for_store(path)  # raises for a folder that is not a store
        remove_folder(folder_at(path))

    @classmethod
    def replace_store(cls, path: str, source: str) -> None:
        cls.metadata_for_store(source)
        folder = folder_at(path)
        recover_folder(folder)
        if folder.exists():
            cls.metadata_for_store(path)
        replace_folder(folder, folder_at(source))


def folder_at(path: str) -> Path:
    """Returns the absolute folder of a path, without a trailing slash."""
    return Path(os.path.abspath(path))


def key_of(row: Any) -> tuple[str, str]:
    """Returns the key of a row. References are unique only within an entity tree."""
    return root(row.entity).name, str(row.reference)


def file_name(row: Any) -> str:
    return f"{row.entity.name}/{row.reference}.json"


# -------- metadata -------------------------------------------------------------------------------------------


def stored_metadata(files: JSONFiles) -> dict[str, Any] | None:
    if not Path(files.folder, METADATA).exists() and not Path(files.folder, ".journal", "commit.json").exists():
        return None
    known = files.metadata()
    return None if known is None else from_plain(known)


def plain(value: Any) -> Any:
    """Returns a property list as JSON. Bytes and dates, which JSON does not have, become objects with one key."""
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, bytes):
        return {"$base64": base64.b64encode(value).decode("ascii")}
    return {"$date": to_json_date(value)} if isinstance(value, datetime) else value


def from_plain(value: Any) -> Any:
    if isinstance(value, list):
        return [from_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"$base64"}:
        return base64.b64decode(value["$base64"])
    if set(value) == {"$date"}:
        return from_json_date(value["$date"]).replace(tzinfo=None)  # dates of property lists do not have a time zone
    return {key: from_plain(each) for key, each in value.items()}
