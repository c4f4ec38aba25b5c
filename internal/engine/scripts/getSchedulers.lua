-- Reads job schedulers with their records (features 1.9). Reads only: a member without a record is reported as it is.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, scheduler id, or "" and: start, end (inclusive, 0-based), ascending (1/0)
--
-- Reply    number of all schedulers; then for each its id, the time (ms) of its current iteration, its record, and the
--            options of that iteration's job, "" if there is no such job or it has ended

-- include: util

local one, from, to, ascending = text(), number(), number(), flag()

local members
if one == "" then
  members = call(ascending and "ZRANGE" or "ZREVRANGE", base .. "repeat", from, to, "WITHSCORES")
else
  local millis = call("ZSCORE", base .. "repeat", one)
  members = millis and {one, millis} or {}
end

-- pendingOptions returns the options of the job of a firing, "" if there is no such job or it has ended.
local function pendingOptions(scheduler, millis)
  local fields = redis.pcall("HMGET", base .. "repeat:" .. scheduler .. ":" .. millis, "opts", "finishedOn")
  return not fields.err and not fields[2] and fields[1] or ""
end

local reply = {call("ZCARD", base .. "repeat")}
for i = 1, #members, 2 do
  local record = redis.pcall("HGETALL", base .. "repeat:" .. members[i])
  local millis = whole(tonumber(members[i + 1]))
  reply[#reply + 1] = members[i]
  reply[#reply + 1] = millis
  reply[#reply + 1] = record.err and {} or record
  reply[#reply + 1] = pendingOptions(members[i], millis)
end
return reply
