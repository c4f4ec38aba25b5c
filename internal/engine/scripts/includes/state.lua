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

-- isInState tells whether a job is in one state, without looking at the others.
local function isInState(base, id, state)
  if state == "waiting" then
    return isInList(base .. "wait", id) or isInList(base .. "paused", id)
  elseif state == "active" then
    return isInList(base .. "active", id)
  end
  return call("ZSCORE", base .. state, id) and true or false
end
