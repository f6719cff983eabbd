"""Planted mistakes. Each marked line must be reported, and no other line.

The comment names the rule of mypy and the rule of pyright.
"""
# pyright: standard

from __future__ import annotations

from library import Episode, Show, Tag

from corestone import Container, Context, FetchedResultsController, FetchRequest


def misspelt(ctx: Context, episode: Episode) -> None:
    print(episode.titel)  # attr-defined | reportAttributeAccessIssue
    episode.titel = "x"  # attr-defined | reportAttributeAccessIssue
    print(ctx.fetch(Episode, Episode.titel == "x"))  # attr-defined | reportAttributeAccessIssue
    for each in ctx.fetch(Episode):
        print(each.playes)  # attr-defined | reportAttributeAccessIssue
    print(ctx.get(Episode, episode.id).nmae)  # attr-defined | reportAttributeAccessIssue
    print([each.nmae for each in episode.tags])  # attr-defined | reportAttributeAccessIssue


def wrong_operands(episode: Episode) -> None:
    print(episode.title + episode.plays)  # operator | reportOperatorIssue
    print(episode.play() > episode.title)  # operator | reportOperatorIssue


def wrong_types(ctx: Context, episode: Episode, show: Show) -> None:
    print(Episode.plays > "a")  # operator | reportOperatorIssue
    episode.plays = "3"  # assignment | reportAttributeAccessIssue
    show.episodes = [episode, Tag]  # list-item | reportAttributeAccessIssue
    show.price = 1.5  # assignment | reportAttributeAccessIssue
    episode.tags.add(show)  # arg-type | reportArgumentType
    wrong: Show = ctx.insert(Episode, title="x")  # assignment | reportAssignmentType
    print(wrong, Episode.title.in_([1, 2]))  # list-item | reportArgumentType


def forgotten_none(ctx: Context, episode: Episode) -> None:
    print(ctx.first(Episode).title)  # union-attr | reportOptionalMemberAccess
    print(episode.show.title)  # union-attr | reportOptionalMemberAccess
    print(ctx.fetch(Show).first.title)  # union-attr | reportOptionalMemberAccess
    print(episode.released.year)  # union-attr | reportOptionalMemberAccess


def wrong_calls(container: Container, ctx: Context) -> None:
    ctx.fetch(Episode, limt=3)  # call-overload | reportCallIssue
    ctx.fetch(int)  # type-var | reportArgumentType
    container.fetch(Episode, sort=3)  # call-overload | reportArgumentType
    ctx.get(1)  # call-overload | reportArgumentType
    ctx.delete(ctx.fetch(Episode))  # arg-type | reportArgumentType
    ctx.merge_policy = "nonsense"  # assignment | reportAttributeAccessIssue
    ctx.nope = 1  # attr-defined | reportAttributeAccessIssue
    count: str = ctx.execute(FetchRequest(Episode, result_type="count"))  # assignment | reportAssignmentType
    controller = FetchedResultsController(ctx, FetchRequest(Episode))
    print(count, controller.object_at(0, 0).nmae)  # attr-defined | reportAttributeAccessIssue
    for difference in ctx.observe(FetchRequest(Tag)):
        for change in difference.changes:
            print(change.object and change.object.title)  # attr-defined | reportAttributeAccessIssue
