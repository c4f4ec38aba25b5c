-- include: record

local evictionLimit = 1000

-- readKeep reads a retention rule: count ("" = all), age in ms ("" = any), limit.
local function readKeep()
  return {count = number(), age = number(), limit = number()}
end

-- evict deletes finished jobs; their deduplication ids stay (lifecycle 8.6.3).
local function evict(base, set, ids)
  for _, id in ipairs(ids) do
    removeAnyway(base, id, nil, false)
  end
  inChunks("ZREM", set, ids)
end

-- applyKeep deletes what a retention rule no longer keeps of a set of finished jobs. By count at most as many go per
-- finished job as are sure to be fast; the rest follows with the next ones.
local function applyKeep(base, set, keep, now)
  if keep.age then
    evict(base, set, call("ZREVRANGEBYSCORE", set, whole(now - keep.age), "-inf", "LIMIT", 0, keep.limit))
  end
  if keep.count and keep.count > 0 then
    local excess = call("ZCARD", set) - keep.count
    if excess > 0 then
      evict(base, set, call("ZRANGE", set, 0, math.min(excess, evictionLimit) - 1))
    end
  end
end

-- countFinished adds a finished job to the queue's metrics of one outcome, a list of counts per minute (features 4).
local function countFinished(base, outcome, now, points)
  local key = base .. "metrics:" .. outcome
  local before = increment(key, "count") - 1
  local previous = call("HMGET", key, "prevTS", "prevCount")
  local previousTime = finite(previous[1])
  if not previousTime then
    call("HSET", key, "prevTS", whole(now), "prevCount", 0)
    return
  end
  local minutes = math.min(math.floor(now / 60000) - math.floor(previousTime / 60000), points)
  if minutes < 1 then
    return
  end
  local counts = {whole(before - (finite(previous[2]) or 0))}
  for i = 2, minutes do
    counts[i] = 0
  end
  inChunks("LPUSH", key .. ":data", counts)
  call("LTRIM", key .. ":data", 0, points - 1)
  call("HSET", key, "prevCount", whole(before), "prevTS", whole(now))
end
