"""LightGBM, which splits on categorical columns without encoding: the best minimum recall under a precision floor."""

import lightgbm
from sklearn.model_selection import train_test_split

import metricfit as mf

data = mf.datasets.make_fraud_triage(n_rows=6000, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(data.X, data.y, random_state=0, stratify=data.y)

model = lightgbm.LGBMClassifier(n_estimators=40, num_leaves=8, n_jobs=1, random_state=0, verbose=-1)
clf = mf.MetricClassifier(model, "min_recall", [mf.precision("fraud") >= 0.5], cv=3).fit(X_train, y_train)

print(clf.result_)
before = mf.Confusion.from_predictions(y_test, clf.estimator_.predict(X_test))
after = mf.Confusion.from_predictions(y_test, clf.predict(X_test))
lowest = mf.min_recall()
print(f"lowest recall on the test rows: LightGBM alone {lowest(before):.3f}, tuned {lowest(after):.3f}")
print(f"precision of fraud there: {mf.precision('fraud')(after):.3f}")
