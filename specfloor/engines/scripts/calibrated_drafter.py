"""A drafter of known acceptance, for vLLM's ``custom_class`` method.

It runs in the engine's interpreter, with this folder on PYTHONPATH, without specfloor. It drafts
what the target itself said before in the same place, and spoils each token with a chance drawn
once per request. So prompts are sent twice, greedily: the first time it learns and drafts nothing,
the second time each drafted token is kept with a known probability. The answers of the first time
must be more than k tokens longer, or the last drafts are short.

The environment variable SPECFLOOR_DRAFTER names a JSON file, which may change while it is used:
``mean`` and ``sd`` of the chance that a token is kept, over requests (a Beta law), ``seed``
of each prompt's chance, and ``noise``, the seed of which tokens are spoilt. Two runs that differ in
the noise alone are an A/A. With ``decay`` the chance falls while requests come: from the request
numbered ``after`` (from 1, counted since the file was read) it goes to ``to`` times what it was,
over as many requests as ``over`` says, 0 for at once.
"""

import json
import os
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

SETTING = "SPECFLOOR_DRAFTER"


class CalibratedDrafter:
    """Drafts recorded continuations, each token spoiled with the request's own probability."""

    def __init__(self, vllm_config: Any) -> None:  # noqa: ANN401 - vLLM is not imported here
        self._settings = Path(os.environ[SETTING])
        self._k = int(vllm_config.speculative_config.num_speculative_tokens)
        self._vocabulary = int(vllm_config.model_config.get_vocab_size())
        self._read_at = -1
        self._requests = 0
        """Requests that began since the settings were read."""
        self._next: dict[int, int] = {}
        """Hash of a prefix → the token that the target put after it."""
        self._prompt: dict[int, int] = {}
        """Hash of a prefix → the hash of the prompt it began with."""
        self._kept: dict[int, float] = {}
        """Hash of a prompt → the probability that a drafted token is kept."""

    def load_model(self, *_: object, **__: object) -> None:
        """Do nothing: there are no weights."""

    def propose(
        self,
        sampled_token_ids: Sequence[Sequence[int]],
        num_tokens_no_spec: Sequence[int],
        token_ids_cpu: Any,  # noqa: ANN401 - a numpy array, batch × positions
        **_: object,
    ) -> list[list[int]]:
        """Return up to k drafted tokens for each request of the batch."""
        self._read_settings()
        return [
            self._draft([int(t) for t in token_ids_cpu[i, : num_tokens_no_spec[i]]], len(fresh))
            if len(fresh)
            else []
            for i, fresh in enumerate(sampled_token_ids)
        ]

    def _read_settings(self) -> None:
        changed = self._settings.stat().st_mtime_ns
        if changed == self._read_at:
            return
        settings = json.loads(self._settings.read_text(encoding="utf-8"))
        self._mean, self._sd = float(settings["mean"]), float(settings["sd"])
        self._seed, self._noise = int(settings["seed"]), int(settings["noise"])
        self._decay = settings.get("decay")
        self._requests = 0
        self._kept.clear()
        self._read_at = changed

    def _draft(self, tokens: list[int], fresh: int) -> list[int]:
        """Learn the ``fresh`` last tokens, then draft what came after them before."""
        place = _hash(tokens[:-fresh])
        prompt = self._prompt.setdefault(place, place)
        self._requests += prompt == place
        for token in tokens[-fresh:]:
            self._next[place] = token
            place = hash((place, token))
            self._prompt[place] = prompt
        drafted: list[int] = []
        while len(drafted) < self._k and place in self._next:
            token = self._next[place]
            drafted.append(token if self._keeps(place, prompt) else self._spoilt(token))
            place = hash((place, token))
        return drafted

    def _keeps(self, place: int, prompt: int) -> bool:
        if prompt not in self._kept:
            self._kept[prompt] = self._probability(_draw(self._seed, prompt))
        kept = self._kept[prompt] * self._left()
        return _draw(self._noise, prompt, place).random() < kept

    def _left(self) -> float:
        """Return what decay has left of the chances, as a share."""
        if self._decay is None or self._requests < self._decay["after"]:
            return 1.0
        gone = self._requests - self._decay["after"] + 1
        share = min(1.0, gone / max(1, self._decay["over"]))
        return float(1 - share * (1 - self._decay["to"]))

    def _probability(self, draw: random.Random) -> float:
        if self._sd == 0:
            return self._mean
        weight = self._mean * (1 - self._mean) / self._sd**2 - 1
        return draw.betavariate(self._mean * weight, (1 - self._mean) * weight)

    def _spoilt(self, token: int) -> int:
        return (token + 1) % self._vocabulary


def _draw(*about: int) -> random.Random:
    """Return randomness that depends on nothing but what it is about."""
    return random.Random(repr(about))  # noqa: S311 - not for secrets


def _hash(tokens: Iterable[int]) -> int:
    place = 0
    for token in tokens:
        place = hash((place, token))
    return place
