"""Write nodelint/data/catalog_columns.json: the instance types of data/catalog.json in columns, which a run reads.

    python tools/make_columns.py

Run it after each change of data/catalog.json. A test fails if the file is out of date.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from nodelint.data import DATA  # noqa: E402
from nodelint.ec2.snapshot import parse_snapshot, snapshot_text  # noqa: E402
from nodelint.ec2.snapshot.columns import columns_text  # noqa: E402


def columns_file(catalogue: bytes) -> str:
    """Return the text of `catalog_columns.json` for the bytes of `catalog.json`."""
    snapshot = parse_snapshot(catalogue)
    head = json.loads(snapshot_text(snapshot._replace(rows=[])))
    types = json.loads(snapshot_text(snapshot))["instanceTypes"]
    head["instanceTypes"] = {**types, "rows": []}
    written = {"size": len(catalogue), "snapshot": head, "columns": columns_text(snapshot)}
    return json.dumps(written, indent=0, ensure_ascii=False) + "\n"


def main() -> None:
    """Write `catalog_columns.json` from `catalog.json`."""
    text = columns_file(Path(DATA, "catalog.json").read_bytes())
    Path(DATA, "catalog_columns.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
