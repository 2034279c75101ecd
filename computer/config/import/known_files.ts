import { posix, win32 } from "node:path";

/** The machine whose files are looked for. */
export interface Machine {
  /** A value of `process.platform`. */
  readonly platform: string;
  /** The user's home directory. */
  readonly home: string;
  /** The current directory, which may be a project. */
  readonly directory: string;
  /** The environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A file in which a program keeps its MCP servers. */
export interface KnownFile {
  /** The program's name, for display. */
  readonly program: string;
  /** Appended to names that clash. */
  readonly suffix: string;
  /** Its path; there may be no such file. */
  readonly file: string;
}

/** Lists where Claude Desktop, Cursor, VS Code and Windsurf keep MCP servers; the project's files first. */
export function knownFiles(
  { platform, home, directory, env }: Machine,
): KnownFile[] {
  const { join } = platform === "win32" ? win32 : posix;
  const settings = settingsDirectory(platform, home, env, join);
  const places: [program: string, suffix: string, file: string][] = [
    ["VS Code (this project)", "vscode", join(directory, ".vscode/mcp.json")],
    ["Cursor (this project)", "cursor", join(directory, ".cursor/mcp.json")],
    [
      "Claude Desktop",
      "claude",
      join(settings, "Claude", "claude_desktop_config.json"),
    ],
    ["Cursor", "cursor", join(home, ".cursor", "mcp.json")],
    ["VS Code", "vscode", join(settings, "Code", "User", "mcp.json")],
    [
      "Windsurf",
      "windsurf",
      join(home, ".codeium", "windsurf", "mcp_config.json"),
    ],
  ];
  return places.filter(([, , file], i) =>
    places.findIndex(([, , other]) => other === file) === i // the project may be the home directory
  ).map(([program, suffix, file]) => ({ program, suffix, file }));
}

function settingsDirectory(
  platform: string,
  home: string,
  env: Machine["env"],
  join: (...parts: string[]) => string,
): string {
  switch (platform) {
    case "darwin":
      return join(home, "Library", "Application Support");
    case "win32":
      return env.APPDATA || join(home, "AppData", "Roaming");
    default:
      return env.XDG_CONFIG_HOME || join(home, ".config");
  }
}
