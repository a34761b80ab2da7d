"""A scikit-learn pipeline with categorical columns, inside a grid search that scores by the metric itself.

The attribute `channel` is a column of the table. The pipeline encodes it, the policy reads it too, and `predict` needs
only the table. So the groups stay with their rows during cross-validation.
"""

from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import metricfit as mf

data = mf.datasets.make_fraud_triage(n_rows=4000, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(data.X, data.y, random_state=0, stratify=data.y)

categories = ["region", "channel"]
numbers = [name for name in data.X.columns if name not in categories]
model = make_pipeline(
    make_column_transformer((OneHotEncoder(), categories), (StandardScaler(), numbers)),
    LogisticRegression(max_iter=1000),
)
parity = mf.demographic_parity(over="channel", to="pairs") <= 0.1
clf = mf.MetricClassifier(model, "g_mean", [parity], attributes=["channel"], cv=3, random_state=0)

# Each candidate is scored by the G-mean of its decisions on held-out rows.
search = GridSearchCV(
    clf,
    {"estimator__logisticregression__C": [0.01, 1.0]},
    scoring=mf.g_mean().scorer(attributes=["channel"]),
    cv=2,
)
search.fit(X_train, y_train)

print("chosen:", search.best_params_)
expected = search.best_estimator_.result_.expected
print("expect on new rows: G-mean", expected)
for limit in expected.constraints:
    print(f"{parity}: {limit}, {limit.outlook}")
made = mf.Confusion.from_predictions(y_test, search.predict(X_test), X_test[["channel"]])
print(
    f"on the test rows: G-mean {mf.g_mean()(made):.3f}, difference between channels {parity.metric(made):.3f}"
)
