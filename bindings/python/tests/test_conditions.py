"""Boolean keys as conditions, negated keys as sort keys, conditions without regard to case, and sums over members."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    BatchUpdateRequest,
    Container,
    Context,
    Expression,
    FetchRequest,
    Model,
    Predicate,
    SortDescriptor,
    TypeMismatchError,
    key,
)

PODCASTS = {
    "Show": {
        "title": "string", "rating": "double = 0", "live": "bool = true", "episodes": "to-many Episode inverse show",
    },
    "Episode": {
        "title": "string", "plays": "int = 0", "played": "bool?", "show": "to-one Show? inverse episodes",
        "tags": "to-many Tag inverse episodes",
    },
    "Tag": {"name": "string", "hidden": "bool = false", "episodes": "to-many Episode inverse tags"},
}  # fmt: skip


@pytest.fixture
def ctx(tmp_path: Path) -> Iterator[Context]:
    """Shows S0 to S2 with 1 to 3 episodes; the first of each is played, the second is not, the third has null."""
    with Container(Model(PODCASTS), tmp_path / "podcasts.sqlite") as container:
        context = container.context()
        for number in range(3):
            show = context.insert("Show", title=f"S{number}", rating=float(number), live=number != 1)
            for place in range(number + 1):
                played = (True, False, None)[place]
                context.insert("Episode", title=f"É{place}", plays=place * 10 + number, played=played, show=show)
        context.save()
        yield context


def classes(context: Context) -> tuple[Any, Any, Any]:
    model = context.model
    return model["Show"].object_class, model["Episode"].object_class, model["Tag"].object_class


def test_boolean_keys_are_conditions(ctx: Context) -> None:
    show, episode, _ = classes(ctx)
    for condition, count in (
        (episode.played, 3),
        (~episode.played, 3),  # like `not None`, null is not true
        (~(~episode.played), 3),
        (episode.show.live & (episode.plays > 5), 2),
        ((episode.plays > 5) & ~episode.show.live, 1),
        (episode.played | episode.show.live, 5),
        (Predicate("plays > 5") | episode.played, 6),
        (Predicate.all(episode.played, episode.show.live), 2),
        (episode.played == False, 2),  # noqa: E712
    ):
        assert ctx.count(episode, condition) == count, str(condition)
    assert (episode.played & episode.show.live).format == "played == 1 AND show.live == 1"
    assert (~episode.played).format == "NOT played == 1"
    assert ctx.count(show, show.episodes.any(episode.played)) == 3
    assert ctx.count(show, show.episodes.all(episode.played)) == 1
    assert ctx.count(show, show.episodes.none(~episode.played)) == 1
    rows = ctx.fetch_rows(episode, columns={"k": Expression.conditional(episode.played, "yes", "no")}, sort="-title")
    assert [row["k"] for row in rows] == ["no", "no", "no", "yes", "yes", "yes"]


def test_keys_without_a_class_are_conditions_where_one_is_needed(ctx: Context) -> None:
    played: Any = key("played")
    assert ctx.count("Episode", played) == 3
    assert ctx.count("Episode", ~key("played")) == 3
    assert ctx.count("Episode", key("played") & key("show.live")) == 2
    assert (key("played") & (key("plays") > 3)).format == "played == 1 AND plays > 3"
    assert str(key("flags") & key("mask")) == "flags & mask"


def test_every_call_with_a_predicate_accepts_a_boolean_key(ctx: Context) -> None:
    show, episode, _ = classes(ctx)
    assert ctx.execute(FetchRequest(show, show.live, result_type="count")) == 2
    request = FetchRequest(show)
    request.predicate = show.live
    assert len(ctx.execute(request)) == 2
    assert len(ctx.fetch(show).filtered(show.live)) == 2
    assert len(ctx.fetch(show).filtered("live == %@", True)) == 2
    assert len(ctx.container.read("Show", show.live)) == 2
    assert ctx.exists(show, ~show.live)
    rows = ctx.fetch_rows(episode, columns=["show.live", {"n": "count:(title)"}], group_by="show.live", having="n > 2")
    assert rows == [{"show.live": True, "n": 4}]
    assert ctx.execute(BatchUpdateRequest(show, {"rating": 9.0}, show.live, result_type="count")) == 2
    assert [each.title for each in ctx.stream(show, ~show.live)] == ["S1"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda s, e: e.plays,
            r"^Episode\.plays is not a Boolean attribute, so it cannot be a condition; compare it wi",
        ),
        (lambda s, e: e.plays & (e.plays > 3), r"^Episode\.plays is not a Boolean attribute"),
        (lambda s, e: e.show, r'^Episode\.show is a relationship.*key\("show"\)\.is_not_null\(\)$'),
        (lambda s, e: s.episodes, r"^Show\.episodes is a relationship.*count its members, or call any"),
        (lambda s, e: s.episodes.played, r'^"episodes\.played" has a value for each member.*call any, all or none'),
        (lambda s, e: e.plays + 1, r'^the value "plays \+ 1" is not a condition; compare it with another value$'),
        (lambda s, e: s.episodes.any(e.plays), r"^Episode\.plays is not a Boolean attribute"),
        (
            lambda s, e: Predicate.all(*[5, s][:1]),
            r"^a condition must be a Predicate or a Boolean key such as Employee\.active",
        ),
    ],
)
def test_other_keys_are_not_conditions(ctx: Context, wrong: Callable[[Any, Any], Any], message: str) -> None:
    show, episode, _ = classes(ctx)
    with pytest.raises(TypeMismatchError, match=message):
        ctx.fetch(episode, wrong(show, episode))


def test_negated_keys_sort_in_descending_order(ctx: Context) -> None:
    show, episode, _ = classes(ctx)
    for sort in (-show.rating, [-show.rating], -key("rating"), -(+show.title), -show.episodes.count()):
        assert [each.title for each in ctx.fetch(show, sort=sort)] == ["S2", "S1", "S0"]
    assert [each.title for each in ctx.fetch(show, sort=[-show.live, +show.title])] == ["S0", "S2", "S1"]
    assert ctx.fetch(episode).ordered(-episode.plays)[0].plays == 22
    assert SortDescriptor("rating", ascending=False) == FetchRequest(show, sort=SortDescriptor("rating", False)).sort
    with pytest.raises(TypeMismatchError, match="is not a sort key"):
        ctx.fetch(show, sort=-(show.rating * 2))


def test_conditions_without_regard_to_case() -> None:
    title = key("title")
    assert title.icontains("a").format == 'title CONTAINS[c] "a"'
    assert title.istartswith("a", diacritic_insensitive=True).format == 'title BEGINSWITH[cd] "a"'
    assert title.iendswith("a").format == 'title ENDSWITH[c] "a"'
    assert title.ilike("*a?").format == 'title LIKE[c] "*a?"'
    assert title.imatches("a+").format == 'title MATCHES[c] "a+"'
    assert title.iequals("É", diacritic_insensitive=True).evaluate({"title": "e"})
    assert not title.iequals("É").evaluate({"title": "e"})
    assert title.iequals("É").evaluate({"title": "é"})


def test_none_in_lists_is_null(ctx: Context) -> None:
    _, episode, _ = classes(ctx)
    assert ctx.count(episode, episode.played.in_([True, None])) == 4
    assert ctx.count(episode, episode.played.in_([None])) == 1
    assert ctx.count(episode, episode.played.not_in([True])) == 3
    assert ctx.count(episode, episode.played.not_in([True, None])) == 2
    assert ctx.count(episode, episode.played.in_([])) == 0
    assert ctx.count(episode, episode.show.in_(ctx.fetch("Show", "title != 'S0'"))) == 5
    assert ctx.count(episode, episode.show.not_in(ctx.fetch("Show", "title != 'S0'"))) == 1


def test_sums_over_members_are_columns_conditions_and_groups(ctx: Context) -> None:
    show, episode, _ = classes(ctx)
    rows = ctx.fetch_rows(show, columns=[show.title, show.episodes.sum("plays"), "episodes.@count"], sort="title")
    assert rows[2] == {"title": "S2", "episodes.@sum.plays": 36, "episodes.@count": 3}
    assert ctx.fetch_rows(show, columns=["title"], sort=-show.episodes.sum(episode.plays), limit=1) == [{"title": "S2"}]
    assert ctx.count(show, show.episodes.sum("plays") > 10) == 2
    rows = ctx.fetch_rows(
        show, columns=["episodes.@count", {"n": "count:(title)"}], group_by=show.episodes.count(), sort="-n"
    )
    assert [row["n"] for row in rows] == [1, 1, 1]
    assert ctx.count(show, by=show.episodes.count()) == {1: 1, 2: 1, 3: 1}
    assert ctx.sum(show, "rating", by="episodes.@count") == {1: 0.0, 2: 1.0, 3: 2.0}
    assert ctx.max(show, show.rating, by=["live", "episodes.@count"]) == {
        (False, 2): 1.0,
        (True, 1): 0.0,
        (True, 3): 2.0,
    }
    assert ctx.sum(show, show.episodes.sum("plays"), by=show.live) == {False: 12, True: 36}


def test_matching_members_are_counted_and_added_up(ctx: Context) -> None:
    show, episode, _ = classes(ctx)
    chosen = show.episodes.matching(~episode.played)
    columns = {"count": chosen.count(), "sum": chosen.sum(episode.plays), "most": chosen.max("plays")}
    rows = ctx.fetch_rows(show, columns=["title", columns], sort="title")
    assert rows[0] == {"title": "S0", "count": 0, "sum": 0, "most": None}
    assert rows[2] == {"title": "S2", "count": 2, "sum": 34, "most": 22}
    assert [each.title for each in ctx.fetch(show, chosen.avg("plays") > 11)] == ["S2"]
    assert [each.title for each in ctx.fetch(show, chosen.min("plays") == 11)] == ["S1"]


def test_key_paths_in_dictionaries(ctx: Context) -> None:
    _, episode, _ = classes(ctx)
    item = ctx.fetch(episode, "show.title == 'S1'", sort="title")[0]
    item.tags = {ctx.insert("Tag", name="x")}
    wanted = {"title": "É0", "show.title": "S1", "tags.name": ["x"], "show.episodes.@count": 2}
    names = ("title", "show.title", "tags.name", episode.show.episodes.count())
    assert item.to_dict(*names) == wanted
    assert ctx.fetch(episode, "SELF == %@", item).to_dicts(*names) == [wanted]
    assert sorted(item.to_dict("show.episodes.title")["show.episodes.title"]) == ["É0", "É1"]
    assert item.to_dict(episode.plays) == {"plays": 1}
    assert ctx.fetch(episode, "SELF == %@", item).column("tags.name") == [["x"]]
    with pytest.raises(ValueError, match='Show has no property "titel"; did you mean "title"'):
        item.to_dict("show.titel")
    ctx.rollback()
