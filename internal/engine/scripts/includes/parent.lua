-- include: delayed
-- include: splitKey

-- parentOf returns the parent that the fields parentKey and parent of a job name, or nil: its key, the base of its
-- queue, its id, and as flags what a failure of the job means to it. The field parent knows where the id begins, also
-- if it has colons.
local function parentOf(key, json)
  local flags = decode(json)
  local id = flags and flags.id
  if flags and type(flags.queueKey) == "string" and (type(id) == "string" or type(id) == "number") then
    local queue = flags.queueKey .. ":"
    key = key or queue .. id
    if string.sub(key, 1, #queue) == queue then
      return {key = key, base = queue, id = string.sub(key, #queue + 1), flags = flags}
    end
  end
  if not key or key == "" then
    return nil
  end
  local queue, id = splitKey(key)
  return queue and {key = key, base = queue, id = id, flags = {}}
end

-- readyParent inserts a parent that stopped waiting for children: delayed by its own delay from now on, else as the
-- next to be taken, else by priority (features 2.3).
local function readyParent(parent, now)
  local fields = call("HMGET", parent.key, "priority", "delay")
  local priority, delay = finite(fields[1]) or 0, finite(fields[2]) or 0
  if delay > 0 then
    call("ZADD", parent.base .. "delayed", whole((now + delay) * 4096), parent.id)
    emit(parent.base, "delayed", "jobId", parent.id, "delay", whole(now + delay))
    markDelayed(parent.base)
    return
  end
  makeReady(parent.base, parent.id, priority, true)
  emit(parent.base, "waiting", "jobId", parent.id, "prev", "waiting-children")
end

-- releaseParent ends a parent's wait, whatever is still pending.
local function releaseParent(parent, now)
  if call("EXISTS", parent.key) == 1 and call("ZREM", parent.base .. "waiting-children", parent.id) == 1 then
    readyParent(parent, now)
  end
end

-- releaseIfNothingPending ends a parent's wait once the last child is done.
local function releaseIfNothingPending(parent, now)
  if call("SCARD", parent.key .. ":dependencies") == 0 then
    releaseParent(parent, now)
  end
end

-- childCompleted records a child's value with its parent (features 2.5).
local function childCompleted(parent, childKey, value, now)
  if call("SREM", parent.key .. ":dependencies", childKey) == 1 then
    call("HSET", parent.key .. ":processed", childKey, value)
    releaseIfNothingPending(parent, now)
  end
end

-- failParent makes the next worker that takes the parent fail it; a parent that waits or is delayed is taken soon.
local function failParent(parent, childKey, now)
  if call("EXISTS", parent.key) == 0 then
    return
  end
  local reason = "child " .. childKey .. " failed"
  if call("ZREM", parent.base .. "waiting-children", parent.id) == 1 then
    call("HSET", parent.key, "defa", reason)
    readyParent(parent, now)
  elseif call("ZREM", parent.base .. "delayed", parent.id) == 1 then
    call("HSET", parent.key, "delay", 0, "defa", reason)
    readyParent(parent, now)
  elseif not call("ZSCORE", parent.base .. "failed", parent.id) then
    call("HSET", parent.key, "defa", reason)
  end
end

-- childFailed does what the child's failure flag says (features 2.5). Without a flag the parent goes on waiting.
local function childFailed(parent, childKey, reason, now)
  local flags = parent.flags
  if not (flags.fpof or flags.cpof or flags.idof or flags.rdof) then
    return
  end
  if call("SREM", parent.key .. ":dependencies", childKey) == 0 then
    return
  end
  if flags.fpof then
    call("ZADD", parent.key .. ":unsuccessful", whole(now), childKey)
    failParent(parent, childKey, now)
  elseif flags.cpof then
    call("HSET", parent.key .. ":failed", childKey, reason)
    releaseParent(parent, now)
  else
    if flags.idof then
      call("HSET", parent.key .. ":failed", childKey, reason)
    end
    releaseIfNothingPending(parent, now)
  end
end

-- reattach makes a finished child that runs again pending for its parent (features 2.6).
local function reattach(jobKey, from)
  local parentKey = call("HGET", jobKey, "parentKey")
  if not parentKey or call("EXISTS", parentKey) == 0 then
    return
  end
  local was
  if from == "failed" then
    was = call("ZREM", parentKey .. ":unsuccessful", jobKey) == 1 or call("HDEL", parentKey .. ":failed", jobKey) == 1
  else
    was = call("HDEL", parentKey .. ":processed", jobKey) == 1
  end
  if was then
    call("SADD", parentKey .. ":dependencies", jobKey)
  end
end
