# Pyroclast in a container: `docker build -t pyroclast .`, then `docker run pyroclast scheduler --help`.

# The first stage has a compiler and pip; nothing of them is in the image that ships.
FROM python:3.11-slim AS build

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PYTHONDONTWRITEBYTECODE=1

RUN python -m venv /opt/pyroclast
WORKDIR /src

# The lock is a constraint, not a list: it names the tools of development too, which the image does without.
COPY requirements.lock pyproject.toml README.md LICENSE ./
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
RUN /opt/pyroclast/bin/pip install --constraint requirements.lock '.[emulator]' \
    # Compiled here, since the file system of a running container is read-only.
    && /opt/pyroclast/bin/python -m compileall -q /opt/pyroclast/lib


FROM python:3.11-slim

LABEL org.opencontainers.image.title="Pyroclast" \
      org.opencontainers.image.description="A batch scheduler for Kubernetes: gangs, queues and fair shares" \
      org.opencontainers.image.licenses="Apache-2.0"

# A number, so that `runAsNonRoot` can be proven without looking into /etc/passwd.
RUN groupadd --gid 65532 pyroclast \
    && useradd --uid 65532 --gid 65532 --no-create-home --shell /usr/sbin/nologin pyroclast

COPY --from=build /opt/pyroclast /opt/pyroclast

ENV PATH=/opt/pyroclast/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1

USER 65532:65532
WORKDIR /

# /metrics, and the probes. The dump of SIGUSR1 and the verbosity socket need a writable /tmp; nothing else is written.
EXPOSE 8080 11251

ENTRYPOINT ["pyroclast"]
CMD ["scheduler"]
