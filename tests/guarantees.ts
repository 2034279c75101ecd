// deno-fmt-ignore-file -- a table: one guarantee, its tests
/**
 * Every guarantee of docs/security.md, as it is written there, and the tests that prove it.
 *
 * `tests/unit/tools/requirements_test.ts` compares both, and finds the tests.
 */

/** Names of tests, by guarantee. */
export const GUARANTEES: Readonly<Record<string, readonly string[]>> = {
  // The Server
  "By default the Server listens on this machine alone; a public address requires authentication.": [
    "listen() binds to loopback by default (protocol §10)",
    "listen() refuses a public address without authentication, unless insecure is set (protocol §10)",
  ],
  "It warns of keys that are sent in clear text, and with `--require-tls` does not start.": [
    "listen() warns of a public address with keys and without TLS, and refuses it with requireTls (protocol §10)",
    "--require-tls refuses a public address without --tls-cert, and says what to do",
  ],
  "A failed TLS connection is logged with the side that lacks something.": [
    "the command logs for each failed handshake which side lacks what, and nothing for port checks",
  ],
  "Without a valid credential there is no session, and a refusal does not reveal the reason.": [
    "any invalid credentials are refused with the same 401 (protocol §10)",
    "jwt() refuses expired and forged tokens, and those of another issuer or algorithm, and names the claim (protocol §10)",
    "mTLS: clients without a certificate of the authority are refused; it counts as authentication (protocol §10)",
  ],
  "A private key where a key for verifying belongs is refused.": [
    "jwt() refuses a private key in every form, explains that, and shows nothing of it",
  ],
  "The permissions of a credential are checked at each join, and end when it expires or is revoked; so do the sessions and tasks of an MCP client, and the open streams of an operator.": [
    "Connection: credentials are asked at every join: roles, offices, names, expiry (protocol §10)",
    "recheckSessions() ends the sessions of a key that expired, whose client gets that as the reason (protocol §10)",
    "recheckSessions() ends the sessions of a removed key, and no others (protocol §10)",
    "recheckSessions() keeps members whose key allows less, and applies it to their next join (protocol §10)",
    "recheckSessions() ends sessions whose JWT was signed with a removed key (protocol §10)",
    "tasks and sessions end with their key, and stay unknown to who has it afterwards",
    "a client is forgotten some time after its credentials have expired, unless it comes with others",
    "a stream ends with the credentials that it was opened with",
  ],
  "A misspelled restriction of a key is an error, not a missing restriction.": [
    "apiKeys() refuses a misspelled restriction, which would not apply",
    "parseApiKeys() parses a list, and refuses misspelled restrictions",
  ],
  "A misspelled option in code is an error, not a missing authenticator.": [
    "every type of options refuses misspelled names",
  ],
  "No member reaches another office, or learns that it exists.": [
    "checks of a request: payload, member, role, agent, target, in this order; other offices stay hidden (protocol §5)",
    "checkAccess() checks role, name and office in this order, and never reveals which other offices exist (protocol §5)",
    "each notification goes once to all members of the office except its cause, and to no one else (protocol §3)",
  ],
  "The answer of a call reaches only the Agent that made it.": [
    "a stock client that lost ${loss} over ${transport} and joins office B does not answer its calls with office A's late result",
    "all requests of the Server have different ack ids, on any connection, and the first is unpredictable",
  ],
  "A seat is taken over only by the same client with the same credential.": [
    "Office: the same instance and principal takes a seat over: leave, end, enter, in one step (protocol §9)",
  ],
  "A member acts under the name of its join, whatever name it sends.": [
    "an agent that gives another name acts under the name of its seat; binary data passes both ways (protocol §5)", "an agent that gives another name acts under that of its seat, and cannot pretend to be an operator (protocol §5)",
    "checkAccess() checks role, name and office in this order, and never reveals which other offices exist (protocol §5)",
  ],
  "Web pages of other sites, and DNS rebinding, are refused.": [
    "resources of a page of another site take no slots: 100 images do not keep this machine's Agent out",
    "a page of another origin cannot open a session, over polling or WebSocket; requests without Origin can (protocol §10)",
    "a page of a rebound name reads nothing over loopback: health, metrics, open packet",
    "JSONP is refused, which would let any page load the open packet as a script",
  ],
  "Who may not join an office as its Agent does not reach it over MCP: checked at every request; sessions belong to who opened them, and streams end with their credentials.": [
    "who may not use an office over MCP is refused, and the log says who",
    "a stream ends when its key is revoked, and when its token expires",
    "--mcp does not lift the bind rule",
    "an Agent gets no seat that MCP clients with other credentials use",
    "a client that may not join an office as its Agent gets no answer about its seat",
  ],
  "A program that signed in reaches the Computers that were chosen for it, and learns of no other; its sessions and tasks are those of its sign-in alone.": [
    "${era}: no way leads a sign-in (${id}) to a Computer that is not chosen",
    "${kind}: a sign-in is not notified of tools of a Computer that is not chosen, however it changes",
    "a session is of the sign-in that opened it, or of the key: no other request finds it",
    "a task is of the sign-in that began it, or of the key: it does not exist for others",
  ],
  "Only operators, from a page of the Server's own or none, reach the operator API, and learn nothing of offices outside their key. Their tokens are in no log, every change is.": [
    "every operation refuses clients that are no operator, other pages, and forms",
    "a foreign Host is refused, even with the token; a page of the server's own may ask",
    "an operator of other offices sees and changes nothing of this one, nor that it exists",
    "without an operator there is no API and no console, as on any unknown path",
    "a stream ends with the credentials that it was opened with",
    "an operator's cancel ends the call for the Agent, notifies the Computer, and is audited",
  ],
  "The console has no data in its page, no foreign script, and its token in no address, log, `Referer` or storage that outlives the tab; no other origin can use or frame it.": [
    "the token of the printed link is in no log, no address, no Referer, and nothing that outlives the tab",
    "no page of another origin changes anything, not even with a token",
    "no page of another origin shows the console in a frame, nor holds its window",
    "no path of the console leads out of it",
  ],
  "Names and results of clients stay text in the console, and do not stop it.": [
    "names stay names, whatever they spell",
    "results stay text, and a large one leaves the page responsive",
    "3,000 members leave the page responsive",
  ],
  "In a cluster an operator's change counts on all nodes, or the answer names those that miss it.": [
    "nodes: a member of another node is kicked, and its seat is closed on all",
    "nodes: a key is revoked on all; where one does not answer the commands name it, and the key is not revoked",
    "nodes: one that does not answer is named, and its clients are known at the home of their office",
    "nodes: one that was started with --no-operator is named, and a key that may count there is not revoked",
  ],
  "A Computer sees that an operator asks, and which, and may refuse; no Agent can pass for one; calls of operators need the confirmation of an Agent's.": [
    "an operator asks a Computer without an Agent, as its version has it; the Computer and the audit log have who asks",
    "no Agent can pass for an operator",
    "an operator's call needs the confirmation that an Agent's needs, and the person is asked in the operator's name",
    "a Computer with refuseOperators answers Agents alone",
  ],
  "A call, read or prompt over MCP is logged with who made it, and counts towards the limits of that client.": [
    "the audit log of the node where an office lives names the MCP clients of other nodes",
    "${era}: the audit log says who reads, what, and with what program",
    "reads beyond the limits of the seat wait for their turn as calls do, whoever asks",
    "rate limits count per principal, and a refusal is a limit_hit of the audit log",
  ],
  "Malformed data closes at most the sender's connection.": [
    "60 malformed payloads per event: each requested ack is sent, and other clients are unharmed",
    "garbage frames at most close their sender",
    "100,000 nested brackets close the sender, in events, acks and connects, over both transports",
    "100,000 random packets: the server survives, sends every requested ack, and keeps nothing",
  ],
  "What is larger than the bounds of its event is refused before it is parsed, with an answer that has the reason; an answer of a Computer that is, is replaced by an error that names it.": [
    "every event over its bound gets its ack, over WebSocket and polling, and the connection stays; so does one that no version has (§10)",
    "an event over its bound is refused in the form of its ack, without being parsed, and nobody gets it (§10)",
    "an answer over its bound is 500 in its place, which names the Computer; the next call works (§10)",
    "30 joins of 7.8 MB by a client in no office are refused unread, each with its reason; calls of others go on (§10)",
    "answers that must be translated for another version are refused when they have too much, and name the Computer (§10, §14)",
  ],
  "What a Computer or an MCP client sends is counted before it is parsed, and long work lets others have their turn.": [
    "a body with too many values or messages is refused before it is parsed, and its session goes on",
    "a long message from the network is parsed in pieces: what follows it waits, and others have their turn",
    "Catalogue lets others have their turn while it takes over many tools, and updates in order",
    "FrameSocket gives others a turn after each 512 KiB of a peer that sends without a break, and stays paused while it is held",
  ],
  "A message with too many values fails its own request, and nothing else.": [
    "an answer with too many values fails its request alone, and such a request is answered with 400",
    "an answer of a child with too many values fails its call alone: the child goes on, and others too",
  ],
  "What is kept of a member is bounded in bytes, and shown in `/metrics`.": [
    "a Computer of 0.2 whose MCP servers have names of 7 million letters, each time others, costs nothing that stays (§4, §10)",
    "names above 256 units are no identifiers: they pass, and are not kept; what is kept is bounded in bytes (§4, §10)",
    "smcp_member_bytes counts what is kept of members, and of the one with most (§10)",
  ],
  "What passes, passes with its bytes; between versions all that the protocol does not name.": [
    "calls and answers keep their bytes between every pair of versions, but for agent and operator: random texts (§5, §14)",
    "translateAnswer() keeps the bytes of all that it does not name: random texts",
    "reports keep the bytes of what they report, without what a Computer adds (§3, §7)",
  ],
  "Keys and tokens are never logged; parameters and results only with `--audit-payloads`.": [
    "no token is ever logged: keys, JWTs and auth in every place, valid and invalid (protocol §10)",
    "tool calls are audited when they end: who, what, duration, outcome; no payload (protocol §10)",
  ],
  "Refusals are in the audit log with their reason; a flood is counted there, and does not fill it.": [
    "refused handshakes are audited with the reason, which the client does not get (protocol §10)",
    "a flood of refused handshakes is one line of the audit log, at any stage; omitted ones are counted at the end (protocol §10)",
  ],
  "A process that ran out of file descriptors accepts again once it has some.": [
    "a Server that could not accept because its process had no descriptors left accepts again when it has some",
  ],
  "A slow reader of the log does not block the Server; a log file is complete.": [
    "an unread log blocks no one: lines are omitted, counted, and reported when it is read again (protocol §10)",
    "--log-file contains every audit line, however many there are (protocol §10)",
  ],
  // The Computer
  "A tool without `auto_apply` runs only if the user at the Computer allows it, at the terminal or on the page of `--ui`, or with `--yes`.": [
    "a tool without auto_apply runs only with confirmation; without it, or after a no, the result is 4005; an unknown one is refused without a question",
    "smcp-computer run refuses calls without a terminal, and runs all of them with --yes",
    "--ui: the page decides whether a tool may run, by the rules of the terminal",
    "a question is asked at the terminal and on the page: the first answer wins, and the other is notified",
  ],
  "That page is only for who has its token, on this machine, and for no other site.": [
    "the page of a Computer refuses who has not its token, other pages, and forms",
    "the page of a Computer is for loopback names alone, whatever the token",
  ],
  "A stray key or click is no answer.": [
    "terminalQuestions() ignores keys typed before they are accepted",
    "pressKey() moves up and down without wrapping, and ignores other keys",
    "shell: input typed for it answers no question, and is restored afterwards",
    "a click at the moment when a question appears is no answer to it",
  ],
  "The question shows what will run: tool and MCP server first, then every argument by its name, at every depth; no text of others begins a line, or looks like words of the Computer.": [
    "the question shows tool, MCP server, every argument by name, and last who asks",
    "a long argument does not hide the one after it, at 80 × 24",
    "no name of an Agent hides or forges what will run",
    "no text of others begins a line, or leaves its own",
    "nothing in a quoted text ends its quotes, and nothing is left that acts or cannot be seen",
    "a form shows who asks, all of its text and every field, and gets no answer before",
    "logLines() has what runs in lines that begin with words of ours or a name",
  ],
  "A yes counts only after all of the question was shown; arguments of more than 256 KiB or 200 names can only be refused.": [
    "before a yes counts, tool, MCP server and every argument were on the terminal, at any size",
    "no key chooses a yes before all of the question was shown",
    "a question of too many names or bytes can only be refused, however it is read",
    "a terminal that is too small shows no question, and offers no yes",
    "the terminal offers no yes before a long argument was read to its end",
    "on the page of a Computer a yes waits until all was shown and scrolled to its end",
    "--ui: a yes counts only after all of the question was fetched, and never for too much",
  ],
  "What is invisible, reorders text or passes for another letter is shown by its name, and correct texts of all scripts as they are.": [
    "quoted() shows by name what cannot be seen, moves its surroundings, or passes for something else",
    "quoted() and plainText() leave correct texts of all scripts, and emoji, as they are",
    "plainText() applied again changes nothing, and keeps what a caller keeps",
  ],
  "No text of others stops a terminal or a page by its length or its characters.": [
    "wrap() looks at each character a few times, however long words and lines are",
    "a text is passed once, whatever it is made of",
    "what is laid out is bounded by what is shown",
    "a question of too many bytes has no yes on the page of a Computer, which stays responsive",
  ],
  'An "always", and a yes for an hour, are for one Agent and one tool, and end when the tool or its MCP server changes; neither overrides a rule that denies, or that asks about every call.':
    [
      "threat 30: a permission ends where the tool's definition, the MCP server's configuration or the program behind it changes",
      "always allows an Agent a tool with any arguments; no permission overrides a deny, or a rule that asks every time",
      "an always for a server does not apply to its replacement, which may be another program",
    ],
  "An `allow` rule matches no call with an argument that it does not name, and no path or host that cannot be judged; `deny` matches what cannot be judged.":
    [
      "threat 7: an optional argument that a rule does not name is not let past an allow",
      "paths: what a text hides is not allowed, and is denied",
      "hosts: what programs read in different ways is not allowed, and is denied",
    ],
  "A misspelled restriction of the configuration is an error.": [
    "parseComputerConfig() lists every problem with its path and a remedy; the schema refuses the same files",
    "a configuration in any of its forms has no problem, and conforms to the schema",
    "a duplicate key in the JSON is an error with its line and column",
  ],
  "Agents see the configuration without secrets, and values of inputs are never logged.": [
    "get_config returns the configuration without secrets",
    "no value of an input, and no literal secret, is in any line or ack of a run",
    "no error of an MCP server repeats a value that it was given",
    "no value of an input, of any form, is in a log line, problem or error",
    "no value of an input is in messages about servers over HTTP, or OAuth",
    "the credentials of a proxy are in no output of a run and in no configuration that an Agent sees",
    "keptLine() keeps commands without parameters, values and definitions, and nothing else",
  ],
  "An MCP server gets a small environment, never the Computer's whole one.": [
    "a stdio server gets the MCP SDK's default environment, variables for authorities and proxies, its own env and its cwd, nothing else",
  ],
  "A call runs once, however often it is sent.": [
    "the same req_id gets the stored result; for another call it is 400",
    "a call whose result is too large to keep is not run a second time",
  ],
  "An MCP server that writes endlessly, or dies, does not affect the others, and nothing that it started keeps running.": [
    "a command that hosts a child of endless lines keeps its memory bounded, and its other servers answer",
    "a child that floods its output does not delay other calls",
    "nothing is left of the MCP servers of a command that is killed",
  ],
  "A handle of a large result reads nothing but that result, in its office alone.": [
    "protocol §8.7: 10,000 mutated handles read nothing but what was given out",
    "protocol §8.7: what the store no longer has, or had for another office, is gone",
  ],
  "A skill gives out files of its own folder, and never its secrets (`.skillenv`), whatever paths, handles and links name.": [
    "protocol §8.6: the sandbox refuses hostile paths, each for its reason",
    "protocol §8.6: a link in a folder's place is noticed, even when the folder is back at once",
    "protocol §8.6: a link that flips all the time never leads out",
    "protocol §8.7: 10,000 mutated handles of a skill read nothing but its files",
  ],
  "A skill of an MCP server stays in a folder of its own, within limits of size and number.": [
    "protocol §8.6: a skill that is none, or leads out, is not staged",
    "protocol §8.6: archives with names that lead out are refused",
    "protocol §8.6: archives with links and devices are refused",
    "protocol §8.6: bombs are refused before they fill the disk",
  ],
  "Files of Agents are written only into the directory that the owner gave for them, whatever their names.": [
    "protocol §8.7: Uploads writes nothing outside of its folder",
    "protocol §8.7: cleanHint() leaves a harmless end for a name",
  ],
  "Results and unfinished files do not stay on the disk, except those of a killed Computer until the next one starts.": [
    "protocol §8.7: what a killed Computer left of results is removed by the next one",
    "protocol §8.7: a killed Computer leaves nothing of uploads but what the next one removes",
  ],
  "Documents are written only below the directory given for them.": [
    "localDirResolver() writes nothing outside its directory, whatever the URI (protocol §8.3)",
  ],
  // Approvals
  "Only a rule, a permission, a paired device, the terminal or the page of `--ui` allows a call.": [
    "Confirmations run a call with auto_apply, ask about it without, and refuse it with 4005 where nobody can be asked",
    "threat 10: a device that was never paired neither reads nor answers",
    "threat 13: no message counts with a changed bit",
    "threat 10: no member may send client:device, and nobody sees devices or their questions (protocol §17)",
  ],
  "A yes counts once, for the call that was shown, within its time; or, late, for one equal call within ten minutes.": [
    "threat 2: a yes is for one call, and the second yes for none",
    "threat 1: arguments change after they were shown",
    "threat 14: a yes that the Server held back",
    "threat 14: a yes after the time of its call",
    "threat 14: a late yes after its ten minutes",
    "a late yes lets one equal call run within ten minutes; a late no, another call, and a second yes let none",
  ],
  "Reading what is stored of devices, or all that passes through the Server, is not enough to allow one.": [
    "threat 27: a copy of the file of keys says no yes",
    "threat 12: what passes says nothing of calls, and its length little",
    "threat 15: old or made-up news are none for the phone",
    "readMessage() refuses what somebody sealed who has the public keys alone",
  ],
  "No answer is no.": [
    "threat 16: polls end with the Computer, and answers do no more",
    "Confirmations refuse with 4005 when the user says no, or cannot be asked",
  ],
  "A device is paired by who has the link and whose digits are typed at the Computer: in five minutes, with three tries, once.": [
    "threat 20: a device pairs with the Computer of its link alone, whatever the Server answers",
    "threat 20: nobody gets a token before the digits were typed",
    "threat 23: who photographs the link and opens it second",
    "threat 23: digits of five minutes ago",
  ],
  "A device that was removed counts no more, whatever it had under way.": [
    "threat 26: a device that is removed while its yes is read",
    "threat 26: a poll of a device that is removed",
  ],
  "Who may not reach a Computer's devices learns nothing of offices and Computers: the same 404 for every reason.": [
    "threat 34: an unknown office, Computer and token get one and the same answer, and the Computer nothing (protocol §17)",
    "threat 34: whatever is wrong is the same 404, headers and all [${way}]",
  ],
  "A Computer wakes devices by push services alone, and what is read on the way contains nothing of the call.": [
    "threat 32: a Computer posts to push services alone, whatever address a device gives",
    "threat 32: a Computer follows no redirect of a push service, and reads no answer",
    "threat 33: a push service sees neither tool, Agent nor arguments, and the same length for each Computer",
  ],
  // The Agent
  "The Agent sends its credential only to the Server, and warns before sending it in clear text to another machine.": [
    "secretsInClear() warns of keys and tokens sent to another machine without TLS",
    "Agent and Computer warn in the log, and smcp-agent on stderr, before a key is sent in clear text",
  ],
  "A request that the Server would reject for its size fails before it is sent.": [
    "parameters too large or nested too deeply fail only their call; the connection continues",
  ],
  "It repeats only requests that did not run.": [
    "calls over the Server's rate are repeated at that rate, and run once",
    "a request with a 429 that does not say that nothing ran is not repeated",
  ],
  "Content that a Computer left out of a result is compared with its SHA-256, and never silently empty.": [
    "protocol §8.7: callTool() says loudly what it cannot fetch, and why",
  ],
  "Answers of a Computer are validated before use, and shown without control characters.": [
    "invalid JSON and invalid documents are errors that name the field, without its content",
    "plain() and plainLines() leave nothing that acts on a terminal",
    "no command of an Agent writes control characters of a Computer to a terminal, whatever it answers or refuses with",
    "import, check, keys and the Server's refusals write no control characters of files and Servers",
  ],
};

/** Names of tests, by resource of the budget of a connection. */
export const BUDGET: Readonly<Record<string, readonly string[]>> = {
  "TCP connections of one address": [
    "an address has a maximum of TCP connections, with or without a session; others are answered with 429",
  ],
  "TCP connections of all": [
    "a flood of connections with 256 descriptors stops neither bystanders nor later clients",
  ],
  "silence before the first request": [
    "a connection without a request is closed after the header timeout",
  ],
  "headers of a request": [
    "a request with missing headers is answered with 408 after the header timeout (protocol §10)",
  ],
  "time to the packet that opens a session": [
    "an abandoned handshake releases its slot, over polling and WebSocket",
  ],
  "time until the session is open": [
    "a connection that never joins the namespace is closed after the handshake timeout (protocol §10)",
  ],
  "packet that opens a session, with auth": [
    "35 sessions with 7.7 MiB of auth are refused, over WebSocket [${engine}]",
    "an oversized CONNECT is answered with the reason, and closed",
  ],
  "total bytes": [
    "a message has at most 64 KiB before there is a session, then 8 MiB",
  ],
  "total packets": [
    "a connection without a session is closed once, beyond the budget of bytes or packets",
  ],
  "attachments": [
    "attachments without a session are refused, over WebSocket [${engine}]",
  ],
  "bytes of auth kept afterwards": [
    "auth is not kept in memory after the session is open",
  ],
  "sessions of an address (IPv6: a /64)": [
    "an address over its limit of connections is refused with 429, over polling and for an upgrade alike (protocol §10)",
  ],
  "sessions over one connection": [
    "a connection has one session, however many it requests at once",
  ],
  "attempts to authenticate of a connection": [
    "attempts to guess credentials over one connection are limited like events",
  ],
  "bytes of a message": [
    "a 64 MB message closes the sender with 1009, or is refused with 413",
  ],
  "nesting depth of a message": [
    "64 levels of nesting pass, to the computer and back; one more closes the sender",
  ],
  "elements of a message": [
    "a million elements in an event or an ack close the sender",
  ],
  "attachments of a message": [
    "placeholders that multiply an attachment close only their sender",
  ],
  "packets in one POST": [
    "a POST of 600,000 events is refused, and its session ends",
  ],
  "packets handled before others' turn": [
    "600,000 events of one session delay no other client, over WebSocket [${engine}]",
    "20 sessions that repeatedly POST 1,900 events delay no other client",
  ],
  "frames of a message": [
    "unfinished messages of one-byte fragments take little memory",
  ],
  "all partly received messages": [
    "unfinished messages take at most 128 MiB together, then the largest is closed with 1013",
  ],
  "time of a message": [
    "a stalled message closes its sender with 1008 after 20 seconds",
  ],
  "body of a request over polling": [
    "a polling POST with a missing body is answered with 408 after its timeout, and its session ends (protocol §10)",
  ],
  "events": [
    "events over the rate are answered with 429 immediately, joins with false; the connection stays (protocol §10)",
  ],
  "pending calls of an Agent": [
    "an Agent has at most callsPerAgent pending calls; the others are answered 429, and did not run (protocol §10)",
  ],
  "members of an office": [
    "Office: a full office refuses, counts it, and lets a seat be taken over (protocol §10)",
  ],
  "queue of a client that does not read": [
    "a client that does not read is disconnected at the limit, and its callers are answered (protocol §10)",
  ],
  "silence before a ping": [
    "a connection that answers no ping is closed, and its office is notified",
  ],
  "time for the answer of a ping": [
    "a connection that answers no ping is closed, and its office is notified",
  ],
};
