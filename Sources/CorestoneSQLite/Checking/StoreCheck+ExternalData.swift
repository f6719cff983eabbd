import CSQLite
import CorestoneFileSystem
import CorestoneGraph
import CorestoneModel
import Glibc

extension StoreCheck {
    /// Checks that the backing file of every value that has one exists and can be read.
    mutating func checkExternalData() throws {
        var files = 0
        for table in schema.tables {
            guard let existing = contents.tables[table.name] else { continue }
            for column in table.columns {
                guard let attribute = column.property as? Attribute, attribute.allowsExternalStorage,
                    existing[column.name] != nil
                else { continue }
                files += try checkFiles(of: attribute, column.name, in: table)
            }
        }
        findings.addExamined(files, "backing files")
    }

    /// Checks the values of one attribute, and returns the number of backing files.
    private mutating func checkFiles(
        of attribute: Attribute, _ column: String, in table: TableSchema
    ) throws -> Int {
        let statement = try connection.prepare(
            "SELECT Z_PK, Z_ENT, \(column) FROM \(table.name) "
                + "WHERE typeof(\(column)) = 'blob' AND hex(substr(\(column), 1, 1)) = '02' AND length(\(column)) <= 64",
            purpose)
        var (count, missing) = (0, 0)
        while try statement.step(purpose) {
            count += 1
            let name = statement.blob(2).flatMap { $0.withUnsafeBytes { ExternalFile.name(in: $0) } }
            let path = name.map { "\(externalFolder)/\($0)" }
            guard let fault = backingFault(path) else { continue }
            missing += 1
            if missing > StoreReport.limit { continue }
            let uri = uri(table, number: statement.integer(1), primaryKey: statement.integer(0))
            findings.add(
                .externalData, "\(attribute.entity.name).\(attribute.path) of \(uri) \(fault)",
                entity: attribute.entity.name, key: attribute.path, objectURI: uri)
        }
        if missing > StoreReport.limit {
            let more = missing - StoreReport.limit
            let files = more == 1 ? "1 more backing file" : "\(more) more backing files"
            findings.add(
                .externalData,
                "\(files) of \(attribute.entity.name).\(attribute.path) \(more == 1 ? "is" : "are") missing or unreadable",
                entity: attribute.entity.name, key: attribute.path, isCut: true)
        }
        return count
    }

    /// Returns why the backing file of a value cannot be read, as a clause for a message; nil if it can.
    ///
    /// - Parameter path: The path; nil if the name is damaged.
    private func backingFault(_ path: String?) -> String? {
        guard let path else { return "has a damaged backing file name" }
        let name = path.split(separator: "/").last.map(String.init) ?? path
        guard ExternalFile.isThere(path) else {
            var status = stat()
            let code: Int32 = lstat(path, &status) == 0 ? 0 : errno
            switch code {
            case 0: return "refers to the backing file \(path), which is not a regular file"
            case ENOENT, ENOTDIR: return "refers to the backing file \(name), which is missing from \(externalFolder)"
            default:
                return "refers to the backing file \(name), which cannot be read in \(externalFolder): "
                    + SystemError(code).text
            }
        }
        if access(path, R_OK) == 0 { return nil }
        let reason = SystemError.last.text
        return "refers to the backing file \(name), which cannot be read in \(externalFolder): \(reason)"
    }
}
