import { newScript } from "../redis/script.ts";
import type { Script } from "../redis/redis.ts";
import { PRELUDE, REAPING } from "./prelude.ts";

/**
 * Takes a seat: `judgeSeat()` in Lua. A holder whose node's lease has ended counts as none, and is
 * told to whoever gets its seat.
 *
 * Arguments: place, slot, socket, claim key, number of the claim, capacity, member, `1` for all seats.
 * Answers `EMPTIED`, `REAPED`, `TAKEN`, `FULL`, `WAIT`, or `OK`, its step, who held it or "", and seats.
 */
export const CLAIM: Script = newScript(`${PRELUDE}
local place, slot, socket, k, claim = ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local capacity, rest, withSeats = tonumber(ARGV[9]), ARGV[10], ARGV[11] == '1'
local why = refused()
if why then return { why } end
local office = P .. 'o:' .. place

local before = holderAt(place, slot)
local holder = before
if holder and not lives(holder.node) then holder = nil end
-- The same claim once more, after an answer that was lost.
local again = holder and holder.node == NODE and holder.socket == socket

if holder and not again and (k == '' or k ~= holder.k) then return { 'TAKEN' } end
if not holder and slot == 'A' then
  local held = call('GET', P .. 'h:' .. place)
  if held and (k == '' or k ~= held) then return { 'TAKEN' } end
end
if not holder then
  if call('HLEN', office) >= capacity then
    local size = 0
    for _, code in ipairs(call('HVALS', office)) do
      if isAlive(code) then size = size + 1 end
    end
    if size >= capacity then return { 'FULL' } end
  end
end
if settling() then return { 'WAIT' } end

-- Either its claimer hears of it, or who sat there before has it again.
if before and before.over ~= '' and not again then return { 'WAIT' } end

local over = ''
if again then over = holder.over elseif before then over = pack(before) end
if before then free(place, slot, before) end
local rev = step()
put(place, slot, { node = NODE, rev = text(rev), socket = socket, k = k, claim = claim, over = over, rest = rest })

local answer = { 'OK', rev, unpacked(over) or '' }
if withSeats then
  local all = call('HGETALL', office)
  for i = 1, #all, 2 do
    if isAlive(all[i + 1]) then
      answer[#answer + 1] = all[i]
      answer[#answer + 1] = all[i + 1]
    end
  end
end
return answer
`);

/** Notes that the answer of a claim has arrived. Arguments: place, slot, socket, number of the claim. */
export const CONFIRM: Script = newScript(`${PRELUDE}
local place, slot = ARGV[4], ARGV[5]
local seat = seatAt(place, slot)
if refused() or not seat or seat.node ~= NODE or seat.socket ~= ARGV[6] or seat.claim ~= ARGV[7] then return 0 end
seat.over = ''
put(place, slot, seat)
return 1
`);

/**
 * Takes a claim back whose answer did not arrive. Arguments: place, slot, socket, number of the claim.
 * Nothing happens where the same socket has claimed again since.
 */
export const UNDO: Script = newScript(`${PRELUDE}
local place, slot = ARGV[4], ARGV[5]
local function isMeant(seat)
  return seat and seat.node == NODE and seat.socket == ARGV[6] and seat.claim == ARGV[7]
end
local seat = seatAt(place, slot)
if refused() or not seat then return 0 end
if isMeant(seat) then
  free(place, slot, seat)
  giveBack(place, slot, seat.over)
elseif isMeant(read(unpacked(seat.over))) then
  seat.over = ''
  put(place, slot, seat)
end
return 1
`);

/**
 * Releases a seat. Arguments: place, slot, socket. Answers its step, or 0 where there was nothing to
 * release: also for a node whose lease has ended, whose leaves are told by others.
 */
export const RELEASE: Script = newScript(`${PRELUDE}
local place, slot = ARGV[4], ARGV[5]
local seat = seatAt(place, slot)
local function isMeant(seat) return seat and seat.node == NODE and seat.socket == ARGV[6] end
if refused() or not seat then return 0 end
if isMeant(seat) then
  free(place, slot, seat)
  return step()
elseif isMeant(read(unpacked(seat.over))) then
  seat.over = ''
  put(place, slot, seat)
end
return 0
`);

/**
 * Takes a seat again that was lost with the data, or by a fail-over; it keeps its step.
 * Arguments: place, slot, socket, claim key, step, member. Answers `EMPTIED`, `REAPED`, `TAKEN`, or
 * `OK` and the seat.
 */
export const RESTORE: Script = newScript(`${PRELUDE}
local place, slot, socket, k, rev, rest = ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local why = refused()
if why then return { why } end
local holder = holderAt(place, slot)
if holder and lives(holder.node) then
  if holder.node ~= NODE or holder.socket ~= socket then return { 'TAKEN' } end
  return { 'OK', write(holder) }
end
if holder then
  free(place, slot, holder)
  owe(place, slot, write(holder))
end
local seat = { node = NODE, rev = rev, socket = socket, k = k, claim = '', over = '', rest = rest }
put(place, slot, seat)
return { 'OK', write(seat) }
`);

/**
 * Lists the seats of an office whose holders' nodes live. Argument: place. Answers `EMPTIED`, `WAIT`, or
 * `OK`, slots and seats.
 */
export const LIST: Script = newScript(`${PRELUDE}
if call('GET', P .. 'epoch') ~= EPOCH then return { 'EMPTIED' } end
if settling() then return { 'WAIT' } end
local all, answer = call('HGETALL', P .. 'o:' .. ARGV[4]), { 'OK' }
for i = 1, #all, 2 do
  if isAlive(all[i + 1]) then
    answer[#answer + 1] = all[i]
    answer[#answer + 1] = all[i + 1]
  end
end
return answer
`);

/**
 * Renews the lease, or takes it where the node knows no epoch yet, and frees seats of dead nodes.
 *
 * Arguments: a new epoch, the lease and the time to settle in ms, what the node tells of itself, and
 * the leaves that it has been told of. Answers `REAPED`, or `OK`, the epoch, `1` where data was lost, the
 * number of its seats, the last step, the nodes with what they tell, and the leaves to tell.
 */
export const BEAT: Script = newScript(`${PRELUDE}${REAPING}
local fresh, lease, settle, about = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
for i = 8, #ARGV do call('HDEL', P .. 'g:' .. NODE, ARGV[i]) end

local epoch = call('GET', P .. 'epoch')
if not epoch then
  epoch = fresh
  call('SET', P .. 'epoch', epoch)
  -- A step per microsecond is more than Redis can do: it never falls back behind what it was.
  call('SET', P .. 'rev', text(time[1] * 1000000 + time[2]))
end
local emptied = EPOCH ~= '' and EPOCH ~= epoch
if emptied then
  if not call('GET', P .. 'settle') then call('SET', P .. 'settle', text(NOW + settle)) end
elseif EPOCH ~= '' and not lives(NODE) then
  return { 'REAPED' }
end
if tonumber(call('GET', P .. 'rev') or 0) < FLOOR then call('SET', P .. 'rev', text(FLOOR)) end
call('ZADD', P .. 'nodes', text(NOW + lease), NODE)
call('HSET', P .. 'about', NODE, about)
living[NODE] = true

for _, dead in ipairs(call('ZRANGEBYSCORE', P .. 'nodes', '-inf', text(NOW))) do reap(dead) end

local nodes = {}
for _, node in ipairs(call('ZRANGEBYSCORE', P .. 'nodes', '(' .. text(NOW), '+inf')) do
  if node ~= NODE then
    nodes[#nodes + 1] = node
    nodes[#nodes + 1] = call('HGET', P .. 'about', node) or ''
  end
end
return {
  'OK', epoch, emptied and 1 or 0, call('SCARD', P .. 'n:' .. NODE), tonumber(call('GET', P .. 'rev')),
  nodes, call('HGETALL', P .. 'g:' .. NODE),
}
`);

/**
 * Ends the lease of another node, and frees seats of it. Argument: that node. Answers `EMPTIED`,
 * `REAPED`, or `OK`, `1` when nothing is left, and all leaves that this node has to tell.
 */
export const REAP: Script = newScript(`${PRELUDE}${REAPING}
local why = refused()
if why then return { why } end
local dead = ARGV[4]
local ends = tonumber(call('ZSCORE', P .. 'nodes', dead) or 0)
if ends > 0 then call('ZADD', P .. 'nodes', 'XX', text(-ends), dead) end
living[dead] = false
reap(dead)
local done = call('SCARD', P .. 'n:' .. dead) == 0 and left > 0
return { 'OK', done and 1 or 0, call('HGETALL', P .. 'g:' .. NODE) }
`);

/** Lists the seats of this node, a page at a time. Argument: the cursor. */
export const OWN: Script = newScript(`${PRELUDE}
local page = call('SSCAN', P .. 'n:' .. NODE, ARGV[4], 'COUNT', 500)
local answer = {}
for _, each in ipairs(page[2]) do
  local place, slot = string.match(each, '^([^\\n]*)\\n(.*)$')
  local seat = seatAt(place, slot)
  if seat and seat.node == NODE then
    answer[#answer + 1] = each
    answer[#answer + 1] = write(seat)
  end
end
return { page[1], answer }
`);

/** Gives up the lease; others tell what this node leaves behind. Arguments: the leaves it knows. */
export const LEAVE: Script = newScript(`${PRELUDE}
for i = 4, #ARGV do call('HDEL', P .. 'g:' .. NODE, ARGV[i]) end
if call('SCARD', P .. 'n:' .. NODE) > 0 or call('HLEN', P .. 'g:' .. NODE) > 0 then
  call('ZADD', P .. 'nodes', 'XX', 0, NODE)
else
  call('ZREM', P .. 'nodes', NODE)
end
call('HDEL', P .. 'about', NODE)
return 1
`);
