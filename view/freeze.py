"""Which values does a link of this version leave out? `python -m view.freeze > view/links/v1.json` writes them down.

A link holds only what differs from its preset, so the presets and the defaults are part of what it says. Once links of
a version are about, its file is never written again: when a preset or a default changes, raise CURRENT in share.py and
write the next file. tests/test_share.py fails until that is done.
"""

from __future__ import annotations

import json

from sched.presets import DEFAULT_PRESET, PRESETS
from sched.scenario import SETTINGS, Scenario, write_value


def frozen() -> dict[str, object]:
    """Today's defaults and presets, as text."""
    default = Scenario()
    return {
        "preset": DEFAULT_PRESET,
        "defaults": {name: write_value(name, default.value(name)) for name in SETTINGS},
        "presets": {
            one.name: {name: write_value(name, value) for name, value in one.settings.items()}
            for one in PRESETS.values()
        },
    }


if __name__ == "__main__":
    print(json.dumps(frozen(), indent=1, ensure_ascii=False))
