-- Picks the events of one job out of a bounded part of the stream (lifecycle 6). Reads only.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, id, first and last stream id to look at, how many entries to look at
--
-- Reply    stream id of the oldest entry kept or "", 1 if the part was looked at to its end, else 0; then for each event of the
--          job its stream id and its fields, which are cut to 300 bytes

-- include: call

local id, from, to, budget = text(), text(), text(), number()
local key = base .. "events"
local oldest = call("XRANGE", key, "-", "+", "COUNT", 1)
local reply = {oldest[1] and oldest[1][1] or "", 1}

-- keep adds an entry to the reply if it is about the job.
local function keep(entry)
  local fields, mine = entry[2], false
  for i = 1, #fields, 2 do
    mine = mine or (fields[i] == "jobId" and fields[i + 1] == id)
    fields[i + 1] = string.sub(fields[i + 1], 1, 300)
  end
  if mine then
    reply[#reply + 1] = entry[1]
    reply[#reply + 1] = fields
  end
end

while budget > 0 do
  local entries = call("XRANGE", key, from, to, "COUNT", math.min(budget, 500))
  for _, entry in ipairs(entries) do
    keep(entry)
  end
  if #entries < math.min(budget, 500) then
    return reply
  end
  budget = budget - #entries
  local ms, seq = string.match(entries[#entries][1], "^(%d+)-(%d+)$")
  from = ms .. "-" .. whole(tonumber(seq) + 1)
end
reply[2] = 0
return reply
