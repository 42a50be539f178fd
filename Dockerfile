# The worker's image: a Python, what the frames are coded with, what a candidate's own tests run on, and
# torch where its wheels are given.
# It holds no suite, no solution and no judge. `harness image build` fills the context and builds it.
ARG BASE=python:3.11-slim

FROM ${BASE} AS parts
COPY wheels /wheels
RUN names=$(ls /wheels | sed -nE 's/^(hypothesis|msgspec|numpy|pytest|torch|triton)-[0-9].*\.whl$/\1/p' | sort -u) \
 && python3 -m pip install --no-index --no-cache-dir --find-links /wheels --target /opt/harness $names
# The first process of a container holds its streams; one that cannot be read cannot be looked into.
RUN cp "$(command -v timeout)" /opt/timeout && chmod 0111 /opt/timeout

FROM ${BASE}
# Triton compiles a launcher on a GPU: such an image needs a C compiler and Python's headers.
ARG COMPILER=
RUN if [ -n "$COMPILER" ]; then command -v cc || command -v gcc || command -v clang; fi \
 && if [ -n "$COMPILER" ]; then ls "$(python3 -c \
    'import sysconfig; print(sysconfig.get_path("include"))')/Python.h"; fi
# Nothing installs and nothing changes its user in here.
RUN rm -rf /usr/lib/python3/dist-packages/pip* /usr/local/lib/python3*/site-packages/pip* \
    /usr/lib/python3*/ensurepip /usr/local/lib/python3*/ensurepip \
 && find / -xdev -type f -perm /6000 -exec chmod a-s {} +
COPY --from=parts /opt /opt
COPY harness/__init__.py /opt/harness/harness/
COPY harness/border /opt/harness/harness/border
COPY harness/worker /opt/harness/harness/worker
RUN python3 -m compileall -q --invalidation-mode unchecked-hash /opt/harness/harness \
 && python3 -I -c "import sys; sys.path.insert(0, '/opt/harness'); import harness.worker.parent"
ARG PROTOCOL
ARG VERSION
ARG WORKER
LABEL harness.protocol=${PROTOCOL} harness.version=${VERSION} harness.worker=${WORKER}
USER 65534:65534
WORKDIR /tmp
