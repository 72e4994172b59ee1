"""The player's own words in both languages. Pass `ui=words("ko")` to a Picture; a page may replace single ones."""

from view.player.picture import UI_KEYS

_EN = """
player: Scheduler player
step: step
steps: steps
play: Play
pause: Pause
first: First step
last: Last step
back: One step back
forward: One step forward
previous: Previous preemption
next: Next preemption
speed: Speed
scrubber: Step
readout: step {n} / {all}
preempting: {n} of {all} preempting steps so far
none: no preemption
image: Save picture
png: PNG
svg: SVG
link: Copy link
copied: Link copied
failed: Could not copy; the link is {link}
help: Keys and words
close: Close
keys: Keys
key_play: Space = play, pause
key_step: ← → = one step; with Shift, ten
key_ends: Home, End = first, last step
key_preempt: P, N = previous, next preemption
key_speed: + − = faster, slower
key_help: ? = this list
key_select: Click = select a request or a block
key_clear: Esc = select nothing
selected: r{id} selected
cleared: Nothing selected
why: Why not me?
overview: The whole run: click to go there
loading: Fetching these steps …
error: The picture could not be drawn: {error}
"""

_KO = """
player: 스케줄러 재생기
step: step
steps: step
play: 재생
pause: 멈춤
first: 첫 step
last: 마지막 step
back: 한 step 뒤로
forward: 한 step 앞으로
previous: 이전 선점
next: 다음 선점
speed: 속도
scrubber: step
readout: step {n} / {all}
preempting: 지금까지 선점 step {all}개 중 {n}개
none: 선점 없음
image: 그림 저장
png: PNG
svg: SVG
link: 링크 복사
copied: 링크를 복사했습니다
failed: 복사하지 못했습니다. 링크: {link}
help: 단축키와 용어
close: 닫기
keys: 단축키
key_play: Space = 재생, 멈춤
key_step: ← → = 한 step, Shift와 함께 열 step
key_ends: Home, End = 처음, 끝
key_preempt: P, N = 이전, 다음 선점
key_speed: + − = 빠르게, 느리게
key_help: ? = 이 목록
key_select: 클릭 = request나 블록 선택
key_clear: Esc = 선택 해제
selected: r{id} 선택됨
cleared: 선택 해제됨
why: 왜 못 들어갔나?
overview: 전체 실행: 누르면 그 자리로 갑니다
loading: 해당 step을 가져오는 중입니다 …
error: 그림을 그리지 못했습니다: {error}
"""


def _read(text: str) -> dict[str, str]:
    lines = (line.partition(": ") for line in text.strip().splitlines())
    return {key: word for key, _, word in lines}


_WORDS = {"en": _read(_EN), "ko": _read(_KO)}


def words(language: str) -> dict[str, str]:
    """Every key of UI_KEYS in a language, "ko" or "en"; unknown languages get English."""
    table = _WORDS.get(language, _WORDS["en"])
    return {key: table[key] for key in UI_KEYS}
