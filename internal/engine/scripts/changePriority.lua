-- Gives a job another priority and, if it waits, the place that goes with it (lifecycle 8.14).
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, id, priority, lifo (1/0: in front of its peers)
--
-- Reply    0 done; -1 no hash

-- include: ready

local id, priority, first = text(), number(), flag()
local key = base .. id
if call("EXISTS", key) == 0 then
  return -1
end
local waits = call("ZREM", base .. "prioritized", id) == 1 or call("LREM", base .. "wait", -1, id) == 1
  or call("LREM", base .. "paused", -1, id) == 1
if waits and first and priority ~= 0 then
  toPrioritizedFirst(base, id, priority)
elseif waits then
  makeReady(base, id, priority, first)
end
call("HSET", key, "priority", whole(priority))
return 0
