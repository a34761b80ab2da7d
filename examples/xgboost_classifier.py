"""XGBoost: any classifier with `predict_proba` can be tuned, here for macro-F1.

XGBoost needs labels 0, 1, 2, so the decisions are numbers too. It splits on categorical columns without encoding.
"""

import numpy as np
import xgboost
from sklearn.model_selection import train_test_split

import metricfit as mf

data = mf.datasets.make_fraud_triage(n_rows=6000, random_state=0)
codes = np.searchsorted(data.classes, data.y)  # the classes are sorted
X_train, X_test, y_train, y_test = train_test_split(data.X, codes, random_state=0, stratify=codes)

model = xgboost.XGBClassifier(n_estimators=40, max_depth=3, enable_categorical=True, n_jobs=1, random_state=0)
clf = mf.MetricClassifier(model, "macro_f1", cv=3).fit(X_train, y_train)

print(clf.result_)
before = mf.Confusion.from_predictions(y_test, clf.estimator_.predict(X_test))
after = mf.Confusion.from_predictions(y_test, clf.predict(X_test))
print(
    f"macro-F1 on the test rows: XGBoost alone {mf.macro_f1()(before):.3f}, tuned {mf.macro_f1()(after):.3f}"
)
