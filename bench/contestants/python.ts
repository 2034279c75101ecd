import { pythonOf, type Sdk } from "../../tests/interop/support/venv.ts";
import { run } from "../../tools/process.ts";
import { here, type Recipe, ROOT } from "./running.ts";

/** Runs the server of the Python SDK, from PyPI, in the virtual environment of the interop suite. */
export async function pythonServer(name: string, sdk: Sdk): Promise<Recipe> {
  return {
    name,
    command: await pythonOf(sdk),
    args: [here("python_server.py")],
    // By default it logs several lines per call; without them it is faster.
    env: { A2C_SMCP_LOG_LEVEL: "warning" },
    reencodes: true,
  };
}

/** Returns the versions of Python and of its SDK. */
export async function pythonVersion(sdk: Sdk): Promise<string> {
  const script =
    "import platform,importlib.metadata as m; print(f'a2c-smcp {m.version(\"a2c-smcp\")} on Python {platform.python_version()}')";
  return (await run(await pythonOf(sdk), ["-c", script], ROOT)).trim();
}
