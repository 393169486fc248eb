"""Opens the built pages in a browser: `python -m tests.docs.browser FOLDER [CHROMIUM]`.

Every page is drawn without an error and without a request that fails, in a wide window and in that
of a telephone, where nothing is wider than the window. Blocks of code that are wider scroll. The
search answers with the places of what was asked.
"""

import shutil
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from playwright.sync_api import Browser, Error, Page, Playwright, ViewportSize, sync_playwright

NO_BROWSER = """no browser: pass the path of a Chromium (nox -s browser -- PATH), install one as a
package of the system (chromium), or run `playwright install chromium` ({why})"""
NAMES = ["chromium", "chromium-browser", "google-chrome"]
OPTIONS = ["--no-sandbox", "--single-process", "--no-zygote"]  # as containers need them
WIDE: ViewportSize = {"width": 1280, "height": 900}
NARROW: ViewportSize = {"width": 390, "height": 800}
ANSWERS = {
    "cumsum": "#tenferro.cumsum",
    "tn.linalg.svd": "#tenferro.linalg.svd",
    "jnp.transpose": "#tenferro.transpose",
    "TENFERRO_EXECUTOR": "environment.html",
}
# What is cut off: wider than its box, in a box that does not scroll.
CUT_OFF = """() => [...document.querySelectorAll("pre, table, math, .sig")].filter((e) => {
  for (let box = e; box !== document.body; box = box.parentElement)
    if (["auto", "scroll"].includes(getComputedStyle(box).overflowX)) return false;
  return e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0;
}).map((e) => e.textContent.slice(0, 60))"""
SIDEWAYS = "() => document.documentElement.scrollWidth - window.innerWidth"


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and writes no line for each."""

    def log_message(self, *args: object) -> None:
        """Nothing."""


def launched(playwright: Playwright, path: str | None) -> Browser:
    """The browser at `path`, one of the system, or that of playwright."""
    found = path or next(filter(None, map(shutil.which, NAMES)), None)
    try:
        return playwright.chromium.launch(executable_path=found, args=OPTIONS)
    except Error as error:
        sys.exit(NO_BROWSER.format(why=str(error).splitlines()[0]))


def opened(browser: Browser, found: list[str]) -> Page:
    """A window that notes errors of scripts and requests that fail."""
    page = browser.new_page()

    def note(what: str) -> None:
        found.append(f"{page.url}: {what}")

    page.on("pageerror", lambda error: note(f"error: {error}"))
    page.on("requestfailed", lambda request: note(f"failed: {request.url}"))
    page.on("response", lambda answer: answer.status >= 400 and note(f"absent: {answer.url}"))
    page.on("console", lambda line: line.type == "error" and note(f"console: {line.text}"))
    return page


def faults(browser: Browser, folder: Path, site: str) -> Iterator[str]:
    """What is wrong with the pages, a line each."""
    names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.html"))]
    found: list[str] = []
    page = opened(browser, found)
    for window in (WIDE, NARROW):
        page.set_viewport_size(window)
        for name in names:
            page.goto(f"{site}/{name}", wait_until="load")
            title = f"{name}, {window['width']} wide"
            if not page.title():
                yield f"{title}: empty"
            if (more := page.evaluate(SIDEWAYS)) > 0:
                yield f"{title}: {more} too wide"
            yield from (f"{title}: cut off: {text!r}" for text in page.evaluate(CUT_OFF))
    for asked, place in ANSWERS.items():
        page.goto(f"{site}/search.html?q={asked}")
        try:
            page.wait_for_selector("#search-results li a", timeout=20_000)
        except Error:
            yield f"search: {asked} has no answer"
            continue
        page.wait_for_load_state("networkidle")  # the summaries of all answers are there
        answers = page.locator("#search-results li > a").all()
        first = [answer.get_attribute("href") or "" for answer in answers[:3]]
        if not any(answer.endswith(place) for answer in first):
            yield f"search: {asked} leads to {first}"
    yield from found


def main(folder: Path, path: str | None = None) -> int:
    """The exit status: 1 if anything is wrong."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = launched(playwright, path)
        found = list(faults(browser, folder, f"http://127.0.0.1:{server.server_port}"))
        browser.close()
    sys.stdout.writelines(f"{line}\n" for line in found)
    sys.stdout.write(f"{len(list(folder.rglob('*.html')))} pages, {len(found)} faults\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:3]))
