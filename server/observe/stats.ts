/** Current counts of a server. */
export interface SmcpServerStats {
  /** Connections to the namespace, members or not. */
  readonly connections: number;
  /** Offices with at least one member. */
  readonly offices: number;
  /** Agents and Computers in offices. */
  readonly members: number;
}
