import Corestone

/// An object of the entity Item: what people write.
open class Item: _Item {}
