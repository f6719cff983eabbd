import CorestoneFileSystem
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// The migration of an SQLite store by a route.
///
/// The route writes another store to a folder next to the file. The content of that store replaces the content of the
/// file in the transaction of the caller. Other processes see either the old or the new store. The identifier and the
/// tables of other programs are kept.
struct RouteMigration {
    let connection: Connection
    let place: StoreLocation
    let model: Model
    let start: StoreMigration.Start
    let route: any ConversionRoute
    let remains: MigrationCleanup
    let options: MigrationOptions

    private var purpose: String { "migrate \(place.given)" }

    /// Migrates the store in the transaction of the caller, which holds the write lock of this file only.
    ///
    /// - Parameter report: Receives the completed and the total rows. Returning false cancels the migration.
    func run(_ report: @escaping (_ done: Int, _ total: Int) -> Bool) throws {
        // The write lock makes the removal safe: no other process writes to the store.
        let file = LocalFile(place.path, shownAs: place.given)
        file.removeDrafts()
        guard let workFolder = file.workFolder() else {
            let code = errno
            throw CoreError(
                .storeIO, code: .migration,
                "cannot migrate \(place.given): cannot create a folder in \(place.folder): "
                    + "\(SystemError(code).text)\(SystemError(code).remedyForWriting(in: place.folder))",
                file: place.given)
        }
        remains.workFolder = workFolder
        let result = "\(workFolder.path)/result"
        let progress = try MigrationProgress(connection, start.former, report)
        defer { progress.end() }
        do {
            try progress.begin()
            let content = try route.run(
                from: place.path, named: place.given, to: result, limits: connection.limits
            ) { done, total in
                progress.reportRoute(done, of: total)
            }
            try replace(result, content, progress)
        } catch {
            // A cancelled statement or route may throw another error, which is replaced.
            if progress.isCancelled { throw MigrationProgress.cancelled(place.given) }
            guard let error = error as? CoreError else { throw error }
            throw error.replacing([
                (ExternalFile.folder(ofStore: result), ExternalFile.folder(ofStore: place.path)),
                (result, place.given), (workFolder.path, place.folder),
            ])
        }
    }

    private func replace(_ result: String, _ content: ConvertedContent, _ progress: MigrationProgress) throws {
        guard progress.reportRoute(1, of: 1) else { throw MigrationProgress.cancelled(place.given) }
        let folder = ExternalFile.folder(ofStore: place.path)
        let before = try connection.namesOfExternalFiles(in: start.former, folder: folder)
        let converted = try ConvertedStore(at: result, model: model, namesFiles: !before.isEmpty, connection.limits)
        try BackingFileMove(converted, to: place, remains).run()
        try attach(result)
        let replacement = ContentReplacement(
            connection: connection, start: start, converted: converted, isComplete: content.isComplete)
        let verification = options.verifies ? RouteVerification(connection, place, start, converted, progress) : nil
        progress.beginSteps(replacement.stepCount + (verification?.stepCount(content) ?? 0))
        try verification?.requireContent(content)
        try replacement.run(progress)
        if let verification {
            try options.willVerify? { try connection.execute($0, purpose, cocoaCode: .migration) }
            try verification.requireReplacement()
        }
        try HistoryMigration.forgetOldValues(in: connection)
        let document = MigratedDocument(connection: connection, contents: start.contents, model: model)
        switch content {
        case .complete: try document.write(metadataOf: converted.contents.document)
        case .rows(let properties):
            try document.write()
            try migrateHistory(properties, converted)
        }
        try progress.step()
        try progress.finish()
        try connection.requireMigrated(to: model, place)
        remains.obsolete = before.subtracting(converted.externalNames)
    }

    private func attach(_ result: String) throws {
        // The result is attached only now, because the transaction would otherwise lock it while the route writes it.
        let statement = try connection.prepare("ATTACH ? AS \(ConvertedStore.alias)", purpose)
        statement.bind(copying: result, at: 1)
        try statement.run(purpose)
        remains.attached = ConvertedStore.alias
    }

    private func migrateHistory(_ properties: [CopiedProperty], _ converted: ConvertedStore) throws {
        guard let history = start.history else { return }
        try HistoryConversion(
            design: history, former: start.former, wanted: converted.schema, properties: properties,
            connection: connection
        ).run()
        try HistoryMigration.addTransaction(of: converted.schema, to: connection)
    }
}

extension ConvertedContent {
    fileprivate var isComplete: Bool {
        if case .complete = self { return true }
        return false
    }
}
