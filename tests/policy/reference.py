"""A reader of policy files in plain Python, from docs/policy-file.md alone: it shares no code with the package."""

import hashlib
import json
import math
import struct

WORD = 2**64


def load(text):
    """Return the document of a policy file; a damaged one is a ValueError."""
    document = json.loads(text)
    stated = document.pop("checksum")
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    if hashlib.sha256(canonical.encode("ascii")).hexdigest() != stated:
        raise ValueError("the checksum does not match")
    if document["format"] != "metricfit.policy" or document["version"] > 3:
        raise ValueError("not a policy file of a known version")
    return document


def mix(word):
    """Scramble a 64-bit word."""
    word = (word + 0x9E3779B97F4A7C15) % WORD
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % WORD
    return word ^ (word >> 31)


def cell_key(values):
    """Return the key of a cell: the first 8 bytes of a hash, in little-endian order."""
    whole = [v if isinstance(v, str) or v != int(v) else int(v) for v in values]
    text = json.dumps(whole, ensure_ascii=True)  # ["north", 1]: a space after each comma
    return int.from_bytes(hashlib.sha256(text.encode("ascii")).digest()[:8], "little")


def uniform(probabilities, values, salt=0):
    """Return the number in [0, 1) of a row that is identified by its probabilities and its cell."""
    total = 0
    for j, p in enumerate(probabilities):
        bits = struct.unpack("<I", struct.pack("<f", p + 0.0))[0]
        total += bits * (mix(j) | 1)
    start = mix(cell_key(values) ^ mix(salt % WORD))
    return (mix(total % WORD ^ start) >> 11) * 2.0**-53


def uniform_of_key(key, salt=0):
    """Return the number in [0, 1) of a row that is identified by a key: a number or a string."""
    if isinstance(key, str) or (key == int(key) and not -(2**63) <= key < WORD):
        text = key if isinstance(key, str) else str(int(key))
        word = int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "little")
    elif key == int(key):
        word = int(key) % WORD
    else:
        word = struct.unpack("<Q", struct.pack("<d", key))[0]
    return (mix(mix(salt % WORD) ^ word) >> 11) * 2.0**-53


def calibrated(document, probabilities, cell):
    """Return calibrated probabilities."""
    entry = document.get("calibration")
    if entry is None:
        return probabilities
    if "before" in entry:
        probabilities = stage(entry["before"], probabilities, 0)
    return stage(entry, probabilities, cell)


def stage(entry, probabilities, cell):
    """Return the probabilities of one calibration."""
    n, bias = len(probabilities), entry["bias"][cell % len(entry["bias"])]
    if entry["curves"] is not None:
        top = max(bias)
        made = [
            at(*curve, p) * math.exp(b - top)
            for curve, p, b in zip(entry["curves"], probabilities, bias, strict=True)
        ]
    else:
        logs = [math.log(max(p, entry["floor"])) for p in probabilities]
        matrix = entry["matrix"] or [1.0] * n
        if not isinstance(matrix[0], list):
            matrix = [[matrix[i] if i == j else 0.0 for j in range(n)] for i in range(n)]
        steepness = entry["steepness"][cell % len(entry["steepness"])]
        logits = [
            steepness * sum(m * x for m, x in zip(matrix[i], logs, strict=True)) + bias[i] for i in range(n)
        ]
        made = [math.exp(z - max(logits)) for z in logits]
    return [x / sum(made) for x in made]


def at(x, y, p):
    """Return the height of a curve: straight between its knots, flat before and after them."""
    if p < x[0]:
        return y[0]
    for left, right, low, high in zip(x, x[1:], y, y[1:], strict=False):
        if p < right:
            return low + (high - low) / (right - left) * (p - left)
    return y[-1]


def decision(document, loss, q):
    """Return the decision of a rule for calibrated probabilities."""
    classes, decisions = document["classes"], document["decisions"]
    scores = []
    for j, label in enumerate(decisions):
        if document["layout"] == "full":
            scores.append(sum(p * row[j] for p, row in zip(q, loss, strict=True)))
        else:
            named = [i for i, value in enumerate(classes) if value == label]
            scores.append((q[named[0]] * loss[0][j] if named else 0.0) + loss[1][j])
    least = min(scores)
    return decisions[max(j for j, score in enumerate(scores) if score == least)]


def decide(document, probabilities, values=(), randomize="hash", salt=0, key=None):
    """Return the decision of a row."""
    cell = document["attributes"]["values"].index(list(values))  # a ValueError: the policy does not know them
    mixture = document["cells"][cell]["rules"]
    if randomize == "never":
        rule = mixture[document["cells"][cell]["single"]]
    else:
        u = uniform(probabilities, values, salt) if key is None else uniform_of_key(key, salt)
        weighted = [rule for rule in mixture if rule["weight"] > 0]
        rule, upper = weighted[-1], 0.0
        for candidate in weighted[:-1]:
            upper += candidate["weight"]
            if u < upper:
                rule = candidate
                break
    return decision(document, rule["loss"], calibrated(document, probabilities, cell))
