-- include: parent

-- deleteJobKeys deletes a job's hash and all that belongs to it except its lock (lifecycle P11), and returns how many
-- keys there were.
local function deleteJobKeys(jobKey)
  return call("DEL", jobKey, jobKey .. ":logs", jobKey .. ":dependencies", jobKey .. ":processed",
    jobKey .. ":failed", jobKey .. ":unsuccessful")
end

-- freeDedup deletes a deduplication id with the job that owns it, and what was to follow that job (features 3.3).
local function freeDedup(base, id, dedupId)
  if dedupId and call("GET", base .. "de:" .. dedupId) == id then
    call("DEL", base .. "de:" .. dedupId, base .. "dn:" .. dedupId)
  end
end

local removeAnyway

-- detach takes a job that is being deleted from its parent. A parent that has nothing left to wait for becomes ready
-- (without hardBase); or, when whole parts of the queue hardBase are deleted, goes with its last child if it is of
-- that queue, and becomes ready without an event if not (features 2.9).
local function detach(jobKey, parent, hardBase)
  local pending = parent.key .. ":dependencies"
  if call("SREM", pending, jobKey) == 0 or call("SCARD", pending) > 0 then
    return
  end
  if call("ZREM", parent.base .. "waiting-children", parent.id) == 0 then
    return
  end
  if hardBase == parent.base then
    removeAnyway(parent.base, parent.id, hardBase, true)
    return
  end
  toWait(parent.base, parent.id, true)
  if not hardBase then
    emit(parent.base, "waiting", "jobId", parent.id, "prev", "waiting-children")
  end
end

-- leaveParent takes a job that is being deleted from its parent, if it has one that exists.
local function leaveParent(key, hardBase)
  local fields = call("HMGET", key, "parentKey", "parent")
  local parent = parentOf(fields[1], fields[2])
  if parent and call("EXISTS", parent.key) == 1 then
    detach(key, parent, hardBase)
  end
end

-- removeRecord deletes a job that was or will be taken out of its list or set (lifecycle P12).
local function removeRecord(base, id, hardBase, withDedup)
  local key = base .. id
  leaveParent(key, hardBase)
  if withDedup then
    freeDedup(base, id, call("HGET", key, "deid"))
  end
  deleteJobKeys(key)
end

-- removeAnyway is removeRecord for one job of many: a damaged one loses at least its own keys.
removeAnyway = function(base, id, hardBase, withDedup)
  if attempt(removeRecord, base, id, hardBase, withDedup) == -30 then
    deleteJobKeys(base .. id)
  end
end

-- isCurrentIteration tells whether a job is the one its scheduler counts on (lifecycle P13).
local function isCurrentIteration(base, id)
  local scheduler = call("HGET", base .. id, "rjk")
  local millis = scheduler and call("ZSCORE", base .. "repeat", scheduler)
  return millis and id == "repeat:" .. scheduler .. ":" .. whole(tonumber(millis)) or false
end
