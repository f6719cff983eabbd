"""A program that both type checkers accept, and that runs: every generic call, with classes and with names."""

from __future__ import annotations

import sys
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

from library import MODEL, Episode, Show, Tag
from typing_extensions import assert_type

from corestone import (
    AsynchronousFetch,
    Container,
    Context,
    Cursor,
    Difference,
    DynamicObject,
    FetchedResultsController,
    FetchRequest,
    LiveQuery,
    Model,
    ObjectID,
    Predicate,
    Results,
    ToManyList,
    ToManySet,
)


def inserts(ctx: Context) -> Episode:
    show = ctx.insert(Show, title="Science", rating=4.5)
    assert_type(show, Show)
    episode = ctx.insert(Episode, title="Stars", show=show)
    episode.released = datetime(2027, 1, 1, tzinfo=timezone.utc)
    show.price = Decimal("1.50")
    show.rating = None
    episode.tags = [ctx.insert(Tag, name="sky")]
    episode.tags.add(ctx.insert(Tag, name="night"))
    assert_type(episode.title, str)
    assert_type(episode.tags, ToManySet[Tag])
    assert_type(show.episodes, ToManyList[Episode])
    assert_type(show.episodes[0], Episode)
    assert_type(show.episodes.snapshot(), Results[Episode])
    assert_type(ctx.insert_objects(Tag, [{"name": "a"}]), "list[Tag]")
    assert_type(ctx.new(Tag, name="free"), Tag)
    if episode.show is not None:
        assert_type(episode.show.rating, "float | None")
    assert episode.play() == 1
    ctx.save()
    return episode


def fetches(container: Container, ctx: Context) -> None:
    found = ctx.fetch(Episode, Episode.plays > 0, sort=Episode.title.desc(), limit=5, prefetch=Episode.show)
    assert_type(found, Results[Episode])
    assert_type(found[0], Episode)
    assert_type(found[:2], "list[Episode]")
    assert_type(found.first, "Episode | None")
    assert_type([each.plays for each in found], "list[int]")
    assert_type(found.filtered("plays > 0").ordered("-title"), Results[Episode])
    assert_type(ctx.first(Episode, (Episode.title == "Stars") & (Episode.plays >= 1)), "Episode | None")
    assert_type(ctx.stream(Episode, batch=10), Cursor[Episode])
    assert_type([each.title for each in ctx.stream(Episode)], "list[str]")
    assert_type(container.fetch(Episode, limit=1), Results[Episode])
    condition = Episode.tags.any(Tag.name == "sky") & Episode.show.title.begins_with("Sci") & (Show.price > 1)
    assert_type(condition, Predicate)
    assert ctx.count(Episode, Episode.released.is_not_null()) == 1


def identities(ctx: Context, episode: Episode) -> None:
    which = episode.id
    assert_type(which, ObjectID)
    assert_type(ctx.get(Episode, which), Episode)
    assert_type(ctx.existing(Episode, which.uri), Episode)
    assert_type(ctx.registered(Episode, which), "Episode | None")
    assert ctx.get(which).title == ctx.get("Episode", which.uri).title == "Stars"
    assert_type(episode.context, "Context | None")


def requests(ctx: Context) -> None:
    request = FetchRequest(Episode, Episode.plays > 0, sort="title")
    assert_type(request, FetchRequest[Episode, Results[Episode]])
    assert_type(ctx.execute(request), Results[Episode])
    assert_type(request.copy(), FetchRequest[Episode, Results[Episode]])
    assert_type(ctx.execute(FetchRequest(Episode, result_type="ids")), "list[ObjectID]")
    assert_type(ctx.execute(FetchRequest(Episode, result_type="count")), int)
    controller = FetchedResultsController(ctx, request, "title")
    assert_type(controller, FetchedResultsController[Episode])
    controller.perform_fetch()
    assert_type(controller.object_at(0, 0), Episode)
    assert_type(controller[0, 0].plays, int)
    assert_type([each.title for each in (controller.sections or [])[0]], "list[str]")
    live = ctx.observe(request, timeout=0.1)
    assert_type(live, LiveQuery[Episode])
    for difference in live:
        assert_type(difference, Difference[Episode])
        assert_type(difference.insertions[0].object, "Episode | None")
    observation = ctx.observe(request, lambda context, difference: print(difference.changes[0].kind))
    observation.cancel()


def asynchronous(container: Container) -> None:
    ctx = container.background_context()
    with ctx.perform():
        fetch = ctx.fetch_asynchronously(FetchRequest(Episode))
        titles = ctx.fetch_asynchronously(FetchRequest(Episode), lambda found: [each.title for each in found])
    assert_type(fetch, AsynchronousFetch[Results[Episode]])
    assert_type(titles.result(30), "list[str]")


async def later(ctx: Context) -> None:
    assert_type(await ctx.afetch(FetchRequest(Episode), lambda found: found[0].plays), int)


def names(ctx: Context, kept: Results, any_request: FetchRequest) -> None:
    """Entities without a class: their properties are Any."""
    note = ctx.insert("Note", text="x")
    assert_type(note, DynamicObject)
    assert_type(note.text, Any)
    note.text = "y"
    assert_type(ctx.fetch("Note"), Results[DynamicObject])
    assert ctx.first("Note").text == "y"
    assert [each.text.upper() for each in ctx.fetch("Note")] == ["Y"]
    any_request.result_type = "count"
    assert ctx.execute(any_request) == 1
    assert kept[0].title == "Stars"
    entity = ctx.model["Note"]
    assert_type(ctx.fetch(entity), Results[DynamicObject])


def main(path: str) -> None:
    with Container(Model(MODEL).bind(Show, Episode, Tag), path, unsaved="discard") as container:
        ctx = container.context()
        episode = inserts(ctx)
        fetches(container, ctx)
        identities(ctx, episode)
        requests(ctx)
        asynchronous(container)
        names(ctx, ctx.fetch(Episode), FetchRequest("Note"))


if __name__ == "__main__":
    main(sys.argv[1])
