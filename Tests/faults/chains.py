"""Migrations over five versions of a model that fail: at each call on the store's files, by a kill or a cancellation.

The steps are inferred mappings, mapping models, one of them with a policy, and stages (chain_migrator.py). Whatever
happens, the store is that of the first version or that of the last one, with all of its objects and its history, and a
second migration succeeds and leaves nothing behind.

Usage: chains.py [--type Routes|History|Rollback|Stages|Mixed…] [--only faults|kills|cancels|managers|races]
                 [--share 1.0] [--kills 200] [--cancels 20] [--races 100] [--seed N]

With a share below 1 that part of the calls is tried, chosen by the seed. The last line counts trials and wrong states.
"""

from __future__ import annotations

import argparse
import random
import sys

from migrations import PARTS, Count, Migrations, Part, cancel, main

KINDS = ("Routes", "History", "Rollback", "Stages", "Mixed")


class Chains(Migrations):
    program = "chain_migrator.py"
    last = "5"


def cancel_managers(campaign: Migrations, options: argparse.Namespace, chance: random.Random, count: Count) -> str:
    """Cancellations by the migration managers which only mapping models have."""
    if campaign.kind == "Stages":
        return "without migration managers"
    return cancel(campaign, options, chance, count, ("count-managed", "cancel-managed"))


if __name__ == "__main__":
    parts: dict[str, Part] = {**PARTS, "managers": cancel_managers}
    sys.exit(main(__doc__, "chains", Chains, KINDS, parts))
