# The Server as a container: its bundle, and Deno. `docker build -t smcp-server .`
ARG DENO_VERSION=2.9.6

# Plain JavaScript, the same for each platform.
FROM --platform=$BUILDPLATFORM denoland/deno:${DENO_VERSION} AS build
WORKDIR /src
COPY deno.json deno.lock ./
COPY links links
COPY shared shared
COPY protocol protocol
COPY client client
COPY cli cli
COPY console console
COPY mcp mcp
COPY agent agent
COPY server server
RUN ["deno", "bundle", "--quiet", "--frozen", "--code-splitting", "--outdir", "/app", "server/main.ts"]

FROM denoland/deno:distroless-${DENO_VERSION}
COPY --from=build /app /app
COPY LICENSE /app/
WORKDIR /app
# The user "nonroot" of distroless images; a number, so that Kubernetes can tell that it is not root.
USER 65532:65532
# Inside a container the address is public: without keys or tokens the Server does not start.
ENV SMCP_HOST=0.0.0.0 SMCP_LOG_FORMAT=json
EXPOSE 8787
# Whether the process answers; one that drains is healthy. Not for a Server that has TLS itself.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 \
  CMD ["/bin/deno", "eval", "--no-config", "const { ok } = await fetch(`http://127.0.0.1:${Deno.env.get('SMCP_PORT') ?? 8787}/health`); Deno.exit(ok ? 0 : 1)"]
# tini passes signals on: SIGTERM drains. Only files that flags name are written: the file system may be read-only.
ENTRYPOINT ["/tini", "--", "/bin/deno", "run", "--quiet", "--no-config", "--no-lock", "--no-npm", "--no-remote", "--cached-only", "--allow-net", "--allow-env", "--allow-read", "--allow-write", "/app/main.js"]
