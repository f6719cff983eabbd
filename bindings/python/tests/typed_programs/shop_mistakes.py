"""Planted mistakes with declared classes. Each marked line must be reported, and no other line.

The comment names the rule of mypy and the rule of pyright.
"""
# pyright: standard

from __future__ import annotations

from shop import Episode, Show, State, Tag

from corestone import Container, Context
from corestone.declarative import Entity, attribute


class Chapter(Entity):
    title: str = 3  # assignment | reportAssignmentType
    minutes: int = attribute(defualt=3)  # call-arg | reportCallIssue


def misspelt(ctx: Context, episode: Episode) -> None:
    print(episode.titel)  # attr-defined | reportAttributeAccessIssue
    episode.titel = "x"  # attr-defined | reportAttributeAccessIssue
    print(ctx.fetch(Episode, Episode.playes > 3))  # attr-defined | reportAttributeAccessIssue
    print(ctx.fetch(Episode)[0].titel)  # attr-defined | reportAttributeAccessIssue
    print([each.nmae for each in episode.tags])  # attr-defined | reportAttributeAccessIssue
    print(ctx.get_or_create(Tag, name="a")[0].nmae)  # attr-defined | reportAttributeAccessIssue
    print(ctx.upsert(Tag, name="a").nmae)  # attr-defined | reportAttributeAccessIssue
    print(State.PLAID)  # attr-defined | reportAttributeAccessIssue


def wrong_operands(ctx: Context) -> None:
    print(ctx.fetch(Episode, Episode.plays > "a"))  # operator | reportOperatorIssue
    print(ctx.fetch(Episode, Episode.minutes > "a"))  # operator | reportOperatorIssue
    print(ctx.fetch(Episode, Episode.at > 3))  # operator | reportOperatorIssue
    print(ctx.fetch(Show, Show.title.in_([1, 2])))  # list-item | reportArgumentType
    print(ctx.fetch(Show, Show.title.between(1, 2)))  # arg-type | reportArgumentType
    print(ctx.fetch(Show, Show.rating + 1))  # call-overload | reportArgumentType
    print(Show.episodes.any(3))  # arg-type | reportArgumentType


def wrong_types(ctx: Context, episode: Episode, show: Show, tag: Tag) -> None:
    episode.plays = "3"  # assignment | reportAttributeAccessIssue
    episode.minutes = "3"  # assignment | reportAttributeAccessIssue
    episode.title = None  # assignment | reportAttributeAccessIssue
    episode.state = "new"  # assignment | reportAttributeAccessIssue
    episode.show = tag  # assignment | reportAttributeAccessIssue
    show.episodes = [tag]  # list-item | reportAttributeAccessIssue
    show.episodes.append(tag)  # arg-type | reportArgumentType
    episode.tags.add(show)  # arg-type | reportArgumentType
    show.price = 1.5  # assignment | reportAttributeAccessIssue
    wrong: Show = ctx.insert(Episode, title="x")  # assignment | reportAssignmentType
    print(wrong)


def forgotten_none(container: Container, ctx: Context, episode: Episode) -> None:
    print(ctx.first(Episode).title)  # union-attr | reportOptionalMemberAccess
    print(container.first(Episode).title)  # union-attr | reportOptionalMemberAccess
    print(episode.show.title)  # union-attr | reportOptionalMemberAccess
    print(episode.released.year)  # union-attr | reportOptionalMemberAccess


def wrong_calls(container: Container, ctx: Context) -> None:
    ctx.fetch(Episode, 3)  # call-overload | reportArgumentType
    ctx.fetch(Episode, limt=3)  # call-overload | reportCallIssue
    ctx.get_or_create(int, name="a")  # type-var | reportArgumentType
    container.first(Episode, sort=3)  # call-overload | reportArgumentType
    container.upsert(Tag, 3)  # call-overload | reportArgumentType
    container.insert(Tag, 3)  # call-overload | reportArgumentType
    container.read(Tag, 3)  # arg-type | reportArgumentType
