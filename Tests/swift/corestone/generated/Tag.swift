import Corestone

/// An object of the entity Tag: manual additions.
open class Tag: _Tag {}
