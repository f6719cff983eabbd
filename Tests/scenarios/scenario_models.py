"""Models that scenarios of several areas are about."""

from __future__ import annotations

CARS = {
    "Car": {
        "maker": "string?",
        "model": "string?",
        "numberPlate": "string",
        "currentDrivingSpeed": "int32? transient = 0",
        "owner": "to-one Person? inverse cars",
    },
    "SportCar": {"@parent": "Car"},
    "Person": {"firstName": "string", "lastName": "string", "cars": "to-many Car inverse owner"},
}
