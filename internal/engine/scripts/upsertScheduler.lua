-- Creates or replaces a job scheduler together with its next job (features 1.3).
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, now (ms), scheduler id, every (ms, "" = a pattern decides), next time by pattern (ms or ""),
--            offset (ms, "" = not given), start date (ms, "" = none),
--            number of fields and values of the record except offset and ic, these,
--            then the job, see includes/scheduler.lua
--
-- Reply    id of the next job and its delay (ms), or a code
-- Codes    -10 a job with the id of the next one exists (pattern); -11 the next slots are all taken (interval)
-- Events   added, then delayed or waiting

-- include: scheduler

local now, scheduler, every, nextMillis = number(), text(), number(), number()
local givenOffset, startDate, record = number(), number(), texts()
local job = readIteration()
local recordKey = base .. "repeat:" .. scheduler
local slotScans = 32

-- replacePending deletes the job of the current iteration if it has not been taken, and tells whether it did.
local function replacePending(id)
  if call("EXISTS", base .. id) == 0 then
    return false
  end
  local found = call("ZREM", base .. "delayed", id) == 1 or call("ZREM", base .. "prioritized", id) == 1
    or call("LREM", base .. "wait", 1, id) == 1 or call("LREM", base .. "paused", 1, id) == 1
  if found then
    removeRecord(base, id, base, true)
  end
  return found
end

-- forgetFinished deletes a job that ended under an id that is needed again, so that the id is in one state only.
local function forgetFinished(id)
  call("ZREM", base .. "completed", id)
  call("ZREM", base .. "failed", id)
  removeRecord(base, id, base, true)
end

-- freeSlot returns the first time from millis on for which there is no job, nil if too many are taken.
local function freeSlot(millis)
  for _ = 0, slotScans do
    if call("EXISTS", base .. iterationId(scheduler, millis)) == 0 then
      return millis
    end
    millis = millis + every
  end
  return nil
end

-- storeRecord rewrites the scheduler's hash; the iteration counter and, unless a new one is given, the offset stay.
local function storeRecord(offset)
  local old = call("HMGET", recordKey, "ic", "offset")
  offset = offset or tonumber(old[2] or "")
  call("DEL", recordKey)
  call("HSET", recordKey, "ic", old[1] or 1, unpack(record))
  if offset then
    call("HSET", recordKey, "offset", whole(offset))
  end
end

local previous = currentMillis(scheduler)
local unchanged = previous and every and tonumber(call("HGET", recordKey, "every") or "") == every
local offset = givenOffset or 0
if every then
  nextMillis, offset = nextOfInterval(unchanged and previous or nil, every, now, offset, startDate)
end
local replaced = previous and replacePending(iterationId(scheduler, previous))
if replaced and unchanged then
  nextMillis = previous
end
if every then
  nextMillis = freeSlot(nextMillis)
  if not nextMillis then
    return -11
  end
elseif call("EXISTS", base .. iterationId(scheduler, nextMillis)) == 1 then
  if not replaced then
    return -10
  end
  forgetFinished(iterationId(scheduler, nextMillis))
end
call("ZADD", base .. "repeat", whole(nextMillis), scheduler)
if replaced then
  storeRecord(givenOffset)
else
  storeRecord(offset)
end
local delay = addIteration(scheduler, nextMillis, job, now)
return {iterationId(scheduler, nextMillis), delay}
