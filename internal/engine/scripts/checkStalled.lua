-- Recovers jobs whose worker is gone (lifecycle 8.11): those that have no lock although they were active at the last
-- check too. All jobs that are active now are then marked for the next check. Past the limit a job gets the field defa,
-- with which the next worker fails it.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, now (ms), how often a job may stall, interval (ms) in which all workers check only once
--
-- Reply    ids of the recovered jobs
-- Events   waiting (prev active), stalled

-- include: ready
-- include: util

local now, maxStalled, interval = text(), number(), text()

-- hasScheduler tells whether a job comes from a scheduler that still exists; its jobs may stall for ever.
local function hasScheduler(key)
  local scheduler = call("HGET", key, "rjk")
  return scheduler and (call("EXISTS", base .. "repeat:" .. scheduler) == 1
    or call("ZSCORE", base .. "repeat", scheduler))
end

-- recover returns 1 if the job was recovered, 0 if there was nothing to do.
local function recover(id)
  local key = base .. id
  if call("EXISTS", key .. ":lock") == 1 or call("LREM", base .. "active", 1, id) == 0 then
    return 0
  end
  if call("EXISTS", key) == 0 then
    -- Its hash is gone: there is nothing to run.
    return 0
  end
  if increment(key, "stc") > maxStalled and not hasScheduler(key) then
    call("HSET", key, "defa", "job stalled more than allowable limit")
  end
  toWait(base, id, true)
  emit(base, "waiting", "jobId", id, "prev", "active")
  emit(base, "stalled", "jobId", id)
  return 1
end

if call("EXISTS", base .. "stalled-check") == 1 then
  return {}
end
call("SET", base .. "stalled-check", now, "PX", interval)
trimEvents(base)
local recovered = {}
local marked = call("SMEMBERS", base .. "stalled")
call("DEL", base .. "stalled")
for _, id in ipairs(marked) do
  if attempt(recover, id) == 1 then
    recovered[#recovered + 1] = id
  end
end
inChunks("SADD", base .. "stalled", call("LRANGE", base .. "active", 0, -1))
return recovered
