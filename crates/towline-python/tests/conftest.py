"""Before SciPy is imported: with this, scikit-learn's checks leave none out."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")
