-- Gives a delayed job another delay, counted from now (lifecycle 8.13).
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, now (ms), id, delay (ms)
--
-- Reply    0 done; -1 no hash; -3 not delayed
-- Events   delayed

-- include: delayed

local now, id, delay = number(), text(), number()
local key = base .. id
if call("EXISTS", key) == 0 then
  return -1
end
if not call("ZSCORE", base .. "delayed", id) then
  return -3
end
call("HSET", key, "delay", whole(delay))
toDelayed(base, id, now + math.max(delay, 0))
markDelayed(base)
return 0
