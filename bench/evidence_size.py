"""How large the package's evidence is: verdicts, the runs beside the package, and the same with a file for each proof.

`python -m bench.evidence_size` reads guerdon/evidence and records/ and runs nothing.
"""

from __future__ import annotations

import json
import lzma
import tempfile
import zlib
from pathlib import Path

from guerdon.evidence import proof_files
from guerdon.evidence.packed import packed
from guerdon.evidence.record_files import ENDING

RECORDS = Path(__file__).parent.parent / "records"


def sizes() -> dict[str, int]:
    """Bytes by what they are of."""
    text = (proof_files.SHIPPED / proof_files.VERDICTS).read_text()
    file = json.loads(text)
    folded = packed(proof_files.SHIPPED).proofs
    claims = [claim for proof in folded.values() for claim in proof.get("claims", ())]
    records = [path.read_bytes() for path in sorted(RECORDS.glob(f"*{ENDING}"))]
    return {
        "claims": len(claims),
        "verdicts.json": len(text),
        "verdicts.json, deflated": len(zlib.compress(text.encode(), 9)),
        "of it, claims": sum(map(_size, claims)),
        "a claim": round(sum(map(_size, claims)) / len(claims)),
        "of it, the table of functions": _size(file["code"]),
        "of it, which of them a proof executed": sum(_size(proof["code"]) for proof in folded.values()),
        "records": sum(map(len, records)),
        "records, unpacked": sum(len(lzma.decompress(data)) for data in records),
        "a file for each proof": _in_plain_files(),
    }


def _size(value: object) -> int:
    return len(json.dumps(value, separators=(",", ":")))


def _in_plain_files() -> int:
    """What the same proofs come to in a folder of one's own, without pages and figures."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        proof_files.write(folder, *proof_files.read_all(proof_files.SHIPPED).values())
        proof_files.write_calibration(folder, proof_files.read(proof_files.SHIPPED, proof_files.CALIBRATION))
        return sum(path.stat().st_size for path in folder.glob("*.json"))


def main() -> None:
    for what, size in sizes().items():
        print(f"{what:<40}{size:>12,}")


if __name__ == "__main__":
    main()
