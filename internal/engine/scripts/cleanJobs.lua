-- Deletes jobs of one state that are older than a time (lifecycle 8.18), oldest or next to run first. It looks at a
-- bounded number of entries; the caller goes on with the offset in the reply.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, name of the key (wait, paused, active, delayed, prioritized, completed, failed,
--            waiting-children), time (ms), at most this many, offset (entries to skip)
--
-- Reply    offset to go on with, -1 if all was looked at; then the ids of the deleted jobs
-- Events   cleaned, with count 0 too, but not for an empty paused list, which only BullMQ 5 fills

-- include: bulk
-- include: util

local name, before, limit, offset = text(), number(), number(), number()
local key = base .. name
local window = 1000
local isList = name == "wait" or name == "paused" or name == "active"
local isFinished = name == "completed" or name == "failed" or name == "waiting-children"

-- timeFields name what tells the age of a job, the first that is there; finished jobs are told by their score.
local timeFields = {"finishedOn", "processedOn", "timestamp"}
if name == "delayed" then
  timeFields = {"processedOn", "timestamp"}
elseif name == "prioritized" then
  timeFields = {"timestamp"}
end

local function isOldEnough(id)
  local times = call("HMGET", base .. id, unpack(timeFields))
  for i = 1, #timeFields do
    local time = tonumber(times[i] or "")
    if time then
      return time <= before
    end
  end
  return true
end

local function mayGo(id)
  if isFinished then
    return true
  end
  if isCurrentIteration(base, id) or name == "active" and call("EXISTS", base .. id .. ":lock") == 1 then
    return false
  end
  return isOldEnough(id)
end

-- candidates returns the window of entries to look at, oldest or next to run first.
local function candidates()
  if isFinished then
    return call("ZRANGEBYSCORE", key, "-inf", whole(before), "LIMIT", offset, window)
  end
  if not isList then
    return call("ZRANGE", key, offset, offset + window - 1)
  end
  return reversed(call("LRANGE", key, -(offset + window), -(offset + 1)))
end

-- takeOutOfList removes entries by their place from the tail: an empty text, which is no id, marks them.
local function takeOutOfList(places)
  for _, place in ipairs(places) do
    call("LSET", key, -(offset + place), "")
  end
  if #places > 0 then
    call("LREM", key, 0, "")
  end
end

local ids = candidates()
local gone, places, seen = {}, {}, 0
for i, id in ipairs(ids) do
  if #gone == limit then
    break
  end
  seen = i
  if attempt(mayGo, id) == true then
    gone[#gone + 1], places[#places + 1] = id, i
  end
end
if isList then
  gone = reversed(gone) -- BullMQ goes from the head: parents are freed in this order
end
removeBulk(gone)
if isList then
  takeOutOfList(places)
else
  inChunks("ZREM", key, gone)
end
local more = seen < #ids or #ids == window
if #gone > 0 or not more and name ~= "paused" then
  emit(base, "cleaned", "count", #gone)
end
return {more and offset + seen - #gone or -1, unpack(gone)}
