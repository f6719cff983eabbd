@_exported import CorestoneFiles
@_exported import CorestoneGraph
@_exported import CorestoneMigration
@_exported import CorestoneModel
@_exported import CorestonePredicate
@_exported import CorestoneSQLite
@_exported import CorestoneStack
@_exported import CorestoneValues
