import CCorestone
import CorestoneGraph
import XCTest

@testable import CorestoneABI

/// Objects whose last handles other threads release: they are freed by the next call of their context.
final class PendingReleasesTests: ContextHandleTestCase {
    /// An object that only its handle keeps alive.
    private final class Watched {
        let handle: OpaquePointer?
        weak var object: ManagedObject?
        var wasAliveInNestedCall = false

        init(_ handle: OpaquePointer?) throws {
            self.handle = handle
            object = try CorestoneABI.object(handle)
        }
    }

    /// The head of the list of the context.
    private func listHead() throws -> UnsafeMutablePointer<UInt64> {
        PendingReleases.head(of: try contextBox(context).context)
    }

    func testObjectReleasedOnAnotherThreadIsFreedByTheNextCall() throws {
        let (watched, head) = (try Watched(lab), try listHead())
        lab = nil
        XCTAssertEqual(head.pointee, 0)
        releaseElsewhere(watched.handle)
        XCTAssertFalse(isValid(watched.handle), "the handle is valid after its release")
        XCTAssertNotNil(watched.object)
        XCTAssertNotEqual(head.pointee, 0)
        enter(context)
        XCTAssertNil(watched.object)
        XCTAssertEqual(head.pointee, 0)
    }

    func testObjectReleasedOnTheThreadOfTheContextIsFreedAtOnce() throws {
        let (watched, head) = (try Watched(lab), try listHead())
        lab = nil
        release(watched.handle)
        XCTAssertNil(watched.object)
        XCTAssertEqual(head.pointee, 0)
    }

    /// The library does not use objects during a block, so a call within the block frees them, like an outermost call.
    func testCallWithinAPerformBlockFreesReleasedObjects() throws {
        final class Body {
            let test: PendingReleasesTests
            let watched: Watched
            init(_ test: PendingReleasesTests, _ watched: Watched) { (self.test, self.watched) = (test, watched) }
        }
        let watched = try Watched(lab)
        lab = nil
        let body = Body(self, watched)
        let userdata = Unmanaged.passUnretained(body).toOpaque()
        ok {
            cst_context_perform_and_wait(
                context,
                { userdata, context, _ in
                    guard let userdata else { return cst_status(CST_E_INTERNAL) }
                    let body = Unmanaged<Body>.fromOpaque(userdata).takeUnretainedValue()
                    body.test.releaseElsewhere(body.watched.handle)
                    body.test.enter(context)
                    body.watched.wasAliveInNestedCall = body.watched.object != nil
                    return cst_status(CST_OK)
                }, userdata, $0)
        }
        withExtendedLifetime(body) {}
        XCTAssertFalse(watched.wasAliveInNestedCall)
        XCTAssertNil(watched.object)
    }

    func testReleasedObjectsAreFreedWithTheLastHandleOfTheirContext() throws {
        let watched = try Watched(lab)
        lab = nil
        release(employee)
        employee = nil
        releaseElsewhere(watched.handle)
        XCTAssertNotNil(watched.object)
        release(context)
        context = nil
        XCTAssertNil(watched.object)
    }

    /// A context that the library uses itself can outlive its box, and gets a second one with its next handle.
    func testListOfAContextSurvivesASecondBox() throws {
        let id = try CorestoneABI.object(lab).objectID
        let own = try contextBox(context).context
        let head = PendingReleases.head(of: own)
        for handle in [lab, employee, context] { release(handle) }
        (lab, employee, context) = (nil, nil, nil)
        XCTAssertTrue(own.hostSlot.attachment is PendingReleases)

        XCTAssertTrue(HandleTable.retain(token(coordinator)))
        var box: ContextBox? = ContextBox(own, coordinatorToken: token(coordinator))
        XCTAssertEqual(box?.pendingReleases, head)
        let second = try box?.makeHandle()
        box = nil
        let watched = try Watched(ownedHandle(own.object(with: id)))
        XCTAssertNotNil(watched.object)
        releaseElsewhere(watched.handle)
        XCTAssertNotEqual(head.pointee, 0)
        enter(second)
        XCTAssertNil(watched.object)
        XCTAssertEqual(head.pointee, 0)
        release(second)
    }
}
