"""Which features does a Lasso take first? Fits along falling values of alpha, each from the one before.

python lasso_path.py
"""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

import towline


def main() -> None:
    data = load_diabetes()
    X, y = StandardScaler().fit_transform(data.data), data.target
    largest = np.abs(X.T @ (y - y.mean())).max() / len(y)
    lasso = towline.Lasso(warm_start=True, tol=1e-6, max_iter=10_000)
    for alpha in largest * np.geomspace(1.0, 0.01, 12):
        lasso.set_params(alpha=alpha).fit(X, y)
        taken = [name for name, weight in zip(data.feature_names, lasso.coef_) if weight]
        print(f"alpha {alpha:7.3f}  gap {lasso.gap_:.0e}  {' '.join(taken)}")


if __name__ == "__main__":
    main()
