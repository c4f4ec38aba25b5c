-- Makes an active job wait for its children, or for one of them (features 2.7).
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, now (ms), id, token, key of the child ("" = any)
--
-- Reply    0 done; 1 nothing to wait for; -1 no hash; -2 no lock; -3 not active; -6 lock of another token; -9 failed
--            children
-- Events   waiting-children (prev active)

-- include: events
-- include: leave

local now, id, token, child = text(), text(), text(), text()
local key = base .. id
if call("EXISTS", key) == 0 then
  return -1
end
if call("ZCARD", key .. ":unsuccessful") > 0 then
  return -9
end
local pending = key .. ":dependencies"
if child == "" and call("SCARD", pending) == 0 or child ~= "" and call("SISMEMBER", pending, child) == 0 then
  return 1
end
local code = leaveActive({id = id, token = token, updates = {}})
if code == 0 then
  call("ZADD", base .. "waiting-children", now, id)
  emit(base, "waiting-children", "jobId", id, "prev", "active")
end
return code
