"""Mathematics: arrays in, arrays out; no input or output, no clock, no configuration.

Of scipy the large packages are named in full where they are used (`scipy.stats.rankdata`): it loads
them at the first use, and no start waits for them.

BLAS has one thread in every process that imports this package. Products are small, and requests keep the cores busy; and
the same bytes come from every thread and on every number of cores.
"""

import scipy.linalg  # noqa: F401  # brings a BLAS of its own, which must be there to be limited
from threadpoolctl import threadpool_limits

threadpool_limits(limits=1, user_api="blas")
