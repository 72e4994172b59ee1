"""A Streamlit page with nothing but the player, for browser tests: ?lang=ko&total=1200&window=300&mode=embed."""

import sys
from pathlib import Path

import streamlit as st

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.browser.demo import Demo, demo
from view.player import player, publish
from view.player.pack import pack

publish(Path(__file__).parent)
q = st.query_params
st.set_page_config(page_title="player", layout="wide", page_icon="🗓️")
st.html("<style>.stMainBlockContainer{padding:24px 28px 0}</style>")
st.html("<style>@media(max-width:600px){.stMainBlockContainer{padding:16px 16px 0}}</style>")
language = st.sidebar.radio("language", ["en", "ko"], index=int(q.get("lang", "en") == "ko"))
seed = st.sidebar.slider("seed", 0, 9, 0)
size = Demo(
    total=int(q.get("total", 300)),
    window=int(q.get("window", 300)),
    blocks=int(q.get("blocks", 2048)),
    rows=int(q.get("rows", 64)),
    cols=int(q.get("cols", 64)),
    seed=seed,
    language=language,
    height=int(q.get("height", 640)),
)


@st.cache_resource(max_entries=32)
def packed(size: Demo, start: int) -> bytes:
    return pack(demo(size, start))


@st.fragment
def stage() -> None:
    def want() -> None:
        st.session_state["start"] = int(st.session_state["player"]["want"]) // size.window * size.window

    def select() -> None:
        st.session_state["selected"] = st.session_state["player"]["select"]

    start = st.session_state.get("start", 0)
    chosen = st.session_state.get("selected") or {}
    goto = ("demo", int(q.get("step", 0)))
    answer = player(
        packed(size, start),
        goto=goto,
        selected=chosen.get("id"),
        mode=q.get("mode", "page"),
        on_want=want,
        on_select=select,
    )
    st.caption(f"python: step={answer.step} selected={chosen.get('id')} area={chosen.get('area')} start={start}")


stage()
