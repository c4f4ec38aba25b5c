-- Ends active jobs, completed or failed for good (lifecycle 8.6), and takes next ones in the same step.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, now (ms), name of the queue, dead-letter queue ("" = none),
--            minutes of metrics kept (0 = none written), number of jobs, and for each job:
--              id, token, failed (1/0), result (JSON or reason), attempts allowed,
--              keep count ("" = all), keep age (ms, "" = any), limit of evictions by age,
--              number of fields and values to update, these
--            then who takes next jobs, as in fetchJobs from count on; count 0 = nobody
--
-- Reply    codes of the jobs; the reply of fetchJobs
-- Codes    0 done; -1 no hash; -2 no lock; -3 not active; -4 children pending; -6 lock of another token;
--            -9 failed children; -30 damaged keys
-- Events   completed or failed, retries-exhausted, drained; those of parents, of the job that follows a deduplicated
--            one, of the dead letter, and of fetchJobs

-- include: take
-- include: locks
-- include: finished
-- include: deadLetter
-- include: dedup

local now, queue, letterQueue, metricsPoints = number(), text(), text(), number()

local trimmed = false

-- trimOnce trims the events before the first of this script is written.
local function trimOnce()
  if not trimmed then
    trimEvents(base)
    trimmed = true
  end
end

local function readFinish()
  return {
    id = text(), token = text(), failed = flag(), result = text(), attempts = number(), keep = readKeep(),
    updates = texts(),
  }
end

-- refusal returns the code that keeps a job from finishing before its lock is looked at, or nil.
local function refusal(key, failed)
  if call("EXISTS", key) == 0 then
    return -1
  end
  if not failed then
    if call("SCARD", key .. ":dependencies") > 0 then
      return -4
    end
    if call("ZCARD", key .. ":unsuccessful") > 0 then
      return -9
    end
  end
  return nil
end

-- settle puts a finished job where its retention rule wants it.
local function settle(id, key, job, outcome, parent)
  if job.keep.count == 0 then
    deleteJobKeys(key)
    if parent then
      attempt(detach, key, parent)
    end
    return
  end
  local set = base .. outcome
  call("ZADD", set, whole(now), id)
  call("HSET", key, job.failed and "failedReason" or "returnvalue", job.result, "finishedOn", whole(now))
  if job.failed then
    call("HDEL", key, "defa")
  end
  attempt(applyKeep, base, set, job.keep, now)
end

-- oldAttempts is what very old versions counted in a field of its own.
local function oldAttempts(text)
  return math.max(math.floor(finite(text) or 0), 0)
end

-- announce writes the events of a finished job.
local function announce(id, job, outcome, attemptsMade)
  emit(base, outcome, "jobId", id, job.failed and "failedReason" or "returnvalue", job.result, "prev", "active")
  if job.failed and attemptsMade >= job.attempts then
    emit(base, "retries-exhausted", "jobId", id, "attemptsMade", whole(attemptsMade))
  end
end

local function finish(job)
  local id, key = job.id, base .. job.id
  local code = refusal(key, job.failed)
  if code then
    return code
  end
  local fields = call("HMGET", key, "parentKey", "parent", "deid", "attemptsMade")
  code = releaseLock(base, id, job.token)
  if code < 0 then
    return code
  end
  if #job.updates > 0 then
    call("HSET", key, unpack(job.updates))
  end
  if call("LREM", base .. "active", -1, id) == 0 then
    return -3
  end
  trimOnce()
  local outcome = job.failed and "failed" or "completed"
  local letter = job.failed and letterQueue ~= "" and call("HMGET", key, "name", "data", "opts", "stacktrace")
  local parent = parentOf(fields[1], fields[2])
  -- The job has left active: what is wrong with the keys of others must not keep it from its end.
  attempt(releaseDedup, base, id, fields[3], now)
  if parent then
    attempt(job.failed and childFailed or childCompleted, parent, key, job.result, now)
  end
  local attemptsMade = increment(key, "atm") + oldAttempts(fields[4])
  settle(id, key, job, outcome, parent)
  announce(id, job, outcome, attemptsMade)
  if letter then
    local source = {name = letter[1], data = letter[2], opts = letter[3], stacktrace = letter[4]}
    attempt(addDeadLetter, queue, id, letterQueue, source, job.result, attemptsMade, now)
  end
  if metricsPoints > 0 then
    attempt(countFinished, base, outcome, now, metricsPoints)
  end
  return 0
end

-- isEmpty tells whether nothing waits or runs.
local function isEmpty()
  return call("LLEN", waitList(base)) == 0 and call("LLEN", base .. "active") == 0
    and call("ZCARD", base .. "prioritized") == 0
end

local codes, finished = {}, false
for i = 1, number() do
  codes[i] = attempt(finish, readFinish())
  finished = finished or codes[i] == 0
end
local taken, reply, idle = 0, {0, 0}, true
local taker = readTaker()
if taker.count > 0 then
  taken, reply, idle = take(base, now, taker)
end
if finished and taken == 0 and idle and isEmpty() then
  emit(base, "drained")
end
return {codes, reply}
