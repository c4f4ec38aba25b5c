-- Reads what a list shows of a range of jobs of one state, never their payloads (lifecycle 9). Reads only.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, state, start, end (inclusive, 0-based), ascending (1/0): next to run or oldest first
--
-- Reply    number of jobs in the state; then for each job its score ("" in a list) and its cells, see includes/row.lua

-- include: row

local state, from, to, ascending = text(), number(), number(), flag()

-- listRange reads a range of lists that follow each other, newest first, and the number of all their entries. The tail
-- of the last list is next to run.
local function listRange(keys)
  local lengths, total = {}, 0
  for i, key in ipairs(keys) do
    lengths[i] = call("LLEN", key)
    total = total + lengths[i]
  end
  local last = to < 0 and total - 1 or math.min(to, total - 1)
  local first = from
  if ascending then
    first, last = total - 1 - last, total - 1 - first
  end
  local ids, before = {}, 0
  for i, key in ipairs(keys) do
    local a, b = math.max(first - before, 0), math.min(last - before, lengths[i] - 1)
    if a <= b then
      for _, id in ipairs(call("LRANGE", key, a, b)) do
        ids[#ids + 1] = id
      end
    end
    before = before + lengths[i]
  end
  return ascending and reversed(ids) or ids, total
end

local ids, scores, total = {}, {}, 0
if state == "waiting" then
  ids, total = listRange({base .. "wait", base .. "paused"})
elseif state == "active" then
  ids, total = listRange({base .. "active"})
else
  total = call("ZCARD", base .. state)
  local entries = call(ascending and "ZRANGE" or "ZREVRANGE", base .. state, from, to, "WITHSCORES")
  for i = 1, #entries, 2 do
    ids[#ids + 1], scores[#scores + 1] = entries[i], entries[i + 1]
  end
end
local reply = {total}
for i, id in ipairs(ids) do
  reply[#reply + 1] = scores[i] or ""
  reply[#reply + 1] = safeRow(base, id)
end
return reply
