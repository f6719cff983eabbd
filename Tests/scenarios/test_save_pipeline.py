"""Saving: the order of its steps, and the notifications of observers."""

from __future__ import annotations

from typing import Any

from corestone import Model


def test_s220_observers_are_notified_of_each_change_before_a_save(opened: Any) -> None:
    model = Model(
        {
            "Car": {
                "maker": "string?",
                "model": "string?",
                "numberPlate": "string",
                "currentDrivingSpeed": "int32? transient",
                "owner": "to-one Person? inverse cars",
            },
            "SportCar": {"@parent": "Car"},
            "Person": {"firstName": "string", "lastName": "string", "cars": "to-many Car? inverse owner"},
        }
    )
    ctx = opened(model).context()
    car = ctx.insert("Car")
    heard: list[Any] = []
    token = car.observe("maker", lambda item, change: heard.append(change.new))
    car.maker = "FIAT"
    car.model, car.numberPlate = "Panda", "1"
    car.maker = "FCA"
    assert heard == ["FIAT", "FCA"]
    ctx.save()
    assert len(heard) == 2
    token.cancel()
