/** The description of the method, for the page. */
export const METHOD = `
## How to read this, and how it was measured

- **Ratios, not microseconds.** Figures in µs apply to this machine. Ratios to the floor are computed within one round, in which all servers ran one after another; they show the cost of the protocol beyond the WebSocket itself.
- **The floor** is \`Deno.serve\` with \`Deno.upgradeWebSocket\`: it forwards each frame between the two ends of a pair unchanged. No Socket.IO, no routing, no checks. \`bare ws\` is the same with the package on which Socket.IO is based.
- **Stock Socket.IO** is a relay of a few lines: a map of members, \`emit\` with a callback, no version gate, no validation, no limits, no log. **This package** is its command with default options, logging included; its audit log, one line per call, goes to a file like every server's output. The Python and Rust SDKs run their own servers without logs, which makes them faster.
- **CPU** is the user and system time of all threads of the server's process, from its CPU clock, over the calls answered in the same time. On the loopback device, part of the kernel's work for a packet counts for the sender, equally for all servers.
- **The load generator** (\`bench/load\`) is a single-threaded C program: it sends prepared, masked WebSocket frames, and is both ends of all pairs. It compares every byte of every call and answer with the expected one, and the request ids; the Python and Rust SDKs re-encode bodies, so only ids and lengths are compared for them. A wrong, missing or superfluous answer invalidates a run. It uses less than one core; where it used more than 90 % of one, the figures describe it rather than the server.
- **Each run has a new server process**: two seconds of the same load to warm up, then the measurement. Servers take turns within each round; figures are medians over rounds.
- **Answers**: for 100 B, 10 KB and 1 MB, a text with line ends, quotes and letters of other scripts, which engines store as two bytes per letter and the floor has to decode and encode; ASCII forms of the larger ones; and 100 KB of many small values. Their size is that of the JSON of the ack's arguments. Calls are small.
- **Percentiles** are exact: every latency is kept.
- \`deno task bench\` takes an hour and a half; \`deno task bench --parts open\` measures one part again; \`deno task bench:quick\` only checks that every part works; \`deno task bench relay\` prints a table for a change in progress. Nothing else should run meanwhile.
`;
