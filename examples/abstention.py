"""Abstention: a decision that is not a class, "review", sends a case to a person, at a cost.

Costs are a table: what each decision costs for each true class. A reviewer is always right and costs 2 per case.
Missing a fraud costs 40, any other mistake 5.
"""

import metricfit as mf

data = mf.datasets.make_fraud_triage(n_rows=8000, random_state=0)
fitted, new = slice(0, 4000), slice(4000, None)


def cost_of(truth, decision):
    """Return what a decision costs for a true class."""
    if decision == "review":
        return 2.0
    return 0.0 if decision == truth else 40.0 if truth == "fraud" else 5.0


def cheapest(decisions, limits=()):
    """Return the policy of the lowest cost, with the metric that it was fitted for."""
    costs = mf.cost([[cost_of(truth, decision) for decision in decisions] for truth in data.classes])
    proba, y = data.proba[fitted], data.y[fitted]
    return costs, mf.optimize(proba, y, costs, limits, decisions=decisions)


# The reviewers can take three cases in a hundred.
limited = [mf.coverage("review") <= 0.03]
costs, result = cheapest([*data.classes, "review"], limited)
print(result)
print(
    f"one more case in a hundred for the reviewers would save {0.01 * result.constraints[0].price:.4f} per case"
)

# Evaluated on new rows by the decision probabilities: without reviewers, and with them.
metric, alone = cheapest(data.classes)
for name, cost, policy in (("no review", metric, alone.policy), ("review", costs, result.policy)):
    print(f"\n{name}")
    print(policy.evaluate(data.proba[new], data.y[new], [cost]).iloc[:, 1:].round(3).to_string(index=False))
share = result.policy.evaluate(data.proba[new], data.y[new], [mf.coverage("review")])
print(f"\ncases sent to review: {share['value'][0]:.1%}")
