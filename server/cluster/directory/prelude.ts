/**
 * What each name in Redis begins with: the layout's version, as the hash tag that keeps all keys of a
 * Redis Cluster together, since a claim must see seat, size and lease in one step.
 *
 * | key | type | what |
 * |---|---|---|
 * | `{smcp1}:epoch` | string | random, made by the first beat; another value means that data was lost |
 * | `{smcp1}:rev` | string | the last step of the history |
 * | `{smcp1}:settle` | string | until when seats that are free wait for those who had them |
 * | `{smcp1}:nodes` | sorted set | the end of each node's lease, in ms of Redis' own clock |
 * | `{smcp1}:about` | hash | what each node tells of itself |
 * | `{smcp1}:o:VERSION:OFFICE` | hash | who sits in each seat: `A`, or `C` and the Computer's name |
 * | `{smcp1}:n:NODE` | set | the places where members of a node sit |
 * | `{smcp1}:h:VERSION:OFFICE` | string | the claim key of an Agent whose node is said to have ended, until its lease would have |
 * | `{smcp1}:g:NODE` | hash | the leaves that this node has to tell, until it says that it has been told of them |
 *
 * What a node needs the right for is at `connectRedis()`.
 */
export const PREFIX = "{smcp1}:";

/** The key by which a Redis Cluster finds the server for all scripts. */
export const ROUTING_KEY = `${PREFIX}nodes`;

/** How many seats are freed in one step: 20,000 at once would hold Redis for a fifth of a second. */
export const REAP_STEP = 500;

/**
 * What all scripts begin with. The first arguments are the node, the epoch that it knows, and the
 * largest step that it has seen.
 *
 * A seat is kept as lines, see `readSeat()`. `over` is the holder it was taken from, until the claimer
 * says that the answer has arrived: if it has not, the holder gets the seat back.
 */
export const PRELUDE = `
local P = '${PREFIX}'
local NODE, EPOCH, FLOOR = ARGV[1], ARGV[2], tonumber(ARGV[3])
local call = redis.call
local time = call('TIME')
local NOW = time[1] * 1000 + math.floor(time[2] / 1000)

local function text(number) return string.format('%.0f', number) end

local living = {}
local function lives(node)
  if living[node] == nil then
    local ends = call('ZSCORE', P .. 'nodes', node)
    living[node] = ends ~= false and ends ~= nil and tonumber(ends) > NOW
  end
  return living[node]
end

-- Why this node may change nothing: its lease has ended, or the data was lost and it does not know.
local function refused()
  if call('GET', P .. 'epoch') ~= EPOCH then return 'EMPTIED' end
  if not lives(NODE) then return 'REAPED' end
end

-- After lost data, seats are missing until all nodes have taken theirs again.
local function settling()
  local settle = call('GET', P .. 'settle')
  return settle and NOW < tonumber(settle)
end

local function step()
  local rev = call('INCR', P .. 'rev')
  if rev <= FLOOR then
    rev = FLOOR + 1
    call('SET', P .. 'rev', text(rev))
  end
  return rev
end

local LINE = '([^\\n]*)\\n'
local FORM = '^' .. string.rep(LINE, 6) .. '(.*)$'
local function read(code)
  if not code then return nil end
  local node, rev, socket, k, claim, over, rest = string.match(code, FORM)
  return { node = node, rev = rev, socket = socket, k = k, claim = claim, over = over, rest = rest }
end

-- Of many seats only the node is looked at.
local function isAlive(code) return lives(string.match(code, '^[^\\n]*')) end

local function write(seat)
  return table.concat({ seat.node, seat.rev, seat.socket, seat.k, seat.claim, seat.over, seat.rest }, '\\n')
end

-- One seat inside another, on one line.
local function pack(seat)
  return table.concat({ seat.node, seat.rev, seat.socket, seat.k, seat.claim, '', seat.rest }, '\\r')
end
local function unpacked(over)
  if over ~= '' then return (string.gsub(over, '\\r', '\\n')) end
end

local function seatAt(place, slot) return read(call('HGET', P .. 'o:' .. place, slot)) end

local function put(place, slot, seat)
  call('HSET', P .. 'o:' .. place, slot, write(seat))
  call('SADD', P .. 'n:' .. seat.node, place .. '\\n' .. slot)
end

local function free(place, slot, seat)
  call('HDEL', P .. 'o:' .. place, slot)
  call('SREM', P .. 'n:' .. seat.node, place .. '\\n' .. slot)
end

-- This node will tell that a member has left.
local function owe(place, slot, code)
  local _, rev = string.match(code, LINE .. LINE)
  call('HSET', P .. 'g:' .. NODE, place .. '\\n' .. slot .. '\\n' .. rev, code)
end

-- A seat whose claimer never heard of it goes back; where nobody can take it back, its leave is told.
local function giveBack(place, slot, over)
  local code = unpacked(over)
  if not code then return end
  local old = read(code)
  if lives(old.node) then put(place, slot, old) else owe(place, slot, code) end
end

-- Who sits there, or did when its node died: not one whose claimer never heard of it.
local function holderAt(place, slot)
  local seat = seatAt(place, slot)
  if seat and seat.over ~= '' and not lives(seat.node) then
    free(place, slot, seat)
    owe(place, slot, write(seat))
    giveBack(place, slot, seat.over)
    return seatAt(place, slot)
  end
  return seat
end
`;

/** Frees the seats of nodes whose lease has ended; the rest of a step is in `left`. */
export const REAPING = `
local left = ${REAP_STEP}

-- The end of a lease is kept below zero where only a proof says that its process has ended. Should that
-- be wrong, its Agents are served until then: others may not have their seats before.
local function hold(dead, place, seat)
  local ends = -tonumber(call('ZSCORE', P .. 'nodes', dead) or 0)
  if ends > NOW then call('SET', P .. 'h:' .. place, seat.k, 'PXAT', text(ends)) end
end

local function reap(dead)
  while left > 0 do
    local places = call('SPOP', P .. 'n:' .. dead, left)
    if #places == 0 then
      local owed = call('HGETALL', P .. 'g:' .. dead)
      for i = 1, #owed, 2 do call('HSET', P .. 'g:' .. NODE, owed[i], owed[i + 1]) end
      call('DEL', P .. 'g:' .. dead)
      call('ZREM', P .. 'nodes', dead)
      call('HDEL', P .. 'about', dead)
      return
    end
    for _, each in ipairs(places) do
      left = left - 1
      local place, slot = string.match(each, '^([^\\n]*)\\n(.*)$')
      local seat = seatAt(place, slot)
      if seat and seat.node == dead then
        call('HDEL', P .. 'o:' .. place, slot)
        owe(place, slot, write(seat))
        if slot == 'A' then hold(dead, place, seat) end
        giveBack(place, slot, seat.over)
      end
    end
  end
end
`;
