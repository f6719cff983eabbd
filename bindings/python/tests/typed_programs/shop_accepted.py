"""A program with declared classes that both type checkers accept, and that runs."""

from __future__ import annotations

import sys
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

from shop import Episode, Place, Show, State, Tag
from typing_extensions import assert_type

from corestone import (
    Container,
    Context,
    Cursor,
    FetchRequest,
    Model,
    Predicate,
    Results,
    ToManyList,
    ToManySet,
)


def objects(ctx: Context) -> Episode:
    show = ctx.insert(Show, title="Science", place=Place("Bern"))
    assert_type(show, Show)
    episode = ctx.insert(Episode, title="Stars", show=show)
    assert_type(episode.title, str)
    assert_type(episode.plays, int)
    assert_type(episode.season, int)
    assert_type(episode.minutes, int)
    assert_type(episode.state, State)
    assert_type(episode.at, datetime)
    assert_type(episode.released, "datetime | None")
    assert_type(episode.show, "Show | None")
    assert_type(episode.next, "Episode | None")
    assert_type(episode.tags, ToManySet[Tag])
    assert_type(episode.others, "tuple[Episode, ...]")
    assert_type(show.episodes, ToManyList[Episode])
    assert_type(show.episodes[0].title, str)
    assert_type(show.place, "Place | None")
    assert_type(show.price, Decimal)
    assert_type(show.episode_count, "int | None")
    episode.released = datetime(2027, 1, 1, tzinfo=timezone.utc)
    episode.next = ctx.insert(Episode, title="Moons", show=show)
    episode.tags = [ctx.insert(Tag, name="sky")]
    episode.tags.add(ctx.insert(Tag, name="night"))
    show.episodes.sort(key=lambda each: each.title)
    show.rating, show.price = 4.5, Decimal("1.50")
    assert episode.play() == 1
    ctx.save()
    return episode


def conditions(ctx: Context) -> None:
    """Comparisons of plain annotations are bool for type checkers, and predicates when the program runs."""
    assert_type(Episode.minutes > 20, Predicate)
    assert_type(Show.title == "Science", Predicate)
    assert_type(Show.title.icontains("sci") & (Show.rating >= 4), Predicate)
    assert_type(Show.active & Show.title.in_(["Science"]), Predicate)
    assert_type(~Show.active, Predicate)
    assert_type(Episode.minutes.between(10, 40) | Episode.released.is_null(), Predicate)
    assert_type(Show.episodes.any((Episode.minutes > 20) & (Episode.plays > 0)), Predicate)
    assert_type(Episode.tags.any(Tag.name == "sky"), Predicate)
    assert ctx.count(Episode, Episode.plays > 0) == 1
    assert ctx.count(Episode, (Episode.plays > 0) & (Episode.minutes > 20)) == 1
    assert ctx.count(Episode, (Episode.minutes > 20) & (Episode.plays > 0) & (Episode.title != "x")) == 1
    assert ctx.exists(Episode, Episode.state == State.PLAYED)
    assert not ctx.exists(Episode, Episode.played)
    assert ctx.count(Episode, Episode.show.title == "Science") == 2
    assert ctx.count(Show, Show.active) == 1
    assert len(ctx.fetch(Episode).filtered(Episode.title == "Stars")) == 1
    assert ctx.execute(FetchRequest(Episode, Episode.plays > 0, result_type="count")) == 1


def fetches(container: Container, ctx: Context, episode: Episode) -> None:
    found = ctx.fetch(Show, Show.rating > 3, sort=[-Show.rating, Show.title], limit=5, prefetch=Show.episodes)
    assert_type(found, Results[Show])
    assert_type(found[0], Show)
    assert_type(found.first, "Show | None")
    assert_type([each.title for each in found], "list[str]")
    assert_type(ctx.fetch(Episode, Episode.plays > 0, sort="-at"), Results[Episode])
    assert_type(ctx.first(Episode, Episode.title == "Stars", sort=Episode.minutes.desc()), "Episode | None")
    assert_type(ctx.stream(Episode), Cursor[Episode])
    assert_type(ctx.get(Episode, episode.id), Episode)
    assert_type(container.fetch(Episode), Results[Episode])
    assert_type(container.first(Episode, Episode.plays > 0), "Episode | None")
    assert_type(container.count(Episode), int)
    assert_type(ctx.execute(FetchRequest(Episode, Episode.minutes > 3)), Results[Episode])


def lookups(container: Container, ctx: Context) -> None:
    tag, is_new = ctx.get_or_create(Tag, name="sky")
    assert_type(tag, Tag)
    assert_type(is_new, bool)
    assert_type(ctx.upsert(Tag, name="night"), Tag)
    assert_type(ctx.fetch(Tag).get_or_create(name="sky"), "tuple[Tag, bool]")
    assert_type(ctx.fetch(Tag).upsert({"name": "sky"}), Tag)
    assert_type(ctx.count(Episode, by="show.title"), "dict[Any, int]")
    assert_type(container.get_or_create(Tag, name="sky"), "tuple[dict[str, Any], bool]")
    assert_type(container.upsert(Tag, {"name": "sky"}), "dict[str, Any]")
    assert_type(container.upsert(Tag, [{"name": "sky"}]), "list[dict[str, Any]]")
    assert_type(tag.to_dict("name"), "dict[str, Any]")


def records(container: Container, ctx: Context) -> None:
    assert_type(container.insert(Tag, {"name": "day"}), "dict[str, Any]")
    assert_type(container.insert(Tag, [{"name": "dusk"}, {"name": "dawn"}]), "list[dict[str, Any]]")
    assert_type(container.upsert(Show, {"title": "Science"}, match=Show.title), "dict[str, Any]")
    assert_type(container.read(Tag, Tag.name == "day"), "list[dict[str, Any]]")
    assert_type(ctx.upsert(Show, title="Science", match=[Show.title]), Show)
    assert len(container.update(Episode, Episode.minutes > 3, {"plays": 2})) == 2
    assert container.delete(Tag, (Tag.name == "day") | (Tag.name == "dusk")) == 2
    assert container.delete_all(Tag) > 0


def values(ctx: Context, of: Any = Episode.minutes) -> None:
    assert ctx.sum(Episode, Episode.minutes) == 60
    assert ctx.fetch(Episode).column(Episode.minutes) == [30, 30]
    assert ctx.count(Episode, key=of) == 2


def main(path: str) -> None:
    assert "Show" in Model(Episode, Show)
    with Container([Episode, Show], path, unsaved="discard") as container:
        ctx = container.context()
        episode = objects(ctx)
        conditions(ctx)
        fetches(container, ctx, episode)
        lookups(container, ctx)
        values(ctx)
        records(container, ctx)


if __name__ == "__main__":
    main(sys.argv[1])
