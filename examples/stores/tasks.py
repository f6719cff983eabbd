"""A list of tasks in a folder of JSON files or in a REST service.

Usage: tasks.py STORE COMMAND …      STORE is a folder, or an address such as http://127.0.0.1:8080

    add TITLE [--due 2026-12-24] [--priority 3] [--tag NAME]…
    list [--tag NAME] [--open] [--before DATE]
    done TITLE
    remove TITLE
    copy STORE                       copies all tasks into another, new store

The program does not access files or HTTP itself: json_folder.py and rest_store.py implement the stores for Corestone.
"""

from __future__ import annotations

import argparse
import sys
from datetime import datetime, timezone
from typing import Any

import json_folder
import rest_store
from corestone import ConflictError, Container, CorestoneError, Model

TYPES = {True: rest_store.TYPE, False: json_folder.TYPE}
MODEL = {
    "Task": {
        "title": "string",
        "isDone": "bool = false",
        "priority": "int16 = 0",
        "due": "date?",
        "tags": "to-many Tag? inverse tasks",
    },
    "Tag": {"name": "string", "tasks": "to-many Task? inverse tags"},
}


class UsageError(Exception):
    """A command that cannot be executed. Its text is shown to the user."""


def type_of(store: str) -> str:
    return TYPES[store.startswith("http://")]


def add(ctx: Any, said: argparse.Namespace) -> None:
    tags = [ctx.first("Tag", "name == %@", name) or ctx.insert("Tag", name=name) for name in said.tag]
    ctx.insert("Task", title=said.title, due=said.due, priority=said.priority, tags=tags)
    ctx.save()
    print(f"added {said.title}")


def show(ctx: Any, said: argparse.Namespace) -> None:
    conditions = []
    arguments: list[Any] = []
    if said.tag:
        conditions.append("ANY tags.name == %@")
        arguments.append(said.tag[0])
    if said.open:
        conditions.append("isDone == NO")
    if said.before:
        conditions.append("due < %@")
        arguments.append(said.before)
    found = ctx.fetch(
        "Task", " AND ".join(conditions) or None, *arguments, sort=["-priority", "title"], prefetch="tags"
    )
    for task in found:
        due = f"  due {task.due:%Y-%m-%d}" if task.due else ""
        tags = "".join(f"  #{tag.name}" for tag in sorted(task.tags, key=lambda tag: str(tag.name)))
        print(f"{'x' if task.isDone else '.'} {task.priority}  {task.title}{due}{tags}")
    print(f"{len(found)} of {ctx.count('Task')}")


def task_named(ctx: Any, title: str) -> Any:
    task = ctx.first("Task", "title == %@", title)
    if task is None:
        raise UsageError(f'there is no task "{title}"')
    return task


def done(ctx: Any, said: argparse.Namespace) -> None:
    task_named(ctx, said.title).isDone = True
    ctx.save()
    print(f"done {said.title}")


def remove(ctx: Any, said: argparse.Namespace) -> None:
    ctx.delete(task_named(ctx, said.title))
    ctx.save()
    print(f"removed {said.title}")


def copy(container: Container, target: str) -> None:
    coordinator = container.coordinator
    container.store = coordinator.migrate_store(container.store, target, type=type_of(target))
    print(f"copied to {target}")


def day(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=timezone.utc)


def arguments() -> argparse.Namespace:
    words = argparse.ArgumentParser(description="A list of tasks in a folder of JSON files or in a REST service.")
    words.add_argument("store", help="a folder, or an address such as http://127.0.0.1:8080")
    commands = words.add_subparsers(dest="command", required=True)
    adding = commands.add_parser("add", help="add a task")
    adding.add_argument("title")
    adding.add_argument("--due", type=day)
    adding.add_argument("--priority", type=int, default=0)
    adding.add_argument("--tag", action="append", default=[])
    listing = commands.add_parser("list", help="list the tasks by priority")
    listing.add_argument("--tag", action="append", default=[])
    listing.add_argument("--open", action="store_true", help="only tasks that are not done")
    listing.add_argument("--before", type=day, help="only tasks that are due before a day")
    for name in ("done", "remove"):
        commands.add_parser(name).add_argument("title")
    commands.add_parser("copy", help="copy all tasks into another store").add_argument("target")
    return words.parse_args()


def main() -> int:
    said = arguments()
    try:
        with Container(Model(MODEL), said.store, type=type_of(said.store)) as container:
            if said.command == "copy":
                copy(container, said.target)
            else:
                {"add": add, "list": show, "done": done, "remove": remove}[said.command](container.context(), said)
    except ConflictError:
        print("another program changed the task meanwhile; list the tasks and try again", file=sys.stderr)
        return 1
    except (UsageError, CorestoneError) as failure:
        reason = failure.__cause__ if isinstance(failure, CorestoneError) and failure.__cause__ else failure
        print(reason, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
