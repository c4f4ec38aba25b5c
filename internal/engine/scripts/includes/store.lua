-- include: record

-- newId returns the id of a job that came without one. The counter is advanced past ids that are taken, so that a lost
-- counter does not mix two jobs into one hash.
local function newId(base)
  local n, step = call("INCR", base .. "id"), 1
  while call("EXISTS", base .. whole(n)) == 1 do
    n = call("INCRBY", base .. "id", step)
    step = step * 2
  end
  return whole(n)
end

-- storeJob writes the hash of a new job.
local function storeJob(base, id, job)
  local fields = {"name", job.name, "data", job.data, "opts", job.opts, "timestamp", whole(job.timestamp),
    "delay", whole(job.delay), "priority", whole(job.priority)}
  local function add(field, value)
    if value and value ~= "" then
      fields[#fields + 1] = field
      fields[#fields + 1] = value
    end
  end
  if job.parent then
    add("parentKey", job.parent.key)
    add("parent", job.parent.json)
  end
  add("rjk", job.scheduler)
  add("deid", job.dedupId)
  call("HSET", base .. id, unpack(fields))
  emit(base, "added", "jobId", id, "name", job.name)
end

-- enqueueNew inserts a new job where its options want it and announces it (lifecycle 8.1).
local function enqueueNew(base, id, job)
  if job.delay > 0 then
    toDelayed(base, id, job.timestamp + job.delay)
    markDelayed(base)
    return
  end
  makeReady(base, id, job.priority, job.lifo)
  emitTrimmed(base, "waiting", "jobId", id)
end

-- addPending makes a new job one its parent waits for.
local function addPending(base, id, job)
  if job.parent then
    call("SADD", job.parent.key .. ":dependencies", base .. id)
  end
end
