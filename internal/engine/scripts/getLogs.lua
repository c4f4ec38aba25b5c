-- Reads log rows of a job, each cut, and no more of them than a number of bytes (lifecycle 8.15). Reads only.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, id, first and last index (from 0, inclusive), oldest first (1/0), bytes kept of each row, bytes
--          read in all; one row is always read, so that callers get on
--
-- Reply    number of rows kept; then length and beginning of each row in order

-- include: call

local id, from, to, oldest, each, left = text(), number(), number(), flag(), number(), number()
local key = base .. id .. ":logs"
local total = call("LLEN", key)
local reply = {total}
for i = from, math.min(to, total - 1) do
  -- One by one: how long a row is is known only when it was read.
  local row = call("LINDEX", key, oldest and i or -1 - i)
  if not row then
    break
  end
  reply[#reply + 1] = #row
  reply[#reply + 1] = string.sub(row, 1, each)
  left = left - #row
  if left <= 0 then
    break
  end
end
return reply
