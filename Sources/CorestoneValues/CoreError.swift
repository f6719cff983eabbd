/// The result of a call at the C boundary, with the values of `cst_status`.
///
/// 0 is success, a positive number an expected outcome, a negative number a failure.
public enum Status: Int32, Sendable {
    case ok = 0, notFound = 1, end = 2, unchanged = 3
    case `internal` = -1, invalidArgument = -2, invalidHandle = -3, wrongThread = -4, invalidUTF8 = -5, typeMismatch =
        -6
    case noMemory = -7, callback = -8, unsupported = -9, forked = -10, cancelled = -11
    case validation = -100, conflict = -101, objectGone = -102
    case predicateSyntax = -200, predicate = -201
    case storeIO = -300, storeBusy = -301, storeCorrupt = -302, storeReadOnly = -303, notAStore = -304
    case modelMismatch = -400, migration = -401, model = -402
    case unsavedChanges = -103
}

/// The error type of the library: what failed, on which entity, key, value and object, and the remedy.
///
/// `code` is a Cocoa error code (`CocoaCode`), unless the application sets another `domain`. `docs/STYLE.md` describes
/// the form of a message.
public final class CoreError: Error, @unchecked Sendable {
    public let status: Status
    public let code: Int
    public let domain: String
    /// The text for people.
    ///
    /// The library shortens its own messages to about `longestMessage` bytes. It makes control characters in them
    /// visible, and keeps a line end only before an indented line, so they are safe for terminals and logs. A message
    /// of the application is unchanged.
    public let message: String
    public let entity: String?
    public let key: String?
    public let value: PropertyValue?
    /// The text of the validation predicate that the value does not satisfy.
    public let predicate: String?
    /// The URI of the object that the error is about; see `ObjectID.uri`.
    public let objectURI: String?
    /// The individual failures of an operation that failed for several reasons.
    ///
    /// An example is a child for each invalid property of a save.
    public let children: [CoreError]
    /// SQLite's extended result code, 0 when SQLite was not involved.
    public let sqliteCode: Int32
    /// The path of the file that was involved, for example of a store or a model; nil without a file.
    public let file: String?
    /// The byte offset at which a text, such as a predicate or a model, could not be parsed; -1 if unknown.
    public let offset: Int
    /// The application's object of a custom error (`cst_error_new_custom`); released with the error.
    public let payload: (any AnyObject & Sendable)?

    public static let cocoaDomain = "NSCocoaErrorDomain"
    /// The maximum length of the library's own messages, in bytes, apart from the mark of an omission.
    ///
    /// The middle of a longer message is left out.
    public static let longestMessage = 16 << 10

    // The two initialisers with fewer parameters are preferred where they suffice. Each of the hundreds of calls is then
    // shorter by the code for the default values of the other parameters.

    /// Creates an error about an entity, a key or a file.
    @inline(never)
    public convenience init(
        _ status: Status, code: CocoaCode = .none, _ message: String, entity: String? = nil, key: String? = nil,
        file: String? = nil
    ) {
        self.init(
            status, code: code, message, domain: CoreError.cocoaDomain, entity: entity, key: key, file: file)
    }

    /// Creates an error about a value or an object.
    @inline(never)
    public convenience init(
        _ status: Status, code: CocoaCode = .none, _ message: String, entity: String? = nil, key: String? = nil,
        value: PropertyValue? = nil, objectURI: String? = nil, file: String? = nil
    ) {
        self.init(
            status, code: code, message, domain: CoreError.cocoaDomain, entity: entity, key: key, value: value,
            objectURI: objectURI, file: file)
    }

    /// Creates an error.
    ///
    /// - Parameter isHosts: whether the message is kept unchanged, because it is from the application or from another
    ///   error.
    public init(
        _ status: Status, code: CocoaCode = .none, _ message: String, domain: String = CoreError.cocoaDomain,
        customCode: Int? = nil, entity: String? = nil, key: String? = nil, value: PropertyValue? = nil,
        predicate: String? = nil, objectURI: String? = nil, children: [CoreError] = [], sqliteCode: Int32 = 0,
        file: String? = nil,
        offset: Int = -1, payload: (any AnyObject & Sendable)? = nil, isHosts: Bool = false
    ) {
        self.status = status
        self.code = customCode ?? code.rawValue
        self.domain = domain
        self.message =
            isHosts ? message : message.shortened(to: CoreError.longestMessage).visible(.indented)
        self.entity = entity
        self.key = key
        self.value = value
        self.predicate = predicate
        self.objectURI = objectURI
        self.children = children
        self.sqliteCode = sqliteCode
        // In-memory and some custom stores have an empty path.
        self.file = file?.isEmpty == true ? nil : file
        self.offset = offset
        self.payload = payload
    }
}

extension CoreError {
    /// The error without the values that are or contain objects, including those of its children.
    ///
    /// For errors that may outlive the object's context. The message is unchanged and still describes the value.
    public var withoutObjects: CoreError {
        guard holdsObjects else { return self }
        return CoreError(
            status, message, domain: domain, customCode: code, entity: entity, key: key,
            value: value?.holdsObjects == true ? nil : value, predicate: predicate, objectURI: objectURI,
            children: children.map(\.withoutObjects), sqliteCode: sqliteCode, file: file, offset: offset,
            payload: payload, isHosts: true)
    }

    private var holdsObjects: Bool { value?.holdsObjects == true || children.contains(where: \.holdsObjects) }
}

extension CoreError {
    /// Returns the error of a larger operation that failed because of this error.
    ///
    /// - Parameters:
    ///   - beginning: the failure, such as "cannot read notes.xml"; the message of this error follows after a colon.
    ///   - entity, key, value, file: replace the fields of the error unless they are nil.
    ///   - ending: the remedy, with its punctuation, for an error without a remedy.
    package func within(
        _ beginning: String, entity: String? = nil, key: String? = nil, value: PropertyValue? = nil,
        file: String? = nil, ending: String = ""
    ) -> CoreError {
        CoreError(
            status, "\(beginning): \(message)\(ending)", domain: domain, customCode: code,
            entity: entity ?? self.entity, key: key ?? self.key, value: value ?? self.value, predicate: predicate,
            objectURI: objectURI, children: children, sqliteCode: sqliteCode, file: file ?? self.file, offset: offset,
            payload: payload)
    }

    /// Returns the error with `entity` and `key`, whose names are also put before the message.
    ///
    /// Returns the error unchanged if it already has an entity, or if `entity` is nil.
    package func named(_ entity: String?, _ key: String?) -> CoreError {
        guard self.entity == nil, let entity else { return self }
        return within(key.map { "\(entity).\($0)" } ?? entity, entity: entity, key: key)
    }
}

extension CoreError {
    /// Returns the error with its own entity and key, or with the given ones where its own are nil.
    package func with(entity: String?, key: String?) -> CoreError {
        CoreError(
            status, message, domain: domain, customCode: code, entity: self.entity ?? entity, key: self.key ?? key,
            value: value, predicate: predicate, objectURI: objectURI, children: children, sqliteCode: sqliteCode,
            file: file, offset: offset, payload: payload, isHosts: true)
    }
}

extension CoreError: CustomStringConvertible {
    public var description: String {
        let head = code == 0 ? message : "\(message) [\(domain) \(code)]"
        return children.reduce(head) { $0 + "\n  - " + $1.description }
    }
}

/// Core Data's error codes in `NSCocoaErrorDomain`.
///
/// The code is 0 where Core Data raises an exception instead of returning an error.
public enum CocoaCode: Int, Sendable {
    case none = 0
    case managedObjectValidation = 1550
    case managedObjectConstraintValidation = 1551
    case validationMultipleErrors = 1560
    case validationMissingMandatoryProperty = 1570
    case validationRelationshipLacksMinimumCount = 1580
    case validationRelationshipExceedsMaximumCount = 1590
    case validationRelationshipDeniedDelete = 1600
    case validationNumberTooLarge = 1610
    case validationNumberTooSmall = 1620
    case validationDateTooLate = 1630
    case validationDateTooSoon = 1640
    case validationInvalidDate = 1650
    case validationStringTooLong = 1660
    case validationStringTooShort = 1670
    case validationStringPatternMatching = 1680
    case validationInvalidURI = 1690
    case managedObjectContextLocking = 132000
    case persistentStoreCoordinatorLocking = 132010
    case managedObjectReferentialIntegrity = 133000
    case managedObjectExternalRelationship = 133010
    case managedObjectMerge = 133020
    case managedObjectConstraintMerge = 133021
    case persistentStoreInvalidType = 134000
    case persistentStoreTypeMismatch = 134010
    case persistentStoreIncompatibleSchema = 134020
    case persistentStoreSave = 134030
    case persistentStoreIncompleteSave = 134040
    case persistentStoreSaveConflicts = 134050
    case coreData = 134060
    case persistentStoreOperation = 134070
    case persistentStoreOpen = 134080
    case persistentStoreTimeout = 134090
    case persistentStoreUnsupportedRequestType = 134091
    case persistentStoreIncompatibleVersionHash = 134100
    case migration = 134110
    case migrationConstraintViolation = 134111
    case migrationCancelled = 134120
    case migrationMissingSourceModel = 134130
    case migrationMissingMappingModel = 134140
    case migrationManagerSourceStore = 134150
    case migrationManagerDestinationStore = 134160
    case entityMigrationPolicy = 134170
    case sqlite = 134180
    case inferredMappingModel = 134190
    case externalRecordImport = 134200
    case persistentHistoryTokenExpired = 134301
    case persistentHistoryTokenStore = 134501
    case managedObjectModelReferenceNotFound = 134504
    case stagedMigrationFrameworkVersionMismatch = 134505
    case stagedMigrationBackwardMigration = 134506
}
