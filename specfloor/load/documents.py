"""Sentences that long documents are made of, written for this project, and questions about them.

Choices are made by hashes, not by a generator of random numbers that a later Python may change.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Choice:
    """Choices that depend on a name and on how many were made before."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._made = 0

    def below(self, limit: int) -> int:
        """Return a number from 0 to ``limit`` − 1."""
        self._made += 1
        digest = hashlib.sha256(f"{self._name}\0{self._made}".encode()).digest()
        return int.from_bytes(digest[:8]) % limit

    def of(self, options: Sequence[str]) -> str:
        """Return one of several texts."""
        return options[self.below(len(options))]


class Entry(NamedTuple):
    """One entry of a document, a question that it alone answers, and what the answer contains."""

    text: str
    question: str
    facts: tuple[str, ...]


class Kind(NamedTuple):
    """A kind of document: its opening, its entries by number, and what else is asked."""

    name: str
    opening: str
    entry: Callable[[Choice, int], Entry]
    task: str


_FIRST = ("Amira", "Bruno", "Carla", "Dmitri", "Elif", "Femi", "Greta", "Hugo", "Ingrid", "Jonas")
_LAST = ("Abel", "Brandt", "Castro", "Dubois", "Ekberg", "Farkas", "Gruber", "Holm", "Ivanova")
_TOWNS = ("Bergen", "Coimbra", "Delft", "Esbjerg", "Ghent", "Kaunas", "Linz", "Lublin", "Malmö")


def _name(choice: Choice) -> str:
    return f"{choice.of(_FIRST)} {choice.of(_LAST)}"


_PRODUCTS = (
    "label printer",
    "standing desk",
    "air filter",
    "coffee grinder",
    "bicycle computer",
    "router",
    "baby monitor",
    "soldering station",
    "garden pump",
    "projector",
)
_COMPLAINTS = (
    "it switches itself off after a few minutes and has to cool down before it starts again",
    "the manual in the box belongs to another model and the screws do not fit",
    "since the last update of the firmware the display shows only the logo",
    "the parcel was open when it arrived and one of the two cables is missing",
    "it makes a high noise that only the children hear, and the dog leaves the room",
    "the invoice names a company that moved out of the building two years ago",
    "the battery lasts for an hour, although the page of the shop promised a working day",
    "it works well on the bench and never once it is mounted on the wall",
)
_ACTIONS = (
    "asked for a photo of the type plate and a copy of the receipt",
    "sent a new power supply and asked to have the old one back within a month",
    "explained how to set it back to the state of delivery with the two small keys",
    "passed the matter on to the workshop, because three others had written the same",
    "offered to take a quarter off the price if the customer keeps it",
    "found the serial number in the list of the recall and ordered a replacement",
)
_STATES = ("open", "closed", "waiting for the customer", "waiting for the workshop", "reopened")


def _ticket(choice: Choice, number: int) -> Entry:
    key = f"T-{4000 + 7 * number}"
    customer, agent, town = _name(choice), choice.of(_FIRST), choice.of(_TOWNS)
    text = (
        f"{key}. {customer} from {town} writes about the {choice.of(_PRODUCTS)}: "
        f"{choice.of(_COMPLAINTS)}. {agent} {choice.of(_ACTIONS)}. Status: {choice.of(_STATES)}."
    )
    question = f"Begin with one line that names the customer of ticket {key} and the town."
    return Entry(text, question, (customer, town))


_PROPOSALS = (
    "renew the roof of the swimming hall",
    "plant lime trees along the ring road",
    "buy a second bus for the hill villages",
    "open the library on Sundays",
    "close the old bridge to lorries",
    "set up drinking fountains on the market square",
    "repair the organ of the music school",
    "lay cables for charging points behind the station",
    "let the theatre use the empty dairy",
)
_REASONS = (
    "because the last winter had shown how little the present state would bear",
    "since the county would pay half of it if the decision fell before the summer",
    "which two parties had promised before the election and nobody had begun",
    "as the neighbours had asked for in a letter with three hundred names",
    "although the treasurer warned that the reserve was meant for other years",
    "so that the work could be done together with the pipes in the same street",
)
_DEBATES = (
    "There was a long debate about noise, in which the chair had to ask for order twice.",
    "Nobody wished to speak, and the vote was taken at once.",
    "A resident asked who would pay for the upkeep and was promised a written answer.",
    "The opposition wanted to see a second offer first, but withdrew its motion.",
    "The fire brigade pointed out that its largest vehicle needs four metres of width.",
    "The planner showed three drawings, of which the second found most favour.",
)


def _item(choice: Choice, number: int) -> Entry:
    amount, against = 1000 * (5 + choice.below(390)) + 10 * choice.below(100), choice.below(12)
    speaker, money = _name(choice), f"{amount:,}"
    text = (
        f"Item {number}. {speaker} moved to {choice.of(_PROPOSALS)}, {choice.of(_REASONS)}. "
        f"The cost was put at {money} euros. {choice.of(_DEBATES)} "
        f"Result: {23 - against} in favour, {against} against."
    )
    question = f"Begin with one line: who moved item {number}, and what was its cost in euros?"
    return Entry(text, question, (speaker, money))


_WEATHER = (
    "Fog until noon, then a pale sun.",
    "Clear and cold, with ice on the water bottles.",
    "Rain from the first light on, never heavy and never over.",
    "A dry wind from the east that carried dust.",
    "Still air, and so warm that we walked before dawn.",
    "Snow in the night, gone by breakfast.",
)
_WALKS = (
    "We followed the stream up to the second fall and lost the path twice in the alders.",
    "The mules refused the bridge, so that we unloaded them and carried everything over.",
    "A shepherd showed us a short cut, which saved two hours and cost us a boot.",
    "Half of the day went into mending the tent and drying the maps.",
    "We crossed the plateau on a straight line and met nobody but two eagles.",
    "The glacier has drawn back since the old map was made, and its tongue is a lake now.",
)
_FINDS = (
    "a fern that none of our books has",
    "pieces of a clay lamp",
    "the tracks of a lynx with two young ones",
    "a rusty measuring chain from the survey of 1911",
    "shells in the limestone, as large as a hand",
    "a wall of dry stones that leads nowhere",
    "blue butterflies on the salt of an old camp fire",
)
_MOODS = (
    "In the evening we read aloud and laughed more than the book deserved.",
    "Nobody spoke much, for the news from home had been bad.",
    "The cook saved the day with dumplings.",
    "We slept badly, as the river moved stones all night.",
    "Everyone is well but for blisters.",
)


def _day(choice: Choice, number: int) -> Entry:
    height, find = str(900 + choice.below(2400)), choice.of(_FINDS)
    text = (
        f"Day {number}. {choice.of(_WEATHER)} {choice.of(_WALKS)} {_name(choice)} found {find}. "
        f"Camp at {height} metres. {choice.of(_MOODS)}"
    )
    question = f"Begin with one line: at which height was the camp of day {number}?"
    return Entry(text, question, (height,))


_GOODS = (
    "hex screws M6",
    "copper pipe 15 mm",
    "safety gloves",
    "LED panel 60x60",
    "ball valve 1/2",
    "cable drum 50 m",
    "epoxy resin 5 kg",
    "paper filters",
)
_SUPPLIERS = ("Nordlicht Handel", "Costa & Filhos", "Baltic Parts", "Müller Technik", "Ardenne SA")


def _order(choice: Choice, number: int) -> Entry:
    key, pieces = f"PO-{70000 + 13 * number}", 5 * (1 + choice.below(400))
    supplier, price = choice.of(_SUPPLIERS), f"{1 + choice.below(180)}.{choice.below(100):02d}"
    date = f"2025-{1 + number % 12:02d}-{1 + choice.below(28):02d}"
    text = f"{date};{key};{supplier};{choice.of(_GOODS)};{pieces};{price};{choice.of(_TOWNS)}"
    question = f"Begin with one line: supplier and number of pieces of order {key}."
    return Entry(text, question, (supplier, str(pieces)))


_SURNAMES = ("陈", "林", "赵", "周", "吴", "徐", "孙", "马", "郭", "何", "高", "罗")
_GIVEN = ("晓峰", "佳宁", "文博", "思远", "雨桐", "志强", "若溪", "建国", "欣怡", "子涵")
_SYSTEMS = (
    "订单服务",
    "支付网关",
    "库存同步任务",
    "消息队列",
    "搜索集群",
    "用户中心",
    "报表平台",
    "图片存储",
)
_SYMPTOMS = (
    "接口超时比例突然升高",
    "磁盘使用率超过九成并触发告警",
    "主从延迟持续扩大",
    "部分节点反复重启",
    "连接池被占满，新请求排队",
    "监控曲线出现断点",
)
_STEPS = (
    "先将流量切到备用机房，再逐台重启异常节点",
    "回滚了当天上午发布的版本，并通知业务方核对数据",
    "临时扩容两台机器，同时清理了三个月以前的日志",
    "联系网络组排查，发现一根光纤接触不良，更换后恢复",
    "调大了线程数上限，并给下游加了限流",
    "手工补跑了失败的批次，核对无误后关闭告警",
)
_CAUSES = (
    "配置中心推送了错误的超时参数",
    "一条缺少索引的查询在促销开始后被放大",
    "证书到期而续期脚本没有执行",
    "上游在没有通知的情况下修改了字段类型",
    "定时任务与备份任务同时启动，争抢磁盘",
    "新同事误把测试环境的地址写进了生产配置",
)


def _person(choice: Choice) -> str:
    return choice.of(_SURNAMES) + choice.of(_GIVEN)


def _incident(choice: Choice, number: int) -> Entry:
    key, minutes, person = f"SH{2000 + 3 * number}", str(6 + choice.below(170)), _person(choice)
    text = (
        f"{key}：{1 + number % 12}月{1 + choice.below(28)}日，{choice.of(_SYSTEMS)}出现故障，"
        f"{choice.of(_SYMPTOMS)}。值班人{person}{choice.of(_STEPS)}，{minutes}分钟后恢复正常。"
        f"根本原因：{choice.of(_CAUSES)}。"
    )
    question = f"请先用一行回答：{key}的值班人是谁，故障持续了多少分钟？"
    return Entry(text, question, (person, minutes))


_PLACES = ("老街口", "大学城", "火车南站", "滨江公园", "软件园", "古镇北门", "体育中心", "批发市场")
_VIEWS = (
    "早高峰排队的人不少，但出餐稳定，没有人抱怨",
    "门口的灯箱坏了一半，晚上几乎看不清招牌",
    "新来的店员还不熟悉收银系统，结账明显偏慢",
    "后厨收拾得很干净，原料的日期标签一张不缺",
    "隔壁开了一家同类的店，中午的客流被分走了一些",
    "老顾客反映汤的味道比上个月淡，已请总部复核配方",
)
_ADVICE = (
    "建议下周补做一次服务培训",
    "建议把外卖取餐口挪到侧门",
    "建议先观察两周，再决定是否调整菜单",
    "建议与物业协商更换照明",
    "建议增加一名兼职，只上中午三个小时",
)


def _visit(choice: Choice, number: int) -> Entry:
    key, sales, manager = f"第{number}号店", str(3000 + 10 * choice.below(2700)), _person(choice)
    text = (
        f"{key}，位于{choice.of(_PLACES)}，店长{manager}。{choice.of(_VIEWS)}；{choice.of(_VIEWS)}。"
        f"当天营业额{sales}元，{choice.of(_ADVICE)}。"
    )
    question = f"请先用一行回答：{key}的店长是谁，当天营业额是多少元？"
    return Entry(text, question, (manager, sales))


KINDS = (
    Kind(
        "tickets",
        "Below are the tickets that our support desk took in this quarter.",
        _ticket,
        "Then describe, in about two hundred words, which kinds of problems come up again and "
        "again and what the team should change first.",
    ),
    Kind(
        "incidents",
        "下面是运维部门本年度的故障记录，请仔细阅读。",
        _incident,
        "然后按根本原因归类，说明哪几类问题最常见，并提出三条改进措施，每条不超过五十字。",
    ),
    Kind(
        "minutes",
        "These are the minutes of the town council, items in the order in which they were taken.",
        _item,
        "Then write a report for the local newspaper, about two hundred words long, on how the "
        "council spends its money and what is disputed.",
    ),
    Kind(
        "orders",
        "date;order;supplier;article;pieces;price per piece in euros;delivered to",
        _order,
        "Then write a short note to the head of purchasing: which suppliers and articles stand out "
        "in this list, and which three questions you would ask.",
    ),
    Kind(
        "visits",
        "以下是总部对各门店的巡查记录。",
        _visit,
        "然后写一份不超过三百字的总结，指出各店共同的问题，并说明下一步先做什么。",
    ),
    Kind(
        "diary",
        "This is the diary of an expedition, as it was kept by several hands.",
        _day,
        "Then retell the journey for children in about two hundred words, with the finds that "
        "they would like best.",
    ),
)
"""The kinds of documents, English and Chinese."""
