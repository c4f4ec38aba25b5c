-- Creates or replaces a job scheduler together with its next job (features 1.3).
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, now (ms), scheduler id, every (ms, "" = a pattern decides), next time by pattern (ms or ""),
--            offset (ms, "" = not given), start date, end date (ms, "" = none),
--            number of fields and values of the record except offset and ic, these,
--            then the job, see includes/scheduler.lua
--
-- Reply    id of the next job and its delay (ms), or a code; 0 if the next slot of an interval lies behind the end
-- Codes    -10 a job with the id of the next one exists, and has not ended or nothing was pending (pattern);
--            -11 the next slots are all taken (interval)
-- Events   added, then delayed or waiting

-- include: scheduler

local now, scheduler, every, nextMillis = number(), text(), number(), number()
local givenOffset, startDate, endDate, record = number(), number(), number(), texts()
local job = readIteration()
local recordKey = base .. "repeat:" .. scheduler
local slotScans = 32

-- isPending tells whether a job exists and has not been taken.
local function isPending(id)
  return call("EXISTS", base .. id) == 1
    and (call("ZSCORE", base .. "delayed", id) or call("ZSCORE", base .. "prioritized", id)
      or call("LPOS", base .. "wait", id) or call("LPOS", base .. "paused", id)) and true or false
end

-- removePending deletes the job of the current iteration, which has not been taken.
local function removePending(id)
  if call("ZREM", base .. "delayed", id) == 0 and call("ZREM", base .. "prioritized", id) == 0
    and call("LREM", base .. "wait", 1, id) == 0 then
    call("LREM", base .. "paused", 1, id)
  end
  removeRecord(base, id, base, true)
end

-- hasEnded tells whether a job is completed or failed.
local function hasEnded(id)
  return (call("ZSCORE", base .. "completed", id) or call("ZSCORE", base .. "failed", id)) and true or false
end

-- forgetFinished deletes a job that ended under an id that is needed again, so that the id is in one state only.
local function forgetFinished(id)
  call("ZREM", base .. "completed", id)
  call("ZREM", base .. "failed", id)
  removeRecord(base, id, base, true)
end

-- freeSlot returns the first time from millis on for which there is no job but the one to be replaced, nil if too many
-- are taken.
local function freeSlot(millis, replaced)
  for _ = 0, slotScans do
    local id = iterationId(scheduler, millis)
    if id == replaced or call("EXISTS", base .. id) == 0 then
      return millis
    end
    millis = millis + every
  end
  return nil
end

-- storeRecord rewrites the scheduler's hash; the iteration counter and, unless a new one is given, the offset stay.
local function storeRecord(offset)
  local old = call("HMGET", recordKey, "ic", "offset")
  offset = offset or finite(old[2])
  call("DEL", recordKey)
  call("HSET", recordKey, "ic", string.match(old[1] or "", "^%d+$") or 1, unpack(record))
  if offset then
    call("HSET", recordKey, "offset", whole(offset))
  end
end

local previous = currentMillis(scheduler)
local unchanged = previous and every and tonumber(call("HGET", recordKey, "every") or "") == every
local pending = previous and iterationId(scheduler, previous)
local replaces = pending and isPending(pending)
local offset = givenOffset or 0
local ended -- the id of the next job, if another one ended under it
if every then
  nextMillis, offset = nextOfInterval(unchanged and previous or nil, every, now, offset, startDate)
  if replaces and unchanged then
    nextMillis = previous
  end
  nextMillis = freeSlot(nextMillis, replaces and pending)
  if not nextMillis then
    return -11
  end
  if endDate and nextMillis > endDate then
    return 0
  end
else
  local id = iterationId(scheduler, nextMillis)
  if not (replaces and id == pending) and call("EXISTS", base .. id) == 1 then
    if not replaces or not hasEnded(id) then
      return -10
    end
    ended = id
  end
end
if replaces then
  removePending(pending)
end
if ended then
  forgetFinished(ended)
end
call("ZADD", base .. "repeat", whole(nextMillis), scheduler)
storeRecord(replaces and givenOffset or not replaces and offset or nil)
local delay = addIteration(scheduler, nextMillis, job, now)
return {iterationId(scheduler, nextMillis), delay}
