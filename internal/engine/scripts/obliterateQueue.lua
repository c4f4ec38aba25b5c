-- Deletes a paused queue and everything in it (lifecycle 8.19). The caller repeats while the reply is 1.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, with active jobs too (1/0), at most this many jobs
--
-- Reply    0 nothing is left; 1 call again; -21 not paused; -22 active jobs; then the number of jobs deleted

-- include: bulk

local force, budget = flag(), number()
local deleted = 0

-- delete deletes jobs that are out of their list or set.
local function delete(ids)
  local n = removeBulk(ids)
  budget, deleted = budget - n, deleted + n
end

-- emptyList deletes jobs from the tail of a list while the budget lasts.
local function emptyList(name)
  local ids = call("LRANGE", base .. name, -budget, -1)
  call("LTRIM", base .. name, 0, -(#ids + 1))
  for _, id in ipairs(ids) do
    call("DEL", base .. id .. ":lock")
  end
  delete(ids)
end

-- emptySet deletes jobs of a sorted set while the budget lasts.
local function emptySet(name)
  local ids = call("ZRANGE", base .. name, 0, budget - 1)
  inChunks("ZREM", base .. name, ids)
  delete(ids)
end

-- emptySchedulers deletes schedulers while the budget lasts; their jobs are in the lists and sets.
local function emptySchedulers()
  local ids = call("ZRANGE", base .. "repeat", 0, budget - 1)
  for _, id in ipairs(ids) do
    call("DEL", base .. "repeat:" .. id)
  end
  inChunks("ZREM", base .. "repeat", ids)
  budget = budget - #ids
end

if not settings(base).paused then
  return {-21, 0}
end
if not force and call("LLEN", base .. "active") > 0 then
  return {-22, 0}
end
for _, part in ipairs({
  {emptyList, "active"}, {emptySet, "delayed"}, {emptySchedulers}, {emptySet, "completed"}, {emptyList, "wait"},
  {emptyList, "paused"}, {emptySet, "prioritized"}, {emptySet, "failed"}, {emptySet, "waiting-children"},
}) do
  part[1](part[2])
  if budget <= 0 then
    return {1, deleted}
  end
end
for _, name in ipairs({
  "events", "delay", "priority", "stalled-check", "stalled", "id", "pc", "marker", "meta", "limiter", "repeat",
  "metrics:completed", "metrics:completed:data", "metrics:failed", "metrics:failed:data",
}) do
  call("DEL", base .. name)
end
return {0, deleted}
