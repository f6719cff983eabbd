"""What a model holds beside its entities: fetch requests, configurations, labels of the version, words for people."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from ctypes import byref
from typing import TYPE_CHECKING, Any, TypeVar

from . import _abi
from ._abi import lib, text, texts
from ._call import call, owned
from .predicate import Predicate

if TYPE_CHECKING:
    from ._request import Request
    from .entity import Entity
    from .request import FetchRequest

M = TypeVar("M", bound="ModelContents")


class ModelContents:
    """The part of Model that is no entity."""

    _handle: int
    _fetched_by: dict[str, Entity] | None

    if TYPE_CHECKING:

        def __getitem__(self, name: str) -> Entity: ...

        def describe(self) -> dict[str, Any]: ...

    def version_identifier(self: M, identifier: str) -> M:
        """Labels the version of the model. Returns the model."""
        call(lib.cst_model_add_version_identifier, self._handle, text(identifier))
        return self

    def remove_version_identifier(self, identifier: str) -> bool:
        """Removes a label of the version; False when there is none."""
        return call(lib.cst_model_remove_version_identifier, self._handle, text(identifier)) == _abi.OK

    @property
    def version_identifiers(self) -> list[str]:
        """The labels of the version."""
        return self._names(_abi.NAMES_VERSION_IDENTIFIERS)

    def template(
        self: M, name: str, entity: Entity | str, predicate: str | Predicate | None = None, **options: Any
    ) -> M:
        """Adds a fetch request that belongs to the model, or changes it. Returns the model.

        `$names` in the predicate are variables, to which Context.fetch_template gives values. `options` are `sort`,
        `limit`, `offset`, `prefetch`, `include_subentities` and `as_faults`, as Context.fetch takes them.
        """
        request = self._request(entity, predicate, options)
        call(lib.cst_model_set_template, self._handle, text(name), request.handle)
        return self

    def fetch_request(self, name: str, /, **variables: Any) -> FetchRequest:
        """A request made of a template, with values for its variables; None is nil. The template does not change.

        InvalidArgumentError: the model has no template of that name; PredicateError names a variable without a value.
        """
        from ._host import Encoded
        from .request import FetchRequest

        names, given = texts(list(variables)), Encoded(list(variables.values()))
        count, place = len(variables), given.address
        handle = owned(lib.cst_model_copy_bound_template, self._handle, text(name), count, names, place)
        return FetchRequest._of(handle)

    def remove_template(self: M, name: str) -> M:
        """Removes a fetch request of the model. Returns the model."""
        call(lib.cst_model_set_template, self._handle, text(name), None)
        return self

    @property
    def templates(self) -> list[str]:
        """The names of the model's fetch requests, sorted; `describe` tells what they fetch."""
        return self._names(_abi.NAMES_TEMPLATES)

    def configuration(self: M, name: str, *entities: Entity | str) -> M:
        """Makes these entities a configuration: what one store of several holds. Returns the model."""
        names = [entity if isinstance(entity, str) else entity.name for entity in entities]
        call(lib.cst_model_set_configuration, self._handle, text(name), len(names), texts(names))
        return self

    def remove_configuration(self, name: str) -> bool:
        """Removes a configuration; False when there is none of that name."""
        return call(lib.cst_model_remove_configuration, self._handle, text(name)) == _abi.OK

    @property
    def configurations(self) -> list[str]:
        """The names of the configurations; the whole model is not among them."""
        return self._names(_abi.NAMES_CONFIGURATIONS)

    def entities_of(self, configuration: str | None = None) -> list[Entity]:
        """The entities of a configuration; of the whole model for None."""
        buffer, count = _abi.Buffer(), ctypes.c_size_t()
        name = _abi.optional_text(configuration)
        call(lib.cst_model_copy_configuration, self._handle, name, byref(buffer), byref(count))
        return [self[name] for name in _abi.take_text(buffer).split("\0")[: count.value]]

    def _names(self, which: int) -> list[str]:
        buffer, count = _abi.Buffer(), ctypes.c_size_t()
        call(lib.cst_model_copy_names, self._handle, which, byref(buffer), byref(count))
        return _abi.take_text(buffer).split("\0")[: count.value]

    def _request(self, entity: Entity | str, predicate: str | Predicate | None, options: dict[str, Any]) -> Request:
        """What the model shall keep of a fetch."""
        from ._request import Request, fill_request

        request = Request(self[entity] if isinstance(entity, str) else entity)
        fill_request(request, predicate, (), **options)
        return request

    def _template_entity(self, name: str) -> Entity:
        """The entity that a fetch request of a model in use fetches."""
        if self._fetched_by is None:
            requests = self.describe()["fetchRequests"]
            self._fetched_by = {key: self[said["entity"]] for key, said in requests.items()}
        return self._fetched_by[name]

    def localize(self: M, entries: Mapping[str, str | None]) -> M:
        """Sets what parts of the model are called for people, and what its conditions say. Returns the model.

        The keys are Core Data's: "Entity/E", "Property/P/Entity/E", "Property/P", and "ErrorString/W" for the warning W
        of a condition. None removes an entry.
        """
        for key, words in entries.items():
            call(
                lib.cst_model_set_localization,
                self._handle,
                text(key),
                _abi.optional_text(words),
            )
        return self

    def localization(self, key: str) -> str | None:
        """The words of one entry of the localisation, or None."""
        out = _abi.String()
        call(lib.cst_model_localization, self._handle, text(key), byref(out))
        return _abi.decode(out)
