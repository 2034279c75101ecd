import { assert, assertEquals } from "@std/assert";
import { TextTail } from "../../../../computer/util/diagnostics.ts";

/** Pushes a text in chunks of a size. */
function tailOf(text: string, size = 7): string {
  const tail = new TextTail();
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) {
    tail.push(bytes.slice(at, at + size));
  }
  return tail.toString();
}

const many = (line: (at: number) => string, count = 40) =>
  Array.from({ length: count }, (_, at) => line(at)).join("\n");

/** What programs of several languages print when they fail, and what of it is to be shown. */
const STACKS: Readonly<Record<string, [printed: string, shown: string]>> = {
  "Node.js": [
    `/srv/app/index.js:12
  throw new Error("API_KEY is not set");
  ^

Error: API_KEY is not set
    at Object.<anonymous> (/srv/app/index.js:12:9)
${many((at) => `    at step${at} (node:internal/modules/cjs/loader:${at}:14)`)}
    at async Promise.all (index 0)
    at new Script (node:vm:94:7)

Node.js v22.11.0
`,
    "Error: API_KEY is not set",
  ],
  "Node.js, a cause and fields": [
    `node:internal/process/promises:394
      triggerUncaughtException(err, true /* fromPromise */);
      ^

Error: cannot connect
    at connect (file:///srv/app/db.mjs:3:11) {
  [cause]: Error: connect ECONNREFUSED 127.0.0.1:5432
      at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1611:16) {
    code: 'ECONNREFUSED'
  }
}
`,
    `Error: cannot connect
  [cause]: Error: connect ECONNREFUSED 127.0.0.1:5432
    code: 'ECONNREFUSED'
  }
}`,
  ],
  Deno: [
    `error: Uncaught (in promise) Error: no such table
  throw new Error("no such table");
        ^
    at open (file:///srv/main.ts:3:9)
    at eventLoopTick (ext:core/01_core.js:175:7)
`,
    `error: Uncaught (in promise) Error: no such table
  throw new Error("no such table");`,
  ],
  Python: [
    `Traceback (most recent call last):
${
      many((at) =>
        `  File "/srv/server.py", line ${at}, in main\n    run(settings)\n    ~~~^^^^^^^^^^`
      )
    }
  [Previous line repeated 990 more times]
pydantic_core.ValidationError: 1 validation error for Settings
api_key
  Field required [type=missing]

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "<frozen runpy>", line 198, in _run_module_as_main
RuntimeError: no settings
`,
    `pydantic_core.ValidationError: 1 validation error for Settings
api_key
  Field required [type=missing]
During handling of the above exception, another exception occurred:
RuntimeError: no settings`,
  ],
  "Python, a group": [
    `  + Exception Group Traceback (most recent call last):
  |   File "/srv/server.py", line 5, in <module>
  |     anyio.run(main)
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/srv/server.py", line 9, in main
    |     connect()
    | ConnectionRefusedError: [Errno 111] Connection refused
    +------------------------------------
`,
    `  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
    | ConnectionRefusedError: [Errno 111] Connection refused`,
  ],
  "Python, a syntax error": [
    `  File "/srv/server.py", line 3
    def main(
            ^
SyntaxError: '(' was never closed
`,
    "SyntaxError: '(' was never closed",
  ],
  Go: [
    `2026/11/29 18:00:00 reading config.yaml
panic: open config.yaml: no such file or directory

goroutine 1 [running]:
main.load({0x47b2c1?, 0xc000012345?})
	/srv/main.go:14 +0x1d
main.(*Server).Start(0xc0000b2000)
	/srv/main.go:9 +0x5c
created by main.main in goroutine 1
	/srv/main.go:5 +0x25

goroutine 6 [chan receive]:
main.wait(...)
	/srv/main.go:30
exit status 2
`,
    `2026/11/29 18:00:00 reading config.yaml
panic: open config.yaml: no such file or directory
exit status 2`,
  ],
  Rust: [
    `thread 'main' panicked at src/main.rs:4:10:
called \`Result::unwrap()\` on an \`Err\` value: NotPresent
stack backtrace:
   0: rust_begin_unwind
             at /rustc/90b35a6/library/std/src/panicking.rs:652:5
   1: core::panicking::panic_fmt
note: Some details are omitted, run with \`RUST_BACKTRACE=full\` for a verbose backtrace.
`,
    `thread 'main' panicked at src/main.rs:4:10:
called \`Result::unwrap()\` on an \`Err\` value: NotPresent`,
  ],
  "Rust with causes": [
    `Error: cannot start

Caused by:
    0: cannot read settings
    1: permission denied

Stack backtrace:
   0: anyhow::error::new
`,
    `Error: cannot start
Caused by:
    0: cannot read settings
    1: permission denied`,
  ],
  Java: [
    `Exception in thread "main" java.lang.IllegalStateException: no data source
	at com.acme.Server.start(Server.java:41) ~[server.jar:1.0]
${many((at) => `	at java.base/java.lang.Step${at}(Native Method)`)}
	... 12 more
Caused by: java.net.UnknownHostException: db
	at java.base/java.net.InetAddress.getByName(Unknown Source)
	... 3 common frames omitted
`,
    `Exception in thread "main" java.lang.IllegalStateException: no data source
Caused by: java.net.UnknownHostException: db`,
  ],
  "C#": [
    `Unhandled exception. System.ArgumentNullException: Value cannot be null. (Parameter 'key')
   at Acme.Server.Start(String key) in /src/Server.cs:line 12
   at Acme.Program.Main()
`,
    "Unhandled exception. System.ArgumentNullException: Value cannot be null. (Parameter 'key')",
  ],
  Ruby: [
    `server.rb:3:in 'start': no key given (ArgumentError)
	from server.rb:9:in 'block in <main>'
	from server.rb:9
`,
    "server.rb:3:in 'start': no key given (ArgumentError)",
  ],
  PHP: [
    `PHP Fatal error:  Uncaught RuntimeException: no key in /srv/server.php:3
Stack trace:
#0 /srv/server.php(9): start()
#1 {main}
`,
    "PHP Fatal error:  Uncaught RuntimeException: no key in /srv/server.php:3",
  ],
  Dart: [
    `Unhandled exception:
Bad state: no key
${
      many((at) =>
        `#${at}      main.<anonymous closure> (file:///srv/a.dart:${at}:5)\n<asynchronous suspension>`
      )
    }
`,
    "Unhandled exception:\nBad state: no key",
  ],
  "C#, asynchronous": [
    `Unhandled exception. System.InvalidOperationException: no key
${
      many((at) =>
        `   at Acme.Step${at}(Object state)\n--- End of stack trace from previous location ---`
      )
    }
   --- End of inner exception stack trace ---
`,
    "Unhandled exception. System.InvalidOperationException: no key",
  ],
  Lua: [
    `lua: server.lua:3: no key
stack traceback:
	[C]: in function 'error'
${
      many((at) =>
        `	server.lua:${at}: in function 'start'\n	[string "x y"]:${at}: in main chunk`
      )
    }
	(...tail calls...)
	...	(skipping 40 levels)
	[C]: in ?
`,
    "lua: server.lua:3: no key",
  ],
  Haskell: [
    `server: no key
CallStack (from HasCallStack):
${many((at) => `  error, called at app/Main.hs:${at}:5 in main:Main`)}
CallStack (from -prof):
${many((at) => `  Main.start (app/Main.hs:${at}:5-9)`)}
`,
    "server: no key",
  ],
  Julia: [
    `ERROR: LoadError: no key
Stacktrace:
${many((at) => ` [${at}] start()\n   @ Main /srv/server.jl:${at}`)}
in expression starting at /srv/server.jl:3
`,
    "ERROR: LoadError: no key\nin expression starting at /srv/server.jl:3",
  ],
  OCaml: [
    `Fatal error: exception Failure("no key")
Raised at Stdlib.failwith in file "stdlib.ml", line 29, characters 17-33
${
      many((at) =>
        `Called from Dune__exe__Server.start in file "bin/server.ml" (inlined), line ${at}, characters 2-9`
      )
    }
`,
    'Fatal error: exception Failure("no key")',
  ],
  Swift: [
    `server/main.swift:3: Fatal error: no key
${
      many((at) =>
        `${at} 0x000055d5a1 main + 23 in server at /srv/main.swift:${at}`
      )
    }
${many((at) => `${at}   libswiftCore.dylib   0x00000001a1 main + 23`)}
`,
    "server/main.swift:3: Fatal error: no key",
  ],
  "C, with glibc": [
    `*** Error in \`./server': free(): no key ***
======= Backtrace: =========
${
      many((at) =>
        `/lib/libc.so.6(+0x7${at})[0x7f0${at}]\n./server(main+0x${at}) [0x40${at}]\n[0x40${at}]`
      )
    }
======= Memory map: ========
${many((at) => `0040${at + 10}-0050${at + 10} r-xp 0000 08:01 12 /srv/server`)}
`,
    "*** Error in `./server': free(): no key ***",
  ],
  "Python, with loguru": [
    `ERROR    | __main__:main:3 - no key
Traceback (most recent call last):

> File "/srv/server.py", line 3, in <module>
    main()
    └ <function main at 0x7f>

ValueError: no key
`,
    "ERROR    | __main__:main:3 - no key\nValueError: no key",
  ],
};

for (const [language, [printed, shown]] of Object.entries(STACKS)) {
  Deno.test(`TextTail leaves out stacks: ${language}`, () => {
    assertEquals(tailOf(printed), shown);
    assertEquals(tailOf(printed.replaceAll("\n", "\r\n"), 1_000), shown);
    // However much was printed before.
    const before = `${"a line before\n".repeat(5_000)}`;
    const last = shown.split("\n").at(-1) ?? "";
    assert(tailOf(before + printed, 4_096).endsWith(last));
  });
}

Deno.test("TextTail keeps ordinary lines that resemble those of stacks", () => {
  const lines = [
    "  at least one of (a, b) is required",
    "see #12 for the reason",
    "  1: the first choice",
    "from here on: nothing",
    "error: choose 0: or 1:",
    "    an indented line of a message",
    "Called from a script: no file",
    "the address [0x7f]",
    "3 errors in the file",
    "  [1] the first choice",
  ];
  assertEquals(tailOf(lines.join("\n")), lines.join("\n"));
});

Deno.test("TextTail shows ten lines: those with an error, however early, and the last", () => {
  const usage = many((at) => `  --option-${at} <value>`, 300);
  const lines = tailOf(
    `starting\nError: unknown option --prot\n${usage}\nnpm error code E404\nbye\n`,
  ).split("\n");
  assertEquals(lines.length, 10);
  assertEquals(lines.slice(0, 1), ["Error: unknown option --prot"]);
  assertEquals(lines.slice(-2), ["npm error code E404", "bye"]);
  const errors = tailOf(many((at) => `error ${at}`)).split("\n");
  assertEquals([errors.length, errors.at(-1)], [10, "error 39"]);
});

Deno.test("TextTail holds little of a long stack, and still shows the reason above it", () => {
  const tail = new TextTail();
  const encoder = new TextEncoder();
  tail.push(encoder.encode("StackOverflowError: too deep\n"));
  const frame = encoder.encode(
    `${many((at) => `	at com.acme.Deep.call(Deep.java:${at})`, 1_000)}\n`,
  );
  for (let i = 0; i < 200; i++) tail.push(frame);
  assertEquals(tail.toString(), "StackOverflowError: too deep");
});
