"""A visit of the app in a Chromium, for the tests that need one."""

import re
from urllib.parse import urlsplit

PATIENCE_S = 120  # models load, and two cores may be shared
EXPECTED = re.compile(r"/[a-z]+/_stcore/(health|host-config)$")  # sought under a deep link's path first: 404


class Visit:
    """A page in a window of its own, and everything that went wrong in it."""

    def __init__(self, browser, *, size=(1440, 900), theme="light", motion="no-preference"):
        self.context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=theme, reduced_motion=motion
        )
        self.context.set_default_timeout(PATIENCE_S * 1000)
        self.page = self.context.new_page()
        self.errors, self.hosts = [], set()
        self.page.on("console", self._log)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.hosts.add(urlsplit(request.url).hostname))

    def _log(self, message):
        if message.type == "error" and not EXPECTED.search(message.location["url"]):
            self.errors.append(message.text)

    def open(self, address, there=".stage .where b"):
        """there: what a page shows once it stands."""
        self.page.goto(address)
        self.page.locator(there).first.wait_for()
        return self

    def run(self):
        """Press Run and wait for the end, the race included. The new run's id in the address tells it from the last."""
        run = "new URLSearchParams(location.search).get('run')"
        before = self.page.evaluate(run)
        self.button("Run").click()
        self.page.wait_for_function(f"b => {run} !== b && /^[0-9a-f]{{16}}$/.test({run})", arg=before)
        self.page.get_by_text("reached the limit").wait_for()
        self.button("Stop").and_(self.page.locator(":disabled")).wait_for()
        self.button("Play the race").wait_for()

    def button(self, name):
        return self.page.get_by_role("button", name=name, exact=True)

    def set_most(self, n):
        """How many tokens to decode at most."""
        self.button("More settings").click()
        box = self.page.get_by_label("New tokens at most")
        box.fill(str(n))
        box.press("Enter")
        self.page.keyboard.press("Escape")

    def save(self, name, path):
        if not self.button(name).is_visible():
            self.button("Files").click()
        with self.page.expect_download() as download:
            self.button(name).click()
        download.value.save_as(path)

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    @property
    def where(self):
        """Round and step, both from 1."""
        told = re.findall(r"\d+", self.page.locator(".stage .where").inner_text())
        return int(told[0]), int(told[2])

    @property
    def text(self):
        """The prompt and the whole text, what is still hidden included."""
        return self.page.locator(".stage .inner").text_content()

    def keeps(self, place):
        """Wait until the address holds the place."""
        want = f"round={place[0]}&step={place[1]}"
        self.page.wait_for_function("want => location.search.includes(want)", arg=want)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.context.close()
        if kind is None:
            assert self.errors == []
            assert self.hosts <= {"localhost", None, ""}
