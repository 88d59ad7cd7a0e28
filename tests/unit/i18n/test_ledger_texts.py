"""The texts of the ledger in Chinese: none is left, and none lost or made up a fact."""

import re
from collections import Counter

import pytest

from specfloor.i18n import ledger_text, speaking
from specfloor.ledger import read_ledger
from specfloor.runs.spoken import spoken
from tests.messages import read
from tests.unit.i18n.reading import english

TEXTS = {message.id: message.string for message in read("ledger") if message.id}

NUMBER = re.compile(r"(?:(?<= )-)?\d+(?:\.\d+)*")
FLAG = re.compile(r"(?<!\w)--[\w-]+")
RELATION = re.compile(r"[\w.]*(?:->|[<>]=?|=|\+)[\w.]*")
"""K>1, 1+K, temperature>0; of an operator that stands alone, the operator."""
WORD = re.compile(r"[A-Za-z_][\w.]*\w")
IDENTIFIER = re.compile(r"_|\w\.\w\w|\d|.[A-Z]")
"""What makes a word one: enable_reduce_sample, rot.weight, Eagle3, QuaRot, MTP."""
PROPER = re.compile(r"(?<![.:;] )(?<=[ /(])[A-Z][a-z]+\b")
"""A capital with which no sentence begins: Mamba, Mooncake, Ascend."""
LOWER = re.compile(
    r"\b(?:arctic-inference|deepcopy|eagle|gloo|max-num-batched-tokens|netloader|suffix|torchair|xlite)\b"
)
"""Names that are written like words."""

ORDINARY = re.compile(r"(?<![\w./=>+-])[a-z]{3,}(?![\w./=>+-])")
CHINESE = re.compile(r"[\u4e00-\u9fff]")
SAME = re.compile(
    r"\b(?:ACL graph|align|cudagraph|decode|indexer|lmhead|logprobs|mamba|model runner|netloader|"
    r"prefill|rope|top|torchair|xlite)\b"
)
"""Words that stay in a text of names alone."""


def facts(text):
    """Return the numbers, flags, names and relations of a text, and how often each is there."""
    identifiers = [word.removesuffix("s") for word in WORD.findall(text) if IDENTIFIER.search(word)]
    patterns = NUMBER, FLAG, RELATION, LOWER
    return Counter([*identifiers, *(one for pattern in patterns for one in pattern.findall(text))])


def lost(text, chinese):
    """Return what a translation has not of the facts of its text."""
    words = re.findall(r"[A-Za-z]+", chinese)
    names = [name for name in PROPER.findall(text) if name not in words]
    return sorted([*(facts(text) - facts(chinese)).elements(), *names])


def made_up(text, chinese):
    """Return what a translation says beside its text; RoPE for rope is nothing."""
    more = (facts(chinese) - facts(text)).elements()
    return sorted(fact for fact in more if fact.lower() not in text.lower())


def left(text, chinese):
    """Return whether a text of words was copied instead of translated."""
    return not CHINESE.search(chinese) and bool(ORDINARY.search(SAME.sub("", text)))


def test_no_translation_lost_a_fact():
    assert {e: found for e, c in TEXTS.items() if (found := lost(e, c))} == {}


def test_no_translation_made_up_a_fact():
    assert {e: found for e, c in TEXTS.items() if (found := made_up(e, c))} == {}


def test_what_is_words_is_in_chinese():
    assert [text for text, chinese in TEXTS.items() if left(text, chinese)] == []
    assert [said for said in TEXTS.values() if english(said, "model runner v")] == []


def test_translations_are_written_as_one_writes():
    # no full stop, as in English, and marks of Chinese where Chinese is around them
    odd = re.compile(
        r"。$|[\u4e00-\u9fff][,;:?!]|[,;:?!] ?[\u4e00-\u9fff]|[\u4e00-\u9fff]\(|^\s|\s$"
    )
    assert [chinese for chinese in TEXTS.values() if odd.search(chinese)] == []


def test_different_texts_stay_different():
    said = Counter(TEXTS[symptom] for symptom in {row.symptom for row in read_ledger().rows})
    assert [text for text, times in said.items() if times > 1] == []


@pytest.mark.parametrize(
    ("text", "chinese", "gone", "new"),
    [
        ("Sizes of K+1 and --enforce-eager", "K+1 和 --enforce-eager 的尺寸", [], []),
        ("RoPE or rope on 2 ranks", "2 个 rank 上的 RoPE 或 RoPE", [], []),
        ("NaNs in the Mamba state", "Mamba 状态中的 NaN", [], []),
        ("Use --enforce-eager", "使用 eager", ["--enforce-eager"], []),
        ("K>1 on A5", "A5 上 K>=1", ["K>1"], ["K>=1"]),
        ("since v0.29.0rc1 (#15011)", "自 v0.29.0 起", ["1", "15011", "v0.29.0rc1"], []),
        ("address -1", "地址 1", ["-1"], []),
        ("swiglu_limit of 10.0", "上限 10", ["10.0", "swiglu_limit"], []),
        ("P/D with Mooncake", "P/D 分离", ["Mooncake"], []),
        ("eagle and gloo fail", "鹰和 gloo 失败", ["eagle"], []),
        ("Draft breaks", "DFlash 草稿出错", [], ["DFlash"]),
    ],
)
def test_a_fact_that_is_lost_or_made_up_is_found(text, chinese, gone, new):
    assert lost(text, chinese) == gone
    assert made_up(text, chinese) == new


@pytest.mark.parametrize(
    ("text", "chinese", "is_left"),
    [
        ("long input", "long input", True),
        ("long input", "长输入", False),
        ("K>1", "K>1", False),
        ("model runner v2", "model runner v2", False),
        ("ACL graph", "ACL graph", False),
        ("draft graph", "draft graph", True),
    ],
)
def test_a_text_that_was_copied_is_found(text, chinese, is_left):
    assert left(text, chinese) is is_left


ROW = next(row for row in read_ledger().rows if row.id == "10878")
SAID = "各草稿步共用序列长度和 rope 缓冲区，较早的步用到最后一步的值；靠后位置很少被接受"


def test_a_text_is_said_in_the_language_that_is_spoken():
    assert ledger_text(ROW.symptom) == ROW.symptom
    with speaking("zh"):
        assert ledger_text(ROW.symptom) == SAID
        assert ledger_text("") == ""
        assert ledger_text("a row that is new") == "a row that is new"


def test_a_text_on_record_is_said_too():
    recorded = f"the engine ended while it served ({ROW.symptom})"
    assert spoken(recorded) == recorded
    with speaking("zh"):
        assert spoken(ROW.symptom) == SAID
        assert spoken(recorded) == f"引擎在服务期间结束（{SAID}）"


def test_english_opens_no_catalogue(monkeypatch):
    monkeypatch.setattr("specfloor.i18n._catalogue", None)
    assert ledger_text(ROW.symptom) == ROW.symptom
    with speaking("zh"), pytest.raises(TypeError):
        ledger_text(ROW.symptom)
