"""Classes with the version hashes of the model Feed.xcdatamodel."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from corestone.declarative import URI, Entity, ToMany, attribute, float32, index, int16, int32, to_many, to_one

SOURCE = "HalloAppInc+halloapp-ios-pub/Feed.xcdatamodeld/Feed.xcdatamodel"


class FeedMention(Entity):
    index: int32 | None = 0
    name: str | None
    userID: str | None


class FeedNotification(Entity):
    commentId: str | None
    eventValue: int16
    mediaPreview: bytes | None
    postId: str
    postMediaType: int16 = 0
    read: bool = False
    text: str | None
    timestamp: datetime
    userId: str
    mentions: ToMany[FeedMention] = to_many(inverse=None)


class FeedPost(Entity):
    groupId: str | None
    id_: str
    statusValue: int16 = 0
    text: str | None
    timestamp: datetime
    unreadCount: int32 = 0
    userId: str
    comments: ToMany[FeedPostComment] = to_many(delete="cascade")
    info: FeedPostInfo | None = to_one(inverse="post", delete="cascade")
    media: ToMany[FeedPostMedia] = to_many(delete="deny")
    mentions: ToMany[FeedMention] = to_many(inverse=None)
    by_groupId = index("groupId", name="groupId")
    byTimestamp = index("-timestamp")
    byTimestampAndUser = index("userId", "timestamp")
    byGroupId = index("groupId")


class FeedPostComment(Entity, unique=["id"]):
    id_: str
    statusValue: int16 = 0
    text: str
    timestamp: datetime
    userId: str
    mentions: ToMany[FeedMention] = to_many(inverse=None)
    parent: FeedPostComment | None = to_one(inverse="replies")
    post: FeedPost = to_one(inverse="comments")
    replies: ToMany[FeedPostComment] = to_many(delete="cascade")
    by_timestamp = index("timestamp", name="timestamp")
    byTimetamp = index("timestamp")


class FeedPostInfo(Entity):
    privacyListTypeValue: str | None
    receiptInfo: Any = attribute("transformable", transformer="FeedPostReceiptInfoTransformer", optional=True)
    post: FeedPost | None = to_one(inverse="info")


class FeedPostMedia(Entity):
    height: float32 = 0.0
    key: str
    order: int16 = 0
    relativeFilePath: str | None
    sha256: str
    statusValue: int16 = 0
    typeValue: int16 | None = 0
    uploadUrl: URI | None
    url: URI | None
    width: float32 = 0.0
    post: FeedPost = to_one(inverse="media")


CLASSES = [FeedMention, FeedNotification, FeedPost, FeedPostComment, FeedPostInfo, FeedPostMedia]
