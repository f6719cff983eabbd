"""Classes with the version hashes of the model DataModel.xcdatamodel."""

from __future__ import annotations

from datetime import datetime

from corestone.declarative import Entity, ToMany, int16, int32, to_many, to_one

SOURCE = "KyleV35+HoopStats/DataModel.xcdatamodeld/DataModel.xcdatamodel"


class Game(Entity):
    date: datetime | None
    gameStatLines: ToMany[GameStatLine]
    teams: ToMany[Team] = to_many(inverse="games")


class GameStatLine(Entity):
    assists: int32 | None = 0
    defensiveRebounds: int32 | None = 0
    fouls: int32 | None = 0
    offensiveRebounds: int32 | None = 0
    onePointAttempted: int32 | None = 0
    onePointMade: int32 | None = 0
    steals: int32 | None = 0
    threePointsAttempted: int32 | None = 0
    threePointsMade: int32 | None = 0
    turnovers: int32 | None = 0
    twoPointsAttempted: int32 | None = 0
    twoPointsMade: int32 | None = 0
    game: Game = to_one(inverse="gameStatLines", minimum=1)
    player: Player = to_one(inverse="gameStatLines", minimum=1)


class Player(Entity):
    firstName: str | None
    jerseyNumber: int16 | None = 0
    lastName: str | None
    gameStatLines: ToMany[GameStatLine]
    team: Team | None = to_one(inverse="players", minimum=1)


class Team(Entity):
    location: str | None
    teamName: str | None
    games: ToMany[Game]
    players: ToMany[Player]


CLASSES = [Game, GameStatLine, Player, Team]
