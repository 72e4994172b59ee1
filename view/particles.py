"""Which form of a Korean particle suits the word before it? That depends on its last sound, read aloud in Korean.

A Korean syllable and a number tell their sound themselves. English is read in one of two ways: letter by letter
(TTFT, vLLM, r, fcfs: whatever ends in a capital or has no vowel), or as a word, whose last sound follows from its
spelling. Korean keeps a stop (p, t, k) as a final consonant only behind a short vowel: 스텝, 블록, but 프롬프트, 링크.
"""

from __future__ import annotations

import re

PAIRS = {first: pair for pair in ("이가", "은는", "을를", "과와") for first in pair}
KINDS = frozenset((*PAIRS, "으로", "로"))

DIGITS_WITH_FINAL, DIGITS_WITH_RIEUL = "013678", "178"  # 영 일 삼 육 칠 팔 end in a consonant; 이 사 오 구 do not
LETTERS_WITH_FINAL, LETTERS_WITH_RIEUL = "lmnr", "lr"  # 엘 엠 엔 알
SIGNS = {"%": "퍼센트"}

EXCEPTIONS = {
    "type": "타입", "check": "체크", "loop": "루프", "hit": "히트", "bit": "비트", "exit": "엑시트", "edit": "에디트",
    "out": "아웃", "job": "잡", "web": "웹",
}  # fmt: skip
"""Ends of words that are read otherwise than the rules below have it."""
LONGEST_SPELLED = 4
"""A word of capitals that is longer is read as a word: WARNING."""
RIEUL = re.compile(r"(l|le)$")  # 프리필, 모델, 테이블, 파일
NASAL = re.compile(r"([mn]|[mn]e|ng|mb)$")  # 빅팀, 토큰, 타임, 루프라인, 러닝
STOP = re.compile(r"((?<![aeiou])[aeiou](p|t|ck?)|oup|ook|eap|eep)$")  # 스텝, 아웃풋, 블록, 스태틱, 그룹


def particle(word: str, kind: str) -> str:
    """The form of a particle after a word: particle("r75", "를") is "를", particle("r71", "를") is "을"."""
    final, rieul = _final(word)
    if kind in ("으로", "로"):
        return "으로" if final and not rieul else "로"
    pair = PAIRS[kind]
    return pair[0] if final else pair[1]


def _final(word: str) -> tuple[bool, bool]:
    """Whether a word ends in a consonant, and whether that is ㄹ. Signs behind it count only if they are read."""
    read = re.findall(r"[A-Za-z]+|[0-9]|[가-힣]|%", word)
    last = SIGNS.get(read[-1], read[-1]) if read else "가"
    if last.isdigit():
        return last in DIGITS_WITH_FINAL, last in DIGITS_WITH_RIEUL
    last = last.lower() if len(last) > LONGEST_SPELLED else last
    last = next((read for end, read in EXCEPTIONS.items() if last.endswith(end)), last)
    if "가" <= last[-1] <= "힣":
        consonant = (ord(last[-1]) - ord("가")) % 28
        return consonant > 0, consonant == 8
    if last[-1].isupper() or len(last) == 1 or not re.search("[aeiouy]", last):
        return last[-1].lower() in LETTERS_WITH_FINAL, last[-1].lower() in LETTERS_WITH_RIEUL
    rieul = bool(RIEUL.search(last))
    return rieul or bool(NASAL.search(last) or STOP.search(last)), rieul
