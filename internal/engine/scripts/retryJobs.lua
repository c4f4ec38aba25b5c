-- Repeats failed attempts at once: active jobs go behind the waiting ones, or of their priority, and the attempt counts
-- (lifecycle 8.7.1). Delayed jobs that are due go before them.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, now (ms), number of jobs, and for each job:
--            id, token, lifo (1/0: it is the next to be taken), number of fields and values to update, these
--
-- Reply    codes of the jobs
-- Codes    0 done; -1 no hash; -2 no lock; -3 not active; -6 lock of another token; -30 damaged keys
-- Events   waiting (prev active); waiting (prev delayed)

-- include: delayed
-- include: leave

local now = number()

local function readRetry()
  return {id = text(), token = text(), lifo = flag(), updates = texts()}
end

local function retry(job)
  local code = leaveActive(job)
  if code < 0 then
    return code
  end
  local key = base .. job.id
  makeReady(base, job.id, priorityOf(key), job.lifo)
  increment(key, "atm")
  emitTrimmed(base, "waiting", "jobId", job.id, "prev", "active")
  return 0
end

promoteDue(base, now)
local codes = {}
for i = 1, number() do
  codes[i] = attempt(retry, readRetry())
end
return codes
