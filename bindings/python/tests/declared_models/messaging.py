"""Classes with the version hashes of the model zmessaging2.21.1.xcdatamodel."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from corestone.declarative import (
    Entity,
    OrderedToMany,
    ToMany,
    attribute,
    float32,
    index,
    int16,
    int32,
    to_many,
    to_one,
)

SOURCE = "wireapp+wire-ios-data-model/zmessaging.xcdatamodeld/zmessaging2.21.1.xcdatamodel"


class Message(Entity, abstract=True):
    destructionDate: datetime | None
    expirationDate: datetime | None
    isEncrypted: bool = False
    isExpired: bool | None = False
    isObfuscated: bool | None = False
    isPlainText: bool | None
    modifiedKeys: Any = attribute("transformable", optional=True)
    needsToBeUpdatedFromBackend: bool = False
    nonce: Any = attribute(transient=True, optional=True)
    nonce_data: bytes | None = attribute(version_hash_modifier="add_index1")
    senderClientID: str | None
    serverTimestamp: datetime | None
    confirmations: ToMany[MessageConfirmation] = to_many(delete="cascade")
    hiddenInConversation: Conversation | None = to_one(inverse="hiddenMessages")
    missingRecipients: ToMany[UserClient] = to_many(inverse="messagesMissingRecipient", transient=True)
    reactions: ToMany[Reaction] = to_many(delete="cascade")
    sender: User | None = to_one(inverse=None)
    visibleInConversation: Conversation | None = to_one(inverse="messages")
    by_destructionDate = index("destructionDate", name="destructionDate")
    by_nonce_data = index("nonce_data", name="nonce_data")


class AssetClientMessage(Message):
    assetId: Any = attribute(transient=True, optional=True)
    assetId_data: bytes | None
    associatedTaskIdentifier: Any = attribute(transient=True, optional=True)
    associatedTaskIdentifier_data: bytes | None
    delivered: bool = False
    preprocessedSize: Any = attribute(transient=True, optional=True)
    preprocessedSize_data: bytes | None
    progress: float32 | None = 0.0
    transferState: int16 | None = 0
    uploadState: int16 | None
    dataSet: OrderedToMany[GenericMessageData] = to_many(optional=False)


class ClientMessage(Message):
    delivered: bool = False
    linkPreviewState: int16 = 0
    updatedTimestamp: datetime | None
    dataSet: OrderedToMany[GenericMessageData] = to_many(optional=False)


class Connection(Entity):
    existsOnBackend: bool = False
    lastUpdateDateInGMT: datetime | None
    message: str | None
    modifiedKeys: Any = attribute("transformable", optional=True)
    needsToBeUpdatedFromBackend: bool = False
    status: int16 = 0
    conversation: Conversation | None = to_one(inverse="connection")
    to: User | None = to_one(inverse="connection")


class Conversation(Entity):
    archivedChangedTimestamp: datetime | None
    callStateNeedsToBeUpdatedFromBackend: bool = False
    clearedTimeStamp: datetime | None
    conversationType: int16 = 0
    draftMessageText: str | None
    hasUnreadUnsentMessage: bool | None = False
    internalEstimatedUnreadCount: int | None = 0
    internalIsArchived: bool = False
    isSelfAnActiveMember: bool = True
    isSilenced: bool = False
    lastModifiedDate: datetime | None
    lastReadServerTimeStamp: datetime | None
    lastServerTimeStamp: datetime | None
    lastUnreadKnockDate: datetime | None
    lastUnreadMissedCallDate: datetime | None
    messageDestructionTimeout: float | None = 0.0
    modifiedKeys: Any = attribute("transformable", optional=True)
    needsToBeUpdatedFromBackend: bool = False
    normalizedUserDefinedName: str | None
    remoteIdentifier: Any = attribute(transient=True, optional=True)
    remoteIdentifier_data: bytes | None
    securityLevel: int16 = 0
    silencedChangedTimestamp: datetime | None
    userDefinedName: str | None
    voiceChannel: Any = attribute(transient=True, optional=True)
    callParticipants: OrderedToMany[User] = to_many(inverse="activeCallConversations")
    connection: Connection | None = to_one(inverse="conversation")
    creator: User | None = to_one(inverse="conversationsCreated")
    hiddenMessages: OrderedToMany[Message]
    lastServerSyncedActiveParticipants: OrderedToMany[User] = to_many(inverse="lastServerSyncedActiveConversations")
    messages: OrderedToMany[Message]
    otherActiveParticipants: OrderedToMany[User] = to_many(inverse="activeConversations")
    by_normalizedUserDefinedName = index("normalizedUserDefinedName", name="normalizedUserDefinedName")
    by_remoteIdentifier_data = index("remoteIdentifier_data", name="remoteIdentifier_data")
    internalIsArchived_lastModifiedDate = index("internalIsArchived", "lastModifiedDate")


class GenericMessageData(Entity):
    data: bytes
    asset: AssetClientMessage | None = to_one(inverse="dataSet")
    message: ClientMessage | None = to_one(inverse="dataSet")


class ImageMessage(Message):
    imageType: str | None
    isAnimatedGIF: bool = False
    mediumDataLoaded: bool = False
    mediumRemoteIdentifier: Any = attribute(transient=True, optional=True)
    mediumRemoteIdentifier_data: bytes | None
    originalDataProcessed: bool = False
    originalSize: Any = attribute(transient=True, optional=True)
    originalSize_data: bytes | None


class KnockMessage(Message):
    """An entity without properties of its own."""


class MessageConfirmation(Entity):
    type: int16 = 0
    message: Message = to_one(inverse="confirmations")
    user: User | None = to_one(inverse=None)


class Reaction(Entity):
    modifiedKeys: Any = attribute("transformable", optional=True)
    unicodeValue: str | None
    message: Message | None = to_one(inverse="reactions")
    users: ToMany[User] = to_many(inverse="reactions", optional=False)


class Session(Entity):
    selfUser: User | None = to_one(inverse=None)


class SystemMessage(Message):
    needsUpdatingUsers: bool | None
    systemMessageType: int16 | None = 0
    text: str | None
    addedUsers: ToMany[User] = to_many(inverse="showingUserAdded")
    clients: ToMany[UserClient] = to_many(inverse="addedOrRemovedInSystemMessages")
    removedUsers: ToMany[User] = to_many(inverse="showingUserRemoved")
    users: ToMany[User] = to_many(inverse="systemMessages")


class TextMessage(Message):
    text: str | None


class User(Entity):
    accentColorValue: int16 | None = 0
    emailAddress: str | None
    imageCorrelationIdentifier: Any = attribute(transient=True, optional=True)
    imageCorrelationIdentifier_data: bytes | None
    imageMediumData: bytes | None = attribute(external_storage=True)
    imageSmallProfileData: bytes | None = attribute(external_storage=True)
    localMediumRemoteIdentifier: Any = attribute(transient=True, optional=True)
    localMediumRemoteIdentifier_data: bytes | None
    localSmallProfileRemoteIdentifier: Any = attribute(transient=True, optional=True)
    localSmallProfileRemoteIdentifier_data: bytes | None
    mediumRemoteIdentifier: Any = attribute(transient=True, optional=True)
    mediumRemoteIdentifier_data: bytes | None
    modifiedKeys: Any = attribute("transformable", optional=True)
    name: str | None
    needsToBeUpdatedFromBackend: bool = False
    normalizedEmailAddress: str | None
    normalizedName: str | None
    originalProfileImageData: bytes | None
    phoneNumber: str | None
    remoteIdentifier: Any = attribute(transient=True, optional=True)
    remoteIdentifier_data: bytes | None
    smallProfileRemoteIdentifier: Any = attribute(transient=True, optional=True)
    smallProfileRemoteIdentifier_data: bytes | None
    activeCallConversations: OrderedToMany[Conversation]
    activeConversations: OrderedToMany[Conversation]
    clients: ToMany[UserClient]
    connection: Connection | None = to_one(inverse="to")
    conversationsCreated: ToMany[Conversation]
    lastServerSyncedActiveConversations: OrderedToMany[Conversation]
    reactions: ToMany[Reaction]
    showingUserAdded: ToMany[SystemMessage]
    showingUserRemoved: ToMany[SystemMessage]
    systemMessages: ToMany[SystemMessage]
    by_normalizedEmailAddress = index("normalizedEmailAddress", name="normalizedEmailAddress")
    by_normalizedName = index("normalizedName", name="normalizedName")
    by_remoteIdentifier_data = index("remoteIdentifier_data", name="remoteIdentifier_data")


class UserClient(Entity):
    activationAddress: str | None
    activationDate: datetime | None
    activationLocationLatitude: float | None = 0.0
    activationLocationLongitude: float | None = 0.0
    apsDecryptionKey: bytes | None
    apsVerificationKey: bytes | None
    deviceClass: str | None
    fingerprint: bytes | None
    label: str | None
    markedToDelete: bool = False
    model: str | None
    modifiedKeys: Any = attribute("transformable", optional=True)
    needsToNotifyUser: bool = False
    needsToUploadSignalingKeys: bool | None
    numberOfKeysRemaining: int32 | None = 0
    preKeysRangeMax: int = 0
    remoteIdentifier: str | None
    type: str = "permanent"
    addedOrRemovedInSystemMessages: ToMany[SystemMessage]
    ignoredByClients: ToMany[UserClient] = to_many(inverse="ignoredClients", optional=False)
    ignoredClients: ToMany[UserClient] = to_many(optional=False)
    messagesMissingRecipient: ToMany[Message] = to_many(transient=True)
    missedByClient: UserClient | None = to_one(inverse="missingClients")
    missingClients: ToMany[UserClient]
    trustedByClients: ToMany[UserClient] = to_many(inverse="trustedClients", optional=False)
    trustedClients: ToMany[UserClient] = to_many(optional=False)
    user: User | None = to_one(inverse="clients")


CLASSES = [
    Message,
    AssetClientMessage,
    ClientMessage,
    Connection,
    Conversation,
    GenericMessageData,
    ImageMessage,
    KnockMessage,
    MessageConfirmation,
    Reaction,
    Session,
    SystemMessage,
    TextMessage,
    User,
    UserClient,
]
