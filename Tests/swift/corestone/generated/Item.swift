import Corestone

/// An object of the entity Item: manual additions.
open class Item: _Item {}
