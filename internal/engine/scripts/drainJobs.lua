-- Deletes given jobs of one state the way drainQueue does, except current iterations of schedulers (lifecycle 8.17): the
-- caller took their ids before, so that jobs which came since are not touched.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, state (waiting, delayed, prioritized), number of ids, these
--
-- Reply    codes of the jobs
-- Codes    0 done; -3 no longer in that state; -8 current iteration of a scheduler; -30 damaged keys

-- include: bulk

local state = text()
local kept = currentIterations()

-- leave takes a job out of its list or set.
local function leave(id)
  if state == "waiting" then
    return call("LREM", base .. "wait", 1, id) == 1 or call("LREM", base .. "paused", 1, id) == 1
  end
  return call("ZREM", base .. state, id) == 1
end

local function drain(id)
  if kept[id] then
    return -8
  end
  if not leave(id) then
    return -3
  end
  removeBulk({id})
  return 0
end

local codes = {}
for i, id in ipairs(texts()) do
  codes[i] = attempt(drain, id)
end
return codes
