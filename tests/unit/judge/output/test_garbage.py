"""Broken texts are seen; ordinary texts of many languages, code and mathematics are not."""

import random

import pytest

from specfloor.judge.looping import loops
from specfloor.judge.output.garbage import Garbage, garbage, is_foreign
from specfloor.load.workload import load_workload
from specfloor.runs.records import ToolCall
from tests.unit.builders import FIXTURES
from tests.unit.judge.output.builders import answer, prompt

ENGLISH = "How do I keep a sourdough starter alive while I travel for two weeks?"

ORDINARY = {
    "english": (
        ENGLISH,
        "Feed it, let it stand for an hour – then refrigerate; it's “fine”… 😊👩‍🍳",
    ),
    "a quoted name": (
        "What should I see in Tokyo in one day?",
        "Start at Sensō-ji (浅草寺) in Asakusa, walk to Ueno, and end in Shibuya. " * 3,
    ),
    "mathematics": (
        "Prove it.",
        "∀ε>0 ∃δ>0: |x−a|<δ ⇒ |f(x)−f(a)|<ε; ∑ₖ αₖ² ≤ ∫₀^∞ e^{−λt} dt, ℵ₀ ∈ ℝ ⊂ ℂ, 𝔼[X]≈½·π°",
    ),
    "greek": ("Where does the word come from?", "From Ancient Greek φιλοσοφία, φίλος and σοφία."),
    "code": (
        "Write a regular expression for Chinese characters in Python.",
        'HAN = re.compile(r"[\\u4e00-\\u9fff]")\nassert HAN.match("你好，世界，欢迎")\n',
    ),
    "table": ("Make a table.", "┌──┬──┐\n│ a │ b │\n└──┴──┘\n| ✓ | ✗ | → ★ ■ |\t•\r\n"),
    "chinese": (
        "请介绍一下杭州的龙井茶。",
        "龙井茶产于杭州西湖一带，以“色绿、香郁、味甘、形美”著称。冲泡时水温约80℃，茶叶3克即可。",
    ),
    "chinese with code": (
        "用Python写一个快速排序。",
        "```python\ndef quick_sort(a):\n    ...\n```\n时间复杂度为O(n log n)。",
    ),
    "english answer to chinese": (
        "请用英语写一封请假邮件。",
        "Dear Manager, I would like to ask ...",
    ),
    "japanese": (
        "東京の天気を教えてください。",
        "東京は晴れです。気温は二十度で、カーディガンがあると安心です。",
    ),
    "japanese asked in english": (
        "Translate into Japanese: The shop is closed on Mondays.",
        "その店は月曜日は閉まっています。",
    ),
    "chinese asked in english": (
        "How do I say 'thank you' in Mandarin?",
        "谢谢你，非常感谢您的帮助 (xièxie)",
    ),
    "russian asked in chinese": (
        "把这句话翻译成俄语：会议推迟到周五。",
        "Встреча перенесена на пятницу.",
    ),
    "russian": ("Где находится вокзал?", "Вокзал находится в центре города, рядом с площадью."),
    "arabic": ("ما هي عاصمة فرنسا؟", "عاصمة فرنسا هي باريس."),
    "korean": ("서울에서 뭘 먹을까요?", "비빔밥과 냉면을 추천합니다. 漢字도 조금 있습니다."),
    "hindi": ("दिल्ली का मौसम कैसा है?", "आज दिल्ली में धूप है और तापमान तीस डिग्री है।"),
    "thai": ("แนะนำอาหารไทยหน่อย", "ลองต้มยำกุ้งและผัดไทย อร่อยมาก"),
    "vietnamese": ("Hà Nội có gì vui?", "Bạn nên đi dạo quanh Hồ Gươm và ăn phở bò."),
    "german, turkish, polish": (ENGLISH, "Füße groß; ığdır çok güzel; zażółć gęślą jaźń."),
    "empty line": ("Say ok.", "\nok"),
}


@pytest.mark.parametrize(("asked", "text"), ORDINARY.values(), ids=ORDINARY)
def test_ordinary_text_is_no_garbage(asked, text):
    assert garbage(answer(text), prompt(content=asked)) is None
    assert garbage(answer(text * 20), prompt(content=asked)) is None


@pytest.mark.parametrize(
    ("asked", "text", "found"),
    [
        (ENGLISH, "", Garbage.EMPTY),
        (ENGLISH, " \n", Garbage.EMPTY),
        (ENGLISH, "Feed it with fl\ufffdur.", Garbage.REPLACEMENT),
        ("讲个故事", "从前有座\ufffd\ufffd，山里有座庙。", Garbage.REPLACEMENT),
        (ENGLISH, "Feed it\x00\x00", Garbage.CONTROL),
        (ENGLISH, "Feed it \x1b[31m", Garbage.CONTROL),
        (ENGLISH, "Feed it 的时候请注意温度变化 and then", Garbage.SCRIPT),
        (ENGLISH, "Feed ตรวจ the поверх starter ការ twice", Garbage.SCRIPT),
        ("讲个故事", "从前有座山，山里有座庙，которыйприходит庙里有个老和尚。", Garbage.SCRIPT),
        ("讲个故事", "从前有座山，ありがとうございます，山里有座庙。", Garbage.SCRIPT),
    ],
)
def test_garbage_is_seen(asked, text, found):
    assert garbage(answer(text), prompt(content=asked)) is found


def test_what_an_end_tore_apart_or_the_prompt_holds_is_none():
    torn = answer("从前有座\ufffd", reason="length")
    assert garbage(torn, prompt(content="讲个故事")) is None
    assert garbage(answer("从前有座\ufffd"), prompt(content="讲个故事")) is Garbage.REPLACEMENT
    asked = prompt(content="Why does my file show \ufffd and \x00?")
    assert garbage(answer("\ufffd stands for \x00"), asked) is None


def test_reasoning_counts_and_a_tool_call_is_not_nothing():
    asked = prompt(content=ENGLISH)
    assert garbage(answer("Fine.", reasoning="hm \ufffd"), asked) is Garbage.REPLACEMENT
    assert garbage(answer("", tool_calls=(ToolCall("now", "{}"),)), asked) is None


def test_no_prompt_of_our_own_is_garbage_or_a_loop():
    """Some hundreds of natural texts, each as the answer to one of its own language."""
    texts = 0
    for path in FIXTURES.glob("workloads/*/*.jsonl"):
        asked = {}
        for one in load_workload(path):
            text = one.messages[-1].content
            assert not loops(text), (path, one.id)
            if path.stem != "translation":
                chinese = is_foreign(text, ENGLISH)
                before = asked.setdefault(chinese, one)
                assert garbage(answer(text), before) is None, (path, one.id)
                texts += 1
    assert texts > 500


def soup(rng, length):
    """Tokens drawn at random from a vocabulary of many languages, which is mostly Latin."""
    latin = ["the", " of", "ation", "ing", " con", "{", "0", " if", "er", " new", "\n", " die"]
    blocks = [(0x4E00, 0x8000), (0x0430, 0x044F), (0x0E01, 0x0E2E), (0xAC00, 0xC000)]
    pieces = []
    for _ in range(length):
        if rng.random() < 0.7:
            pieces.append(rng.choice(latin))
        else:
            low, high = rng.choice(blocks)
            pieces.append("".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 3))))
    return "".join(pieces)


def test_random_tokens_are_seen():
    rng = random.Random(11)
    seen = sum(is_foreign(soup(rng, 60), ENGLISH) for _ in range(200))
    assert seen >= 198
