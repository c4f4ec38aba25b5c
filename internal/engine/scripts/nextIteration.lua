-- Produces the next job of a scheduler when a worker has taken the current one (features 1.5).
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, now (ms), scheduler id, id of the job that was taken, next time by pattern (ms or ""),
--            every and offset of the taken job's options (ms or ""), for records that lack them,
--            end date (ms or ""),
--            then the job, see includes/scheduler.lua; its name and data are those of the record
--
-- Reply    id of the next job, "" if none was added: no such scheduler, the taken job is not its current iteration, or
--            the next slot lies behind the end
-- Events   added, then delayed or waiting; duplicated if the next job exists

-- include: scheduler

local now, scheduler, producer, nextMillis = number(), text(), text(), number()
local every, offset, endDate = number(), number(), number()
local job = readIteration()
local recordKey = base .. "repeat:" .. scheduler

-- fillFromRecord takes name and data of the record. A record without ic comes from BullMQ 5, which kept the data in the
-- jobs only: there the taken job's data goes on.
local function fillFromRecord(record)
  job.name = record.name or job.name
  if record.data or record.ic then
    job.data = record.data or "{}"
  end
end

local previous = currentMillis(scheduler)
if not previous or producer ~= iterationId(scheduler, previous) then
  return ""
end
local fields = call("HMGET", recordKey, "name", "data", "ic", "every", "startDate", "offset")
local recorded = finite(fields[4])
every = recorded and recorded > 0 and recorded or every
if every then
  offset = finite(fields[6]) or offset or 0
  nextMillis = nextOfInterval(previous, every, now, offset, finite(fields[5]))
end
if not nextMillis or endDate and nextMillis > endDate then
  return ""
end
local id = iterationId(scheduler, nextMillis)
if call("EXISTS", base .. id) == 1 then
  emitTrimmed(base, "duplicated", "jobId", id)
  return ""
end
fillFromRecord({name = fields[1], data = fields[2], ic = fields[3]})
increment(recordKey, "ic")
call("ZADD", base .. "repeat", whole(nextMillis), scheduler)
addIteration(scheduler, nextMillis, job, now)
return id
