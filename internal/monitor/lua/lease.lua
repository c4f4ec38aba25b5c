-- lease: takes free leases and prolongs our own.
--
-- KEYS    leases     string: the replica that reads the event stream of one queue
-- ARGV[1] replica
-- ARGV[2] lifetime in milliseconds
--
-- returns per key 0 held by another replica, 1 prolonged, 2 newly taken
local out = {}
for i, key in ipairs(KEYS) do
  local owner = redis.call('GET', key)
  if owner == ARGV[1] then
    redis.call('PEXPIRE', key, ARGV[2])
    out[i] = 1
  elseif not owner then
    redis.call('SET', key, ARGV[1], 'PX', ARGV[2])
    out[i] = 2
  else
    out[i] = 0
  end
end
return out
