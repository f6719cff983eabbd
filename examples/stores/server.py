"""A REST service that stores objects, for rest_store.py.

Usage: server.py [--port N] [--file DATABASE]    prints the address, and serves until it is interrupted

    GET    /store                                  the metadata of the store, or 404
    PUT    /store                                  sets the metadata; with If-None-Match: * only if there is no store
    GET    /objects/Person/3f2a                    an object, with its version as ETag
    GET    /objects/Person?ids=3f2a,77b0           several objects; missing ones are left out
    GET    /objects/Person?where=…&sort=-age,name&limit=100&offset=0&fields=names
                                                   objects, one page at a time; "next" is the URL of the next page
    GET    /count/Person?where=…                   {"count": 12}
    PUT    /objects/Person/3f2a                    changes an object, with If-Match: "7", or creates one, with
                                                   If-None-Match: *
    DELETE /objects/Person/3f2a                    removes an object, with If-Match: "7"
    POST   /transaction                            several of these in one transaction: {"steps": [{"method", "path",
                                                   "if_match", "body"}, …], "store": {…}}. The method CHECK only
                                                   compares the version; "store" is the body of PUT /store
    DELETE /transaction/KEY                        the outcome of a transaction: {"versions": […]}. null: it was not
                                                   committed, and is rejected from now on
    GET    /statistics                             the number of requests of each kind

An object is {"id", "entity", "version", "values": {…}, "links": {"manager": "Person/3f2a", "tags": ["Tag/1", …]}}.
`where` is JSON: ["and", …], ["or", …], ["not", …], ["=", key, value], also "!=", "<", "<=", ">", ">=",
["in", key, [value, …]], and ["has", key, link or [link, …]] for links. A missing value is null. Null comes first in
ascending order, equals only null, and is neither less nor greater than any value.

If a version differs from If-Match, the response is 412; for a transaction, it lists all such objects. Comparing the
versions and writing the objects is atomic. A transaction may have an Idempotency-Key, which the client chooses. Such a
transaction can be sent again if its response was lost: for a day, it is executed only once and has the same response.

The next page begins after the last object of this page, by its position in the order, not by a count. So unchanged
objects are returned exactly once, even if other objects are inserted or removed between two pages. This module does not
use Corestone. The data is in SQLite; the service binds only to the loopback address.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

PAGE = 500  # the maximum number of objects in a response
LARGEST_BODY = 64 << 20
KEPT = 24 * 3600  # the time in seconds for which the response to a transaction with a key is kept
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
COMPARISONS = {"<", "<=", ">", ">="}
SCHEMA = """
    CREATE TABLE IF NOT EXISTS object (
        entity TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (entity, id)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS store (body TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS done (
        key TEXT PRIMARY KEY, at REAL NOT NULL, digest TEXT, versions TEXT
    ) WITHOUT ROWID;
"""


class RequestError(Exception):
    """An error response."""

    def __init__(self, status: int, message: str, **details: Any) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": message, **details}


class Step(NamedTuple):
    """A PUT, DELETE or CHECK of an object with a version; None: the object must not exist."""

    method: str
    entity: str
    id: str
    version: int | None
    body: dict[str, Any] | None = None


class Objects:
    """The database. Any thread may use it; calls are serialised."""

    def __init__(self, file: str = ":memory:") -> None:
        self._database = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self._turn = threading.Lock()
        self._database.executescript(SCHEMA)

    def close(self) -> None:
        with self._turn:
            self._database.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with self._turn:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:  # a full disk may have ended the transaction
                    self._database.execute("ROLLBACK")
                raise

    def metadata(self) -> Any:
        with self._turn:
            row = self._database.execute("SELECT body FROM store").fetchone()
        return None if row is None else json.loads(row[0])

    def set_metadata(self, body: Any, only_new: bool = False) -> None:
        with self.transaction() as database:
            if only_new and database.execute("SELECT 1 FROM store").fetchone():
                raise RequestError(412, "the store already exists")
            put_store(database, body)

    def some(self, entity: str, ids: list[str]) -> list[dict[str, Any]]:
        marks = ", ".join("?" * len(ids))
        with self._turn:
            rows = self._database.execute(
                f"SELECT id, version, body FROM object WHERE entity = ? AND id IN ({marks})", (entity, *ids)
            ).fetchall()
        return [shown(entity, *row) for row in rows]

    def page(self, entity: str, query: Query, only_ids: bool) -> tuple[list[dict[str, Any]], str | None]:
        """Returns a page of objects, and the cursor of the next page; None after the last page."""
        keys = "".join(f", json_extract(body, {name})" for name, _ in query.order)
        sql = f"SELECT id, version, {chr(39) * 2 if only_ids else 'body'}{keys} FROM object"
        sql += f" WHERE entity = :entity AND {query.condition} AND {query.behind}"
        sql += f" ORDER BY {query.order_by} LIMIT :limit OFFSET :offset"
        with self._turn:
            values = {**query.values, "entity": entity, "limit": query.limit, "offset": query.offset}
            rows = self._database.execute(sql, values).fetchall()
        found = [{"id": row[0], "version": row[1]} if only_ids else shown(entity, *row[:3]) for row in rows]
        is_last = not rows or len(rows) < query.limit
        return found, None if is_last else as_cursor([*rows[-1][3:], rows[-1][0]])

    def count(self, entity: str, query: Query) -> int:
        with self._turn:
            sql = f"SELECT count(*) FROM object WHERE entity = :entity AND {query.condition}"
            return int(self._database.execute(sql, {**query.values, "entity": entity}).fetchone()[0])

    def carry_out(
        self, steps: list[Step], store: Any = None, key: str | None = None, digest: str | None = None
    ) -> list[int]:
        """Executes steps in one transaction, and returns the new versions. RequestError 412 lists all conflicts.

        A transaction with a key is executed only once. `digest` is the digest of its body."""
        versions, conflicts = [], []
        with self.transaction() as database:
            known = None if key is None else remembered(database, key)
            if known is not None:
                return answer_again(known, digest)
            for step in steps:
                place = (step.entity, step.id)
                row = database.execute("SELECT version FROM object WHERE entity = ? AND id = ?", place).fetchone()
                found = None if row is None else row[0]
                if found != step.version:
                    conflicts.append({"entity": step.entity, "id": step.id, "version": found})
                elif step.method == "PUT":
                    version = (found or 0) + 1
                    row = (*place, version, json.dumps(step.body, ensure_ascii=False))
                    database.execute("INSERT OR REPLACE INTO object VALUES (?, ?, ?, ?)", row)
                    versions.append(version)
                elif step.method == "DELETE":
                    database.execute("DELETE FROM object WHERE entity = ? AND id = ?", place)
                    versions.append(0)
                else:
                    versions.append(found)
            if conflicts:
                raise RequestError(412, "another client changed the objects", conflicts=conflicts)
            if store is not None:
                put_store(database, store)
            if key is not None:
                remember(database, key, digest, versions)
        return versions

    def settle(self, key: str) -> list[int] | None:
        """Returns the response to a transaction; None if it was not committed, and is rejected from now on."""
        with self.transaction() as database:
            known = remembered(database, key)
            if known is None:
                remember(database, key, None, None)
            return None if known is None or known[1] is None else json.loads(known[1])


def put_store(database: sqlite3.Connection, body: Any) -> None:
    database.execute("DELETE FROM store")
    database.execute("INSERT INTO store VALUES (?)", (json.dumps(body),))


def remembered(database: sqlite3.Connection, key: str) -> tuple[str | None, str | None] | None:
    found = database.execute("SELECT digest, versions FROM done WHERE key = ?", (key,)).fetchone()
    return None if found is None else (found[0], found[1])


def remember(database: sqlite3.Connection, key: str, digest: str | None, versions: list[int] | None) -> None:
    now = time.time()
    database.execute("DELETE FROM done WHERE at < ?", (now - KEPT,))
    said = None if versions is None else json.dumps(versions)
    database.execute("INSERT INTO done VALUES (?, ?, ?, ?)", (key, now, digest, said))


def answer_again(known: tuple[str | None, str | None], digest: str | None) -> list[int]:
    if known[1] is None:
        raise RequestError(
            409, "the outcome of this transaction was requested before it arrived; send it with a new key"
        )
    if known[0] != digest:
        raise RequestError(422, "another transaction used this key; choose a new key")
    versions: list[int] = json.loads(known[1])
    return versions


def shown(entity: str, id: str, version: int, body: str) -> dict[str, Any]:
    return {"id": id, "entity": entity, "version": version, **json.loads(body)}


# -------- queries ------------------------------------------------------------------------------------------


class Query:
    """The query of a URL, as SQL. Names and values are bound parameters, never part of the SQL text."""

    def __init__(self, said: dict[str, str]) -> None:
        self.values: dict[str, Any] = {}
        self.condition = self._condition(parsed(said["where"], "where"), 0) if "where" in said else "1"
        keys = list(filter(None, said.get("sort", "").split(",")))
        #: The sort keys, and whether each is descending. The ID, which is unique, is the tie-breaker.
        self.order = [(self._bind(path("values", key.lstrip("-"))), key.startswith("-")) for key in keys]
        by = [f"json_extract(body, {name}) {'DESC' if is_down else 'ASC'}" for name, is_down in self.order]
        self.order_by = ", ".join([*by, "id"])
        self.limit = min(whole(said.get("limit", str(PAGE)), "limit"), PAGE)
        self.behind, self.offset = "1", whole(said.get("offset", "0"), "offset")
        if "cursor" in said:
            self.behind, self.offset = self._behind(from_cursor(said["cursor"], len(self.order) + 1)), 0

    def _bind(self, value: Any) -> str:
        name = f"v{len(self.values)}"
        self.values[name] = value
        return f":{name}"

    def _behind(self, last: list[Any]) -> str:
        """Returns the condition for objects after the last object of a page. Null comes before all values."""
        ways: list[str] = []
        same: list[str] = []
        keys = [(f"json_extract(body, {name})", is_down) for name, is_down in self.order]
        for (key, is_down), value in zip([*keys, ("id", False)], last):
            bound = self._bind(value)
            if value is None:
                further = "0" if is_down else f"{key} IS NOT NULL"
            else:
                further = f"({key} < {bound} OR {key} IS NULL)" if is_down else f"{key} > {bound}"
            ways.append(" AND ".join([*same, further]))
            same.append(f"{key} IS {bound}")
        return f"({' OR '.join(ways)})"

    def _condition(self, said: Any, depth: int) -> str:
        if not isinstance(said, list) or not said or depth > 50:
            raise RequestError(400, f"{said!r:.80} is not a condition")
        operator, *rest = said
        if operator in ("and", "or"):
            parts = [self._condition(each, depth + 1) for each in rest]
            return f"({f' {operator.upper()} '.join(parts)})" if parts else str(int(operator == "and"))
        if operator == "not" and len(rest) == 1:
            return f"(NOT {self._condition(rest[0], depth + 1)})"
        if len(rest) != 2 or not isinstance(rest[0], str):
            raise RequestError(400, f"{said!r:.80} is not a condition")
        key, value = rest
        if operator == "has":
            members = self._list(value if isinstance(value, list) else [value])
            return f"EXISTS (SELECT 1 FROM json_each(body, {self._bind(path('links', key))}) WHERE value IN {members})"
        found = f"json_extract(body, {self._bind(path('values', key))})"
        if operator in ("=", "!="):
            return f"({found} IS {'NOT ' if operator == '!=' else ''}{self._bind(scalar(value))})"
        if operator in COMPARISONS:
            return f"ifnull({found} {operator} {self._bind(scalar(value))}, 0)"
        if operator == "in" and isinstance(value, list):
            return f"ifnull({found} IN {self._list(value)}, 0)"
        raise RequestError(400, f"{operator!r:.40} is not an operator")

    def _list(self, values: list[Any]) -> str:
        return f"({', '.join(self._bind(scalar(each)) for each in values)})"


def as_cursor(last: list[Any]) -> str:
    """Returns the cursor for the end of a page, for the URL of the next page."""
    return base64.urlsafe_b64encode(json.dumps(last).encode()).decode("ascii")


def from_cursor(text: str, count: int) -> list[Any]:
    try:
        last = json.loads(base64.urlsafe_b64decode(text.encode()))
    except ValueError as failure:
        raise RequestError(400, f"{text!r:.80} is not a cursor") from failure
    if not isinstance(last, list) or len(last) != count:
        raise RequestError(400, f"{text!r:.80} is a cursor of another order")
    return [scalar(each) for each in last]


def path(part: str, key: str) -> str:
    if not re.fullmatch(r"\w{1,200}", key):
        raise RequestError(400, f"{key!r:.80} is not a key")
    return f'$.{part}."{key}"'


def scalar(value: Any) -> Any:
    if value is not None and not isinstance(value, (str, int, float)):
        raise RequestError(400, f"{value!r:.80} cannot be compared")
    return value


def parsed(text: str | bytes, what: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as failure:
        raise RequestError(400, f"{what} is not JSON: {failure}") from failure


def whole(text: str, what: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise RequestError(400, f"{what} is {text!r:.40}, but must be an integer of at most 15 digits")
    return int(text)


# -------- HTTP ---------------------------------------------------------------------------------------------


class Handler(BaseHTTPRequestHandler):
    """A connection, which may have many requests."""

    protocol_version = "HTTP/1.1"
    timeout = 60
    wbufsize = 1 << 16  # sends head and body in one packet; otherwise each request waits 40 ms for an acknowledgement
    server: Service

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_PUT(self) -> None:
        self._answer(self._put)

    def do_DELETE(self) -> None:
        self._answer(self._delete)

    def do_POST(self) -> None:
        self._answer(self._post)

    def _answer(self, method: Any) -> None:
        try:
            body = self._body()
            where = urlsplit(self.path)
            parts = [unquote(part) for part in where.path.strip("/").split("/")]
            said = {name: values[-1] for name, values in parse_qs(where.query, keep_blank_values=True).items()}
            self.server.note(self.command, parts[0])
            if self.server.is_broken:
                raise RequestError(503, "the service is unavailable")
            status, answer = method(parts, said, body)
        except RequestError as failure:
            status, answer = failure.status, failure.body
        except sqlite3.Error as failure:  # a full disk, for example
            status, answer = 500, {"error": f"the database failed: {failure}"}
        data = json.dumps(answer, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if isinstance(answer, dict) and "version" in answer and "id" in answer:
            self.send_header("ETag", f'"{answer["version"]}"')
        self.end_headers()
        self.wfile.write(data)

    def _body(self) -> bytes:
        size = whole(self.headers.get("Content-Length", "0"), "Content-Length")
        if size > LARGEST_BODY:
            self.close_connection = True
            raise RequestError(413, f"the body has {size} bytes, but must have at most {LARGEST_BODY}")
        return self.rfile.read(size)

    def _get(self, parts: list[str], said: dict[str, str], body: bytes) -> tuple[int, Any]:
        objects = self.server.objects
        if parts == ["store"]:
            known = objects.metadata()
            return (200, known) if known is not None else (404, {"error": "the store does not exist"})
        if parts == ["statistics"]:
            return 200, dict(self.server.requests)
        if len(parts) == 2 and parts[0] == "count":
            return 200, {"count": objects.count(name(parts[1]), Query(said))}
        if len(parts) == 3 and parts[0] == "objects":
            found = objects.some(name(parts[1]), [parts[2]])
            return (200, found[0]) if found else (404, {"error": f"{parts[1]}/{parts[2]} does not exist"})
        if len(parts) == 2 and parts[0] == "objects":
            entity = name(parts[1])
            if "ids" in said:
                ids = said["ids"].split(",")
                if len(ids) > PAGE:
                    raise RequestError(400, f"ids lists {len(ids)} objects, but must list at most {PAGE}")
                return 200, {"objects": objects.some(entity, ids)}
            found, cursor = objects.page(entity, Query(said), said.get("fields") == "names")
            answer: dict[str, Any] = {"objects": found}
            if cursor is not None:
                said.pop("offset", None)
                answer["next"] = f"/objects/{quote(entity)}?{urlencode({**said, 'cursor': cursor})}"
            return 200, answer
        raise RequestError(404, f"{self.path} does not exist")

    def _put(self, parts: list[str], said: dict[str, str], body: bytes) -> tuple[int, Any]:
        given = parsed(body, "the body")
        if parts == ["store"]:
            self.server.objects.set_metadata(given, self.headers.get("If-None-Match") == "*")
            return 200, {}
        done = self._step(parts, given)
        return 200, {"id": done.id, "version": self.server.objects.carry_out([done])[0]}

    def _delete(self, parts: list[str], said: dict[str, str], body: bytes) -> tuple[int, Any]:
        if len(parts) == 2 and parts[0] == "transaction":
            return 200, {"versions": self.server.objects.settle(parts[1])}
        self.server.objects.carry_out([self._step(parts, None)])
        return 200, {}

    def _step(self, parts: list[str], given: Any) -> Step:
        return step(self.command, "/".join(map(quote, parts)), self.headers.get("If-Match"), given)

    def _post(self, parts: list[str], said: dict[str, str], body: bytes) -> tuple[int, Any]:
        if parts != ["transaction"]:
            raise RequestError(404, f"{self.path} does not accept POST")
        given = parsed(body, "the body")
        try:
            steps = [step(one["method"], one["path"], one.get("if_match"), one.get("body")) for one in given["steps"]]
            store = given.get("store")
        except (TypeError, KeyError, AttributeError) as failure:
            raise RequestError(400, f"a step of the transaction is incomplete: {failure}") from failure
        key, digest = self.headers.get("Idempotency-Key"), hashlib.sha256(body).hexdigest()
        return 200, {"versions": self.server.objects.carry_out(steps, store, key, digest)}

    def log_message(self, format: str, *arguments: Any) -> None:
        """Does not log requests."""


def step(method: str, where: str, if_match: str | None, body: Any) -> Step:
    parts = [unquote(part) for part in where.strip("/").split("/")]
    if len(parts) != 3 or parts[0] != "objects" or method not in ("PUT", "DELETE", "CHECK"):
        raise RequestError(400, f"{method} {where} is not a PUT, DELETE or CHECK of an object")
    if (body is None) == (method == "PUT") or not isinstance(body, (dict, type(None))):
        raise RequestError(
            400, f"{method} {where} must {'have an object as its' if method == 'PUT' else 'not have a'} body"
        )
    version = None if if_match is None else whole(if_match.strip('"'), "If-Match")
    if version is None and method != "PUT":
        raise RequestError(428, f"{method} {where} must have If-Match")
    content = None if body is None else {"values": body.get("values", {}), "links": body.get("links", {})}
    return Step(method, name(parts[1]), name(parts[2]), version, content)


def name(text: str) -> str:
    if not NAME.fullmatch(text):
        raise RequestError(400, f"{text!r:.80} is not the name of an entity or an object")
    return text


class Service(ThreadingHTTPServer):
    """The service. `url` is its address; `requests` counts requests by method and kind, for example "GET objects"."""

    daemon_threads = True
    is_broken = False  # True: responds to every request with 503

    def __init__(self, file: str = ":memory:", port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.objects = Objects(file)
        self.requests: Counter[str] = Counter()
        self._counting = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def note(self, method: str, what: str) -> None:
        with self._counting:
            self.requests[f"{method} {what}"] += 1


@contextmanager
def served(file: str = ":memory:") -> Iterator[Service]:
    """Runs a service on a thread of this process during the block, with the objects in the file."""
    with Service(file) as service:
        serving = threading.Thread(target=service.serve_forever, args=(0.005,))
        serving.start()
        try:
            yield service
        finally:
            service.shutdown()
            serving.join()
            service.objects.close()


def main() -> None:
    words = argparse.ArgumentParser(description="A REST service that stores objects, on the loopback address.")
    words.add_argument("--port", type=int, default=0, help="the port; 0, the default, selects a free port")
    words.add_argument("--file", default=":memory:", help="the SQLite database; in memory by default")
    said = words.parse_args()
    service = Service(said.file, said.port)
    # Sets the handlers again, because shells make background programs ignore Ctrl-C.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    print(service.url, flush=True)
    try:
        service.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        service.server_close()
        service.objects.close()


if __name__ == "__main__":
    main()
