import type { SmcpComputer } from "../computer.ts";
import { isPlainName, MAX_PLAIN_NAME } from "../../shared/checks.ts";
import { hideSecrets } from "../util/secrets.ts";
import { callLine, stateLine } from "./live/lines.ts";

/** Options for {@linkcode report}. */
export interface ReportOptions {
  /** Receives one or more lines. */
  readonly note: (text: string) => void;
  /** Leave out what a live view already shows. */
  readonly brief: boolean;
}

/** Reports the events of a Computer as lines. */
export function report(
  computer: SmcpComputer,
  { note: show, brief }: ReportOptions,
): void {
  const note = (text: string) => show(hideSecrets(text));
  computer.on("disconnected", ({ reason, reconnecting }) => {
    if (reconnecting) note(`connection lost (${reason}), reconnecting`);
  });
  computer.on(
    "rejoinFailed",
    ({ office, reason, retryInMs }) =>
      note(
        `cannot join office ${office} again: ${reason}; next attempt in ${
          (retryInMs / 1000).toFixed(1)
        } s`,
      ),
  );
  computer.on("joined", ({ rejoined }) => {
    if (rejoined || isPlainName(computer.name)) return;
    note(
      `warning: MCP clients see another name than ${
        JSON.stringify(computer.name)
      } before its tools, with a hash; choose one of letters, digits and -, at most ${MAX_PLAIN_NAME} characters, with --name`,
    );
  });
  if (brief) return;
  computer.on("callEnded", (call) => note(callLine(call)));
  computer.on("connected", () =>
    note(
      `connected to ${computer.url}, A2C-SMCP ${computer.status().protocol}`,
    ));
  computer.on(
    "joined",
    ({ office, rejoined }) =>
      note(
        `${
          rejoined ? "back in" : "joined"
        } office ${office} as ${computer.name}`,
      ),
  );
  let problems = new Set<string>();
  const noteProblems = () => {
    const now = computer.status().problems;
    for (const text of now) {
      if (!problems.has(text)) note(`problem: ${text}`);
    }
    problems = new Set(now);
  };
  computer.on("toolsChanged", noteProblems);
  computer.on("skillsChanged", () => {
    const { skills } = computer.status();
    note(`skills: ${skills.join(", ") || "none"}`);
    noteProblems();
  });
  const last = new Map<string, string>();
  computer.on("serverState", (status) => {
    const line = stateLine(status);
    // A server that cannot start is retried forever; its error is reported once.
    if (line === undefined || line === last.get(status.bundleId)) return;
    last.set(status.bundleId, line);
    note(line);
  });
}
