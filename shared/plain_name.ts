/**
 * The most characters of a Computer's name that MCP clients see as it is: half of the 48 that a tool's
 * name has by default, less what comes between the two.
 */
export const MAX_PLAIN_NAME = 22;

/**
 * Whether a Computer's name can begin the names of its tools as it is: `laptop__echo`. Of others
 * MCP clients see what is left of the name, and a hash.
 *
 * @param most the most characters that it may have
 */
export const isPlainName = (name: string, most = MAX_PLAIN_NAME): boolean =>
  /^[\w-]+$/.test(name) && name.length <= most &&
  !name.includes("__") && !name.endsWith("_");
