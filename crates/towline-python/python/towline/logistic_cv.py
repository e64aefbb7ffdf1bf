"""Logistic regression whose C is chosen by cross-validation."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv

from ._folds import fold_scores, without_unweighted
from ._routing import is_enabled, routed, router
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
    ended. ``scoring`` is a name or a function of scikit-learn's; without it, accuracy. By ``"accuracy"``, ``"neg_log_loss"``, ``"neg_brier_score"``, ``"roc_auc"``, ``"average_precision"``,
    ``"f1"`` and ``"matthews_corrcoef"`` they are also scored over the same rows; by others, a model for each is fitted for itself. ``scores_`` has the score of each fold, l1_ratio and C; ``Cs_``, ``C_``, ``l1_ratios_`` and ``l1_ratio_`` are what
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
        penalty="deprecated",
        use_legacy_attributes=False,
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
        self.penalty = penalty
        self.use_legacy_attributes = use_legacy_attributes
        self.multi_class = multi_class
        self.memory = memory
        self.callback = callback

    #: For what is shared with :class:`towline.LogisticRegression`.
    warm_start = False

    @property
    def C(self) -> float:
        """What the last model is fitted with."""
        return getattr(self, "C_", 1.0)

    @property
    def l1_ratio(self) -> float:
        """The same for the share of the l1 penalty."""
        return getattr(self, "l1_ratio_", 0.0)

    def get_metadata_routing(self):
        """Where metadata goes: to the splitter and to the scorer."""
        return router(self, check_cv(self.cv, classifier=True), self._scorer(), callers=("fit", "score"))

    def _scorer(self):
        return get_scorer("accuracy" if self.scoring is None else self.scoring)

    def fit(self, X, y, sample_weight=None, **params):
        """Finds the best C by folds, and fits to all rows with it. ``params``, such as ``groups``, go to the splitter."""
        if is_on_disk(X):
            raise TypeError("folds are of arrays; for a file or a store there is towline.cv")
        if self.refit is not True:
            raise ValueError("refit=False, the mean of the weights of all folds, is not an optimum of anything; leave it at True")
        if self.use_legacy_attributes is True:
            raise ValueError("use_legacy_attributes=True is the form that scikit-learn drops; leave it at False")
        self._set_values()
        self._new_fit()
        # Folds are of all rows; rows of weight 0 are left out of training and scores.
        checked = self._arrays(X, y, sample_weight, {})
        where = routed(self, "fit", checked[2], params)
        folds = list(check_cv(self.cv, checked[1], classifier=True).split(checked[0], checked[1], **where.split))
        by_name = isinstance(self.scoring, (str, type(None))) and (self.scoring or "accuracy") in SCORES
        score = self._scores_together if by_name else self._scores_one_by_one
        self.scores_ = score(checked, folds, where.score).reshape(len(folds), len(self.l1_ratios_), len(self.Cs_))
        best = np.unravel_index(np.argmax(self.scores_.mean(axis=0)), self.scores_.shape[1:])
        self.l1_ratio_, self.C_ = float(self.l1_ratios_[best[0]]), float(self.Cs_[best[1]])
        return super().fit(X, y, sample_weight)

    def _set_values(self) -> None:
        """What is compared. ``penalty`` is the older word for the shares of the l1 penalty."""
        self.Cs_ = np.logspace(-4, 4, self.Cs) if isinstance(self.Cs, Integral) else np.asarray(self.Cs, dtype=float)
        named = {"l1": [1.0], "l2": [0.0]}.get(self.penalty, [0.0] if self.l1_ratios is None else self.l1_ratios)
        self.l1_ratios_ = np.atleast_1d(np.asarray(named, dtype=float))
        for name in ("C_", "l1_ratio_"):
            self.__dict__.pop(name, None)

    def _scores_together(self, checked, folds, score_params: dict) -> np.ndarray:
        """The scores of all folds and values over the same rows."""
        X, y, sample_weight = checked
        metric, more_is_better = SCORES[self.scoring or "accuracy"]
        _, problem = self._prepared(X, y, sample_weight, {})
        codes = np.searchsorted(self.classes_, y)
        kept, codes, weight, folds = without_unweighted(X, codes, sample_weight, folds)
        problems = [{**problem, **penalty_of(1.0, ratio), "c": float(c)} for ratio in self.l1_ratios_ for c in self.Cs_]
        scores = fold_scores(self, rows(kept, codes, weight), problems, folds, metric)
        return scores if more_is_better else -scores

    def _scores_one_by_one(self, checked, folds, score_params: dict) -> np.ndarray:
        """The same by a scorer that asks an estimator, each value of C from where the one before has ended."""
        X, y, sample_weight = checked
        scorer, shared = self._scorer(), LogisticRegression().get_params().keys() & self.get_params().keys()
        scores = []
        for train, test in folds:
            weight = None if sample_weight is None else sample_weight[train]
            params = {name: value[test] for name, value in score_params.items()}
            for ratio in self.l1_ratios_:
                model = LogisticRegression(**{name: getattr(self, name) for name in shared}, warm_start=True)
                for c in self.Cs_:
                    model.set_params(C=float(c), l1_ratio=float(ratio), penalty="deprecated").fit(X[train], y[train], weight)
                    scores.append(scorer(model, X[test], y[test], **params))
        return np.array(scores)

    def score(self, X, y, sample_weight=None, **score_params) -> float:
        """The score that C was chosen by."""
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
        params = routed(self, "score", sample_weight, score_params).score if is_enabled() else {**weighted, **score_params}
        return self._scorer()(self, X, y, **params)
