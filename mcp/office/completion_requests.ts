import {
  ProtocolError,
  ProtocolErrorCode,
  type Server,
} from "@modelcontextprotocol/server";
import { placeOf, TEMPLATES } from "../resources/uris.ts";
import type { ServerParts } from "./server_parts.ts";

/** The most values of an answer, as MCP limits it. */
const MAX_VALUES = 100;

/** Variables whose values choose among the values of others. */
const CHOOSING: readonly string[] = ["computer", "server", "name"];
/** Variables whose values depend on others. */
const VARIABLES: readonly string[] = ["server", "uri", "name", "path"];

/** What is asked for. */
interface Wanted {
  /** What the template is of. */
  readonly kind: typeof TEMPLATES[number]["name"];
  /** The name of its variable. */
  readonly name: string;
  /** What the others are already. */
  readonly known: Readonly<Record<string, string>>;
}

/**
 * Makes a server complete the variables of its templates. For the arguments of prompts it has no
 * values: A2C has no request for those.
 */
export function answerCompletionRequests(
  server: Server,
  parts: ServerParts,
): void {
  server.setRequestHandler("completion/complete", async ({ params }) => {
    const { ref, argument: { name, value }, context } = params;
    const known = context?.arguments ?? {};
    const values = ref.type === "ref/resource"
      ? await valuesOf(parts, { kind: kindOf(ref.uri), name, known })
      : [];
    const wanted = value.toLowerCase();
    const fitting = values.filter((each) =>
      each.toLowerCase().startsWith(wanted)
    );
    return {
      completion: {
        values: fitting.slice(0, MAX_VALUES),
        total: fitting.length,
        hasMore: fitting.length > MAX_VALUES,
      },
    };
  });
}

function kindOf(uriTemplate: string): Wanted["kind"] {
  const found = TEMPLATES.find((each) => each.uriTemplate === uriTemplate);
  if (found) return found.name;
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `There is no template ${uriTemplate}`,
  );
}

/** All values that a variable can have, in order. */
async function valuesOf(
  { view, options: { computer: only } }: ServerParts,
  { kind, name, known }: Wanted,
): Promise<string[]> {
  const agent = await view.ready();
  const computers = view.catalogue.computers.filter((each) =>
    (only ?? each) === each
  );
  if (name === "computer") return computers;
  const places = (await view.reads.resources.list(agent, computers))
    .map(({ uri }) => placeOf(uri))
    .filter((place) => place?.kind === kind);
  const values = places.flatMap((place) => {
    if (place === undefined || place.kind === "desktop") return [];
    const fields: Readonly<Partial<Record<string, string>>> = { ...place };
    const isMeant = CHOOSING.every((each) =>
      each === name || fields[each] === (known[each] ?? fields[each])
    );
    const value = VARIABLES.includes(name) ? fields[name] : undefined;
    return isMeant && value !== undefined ? [value] : [];
  });
  return [...new Set(values)].toSorted();
}
