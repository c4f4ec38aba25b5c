-- Puts active jobs into delayed (lifecycle 8.7) and takes next ones in the same step.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, now (ms), number of jobs, and for each job:
--              id, token, delay (ms), skip attempt (1/0), number of fields and values to update, these
--            then who takes next jobs, as in fetchJobs from count on; count 0 = nobody
--
-- Reply    codes of the jobs; the reply of fetchJobs
-- Codes    0 done; -1 no hash; -2 no lock; -3 not active; -6 lock of another token; -30 damaged keys
-- Events   delayed; those of fetchJobs

-- include: take
-- include: leave

local now = number()

local function readDelay()
  return {id = text(), token = text(), delay = number(), skipAttempt = flag(), updates = texts()}
end

local function delayJob(job)
  local code = leaveActive(job)
  if code < 0 then
    return code
  end
  local key = base .. job.id
  if not job.skipAttempt then
    increment(key, "atm")
  end
  call("HSET", key, "delay", whole(job.delay))
  toDelayed(base, job.id, now + math.max(job.delay, 0))
  return 0
end

local codes, moved = {}, false
for i = 1, number() do
  codes[i] = attempt(delayJob, readDelay())
  moved = moved or codes[i] == 0
end
local taken, reply = 0, {0, 0}
local taker = readTaker()
if taker.count > 0 then
  taken, reply = take(base, now, taker)
end
if moved and taken == 0 then
  markDelayed(base)
end
return {codes, reply}
