"""Type checkers infer the types of the properties of declared classes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """\
from __future__ import annotations

import enum
from datetime import datetime

from corestone import Context, Model
from corestone.declarative import (
    Attribute, Entity, OrderedToMany, ToMany, attribute, derived, fetched, index, int16, now, to_many, to_one, unique,
)


class State(enum.Enum):
    NEW = "new"


class Show(Entity, unique="title"):
    title: str
    episodes: ToMany[Episode] = to_many(delete="cascade")
    count: int | None = derived("episodes.@count")


class Episode(Entity):
    title: Attribute[str]
    plays: Attribute[int] = attribute(default=0)
    show: Attribute[Show | None] = to_one(inverse="episodes")
    chapters: OrderedToMany[Chapter]
    number: int16 = 0
    at: datetime = now
    state: State = State.NEW
    others: tuple[Episode, ...] = fetched("show == $FETCH_SOURCE.show")
    by_date = index("-at")
    one = unique("title", "number")


class Chapter(Entity):
    title: str
    episode: Episode | None


def use(ctx: Context, episode: Episode, show: Show, chapter: Chapter) -> None:
    Model(Episode, Show)
    reveal_type(Episode.title)
    reveal_type(Episode.show)
    reveal_type(episode.title)
    reveal_type(episode.show)
    reveal_type(episode.number)
    reveal_type(episode.state)
    reveal_type(show.episodes)
    reveal_type(episode.chapters)
    reveal_type(Episode.title == "a")
    ctx.fetch(Episode, (Episode.plays > 3) & (Episode.title == "a"))
    show.episodes = [episode]
    episode.chapters.append(chapter)
    # mistakes
    episode.plays = "a"
    episode.title = None
    episode.show = chapter
    show.title = 3
    show.episodes = [chapter]
    episode.chapters.append(show)
    Episode.plays > "a"
    episode.state = "new"
"""

REVEALED = [
    "Key[str]", "Key[Show | None]", "str", "Show | None", "int", "State", "ToManySet[Episode]", "ToManyList[Chapter]",
    "Predicate",
]  # fmt: skip


def test_mypy_infers_types_and_finds_mistakes(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    file = tmp_path / "podcasts.py"
    file.write_text(PROGRAM, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path), str(file)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MYPYPATH": str(Path(__file__).parents[1])},
        cwd=tmp_path,
    )
    lines = run.stdout.splitlines()
    revealed = [each.split('"')[1] for each in lines if "Revealed type" in each]
    assert [re.sub(r"\w+\.", "", each) for each in revealed] == REVEALED, run.stdout
    wrong = {int(each.split(":")[1]) for each in lines if ": error:" in each}
    first = PROGRAM.splitlines().index("    # mistakes") + 2
    assert wrong == set(range(first, first + 8)), run.stdout
