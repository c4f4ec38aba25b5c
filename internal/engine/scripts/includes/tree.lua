-- include: record

-- childKeys returns the keys of the children of a job: those that are pending, and with all those that ended too.
local function childKeys(jobKey, all)
  local keys = {}
  local function add(list)
    for _, key in ipairs(list) do
      keys[#keys + 1] = key
    end
  end
  if all then
    add(call("HKEYS", jobKey .. ":processed"))
    add(call("HKEYS", jobKey .. ":failed"))
    add(call("ZRANGE", jobKey .. ":unsuccessful", 0, -1))
  end
  add(call("SMEMBERS", jobKey .. ":dependencies"))
  return keys
end

-- isHeld tells whether a worker holds a job or, if asked, an unfinished one below it. seen guards against rings.
local function isHeld(jobKey, children, seen)
  if call("EXISTS", jobKey .. ":lock") == 1 then
    return true
  end
  seen[jobKey] = true
  if children then
    for _, key in ipairs(childKeys(jobKey, false)) do
      if not seen[key] and isHeld(key, true, seen) then
        return true
      end
    end
  end
  return false
end

-- takeOut removes an id from wherever it is and returns the name of that key.
local function takeOut(base, id)
  for _, set in ipairs({"completed", "waiting-children", "delayed", "failed", "prioritized"}) do
    if call("ZREM", base .. set, id) == 1 then
      return set
    end
  end
  for _, list in ipairs({"wait", "paused", "active"}) do
    if call("LREM", base .. list, 1, id) == 1 then
      return list
    end
  end
  return "unknown"
end

local removeTree

-- isSpared tells whether a child stays: one that is held, which of those that ended is a new job under the old id, and
-- with pendingOnly one that has failed.
local function isSpared(queue, id, key, pendingOnly)
  if pendingOnly then
    return isHeld(key, false, {}) or call("ZSCORE", queue .. "failed", id)
  end
  return isHeld(key, true, {})
end

-- removeChildren deletes the jobs below a job (features 2.9); with pendingOnly those that have neither ended nor are
-- held by a worker. seen guards against rings.
local function removeChildren(parent, pendingOnly, seen)
  for _, key in ipairs(childKeys(parent.key, not pendingOnly)) do
    local queue, id = splitKey(key)
    if queue and not seen[key] and not isSpared(queue, id, key, pendingOnly) then
      detach(key, parent)
      removeTree(queue, id, true, pendingOnly, seen)
    end
  end
end

-- removeTree deletes a job that has left its parent and, if asked, first the jobs below it (lifecycle 8.16).
removeTree = function(base, id, children, pendingOnly, seen)
  local key = base .. id
  seen[key] = true
  if children then
    removeChildren({key = key, base = base, id = id}, pendingOnly, seen)
  end
  local was = takeOut(base, id)
  freeDedup(base, id, call("HGET", key, "deid"))
  if deleteJobKeys(key) > 0 then
    emitTrimmed(base, "removed", "jobId", id, "prev", was)
  end
end
