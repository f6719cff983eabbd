"""Parts of a model other than entities: fetch requests, configurations, version identifiers, localisation."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from ctypes import byref
from typing import TYPE_CHECKING, Any, TypeVar

from .. import _abi
from .._abi import lib, text, texts
from .._abi.arguments import shown
from .._abi.call import call, owned
from ..predicate.predicate import Predicate

if TYPE_CHECKING:
    from ..graph.fetching import Request
    from ..graph.request import FetchRequest
    from .entity import Entity

M = TypeVar("M", bound="ModelContents")


class ModelContents:
    """The methods of Model for parts other than entities."""

    _handle: int
    _fetched_by: dict[str, Entity] | None

    if TYPE_CHECKING:

        def __getitem__(self, name: str) -> Entity: ...

        def describe(self) -> dict[str, Any]: ...

    def version_identifier(self: M, identifier: str) -> M:
        """Adds a version identifier to the model. Returns the model."""
        call(lib.cst_model_add_version_identifier, self._handle, text(identifier, "identifier"))
        return self

    def remove_version_identifier(self, identifier: str) -> bool:
        """Removes a version identifier. Returns False if there is no such identifier."""
        return call(lib.cst_model_remove_version_identifier, self._handle, text(identifier, "identifier")) == _abi.OK

    @property
    def version_identifiers(self) -> list[str]:
        """The version identifiers."""
        return self._names(_abi.NAMES_VERSION_IDENTIFIERS)

    def template(
        self: M, name: str, entity: Entity | str, predicate: str | Predicate | None = None, **options: Any
    ) -> M:
        """Adds a fetch request template to the model, or replaces the one of that name. Returns the model.

        `$names` in the predicate are variables; Context.fetch_template sets their values. `options` are `sort`,
        `limit`, `offset`, `prefetch`, `include_subentities` and `as_faults`, as in Context.fetch.
        """
        request = self._request(entity, predicate, options)
        call(lib.cst_model_set_template, self._handle, text(name, "name"), request.handle)
        return self

    def fetch_request(self, name: str, /, **variables: Any) -> FetchRequest:
        """Returns a request from a template, with values for its variables; None means nil.

        The template does not change. InvalidArgumentError if there is no template of that name. PredicateError names a
        variable without a value.
        """
        from .._abi.conversion import Encoded
        from ..graph.request import FetchRequest

        names, given = texts(list(variables)), Encoded(list(variables.values()), "variables")
        count, place = len(variables), given.address
        handle = owned(lib.cst_model_copy_bound_template, self._handle, text(name, "name"), count, names, place)
        return FetchRequest._of(handle)

    def unbound_fetch_request(self, name: str) -> FetchRequest | None:
        """Returns a copy of the request of a template, with `$names` in its predicate (fetchRequestTemplateForName).

        None if there is no template of that name. Predicate.bind sets the variables; `fetch_request` sets them and
        returns the request in one call.
        """
        from ..graph.request import FetchRequest

        handle = owned(lib.cst_model_copy_template, self._handle, text(name, "name"))
        return FetchRequest._of(handle) if handle else None

    def remove_template(self: M, name: str) -> M:
        """Removes a fetch request template. Returns the model."""
        call(lib.cst_model_set_template, self._handle, text(name, "name"), None)
        return self

    @property
    def templates(self) -> list[str]:
        """The names of the fetch request templates, sorted; `describe` returns the requests."""
        return self._names(_abi.NAMES_TEMPLATES)

    def configuration(self: M, name: str, *entities: Entity | str) -> M:
        """Sets the entities of a configuration, a subset of the model for one of several stores. Returns the model."""
        names = [entity if isinstance(entity, str) else entity.name for entity in entities]
        call(lib.cst_model_set_configuration, self._handle, text(name, "name"), len(names), texts(names))
        return self

    def remove_configuration(self, name: str) -> bool:
        """Removes a configuration. Returns False if there is no configuration of that name."""
        return call(lib.cst_model_remove_configuration, self._handle, text(name, "name")) == _abi.OK

    @property
    def configurations(self) -> list[str]:
        """The names of the configurations, without the default one, which is the whole model."""
        return self._names(_abi.NAMES_CONFIGURATIONS)

    def entities_of(self, configuration: str | None = None) -> list[Entity]:
        """Returns the entities of a configuration, or of the whole model for None."""
        buffer, count = _abi.Buffer(), ctypes.c_size_t()
        name = _abi.optional_text(configuration, "configuration")
        call(lib.cst_model_copy_configuration, self._handle, name, byref(buffer), byref(count))
        return [self[name] for name in _abi.take_text(buffer).split("\0")[: count.value]]

    def _names(self, which: int) -> list[str]:
        buffer, count = _abi.Buffer(), ctypes.c_size_t()
        call(lib.cst_model_copy_names, self._handle, which, byref(buffer), byref(count))
        return _abi.take_text(buffer).split("\0")[: count.value]

    def _request(self, entity: Entity | str, predicate: str | Predicate | None, options: dict[str, Any]) -> Request:
        """Returns a fetch request for a template or a fetched property."""
        from ..graph.fetching import new_request

        return new_request(self[entity] if isinstance(entity, str) else entity, predicate, **options)

    def _template_entity(self, name: str) -> Entity:
        """Returns the entity of a fetch request template of a frozen model."""
        if self._fetched_by is None:
            requests = self.describe()["fetchRequests"]
            self._fetched_by = {key: self[said["entity"]] for key, said in requests.items()}
        return self._fetched_by[name]

    def localize(self: M, entries: Mapping[str, str | None]) -> M:
        """Sets localised names of model elements and messages of validation conditions. Returns the model.

        The keys are Core Data's: "Entity/E", "Property/P/Entity/E", "Property/P", and "ErrorString/W" for the warning W
        of a condition. None removes an entry.
        """
        for key, words in entries.items():
            call(
                lib.cst_model_set_localization,
                self._handle,
                text(key, "key"),
                _abi.optional_text(words, f"entries[{shown(key)}]"),
            )
        return self

    def localization(self, key: str) -> str | None:
        """Returns the entry of the localisation for a key, or None."""
        out = _abi.String()
        call(lib.cst_model_localization, self._handle, text(key, "key"), byref(out))
        return _abi.decode(out)
