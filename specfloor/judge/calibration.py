"""What a drafter of known acceptance must show."""


def expected_rate(mean: float, sd: float, k: int) -> float:
    """Return the acceptance rate of drafts of k tokens kept with a Beta-distributed probability.

    A draft keeps j tokens or more with probability p^j, so the rate is (p + p² + … + p^k) ÷ k, and
    the moments of a Beta distribution with mean m and standard deviation s are
    E p^j = Π (a + i) ÷ (a + b + i), i < j, with a + b = m(1 − m) ÷ s² − 1 and a = m(a + b).

    Args:
        mean: of the probability over requests, in (0, 1).
        sd: of the probability over requests, less than √(m(1 − m)).
        k: tokens a draft.
    """
    if sd == 0:
        return sum(mean**j for j in range(1, k + 1)) / k
    weight = mean * (1 - mean) / sd**2 - 1
    moment, total = 1.0, 0.0
    for i in range(k):
        moment *= (mean * weight + i) / (weight + i)
        total += moment
    return total / k
