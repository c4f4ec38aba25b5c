-- include: ready
-- include: util

-- nextDue is when the first delayed job becomes due, in milliseconds with the tie-break as fraction, or nil.
local function nextDue(base)
  local first = call("ZRANGE", base .. "delayed", 0, 0, "WITHSCORES")
  return first[2] and tonumber(first[2]) / 4096
end

-- markDelayed tells sleeping workers when the first delayed job becomes due.
local function markDelayed(base)
  local due = nextDue(base)
  if due then
    call("ZADD", base .. "marker", string.format("%.17g", due), "1")
  end
end

-- delayedScore keeps the order of insertion among up to 4096 jobs due in the same millisecond (lifecycle 5.1).
local function delayedScore(base, due)
  local low = due * 4096
  local high = low + 4095
  local last = call("ZREVRANGEBYSCORE", base .. "delayed", whole(high), whole(low), "WITHSCORES", "LIMIT", 0, 1)
  if last[2] then
    return math.min(tonumber(last[2]) + 1, high)
  end
  return low
end

-- toDelayed inserts a job that becomes due at the given time and announces it. Callers wake the workers afterwards.
local function toDelayed(base, id, due)
  call("ZADD", base .. "delayed", whole(delayedScore(base, due)), id)
  emitTrimmed(base, "delayed", "jobId", id, "delay", whole(due))
end

-- promotionLimit is how many delayed jobs one script makes ready.
local promotionLimit = 1000

-- promoteOne makes a job ready that was delayed, unless its hash is gone.
local function promoteOne(base, id)
  local key = base .. id
  if call("EXISTS", key) == 0 then
    return
  end
  local priority = priorityOf(key)
  if priority == 0 then
    call("LPUSH", waitList(base), id)
  else
    call("ZADD", base .. "prioritized", whole(prioritizedScore(base, priority)), id)
  end
  emit(base, "waiting", "jobId", id, "prev", "delayed")
  call("HSET", key, "delay", 0)
end

-- promoteDue makes the first of the delayed jobs ready that are due at now (lifecycle P7). An id without a hash is
-- dropped.
local function promoteDue(base, now)
  local ids = call("ZRANGEBYSCORE", base .. "delayed", 0, whole((now + 1) * 4096 - 1), "LIMIT", 0, promotionLimit)
  if #ids == 0 then
    return
  end
  inChunks("ZREM", base .. "delayed", ids)
  for _, id in ipairs(ids) do
    attempt(promoteOne, base, id)
  end
  markReady(base)
end
