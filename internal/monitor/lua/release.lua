-- release: gives leases back, so that another replica can take them at once.
--
-- KEYS    leases     string: the replica that reads the event stream of one queue
-- ARGV[1] replica
--
-- returns how many were ours
local n = 0
for _, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then
    n = n + redis.call('DEL', key)
  end
end
return n
