"""Secrets and names planted everywhere are in no file of a bundle, and the figures still are."""

import io
import json
import re
import string
import tarfile
import tempfile
from pathlib import Path
from urllib.parse import quote, unquote

import msgspec
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from specfloor.cells import OFF
from specfloor.host.npu_smi import Process
from specfloor.redaction.redactor import Redactor
from specfloor.runs.records import HostSampleRecord, RequestRecord
from specfloor.triage.findings import Finding
from specfloor.vendor.bundle import bundle, evidence_words
from specfloor.vendor.report import Judged, Wishes, report_of, worst
from specfloor.vendor.text import as_text
from tests.unit.builders import CELL, catalog, fault, forced, info, launch, natural
from tests.unit.vendor.builders import write_run

EXAMPLES = 10
LETTERS = string.ascii_lowercase
token = st.text(string.ascii_letters + string.digits, min_size=12, max_size=40)
password = st.text(
    string.ascii_letters + string.digits + "!#$%^*()_+-=[]{}|;:,./?~`'\"<>\\ ", min_size=8
)
name = st.text(LETTERS, min_size=3, max_size=8)
label = st.text(LETTERS + string.digits, min_size=2, max_size=8)
octet = st.integers(0, 255)


class Planted(msgspec.Struct, frozen=True):
    """What must not be found again."""

    token: str
    password: str
    user: str
    host: str
    domain: str
    ip: str
    ipv6: str
    mac: str
    serial: str
    email: str
    service: str

    @property
    def forms(self):
        """Everything, as it may be written."""
        plain = [value for value in msgspec.structs.astuple(self) if value != self.service]
        service = [self.service, self.service.lower(), self.service.lower().replace("_", "-")]
        return {
            form
            for value in (*plain, *service)
            for form in (value, json.dumps(value)[1:-1], quote(value, safe=""))
        }


@st.composite
def planted(draw):
    user = "zq" + draw(name)
    host = f"zw{draw(label)}-{draw(st.integers(1, 99))}"
    first = draw(st.integers(1, 223).filter(lambda n: n != 127))
    pairs = [f"{n:02x}" for n in draw(st.lists(octet, min_size=6, max_size=6))]
    groups = draw(st.lists(st.integers(0x1000, 0xFFFF), min_size=3, max_size=3))
    made = Planted(
        token=draw(token),
        password=draw(password),
        user=user,
        host=host,
        domain=f"{host}.dep{draw(label)}.zworg.net",
        ip=".".join(map(str, (first, *draw(st.tuples(octet, octet, octet))))),
        ipv6="fd00:" + ":".join(f"{g:x}" for g in groups) + "::1",
        mac=":".join(["02", *pairs[1:]]),
        serial="21023"
        + draw(st.text(string.ascii_uppercase + string.digits, min_size=6, max_size=12)),
        email=f"{user}.{draw(name)}@{draw(name)}.zwmail.com",
        service=f"ASCEND_ZQ{draw(name).upper()}",
    )
    # a token without a digit is a word, and a password of digits a number
    assume(re.search(r"\d", made.token) and re.search(r"[A-Za-z]", made.token))
    assume(re.search(r"[A-Za-z]{2}", made.password) and made.password.strip() == made.password)
    assume(not re.fullmatch(r"<.*>|\$\w+|\$\{\w+\}|x+", made.password, re.IGNORECASE))
    return made


def texts_of(p):
    """Return lines as logs and environments have them, each giving something away or using it."""
    return [
        f"non-default args: {{'api_key': ['{p.token}'], 'model': '/home/{p.user}/m'}}",
        f"HF_TOKEN={p.token}",
        f"Authorization: Bearer {p.token}",
        f"GET /v1/models?api_key={p.token}&n=1",
        f"https://{p.user}:{quote(p.password, safe='')}@{p.domain}:8443/x",
        f"the password was {p.password} and the token {p.token}",
        f"redirect=http%3A%2F%2F{p.ip}%3A80%2F%3Fkey%3D{p.token}",
        f"[{p.user}@{p.host} ~]$ scp {p.user}@{p.domain}:/data/{p.user}/x .",
        f"connected to {p.ip}:29500, {p.ipv6} and tcp://{p.host}:29501 from {p.mac}",
        f"Serial Number : {p.serial}   asked {p.email}",
        f"{p.service}_SERVICE_HOST={p.ip}",
        f"{p.service}_PORT=tcp://{p.ip}:80 see {p.service.lower().replace('_', '-')}",
        f"Linux {p.host} 5.10.0-200.0.0 #1 SMP",
        f'File "/home/{p.user}/venv/lib/x.py", line 3, in {p.user}_main',
    ]


FIGURES = [
    "vllm 0.18.0.1, torch_npu==2.7.1.1, CANN 8.1.0.1, driver: 25.2.0.1",
    "SpecDecoding metrics: Mean acceptance length: 3.05, Avg Draft acceptance rate: 68.3%",
    "0000:C1:00.0 11-29 16:31:13 [core.py:133] 9f02923a314e18b2222213c5e77448ed77e397be97c0aa98",
]


def plant(folder, p):
    """Write a run with everything planted in its records, settings and logs; return attachments."""
    lines = [*texts_of(p), *FIGURES]
    text = "\n".join(lines)
    env = {"VLLM_API_KEY": p.token, "DB_PASSWORD": p.password, "HOSTNAME": p.host, "USER": p.user}
    env[f"{p.service}_PORT_80_TCP_ADDR"] = p.ip
    argv = (
        "python",
        "-m",
        "x",
        "--api-key",
        p.token,
        "--model",
        f"/home/{p.user}/m",
        f"--u={p.ip}",
    )
    config = {"--kv-transfer-config": json.dumps({"token_password": p.password, "host": p.domain})}
    on = launch(CELL.arm, argv=(*argv, *(w for pair in config.items() for w in pair)), env=env)
    records = [launch(OFF, argv=argv, env=env), *natural(OFF, prompts=3), on]
    requests = natural(
        CELL.arm, prompts=3, accepted=(0,) * 10, text=text.replace("{", "(").replace("}", ")")
    )
    records += [
        msgspec.structs.replace(r, reasoning=text, error=text if r.index == 2 else None)
        if isinstance(r, RequestRecord)
        else r
        for r in requests
    ]
    records += forced(CELL.arm, prompts=2)
    process = Process(0, 0, 7, f"{p.user}_worker@{p.host}", 9)
    records.append(HostSampleRecord(on.key.id, 1.0, 0.1, processes=(process,), problem=text))
    records.append(
        fault(
            Finding.CRASH, CELL.arm, since=msgspec.UNSET, lost=(), cause=lines[4], evidence=on.log
        )
    )
    machine = msgspec.structs.replace(info().environment, variables=env, platform=f"Linux-{p.host}")
    write_run(
        folder,
        records,
        environment=machine,
        settings={"workloads_dir": f"/home/{p.user}/w", "url": f"http://{p.domain}/"},
    )
    (folder / on.log).write_text(text + "\nINFO nothing\n" * 400 + text)
    name = f"npu-{p.host}-{p.user}-{p.ip}.txt"
    return ((name, f"{text}\n| 0 910B3 | {p.host} |\n{json.dumps(env)}"),)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES <= 10,
    # shrinking takes minutes and what leaks is told anyway
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(p=planted())
def test_what_is_planted_everywhere_is_nowhere_in_the_bundle(p):
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "r1")
        attached = plant(folder, p)
        judged = Judged.read(folder, catalog())
        reported = worst(judged.cells)
        report = report_of(judged, reported, catalog(), Wishes(attached=attached))
        redactor = Redactor(evidence_words(judged, reported))
        made = bundle(judged, reported, report, as_text(report), redactor, texts=True)
    whole = made.text + "".join(f"{n}\n{data.decode()}\n" for n, data in made.members.items())
    for seen in (whole, unquote(whole), unquote(unquote(whole))):
        for form in p.forms:
            assert form not in seen, (
                form,
                seen[max(0, seen.find(form) - 80) : seen.find(form) + 80],
            )
    for figure in FIGURES:
        assert whole.count(figure) >= 3, figure
    assert "rate, mean over requests | - | 0.000 [0.000, " in made.text
    with tarfile.open(fileobj=io.BytesIO(made.archive())) as archive:
        assert sorted(archive.getnames()) == sorted(made.members)
    told = "".join(f"{r.pseudonym} {r.places}" for r in made.replacements)
    assert not any(form in told for form in p.forms)
