"""What is taken out of texts and records, and what stays."""

import json
import re
import string
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specfloor.redaction.addresses import is_address, is_address_v6, is_mac
from specfloor.redaction.kinds import Kind
from specfloor.redaction.names import is_secret_name, kind_of_name, looks_secret
from specfloor.redaction.redactor import Redactor


def redact(text, **known):
    redactor = Redactor(**known)
    redactor.learn(text)
    return redactor.text(text, "a log")


SECRET = "q7RwT2mZx9"


@pytest.mark.parametrize(
    "line",
    [
        "VLLM_API_KEY={}",
        "export HF_TOKEN='{}'",
        'MODELSCOPE_API_TOKEN="{}"',
        "MODELSCOPE_SESSION={}",
        "AWS_SECRET_ACCESS_KEY={}",
        "--api-key {} --port 8000",
        "--api-key={}",
        "non-default args: {{'api_key': ['{}'], 'port': 8000}}",
        'config={{"hf_token": "{}"}}',
        'config="{{\\"password\\": \\"{}\\"}}"',
        "Authorization: Bearer {}",
        "'authorization': 'Bearer {}'",
        "X-Api-Key: {}",
        "Cookie: session={}",
        "GET /v1?api_key={}&n=1",
        "http://somebody:{}@127.0.0.1:8000/v1",
        "git+https://{}@github.com/a/b",
        "token={}aB3dE5fG7hJ9kL1",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.{}",
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\ncut off",
        "hf_{}abcdefgh",
        "sk-{}abcdefgh",
    ],
)
def test_a_secret_is_taken_out_wherever_its_surroundings_give_it_away(line):
    text = redact(line.format(SECRET))
    assert SECRET not in text
    assert "-1" in text


@pytest.mark.parametrize(
    ("line", "redacted"),
    [
        ("/home/wei/models", "/home/user-1/models"),
        ("/data/home/wei/x", "/data/home/user-1/x"),
        ("/Users/wei/x", "/Users/user-1/x"),
        (r"C:\Users\wei\x", r"C:\Users\user-1\x"),
        ("USER=wei", "USER=user-1"),
        ("[wei@node17 ~]$ ls", "[user-1@host-1 ~]$ ls"),
        ("HOSTNAME=node17", "HOSTNAME=host-1"),
        ("MASTER_ADDR=node17:29500", "MASTER_ADDR=host-1:29500"),
        ("MASTER_ADDR=10.1.2.3", "MASTER_ADDR=ip-1"),
        ("GET http://node17:8000/metrics", "GET http://host-1:8000/metrics"),
        ("connecting to gw.somewhere.net:8443", "connecting to host-1:8443"),
        ("on build7.corp failed", "on host-1 failed"),
        ("Linux node17 5.10.0-200.0.0 #1 SMP", "Linux host-1 5.10.0-200.0.0 #1 SMP"),
        ("tcp://10.1.2.3:29500", "tcp://ip-1:29500"),
        ("mq_connect_ip=10.1.2.3", "mq_connect_ip=ip-1"),
        ("server-10.1.2.3.log", "server-ip-1.log"),
        ("peer fe80::1c2a:5ff:fe00:1", "peer ip-1"),
        ("2001:db8::7 is up", "ip-1 is up"),
        ("ether 02:42:ac:11:00:02", "ether mac-1"),
        ("Serial Number : 033EUB10M2000123", "Serial Number : serial-1"),
        ("UUID: 4c4c4544-0035-3010-8048", "UUID: serial-1"),
        ("VDie ID : 1868D4B4 20E0490A 9C0A2D14", "VDie ID : serial-1"),
        ("wei.li@somewhere.cn wrote", "email-1 wrote"),
        ("ASCEND_TEAM_SERVICE_HOST=10.1.2.3", "k8s-1_SERVICE_HOST=ip-1"),
        ("ASCEND_TEAM_PORT=tcp://10.1.2.3:80", "k8s-1_PORT=tcp://ip-1:80"),
        ("ASCEND_TEAM_PORT_80_TCP_ADDR=10.1.2.3", "k8s-1_PORT_80_TCP_ADDR=ip-1"),
        ("llm-serve-7d9f8b6c5-x2x4z is up", "k8s-1 is up"),
        ("decode.team.svc.cluster.local", "k8s-1"),
        ("POD_NAMESPACE=team", "POD_NAMESPACE=k8s-1"),
        ("x=http%3A%2F%2F10.1.2.3%3A80", "x=http%3A%2F%2Fip-1%3A80"),
    ],
)
def test_names_of_people_and_machines(line, redacted):
    assert redact(line) == redacted


@pytest.mark.parametrize(
    "line",
    [
        "CANN 8.1.0.1 and vllm 0.18.0.1",
        "cann_version=8.1.0.1, driver: 25.2.0.1, npu-smi 25.5.0.1",
        "torch_npu==2.7.1.1 'vllm>=0.18.0.1,<0.19.0.0' v8.1.0.1",
        "/usr/local/Ascend/ascend-toolkit/8.1.0.1/lib cann-8.1.0.1 8.1.0.1rc1",
        "version 10.0.0.5",
        "0.18.0.1 127.0.0.1 0.0.0.0 255.255.255.0 http://127.0.0.1:8000 http://localhost:8000",
        "1.2.3.4.5 and 300.1.2.3",
        "(APIServer pid=7) INFO 11-29 16:31:13 [api_utils.py:286] x",
        "0000:C1:00.0 std::abs a::b ::1 12:34:56 20-26-11-29-15-20",
        "00:00:00:00:00:00 ff:ff:ff:ff:ff:ff",
        "max_tokens=200 eos_token=<|endoftext|> prompt_tokens: 12 token: the stop_token_ids=[1, 2]",
        "time_per_output_token: 0.0123456789 num_speculative_tokens: 3 sort_key=name",
        "VLLM_API_KEY=EMPTY api_key=None hf_token=null 'api_key': ['']",
        "HF_TOKEN: (set, not shown)",
        "/root/.cache PWD=/data/x MASTER_PORT=29500 VLLM_PORT=8000",
        "https://github.com/vllm-project/vllm-ascend/issues/1 https://huggingface.co/zai-org/GLM-5",
        "sha 9f02923a314e18b2222213c5e77448ed77e397be97c0aa981e434538b7531822",
        "KUBERNETES_SERVICE_PORT=443",
        "Serial Number : Not Specified",
        "quay.io/ascend/vllm-ascend@sha256:9f02923a git@github.com",
        "100%|##########| 3/3 [00:01<00:00] 93.1% of it",
        '{"role": "user", "content": "x"}',
    ],
)
def test_figures_versions_and_what_names_nobody_stay(line):
    assert redact(line) == line


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("8.1.0.1", True),
        ("CANN 8.1.0.1", False),
        ("CANN 8.1.0.1:8000", True),
        ("driver 10.0.0.5", True),
        ("version: 10.0.0.5", False),
        ("http://8.1.0.1", True),
        ("8.1.0.1/24", True),
        ("host_ip=8.1.0.1", True),
        ("127.1.2.3", False),
        ("999.1.1.1", False),
    ],
)
def test_an_address_and_a_version_look_alike(text, address):
    start, end = re.search(r"\d+(\.\d+){3}", text).span()
    assert is_address(text, start, end) is address


@pytest.mark.parametrize("name", ["HF_TOKEN", "--api-key", "apiKey", "ssh-private-key", "DB_PASS"])
def test_names_of_secrets(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["max_tokens", "tokenizer", "eos_token", "key", "PWD", "k", "--kv-cache-dtype"]
)
def test_names_of_no_secrets(name):
    assert not is_secret_name(name)
    assert kind_of_name(name) is None


def test_what_looks_drawn_at_random():
    assert looks_secret("q7RwT2mZx9aB3dE5fG7hJ9")
    assert not looks_secret("vllm_ascend_model_runner_v2")
    assert not looks_secret("0.123456789012345678901")
    assert not looks_secret("/usr/lib/python3.11/site-packages")


def test_addresses_by_their_form():
    assert is_address_v6("fd00::1234")
    assert not is_address_v6("::1")
    assert not is_address_v6("ab::cd")
    assert is_mac("02:42:ac:11:00:02")
    assert not is_mac("20-26-11-29-15-20")


def test_a_name_given_away_in_one_place_is_taken_out_of_all():
    text = redact("/home/weili/x\nWeights of weili in /data/weili-7b; not weilin")
    assert text == "/home/user-1/x\nWeights of user-1 in /data/user-1-7b; not weilin"


def test_a_machine_known_by_its_first_name_loses_its_domain_too():
    known = {"hosts": ["node17.dep.somewhere.org"]}
    assert redact("node17 NODE17.dep.other.org node17.log", **known) == "host-2 host-2 host-2.log"


def test_common_and_kept_words_are_not_looked_for():
    assert redact("/home/ubuntu/x: ubuntu 22.04") == "/home/user-1/x: ubuntu 22.04"
    assert (
        redact("http://glm:80 glm HOSTNAME=glm", keep=["glm"]) == "http://glm:80 glm HOSTNAME=glm"
    )
    assert (
        redact("password: 12345678 of 12345678 tokens") == "password: secret-1 of 12345678 tokens"
    )


def test_pseudonyms_are_the_same_in_every_place_and_counted():
    redactor = Redactor()
    for part in ("/home/weili/x", {"env": {"USER": "weili"}, "argv": ["--api-key", SECRET]}):
        redactor.learn(part)
    assert redactor.replacements == ()
    assert redactor.text(f"weili {SECRET} weili", "one") == "user-1 secret-1 user-1"
    assert redactor.value({"argv": ["--api-key", SECRET, "--k", "3"]}, "two") == {
        "argv": ["--api-key", "secret-1", "--k", "3"]
    }
    found = {r.pseudonym: r for r in redactor.replacements}
    assert (found["user-1"].count, found["user-1"].places) == (2, ("one",))
    assert (found["secret-1"].count, found["secret-1"].places) == (2, ("one", "two"))
    assert [r.kind for r in redactor.replacements] == [Kind.SECRET, Kind.USER]


def test_values_with_telling_names_are_replaced_whole():
    redactor = Redactor()
    value = {
        "api_key": ["a b", "c"],
        "password": 123,
        "argv": ["x", "--hf-token", "t1", "t2", "-v", "--token=abc", "--host", "10.1.2.3"],
        "rates": [0.5, 1, None],
        "POD_NAME": "worker-1",
    }
    redactor.learn(value)
    redacted = redactor.value(value, "v")
    assert redacted["rates"] == [0.5, 1, None]
    assert "123" not in json.dumps(redacted["password"])
    assert redacted["argv"][0::4] == ["x", "-v"]
    assert redacted["argv"][-1] == "ip-1"
    assert redacted["POD_NAME"] == "k8s-1"
    assert not {"a b", "c", "t1", "t2"} & {*redacted["api_key"], *redacted["argv"]}


def test_what_still_leaks_is_found():
    redactor = Redactor()
    redactor.learn(f"HF_TOKEN={SECRET} /home/weili/x")
    assert redactor.leaks("nothing") == ()
    assert redactor.leaks(f"x{SECRET}x and weili") == ("secret-1", "user-1")
    assert redactor.leaks(quote(quote("weili/x", safe=""))) == ("user-1",)
    assert Redactor().leaks("x") == ()


# properties

ALNUM = string.ascii_letters + string.digits
secrets = st.text(ALNUM, min_size=10, max_size=40).filter(
    lambda s: any(c.isdigit() for c in s) and any(c.isalpha() for c in s)
)
octet = st.integers(0, 255)
addresses = st.tuples(st.integers(1, 223), octet, octet, octet).filter(lambda a: a[0] != 127)
versions = st.one_of(
    st.from_regex(r"0\.\d{1,2}\.\d{1,2}(\.\d{1,2}|rc\d|\.post\d)?", fullmatch=True),
    st.from_regex(r"(CANN|torch_npu==|version |driver: )[89]\.\d\.\d\.\d", fullmatch=True),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"[0-9a-f]{64}", fullmatch=True),
    st.from_regex(r"[0-2]\d:[0-5]\d:[0-5]\d(\.\d{3})?", fullmatch=True),
    st.from_regex(r"cpu-0\.\d\d\.0-glm_moe_tiny-mtp[1-9]-code-off-c\d", fullmatch=True),
    st.integers().map(str),
)


@settings(max_examples=150, deadline=None)
@given(secret=secrets, address=addresses, around=st.lists(versions, max_size=4))
def test_whatever_surrounds_them_secrets_go_and_figures_stay(secret, address, around):
    ip = ".".join(map(str, address))
    figures = " | ".join(around)
    text = f"{figures} | HF_TOKEN={secret} | peer {ip}:80 | {figures}"
    redacted = redact(text)
    assert redacted == f"{figures} | HF_TOKEN=secret-1 | peer ip-1:80 | {figures}"


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_any_text_can_be_redacted_twice_and_does_not_change_again(text):
    redactor = Redactor()
    redactor.learn(text)
    once = redactor.text(text, "")
    assert redactor.text(once, "") == once
