import Corestone

/// An object of the entity Tag: what people write.
open class Tag: _Tag {}
