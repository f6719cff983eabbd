"""The table of the calendar: sections of rows, which the calls of a results controller's delegate update."""

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
    """Returns the section name of an event: its day."""
    return f"{event.date.astimezone(timezone.utc):%Y-%m-%d}"


def cell(event: Any) -> str:
    """Returns the text of an event's row."""
    notes = "" if event.notes is None else f" ({event.notes})"
    return f"{event.date.astimezone(timezone.utc):%H:%M}  {event.title}{notes}"


@dataclass
class Row:
    event: Any
    text: str  # the text of the cell
    mark: str = " "  # the last change: "+" inserted, ">" moved, "*" updated


@dataclass
class Section:
    day: str
    rows: list[Row] = field(default_factory=list)


class TableModel:
    """The table as it is shown: sections of rows. It is the delegate of the controller, whose calls update the rows.

    The table reads the controller's results only after a new fetch. It collects the changes of an event until
    did_change, and applies them in the order of table views: first updates, deletions and the removals of moves, by
    former index paths; then deleted and new sections; then insertions, including those of moves, by new index paths.
    """

    def __init__(self) -> None:
        self.sections: list[Section] = []
        self.is_stale = True  # the screen must be drawn again
        self.problem = ""  # the error of the controller
        self._section_changes: list[SectionChange] = []
        self._changes: list[ObjectChange] = []

    def load(self, controller: FetchedResultsController) -> None:
        """Fills the table with the results of the controller."""
        self.sections = [
            Section(section.name, [Row(event, cell(event)) for event in section.objects])
            for section in controller.sections or []
        ]
        self.is_stale = True

    def rows(self) -> list[Row]:
        return [row for section in self.sections for row in section.rows]

    # The delegate of the controller.

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
        # Remove rows and sections, the last ones first, so that the former indexes of the others stay valid.
        for section, row in sorted((place(each.path) for each in changes if each.kind in (DELETE, MOVE)), reverse=True):
            del self.sections[section].rows[row]
        for index in sorted((each.index for each in sections if each.kind is DELETE), reverse=True):
            assert not self.sections[index].rows
            del self.sections[index]
        # Insert sections and rows, the first ones first, by their new index paths.
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
