import CorestoneModel
import Foundation
import XCTest

@testable import CorestoneSQLite

final class SchemaTests: XCTestCase {
    /// The examples in the description of the format.
    func testTablesAndColumnsHaveTheNamesAndOrderOfTheFormat() throws {
        let model = Model()
        let entry = try model.addEntity(named: "Entry")
        let note = try model.addEntity(named: "Note")
        let photo = try model.addEntity(named: "Photo")
        let tag = try model.addEntity(named: "tag")
        try note.setParent(entry)
        try photo.setParent(entry)
        try entry.addAttribute(named: "stamp", type: .date)
        try entry.addAttribute(named: "count", type: .integer16)
        try entry.addAttribute(named: "isOn", type: .boolean)
        try entry.addAttribute(named: "price", type: .decimal)
        try entry.addAttribute(named: "scratch", type: .string, isTransient: true)
        try note.addAttribute(named: "title", type: .string)
        try photo.addAttribute(named: "title", type: .string)
        try photo.addAttribute(named: "data", type: .binary)
        try photo.addAttribute(named: "uid", type: .uuid)
        try photo.addAttribute(named: "source", type: .uri)
        try photo.addAttribute(named: "info", type: .transformable)
        let cover = try tag.addRelationship(named: "cover", destination: entry)
        let covered = try entry.addRelationship(named: "covered", destination: tag, isToMany: true, isOrdered: true)
        try cover.setInverse(covered)
        let tags = try note.addRelationship(named: "tags", destination: tag, isToMany: true)
        let notes = try tag.addRelationship(named: "notes", destination: note, isToMany: true, isOrdered: true)
        try tags.setInverse(notes)
        let friends = try tag.addRelationship(named: "friends", destination: tag, isToMany: true)
        try friends.setInverse(friends)
        try tag.addRelationship(named: "extras", destination: photo, isToMany: true)
        try tag.addAttribute(named: "name", type: .string)
        try tag.addUniqueConstraint(["name"])
        try tag.addIndex(FetchIndex(name: "byName", elements: [.init(property: "name", isAscending: false)]))
        try model.freeze()
        XCTAssertEqual(
            StoreSchema(model: model).creationStatements,
            [
                "CREATE TABLE ZENTRY ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCOUNT INTEGER, ZISON INTEGER, "
                    + "Z4EXTRAS INTEGER, ZSTAMP TIMESTAMP, ZPRICE DECIMAL, ZTITLE VARCHAR, ZTITLE1 VARCHAR, ZSOURCE VARCHAR, "
                    + "ZUID BLOB, ZINFO BLOB, ZDATA BLOB )",
                "CREATE TABLE Z_2TAGS ( Z_2NOTES INTEGER, Z_4TAGS INTEGER, Z_FOK_2NOTES INTEGER, PRIMARY KEY (Z_2NOTES, Z_4TAGS) )",
                "CREATE TABLE ZTAG ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCOVER INTEGER, Z1_COVER INTEGER, "
                    + "Z_FOK_COVER INTEGER, ZNAME VARCHAR )",
                "CREATE TABLE Z_4FRIENDS ( Z_4FRIENDS INTEGER, REFLEXIVE INTEGER, PRIMARY KEY (Z_4FRIENDS, REFLEXIVE) )",
                "CREATE INDEX ZENTRY_Z4EXTRAS_INDEX ON ZENTRY (Z4EXTRAS)",
                "CREATE INDEX ZENTRY_Z_ENT_INDEX ON ZENTRY (Z_ENT)",
                "CREATE INDEX Z_2TAGS_Z_4TAGS_INDEX ON Z_2TAGS (Z_4TAGS, Z_2NOTES)",
                "CREATE INDEX ZTAG_ZCOVER_INDEX ON ZTAG (ZCOVER)",
                "CREATE INDEX Z_4FRIENDS_REFLEXIVE_INDEX ON Z_4FRIENDS (REFLEXIVE, Z_4FRIENDS)",
                "CREATE INDEX Z_tag_byName ON ZTAG (ZNAME COLLATE BINARY DESC)",
                "CREATE UNIQUE INDEX Z_tag_UNIQUE_name ON ZTAG (ZNAME COLLATE BINARY ASC)",
                "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)",
                "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)",
                "CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)",
            ])
    }
}
