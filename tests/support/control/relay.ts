import { Approvals } from "../../../computer/approvals/approvals.ts";
import { type Bytes, fromBase64url } from "../../../shared/approvals/bytes.ts";
import { createHash } from "node:crypto";

/** A Computer's approvals behind HTTP, as its Server passes them on. */
export interface ApprovalsRelay extends AsyncDisposable {
  readonly url: string;
  readonly approvals: Approvals;
  /** Whether it answers 404, as a Server does without the Computer. */
  isAway: boolean;
}

/** Serves approvals for the office `north` and the Computer `pc`, until disposed. */
export async function serveApprovals(file: string): Promise<ApprovalsRelay> {
  const approvals = await Approvals.open(file, { name: () => "pc" });
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      const [, token = ""] = /^Bearer (\S+)$/
        .exec(request.headers.get("authorization") ?? "") ?? [];
      const isKnown = approvals.verifiers.some(({ verifier }) =>
        verifier === verifierOf(fromBase64url(token))
      );
      if (relay.isAway || pathname !== "/approve/v1/north/pc" || !isKnown) {
        return new Response(null, { status: 404 });
      }
      return new Response(await approvals.handle(await request.bytes()));
    },
  );
  const relay = {
    url: `http://127.0.0.1:${server.addr.port}`,
    approvals,
    isAway: false,
    async [Symbol.asyncDispose]() {
      await approvals.close();
      await server.shutdown();
    },
  };
  return relay;
}

const verifierOf = (token: Bytes): string =>
  createHash("sha256").update(token).digest("base64url");
