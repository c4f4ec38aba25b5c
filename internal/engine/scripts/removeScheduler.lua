-- Deletes a job scheduler and its next job if that is delayed; a job that waits or runs becomes an ordinary one
-- (features 1.9).
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, scheduler id
--
-- Reply    1 if there was such a scheduler, else 0
-- Events   removed

-- include: scheduler

local scheduler = text()
local millis = currentMillis(scheduler)
if not millis then
  return 0
end
local id = iterationId(scheduler, millis)
if call("ZREM", base .. "delayed", id) == 1 then
  deleteJobKeys(base .. id)
  emit(base, "removed", "jobId", id, "prev", "delayed")
end
call("ZREM", base .. "repeat", scheduler)
call("DEL", base .. "repeat:" .. scheduler)
return 1
