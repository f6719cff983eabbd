import CorestoneFileSystem
import Foundation
import XCTest

/// Errors of system calls: their text, and the remedies in messages.
final class SystemErrorTests: XCTestCase {
    func testErrorHasTheTextOfTheSystem() {
        XCTAssertEqual(SystemError(ENOENT).text, "No such file or directory")
        XCTAssertEqual(SystemError(EACCES).text, "Permission denied")
        XCTAssertEqual(SystemError(99_999).text, "error 99999")
        errno = ENOSPC
        XCTAssertEqual(SystemError.last, SystemError(ENOSPC))
    }

    func testTextIsTheSameOnAllThreads() {
        let numbers = [ENOENT, EACCES, ENOSPC, EMFILE, EIO, ELOOP, EROFS, EDQUOT]
        let texts = numbers.map { SystemError($0).text }
        XCTAssertEqual(Set(texts).count, numbers.count)
        DispatchQueue.concurrentPerform(iterations: 8) { part in
            for step in 0..<1000 {
                let place = (part + step) % numbers.count
                XCTAssertEqual(SystemError(numbers[place]).text, texts[place])
            }
        }
    }

    func testRemediesDependOnTheError() {
        let files = "; close other files, or raise the limit of open files (ulimit -n)"
        let temporary = "; set TMPDIR to a writable folder with free space"
        let (denied, search) = ("; grant read permission on ", " and search permission on the folders of its path")
        let cases: [(number: Int32, reading: String, writing: String, temporary: String)] = [
            (EACCES, "\(denied)the file\(search)", "; make its folder writable", temporary),
            (EPERM, "\(denied)the file\(search)", "; check the permissions of the file and of its folder", temporary),
            (EROFS, "", "; make its folder writable", temporary), (ENOSPC, "", "; free some space", temporary),
            (EDQUOT, "", "; free some space", temporary), (EMFILE, files, files, files), (ENFILE, files, files, files),
            (EIO, "; restore the file from a backup", "", ""),
            (ENODATA, "; restore the file from a backup", "", temporary), (ENOMEM, "", "", ""),
            (ENOENT, "", "", temporary),
        ]
        for (number, reading, writing, temporary) in cases {
            let error = SystemError(number)
            XCTAssertEqual(error.remedyForReading(), reading, error.text)
            XCTAssertEqual(error.remedyForWriting(), writing, error.text)
            XCTAssertEqual(error.remedyForTemporaryFile, temporary, error.text)
            XCTAssertEqual(error.remedyForDescriptors, error.isOutOfDescriptors ? files : "", error.text)
        }
        XCTAssertEqual(
            SystemError(EACCES).remedyForReading("the folder", lost: nil), "\(denied)the folder\(search)")
        XCTAssertEqual(
            SystemError(EACCES).remedyForFinding(), "; grant search permission on the folders of the path")
        XCTAssertEqual(SystemError(EIO).remedyForFinding(), "")
        XCTAssertEqual(SystemError(EIO).remedyForFinding(lost: "buy a disk"), "; buy a disk")
        XCTAssertEqual(SystemError(EIO).remedyForReading(lost: nil), "")
        XCTAssertEqual(SystemError(EIO).remedyForReading(lost: "buy a disk"), "; buy a disk")
        XCTAssertEqual(
            SystemError(EROFS).remedyForWriting(in: "notes", ", and save again"),
            "; make notes writable, and save again")
        XCTAssertEqual(SystemError(ENOSPC).remedyForWriting(", and save again"), "; free some space, and save again")
        XCTAssertTrue(SystemError(ENOTDIR).isMissing && !SystemError(ENOTDIR).isDenied)
        XCTAssertTrue(SystemError(EROFS).isReadOnly && !SystemError(EROFS).isDenied)
    }
}
