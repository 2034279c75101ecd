import type { SmcpComputer } from "../../computer.ts";

/**
 * Listens to everything that changes the status of a Computer, but for its calls.
 *
 * @returns the functions that remove the listener
 */
export const onStatusChange = (
  computer: SmcpComputer,
  changed: () => void,
): (() => void)[] => [
  computer.on("serverState", changed),
  computer.on("toolsChanged", changed),
  computer.on("skillsChanged", changed),
  computer.on("configChanged", changed),
  computer.on("connected", changed),
  computer.on("disconnected", changed),
  computer.on("joined", changed),
];
