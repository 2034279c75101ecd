const CREDENTIALS =
  "a key with --api-key (SMCP_API_KEY), or a token with --token (SMCP_TOKEN),";

/** The wordings of refused joins, each with its remedy. */
const JOIN_REMEDIES: readonly (readonly [wording: RegExp, remedy: string])[] = [
  [
    /already has an agent: .*MCP clients/i,
    "try again then, or join another office with --office",
  ],
  [
    /already has an agent: /i,
    "stop that agent, or join another office with --office",
  ],
  [
    /already has an agent/i,
    "a Server does not tell outsiders who; stop that agent, or join another office with --office",
  ],
  [/already exists/i, "choose another name with --name"],
  [/full/i, "leave some other member out, or ask the Server's operator"],
  [
    /not allowed to join as agent/i,
    `smcp-agent joins as agent: give ${CREDENTIALS} of an agent`,
  ],
  [
    /not allowed to join as computer/i,
    `smcp-computer joins as computer: give ${CREDENTIALS} of a computer`,
  ],
  [
    /not allowed to join this office/i,
    `choose an office that your key or token allows with --office (SMCP_OFFICE), or give ${CREDENTIALS} for this one`,
  ],
  [
    /not allowed to join under the name/i,
    `choose a name that your key or token allows with --name (SMCP_NAME), or give ${CREDENTIALS} for this one`,
  ],
  [
    /not allowed|may not|forbidden/i,
    "join as what your key or token allows, with --office and --name",
  ],
];

/**
 * Finds the remedy of a refused join.
 *
 * This goes by the wording, since the protocol answers a join with a sentence and no code
 * (docs/protocol.md, §3).
 */
export const joinRemedy = (reason: string): string | undefined =>
  JOIN_REMEDIES.find(([wording]) => wording.test(reason))?.[1];
