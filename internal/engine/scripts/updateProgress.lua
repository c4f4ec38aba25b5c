-- Stores the progress of a job and announces it (lifecycle 8.15).
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, id, progress (JSON)
--
-- Reply    0 done; -1 no hash
-- Events   progress

-- include: events

local id, progress = text(), text()
if call("EXISTS", base .. id) == 0 then
  return -1
end
call("HSET", base .. id, "progress", progress)
emitTrimmed(base, "progress", "jobId", id, "data", progress)
return 0
