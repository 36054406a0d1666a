"""The pictures of docs/studio.md, taken while its journey is gone through in a browser: curves, rollouts, labels, bench, comparison.

    python scripts/picture_studio.py FOLDER

FOLDER holds my.py and the runs `runs/first` and `runs/second` of that page. Labels are given on the way, by keyboard, so
`runs/first/labels` is there afterwards for the command that holds the reward against them.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from guerdon.studio.library import id_of

FIGURES = Path(__file__).parents[1] / "docs/figures"
TOKEN = "pictures"
LABELS = 24


def main(folder: Path) -> None:
    shutil.rmtree(folder / "runs/first/labels", ignore_errors=True)
    environment = {**os.environ, "GUERDON_TOKEN": TOKEN}
    command = [sys.executable, "-m", "guerdon.cli.main", "view", "runs", "--port", "0", "--json"]
    server = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    url = re.search(r'"url": "([^"]+)"', server.stdout.readline())
    assert url is not None
    try:
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 800}, device_scale_factor=1.5)
            page.goto(f"{url[1]}/?token={TOKEN}")
            journey(page, url[1], id_of(folder / "runs/first"), id_of(folder / "runs/second"))
    finally:
        server.terminate()
        server.wait()


def journey(page: Page, url: str, first: str, second: str) -> None:
    page.locator("tbody tr").first.wait_for()

    page.goto(f"{url}/run/{first}")
    page.locator("main .chart svg").nth(2).wait_for()
    page.locator("h2", has_text="Curves").scroll_into_view_if_needed()
    page.evaluate("scrollTo(0, document.querySelector('main .chart').getBoundingClientRect().top - 70)")
    keep(page, "studio_curves")

    page.goto(f"{url}/rollouts?run={first}&step=59&sort=-reward")
    page.locator("tbody tr").nth(4).wait_for()
    page.locator(".said-text").first.wait_for()
    page.get_by_text("files read").wait_for(state="hidden")
    keep(page, "studio_rollouts")

    page.goto(f"{url}/labels?run={first}&order=odd")
    for n in range(LABELS):
        page.locator(".label-stage:not([inert])").wait_for()
        card = page.locator(".label-card")
        said, card_text = card.inner_text(), card.text_content() or ""
        paid = float(re.search(r"reward (\S+)", said)[1].replace("−", "-"))  # type: ignore[index]
        is_right = card.locator(".chip", has_text=re.compile("^right$")).count() > 0
        page.keyboard.press("y" if is_right else "h" if paid > 0.5 else "n")
        expect(card).not_to_have_text(card_text)
        page.get_by_text(f"{n + 1} labelled").wait_for()
        if n == LABELS // 2:
            page.goto(f"{url}/labels?run={first}&order=random")
    page.wait_for_timeout(500)
    keep(page, "studio_labels")

    page.goto(f"{url}/bench?run={first}&step=30&reward=my.py:second")
    page.locator(".bench-parts").wait_for(timeout=60_000)
    page.locator("body").press("s")
    page.locator(".bench-stats").wait_for(timeout=60_000)
    keep(page, "studio_bench", height=1100)

    page.goto(f"{url}/compare?run={first}&run={second}")
    page.locator("main .chart svg").first.wait_for()
    page.get_by_text("points (").first.wait_for()
    keep(page, "studio_compare", height=1250)


def keep(page: Page, name: str, height: int | None = None) -> None:
    if height is not None:
        page.set_viewport_size({"width": 1280, "height": height})
    page.wait_for_timeout(600)
    taken: Any = Image.open(io.BytesIO(page.screenshot()))
    taken.save(FIGURES / f"{name}.webp", quality=80, method=6)
    page.set_viewport_size({"width": 1280, "height": 800})


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
