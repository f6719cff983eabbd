"""A podcast library: imports a feed, searches it, edits it, and exports it. Each step prints its result and its time.

    python podcasts.py         # in a temporary folder
    python podcasts.py FOLDER  # keeps podcasts.sqlite, podcasts.jsonl and podcasts.html in a new folder

The program checks each result: most are also computed from the JSON of the feed.
"""

from __future__ import annotations

import html
import importlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import corestone
from corestone import Container, Context, Difference, FetchRequest, HistoryChangeKind, UndoManager, ValidationError
from feed import change_feed, make_feed
from model import ENTITIES, Chapter, Download, Episode, Kind, Listen, Person, Playlist, PlaylistItem, Show, Tag

SHOWS, EPISODES = 20, 50
Feed = list[dict[str, Any]]


def count_records(value: Any) -> int:
    """Returns the number of nested records of a feed; the two numbers of a rating are not a record."""
    if isinstance(value, list):
        return sum(map(count_records, value))
    if not isinstance(value, dict) or "stars" in value:
        return 0
    return 1 + sum(map(count_records, value.values()))


def import_feed(library: Container, feed: Feed) -> str:
    """Imports the first version of the feed, in one transaction."""
    library.upsert(Show, feed)
    assert library.count(Show) == SHOWS and library.count(Episode) == SHOWS * EPISODES
    names = {person["name"] for show in feed for episode in show["episodes"] for person in episode["persons"]}
    assert library.count(Person) == len(names)
    assert all(show.episode_count == EPISODES for show in library.fetch(Show))
    counts = ", ".join(f"{library.count(entity)} {entity.__name__}" for entity in (Show, Episode, Person, Tag, Chapter))
    return f"{count_records(feed)} records became {counts}"


def search(ctx: Context, feed: Feed) -> str:
    """Finds episodes by text, date, Boolean and relationship; Python computes the same from the feed."""
    episodes = [(show, episode) for show in feed for episode in show["episodes"]]

    cafe = ctx.count(Episode, Episode.title.icontains("cafe", diacritic_insensitive=True))
    assert cafe == sum("Café" in episode["title"] for _, episode in episodes) > 0
    assert ctx.count(Episode, Episode.title.contains("cafe")) == 0
    assert ctx.count(Episode, "title CONTAINS[cd] %@", "eclair") == ctx.count(Episode, Episode.title.contains("ÉCLAIR"))

    since, until = datetime(2023, 3, 1, tzinfo=timezone.utc), datetime(2023, 4, 1, tzinfo=timezone.utc)
    march = (Episode.published >= since) & (Episode.published < until)
    assert ctx.count(Episode, march) == sum(episode["published"].startswith("2023-03") for _, episode in episodes)
    assert ctx.count(Episode, march) == ctx.count(Episode, "year:(published) == 2023 AND month:(published) == 3")

    clean = ctx.count(Episode, ~Episode.explicit & (Episode.kind == Kind.FULL) & Episode.season.is_not_null())
    assert clean == sum(
        not episode["explicit"] and episode["kind"] == "full" and episode["season"] is not None
        for _, episode in episodes
    )

    french = (Episode.show.language == "fr") & Episode.persons.any(Person.name.begins_with("Ada"))
    found = ctx.fetch(Episode, french, sort=[Episode.show.title, -Episode.published], prefetch=Episode.show)
    assert len(found) == sum(
        show["language"] == "fr" and any(each["name"].startswith("Ada") for each in episode["persons"])
        for show, episode in episodes
    )
    assert [each.show.title for each in found] == sorted(each.show.title for each in found)
    long = ctx.fetch(Show, Show.episodes.matching(Episode.seconds > 5000).count() >= 5, sort="title")
    assert len(long) == sum(sum(each["seconds"] > 5000 for each in show["episodes"]) >= 5 for show in feed)
    good = ctx.count(Show, "rating.stars >= %f", 4.0)
    assert good == sum(show["rating"]["stars"] >= 4 for show in feed)
    return f"{cafe} with a café, {ctx.count(Episode, march)} in March 2023, {len(found)} French with an Ada"


def months(ctx: Context, feed: Feed) -> list[dict[str, Any]]:
    """Returns the number of episodes, their length, price and average length, for each month."""
    rows = ctx.fetch_rows(
        Episode,
        columns=[
            {"month": "startOfMonth:(published)"},
            {"episodes": "count:(self)"},
            {"hours": "sum:(seconds) / 3600.0"},
            {"price": "sum:(price)"},
            {"minutes": "average:(seconds) / 60"},
        ],
        group_by="month",
        sort="month",
    )
    lengths: dict[str, list[int]] = {}
    prices: dict[str, Decimal] = {}
    for episode in (episode for show in feed for episode in show["episodes"]):
        month = episode["published"][:7]
        lengths.setdefault(month, []).append(episode["seconds"])
        prices[month] = prices.get(month, Decimal(0)) + Decimal(episode["price"])
    assert [f"{row['month']:%Y-%m}" for row in rows] == sorted(lengths)
    for row in rows:
        month = f"{row['month']:%Y-%m}"
        assert row["episodes"] == len(lengths[month]) and row["price"] == prices[month]
        assert abs(row["hours"] - sum(lengths[month]) / 3600) < 1e-9
        assert abs(row["minutes"] - sum(lengths[month]) / len(lengths[month]) / 60) < 1e-9
    return rows


def edit(ctx: Context) -> str:
    """Makes a playlist, undoes and redoes it, and saves it."""
    ctx.undo_manager = UndoManager()
    with ctx.undo_manager.group("New Playlist"):
        playlist = ctx.insert(Playlist, name="Evening")
        for episode in ctx.fetch(Episode, sort="-published", limit=3):
            ctx.insert(PlaylistItem, playlist=playlist, episode=episode)
            episode.listen(episode.seconds)
    assert ctx.count(PlaylistItem) == 3 and ctx.count(Episode, Episode.played) == 3
    title = ctx.undo_manager.undo_menu_item_title
    assert ctx.undo() and not ctx.has_changes and ctx.count(Playlist) == ctx.count(Listen) == 0
    assert ctx.redo() and [item.episode.played for item in playlist.items] == [True] * 3
    ctx.save()
    with ctx.undo_manager.group("Move Item"):
        playlist.items.insert(0, playlist.items.pop())
    moved = [item.episode.guid for item in playlist.items]
    ctx.save()
    assert ctx.undo() and [item.episode.guid for item in playlist.items] == moved[1:] + moved[:1]
    ctx.save()
    ctx.undo_manager = None
    return f'"{title}", redone, saved, moved an item, and undone after the save'


def validate(ctx: Context) -> str:
    """Shows the validation errors of three wrong objects."""
    show = ctx.first(Show)
    ctx.insert(Episode, guid="x", title="  ", published=datetime.now(timezone.utc), seconds=60, show=show)
    ctx.insert(Episode, guid="y", title="Y", seconds=0, show=show)
    ctx.insert(Show, feed="z", title="Z", language="English")
    try:
        ctx.save()
    except ValidationError as error:
        details = error.details
    else:
        raise AssertionError("invalid objects were saved")
    ctx.rollback()
    assert not ctx.has_changes
    keys = sorted(f"{each.entity}.{each.key}" for each in details)
    assert keys == ["Episode.published", "Episode.seconds", "Episode.title", "Show.language"], keys
    return "\n".join(str(each) for each in details)


def import_in_background(library: Container, feed: Feed) -> str:
    """Imports the changed feed on a background queue, while the main thread reads and a live query follows."""
    view = library.view_context
    view.automatically_merges = True
    news = FetchRequest(
        Episode, Episode.title.ends_with("(again)") | (Episode.published > latest(view)), sort="-published"
    )
    differences: list[Difference[Episode]] = []
    reads = 0
    with view.observe(news, lambda ctx, difference: differences.append(difference)):
        future = library.perform_background_task(load_feed, feed)
        while not future.done():
            corestone.main_queue.drain(timeout=0.01)
            assert view.count(Episode) in (SHOWS * EPISODES, SHOWS * (EPISODES + 1)), "a part of the import is visible"
            reads += 1
        inserted, matched = future.result()
        view.process_pending_changes()
        newest = view.fetch(Episode, sort="-published", limit=1)[0]
        newest.listen(newest.seconds)
        view.save()
    first, *later = differences
    assert len(first.snapshot) == 0
    appeared = sum(len(each.insertions) for each in later)
    assert appeared == view.count(Episode, news.predicate) > SHOWS
    assert sum(len(each.updates) for each in later) == 1
    assert view.count(Episode) == SHOWS * (EPISODES + 1)
    return f"{inserted} inserted, {matched} found, during {reads} reads; the live query reported {appeared} insertions"


def load_feed(ctx: Context, feed: Feed) -> tuple[int, int]:
    ctx.transaction_author = "importer"
    counts = corestone.load(ctx, feed, Show, upsert=True)
    ctx.save()
    return counts.inserted, counts.updated


def latest(ctx: Context) -> datetime:
    value = ctx.max(Episode, Episode.published)
    assert isinstance(value, datetime)
    return value


def read_history(library: Container) -> str:
    """Reads the transactions of the importer."""
    lines = []
    for transaction in library.coordinator.history("author == %@", "importer"):
        kinds = [change.kind for change in transaction.changes]
        inserted = kinds.count(HistoryChangeKind.INSERT)
        renamed = [each for each in transaction.changes if each.updated_properties == ["title"]]
        assert inserted >= SHOWS and len(renamed) == SHOWS
        lines.append(f"{transaction.author}: {inserted} insertions, {len(kinds) - inserted} updates")
    assert len(lines) == 1
    return lines[0]


def use_arrow(ctx: Context) -> str:
    """Exports episodes to pyarrow, computes there, and imports downloads from a table."""
    pyarrow: Any
    try:
        pyarrow = importlib.import_module("pyarrow")
    except ImportError:
        return "pyarrow is not installed"
    is_long = Episode.seconds > 3600
    table = ctx.arrow(Episode, is_long, columns=["guid", "seconds", "show.title"], sort="published").to_arrow()
    seconds, guids = table["seconds"].to_pylist(), table["guid"].to_pylist()
    assert table.num_rows == ctx.count(Episode, is_long) and sum(seconds) == ctx.sum(Episode, Episode.seconds, is_long)
    downloads = pyarrow.table(
        {
            "path": [f"downloads/{guid}.mp3" for guid in guids],
            "size": [16_000 * each for each in seconds],
            "finished": [datetime(2026, 1, 1, tzinfo=timezone.utc)] * len(guids),
            "Episode": guids,
        }
    )
    columns = {"Episode": "episode.guid"}
    assert ctx.upsert_arrow(Download, downloads, columns=columns) == (len(guids), 0)
    ctx.save()
    assert ctx.upsert_arrow(Download, downloads, columns=columns) == (0, len(guids)) and not ctx.has_changes
    assert ctx.sum(Download, Download.size) == 16_000 * sum(seconds)
    return f"{table.num_rows} rows out, {len(guids)} downloads in"


def copy(library: Container) -> str:
    """Dumps all objects, loads them into another store, and compares the stores."""
    number = corestone.dump(library, "podcasts.jsonl")
    with Container(ENTITIES, "copy.sqlite") as other:
        counts = corestone.load(other, "podcasts.jsonl")
        assert (counts.inserted, counts.updated) == (number, 0)
        comparison = corestone.compare(library.coordinator, other.coordinator)
        assert comparison.objects == number and comparison.differences == 0, comparison.details
    return f"{number} objects, {comparison.equal} equal values in both stores"


def write_page(ctx: Context, rows: Feed) -> str:
    """Writes a page with the tables that a notebook would show."""
    shows = ctx.fetch(Show, sort="title")
    tables: list[Any] = [shows, rows]
    body = "".join(f"<h2>{title}</h2>{each._repr_html_()}" for title, each in zip(("Shows", "Months"), tables))
    page = f"<!doctype html><meta charset=utf-8><title>Podcasts</title><h1>Podcasts</h1>{body}"
    Path("podcasts.html").write_text(page, encoding="utf-8")
    assert page.count("<table") == 2 and all(html.escape(show.title) in page for show in shows)
    return "podcasts.html"


def step(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function, and prints the name of the step, its seconds and its result."""
    start = time.perf_counter()
    result = function(*arguments)
    seconds = time.perf_counter() - start
    shown = result if isinstance(result, str) else f"{len(result)} rows"
    print(f"{name:<10} {seconds:5.2f} s  " + shown.replace("\n", "\n" + " " * 20))
    return result


def run() -> None:
    text = make_feed(SHOWS, EPISODES)
    feed: Feed = json.loads(text)
    changed: Feed = json.loads(change_feed(text))
    with Container(ENTITIES, "podcasts.sqlite", history=True) as library:
        ctx = library.view_context
        step("import", import_feed, library, feed)
        step("search", search, ctx, feed)
        rows = step("months", months, ctx, feed)
        step("edit", edit, ctx)
        step("validate", validate, ctx)
        step("background", import_in_background, library, changed)
        step("history", read_history, library)
        step("arrow", use_arrow, ctx)
        step("copy", copy, library)
        step("page", write_page, ctx, rows)


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        if len(sys.argv) > 1:
            os.mkdir(sys.argv[1])
        os.chdir(sys.argv[1] if len(sys.argv) > 1 else scratch)
        run()
        os.chdir("/")


if __name__ == "__main__":
    main()
