"""A store whose objects are in a REST service (server.py): the type "REST".

    import rest_store                        # registers the type
    Container(model, "http://127.0.0.1:8080", type="REST", options={"timeout": 5.0, "page": 200})

The service evaluates comparisons of integers, dates, booleans and UUIDs with =, !=, <, … and IN, combined by AND, OR
and NOT. It also evaluates orders of such attributes, limits and counts. Corestone evaluates the other parts of a fetch
on the returned rows. These are comparisons and orders of text, which depend on the language, key paths through
relationships, and conditions that are too long for a URL. Rows are read in pages, and the values and relationships of
many objects in one request each. A save is one transaction, with the version of each row on which it is based: changed,
removed and locked rows, and the metadata.

An error names the URL and the response. A request that only reads is sent again if the connection breaks. A save may
have been committed although the response was lost, so each save has a key by which the service recognises it. Without a
response, the store sends the save a second time. If there is still no response, the next save first requests the
outcome of the former one. If the former save was committed, and the changes are the same, there is nothing to do. If it
was not committed, the service rejects it from then on. Two saves have the same changes only if inserted objects have
the same references, which Corestone keeps for the next save.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote, quote_plus, urlencode, urlsplit
from uuid import uuid4

from corestone import (
    AttributeType,
    CompoundType,
    CorestoneError,
    Entity,
    Expression,
    ExpressionType,
    Fetched,
    FetchRequest,
    IncrementalStore,
    IncrementalStoreNode,
    Modifier,
    Operator,
    Predicate,
    PredicateKind,
    PropertyDescription,
    RowID,
    SaveChangesRequest,
    SortDescriptor,
    StoreBusyError,
    StoreError,
    StoreOpening,
    register_store_type,
)
from json_folder import from_plain, plain
from json_values import (
    keeps_members,
    link,
    linked,
    links_from_json,
    links_to_json,
    to_json,
    values_from_json,
    values_to_json,
    with_subentities,
)

TYPE = "REST"
OPERATORS = {
    Operator.EQUAL: "=",
    Operator.NOT_EQUAL: "!=",
    Operator.LESS_THAN: "<",
    Operator.LESS_THAN_OR_EQUAL: "<=",
    Operator.GREATER_THAN: ">",
    Operator.GREATER_THAN_OR_EQUAL: ">=",
}
WHOLE = (AttributeType.INTEGER_16, AttributeType.INTEGER_32, AttributeType.INTEGER_64)
# The types whose JSON values the service orders like Corestone. Decimals are strings in JSON, and NaN is not a number.
ORDERED = (*WHOLE, AttributeType.DATE)
COMPARED = (*ORDERED, AttributeType.BOOLEAN, AttributeType.UUID)
BATCH = 100  # the number of objects in one request for values
# Conditions are in the URL, whose length services limit to a few thousand characters. Services also limit the nesting.
LONGEST, DEEPEST = 8000, 30


class Service:
    """A client of the service, with one connection for each thread."""

    def __init__(self, url: str, timeout: float) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise ValueError(f"{url!r} is not the address of a service; pass one such as http://127.0.0.1:8080")
        self.url = f"http://{parts.netloc}{parts.path.rstrip('/')}"
        self._place, self._prefix, self._timeout = parts.netloc, parts.path.rstrip("/"), timeout
        self._own = threading.local()

    def get(self, path: str) -> Any:
        return self._answer("GET", path, None)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Sends a request. Header names have _ instead of -, for example If_Match."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self._answer(method, path, None if body is None else as_json(body).encode(), named)

    def transaction(self, body: Any, key: str) -> Any:
        """Executes a transaction once. Without a response it is sent again; the service recognises its key."""
        try:
            return self.send("POST", "/transaction", body, Idempotency_Key=key)
        except ServiceError:
            raise
        except StoreError:
            return self.send("POST", "/transaction", body, Idempotency_Key=key)

    def close(self) -> None:
        connection = getattr(self._own, "connection", None)
        if connection is not None:
            connection.close()

    def _answer(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str] | None = None) -> Any:
        where = f"{method} {self.url}{path}"
        try:
            status, data = self._ask(method, path, body, headers or {})
        except TimeoutError as failure:
            raise StoreBusyError(f"{where}: no response within {self._timeout:g} s", file=self.url) from failure
        except (OSError, http.client.HTTPException) as failure:
            raise StoreError(f"{where}: {failure or type(failure).__name__}", file=self.url) from failure
        try:
            answer = json.loads(data)
        except ValueError as failure:
            raise ServiceError(where, status, f"the response is not JSON: {data[:80]!r}", {}, self.url) from failure
        if status >= 400:
            said = answer if isinstance(answer, dict) else {}
            raise ServiceError(where, status, str(said.get("error", answer)), said, self.url)
        return answer

    def _ask(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
        said = {**headers, "Content-Type": "application/json"} if body is not None else headers
        kept = getattr(self._own, "connection", None)
        connection = kept or http.client.HTTPConnection(self._place, timeout=self._timeout)
        self._own.connection = connection
        try:
            connection.request(method, self._prefix + path, body, dict(said))
            response = connection.getresponse()
            return response.status, response.read()
        except TimeoutError:
            self._drop()
            raise
        except (OSError, http.client.HTTPException):
            self._drop()
            # The service may have closed the connection since the last request.
            if kept is None or method != "GET":
                raise
            return self._ask(method, path, body, headers)
        except BaseException:
            self._drop()
            raise

    def _drop(self) -> None:
        self._own.connection.close()
        self._own.connection = None


class ServiceError(StoreError):
    """The service responded with an error: `http_status`, and `answer`, the body of the response."""

    def __init__(self, where: str, status: int, message: str, answer: Mapping[str, Any], url: str) -> None:
        super().__init__(f"{where} returned status {status}: {message}", file=url)
        self.http_status = status
        self.answer = answer


@dataclass(frozen=True)
class Sent:
    """A save for which no response was received: its key and its body."""

    key: str
    body: Mapping[str, Any]


@register_store_type(TYPE)
class RESTStore(IncrementalStore):
    """The store of a service, whose URL is the path. Options: timeout (seconds), page (rows in a response)."""

    def __init__(self, opening: StoreOpening) -> None:
        super().__init__(opening)
        self.service = Service(opening.path, float(opening.options.get("timeout", 10.0)))
        self.page = int(opening.options.get("page", 500))
        self._unheard: Sent | None = None  # the last save, if its outcome is unknown
        # Saves that were committed although the call failed. The context may never save them again, so only the newest
        # ones are kept.
        self._done: deque[Mapping[str, Any]] = deque(maxlen=100)

    # -------- opening --------------------------------------------------------------------------------------

    def load_metadata(self) -> Mapping[str, Any]:
        known = stored_metadata(self.service)
        if known is not None:
            return known
        if self.opening.must_exist or self.is_read_only:
            raise FileNotFoundError(f"the service {self.service.url} does not have a store")
        try:
            self.service.send("PUT", "/store", plain(self.opening.metadata), If_None_Match="*")
        except ServiceError as failure:
            if failure.http_status != 412:
                raise
            return stored_metadata(self.service) or {}  # another client created it at the same time
        return self.opening.metadata

    def close(self) -> None:
        self.service.close()

    @classmethod
    def metadata_for_store(cls, path: str) -> dict[str, Any]:
        with contextlib.closing(Service(path, 10.0)) as service:
            known = stored_metadata(service)
        if known is None:
            raise FileNotFoundError(f"the service {path} does not have a store")
        return known

    @classmethod
    def set_metadata_for_store(cls, path: str, values: Mapping[str, Any]) -> None:
        cls.metadata_for_store(path)
        with contextlib.closing(Service(path, 10.0)) as service:
            service.send("PUT", "/store", plain(values))

    # -------- fetching -------------------------------------------------------------------------------------

    def execute_fetch(self, request: FetchRequest) -> Fetched | int:
        entities = with_subentities(request.entity) if request.include_subentities else [request.entity]
        entities = [entity for entity in entities if not entity.is_abstract]
        asked = where(request.predicate, request.entity)
        order = order_by(request.sort, request.entity)
        query: dict[str, Any] = {}
        if asked.json is not None:
            query["where"] = json.dumps(asked.json)
        if request.result_type == "count" and asked.is_all and not request.limit and not request.offset:
            paths = [f"/count/{quote(entity.name)}{as_query(query)}" for entity in entities]
            return sum(int(self.service.get(path)["count"]) for path in paths)
        # The rows of one entity are in order; the rows of several entities would have to be merged.
        is_ordered = order is not None and len(entities) == 1
        if is_ordered and order:
            query["sort"] = order
        has_window = bool(request.limit or request.offset) and asked.is_all and is_ordered
        wanted = request.limit if has_window else 0
        if has_window:
            query["offset"] = request.offset
        if request.result_type == "ids" and asked.is_all and (is_ordered or not request.sort):
            query["fields"] = "names"
        rows = (row for entity in entities for row in self._rows(entity, query, wanted))
        return Fetched(rows, predicate=asked.is_all, order=is_ordered and bool(request.sort), window=has_window)

    def _rows(self, entity: Entity, query: Mapping[str, Any], wanted: int) -> Iterator[Any]:
        """Yields the rows of an entity, one page at a time. `wanted` is the number of rows; 0: all."""
        left = wanted or None
        path: str | None = f"/objects/{quote(entity.name)}" + as_query(
            {**query, "limit": min(left or self.page, self.page)}
        )
        seen = set()  # a row whose position changes between two pages may be returned twice
        while path is not None:
            answer = self.service.get(path)
            for row in answer["objects"][:left]:
                if row["id"] not in seen:
                    seen.add(row["id"])
                    yield self.row_id(entity, row["id"]) if "fields" in query else self._node(entity, row)
            if left is not None:
                left -= len(answer["objects"])
            path = answer.get("next") if left is None or left > 0 else None

    def new_values(self, ids: Sequence[RowID]) -> Iterator[IncrementalStoreNode]:
        for entity, row in self._some(ids):
            yield self._node(entity, row)

    def _some(self, ids: Sequence[RowID]) -> Iterator[tuple[Entity, dict[str, Any]]]:
        """Yields the rows of IDs, many in one request. The entity of an ID may be a superentity of the row's entity."""
        wanted: dict[Entity, list[str]] = {}
        for each in ids:
            wanted.setdefault(each.entity, []).append(str(each.reference))
        for entity, names in wanted.items():
            left = list(dict.fromkeys(names))
            for own in with_subentities(entity):
                found = set()
                for begin in range(0, len(left), BATCH):
                    some = ",".join(map(quote, left[begin : begin + BATCH]))
                    for row in self.service.get(f"/objects/{quote(own.name)}?ids={some}")["objects"]:
                        found.add(row["id"])
                        yield own, row
                left = [name for name in left if name not in found]
                if not left:
                    break

    def new_values_for_relationship(self, relationship: str, ids: Sequence[RowID]) -> list[Any]:
        description = ids[0].entity.properties[relationship]
        inverse = self.inverse(description)
        about = f"{self.service.url}: {relationship}"
        if description.is_to_many and not keeps_members(description, inverse):
            assert inverse is not None
            return self._owned(description, inverse.name, ids)
        said = {row["id"]: row.get("links", {}).get(relationship) for _, row in self._some(ids)}
        if not description.is_to_many:
            targets = [said.get(str(each.reference)) for each in ids]
            return [None if target is None else linked(self, target, about) for target in targets]
        return [[linked(self, member, about) for member in said.get(str(each.reference)) or ()] for each in ids]

    def _owned(self, relationship: PropertyDescription, inverse: str, owners: Sequence[RowID]) -> list[Any]:
        """Returns the members whose own rows refer to the owners, with their values."""
        found: dict[Any, list[IncrementalStoreNode]] = {each.reference: [] for each in owners}
        entities = [each for each in with_subentities(self.destination(relationship)) if not each.is_abstract]
        # The entity of an owner's row may be a subentity of the entity in the ID.
        links = [f"{own.name}/{each.reference!s}" for each in owners for own in with_subentities(each.entity)]
        for begin in range(0, len(links), BATCH):
            query = {"where": json.dumps(["has", inverse, links[begin : begin + BATCH]])}
            for entity in entities:
                for row in self._rows(entity, query, 0):
                    found[row.values[inverse].reference].append(row)
        return [found[each.reference] for each in owners]

    def _node(self, entity: Entity, row: Mapping[str, Any]) -> IncrementalStoreNode:
        about = f"{self.service.url}/objects/{entity.name}/{row['id']}"
        values = values_from_json(entity.properties.values(), row.get("values", {}), about)
        values.update(links_from_json(self, entity, row.get("links", {}), about))
        return IncrementalStoreNode(self.row_id(entity, row["id"]), values, row["version"])

    # -------- saving ---------------------------------------------------------------------------------------

    def obtain_permanent_ids(self, objects: Sequence[IncrementalStoreNode]) -> list[str]:
        return [uuid4().hex for _ in objects]

    def save(self, request: SaveChangesRequest) -> None:
        self._settle()
        body = self._body(request)
        if body is None:
            return
        if body in self._done:
            self._done.remove(body)
            return
        # Further changes in the context conflict with a former save that was committed without a response.
        self._send(body, request)

    def _body(self, request: SaveChangesRequest) -> dict[str, Any] | None:
        """Returns the transaction of a save, which is deterministic; None if there are no changes."""
        steps: dict[str, dict[str, Any]] = {}
        before = self._links_before(request)
        for node in (*request.inserted_objects, *request.updated_objects):
            entity = node.object_id.entity
            links = {**before.get(place(node.object_id), {}), **links_to_json(entity, node.values)}
            content = {"values": values_to_json(entity.properties.values(), node.values), "links": links}
            steps[place(node.object_id)] = {"method": "PUT", "path": place(node.object_id), "body": content}
        for node in request.updated_objects:
            steps[place(node.object_id)]["if_match"] = str(node.old_version)
        for change in request.member_changes:
            step = steps.get(place(change.owner))
            relationship = change.owner.entity.properties[change.relationship]
            if step is not None and keeps_members(relationship, self.inverse(relationship)):
                links = step["body"]["links"]
                gone = set(map(link, change.removed))
                kept = [member for member in links.get(change.relationship, ()) if member not in gone]
                members = map(link, change.members) if change.is_ordered else [*kept, *sorted(map(link, change.added))]
                links[change.relationship] = list(dict.fromkeys(members))
        for method, nodes in (("DELETE", request.deleted_objects), ("CHECK", request.locked_objects)):
            for node in nodes:
                path = place(node.object_id)
                steps.setdefault(path, {"method": method, "path": path, "if_match": str(node.version)})
        body: dict[str, Any] = {"steps": [steps[path] for path in sorted(steps)]}
        if request.metadata is not None:
            body["store"] = plain(request.metadata)
        return body if steps or "store" in body else None

    def _send(self, body: dict[str, Any], request: SaveChangesRequest) -> None:
        self._unheard = sent = Sent(uuid4().hex, body)
        try:
            self.service.transaction(body, sent.key)
        except ServiceError as failure:
            if failure.http_status < 500:  # the service rejected the save
                self._unheard = None
            if failure.http_status != 412:
                raise
            stale = {f"/objects/{quote(each['entity'])}/{quote(each['id'])}" for each in failure.answer["conflicts"]}
            changed = (*request.inserted_objects, *request.updated_objects, *request.deleted_objects)
            for node in (*changed, *request.locked_objects):
                if place(node.object_id) in stale:
                    stale.discard(place(node.object_id))
                    request.add_conflict(node)
            if stale:
                raise
        self._unheard = None

    def _settle(self) -> None:
        """Requests the outcome of the last save if it is unknown. If the save arrives later, the service rejects it."""
        if self._unheard is not None:
            versions = self.service.send("DELETE", f"/transaction/{self._unheard.key}")["versions"]
            # A save of metadata only can be repeated at any time; changes of rows include the versions of the rows.
            if versions is not None and self._unheard.body["steps"]:
                self._done.append(self._unheard.body)
            self._unheard = None

    def _links_before(self, request: SaveChangesRequest) -> dict[str, dict[str, Any]]:
        """Returns the current members of changed rows, for relationships whose members are in the row of the owner."""
        changed = [
            node.object_id
            for node in request.updated_objects
            if any(
                each.is_relationship and each.is_to_many and keeps_members(each, self.inverse(each))
                for each in node.object_id.entity.properties.values()
            )
        ]
        return {
            place(self.row_id(entity, row["id"])): {
                name: said for name, said in row.get("links", {}).items() if isinstance(said, list)
            }
            for entity, row in self._some(changed)
        }


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def place(row: Any) -> str:
    return f"/objects/{quote(row.entity.name)}/{quote(str(row.reference))}"


def as_query(query: Mapping[str, Any]) -> str:
    return f"?{urlencode(query)}" if query else ""


def stored_metadata(service: Service) -> dict[str, Any] | None:
    try:
        known: dict[str, Any] = from_plain(service.get("/store"))
        return known
    except ServiceError as failure:
        if failure.http_status == 404:
            return None
        raise


# -------- the parts of a fetch that the service evaluates -----------------------------------------------------


class Asked(NamedTuple):
    """A condition for the service, and whether it is the whole predicate. Otherwise the service returns more rows."""

    json: Any
    is_all: bool


def where(predicate: Predicate | None, entity: Entity, depth: int = 0) -> Asked:
    """Returns the part of a predicate that the service can evaluate.

    The part never excludes a row that satisfies the predicate.
    """
    if predicate is None:
        return Asked(None, True)
    if predicate.kind == PredicateKind.TRUE:
        return Asked(None, True)
    if predicate.kind == PredicateKind.COMPOUND and depth < DEEPEST:
        parts = [where(part, entity, depth + 1) for part in predicate.parts]
        is_all = all(part.is_all for part in parts)
        if predicate.compound_type == CompoundType.AND:
            return every([part.json for part in parts if part.json is not None], is_all)
        if predicate.compound_type == CompoundType.OR and is_all:
            return fitting(["or", *(["and"] if part.json is None else part.json for part in parts)])
        if predicate.compound_type == CompoundType.NOT and is_all:
            return fitting(["not", ["and"] if parts[0].json is None else parts[0].json])
        return Asked(None, False)
    if predicate.kind == PredicateKind.COMPARISON and predicate.modifier == Modifier.DIRECT and not predicate.options:
        said = comparison(predicate, entity)
        if said is not None:
            return fitting(said)
    return Asked(None, False)


def every(parts: list[Any], is_all: bool) -> Asked:
    """Returns the conditions that fit into a URL, combined by AND."""
    kept: list[Any] = []
    left = LONGEST - size(["and"])
    for part in parts:
        left -= size(part) + len("%2C+")
        if left < 0:
            is_all = False
            break
        kept.append(part)
    return Asked(["and", *kept] if kept else None, is_all)


def fitting(said: Any) -> Asked:
    """Returns a condition if it fits into a URL. Otherwise the service returns all rows, and Corestone evaluates it."""
    return Asked(said, True) if size(said) <= LONGEST else Asked(None, False)


def size(said: Any) -> int:
    return len(quote_plus(json.dumps(said)))


def comparison(predicate: Predicate, entity: Entity) -> Any:
    """Returns a comparison of an attribute with a constant; None if the service evaluates it differently."""
    left, right = predicate.left, predicate.right
    if left is None or right is None or left.type != ExpressionType.KEY_PATH or left.name is None:
        return None
    known = entity.properties.get(left.name)
    if known is None or known.is_transient or known.attribute_type not in COMPARED or known.elements:
        return None
    kind = known.attribute_type
    if predicate.operator == Operator.IN:
        given = constants(right)
        if given is None or not all(suits(each, kind) for each in given):
            return None
        return ["in", known.name, [to_json(each, kind) for each in given]]
    operator = OPERATORS.get(predicate.operator) if predicate.operator is not None else None
    if operator is None or right.type != ExpressionType.CONSTANT:
        return None
    value = right.constant_value
    if value is None:
        return [operator, known.name, None] if operator in ("=", "!=") else None
    if not suits(value, kind) or (operator not in ("=", "!=") and kind not in ORDERED):
        return None
    return [operator, known.name, to_json(value, kind)]


def constants(expression: Expression) -> list[Any] | None:
    if expression.type == ExpressionType.AGGREGATE:
        parts = expression.operands
        if all(part.type == ExpressionType.CONSTANT for part in parts):
            return [part.constant_value for part in parts]
        return None
    value = expression.constant_value if expression.type == ExpressionType.CONSTANT else None
    return list(value) if isinstance(value, (list, tuple, set, frozenset)) else None


def suits(value: Any, kind: AttributeType) -> bool:
    """Whether a constant has the type of the attribute, so that it is not converted."""
    try:
        if kind in WHOLE:
            # JSON parsers may round integers of more than 53 bits.
            return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 53
        return to_json(value, kind) is not None and type(value).__name__ in {
            AttributeType.DATE: ("datetime",),
            AttributeType.BOOLEAN: ("bool",),
            AttributeType.UUID: ("UUID",),
        }.get(kind, ())
    except (AttributeError, TypeError, ValueError, CorestoneError):
        return False


def order_by(sort: Any, entity: Entity) -> str | None:
    """Returns an order in the form of the service; None if the service orders differently."""
    keys = []
    for each in sort or ():
        assert isinstance(each, SortDescriptor)
        known = entity.properties.get(each.key or "")
        if known is None or known.attribute_type not in ORDERED or each.selector != "compare:" or known.is_transient:
            return None
        keys.append(known.name if each.ascending else f"-{known.name}")
    return ",".join(keys)
