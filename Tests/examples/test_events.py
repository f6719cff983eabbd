"""The calendar, in Python and in C: what a user at the terminal types and sees. The programs compare their table,
which only the controller's delegate changes, with a fetch after every command."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import corestone
import pytest
from programs import ROOT, Terminal, compiled

EVENTS = ROOT / "examples" / "events"
PAIRS = [("python", "c"), ("c", "python")]


class CalendarTerminal(Terminal):
    PROMPT = r"\n> [^\n]*$"
    QUIT = "\x15quit!\n"  # in the place of what was typed

    count = 0

    @property
    def days(self) -> list[list[str]]:
        """The sections: a day, and its rows with their marks, numbers and texts."""
        blocks = self.screen.split("\n\n")[1:]
        return [block.strip("\n").split("\n") for block in blocks if re.match(r"\n?\w+ \d\d \w+ \d{4}\n", block)]

    def do(self, *lines: str) -> list[list[str]]:
        """Types lines, and waits until all of them are carried out: the days."""
        self.count += 1
        before = len(self.shown)
        self.press("".join(line + "\n" for line in [*lines, f"done{self.count}"]))
        # What another process saves takes the place of this message, and may do so before it is read here.
        self.wait_for(rf'no command "done{self.count}"; "help" lists them\n\n> $', since=before)
        return self.days


@pytest.fixture(scope="session")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(EVENTS, tmp_path_factory.mktemp("events") / "events")


@pytest.fixture
def open_calendar(in_c: str) -> Iterator[Callable[..., CalendarTerminal]]:
    opened: list[CalendarTerminal] = []

    def start(language: str, store: Path, checks: bool = True) -> CalendarTerminal:
        command = [in_c] if language == "c" else [sys.executable, str(EVENTS / "events.py")]
        opened.append(CalendarTerminal([*command, str(store)], {"EVENTS_CHECK": "1"} if checks else {}))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.leave()


@pytest.fixture(params=["python", "c"])
def calendar(
    request: pytest.FixtureRequest, open_calendar: Callable[..., CalendarTerminal], tmp_path: Path
) -> CalendarTerminal:
    return open_calendar(request.param, tmp_path / "week.store")


@pytest.fixture(params=PAIRS, ids="-".join)
def pair(
    request: pytest.FixtureRequest, open_calendar: Callable[..., CalendarTerminal], tmp_path: Path
) -> tuple[CalendarTerminal, CalendarTerminal]:
    first, second = request.param
    return open_calendar(first, tmp_path / "week.store"), open_calendar(second, tmp_path / "week.store")


WEEK = [
    'add Dentist 2026-11-24 9:30 "bring the card"',
    "add Concert 2026-11-26 20:00",
    "add Lunch 2026-11-24 12:00",
]


def test_events_are_shown_by_day(calendar: CalendarTerminal) -> None:
    assert "No events." in calendar.screen
    assert calendar.do(*WEEK) == [
        ["Tuesday 24 November 2026", "   1  09:30  Dentist (bring the card)", " + 2  12:00  Lunch"],
        ["Thursday 26 November 2026", "   3  20:00  Concert"],
    ]
    assert "(unsaved changes)  undo: add Lunch\n" in calendar.screen
    calendar.type("save", r"Saved\.")
    assert "(saved)  undo: add Lunch\n" in calendar.screen


def test_rows_and_days_are_added_and_removed(calendar: CalendarTerminal) -> None:
    calendar.do(*WEEK)
    assert calendar.do("move 3 2026-11-24 10:00") == [
        [
            "Tuesday 24 November 2026",
            "   1  09:30  Dentist (bring the card)",
            " > 2  10:00  Concert",
            "   3  12:00  Lunch",
        ]
    ]
    # A new day before all others: the row keeps its index, so the delegate receives a deletion and an insertion.
    assert calendar.do("move 1 2026-11-23") == [
        ["Monday 23 November 2026", " + 1  09:30  Dentist (bring the card)"],
        ["Tuesday 24 November 2026", "   2  10:00  Concert", "   3  12:00  Lunch"],
    ]
    assert calendar.do("title 2 Opera", "notes 1") == [
        ["Monday 23 November 2026", " * 1  09:30  Dentist"],
        ["Tuesday 24 November 2026", "   2  10:00  Opera", "   3  12:00  Lunch"],
    ]
    # The only event of the first day goes to the end of the last one, which is then the first.
    assert calendar.do("move 1 2026-11-24 23:59") == [
        ["Tuesday 24 November 2026", "   1  10:00  Opera", "   2  12:00  Lunch", " > 3  23:59  Dentist"]
    ]
    assert calendar.do("delete 1", "delete 1") == [["Tuesday 24 November 2026", "   1  23:59  Dentist"]]
    assert calendar.do("delete 1") == []
    assert "No events." in calendar.screen


def test_undo_and_redo_update_the_table(calendar: CalendarTerminal) -> None:
    calendar.do(*WEEK)
    calendar.type("save", r"Saved\.")
    before = calendar.do()
    calendar.do("move 3 2026-11-23 8:00", "delete 2")
    assert calendar.do("title 1 Opera") == [
        ["Monday 23 November 2026", " * 1  08:00  Opera"],
        ["Tuesday 24 November 2026", "   2  12:00  Lunch"],
    ]
    calendar.type("undo", r"\n\nundo: title Opera\n")
    calendar.type("undo", r"\n\nundo: delete Dentist\n")
    calendar.type("undo", r"\n\nundo: move Concert\n")
    assert "(saved)  undo: add Lunch  redo: move Concert\n" in calendar.screen
    assert [[row[5:] for row in day[1:]] for day in calendar.do()] == [[row[5:] for row in day[1:]] for day in before]
    calendar.type("redo", r"\n\nredo: move Concert\n")
    calendar.type("redo", r"\n\nredo: delete Dentist\n")
    calendar.type("redo", r"\n\nredo: title Opera\n")
    calendar.type("redo", r"\n\nnothing to redo\n")
    assert calendar.do("undo", "undo", "undo", "undo", "undo", "undo") == [], "undo works across a save"
    calendar.type("undo", r"\n\nnothing to undo\n")
    assert len(calendar.do(*["redo"] * 6)) == 2
    calendar.type("revert", "All unsaved changes are gone")
    assert [[row[5:] for row in day[1:]] for day in calendar.do()] == [[row[5:] for row in day[1:]] for day in before]


def test_table_is_correct_after_a_reset(calendar: CalendarTerminal) -> None:
    calendar.do(*WEEK)
    calendar.type("save", r"Saved\.")
    calendar.do("delete 1", "add Cinema 2026-11-24 21:00")
    assert calendar.do("reload") == [
        ["Tuesday 24 November 2026", "   1  09:30  Dentist (bring the card)", "   2  12:00  Lunch"],
        ["Thursday 26 November 2026", "   3  20:00  Concert"],
    ]
    assert calendar.do("delete 2")[0][1:] == ["   1  09:30  Dentist (bring the card)"]
    calendar.type("check", "The table equals a fetch")


def test_search_filters_the_table(calendar: CalendarTerminal) -> None:
    calendar.do(*WEEK)
    assert calendar.do("search CARD") == [["Tuesday 24 November 2026", "   1  09:30  Dentist (bring the card)"]]
    calendar.wait_for('with "CARD"')
    assert calendar.do('add "Card game" 2026-11-25 19:00', "add Poker 2026-11-25 18:00") == [
        ["Tuesday 24 November 2026", "   1  09:30  Dentist (bring the card)"],
        ["Wednesday 25 November 2026", " + 2  19:00  Card game"],
    ]
    assert calendar.do("notes 1") == [["Wednesday 25 November 2026", "   1  19:00  Card game"]]
    assert len(calendar.do("undo")) == 2
    assert [len(day) for day in calendar.do("search")] == [3, 3, 2]


def test_validation_errors_are_shown_as_text(calendar: CalendarTerminal) -> None:
    calendar.do(*WEEK, 'title 2 ""')
    calendar.type("save", r"Not saved:\n  2: Event\.title")
    calendar.do(f"title 3 {'x' * 81}")
    calendar.type("save", r"Not saved:\n  [23]: Event\.title.*\n  [23]: Event\.title")
    calendar.do("undo", "undo")
    calendar.type("save", r"Saved\.")


def test_saves_of_another_program_appear(pair: tuple[CalendarTerminal, CalendarTerminal]) -> None:
    ann, ben = pair
    ann.do(*WEEK)
    ann.type("save", r"Saved\.")
    ben.wait_for(r"(?s)3  20:00  Concert.*Another program saved")
    ann.do("move 1 2026-11-26 18:00")
    ann.type("save", r"Saved\.")
    ben.wait_for(r" > 2  18:00  Dentist")
    assert ben.days == [
        ["Tuesday 24 November 2026", "   1  12:00  Lunch"],
        ["Thursday 26 November 2026", " > 2  18:00  Dentist (bring the card)", "   3  20:00  Concert"],
    ]
    # The typed text and unsaved changes stay, while the other program empties a day.
    ben.do("title 3 Opera", "add Cinema 2026-11-27 21:00")
    ben.press("notes 3 ba")
    ann.do("move 1 2026-11-25", "title 3 Ballet", "delete 2")
    ann.type("save", r"Saved\.")
    ben.wait_for(r"(?s)Wednesday.*Another program saved.*> notes 3 ba$")
    assert ben.days == [
        ["Wednesday 25 November 2026", " + 1  12:00  Lunch"],
        ["Thursday 26 November 2026", " * 2  20:00  Opera"],
        ["Friday 27 November 2026", "   3  21:00  Cinema"],
    ]
    ben.type("r", r"21:00  Cinema \(bar\)")
    ben.type("check", "The table equals a fetch")
    ben.type("save", r"Saved\.")
    ann.wait_for(r"(?s)2  20:00  Opera.*3  21:00  Cinema \(bar\)")
    ann.type("check", "The table equals a fetch")
    assert [[row[5:] for row in day] for day in ann.days] == [[row[5:] for row in day] for day in ben.days]


def test_table_follows_a_busy_process(open_calendar: Callable[..., CalendarTerminal], tmp_path: Path) -> None:
    """Another process changes many events at once, again and again, while unsaved edits are made here."""
    store, chance = tmp_path / "week.store", random.Random(7)
    terminals = [open_calendar(language, store, checks=False) for language in ("python", "c")]
    terminals[0].do(*WEEK, "save")

    def day() -> datetime:
        return datetime(2026, 11, chance.randint(20, 26), chance.randint(8, 11), tzinfo=timezone.utc)

    with corestone.Container(corestone.Model.load(EVENTS / "Events.xcdatamodeld"), store) as other:
        ctx = other.context()
        for round_ in range(100):
            for _ in range(chance.randint(1, 6)):
                events, what = list(ctx.fetch("Event", sort=["date", "title"])), chance.random()
                if what < 0.4 or len(events) < 5:
                    ctx.insert("Event", title=chance.choice("ABCD"), date=day())
                elif what < 0.6:
                    ctx.delete(chance.choice(events))
                elif what < 0.85:
                    chance.choice(events).date = day()
                else:
                    chance.choice(events).title = chance.choice("ABCD")
            ctx.save()
            if round_ == 50:
                for terminal in terminals:
                    terminal.do("move 1 2026-11-19", "title 2 Mine", "delete 3", "add X 2026-11-27 1:00")
        ctx.batch_insert("Event", [{"title": "The last ones", "date": day()} for _ in range(5)])
    for terminal in terminals:
        terminal.wait_for("The last ones")
        terminal.type("check", "The table equals a fetch")
        terminal.type("revert", "All unsaved changes are gone")
        terminal.type("check", "The table equals a fetch")
    here, there = ([[row[5:] for row in day] for day in terminal.days] for terminal in terminals)
    assert here == there != []


def test_answer_is_shown_while_another_process_saves(
    open_calendar: Callable[..., CalendarTerminal], tmp_path: Path
) -> None:
    """Another process saves while the program is busy, so that a command and a change wait together. Python's program
    reads many keys at once; that in C draws after each line."""
    store = tmp_path / "week.store"
    start = datetime(2026, 11, 24, tzinfo=timezone.utc)
    with corestone.Container(corestone.Model.load(EVENTS / "Events.xcdatamodeld"), store) as other:
        ctx = other.context()
        ctx.batch_insert("Event", [{"title": f"{n}", "date": start + timedelta(minutes=n)} for n in range(500)])
        calendar = open_calendar("python", store, checks=False)
        for round_ in range(3):
            before = len(calendar.shown)
            # The first read ends within these lines, which keep the program busy; the next one finds "fly".
            calendar.press("check\n" * 200 + f"fly{round_}\n")
            ctx.insert("Event", title="Another", date=start)
            ctx.save()
            calendar.wait_for(f'no command "fly{round_}"', since=before)


def test_input_errors_are_reported(calendar: CalendarTerminal) -> None:
    calendar.type("fly", 'no command "fly"')
    calendar.type("add Tea", "wrong arguments for")
    calendar.type("add Tea 2026-02-30 9:00", "is not a date and time")
    calendar.type("add Tea 2026-02-03 late", "is not a date and time")
    calendar.type("move 7 2026-02-03", "there is no event 7")
    calendar.type("delete x", "there is no event x")
    calendar.type("redo", r"\n\nnothing to redo\n")
    calendar.type("help", "moves it to another day")
    calendar.do("add Tea 2026-02-03 9:00")
    calendar.type("quit", "there are unsaved changes")


def edits(seed: int) -> list[str]:
    """Commands of a user who seldom saves."""
    chance = random.Random(seed)
    titles = ["Tea", "Bath", "Ärger", '"Long walk"']

    def day() -> str:
        return f"2026-11-{chance.randint(20, 25)} {chance.randint(8, 10)}:{chance.choice(['00', '30'])}"

    def edit() -> str:
        number, title = chance.randint(1, 12), chance.choice(titles)
        return chance.choice([
            f"add {title} {day()}", f"add {title} {day()} {title}", f"title {number} {title}",
            f"notes {number} {title}", f"move {number} {day()}", f"move {number} {day()}", f"delete {number}",
            "undo", "undo", "redo", "save", "revert",
        ])  # fmt: skip

    return [f"add {chance.choice(titles)} {day()}" for _ in range(12)] + [edit() for _ in range(60)]


@pytest.mark.parametrize("seed", range(2))
def test_python_and_c_programs_behave_alike(
    seed: int, open_calendar: Callable[..., CalendarTerminal], tmp_path: Path
) -> None:
    """Random commands lead to the same screens, with tables driven by the delegate alone, and to the same stores."""
    stores = {language: tmp_path / language / "week.store" for language in ("python", "c")}
    for store in stores.values():
        store.parent.mkdir()
    terminals = {language: open_calendar(language, store) for language, store in stores.items()}
    for command in [*edits(seed), "search t", *edits(seed + 100), "save", "search", "reload"]:
        for terminal in terminals.values():
            terminal.do(command)
        assert terminals["c"].screen == terminals["python"].screen, command
    assert len(terminals["c"].days) > 1
    rows = []
    for store in stores.values():
        with corestone.open(store) as opened:
            events = opened.fetch("Event", sort=["date", "title"])
            rows.append([(event.date, event.title, event.notes) for event in events])
    assert rows[0] == rows[1] != []
