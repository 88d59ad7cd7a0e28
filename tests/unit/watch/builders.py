"""Metrics of a running server, for the tests of watch."""


def metrics(*engines, started=1.0, prefix="vllm:", model="GLM-5.2"):
    """Return a ``/metrics`` text of engines, each as ``engine`` gives it."""
    lines = [f"process_start_time_seconds {started}"]
    for number, told in enumerate(engines):
        if told is None:
            continue
        labels = f'engine="{number}",model_name="{model}"'
        values = {
            "num_requests_running": 4.0,
            "num_requests_waiting": 1.0,
            "generation_tokens_total": told["generated"],
            "spec_decode_num_drafts_total": told["drafts"],
            "spec_decode_num_draft_tokens_total": told["drafts"] * len(told["accepted"]),
            "spec_decode_num_accepted_tokens_total": sum(told["accepted"]),
        }
        lines += [f"{prefix}{name}{{{labels}}} {value}" for name, value in values.items()]
        lines += [
            f"{prefix}spec_decode_num_accepted_tokens_per_pos_total"
            f'{{{labels},position="{position}"}} {count}'
            for position, count in enumerate(told["accepted"])
        ]
    return "\n".join((*lines, ""))


def engine(drafts, accepted, generated=None):
    """Return an engine's counters; ``accepted`` by position."""
    generated = drafts + sum(accepted) if generated is None else generated
    return {"drafts": drafts, "accepted": accepted, "generated": generated}
