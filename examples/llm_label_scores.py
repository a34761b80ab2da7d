"""A language model as a classifier: from log-probabilities of its label tokens to decisions that meet a limit.

Ask the model which label fits and read the log-probability of each label's token. These scores are not probabilities:
models prefer some tokens whatever the text says, and are overconfident. A softmax makes rows sum to 1, the calibration
inside `optimize` corrects them with labelled texts, and `confidence=0.9` asks for a limit that is met on new texts with
that confidence. Most of the labelled texts are held out to test it.
"""

import numpy as np

import metricfit as mf

LABELS = ["billing", "bug", "praise", "other"]


def label_scores(n_texts, random_state):
    """Stand in for the answers of a model: log-probabilities of the label tokens, and the true labels."""
    random = np.random.default_rng(random_state)
    truth = random.choice(4, n_texts, p=[0.2, 0.15, 0.15, 0.5])
    evidence = random.normal(size=(n_texts, 4)) + 2.0 * np.eye(4)[truth]
    likes = np.array([3.0, -3.0, 1.0, 0.0])  # "billing" is a token it likes, "bug" is not
    return 3.0 * evidence + likes, np.array(LABELS)[truth]


def softmax(logprobs):
    """Return rows that sum to 1; the probability of all other tokens is dropped."""
    shifted = np.exp(logprobs - logprobs.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


logprobs, labels = label_scores(3000, random_state=0)
proba = softmax(logprobs)

# Four in five texts that are sent to the engineers must be about a bug. Apart from that, no class may be neglected.
floor = mf.precision("bug") >= 0.8
result = mf.optimize(proba, labels, "g_mean", [floor], classes=LABELS, confidence=0.9)
print(result)

fresh, truth = label_scores(5000, random_state=1)
greedy = np.array(LABELS)[fresh.argmax(axis=1)]
decided = result.policy.decide(softmax(fresh))
for name, made in (("greedy token", greedy), ("policy", decided)):
    seen = mf.Confusion.from_predictions(truth, made, classes=LABELS)
    print(f"{name:>12}: G-mean {mf.g_mean()(seen):.3f}, precision of bug {mf.precision('bug')(seen):.3f}")
