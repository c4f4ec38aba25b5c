-- include: call

-- isInList tells whether an id is in a list.
local function isInList(key, id)
  return call("LPOS", key, id) and true or false
end

-- stateOf returns the state of a job of the queue with the given base (lifecycle 9).
local function stateOf(base, id)
  for _, set in ipairs({"completed", "failed", "delayed", "prioritized"}) do
    if call("ZSCORE", base .. set, id) then
      return set
    end
  end
  if isInList(base .. "active", id) then
    return "active"
  end
  if isInList(base .. "wait", id) or isInList(base .. "paused", id) then
    return "waiting"
  end
  if call("ZSCORE", base .. "waiting-children", id) then
    return "waiting-children"
  end
  return "unknown"
end
