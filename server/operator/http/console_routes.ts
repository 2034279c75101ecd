import type { HttpBindings } from "@hono/node-server";
import type { Context, Hono } from "hono";
import { answerConsole } from "../../../console/mod.ts";
import { clientAddress } from "../../limits/client_address.ts";
import type { SmcpEnv } from "../../http/http_app.ts";
import { notFound, toResponse } from "../../shared/refusal.ts";
import { ProblemError, toProblemResponse } from "../problem.ts";
import { checkName, isOn, type OperatorAdmission } from "./admit_operator.ts";

/** Where the page is. */
export const CONSOLE_PATH = "/console";

/**
 * Adds the console's page and its parts to an app. They hold no data, and so need no token; while nobody
 * can be an operator, they are not there.
 */
export function mountConsole(
  app: Hono<SmcpEnv>,
  parts: OperatorAdmission,
): void {
  const answer = (c: Context<SmcpEnv>, part?: string): Response => {
    const { incoming }: Partial<HttpBindings> = c.env ?? {};
    incoming?.resume(); // an unread body would hold the connection open
    if (!isOn(parts) || incoming === undefined) return toResponse(notFound());
    const { headers, socket } = incoming;
    const address = clientAddress(
      socket.remoteAddress ?? "",
      headers["x-forwarded-for"],
      parts.proxies,
    );
    try {
      checkName(incoming, address, parts);
    } catch (error) {
      if (error instanceof ProblemError) return toProblemResponse(error);
      throw error;
    }
    if (part === "") { // relative: a proxy may have put it somewhere else
      return new Response(null, {
        status: 308,
        headers: { Location: "../console" },
      });
    }
    return answerConsole("server", {
      method: c.req.method,
      ...(part !== undefined && { part }),
      ifNoneMatch: headers["if-none-match"],
    });
  };
  app.all(CONSOLE_PATH, (c) => answer(c));
  app.all(
    `${CONSOLE_PATH}/*`,
    (c) => answer(c, c.req.path.slice(CONSOLE_PATH.length + 1)),
  );
}
