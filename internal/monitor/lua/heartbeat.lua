-- heartbeat: announces a replica that follows the events of a prefix and returns all that are alive.
--
-- KEYS[1] replicas   zset: replica -> time of Redis, in milliseconds, until which it counts as alive
-- ARGV[1] replica
-- ARGV[2] lifetime in milliseconds
--
-- returns the names of the live replicas
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2]), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZRANGE', KEYS[1], 0, -1)
