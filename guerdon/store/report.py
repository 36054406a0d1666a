from pathlib import Path


def write_report(path: Path) -> Path:
    return path
