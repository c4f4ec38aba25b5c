-- Adds jobs in order (lifecycle 8.1): to wait, prioritized, delayed or waiting-children.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, now (ms), number of jobs, and for each job:
--            id ("" = the next number), name, data (JSON), opts (JSON),
--            timestamp (ms), delay (ms), priority, lifo (1/0), waits for children (1/0),
--            parent key ("" = none), field parent (JSON), scheduler id ("" = none),
--            deduplication id ("" = none), and with one: ttl (ms), extend, replace, reschedule, keepLastIfActive (1/0)
--
-- Reply    for each job: the id that stands for it, or a code; "1" if it was stored
-- Codes    -5 the parent does not exist; -7 the existing job has another living parent
-- Events   added, then waiting, delayed or waiting-children; duplicated; deduplicated, removed, delayed

-- include: dedup
-- include: readJob

local now = number()

-- duplicate answers for a job whose id exists: the existing one stays as it is, but may get a parent (features 2.4).
local function duplicate(id, job)
  local key = base .. id
  if job.parent then
    local old = call("HGET", key, "parentKey")
    if old and old ~= job.parent.key and call("EXISTS", old) == 1 then
      return -7
    end
    if call("ZSCORE", base .. "completed", id) then
      call("HSET", job.parent.key .. ":processed", key, call("HGET", key, "returnvalue") or "null")
      releaseIfNothingPending(parentOf(job.parent.key, job.parent.json), now)
    else
      addPending(base, id, job)
    end
    call("HSET", key, "parentKey", job.parent.key, "parent", job.parent.json)
  end
  emitTrimmed(base, "duplicated", "jobId", id)
  return id
end

-- waitForChildren inserts a new job that other jobs will be children of.
local function waitForChildren(id, job)
  call("ZADD", base .. "waiting-children", whole(job.timestamp), id)
  emitTrimmed(base, "waiting-children", "jobId", id)
end

-- addJob returns what stands for a new job, and whether it was stored.
local function addJob(job)
  if job.parent and call("EXISTS", job.parent.key) == 0 then
    return -5, "0"
  end
  local id = job.id
  if id == "" then
    id = newId(base)
  else
    call("INCR", base .. "id")
    maxEvents(base)
    if call("EXISTS", base .. id) == 1 then
      return duplicate(id, job), "0"
    end
  end
  maxEvents(base)
  local owner = job.dedup and ownerInstead(base, id, job)
  if owner then
    return owner, "0"
  end
  storeJob(base, id, job)
  if job.waitsForChildren then
    waitForChildren(id, job)
  else
    enqueueNew(base, id, job)
  end
  addPending(base, id, job)
  return id, "1"
end

local reply = {}
for _ = 1, number() do
  local id, stored = addJob(readJob())
  reply[#reply + 1] = id
  reply[#reply + 1] = stored
end
return reply
