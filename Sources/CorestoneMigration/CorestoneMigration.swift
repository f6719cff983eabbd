// Mapping models, inference and migration. The layer stands here so that what needs it finds its place; it works on the
// graph above and on the SQLite store.
import CorestoneSQLite
