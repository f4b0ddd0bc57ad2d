# Pyroclast in a container: `docker build -t pyroclast .`, then `docker run pyroclast scheduler --help`.

# Pinned by digest. It is the index of all platforms that docker-library/repo-info lists for this tag, in
# repos/python/remote/3.11.16-slim-bookworm.md at commit 422f3cfe. Debian's later fixes need a later digest:
# --build-arg PYTHON_IMAGE=python:…@sha256:…
ARG PYTHON_IMAGE=python:3.11.16-slim-bookworm@sha256:c425d915a89a6dcd3183b1797ad9bd8878caff5a417f6371c8df93c8ea8b727f

# The first stage has pip; nothing of it is in the image that ships.
FROM ${PYTHON_IMAGE} AS build

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PYTHONDONTWRITEBYTECODE=1

WORKDIR /src

# Each file is compared with its hash in the lock, and no source archive is built.
COPY requirements-image.lock requirements-build.lock ./
RUN python -m venv /opt/pyroclast \
    && /opt/pyroclast/bin/pip install --require-hashes --only-binary :all: --requirement requirements-image.lock
RUN python -m venv /opt/build \
    && /opt/build/bin/pip install --require-hashes --only-binary :all: --requirement requirements-build.lock

COPY pyproject.toml README.md LICENSE ./
COPY actions actions
COPY cache cache
COPY config config
COPY controllers controllers
COPY emulator emulator
COPY framework framework
COPY kube kube
COPY model model
COPY plugins plugins
COPY pyroclast pyroclast
COPY scheduler scheduler
RUN /opt/build/bin/python -m hatchling build --target wheel --directory wheels \
    && /opt/pyroclast/bin/pip install --no-deps --no-index wheels/*.whl \
    # Compiled here, since the file system of a running container is read-only.
    && /opt/pyroclast/bin/python -m compileall -q /opt/pyroclast/lib

# What is in the image, in CycloneDX's form, for those who audit it.
RUN /opt/build/bin/cyclonedx-py environment --output-reproducible --of JSON -o /opt/pyroclast/sbom.cdx.json \
        /opt/pyroclast/bin/python \
    && /opt/pyroclast/bin/pip uninstall --yes pip


FROM ${PYTHON_IMAGE}

LABEL org.opencontainers.image.title="Pyroclast" \
      org.opencontainers.image.description="A batch scheduler for Kubernetes: gangs, queues and fair shares" \
      org.opencontainers.image.licenses="Apache-2.0"

# A number, so that `runAsNonRoot` can be proven without looking into /etc/passwd.
RUN groupadd --gid 65532 pyroclast \
    && useradd --uid 65532 --gid 65532 --no-create-home --shell /usr/sbin/nologin pyroclast

COPY --from=build /opt/pyroclast /opt/pyroclast

# The base has Python's own modules uncompiled; a container that may write nowhere would compile them at each start.
RUN /opt/pyroclast/bin/python -c 'import pyroclast.scheduler.daemon.serve, pyroclast.scheduler.controllers.serve'

ENV PATH=/opt/pyroclast/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1

USER 65532:65532
WORKDIR /

# /metrics, and the probes. The dump of SIGUSR1 and the verbosity socket need a writable /tmp; nothing else is written.
EXPOSE 8080 8443 11251

# For those who run it without Kubernetes; there, the chart's probes ask the same.
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:11251/livez', timeout=4)"]

ENTRYPOINT ["pyroclast"]
CMD ["scheduler", "--enable-healthz", "--enable-metrics"]
