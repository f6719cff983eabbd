import CorestoneModel
import CorestoneValues
import Glibc

/// How stores of one type are opened, and what can be done with a file of theirs that is not open.
///
/// Any thread.
package protocol StoreKind: Sendable {
    var type: StoreType { get }

    /// Whether a store lies at its path; else the path is a mere name, and nothing is there.
    var hasFile: Bool { get }

    /// Whether a host registered it: paths are whatever it takes for one.
    var isHosted: Bool { get }

    /// What models may ask for.
    var abilities: StoreAbilities { get }

    /// Opens the store at `path`, or makes it where nothing is, unless `options` say otherwise.
    ///
    /// - Parameter model: is frozen.
    func open(_ path: String, model: Model, options: StoreOptions) throws -> any PersistentStore

    /// What a store says about itself. Needs no model, changes nothing.
    func metadata(ofStoreAt path: String) throws -> StoreMetadata

    /// Replaces what a store that is not open says about itself, but for who it is.
    func setMetadata(_ metadata: StoreMetadata, ofStoreAt path: String) throws

    /// Empties a store. False when there is none.
    ///
    /// - Parameter removing: called when it is known that the store can be destroyed, and before it is: who has it open closes it.
    func destroy(_ path: String, options: StoreOptions, removing: () throws -> Void) throws -> Bool

    /// Puts the store at `source` in the place of the one at `path`, or where nothing is; it keeps its identifier.
    ///
    /// - Parameter removing: as for `destroy`.
    func replace(
        _ path: String, byStoreAt source: String, options: StoreOptions, removing: () throws -> Void) throws

    /// Throws unless the store at `path` may be replaced by another one of the type now. Changes nothing.
    func requireReplaceable(_ path: String, options: StoreOptions) throws

    /// Removes the files of a copy of a store that a migration made, whatever is in them.
    ///
    /// - Parameter others: the other copies in its folder, which may share backing files with it.
    func removeCopy(at path: String, besides others: [String]) throws

    /// Removes the files of a store that was made for nothing, with their companions, unless somebody uses it, or has saved into it.
    ///
    /// - Parameter isEmpty: tells whether it has no objects, for a type that has to ask.
    func unlink(_ place: StorePlace, if isEmpty: () -> Bool)
}

extension StoreKind {
    package var isHosted: Bool { false }
    package func requireReplaceable(_ path: String, options: StoreOptions) throws {}

    package func removeCopy(at path: String, besides others: [String]) throws {
        guard Glibc.unlink(path) == 0 || errno == ENOENT else {
            throw CoreError(
                .storeIO, code: .migration,
                "cannot remove the backup \(path): \(StorePlace.text(of: errno)); make its folder writable", file: path)
        }
    }
}
