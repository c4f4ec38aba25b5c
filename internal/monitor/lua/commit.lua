-- commit: adds what a reader counted to the totals of a queue and stores how far it read, both or neither.
--
-- KEYS[1] lease      string: the replica that reads the event stream
-- KEYS[2] totals     hash: one counter per field, and the state of the reader: seq, by, id, entries, base_*, since_*
-- ARGV[1] replica
-- ARGV[2] seq        the number of the commit before this one, 0 for the first
-- ARGV[3] lifetime of the totals in seconds
-- ARGV[4] n          how many pairs of counter and increment follow
-- ARGV[…] pairs of counter, increment; then pairs of state field, value
--
-- returns 1 committed (now or by an earlier, repeated call), 0 the lease is not ours, -1 the totals went on without us
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
local seq = tonumber(redis.call('HGET', KEYS[2], 'seq') or '0')
local expected = tonumber(ARGV[2])
if seq == expected + 1 and redis.call('HGET', KEYS[2], 'by') == ARGV[1] then
  return 1
end
if seq ~= expected then
  return -1
end
local last = 4 + 2 * tonumber(ARGV[4])
for i = 5, last, 2 do
  redis.call('HINCRBY', KEYS[2], ARGV[i], ARGV[i + 1])
end
for i = last + 1, #ARGV, 2 do
  redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
end
redis.call('HSET', KEYS[2], 'seq', string.format('%.0f', expected + 1), 'by', ARGV[1])
redis.call('EXPIRE', KEYS[2], ARGV[3])
return 1
