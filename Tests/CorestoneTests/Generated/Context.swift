import Corestone

/// An object of the entity Context: what people write.
open class Context: _Context {}
