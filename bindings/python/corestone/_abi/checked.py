"""A base of public classes whose instances refuse unknown attributes, which would be a misspelling without effect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar


class Checked:
    """Refuses to set a public attribute that neither the class nor `_cst_attributes` has.

    Private attributes, and those of a program's subclass, can always be set.
    """

    __slots__ = ()

    #: The public attributes that instances have, besides the properties of the class.
    _cst_attributes: ClassVar[tuple[str, ...]] = ()

    if not TYPE_CHECKING:  # type checkers report unknown names themselves

        def __setattr__(self, name: str, value: Any) -> None:
            if name[:1] != "_" and name not in self._cst_attributes:
                kind = type(self)
                if not hasattr(kind, name) and _is_own(kind):
                    raise _unknown(self, name)
            _set(self, name, value)


_set = object.__setattr__


def _is_own(kind: type) -> bool:
    """Whether the package defines a class."""
    return kind.__module__.split(".")[0] == __name__.split(".")[0]


def _unknown(item: Checked, name: str) -> AttributeError:
    from ..model.property import nearest

    kind = type(item)
    known = [each for each in (*dir(kind), *kind._cst_attributes) if not each.startswith("_")]
    remedy = nearest(name, known)
    if not remedy:
        place = "context.user_info" if "user_info" in kind._cst_attributes else "a variable"
        remedy = f"; keep data of the program in {place}, or in a subclass"
    return AttributeError(f'{kind.__name__} does not have an attribute "{name}"{remedy}')
