/** The description of the method, for the page. */
export const METHOD = `
## How to read this, and how it was measured

- **Ratios, not microseconds.** A figure in µs is this machine's. A ratio to the floor is taken within one round, in which all servers ran one after the other, and says what the protocol costs beyond the WebSocket itself.
- **The floor** is \`Deno.serve\` with \`Deno.upgradeWebSocket\`: it sends each frame that comes from one end of a pair to the other end, as it is. No Socket.IO, no routing, no checks. \`bare ws\` is the same with the package that Socket.IO stands on.
- **Stock Socket.IO** is a relay of some lines: a map of members, \`emit\` with a callback, no version gate, no validation, no limits, no log. **This package** is its command with default options, logging included; its audit log, one line a call, goes to a file as every server's output does. The Python and Rust SDKs run their own servers with their logs off, since they are faster so.
- **CPU** is the user and system time of all threads of the server's process, from its CPU clock, over the calls answered in the same time. On the loopback device a part of the kernel's work for a packet is done in the sender's name; all servers are treated alike in this.
- **The load generator** (\`bench/load\`) is a C program of one thread: raw WebSocket frames made beforehand and masked, both ends of all pairs. It compares every byte of every call and answer with what it has to be, and the request ids; the Python and Rust SDKs re-encode bodies, so that only ids and lengths are compared there. A run with a wrong, missing or superfluous answer is no result. It uses less than one of the cores; where it was busier than 90 % of one, its figures say more about it than about the server.
- **Each run has a server of its own**: a new process, two seconds of the same load to warm up, then the time that counts. Servers take turns within each round; figures are medians over rounds.
- **Answers**: of 100 B, 10 KB and 1 MB one text with line ends, quotes and letters of other scripts, which engines keep as two bytes a letter and the floor has to decode and encode; ASCII forms of the larger ones; and 100 KB of many small values. Their size is that of the JSON of the ack's arguments. Calls are small.
- **Percentiles** are exact: every latency is kept.
- \`deno task bench\` takes an hour and a quarter; \`deno task bench --parts open\` measures one part again; \`deno task bench:quick\` only proves that every part runs; \`deno task bench relay\` prints a table for a change in hand. Nothing else should run meanwhile.
`;
