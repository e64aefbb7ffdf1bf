"""Logistic regression whose C is chosen by cross-validation."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.model_selection import check_cv

from ._folds import fold_scores, without_unweighted
from ._rows import rows
from .linear import penalty_of
from .logistic import LogisticRegression
from .store import is_on_disk

#: What scikit-learn's names of scores are in the library, and whether more is better there.
SCORES = {
    "accuracy": ("accuracy", True),
    "neg_log_loss": ("log-loss", False),
    "neg_brier_score": ("brier", False),
    "roc_auc": ("auc", True),
    "average_precision": ("pr-auc", True),
    "f1": ("f1", True),
    "matthews_corrcoef": ("mcc", True),
}


class LogisticRegressionCV(LogisticRegression):
    """Logistic regression with C, and ``l1_ratio``, by cross-validation, as ``sklearn.linear_model.LogisticRegressionCV`` with ``use_legacy_attributes=False``.

    ``Cs`` are values, or how many there are from 1e-4 to 1e4. All folds and values are trained over the same rows, each C from where the one before has
    ended. ``scoring`` is one of scikit-learn's names: ``"accuracy"``, ``"neg_log_loss"``, ``"neg_brier_score"``, ``"roc_auc"``, ``"average_precision"``, ``"f1"`` or
    ``"matthews_corrcoef"``; without it, accuracy. ``scores_`` has the score of each fold, l1_ratio and C; ``Cs_``, ``C_``, ``l1_ratios_`` and ``l1_ratio_`` are what
    was compared and found. Rows are arrays; for a file or a store there is :func:`towline.cv`.
    """

    def __init__(
        self,
        *,
        Cs=10,
        l1_ratios=(0.0,),
        fit_intercept=True,
        cv=None,
        dual=False,
        scoring=None,
        solver="auto",
        tol=1e-4,
        max_iter=100,
        class_weight=None,
        n_jobs=None,
        verbose=0,
        refit=True,
        intercept_scaling=1.0,
        random_state=None,
        multi_class="auto",
        memory=None,
        callback=None,
    ):
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.dual = dual
        self.scoring = scoring
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.refit = refit
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.multi_class = multi_class
        self.memory = memory
        self.callback = callback

    #: For what is shared with :class:`towline.LogisticRegression`.
    penalty = "deprecated"
    warm_start = False

    @property
    def C(self) -> float:
        """What the last model is fitted with."""
        return getattr(self, "C_", 1.0)

    @property
    def l1_ratio(self) -> float:
        """The same for the share of the l1 penalty."""
        return getattr(self, "l1_ratio_", 0.0)

    def fit(self, X, y, sample_weight=None, **split_params):
        """Finds the best C by folds, and fits to all rows with it. ``split_params``, such as ``groups``, go to the splitter."""
        if is_on_disk(X):
            raise TypeError("folds are of arrays; for a file or a store there is towline.cv")
        if self.refit is not True:
            raise ValueError("refit=False, the mean of the weights of all folds, is not an optimum of anything; leave it at True")
        metric, more_is_better = self._metric()
        self.Cs_ = np.logspace(-4, 4, self.Cs) if isinstance(self.Cs, Integral) else np.asarray(self.Cs, dtype=float)
        self.l1_ratios_ = np.atleast_1d(np.asarray(self.l1_ratios, dtype=float))
        self.__dict__.pop("C_", None)
        self.__dict__.pop("l1_ratio_", None)
        self._new_fit()
        # Folds are of all rows; rows of weight 0 are left out of training and scores.
        checked = self._arrays(X, y, sample_weight, {})
        folds = list(check_cv(self.cv, checked[1], classifier=True).split(checked[0], checked[1], **split_params))
        _, problem = self._prepared(X, y, sample_weight, {})
        codes = np.searchsorted(self.classes_, checked[1])
        kept, codes, weight, folds = without_unweighted(checked[0], codes, checked[2], folds)
        problems = [
            {**problem, **penalty_of(1.0, ratio), "c": float(c)} for ratio in self.l1_ratios_ for c in self.Cs_
        ]
        scores = fold_scores(self, rows(kept, codes, weight), problems, folds, metric)
        self.scores_ = (scores if more_is_better else -scores).reshape(len(folds), len(self.l1_ratios_), len(self.Cs_))
        best = np.unravel_index(np.argmax(self.scores_.mean(axis=0)), self.scores_.shape[1:])
        self.l1_ratio_, self.C_ = float(self.l1_ratios_[best[0]]), float(self.Cs_[best[1]])
        return super().fit(X, y, sample_weight)

    def score(self, X, y, sample_weight=None) -> float:
        """The score that C was chosen by."""
        from sklearn.metrics import get_scorer

        if self.scoring is None:
            return super().score(X, y, sample_weight)
        return get_scorer(self.scoring)(self, X, y, sample_weight=sample_weight)

    def _metric(self) -> tuple[str, bool]:
        name = "accuracy" if self.scoring is None else self.scoring
        if name not in SCORES:
            raise ValueError(f"scoring={self.scoring!r} is not one of {', '.join(map(repr, SCORES))}")
        return SCORES[name]
