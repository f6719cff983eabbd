"""A feed of podcasts as nested JSON. The same arguments always give the same text."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta, timezone
from typing import Any

Record = dict[str, Any]

WORDS = [
    "Café",
    "Zürich",
    "naïve",
    "Brontë",
    "river",
    "Night",
    "signal",
    "garden",
    "ÉCLAIR",
    "Kraków",
    "engine",
    "mountain",
]
TOPICS = ["news", "science", "history", "music", "sport", "cooking", "travel", "maths"]
NAMES = ["Ada", "Grace", "Zoë", "José", "Linus", "Søren", "Chloé", "Barbara", "Renée", "Edsger"]
SURNAMES = ["Lovelace", "Hopper", "Núñez", "Müller", "Dijkstra", "Liskov", "Ångström", "Byron"]
START = datetime(2023, 1, 2, 6, 0, tzinfo=timezone.utc)


def make_feed(shows: int, episodes: int) -> str:
    """Returns the feed: shows with tags and episodes, the episodes with persons, tags and chapters."""
    chance = random.Random(20260101)
    return json.dumps([make_show(chance, number, episodes) for number in range(shows)], ensure_ascii=False)


def make_show(chance: random.Random, number: int, episodes: int) -> Record:
    return {
        "feed": f"https://example.org/feeds/{number}",
        "title": f"{chance.choice(WORDS)} {chance.choice(WORDS)} {number}",
        "language": chance.choice(["en", "fr", "de", "pl"]),
        "rating": {"stars": chance.randint(20, 50) / 10, "votes": chance.randint(1, 900)},
        "tags": [{"name": name} for name in chance.sample(TOPICS, 2)],
        "episodes": [make_episode(chance, number, each) for each in range(episodes)],
    }


def make_episode(chance: random.Random, show: int, number: int) -> Record:
    published = START + timedelta(days=7 * number + show % 7, minutes=chance.randint(0, 700))
    seconds = chance.randint(300, 5400)
    return {
        "guid": f"{show}-{number}",
        "title": " ".join(chance.choice(WORDS) for _ in range(3)),
        "published": published.isoformat(),
        "seconds": seconds,
        "price": f"{chance.randint(0, 399) / 100:.2f}",
        "explicit": chance.random() < 0.1,
        "season": None if chance.random() < 0.2 else number // 20 + 1,
        "kind": chance.choice(["full", "full", "full", "trailer", "bonus"]),
        "persons": [{"name": name} for name in sorted({make_name(chance), make_name(chance)})],
        "tags": [{"name": chance.choice(TOPICS)}],
        "chapters": [{"start": seconds * part // 3, "title": f"Part {part + 1}"} for part in range(number % 3)],
    }


def make_name(chance: random.Random) -> str:
    return f"{chance.choice(NAMES)} {chance.choice(SURNAMES)}"


def change_feed(text: str) -> str:
    """Returns a later version: each show has a changed title of its first episode, and one more episode."""
    chance = random.Random(20270101)
    shows: list[Record] = json.loads(text)
    for number, show in enumerate(shows):
        first = show["episodes"][0]
        first["title"] = f"{first['title']} (again)"
        show["episodes"].append(make_episode(chance, number, len(show["episodes"])))
    return json.dumps(shows, ensure_ascii=False)
