-- Deletes the oldest waiting, if asked delayed, and prioritized jobs, in this order, except current iterations of
-- schedulers (lifecycle 8.17). The caller repeats until nothing was deleted.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, delayed jobs too (1/0), at most this many
--
-- Reply    number of jobs deleted

-- include: bulk

local withDelayed, limit = flag(), number()
local kept, keptCount = currentIterations()

-- split parts ids into those that go, at most max, and those that stay.
local function split(ids, max)
  local go, stay = {}, {}
  for _, id in ipairs(ids) do
    if kept[id] or #go == max then
      stay[#stay + 1] = id
    else
      go[#go + 1] = id
    end
  end
  return go, stay
end

-- drainList deletes up to max jobs from the taking end of a list.
local function drainList(list, max)
  local from = -(max + keptCount)
  local ids = call("LRANGE", list, from, -1)
  local go, stay = split(ids, max)
  call("LTRIM", list, 0, -(#ids + 1))
  inChunks("RPUSH", list, stay)
  return removeBulk(go)
end

-- drainSet deletes up to max jobs of a sorted set, lowest first.
local function drainSet(set, max)
  local go = split(call("ZRANGE", set, 0, max + keptCount - 1), max)
  inChunks("ZREM", set, go)
  return removeBulk(go)
end

local removed = 0
for _, part in ipairs({{"wait", drainList}, {"paused", drainList}, {"delayed", drainSet}, {"prioritized", drainSet}}) do
  local name, drain = part[1], part[2]
  if removed < limit and (name ~= "delayed" or withDelayed) then
    removed = removed + drain(base .. name, limit - removed)
  end
end
return removed
