import Corestone

/// An object of the entity Context: manual additions.
open class Context: _Context {}
