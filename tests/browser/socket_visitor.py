"""A visitor without a browser: speaks the app's websocket, moves sliders, and waits until the script has run."""

import asyncio
import time
from types import TracebackType
from typing import Self

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from websockets.asyncio.client import connect


class SocketVisitor:
    """One session of the app."""

    def __init__(self, address: str, query: str = "") -> None:
        self.url = address.replace("http", "ws", 1) + "_stcore/stream"
        self.query = query
        self.sliders: dict[str, tuple[str, list[str]]] = {}  # label -> widget id, options
        self.states: dict[str, WidgetState] = {}
        self.bytes = 0

    async def __aenter__(self) -> Self:
        self.socket = await connect(self.url, subprotocols=["streamlit"], max_size=None, open_timeout=60)
        await self._run()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.socket.close()

    async def choose(self, label: str, option: str) -> float:
        """Move a slider; returns how long it took until everything of the new run was here [s]."""
        ident, _ = self.sliders[label]
        state = WidgetState(id=ident)
        state.string_array_value.data[:] = [option]
        self.states[ident] = state
        return await self._run()

    async def _run(self) -> float:
        began = time.perf_counter()
        message = BackMsg()
        message.rerun_script.query_string = self.query
        message.rerun_script.widget_states.CopyFrom(WidgetStates(widgets=self.states.values()))
        await self.socket.send(message.SerializeToString())
        while True:
            raw = await asyncio.wait_for(self.socket.recv(), 120)
            assert isinstance(raw, bytes)
            self.bytes += len(raw)
            if self._take(ForwardMsg.FromString(raw)):
                return time.perf_counter() - began

    def _take(self, message: ForwardMsg) -> bool:
        """Note sliders and the address; whether the script has finished."""
        kind = message.WhichOneof("type")
        if kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        if kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            element = message.delta.new_element
            assert element.WhichOneof("type") != "exception", element.exception.message
            if element.WhichOneof("type") == "slider":
                slider = element.slider
                self.sliders[slider.label] = (slider.id, list(slider.options))
        return kind == "script_finished"
