import { newScript } from "../redis/redis.ts";
import type { Script } from "../redis/redis.ts";

/**
 * The begin of each name in Redis: the layout's version, as the hash tag that keeps all keys of a Redis
 * Cluster together, since a claim must see homes and leases in one step.
 *
 * | key | type | value |
 * |---|---|---|
 * | `{smcp2}:epoch` | string | the process of Redis, a random id, and `kept` or `empty`; see `epoch()` |
 * | `{smcp2}:settle` | string | until when an office without a home gets none, in ms of Redis' own clock |
 * | `{smcp2}:nodes` | sorted set | the end of each node's lease, in ms of Redis' own clock |
 * | `{smcp2}:about` | hash | what each node publishes about itself |
 * | `{smcp2}:h:NODE` | hash | the offices whose home is this node, with the numbers of their claims |
 *
 * Homes are kept by node: with the lease they end in one step, however many they are.
 */
export const PREFIX = "{smcp2}:";

/** The key by which a Redis Cluster finds the server for all scripts. */
export const ROUTING_KEY = `${PREFIX}nodes`;

/** All scripts begin with it; the first arguments are the node, and the epoch that it has seen. */
const PRELUDE = `
local P = '${PREFIX}'
local NODE, EPOCH = ARGV[1], ARGV[2]
local call = redis.call
local time = call('TIME')
local NOW = time[1] * 1000 + math.floor(time[2] / 1000)
local RUN = string.match(call('INFO', 'server'), 'run_id:(%x+)') or ''

local function text(number) return string.format('%.0f', number) end

-- The epoch of the data, nil where none is valid. A process of Redis that was started again, or took
-- over from another one, may lack writes that were answered: its data count for nothing.
local function epoch()
  local known = call('GET', P .. 'epoch')
  if known and string.sub(known, 1, #RUN + 1) == RUN .. ':' then return known end
end

-- Milliseconds until the lease of a node ends; not positive where it has ended.
local function leaseOf(node)
  return tonumber(call('ZSCORE', P .. 'nodes', node) or 0) - NOW
end

local living
local function homeOf(office)
  living = living or call('ZRANGEBYSCORE', P .. 'nodes', '(' .. text(NOW), '+inf')
  for _, node in ipairs(living) do
    if call('HEXISTS', P .. 'h:' .. node, office) == 1 then return node end
  end
end

local function settleMs()
  return math.max(0, tonumber(call('GET', P .. 'settle') or 0) - NOW)
end
`;

/**
 * Returns the home of an office, or takes it. Arguments: the office, and the number of the claim.
 *
 * Answers `STALE` for an epoch that is over, `REAPED`, `WAIT` and the ms until homes are known, or `HOME`,
 * the node, and the ms until its lease ends.
 */
export const CLAIM: Script = newScript(`${PRELUDE}
local office, number = ARGV[3], ARGV[4]
if epoch() ~= EPOCH then return { 'STALE' } end
if leaseOf(NODE) <= 0 then return { 'REAPED' } end
local home = homeOf(office)
if not home then
  local wait = settleMs()
  if wait > 0 then return { 'WAIT', wait } end
  home = NODE
end
if home == NODE then call('HSET', P .. 'h:' .. NODE, office, number) end
return { 'HOME', home, leaseOf(home) }
`);

/**
 * Ends a home that was not claimed after a number. Arguments: the office, and the number.
 */
export const RELEASE: Script = newScript(`${PRELUDE}
local homes = P .. 'h:' .. NODE
local number = tonumber(call('HGET', homes, ARGV[3]))
if number and number <= tonumber(ARGV[4]) then call('HDEL', homes, ARGV[3]) end
return 1
`);

/**
 * Renews the lease, or takes it where the node has seen no epoch yet, and ends homes of dead nodes.
 *
 * Without a valid epoch it begins one: nothing that Redis has is valid then, and what it does not have
 * may be. Nodes that serve do so by a lease of before, and all of those are over after a lease.
 *
 * Arguments: a random id, the lease in ms, and what the node publishes about itself. Answers `REAPED`, or
 * `OK`, the epoch, the ms until homes are known, the other nodes with what they publish, and the number of homes of this one.
 */
export const BEAT: Script = newScript(`${PRELUDE}
local lease = tonumber(ARGV[4])
local nodes = P .. 'nodes'
local function forget(dead)
  call('UNLINK', P .. 'h:' .. dead)
  call('ZREM', nodes, dead)
  call('HDEL', P .. 'about', dead)
end

local current = epoch()
if not current then
  local state = call('GET', P .. 'epoch') and 'kept' or 'empty'
  current = table.concat({ RUN, ARGV[3], state }, ':')
  call('SET', P .. 'epoch', current)
  call('SET', P .. 'settle', text(NOW + lease))
  for _, node in ipairs(call('ZRANGEBYSCORE', nodes, '-inf', '+inf')) do forget(node) end
elseif EPOCH == current and leaseOf(NODE) <= 0 then
  return { 'REAPED' }
end
for _, dead in ipairs(call('ZRANGEBYSCORE', nodes, '-inf', text(NOW))) do forget(dead) end
call('ZADD', nodes, text(NOW + lease), NODE)
call('HSET', P .. 'about', NODE, ARGV[5])

local others = {}
for _, node in ipairs(call('ZRANGEBYSCORE', nodes, '-inf', '+inf')) do
  if node ~= NODE then
    others[#others + 1] = node
    others[#others + 1] = call('HGET', P .. 'about', node) or ''
  end
end
return { 'OK', current, settleMs(), others, call('HLEN', P .. 'h:' .. NODE) }
`);

/**
 * Takes homes again in a new epoch. Arguments: the number of the last claim, and offices. Answers `STALE`
 * for an epoch that is over, or `OK`, and offices whose home is elsewhere.
 */
export const RESTORE: Script = newScript(`${PRELUDE}
if epoch() ~= EPOCH or leaseOf(NODE) <= 0 then return { 'STALE' } end
local answer = { 'OK' }
for i = 4, #ARGV do
  local home = homeOf(ARGV[i])
  if home and home ~= NODE then answer[#answer + 1] = ARGV[i]
  else call('HSET', P .. 'h:' .. NODE, ARGV[i], ARGV[3]) end
end
return answer
`);

/** Ends the lease of this node, and all its homes. */
export const LEAVE: Script = newScript(`${PRELUDE}
call('UNLINK', P .. 'h:' .. NODE)
call('ZREM', P .. 'nodes', NODE)
call('HDEL', P .. 'about', NODE)
return 1
`);
