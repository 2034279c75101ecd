// deno-fmt-ignore-file -- a table: one clause, one to three lines
/**
 * The clauses of A2C-SMCP 0.3 and 0.4 (marked in docs/protocol.md), and the tests that prove them.
 *
 * Their numbers go on where those of `requirements.ts` end.
 */
import type { Requirement } from "./requirements.ts";

/** The clauses in the order of the sections. */
export const REQUIREMENTS_0_4: readonly Requirement[] = [
  // §2 Versions and the handshake
  { id: "2.25", clause: "Each version sends the number of its released SDKs", tests: ["the versions are those that released SDKs send (protocol §2)"] },
  { id: "2.26", clause: "From 0.3 on clients open with polling, whatever their user wants",
    tests: ["dial() begins with polling from 0.3 on, whatever its options (protocol §2)"] },
  { id: "2.27", clause: "Close code 4900: no reconnect, one request over polling for the 4008, then the version error",
    tests: ["SmcpAgent.connect() throws ProtocolVersionError on 4008 without a reconnect loop: ${name} (protocol §2)"] },
  { id: "2.28", clause: "The rule of compatibility holds for each version that a Server serves",
    tests: ["the version table holds against a server of 0.2 and 0.4, over polling and upgrade (protocol §2, §14)"] },
  { id: "2.29", clause: "A refused version is audited with both versions, and a client says what helps",
    tests: ["a refused version is audited with both versions (protocol §2)", "ProtocolVersionError names both versions and the one to choose, which this package lacks only for 0.1"] },

  // §3 Events
  { id: "3.28", clause: "The Server routes get_skills, get_skill and get_blob from 0.2 on, put_blob in 0.4, as bytes, errors too",
    tests: ["an Agent of ${one} and a Computer of ${other} share an office: every event that both have (protocol §14)", "each version from 0.2 on has skills and blobs, 0.4 uploads too (protocol §3)"] },
  { id: "3.29", clause: "The Server broadcasts update_skills of a Computer about itself",
    tests: ["an Agent of ${one} and a Computer of ${other} share an office: every event that both have (protocol §14)"] },

  // §4 Payloads
  { id: "4.42", clause: "pickString: both forms are read; a value that is no option is an error",
    tests: ["protocol §4: a pickString takes values of options in both forms, and no label, and shows no other value", "protocol §4: a pickString that nobody answers is its default, then its first option, and not kept",
      "parseComputerConfig() lists every problem with its path and a remedy; the schema refuses the same files"] },
  { id: "4.43", clause: "A2C_SMCP_… variables hold the values of inputs; two of one name are an error",
    tests: ["protocol §4: sharedVariable() gives the names of all vectors", "protocol §4: inputVariables() lists the environment variables of an input, that of other SDKs last", "protocol §4: two inputs with one variable are an error, also when one is put"] },

  // §5 Offices and isolation
  { id: "5.24", clause: "agent in a payload that differs from the join's name is not refused, unless credentials restrict names (protocol §5); the Server sends the session's name",
    tests: ["checkAccess() checks role, name and office in this order, and never reveals which other offices exist (protocol §5)",
      "an agent that gives another name acts under the name of its seat; binary data passes both ways (protocol §5)", "an agent that gives another name acts under that of its seat, and cannot pretend to be an operator (protocol §5)"] },
  { id: "5.25", clause: "API keys are taken from auth.token, too", tests: ["anyOf() admits a client that any authenticator admits, and otherwise combines the reasons"] },

  // §6 Errors
  { id: "6.27", clause: "Failed authorizations are 4006 or 4007, at once; other failures are not", tests: ["protocol §6: refusals of a call are about authorization as in the vectors: 401, 403, and 400 with WWW-Authenticate"] },

  // §7 Tool calls
  { id: "7.42", clause: "Of a declared a2c_tool_meta only tags count, below configured ones",
    tests: ["protocol §7: tags that an MCP server declares are taken where none are configured, and nothing else of its declaration; a malformed one is not", "protocol §7: malformed declarations of a server are one warning"] },

  // §8.1 Desktop (`window://`)
  { id: "8.1.16", clause: "The Desktop is grouped by bundle_id", tests: ["protocol §8.1: the Desktop is in order of use, then of bundle_id"] },

  // §8.2 Resources and prompts of an MCP server
  { id: "8.2.6", clause: "Resources are written in both spellings, and read in either; nothing is dropped",
    tests: ["a Computer writes resources in both spellings (protocol §8.2)", "SmcpAgent receives every kind of answer of a Computer",
      "inBothSpellings() adds the protocol's names to those of MCP, and drops nothing (protocol §8.2)", "inMcpSpelling() reads either spelling, and both (protocol §8.2)"] },
  { id: "8.2.7", clause: "get_resource_templates, complete and get_instructions have what the running MCP servers offer; 4015 where one completes nothing",
    tests: ["an Agent gets templates, completions and instructions of a Computer's MCP servers"] },
  { id: "8.2.8", clause: "An error that the MCP server answered has its code, mcp_code",
    tests: ["${era}: a failed read or prompt has the code of the MCP server, and an unknown name that of the revision"] },

  // §8.3 DPE (`dpe://`)
  { id: "8.3.15", clause: "A Computer without an event leaves its ack empty: 400, which names the event",
    tests: ["answers: an object passes, an empty ack is 400 for what not all know, anything else 500 (protocol §7, §8.3)"] },

  // §8.6 Skills
  { id: "8.6.1", clause: "The Agent compares the SHA-256 of what it gets", tests: ["protocol §8.6: a text that is not the announced one is refused"] },
  { id: "8.6.2", clause: "Names have one, two or three segments; others are 4016", tests: ["isSkillName() takes names of one, two and three segments, and no other text (protocol §8.6)"] },
  { id: "8.6.3", clause: "A skill is described by its front matter", tests: ["readFrontMatter() reads what a skill tells of itself (protocol §8.6)"] },
  { id: "8.6.4", clause: "Skills come from the user's folder and, by resources, mounted or archive, from MCP servers",
    tests: ["protocol §8.6: MCP servers bring skills in three ways; one that cannot be had is left out", "skillRoots() finds skills and their files (protocol §8.6)",
      "the folder of skills is the one of other Computers of this user (protocol §8.6)"] },
  { id: "8.6.5", clause: "Archives are checked: no .., no absolute names, no links, no bombs",
    tests: ["protocol §8.6: archives with names that lead out are refused", "protocol §8.6: archives with links and devices are refused", "protocol §8.6: bombs are refused before they fill the disk"] },
  { id: "8.6.6", clause: "get_skill: name, registry, sandbox, then bytes as text or handle, each failure with its code",
    tests: ["protocol §8.6: what is not given out is refused with its code and reason", "protocol §8.6: the body is everything after the second fence, with its line ends",
      "protocol §8.6: without both fences the whole file is the body"] },
  { id: "8.6.7", clause: "The sandbox refuses what leads out, and .skillenv, also when links change between check and use",
    tests: ["protocol §8.6: the sandbox refuses hostile paths, each for its reason", "protocol §8.6: a link that is put in the file's place after the check is not followed",
      "protocol §8.6: a link that flips all the time never leads out"] },
  { id: "8.6.8", clause: "Types go by the table that all SDKs have", tests: ["protocol §8.6: types by extension are those of every SDK", "protocol §8.6: which types are text"] },
  { id: "8.6.9", clause: "Changes are announced, bursts once", tests: ["protocol §8.6: changes of the user's folder are announced, bursts once", "protocol §8.6: a skill that is added is notified; a file that changes is not mistaken for the first"] },
  { id: "8.6.10", clause: "Errors about skills have the codes and details of the protocol", tests: ["errors about skills have their code and details (protocol §6, §8.6)"] },

  // §8.7 Blobs
  { id: "8.7.1", clause: "A handle is no way to read files", tests: ["protocol §8.7: 10,000 mutated handles read nothing but what was given out", "protocol §8.7: 10,000 mutated handles of a skill read nothing but its files"] },
  { id: "8.7.2", clause: "get_blob answers within range, wish and limits; what is gone is 4018 gone",
    tests: ["protocol §8.7: getBlob() answers within the range, the wish, its own limit and the Server's", "protocol §8.7: what the store no longer has, or had for another office, is gone"] },
  { id: "8.7.3", clause: "Binary content above the budget leaves the result, with handle, size and SHA-256 in its _meta", tests: ["protocol §8.7: content above the budget leaves the result, smaller content stays"] },
  { id: "8.7.4", clause: "The Agent puts it back, or says loudly that it cannot",
    tests: ["protocol §8.7: callTool() puts large content back, as an inline result would have it", "protocol §8.7: callTool() says loudly what it cannot fetch, and why"] },
  { id: "8.7.5", clause: "A source that changes meanwhile is fetched anew, a bounded number of times", tests: ["protocol §8.7: callTool() starts over when the bytes change meanwhile"] },
  { id: "8.7.6", clause: "put_blob: chunk by chunk, renamed into its place at the end; failures in the order of their reasons",
    tests: ["protocol §8.7: Uploads puts a file in its place after the last chunk", "protocol §8.7: Uploads refuses a first chunk in the order of the reasons",
      "protocol §8.7: Uploads goes on after some failures, and drops the upload after others"] },
  { id: "8.7.7", clause: "Nothing is written outside of the landing root, and nothing stays of an upload that failed",
    tests: ["protocol §8.7: Uploads writes nothing outside of its folder", "protocol §8.7: files go up through a Server of small messages; a cancel in the middle leaves nothing",
      "protocol §8.7: a killed Computer leaves nothing of uploads but what the next one removes"] },

  // §13 Identity of MCP servers
  { id: "13.1", clause: "A bundle_id is explicit or derived, of [A-Za-z0-9_-] without __; an invalid one is an error of the configuration",
    tests: ["protocol §13: a configuration has explicit and derived ids, under either name of the field", "protocol §13: an invalid id is an error that names field, problem and remedy",
      "protocol §13: an id does not depend on the variables of another program's file"] },
  { id: "13.2", clause: "The derivation: code points, runs and ends of _, else a hash of the connection; http is streamable; placeholders literally",
    tests: ["protocol §13: bundleIdOf() counts code points, and orders keys by them", "protocol §13: `http` counts as `streamable`, and placeholders and defaults as they are written"] },
  { id: "13.3", clause: "The 16 conformance vectors", tests: ["protocol §13: a configuration gives the ids of all vectors, also to a server without a name"] },
  { id: "13.4", clause: "Of several servers with one bundle_id the first starts, the others are reported problems",
    tests: ["protocol §13: of two servers with one bundle_id the first starts, and the other is a problem until that is gone", "protocol §13: check shows a bundle_id that is taken, and ids where they differ",
      "protocol §13: distinctIds() gives a bundle_id to servers that would not start, and to no others"] },
  { id: "13.5", clause: "A server that is added at run time takes the place of that with its bundle_id",
    tests: ["protocol §13: a server that is added, or whose name alone changes in the file, takes the place of that with its bundle_id"] },
  { id: "13.6", clause: "Two keys of one file that derive the same id: an error that refuses the file",
    tests: ["protocol §13: a file in which two names derive one bundle_id is refused, in every format, and import gives one an id"] },
  { id: "13.7", clause: "A tool's name is bundle_id, __ and its alias or own name, always",
    tests: ["protocol §13: a tool is named by its bundle_id and its alias or own name, always", "protocol §13: servers have no clashes, but two tools of one with one alias are a problem"] },
  { id: "13.8", clause: "Names are looked up in one table, and never split", tests: ["protocol §13: a call is resolved by the table alone, and names are never split; 4001 names the right one"] },
  { id: "13.9", clause: "forbidden_tools are MCP names, aliases or exposed names",
    tests: ["protocol §13: a tool is forbidden by its MCP name, its alias and any name it is offered under"] },
  { id: "13.10", clause: "Names that are too long for models are shortened by the Agent alone, without collisions",
    tests: ["protocol §13: toolName() keeps a bundle_id, and of one that does not fit a part",
      "protocol §13: Catalogue keeps a part of a long bundle_id in a name, and tells the tools of two servers apart",
      "protocol §13: Catalogue leaves the MCP server out of a name where its Computer has one alone, and takes the whole name too"] },
  { id: "13.11", clause: "People and programs may leave the bundle_id out where a tool's own name is unique; else an error lists the whole names",
    tests: ["protocol §13: a tool is found by its whole name, or by its own one where that is unique", "protocol §13: an ambiguous name is an error that lists the whole ones"] },
  { id: "13.12", clause: "bundle_id stands in tools, configuration, requests and errors of 0.3 and 0.4, and the name before",
    tests: ["protocol §13: names of servers and tools at a Server of ${protocol}", "protocol §13: prompts and resources of an MCP server are asked for by what names it in ${protocol}",
      "protocol §13: 4006 of a tool of a server that refused names it by its bundle_id"] },
  { id: "13.13", clause: "At a command line a unique name or an id; several of a name are an error that lists them",
    tests: ["protocol §13: a server is found by a name that only it has, or by its id; else an error lists both", "protocol §13: smcp-agent shows ids where they differ, and takes a name or an id",
      "protocol §13: the shell takes a name or an id, completes both, and refuses a name that two servers have"] },

  // §14 Members of several versions
  { id: "14.1", clause: "Each member of an office has the version of its connection",
    tests: ["an Agent of each version uses Computers of all versions in one office: tools, configuration, resources, prompts, desktop, uploads, notices (protocol §13)",
      "a session keeps the version of its first request, whatever its later ones say (protocol §2)"] },
  { id: "14.2", clause: "Members of every two versions use in one office what both have; the rest is answered with 400, or not sent",
    tests: ["an Agent of ${one} and a Computer of ${other} share an office: every event that both have (protocol §14)",
      "an Agent of each version uses Computers of all versions in one office: tools, configuration, resources, prompts, desktop, uploads, notices (protocol §13)",
      "docs/protocol.md lists what each version lacks, and the error of a Computer that lacks it (protocol §14)"] },
  { id: "14.3", clause: "One front and one office of a name for all versions, chosen by a2c_version at the gate",
    tests: ["an Agent of each version uses Computers of all versions in one office: tools, configuration, resources, prompts, desktop, uploads, notices (protocol §13)", "--protocol takes a list, all, and nothing else (protocol §14)"] },
  { id: "14.4", clause: "Limits per address, metrics and shutdown are shared",
    tests: ["sessions of an address count together, whatever their versions (protocol §14)", "close() answers calls that exceed graceMs with an error, never with silence; it counts as leaving, with the same notifications (protocol §5)",
      "/health of several versions counts each; of one version it is as before, and so are /metrics (protocol §14)"] },
  { id: "14.5", clause: "Operators see the version of each member", tests: ["members of several protocol versions are in one office, each with its version"] },
  { id: "14.6", clause: "MCP serves Computers of every version of an office",
    tests: ["MCP shows the tools of Computers of every version in one office, and its Agent makes way for one of any version (protocol §14)",
      "an office of ${protocol} is served as an MCP server (protocol §14)"] },
  { id: "14.7", clause: "A client has one version a connection; left the choice, it takes the newest that the Server lets in, else follows a 4008 once",
    tests: ["a client without a wish speaks the newest version that the Server lets in, and none is refused (protocol §14)", "VersionChoice takes the newest version that a Server lists, and follows its refusal nevertheless (protocol §14)", "VersionChoice starts with 0.2, and follows a refusal once until it is accepted (protocol §14)", "a Server that refuses the version that it names is asked twice, not for ever", "a client with a wish speaks no other version, and the error says what helps"] },
  { id: "14.8", clause: "A Computer's names follow the version of its connection",
    tests: ["protocol §14: a Computer with the option of a version uses its names before it is connected", "protocol §14: a reconnect to a Server of another version renames the tools, and notifies the office"] },

  // §17 Approvals by devices
  { id: "17.1", clause: "devices with the join: at most 9 ids and verifiers; kept with the seat, forgotten with it, shown to nobody",
    tests: ["request validators refuse each field when it is wrong, and name it", "devices are forgotten with the seat, and what waits ends; a Computer that rejoins gives them again (protocol §17)",
      "threat 10: no member may send client:device, and nobody sees devices or their questions (protocol §17)"] },
  { id: "17.2", clause: "server:update_devices replaces them; the answer has their number, and the host of approvals",
    tests: ["server:update_devices replaces the devices; requests of those that are gone end (protocol §17)", "/approve is served under its host name alone, and nothing else is served there"] },
  { id: "17.3", clause: "A Server without approvals ignores devices, and answers server:update_devices with 400",
    tests: ["a Server without approvals ignores devices, and answers server:update_devices as an unknown event (protocol §17)", "without approvals nothing of them is loaded, and every path is the usual 404"] },
  { id: "17.4", clause: "POST /approve/v1/OFFICE/COMPUTER passes at most 64 KiB on, and the answer of at most 512 KiB back; from any page",
    tests: ["a device's bytes pass the Server, and the Computer's answer comes back [${way}]", "the largest request and answer pass, and one byte more is 413 [${way}]", "any page may send a request, without credentials of the browser"] },
  { id: "17.5", clause: "client:device has the id that fits; nobody else can send it",
    tests: ["a device's bytes go to its Computer with its id, and the answer back (protocol §17)", "threat 10: no member may send client:device, and nobody sees devices or their questions (protocol §17)",
      "threat 10: an operator can neither send client:device nor see devices and their requests"] },
  { id: "17.6", clause: "Whatever is wrong is the same 404; 413, 429 with Retry-After, 502, 503 and 504 say what else",
    tests: ["threat 34: whatever is wrong is the same 404, headers and all [${way}]", "threat 34: an unknown office, Computer and token get one and the same answer, and the Computer nothing (protocol §17)",
      "a device has two requests at a time: a poll and an answer; then 429 says when", "a Server that shuts down ends polls at once, and says when to try again", "a Computer that answers nothing in 30 s is 408, and one that answers something else 500"] },
];
