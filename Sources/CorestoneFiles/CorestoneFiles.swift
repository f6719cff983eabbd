// Stores that are read and written whole: XML, binary, in memory. The layer stands here so that what needs it finds its
// place; its stores build on `PersistentStore`.
import CorestoneGraph
