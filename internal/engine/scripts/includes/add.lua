-- include: dedup

-- adopt links an existing job to the parent it was added for (features 2.4). It returns false if the job has another
-- parent that lives. In a flow nobody is released before the whole tree is there.
local function adopt(base, id, parent, now, inFlow)
  local key = base .. id
  local old = call("HGET", key, "parentKey")
  if old and old ~= parent.key and call("EXISTS", old) == 1 then
    if inFlow then
      call("HSET", parent.key, "flowAttachmentFailed", 1)
    end
    return false
  end
  if not call("ZSCORE", base .. "completed", id) then
    call("SADD", parent.key .. ":dependencies", key)
  else
    call("HSET", parent.key .. ":processed", key, call("HGET", key, "returnvalue") or "null")
    if not inFlow then
      releaseIfNothingPending(parentOf(parent.key, parent.json), now)
    end
  end
  call("HSET", key, "parentKey", parent.key, "parent", parent.json)
  return true
end

-- waitForChildren inserts a new job that other jobs will be children of.
local function waitForChildren(base, id, job)
  call("ZADD", base .. "waiting-children", whole(job.timestamp), id)
  emitTrimmed(base, "waiting-children", "jobId", id)
end

-- addJob adds one job (lifecycle 8.1). It returns the id that stands for it or a code, and "1" if it was stored.
local function addJob(base, job, now, inFlow)
  if job.parent and call("EXISTS", job.parent.key) == 0 then
    return -5, "0"
  end
  local id = job.id
  if id == "" then
    id = newId(base)
  else
    call("INCR", base .. "id")
    if call("EXISTS", base .. id) == 1 then
      if job.parent and not adopt(base, id, job.parent, now, inFlow) then
        maxEvents(base)
        return -7, "0"
      end
      emitTrimmed(base, "duplicated", "jobId", id)
      return id, "0"
    end
  end
  maxEvents(base)
  local owner = job.dedup and ownerInstead(base, id, job)
  if owner then
    return owner, "0"
  end
  storeJob(base, id, job)
  if job.waitsForChildren then
    waitForChildren(base, id, job)
  else
    enqueueNew(base, id, job)
  end
  addPending(base, id, job)
  return id, "1"
end
