"""Chromium, without a window, over a pipe: the few commands of its DevTools protocol that the page's tests need."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def program() -> str | None:
    """Where it is; ``HOODOO_CHROMIUM`` may say it."""
    named = os.environ.get("HOODOO_CHROMIUM")
    return named or next((found for found in map(shutil.which, NAMES) if found), None)


class Browser:
    """One page. ``asked`` are the addresses that it has asked for, ``errors`` what scripts have thrown."""

    def __init__(self, command: str, profile: Path) -> None:
        into, self._write = os.pipe()
        self._read, out = os.pipe()
        self._left, self._number = b"", 0
        self.asked: list[str] = []
        self.errors: list[str] = []
        # Chromium reads commands from descriptor 3 and answers at 4.
        line = f'exec 8<&{into} 9>&{out} 3<&8 4>&9; exec "$0" "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", line, command, "--headless=new", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run", f"--user-data-dir={profile}", "--remote-debugging-pipe",
             "about:blank"],
            pass_fds=(into, out), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(into)
        os.close(out)
        target = self._call("Target.createTarget", {"url": "about:blank"}, None)["targetId"]
        attach = {"targetId": target, "flatten": True}
        self._session: str | None = self._call("Target.attachToTarget", attach, None)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **arguments: Any) -> Any:
        return self._call(method, arguments, self._session)

    def show(self, width: int, height: int, dark: bool = False) -> None:
        """As a screen of that size."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height,
            deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)

    def value(self, script: str) -> Any:
        """What the expression is on the page."""
        found = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def _value_of_now(self, script: str) -> Any:
        try:
            return self.value(script)
        except AssertionError as error:
            if "navigated" not in str(error):
                raise
            return None

    def until(self, script: str, seconds: float = 30.0) -> Any:
        """The value, as soon as it is true, also on the page to which one goes meanwhile."""
        end = time.monotonic() + seconds
        while not (found := self._value_of_now(script)):
            assert time.monotonic() < end, (
                f"not in {seconds:g} s: {script}\n{self.errors}\n{self.value('document.body.innerText')}"
            )
            select.select([], [], [], 0.05)
        return found

    def picture(self, path: Path) -> None:
        """All of the page, as a PNG."""
        found = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(found["data"]))

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(20)
        os.close(self._write)
        os.close(self._read)

    def _call(self, method: str, arguments: dict[str, Any], session: str | None) -> Any:
        self._number += 1
        said = {"id": self._number, "method": method, "params": arguments}
        if session:
            said["sessionId"] = session
        os.write(self._write, json.dumps(said).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        more = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            self.asked.append(more["request"]["url"])
        elif event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(more["exceptionDetails"]))
        elif event.get("method") == "Log.entryAdded" and more["entry"]["source"] == "security":
            self.errors.append(str(more["entry"]["text"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._read], [], [], 60)
            data = os.read(self._read, 1 << 20) if ready else b""
            assert data, "the browser gives no answer"
            self._left += data
        first, _, self._left = self._left.partition(b"\0")
        found: dict[str, Any] = json.loads(first)
        return found
