import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A transformed value, with the bytes of the attribute.
private struct TransformedValue {
    let slot: Int
    let bytes: Bytes
    let value: Any
}

/// The transformed values by object. They are not stored in the objects, because only few objects have one.
private let transformedByObjects = Locked<[ObjectIdentifier: [TransformedValue]]>([:])

// Values of transformable attributes. Rows, overlays and records contain only the bytes.
extension ManagedObject {
    /// Returns the transformed value of a transformable attribute; nil if the attribute is null.
    ///
    /// The result is cached until the attribute is set or the object becomes a fault. Fires a fault.
    ///
    /// - Throws: `.typeMismatch` for another attribute.
    ///   `.unsupported` if the model names a transformer that is not registered.
    ///   The transformer's error, with entity and key.
    ///   The store's error if a row cannot be read.
    public func transformedValue(key: UInt32) throws -> Any? {
        let (slot, attribute) = try transformable(key)
        return try withView(key: key) { view in
            view.type == .bytes ? try transformed(view.bytes, slot, attribute) : nil
        }
    }

    /// Transforms the value of a transformable attribute again, because its class may have been registered since.
    package func transformedValueAgain(key: UInt32) throws -> Any? {
        hold(nil, at: try transformable(key).slot)
        return try transformedValue(key: key)
    }

    /// Sets a transformable attribute to the bytes that its transformer returns for a value; nil sets null.
    ///
    /// The object caches the value.
    ///
    /// - Throws: `.typeMismatch` for another attribute, or if the value is not of the class that the model names.
    ///   `.unsupported` if the transformer is not registered.
    ///   The transformer's error.
    public func setTransformedValue(_ value: Any?, key: UInt32) throws {
        let (slot, attribute) = try transformable(key)
        guard let value else { return try set(.null, key: key) }
        let transformer = try transformer(of: attribute)
        if let name = attribute.valueClassName, !ValueClass.allows(name, value) {
            throw excludes(value, attribute, name)
        }
        let bytes = try located(attribute, "transform", value as? PropertyValue) { try transformer.bytes(for: value) }
        try set(.bytes(bytes), key: key)
        hold(TransformedValue(slot: slot, bytes: bytes, value: value), at: slot)
    }

    /// Returns the transformer of a transformable attribute, and the class of its values if the model names one.
    package func registeredTransformer(key: UInt32) throws -> (any ValueTransformer, valueClassName: String?) {
        let attribute = try transformable(key).attribute
        return (try transformer(of: attribute), attribute.valueClassName)
    }

    /// Discards the object's transformed values.
    func forgetTransformedValues() {
        guard state.remove(.keepsTransformed) != nil else { return }
        let former = transformedByObjects.withLock { $0.removeValue(forKey: ObjectIdentifier(self)) }
        // The values are released outside the lock, because their deallocation may call the application.
        withExtendedLifetime(former) {}
    }
}

extension ManagedObject {
    private func transformable(_ key: UInt32) throws -> (slot: Int, attribute: Attribute) {
        let slot = try self.slot(of: key)
        let property = entity.properties[slot]
        if let attribute = property as? Attribute, attribute.type == .transformable {
            return (slot, attribute)
        }
        let name = property.path
        let found = (property as? Attribute).map { "of type \($0.type.displayName)" } ?? property.kindPhrase
        throw CoreError(
            .typeMismatch,
            "\(entity.name).\(name) is not a transformable attribute, but \(found); \(property.accessRemedy)",
            entity: entity.name, key: name, objectURI: objectID.uri)
    }

    private func transformer(of attribute: Attribute) throws -> any ValueTransformer {
        if let known = ValueTransformers.named(attribute.valueTransformerName) { return known }
        throw CoreError(
            .unsupported,
            "\(entity.name).\(attribute.path) needs the transformer \"\(attribute.valueTransformerName ?? "")\", which "
                + "is not registered; register it with cst_transformer_register (register_transformer, "
                + "ValueTransformers.register), or use the attribute's bytes with cst_object_get (raw_value, get) and "
                + "cst_object_set (set_raw_value, set)", entity: entity.name, key: attribute.path,
            objectURI: objectID.uri)
    }

    private func excludes(_ value: Any, _ attribute: Attribute, _ className: String) -> CoreError {
        let plain = value as? PropertyValue
        let fault: String
        // The type of a value that a transformer of the host made is internal to the library.
        if let made = value as? any ArchivableValue, made.archivableClass == nil {
            fault =
                ", but the transformer \"\(attribute.valueTransformerName ?? "")\" does not make values of that class; "
                + "remove the value class from the attribute, or use the transformer NSSecureUnarchiveFromData"
        } else if case .object(let object)? = plain, let archived = object as? ArchivedObject {
            fault = ", not an archived object of the class \"\(archived.className)\""
        } else {
            fault = ", not \(plain?.kind ?? "\(type(of: value))")"
        }
        return CoreError(
            .typeMismatch,
            "\(entity.name).\(attribute.path) takes values of the class \"\(className)\"\(fault)",
            entity: entity.name, key: attribute.path, value: plain,
            objectURI: objectID.uri)
    }

    private func transformed(_ bytes: UnsafeRawBufferPointer, _ slot: Int, _ attribute: Attribute) throws -> Any {
        if let known = held(slot), equalBytes(known.bytes.rawBytes, bytes) { return known.value }
        let transformer = try transformer(of: attribute)
        let bytes = Bytes(copying: bytes)
        let value = try located(attribute, "reverse-transform", PropertyValue.bytes(bytes)) {
            try transformer.value(for: bytes)
        }
        hold(TransformedValue(slot: slot, bytes: bytes, value: value), at: slot)
        return value
    }

    private func held(_ slot: Int) -> TransformedValue? {
        guard state.contains(.keepsTransformed) else { return nil }
        return transformedByObjects.withLock { $0[ObjectIdentifier(self)]?.first { $0.slot == slot } }
    }

    /// Replaces the cached value of an attribute; nil removes it.
    private func hold(_ value: TransformedValue?, at slot: Int) {
        let former = transformedByObjects.withLock { all in
            let former = all[ObjectIdentifier(self), default: []].filter { $0.slot == slot }
            all[ObjectIdentifier(self), default: []].removeAll { $0.slot == slot }
            if let value { all[ObjectIdentifier(self), default: []].append(value) }
            return former
        }
        state.insert(.keepsTransformed)
        // The value is released outside the lock, because its deallocation may call the application.
        withExtendedLifetime(former) {}
    }

    /// Runs a transformer, and adds the attribute to an error that the transformer throws.
    private func located<Result>(
        _ attribute: Attribute, _ step: String, _ value: PropertyValue?, _ body: () throws -> Result
    ) throws -> Result {
        do { return try body() } catch {
            let failure = error as? CoreError
            throw CoreError(
                failure?.status ?? .callback,
                "\(attribute.valueTransformerName.map { "the transformer \"\($0)\"" } ?? "the default transformer") cannot "
                    + "\(step) the value of \(entity.name).\(attribute.path): \(failure?.message ?? "\(error)")",
                domain: failure?.domain ?? CoreError.cocoaDomain, customCode: failure?.code,
                entity: entity.name,
                key: attribute.path, value: value, objectURI: objectID.uri, children: failure.map(\.children) ?? [],
                file: failure?.file, payload: failure?.payload)
        }
    }
}

extension Attribute {
    /// Returns the value of a transformable attribute for predicates: the plain data of its bytes, or else the bytes.
    func dataForPredicates(_ bytes: UnsafeRawBufferPointer) -> PropertyValue {
        let bytes = Bytes(copying: bytes)
        guard let transformer = ValueTransformers.named(valueTransformerName) as? any PlainDataTransformer else {
            return .bytes(bytes)
        }
        // The result is not cached, because a predicate may evaluate any number of objects.
        return (try? transformer.plainData(for: bytes)) ?? .bytes(bytes)
    }
}
