"""A visitor without a browser: speaks to a server of the app as a page does, over Streamlit's own socket and messages.

It knows the Watch page: fills its boxes in, presses Run, keeps polling as the page does, and notes what it is shown.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import connect
from websockets.typing import Subprotocol

_CLOSE_S = 0.1  # for a goodbye: what the page has not read yet stands before it


class Visitor:
    """One session. run, text, live: of what is on the stage. waited: what the page says over it while a run waits.

    polls: the parts of the page that are looked at again and again: seconds between two, and when the next one is due.
    """

    def __init__(self, address: str, *, page: str = "watch", query: str = "", patience_s: float = 300.0) -> None:
        parts = urlsplit(address)
        place = f"ws://{parts.netloc}{parts.path}/_stcore/stream"
        self._open = ExitStack()
        self._socket = self._open.enter_context(
            connect(
                place,
                subprotocols=[Subprotocol("streamlit")],
                max_size=None,
                ping_interval=None,
                close_timeout=_CLOSE_S,
            )
        )
        self._patience_s = patience_s
        self._page, self._query = page, query
        self._page_hash = ""
        self._ids: dict[str, str] = {}  # of widgets, by their keys
        self._states: dict[str, WidgetState] = {}
        self.polls: dict[str, tuple[float, float]] = {}
        self.run, self.text, self.live = "", "", False
        self.stoppable = False
        self.errors: list[str] = []
        self.waited = ""
        self._ask()
        self.until(lambda: bool(self.run))

    def fill(self, key: str, value: str | float) -> None:
        """Put a value into a box, as a reader does who leaves it again; it is sent with the next press."""
        state = WidgetState(id=self._ids[key])
        if isinstance(value, str):
            state.string_value = value
        else:
            state.double_value = value
        self._states[key] = state

    def press(self, key: str) -> None:
        """A run that was asked for goes until the page says otherwise: its Stop comes after the stage."""
        self.stoppable = self.stoppable or key == "run_button"
        self._ask(pressed=self._ids[key])

    def until(self, there: Callable[[], bool]) -> float:
        """Play the page's part until something is there; the seconds that it took. Raises TimeoutError."""
        start = time.monotonic()
        while not there():
            now = time.monotonic()
            if now - start > self._patience_s:
                raise TimeoutError(f"{self._patience_s:.0f} s without it; shown: {self.run!r}, {self.errors}")
            for fragment, (every, due) in list(self.polls.items()):
                if now >= due:
                    self.polls[fragment] = every, now + every
                    self._ask(fragment=fragment)
            due = min((due for _every, due in self.polls.values()), default=now + 1.0)
            try:
                data = self._socket.recv(timeout=max(0.01, min(1.0, due - now)))
            except TimeoutError:
                continue
            self._take(ForwardMsg.FromString(data))  # type: ignore[arg-type]
        return time.monotonic() - start

    def close(self) -> None:
        self._open.close()

    def _ask(self, *, pressed: str = "", fragment: str = "") -> None:
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.fragment_id, state.is_auto_rerun = self._query, fragment, bool(fragment)
        if self._page_hash:
            state.page_script_hash = self._page_hash
        else:
            state.page_name = self._page
        state.widget_states.widgets.extend(self._states.values())
        if pressed:
            state.widget_states.widgets.append(WidgetState(id=pressed, trigger_value=True))
        if not fragment:
            self.polls.clear()
        self._socket.send(message.SerializeToString())

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self._page_hash = message.new_session.page_script_hash
            if not message.metadata.run.fragment_ids:  # the whole page is drawn anew
                self.polls.clear()
        elif kind == "navigation":
            self._page_hash = message.navigation.page_script_hash
        elif kind == "stop_auto_rerun":
            for fragment in message.stop_auto_rerun.fragment_ids:
                self.polls.pop(fragment, None)
        elif kind == "auto_rerun":
            every = message.auto_rerun.interval
            self.polls[message.auto_rerun.fragment_id] = every, time.monotonic() + every
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._see(message.delta.new_element)

    def _see(self, element: Any) -> None:
        kind = element.WhichOneof("type")
        if kind == "bidi_component":
            data = json.loads(element.bidi_component.json or element.bidi_component.mixed.json)
            self.run, self.live = data["link"], data["live"]
            rounds = data["payload"]["rounds"]
            self.text = "".join(text for round_ in rounds for text, *_rest in round_["spans"])
        elif kind == "alert":
            self.errors.append(element.alert.body)
        elif kind == "exception":
            self.errors.append(element.exception.message)
        elif kind == "html" and element.html.body.startswith('<p class="sv-waiting"'):
            self.waited = element.html.body
        elif kind in ("button", "text_area", "number_input"):
            widget = getattr(element, kind)
            key = widget.id.rpartition("-")[2]
            self._ids[key] = widget.id
            if key == "stop_button":
                self.stoppable = not widget.disabled
