-- include: events
-- include: util

-- waitList is the list that new waiting jobs go to.
local function waitList(base)
  if legacyPause and settings(base).paused then
    return base .. "paused"
  end
  return base .. "wait"
end

-- markReady wakes a worker, unless none may take a job.
local function markReady(base)
  if not isPausedOrMaxed(base) then
    call("ZADD", base .. "marker", 0, "0")
  end
end

-- toWait inserts a waiting job, as the next to be taken or behind all others (lifecycle P3).
local function toWait(base, id, first)
  call(first and "RPUSH" or "LPUSH", waitList(base), id)
  markReady(base)
end

-- prioritizedScore keeps the order of insertion within a priority (lifecycle 5.2).
local function prioritizedScore(base, priority)
  return priority * 4294967296 + count(base .. "pc") % 4294967296
end

-- toPrioritized inserts a job behind those of its priority (lifecycle P4).
local function toPrioritized(base, id, priority)
  call("ZADD", base .. "prioritized", whole(prioritizedScore(base, priority)), id)
  markReady(base)
end

-- toPrioritizedFirst inserts a job in front of those of its priority, without waking anybody (lifecycle P5).
local function toPrioritizedFirst(base, id, priority)
  call("ZADD", base .. "prioritized", whole(priority * 4294967296), id)
end

-- makeReady inserts a job where its priority wants it; first has a meaning in wait only.
local function makeReady(base, id, priority, first)
  if priority == 0 then
    toWait(base, id, first)
  else
    toPrioritized(base, id, priority)
  end
end

local function priorityOf(jobKey)
  return finite(call("HGET", jobKey, "priority")) or 0
end
