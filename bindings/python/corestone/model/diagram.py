"""The drawing of a model for notebooks: SVG with a box for each entity and a line for each relationship."""

from __future__ import annotations

import html
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .entity import Entity
    from .model import Model
    from .property import PropertyDescription

MOST = 40  # a larger model is only listed
_LINES = 14  # the maximum number of attributes in a box
_HEAD, _LINE, _PAD = 24, 17, 6
_GAP, _CHANNEL, _MARGIN = 22, 84, 14
_CHARACTER, _WIDEST = 6.7, 36  # the width of a character, and the longest line in characters
_STYLE = (
    "<style>.corestone-model text{font:12px system-ui,sans-serif;fill:#222}.corestone-model .name{font-weight:600}"
    ".corestone-model .type{fill:#777}.corestone-model .link{fill:#2563a8}"
    ".corestone-model rect{fill:#fff;stroke:#9aa4b0}.corestone-model .head{fill:#e8eef5}"
    ".corestone-model .abstract{fill:#e4e4e4}"
    ".corestone-model path{fill:none;stroke:#5b7ea3;stroke-width:1.3}.corestone-model .inherits{stroke:#888;"
    "stroke-dasharray:4 3}.corestone-model polygon{fill:#fff;stroke:#888}</style>"
)


class _Line(NamedTuple):
    """A property in a box."""

    name: str
    type: str
    is_link: bool


class _Box:
    """An entity in the drawing."""

    def __init__(self, entity: Entity) -> None:
        from ..graph.html import type_of

        self.entity = entity
        parent = entity.parent
        inherited = set(parent.properties) if parent is not None else set()
        own = [each for name, each in entity.properties.items() if name not in inherited]
        attributes = [each for each in own if each.is_attribute]
        lines = [_Line(each.name, type_of(entity, each), False) for each in attributes[:_LINES]]
        if len(attributes) > _LINES:
            lines.append(_Line(f"and {len(attributes) - _LINES} more", "", False))
        self.links = [each for each in own if each.is_relationship]
        lines += [_Line(each.name, "many" if each.is_to_many else "", True) for each in self.links]
        self.lines = [_Line(_short(each.name), _short(each.type, len(each.name)), each.is_link) for each in lines]
        widest = max((_width(each.name) + _width(each.type) + 2 for each in self.lines), default=0)
        self.width = max(100.0, _width(entity.name) * _CHARACTER * 1.1 + 20, widest * _CHARACTER + 16)
        self.height = _HEAD + (len(self.lines) * _LINE + _PAD if self.lines else 0)
        self.x = self.y = 0.0
        self.column = 0

    def link_y(self, name: str | None) -> float:
        """Returns the height of the line of a relationship, or of the heading if the box does not list it."""
        for place, line in enumerate(self.lines):
            if line.is_link and line.name == name:
                return self.y + _HEAD + place * _LINE + _LINE / 2 + 2
        return self.y + _HEAD / 2


def _short(text: str, taken: int = 0) -> str:
    most = max(_WIDEST - taken, 8)
    return text if len(text) <= most else text[: most - 1] + "…"


def _width(text: str) -> int:
    """Returns the width of a text in characters. Wide characters, such as Chinese ones, count twice."""
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def svg(model: Model) -> str:
    """Returns a drawing of a model as SVG; an empty string for a model without entities, or a very large one.

    A line connects a relationship with its inverse. The end at a to-many relationship's destination has three prongs. A
    dashed line with a triangle leads to the superentity.
    """
    boxes = {name: _Box(entity) for name, entity in model.items()}
    if not 0 < len(boxes) <= MOST:
        return ""
    width, height = _place(model, boxes)
    lines = "".join(_links(model, boxes)) + "".join(_inheritance(boxes))
    drawn = "".join(map(_drawn, boxes.values()))
    return (
        f'<svg class="corestone-model" xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="diagram of the model" '
        f'style="max-width:100%;height:auto">{_STYLE}{lines}{drawn}</svg>'
    )


# -------- places -------------------------------------------------------------------------------------------


def _place(model: Model, boxes: dict[str, _Box]) -> tuple[float, float]:
    """Sets the places of the boxes, and returns the size of the drawing."""
    below = {name: _above(model, box) for name, box in boxes.items()}
    depths: dict[str, int] = {}
    for name in boxes:
        _depth(name, below, depths, ())
    columns: dict[int, list[_Box]] = {}
    for name, box in boxes.items():
        box.column = depths[name]
        columns.setdefault(box.column, []).append(box)
    tallest = max(sum(box.height + _GAP for box in column) for column in columns.values())
    x = float(_MARGIN)
    for _, column in sorted(columns.items()):
        column.sort(key=lambda box: _centre(model, boxes, box))
        y = _MARGIN + (tallest - sum(box.height + _GAP for box in column)) / 2
        for box in column:
            box.x, box.y = x, y
            y += box.height + _GAP
        x += max(box.width for box in column) + _CHANNEL
    return x - _CHANNEL + _CHANNEL / 2 + _MARGIN, tallest + 2 * _MARGIN - _GAP


def _above(model: Model, box: _Box) -> list[str]:
    """Returns the entities that belong to the left of an entity: destinations of to-one relationships, superentity."""
    found = [box.entity.parent.name] if box.entity.parent is not None else []
    for each in box.links:
        target = model._entity_of(each.destination)
        inverse = target.properties.get(each.inverse) if each.inverse else None
        is_owner = not each.is_to_many and (inverse is None or inverse.is_to_many)
        # Of two sides with the same count, the one whose entity comes first is on the left.
        is_equal = inverse is not None and inverse.is_to_many == each.is_to_many
        if is_owner or (is_equal and list(model).index(target.name) < list(model).index(box.entity.name)):
            found.append(target.name)
    return [name for name in found if name != box.entity.name]


def _depth(name: str, above: dict[str, list[str]], depths: dict[str, int], path: tuple[str, ...]) -> int:
    """Returns the column of an entity. Relationships in a cycle are ignored."""
    if name not in depths:
        others = [_depth(each, above, depths, (*path, name)) for each in above[name] if each not in (*path, name)]
        depth = 1 + max(others, default=-1)
        if path and any(each in path for each in above[name]):
            return depth  # depends on where the cycle was entered
        depths[name] = depth
    return depths[name]


def _centre(model: Model, boxes: dict[str, _Box], box: _Box) -> float:
    """Returns the mean height of the boxes to the left with which a box is connected."""
    others = [boxes[name] for name in _above(model, box) if boxes[name].column < box.column]
    return sum(each.y + each.height / 2 for each in others) / len(others) if others else 0.0


# -------- lines --------------------------------------------------------------------------------------------


def _links(model: Model, boxes: dict[str, _Box]) -> list[str]:
    found = []
    drawn: set[tuple[str, str]] = set()
    for box in boxes.values():
        for each in box.links:
            target = model._entity_of(each.destination)
            inverse = target.properties.get(each.inverse) if each.inverse else None
            if (box.entity.name, each.name) in drawn:
                continue
            if inverse is not None:
                drawn.add((target.name, inverse.name))
            found.append(_link(box, each, boxes[target.name], inverse))
    return found


def _link(box: _Box, each: PropertyDescription, other: _Box, inverse: PropertyDescription | None) -> str:
    start, end = box.link_y(each.name), other.link_y(inverse.name if inverse is not None else None)
    is_rightward = other.column > box.column
    if other.column == box.column:
        from_x, to_x = box.x + box.width, other.x + other.width
        bulge = max(from_x, to_x) + 26 + (10 if box is other else 0)
        if box is other and abs(start - end) < 1:
            end = start - 9
        line = f"M{from_x:.0f} {start:.0f}C{bulge:.0f} {start:.0f} {bulge:.0f} {end:.0f} {to_x:.0f} {end:.0f}"
        directions = (1, 1)
    else:
        from_x = box.x + box.width if is_rightward else box.x
        to_x = other.x if is_rightward else other.x + other.width
        middle = (from_x + to_x) / 2
        line = f"M{from_x:.0f} {start:.0f}C{middle:.0f} {start:.0f} {middle:.0f} {end:.0f} {to_x:.0f} {end:.0f}"
        directions = (1, -1) if is_rightward else (-1, 1)
    # The end at an entity shows how many of its objects the relationship that leads there has.
    ends = _end(to_x, end, directions[1], each.is_to_many)
    if inverse is not None:
        ends += _end(from_x, start, directions[0], inverse.is_to_many)
    return f'<path d="{line}{ends}"/>'


def _end(x: float, y: float, direction: int, is_many: bool) -> str:
    if not is_many:
        return f"M{x + 6 * direction:.0f} {y - 4:.1f}v8"
    tip = x + 9 * direction
    return f"M{tip:.0f} {y:.1f}L{x:.0f} {y - 5:.1f}M{tip:.0f} {y:.1f}L{x:.0f} {y + 5:.1f}"


def _inheritance(boxes: dict[str, _Box]) -> list[str]:
    found = []
    for box in boxes.values():
        parent = box.entity.parent
        if parent is None:
            continue
        other = boxes[parent.name]
        tip, y, end = other.x + other.width, other.y + _HEAD / 2, box.y + _HEAD / 2
        middle = (tip + box.x) / 2
        found.append(
            f'<path class="inherits" d="M{box.x:.0f} {end:.0f}C{middle:.0f} {end:.0f} {middle:.0f} {y:.0f} '
            f'{tip + 9:.0f} {y:.0f}"/><polygon points="{tip:.0f},{y:.0f} {tip + 9:.0f},{y - 5:.0f} '
            f'{tip + 9:.0f},{y + 5:.0f}"/>'
        )
    return found


def _drawn(box: _Box) -> str:
    x, y, width = box.x, box.y, box.width
    kind = "head abstract" if box.entity.is_abstract else "head"
    parts = [
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{box.height:.0f}" rx="4"/>',
        f'<rect class="{kind}" x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{_HEAD}" rx="4"/>',
        f'<text class="name" x="{x + width / 2:.0f}" y="{y + 16:.0f}" text-anchor="middle">'
        f"{html.escape(_short(box.entity.name))}</text>",
    ]
    for place, line in enumerate(box.lines):
        at = y + _HEAD + place * _LINE + 15
        style = "link" if line.is_link else ""
        parts.append(f'<text class="{style}" x="{x + 8:.0f}" y="{at:.0f}">{html.escape(line.name)}</text>')
        if line.type:
            right = x + width - 8
            parts.append(
                f'<text class="type" x="{right:.0f}" y="{at:.0f}" text-anchor="end">{html.escape(line.type)}</text>'
            )
    return "".join(parts)
