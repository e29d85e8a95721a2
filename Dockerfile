# The first stage installs the locked packages, the second holds them, the code and nothing to build with.
FROM python:3.13-slim AS build
RUN python -m venv /opt/cornerwave
# requirements-cluster.txt has Dask in it, for a service with a cluster and for the cluster itself.
ARG REQUIREMENTS=requirements.txt
COPY ${REQUIREMENTS} /tmp/requirements.txt
RUN /opt/cornerwave/bin/pip install --no-cache-dir --require-hashes -r /tmp/requirements.txt

FROM python:3.13-slim
COPY --from=build /opt/cornerwave /opt/cornerwave
WORKDIR /srv/cornerwave
COPY app app
COPY docs docs
COPY migrations migrations
# The account has a number, so that an orchestrator can see that it is not root.
RUN python -m compileall -q app migrations \
    && printf '#!/bin/sh\nexec env PYTHONPATH=/srv/cornerwave python -m app "$@"\n' > /opt/cornerwave/bin/cornerwave-server \
    && chmod 0755 /opt/cornerwave/bin/cornerwave-server \
    && install --directory --owner=10001 --group=10001 --mode=0700 /var/lib/cornerwave /srv/compiled
ENV PATH=/opt/cornerwave/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    MPLCONFIGDIR=/tmp \
    NUMBA_CACHE_DIR=/srv/compiled \
    CORNERWAVE_HOST=0.0.0.0 \
    CORNERWAVE_PORT=8000 \
    CORNERWAVE_HOME=/var/lib/cornerwave
USER 10001:10001
# A start on a processor like this one loads what is compiled here; on another it compiles beside its work.
RUN cornerwave-server compile
VOLUME /var/lib/cornerwave
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import http.client, os, sys; c = http.client.HTTPConnection('127.0.0.1', int(os.environ['CORNERWAVE_PORT']), timeout=4); c.request('GET', '/health'); sys.exit(c.getresponse().status != 200)"]
CMD ["cornerwave-server", "serve"]
