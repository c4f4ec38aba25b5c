-- include: locks
-- include: util

-- leaveActive ends an attempt that is not finished: it releases the lock, writes the updated fields and takes the job
-- out of active (lifecycle 8.7). It returns a code.
local function leaveActive(job)
  local key = base .. job.id
  if call("EXISTS", key) == 0 then
    return -1
  end
  local code = releaseLock(base, job.id, job.token)
  if code < 0 then
    return code
  end
  if #job.updates > 0 then
    call("HSET", key, unpack(job.updates))
  end
  if call("LREM", base .. "active", -1, job.id) == 0 then
    return -3
  end
  return 0
end
