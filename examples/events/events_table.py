"""The table of the calendar: sections of rows, changed by what a results controller tells, and by nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timezone
from typing import Any

from corestone import (
    CorestoneError,
    FetchedResultsController,
    IndexPath,
    ObjectChange,
    ResultsChangeKind,
    SectionChange,
)

INSERT, DELETE, MOVE, UPDATE = ResultsChangeKind


def day_of(event: Any) -> str:
    """The section of an event."""
    return f"{event.date.astimezone(timezone.utc):%Y-%m-%d}"


def cell(event: Any) -> str:
    """What a row shows of an event."""
    notes = "" if event.notes is None else f" ({event.notes})"
    return f"{event.date.astimezone(timezone.utc):%H:%M}  {event.title}{notes}"


@dataclass
class Row:
    event: Any
    text: str  # the cell, as it was drawn last
    mark: str = " "  # what the last change did: "+" came, ">" moved, "*" changed


@dataclass
class Section:
    day: str
    rows: list[Row] = field(default_factory=list)


class TableModel:
    """The table as it is shown: sections of rows, changed only by what the controller tells it as its delegate.

    It never fetches, and looks at the controller's results only when these were fetched anew. What it is told of one
    event it keeps until did_change, and carries out by the rules of table views: updates, then deletions and the
    beginnings of moves, by former places; sections; insertions and the ends of moves by new places.
    """

    def __init__(self) -> None:
        self.sections: list[Section] = []
        self.is_stale = True  # the screen shows something else
        self.problem = ""  # what following the results failed with
        self._section_changes: list[SectionChange] = []
        self._changes: list[ObjectChange] = []

    def load(self, controller: FetchedResultsController) -> None:
        """Fills the table with what the controller has fetched."""
        self.sections = [
            Section(section.name, [Row(event, cell(event)) for event in section.objects])
            for section in controller.sections or []
        ]
        self.is_stale = True

    def rows(self) -> list[Row]:
        return [row for section in self.sections for row in section.rows]

    # What the controller tells.

    def will_change(self, _: FetchedResultsController) -> None:
        for row in self.rows():
            row.mark = " "

    def did_change_section(self, _: FetchedResultsController, change: SectionChange) -> None:
        self._section_changes.append(change)

    def did_change_object(self, _: FetchedResultsController, change: ObjectChange) -> None:
        self._changes.append(change)

    def did_change(self, _: FetchedResultsController) -> None:
        changes, self._changes = self._changes, []
        sections, self._section_changes = self._section_changes, []
        for change in changes:
            if change.kind is UPDATE:
                section, row = place(change.path)
                self.sections[section].rows[row] = Row(change.object, cell(change.object), "*")
        # What leaves the former table, from its end on, so that the places before it stay what they are.
        for section, row in sorted((place(each.path) for each in changes if each.kind in (DELETE, MOVE)), reverse=True):
            del self.sections[section].rows[row]
        for index in sorted((each.index for each in sections if each.kind is DELETE), reverse=True):
            assert not self.sections[index].rows
            del self.sections[index]
        # What comes to the new one, from its beginning on.
        for come in sorted((each for each in sections if each.kind is INSERT), key=lambda each: each.index):
            assert come.index <= len(self.sections)
            self.sections.insert(come.index, Section(come.name))
        for change in sorted(
            (each for each in changes if each.kind in (INSERT, MOVE)), key=lambda each: place(each.new_path)
        ):
            section, row = place(change.new_path)
            assert row <= len(self.sections[section].rows)
            mark = "+" if change.kind is INSERT else ">"
            self.sections[section].rows.insert(row, Row(change.object, cell(change.object), mark))
        self.is_stale = True

    def did_reset(self, controller: FetchedResultsController, error: CorestoneError | None) -> None:
        self.problem = "" if error is None else f"{error.message} "
        self.sections, self.is_stale = [], True
        try:
            controller.perform_fetch()
            self.load(controller)
        except CorestoneError as failure:
            self.problem += failure.message


def place(path: IndexPath | None) -> IndexPath:
    assert path is not None
    return path
