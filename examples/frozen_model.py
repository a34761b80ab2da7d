"""A model in production that must not be retrained, and a validation set that it has not seen.

`FrozenEstimator` says that the model is already fitted: all rows passed to `fit` are used to tune the decisions.
"""

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

import metricfit as mf

data = mf.datasets.make_fraud_triage(n_rows=9000, random_state=0)
X_train, X_rest, y_train, y_rest = train_test_split(data.X, data.y, random_state=0, stratify=data.y)
X_valid, X_new, y_valid, y_new = train_test_split(X_rest, y_rest, random_state=0, stratify=y_rest)
production = HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=8, random_state=0)
production.fit(X_train, y_train)  # somebody did this long ago

# At most 5 % of the decisions may differ from today's, which are the model's own: this share is the churn.
attributes = {"today": production.predict(X_valid)}
clf = mf.MetricClassifier(
    FrozenEstimator(production), "g_mean", [mf.churn("today") <= 0.05, mf.precision("fraud") >= 0.7]
)
clf.fit(X_valid, y_valid, sensitive_features=attributes)
print(clf.result_)

decisions = clf.predict(X_new, sensitive_features={"today": production.predict(X_new)})
changed = (decisions != production.predict(X_new)).mean()
print(f"on new rows {changed:.1%} of the decisions change; G-mean goes from ", end="")
before, after = (mf.Confusion.from_predictions(y_new, d) for d in (production.predict(X_new), decisions))
print(f"{mf.g_mean()(before):.3f} to {mf.g_mean()(after):.3f}")
