-- Puts active jobs back in front of the waiting ones, or of their priority; no attempt counts (lifecycle 8.9).
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, number of jobs, and for each job: id, token
--
-- Reply    ms the limiter lasts, 0 if there is none; codes of the jobs
-- Codes    0 done, also if the job was not active; -1 no hash; -2 no lock; -6 lock of another token; -30 damaged keys
-- Events   waiting (prev active)

-- include: ready
-- include: locks
-- include: util

local function giveBack(id, token)
  local key = base .. id
  if call("EXISTS", key) == 0 then
    return -1
  end
  local code = releaseLock(base, id, token)
  if code < 0 or call("LREM", base .. "active", 1, id) == 0 then
    return code
  end
  local priority = priorityOf(key)
  if priority > 0 then
    toPrioritizedFirst(base, id, priority)
  else
    toWait(base, id, true)
  end
  emitTrimmed(base, "waiting", "jobId", id, "prev", "active")
  return 0
end

local codes = {}
for i = 1, number() do
  codes[i] = attempt(giveBack, text(), text())
end
return {math.max(call("PTTL", base .. "limiter"), 0), codes}
