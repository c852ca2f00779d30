# The image holds nodelint and what it needs; the manifests are mounted at /src:
#   docker build -t nodelint . && docker run --rm -v "$PWD:/src" nodelint check
#
# Tag and digest go together: docker buildx imagetools inspect python:3.13-slim
ARG PYTHON=3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b

FROM python:${PYTHON} AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY requirements requirements
COPY nodelint nodelint
COPY rules rules
COPY schemas schemas
COPY docs/rules docs/rules
# Exactly the packages that requirements/ names, by their hashes.
RUN python -m pip install --no-cache-dir --no-deps --require-hashes -r requirements/build.txt \
    && python -m pip wheel --no-cache-dir --no-deps --require-hashes --wheel-dir /wheels -r requirements/nodelint.txt \
    && python -m pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels .

FROM python:${PYTHON}
# The address of the repository that the image is built from.
ARG SOURCE=""
LABEL org.opencontainers.image.title="nodelint" \
      org.opencontainers.image.description="A linter for Karpenter's NodePool and EC2NodeClass" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV PYTHONDONTWRITEBYTECODE=1
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    python -m pip install --no-cache-dir --no-index --find-links /wheels /wheels/nodelint-*.whl \
    && useradd --no-log-init --uid 10001 --create-home nodelint
USER 10001
WORKDIR /src
ENTRYPOINT ["nodelint"]
CMD ["check"]
